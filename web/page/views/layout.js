// The layout on the page: edges between panels that are moved by pointer, touch and keys, and the dialog that chooses density, panels and layouts.

import { find, make, setAttribute, setText } from "../dom.js";
import { BOUNDS, DENSITIES } from "../state/layout.js";

/** @import { Frames } from "../frames.js" */
/** @import { Arrangement, Density, Hideable, Layout, Track } from "../state/layout.js" */

/** The arrangements by the size of the window, of which the first that fits counts; layout.css has the same bounds. @type {[Arrangement, string][]} */
const ARRANGEMENTS = [
  ["phone", "(max-width: 760px)"],
  ["tablet", "(max-width: 960px)"],
  ["narrow", "(max-width: 1180px)"],
  ["short", "(max-height: 800px)"],
];
/** The least size of the chart, however large others are made. */
const CHART_PX_MIN = 240;
/** The row that gives and takes room, and what it keeps. @type {Record<Arrangement, [number, number]>} */
const ELASTIC = { desk: [2, 90], narrow: [2, 90], short: [1, 180], tablet: [1, 200], phone: [1, 220] };
const STEP_PX = 10;
const LEAP_PX = 50;

/** @typedef {{track: Track, name: string, panel: string, row: boolean, sign: 1|-1}} Edge */

/** `sign`: whether the panel grows when its edge moves right or down, or the other way. @type {Edge[]} */
const EDGES = [
  { track: "watch", name: "Width of the watchlist", panel: "watch", row: false, sign: 1 },
  { track: "book", name: "Width of the order book", panel: "book", row: false, sign: -1 },
  { track: "tape", name: "Width of the trades", panel: "tape", row: false, sign: -1 },
  { track: "ticket", name: "Width of the ticket", panel: "ticket", row: false, sign: -1 },
  { track: "account", name: "Height of the account", panel: "account", row: true, sign: -1 },
  { track: "depth", name: "Height of the depth", panel: "depth", row: true, sign: -1 },
];

/** @param {{layout: Layout, frames: Frames}} parts */
export function layoutView({ layout, frames }) {
  const trade = find("trade");
  const sizes = new PanelSizes(layout, trade);
  const edges = EDGES.map((edge) => ({ edge, element: edgeElement(edge, sizes) }));

  const mark = frames.view(() => {
    const here = sizes.arrangement;
    document.documentElement.dataset.density = layout.density;
    setAttribute(trade, "data-hides", ["watch", "depth"].filter((part) => layout.hides(/** @type {Hideable} */ (part))).join(" "));
    for (const { track } of EDGES) {
      const px = layout.size(here, track);
      if (px === null) trade.style.removeProperty(`--${track}`);
      else trade.style.setProperty(`--${track}`, `${px}px`);
    }
    for (const { edge, element } of edges) {
      if (!element.checkVisibility()) continue;
      setAttribute(element, "aria-valuenow", String(Math.round(sizes.drawn(edge))));
      setAttribute(element, "aria-valuemin", String(BOUNDS[edge.track][0]));
      setAttribute(element, "aria-valuemax", String(sizes.most(edge)));
    }
  });

  layout.watch(mark);
  addEventListener("resize", mark);
  return layoutDialog({ layout, frames });
}

/** The sizes of panels along their edges, in pixels, and the room that the others leave them. */
class PanelSizes {
  #layout;
  #trade;

  /** @param {Layout} layout @param {HTMLElement} trade */
  constructor(layout, trade) {
    this.#layout = layout;
    this.#trade = trade;
  }

  /** @returns {Arrangement} */
  get arrangement() {
    return ARRANGEMENTS.find(([, query]) => matchMedia(query).matches)?.[0] ?? "desk";
  }

