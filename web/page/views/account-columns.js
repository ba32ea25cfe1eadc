// The columns of an account's tables: open orders, history, executions, balance and positions.

import { MONEY_DECIMALS, exact, format, group, total } from "../decimal.js";
import { dayAndTime } from "../format.js";
import { direction, kindOf, limitOf, sideOf, statusText, whyText } from "./order-text.js";

/** @import { Price } from "../state/quote.js" */
/** @import { HistoryRow } from "../state/refused.js" */
/** @import { Execution, Order } from "../types.js" */
/** @import { Line } from "./account-lines.js" */
/** @import { Column } from "./table.js" */

const feeOf = (/** @type {Execution} */ { fee, fee_of, symbol }) => (fee ? `${group(fee)} ${fee_of === "shares" ? symbol : "$"}` : "–");

const moneyOf = (/** @type {Execution} */ { price, shares }) => total(exact(price), exact(shares));
/** A time that every program reads; empty for none. @param {number|null} time_us */
const atUtc = (time_us) => (time_us === null ? "" : new Date(time_us / 1_000).toISOString());

/** @param {HistoryRow} order */
const numberOf = (order) => (order.status === "refused" ? "" : String(order.order_id));

/**
 * The columns that both tables of orders begin with.
 * @template {HistoryRow} T
 * @param {Price} price
 * @param {(order: T) => void} press
 * @returns {Column<T>[]}
 */
const firstColumns = (price, press) => [
  { head: "Order", text: numberOf, kind: "id", value: (row) => row.order_id, csv: numberOf, press },
  { head: "Symbol", text: (order) => order.symbol },
  { head: "Side", text: sideOf, direction, csv: ({ side }) => side },
  {
    head: "Limit",
    text: (order) => limitOf(order, price),
    kind: "number",
    value: (order) => (order.limit === null ? null : exact(order.limit)),
    csv: (order) => order.limit ?? "",
  },
];

/** @param {Price} price @param {(order: Order) => void} press @returns {Column<Order>[]} */
export const openColumns = (price, press) => [
  ...firstColumns(price, press),
  { head: "Open", text: (order) => group(order.open), kind: "number", value: (order) => exact(order.open), csv: (order) => order.open },
  { head: "Shares", text: (order) => group(order.shares), kind: "number widest", value: (row) => exact(row.shares), csv: (row) => row.shares },
  { head: "Executed", text: (order) => group(order.executed), kind: "number wide", value: (order) => exact(order.executed), csv: (order) => order.executed },
  { head: "Kind", text: (order) => kindOf(order, price), kind: "wider" },
  { head: "Placed", text: (order) => dayAndTime(order.time), kind: "number wider", value: (order) => order.time, csv: (order) => atUtc(order.time) },
  {
    head: "Until",
    text: (order) => (order.until === null ? "–" : dayAndTime(order.until)),
    kind: "number widest",
    value: (order) => order.until,
    csv: (order) => atUtc(order.until),
  },
];

/** @param {Price} price @param {(order: HistoryRow) => void} press @returns {Column<HistoryRow>[]} */
export const historyColumns = (price, press) => [
  ...firstColumns(price, press),
  {
    head: "Average",
    text: (order) => (order.average_price ? price(order.average_price, order.symbol) : "–"),
    kind: "number wide",
    value: (order) => (order.average_price ? exact(order.average_price, MONEY_DECIMALS) : null),
    csv: (order) => order.average_price ?? "",
  },
  {
    head: "Executed",
    text: (order) => `${group(order.executed)} of ${"funds" in order && order.funds !== undefined ? `$${group(order.funds)}` : group(order.shares)}`,
    kind: "number",
    value: (order) => exact(order.executed),
    csv: (order) => order.executed,
  },
  { head: "Status", text: statusText, kind: "why", title: whyText },
  { head: "Kind", text: (order) => kindOf(order, price), kind: "wider" },
  { head: "Placed", text: (order) => dayAndTime(order.time), kind: "number wider", value: (order) => order.time, csv: (order) => atUtc(order.time) },
  {
    head: "Done",
    text: (order) => (order.done_time === null ? "–" : dayAndTime(order.done_time)),
    kind: "number widest",
    value: (order) => order.done_time,
    csv: (order) => atUtc(order.done_time),
  },
];

/** @param {Price} price @param {(execution: Execution) => void} press @returns {Column<Execution>[]} */
export const executionColumns = (price, press) => [
  { head: "Trade", text: (execution) => String(execution.trade_id), kind: "id widest", value: (row) => row.trade_id },
  { head: "Order", text: (execution) => String(execution.order_id), kind: "id", value: (row) => row.order_id },
  { head: "Symbol", text: (execution) => execution.symbol },
  { head: "Side", text: sideOf, direction, csv: ({ side }) => side },
  {
    head: "Price",
    text: (execution) => price(execution.price, execution.symbol),
    kind: "number",
    value: (execution) => exact(execution.price),
    csv: (execution) => execution.price,
  },
  { head: "Shares", text: (execution) => group(execution.shares), kind: "number", value: (row) => exact(row.shares), csv: (row) => row.shares },
  {
    head: "Money",
    text: (execution) => group(format(total(exact(execution.price), exact(execution.shares)), MONEY_DECIMALS)),
    kind: "number wide",
    value: moneyOf,
    csv: (execution) => format(moneyOf(execution), MONEY_DECIMALS),
  },
  {
    head: "Fee",
    text: feeOf,
    kind: "number wider",
    value: (execution) => (execution.fee ? exact(execution.fee, MONEY_DECIMALS) : null),
    csv: (execution) => (execution.fee ? `${execution.fee} ${execution.fee_of === "shares" ? execution.symbol : "$"}` : ""),
  },
  { head: "Role", text: (execution) => execution.role, kind: "wider" },
  {
    head: "Time",
    text: (execution) => dayAndTime(execution.time),
    kind: "number",
    value: (execution) => execution.time,
    csv: (execution) => atUtc(execution.time),
    press,
    hint: "The market then",
  },
];

/** @type {Column<Line>[]} */
export const balanceColumns = [
  { head: "What", text: (line) => line.what },
  {
    head: "Free",
    text: (line) => line.free,
    kind: "number",
    value: (line) => (line.free === "–" ? null : exact(line.free.replaceAll(",", ""), MONEY_DECIMALS)),
    csv: (line) => line.free.replaceAll(",", "").replace("–", ""),
  },
  {
    head: "Held by orders",
    text: (line) => line.held,
    kind: "number",
    value: (line) => (line.held === "–" ? null : exact(line.held.replaceAll(",", ""), MONEY_DECIMALS)),
    csv: (line) => line.held.replaceAll(",", "").replace("–", ""),
  },
  {
    head: "All",
    text: (line) => line.all,
    kind: "number",
    value: (line) => (line.all === "–" ? null : exact(line.all.replaceAll(",", ""), MONEY_DECIMALS)),
    csv: (line) => line.all.replaceAll(",", "").replace("–", ""),
  },
];
