// Short notices at the foot, the newest first: what happened to one's orders. Each goes by itself, or when pressed.

import { find, make } from "../dom.js";
import { told } from "./forecast.js";

/** @import { Holdings } from "../state/holdings.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Execution } from "../types.js" */

const SHOWN_MS = 6_000;
const SHOWN_AT_ONCE = 4;

/** Executions that come within this time are told together. */
const TOGETHER_MS = 150;
const TOLD_SINGLY = 3;

/**
 * Tells of executions, those of an order together; of many orders at once only how many there were.
 * @param {{holdings: Holdings, quote: Quote, filled: (order: number, text: string) => void, whose: () => string}} parts `filled` hears of each order, too; `whose` goes before what is told
 * @returns {(execution: Execution) => void}
 */
export function executionNotices({ holdings, quote, filled, whose }) {
  /** @type {Execution[]} */
  let executions = [];
  return (execution) => {
    executions.push(execution);
    if (executions.length === 1) setTimeout(tell, TOGETHER_MS);
  };

  function tell() {
    /** @type {Map<number, Execution[]>} */
    const of_order = new Map();
    for (const execution of executions) of_order.set(execution.order_id, [...(of_order.get(execution.order_id) ?? []), execution]);
    const amount = executions.length;
    executions = [];
    if (of_order.size > TOLD_SINGLY) notice(`${whose()}${amount} executions of ${of_order.size} orders`);
    for (const [id, all] of of_order) {
      const [{ side, symbol }] = all;
      const order = holdings.orders.get(id);
      const text = told({ side, symbol, limit: order?.limit ?? null, shares: order?.shares ?? null }, all, (price) => quote.price(price, symbol));
      filled(id, text);
      if (of_order.size <= TOLD_SINGLY) notice(`${whose()}${side === "buy" ? "▲ Buy" : "▼ Sell"} ${text} (order ${id})`, side);
    }
  }
}

/** @param {string} text @param {"buy"|"sell"|"fault"|"plain"} [kind] */
export function notice(text, kind = "plain") {
  const root = find("notices");
  const made = make("p", { class: "notice", "data-kind": kind, title: text }, text);
  made.addEventListener("click", () => made.remove());
  root.prepend(made);
  while (root.children.length > SHOWN_AT_ONCE) root.lastElementChild?.remove();
  setTimeout(() => made.remove(), SHOWN_MS);
}
