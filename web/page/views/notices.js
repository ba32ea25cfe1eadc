// Short notices in a corner: what happened to one's orders. Each goes by itself, or when pressed.

import { group } from "../decimal.js";
import { find, make } from "../dom.js";

/** @import { Execution } from "../types.js" */

const SHOWN_MS = 6_000;
const SHOWN_AT_ONCE = 4;

/** Executions that come within this time are told together. */
const TOGETHER_MS = 150;
const TOLD_SINGLY = 3;

/** @type {Execution[]} */
let executions = [];

/** Tells of an execution; of many at once only how many there were. @param {Execution} execution */
export function executionNotice(execution) {
  executions.push(execution);
  if (executions.length === 1) setTimeout(tell, TOGETHER_MS);
}

function tell() {
  const told = executions;
  executions = [];
  if (told.length > TOLD_SINGLY) return notice(`${told.length} executions`);
  for (const { side, shares, symbol, price, order_id } of told) {
    notice(`${side === "buy" ? "▲ Bought" : "▼ Sold"} ${group(shares)} ${symbol} at ${group(price)} (order ${order_id})`, side);
  }
}

/** @param {string} text @param {"buy"|"sell"|"fault"|"plain"} [kind] */
export function notice(text, kind = "plain") {
  const root = find("notices");
  const made = make("p", { class: "notice", "data-kind": kind }, text);
  made.addEventListener("click", () => made.remove());
  root.append(made);
  while (root.children.length > SHOWN_AT_ONCE) root.firstElementChild?.remove();
  setTimeout(() => made.remove(), SHOWN_MS);
}
