// The rows of the watchlist, by symbol. Rows keep their elements; only what differs is written.

import { make, setAttribute, setText } from "../dom.js";
import { LINE_HEIGHT, LINE_WIDTH, changeOf, drawn } from "./watchlist-text.js";

/**
 * @typedef {object} Row
 * @property {HTMLLIElement} item
 * @property {HTMLButtonElement} star
 * @property {HTMLButtonElement} button
 * @property {HTMLElement} last
 * @property {HTMLElement} change
 * @property {SVGPathElement} path
 */

/**
 * The state of a symbol as its row shows it.
 * @typedef {object} Shown
 * @property {string} symbol
 * @property {boolean} chosen
 * @property {boolean} favourite
 * @property {string} last
 * @property {string|null} percent
 * @property {() => number[]} line of its day; it is asked for only while the row is seen
 */

export class WatchRows {
  /** Rows by symbol, in their order. @type {Map<string, Row>} */
  #rows = new Map();
  /** Only lines that are seen are asked for. @type {Set<Element>} */
  #in_view = new Set();
  #seer;
  #list;
  #choose;
  #star;

  /**
   * @param {HTMLElement} list
   * @param {object} parts
   * @param {(symbol: string) => void} parts.choose
   * @param {(symbol: string) => void} parts.star
   * @param {() => void} parts.seen is called when other rows are seen
   */
  constructor(list, { choose, star, seen }) {
    this.#list = list;
    this.#choose = choose;
    this.#star = star;
    this.#seer = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) {
        if (isIntersecting) this.#in_view.add(target);
        else this.#in_view.delete(target);
      }
      seen();
    });
  }

  /** @param {Shown[]} all in their order */
  draw(all) {
    const names = new Set(all.map(({ symbol }) => symbol));
    for (const symbol of this.#rows.keys()) if (!names.has(symbol)) this.#remove(symbol);
    /** @type {Node|null} */
    let place = this.#list.firstChild;
    for (const shown of all) {
      const row = this.#rows.get(shown.symbol) ?? this.#add(shown.symbol);
      this.#fill(row, shown);
      if (row.item === place) place = place.nextSibling;
      else this.#list.insertBefore(row.item, place);
    }
  }

  /** @param {string} symbol */
  #remove(symbol) {
    const item = this.#rows.get(symbol)?.item;
    if (!item) return;
    item.remove();
    this.#seer.unobserve(item);
    this.#in_view.delete(item);
    this.#rows.delete(symbol);
  }

  /** @param {string} symbol @returns {Row} */
  #add(symbol) {
    const star = make("button", { type: "button", class: "star", "aria-label": `Favourite ${symbol}` });
    star.addEventListener("click", () => this.#star(symbol));
    const last = make("span", { class: "number" });
    const change = make("span", { class: "number watch-change" });
    const { svg, path } = spark();
    const button = make("button", { type: "button", class: "watch-symbol" }, make("span", { class: "watch-name" }, symbol), svg, last, change);
    button.addEventListener("click", () => this.#choose(symbol));
    const row = { item: make("li", {}, star, button), star, button, last, change, path };
    this.#rows.set(symbol, row);
    this.#seer.observe(row.item);
    return row;
  }

  /** @param {Row} row @param {Shown} shown */
  #fill(row, { chosen, favourite, last, percent, line }) {
    const { text, way } = changeOf(percent);
    setAttribute(row.star, "aria-pressed", String(favourite));
    setText(row.star, favourite ? "★" : "☆");
    setAttribute(row.button, "aria-current", chosen ? "true" : null);
    setText(row.last, last);
    setText(row.change, text);
    setAttribute(row.button, "data-way", way);
    if (this.#in_view.has(row.item)) setAttribute(row.path, "d", drawn(line()));
  }
}

function spark() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${LINE_WIDTH} ${LINE_HEIGHT}`);
  svg.setAttribute("class", "spark");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("preserveAspectRatio", "none");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.append(path);
  return { svg, path };
}