  /** @param {Edge} edge */
  panel({ panel }) {
    return /** @type {HTMLElement} */ (this.#trade.querySelector(`.${panel}`));
  }

  /** The size of a panel as it is drawn. @param {Edge} edge */
  drawn(edge) {
    const { width, height } = this.panel(edge).getBoundingClientRect();
    return edge.row ? height : width;
  }

  /** The chosen size of a panel, or the drawn one if none was chosen. @param {Edge} edge */
  chosen(edge) {
    return this.#layout.size(this.arrangement, edge.track) ?? this.drawn(edge);
  }

  /** The most that it may have: the chart and its row keep what they need. @param {Edge} edge */
  most(edge) {
    const [least, most] = BOUNDS[edge.track];
    const [row, kept] = ELASTIC[this.arrangement];
    const room = edge.row
      ? Number.parseFloat(getComputedStyle(this.#trade).gridTemplateRows.split(" ")[row] ?? "0") - kept
      : find("candles").getBoundingClientRect().width - CHART_PX_MIN;
    return Math.round(Math.max(least, Math.min(most, this.drawn(edge) + room)));
  }

  /** @param {Edge} edge @param {number|null} px null for what the arrangement has by itself */
  choose(edge, px) {
    this.#layout.resize(this.arrangement, edge.track, px === null ? null : Math.min(px, this.most(edge)));
  }
}

/** Puts an edge before its panel, which resizes it. @param {Edge} edge @param {PanelSizes} sizes */
function edgeElement(edge, sizes) {
  const panel = sizes.panel(edge);
  panel.id ||= `${edge.panel}-panel`;
  const element = make("div", {
    class: "edge",
    "data-edge": edge.track,
    role: "separator",
    tabindex: "0",
    "aria-label": edge.name,
    "aria-controls": panel.id,
    "aria-orientation": edge.row ? "horizontal" : "vertical",
    "aria-valuenow": "0",
    title: "Drag, or use the arrows; a double press gives back the first size",
  });
  panel.before(element);
  dragEdge(element, edge, sizes);
  element.addEventListener("dblclick", () => sizes.choose(edge, null));
  element.addEventListener("keydown", (event) => pressKey(event, edge, sizes));
  return element;
}

/** Lets the pointer drag an edge. @param {HTMLElement} element @param {Edge} edge @param {PanelSizes} sizes */
function dragEdge(element, edge, sizes) {
  /** The place where a drag began, and the panel's size then. @type {{at: number, px: number}|null} */
  let taken = null;
  const along = (/** @type {PointerEvent} */ event) => (edge.row ? event.clientY : event.clientX);
  element.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.preventDefault();
    element.focus({ preventScroll: true });
    element.setPointerCapture(event.pointerId);
    taken = { at: along(event), px: sizes.drawn(edge) };
  });
  element.addEventListener("pointermove", (event) => {
    if (taken) sizes.choose(edge, taken.px + (along(event) - taken.at) * edge.sign);
  });
  for (const end of /** @type {const} */ (["pointerup", "pointercancel", "lostpointercapture"])) element.addEventListener(end, () => (taken = null));
}

/** Moves an edge by a key. @param {KeyboardEvent} event @param {Edge} edge @param {PanelSizes} sizes */
function pressKey(event, edge, sizes) {
  const step = (event.shiftKey ? LEAP_PX : STEP_PX) * edge.sign;
  const [less, more] = edge.row ? ["ArrowUp", "ArrowDown"] : ["ArrowLeft", "ArrowRight"];
  // A key may come again before the panel was drawn as the last one left it.
  const now = sizes.chosen(edge);
  if (event.key === more) sizes.choose(edge, now + step);
  else if (event.key === less) sizes.choose(edge, now - step);
  else if (event.key === "Home") sizes.choose(edge, BOUNDS[edge.track][0]);
  else if (event.key === "End") sizes.choose(edge, sizes.most(edge));
  else if (event.key === "Enter") sizes.choose(edge, null);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/** @param {{layout: Layout, frames: Frames}} parts @returns {() => void} opens it */
function layoutDialog({ layout, frames }) {
  const dialog = /** @type {HTMLDialogElement} */ (find("layout"));
  const form = /** @type {HTMLFormElement} */ (find("layout-save"));
  const name = /** @type {HTMLInputElement} */ (find("layout-name"));
  const wrong = find("layout-name-fault");
  const list = find("layout-list");

  const densities = DENSITIES.map((density) => {
    const input = make("input", { type: "radio", name: "density", value: density });
    input.addEventListener("change", () => layout.chooseDensity(density));
    find("layout-density").append(make("label", { class: "pick" }, input, make("span", {}, NAMES[density])));
    return { density, input };
  });
  const boxes = [...dialog.querySelectorAll("input[data-shows]")].map((input) => {
    const box = /** @type {HTMLInputElement} */ (input);
    const part = /** @type {Hideable} */ (box.dataset.shows);
    box.addEventListener("change", () => layout.show(part, box.checked));
    return { part, box };
  });
  find("layout-reset").addEventListener("click", () => layout.reset());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fault = layout.save(name.value);
    setText(wrong, fault ?? "");
    setAttribute(name, "aria-invalid", fault === null ? null : "true");
    if (fault === null) name.value = "";
  });

  layout.watch(
    frames.view(() => {
      for (const { density, input } of densities) input.checked = layout.density === density;
      for (const { part, box } of boxes) box.checked = !layout.hides(part);
      const here = [...layout.saved.keys()];
      if (here.join("\n") === [...list.children].map((item) => item.getAttribute("data-name")).join("\n")) return;
      list.replaceChildren(
        ...here.map((each) => {
          const use = make("button", { type: "button", class: "use" }, each);
          use.addEventListener("click", () => layout.use(each));
          const remove = make("button", { type: "button", class: "quiet icon", "aria-label": `Remove the layout ${each}` }, "×");
          remove.addEventListener("click", () => {
            layout.remove(each);
            name.focus();
          });
          return make("li", { "data-name": each }, use, remove);
        }),
      );
    }),
  );
  return () => dialog.showModal();
}

/** @type {Record<Density, string>} */
const NAMES = { compact: "Compact", standard: "Standard", comfortable: "Comfortable" };
