// The place of an open order: the orders that execute before it.

import { Refusal } from "../api.js";
import { exact, format, forDrawing, group } from "../decimal.js";
import { plural } from "../format.js";
import { make, setText } from "../dom.js";

/** @import { Api } from "../api.js" */
/** @import { Order, OrderPlace, Queued } from "../types.js" */
/** @import { Panel } from "./order-panels.js" */

/** @typedef {NonNullable<OrderPlace["place"]>} Place */

/** The pause between two requests while the panel is in view. */
const AGAIN_MS = 1_000;

const PARTS = /** @type {const} */ (["better", "ahead", "own", "behind"]);
const NAMES = { better: "At better prices", ahead: "Before it at its price", own: "This order shows", behind: "Behind it at its price" };

/** @param {{api: Api}} parts @returns {Panel} */
export function placePanel({ api }) {
  const picture = placePicture();
  /** @type {Order|null} */
  let shown = null;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;

  /** @param {Order} order */
  async function ask(order) {
    clearTimeout(timer);
    const is_new = () => shown?.order_id === order.order_id;
    try {
      const told = await api.placeOf(order.order_id, order.account);
      if (is_new()) draw(order, told);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (is_new()) picture.clear(error.message);
    }
    clearTimeout(timer);
    if (is_new()) timer = setTimeout(() => shown && ask(shown), AGAIN_MS);
  }

  /** @param {Order} order @param {OrderPlace} told */
  function draw(order, { place }) {
    if (place) picture.draw(order, place);
    else picture.clear(order.status === "open" ? "It stands in no book yet: it waits" : `It stands in no book any more: it is ${order.status}`);
  }

  return {
    id: "place",
    name: "Where it stands",
    root: picture.root,
    show(order) {
      const is_other = shown?.order_id !== order.order_id || shown.status !== order.status;
      shown = order;
      if (!is_other) return;
      picture.clear("Asking…");
      ask(order);
    },
    hide() {
      clearTimeout(timer);
      shown = null;
    },
  };
}

/** The elements that show a place: a sentence, a bar of its parts, and their values. */
function placePicture() {
  const sum = make("p", { id: "place-sum", class: "way-sum", role: "status" });
  const bars = PARTS.map((part) => make("i", { "data-part": part }));
  const bar = make("div", { class: "place-bar", "aria-hidden": "true" }, ...bars);
  const values = PARTS.map(() => make("dd", { class: "number" }));
  const list = make(
    "dl",
    { id: "place-parts", class: "place-parts" },
    ...PARTS.map((part, at) => make("div", { "data-part": part }, make("dt", {}, NAMES[part]), values[at])),
  );
  const note = make("p", { class: "note said-note" }, "Hidden shares of other orders do not count: they execute behind all that is shown at their price");
  const root = make("div", { class: "place-panel" }, sum, bar, list, note);

  /** @param {boolean} hidden */
  function hideParts(hidden) {
    bar.hidden = list.hidden = note.hidden = hidden;
  }

  return {
    root,
    /** Shows no place, and says why. @param {string} why */
    clear(why) {
      hideParts(true);
      setText(sum, why);
    },
    /** @param {Order} order @param {Place} place */
    draw(order, place) {
      hideParts(false);
      setText(sum, sumText(place));
      const parts = partsOf(order, place);
      const all = parts.reduce((total, part) => total + forDrawing(part.shares), 0) || 1;
      parts.forEach((part, at) => {
        bars[at].style.width = `${(forDrawing(part.shares) / all) * 100}%`;
        setText(values[at], PARTS[at] === "own" ? ownText(order) : text(part));
      });
    },
  };
}

/** The orders at better prices, those before the order at its price, the order, and those behind it. @param {Order} order @param {Place} place @returns {Queued[]} */
function partsOf(order, { level: [, shares, orders], ahead, better }) {
  const own = { orders: 1, shares: order.shown ?? order.open };
  const behind = { orders: orders - ahead.orders - 1, shares: format(exact(shares) - exact(ahead.shares) - exact(own.shares)) };
  // Where the order changed since it was told, the next answer is right again.
  return [better, ahead, own, exact(behind.shares) < 0n ? { orders: behind.orders, shares: "0" } : behind];
}

/** @param {Place} place */
function sumText({ ahead, better, exact: is_exact }) {
  const orders = ahead.orders + better.orders;
  if (orders === 0) return "It is the next to execute";
  const more = is_exact ? "" : "more than ";
  return `${more}${group(format(exact(ahead.shares) + exact(better.shares)))} shares of ${plural(orders, "order")} execute before it`;
}

/** @param {Order} order */
function ownText({ shown, open }) {
  return shown === undefined ? group(open) : `${group(shown)} of ${group(open)}`;
}

/** @param {Queued} part */
function text({ orders, shares }) {
  return orders === 0 ? "nothing" : `${group(shares)} of ${plural(orders, "order")}`;
}
