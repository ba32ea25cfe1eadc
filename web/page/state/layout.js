// The layout of the trade view: the sizes of its tracks in each arrangement of panels, its density, its hidden parts; and layouts that were
// given a name. Knows no element.

import { Observable } from "./observable.js";

/** The arrangement of the panels, by the size of the window. @typedef {"desk"|"short"|"narrow"|"tablet"|"phone"} Arrangement */
/** A column or row that can be resized. @typedef {"watch"|"book"|"tape"|"ticket"|"account"|"depth"} Track */
/** @typedef {"compact"|"standard"|"comfortable"} Density */
/** @typedef {"watch"|"depth"} Hideable */

/**
 * @typedef {object} Look
 * @property {Density} density
 * @property {Hideable[]} hidden
 * @property {Record<string, number>} sizes by arrangement and track, in pixels
 * @property {boolean} two whether a second account stands beside the first
 * @property {string|null} beside its number
 */

/** @type {Density[]} */
export const DENSITIES = ["compact", "standard", "comfortable"];
/** @type {Hideable[]} */
const HIDEABLE = ["watch", "depth"];
/** @type {Arrangement[]} */
const ARRANGEMENTS = ["desk", "short", "narrow", "tablet", "phone"];
/** Pixels that a track may have, whatever the window. @type {Record<Track, [number, number]>} */
export const BOUNDS = { watch: [150, 420], book: [190, 520], tape: [170, 420], ticket: [240, 520], account: [120, 700], depth: [100, 500] };
const SAVED_MAX = 12;
const NAME_MAX = 24;

export class Layout extends Observable {
  /** @type {Look} */
  #look;
  /** @type {Map<string, Look>} */
  saved = new Map();
  #keep;

  /**
   * @param {unknown} kept what `keep` got the last time
   * @param {{hidden: Hideable[], keep: (kept: object) => void}} parts what is hidden while nothing is kept
   */
  constructor(kept, { hidden, keep }) {
    super();
    this.#keep = keep;
    const { look, saved } = /** @type {{look?: unknown, saved?: unknown}} */ (kept ?? {});
    this.#look = readLook(look) ?? { density: "standard", hidden, sizes: {}, two: false, beside: null };
    for (const [name, each] of Array.isArray(saved) ? saved.slice(0, SAVED_MAX) : []) {
      const read = readLook(each);
      if (typeof name === "string" && read) this.saved.set(name.slice(0, NAME_MAX), read);
    }
  }

  get density() {
    return this.#look.density;
  }

  /** @param {Density} density */
  chooseDensity(density) {
    this.#change({ density });
  }

  /** @param {Hideable} part */
  hides(part) {
    return this.#look.hidden.includes(part);
  }

  /** @param {Hideable} part @param {boolean} shown */
  show(part, shown) {
    this.#change({ hidden: HIDEABLE.filter((each) => (each === part ? !shown : this.hides(each))) });
  }

  get two() {
    return this.#look.two;
  }

  get beside() {
    return this.#look.beside;
  }

  /** @param {boolean} two @param {string|null} [beside] the second account, where it is another one now */
  showTwo(two, beside = this.#look.beside) {
    this.#change({ two, beside });
  }

  /** Pixels; null for what the arrangement has by itself. @param {Arrangement} arrangement @param {Track} track @returns {number|null} */
  size(arrangement, track) {
    return this.#look.sizes[`${arrangement} ${track}`] ?? null;
  }

  /** @param {Arrangement} arrangement @param {Track} track @param {number|null} px */
  resize(arrangement, track, px) {
    const { [`${arrangement} ${track}`]: _before, ...others } = this.#look.sizes;
    const [least, most] = BOUNDS[track];
    this.#change({ sizes: px === null ? others : { ...others, [`${arrangement} ${track}`]: Math.round(Math.min(most, Math.max(least, px))) } });
  }

  /** Every panel is as large as it was at first. */
  reset() {
    this.#change({ sizes: {} });
  }

  /** @param {string} text @returns {string|null} what is wrong with the name */
  save(text) {
    const name = text.trim();
    if (name === "") return "A layout needs a name";
    if (name.length > NAME_MAX) return `At most ${NAME_MAX} characters`;
    if (!this.saved.has(name) && this.saved.size >= SAVED_MAX) return `At most ${SAVED_MAX} layouts; remove one first`;
    this.saved.set(name, this.#look);
    this.#change({});
    return null;
  }

  /** @param {string} name */
  use(name) {
    this.#change(this.saved.get(name) ?? {});
  }

  /** @param {string} name */
  remove(name) {
    this.saved.delete(name);
    this.#change({});
  }

  /** @param {Partial<Look>} change */
  #change(change) {
    this.#look = { ...this.#look, ...change };
    this.#keep({ look: this.#look, saved: [...this.saved] });
    this.changed();
  }
}

/** Reads a kept layout, which may be from another version, or anything. @param {unknown} kept @returns {Look|null} */
function readLook(kept) {
  if (typeof kept !== "object" || kept === null) return null;
  const { density, hidden, sizes, two, beside } = /** @type {Record<string, unknown>} */ (kept);
  /** @type {Record<string, number>} */
  const read = {};
  for (const arrangement of ARRANGEMENTS) {
    for (const [track, [least, most]] of Object.entries(BOUNDS)) {
      const px = /** @type {Record<string, unknown>|undefined} */ (sizes)?.[`${arrangement} ${track}`];
      if (typeof px === "number" && px >= least && px <= most) read[`${arrangement} ${track}`] = px;
    }
  }
  return {
    density: DENSITIES.find((each) => each === density) ?? "standard",
    hidden: HIDEABLE.filter((each) => Array.isArray(hidden) && hidden.includes(each)),
    sizes: read,
    two: two === true,
    beside: typeof beside === "string" && /^\d{1,20}$/.test(beside) ? beside : null,
  };
}
