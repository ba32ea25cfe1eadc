// The place of an open order: the orders that execute before it.

import { Refusal } from "../api.js";
import { exact, format, forDrawing, group } from "../decimal.js";
import { plural } from "../format.js";
import { make, setText } from "../dom.js";

/** @import { Api } from "../api.js" */
/** @import { Order, OrderPlace, Queued } from "../types.js" */
/** @import { Panel } from "./order-panels.js" */

/** The pause between two requests while the panel is in view. */
const AGAIN_MS = 1_000;

const PARTS = /** @type {const} */ (["better", "ahead", "own", "behind"]);
const NAMES = { better: "At better prices", ahead: "Before it at its price", own: "This order shows", behind: "Behind it at its price" };

/** @param {{api: Api}} parts @returns {Panel} */
export function placePanel({ api }) {
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
      if (is_new()) draw(order, null, error.message);
    }
    clearTimeout(timer);
    if (is_new()) timer = setTimeout(() => shown && ask(shown), AGAIN_MS);
  }

  /** @param {Order} order @param {OrderPlace|null} told @param {string} [why] */
  function draw(order, told, why) {
    const place = told?.place ?? null;
    bar.hidden = list.hidden = note.hidden = place === null;
    if (!place) {
      setText(sum, why ?? (order.status === "open" ? "It stands in no book yet: it waits" : `It stands in no book any more: it is ${order.status}`));
      return;
    }
    const {
      level: [, shares, orders],
      ahead,
      better,
      exact: is_exact,
    } = place;
    const own = { orders: 1, shares: order.shown ?? order.open };
    const behind = { orders: orders - ahead.orders - 1, shares: format(exact(shares) - exact(ahead.shares) - exact(own.shares)) };
    // Where the order changed since it was told, the next answer is right again.
    const parts = [better, ahead, own, exact(behind.shares) < 0n ? { orders: behind.orders, shares: "0" } : behind];
    const more = is_exact ? "" : "more than ";
    setText(
      sum,
      ahead.orders + better.orders === 0
        ? "It is the next to execute"
        : `${more}${group(format(exact(ahead.shares) + exact(better.shares)))} shares of ${plural(ahead.orders + better.orders, "order")} execute before it`,
    );
    const all = parts.reduce((total, part) => total + forDrawing(part.shares), 0) || 1;
    parts.forEach((part, at) => {
      bars[at].style.width = `${(forDrawing(part.shares) / all) * 100}%`;
      setText(values[at], PARTS[at] === "own" ? own_text(order) : text(part));
    });
  }

  /** @param {Order} order */
  function own_text({ shown: on_show, open }) {
    return on_show === undefined ? group(open) : `${group(on_show)} of ${group(open)}`;
  }

  return {
    id: "place",
    name: "Where it stands",
    root,
    show(order) {
      const is_other = shown?.order_id !== order.order_id || shown.status !== order.status;
      shown = order;
      if (!is_other) return;
      setText(sum, "Asking…");
      bar.hidden = list.hidden = note.hidden = true;
      ask(order);
    },
    hide() {
      clearTimeout(timer);
      shown = null;
    },
  };
}

/** @param {Queued} part */
function text({ orders, shares }) {
  return orders === 0 ? "nothing" : `${group(shares)} of ${plural(orders, "order")}`;
}
