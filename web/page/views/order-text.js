// The texts of an order: its limit, its kind, the price that it waits for, and its state. Knows no element.

import { exact, format, group } from "../decimal.js";
import { kindName } from "../state/kinds.js";

/** @import { Price } from "../state/quote.js" */
/** @import { HistoryRow } from "../state/refused.js" */
/** @import { CancelReason, Execution, Order, Side } from "../types.js" */

export const direction = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "up" : "down");
export const sideOf = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "▲\u00a0Buy" : "▼\u00a0Sell");

/** The reasons of cancels, in a word or two and in a sentence. @type {Record<CancelReason, [short: string, sentence: string]>} */
const REASONS = {
  asked: ["asked for", "Its account asked for it, or a kill switch was thrown"],
  not_resting: ["does not rest", "It is of a kind whose rest does not stay, or its auction is over"],
  refused: ["refused later", "Its price or the order before it came, and it would have been refused then"],
  expired: ["expired", "Its time was over"],
  self_trade: ["own order met", "It met an order of its own account"],
  linked: ["its pair", "Something happened to the other one of the two"],
  not_placed: ["not placed", "The order that it waited for ended before it was executed completely"],
  disconnected: ["disconnected", "No connection protected its account any more"],
};

/** The state of an order with its reason, in few words. @param {HistoryRow} order */
export function statusText(order) {
  if (order.status === "refused") return `refused: ${order.why}`;
  return order.status === "canceled" && order.canceled_why !== undefined ? `canceled: ${REASONS[order.canceled_why][0]}` : order.status;
}

/** The reason why an order was canceled or refused, as a sentence; null where there is none. @param {HistoryRow} order */
export function whyText(order) {
  if (order.status === "refused") return order.why;
  return order.status === "canceled" && order.canceled_why !== undefined ? REASONS[order.canceled_why][1] : null;
}

/** @param {HistoryRow} order @param {Price} price */
export function limitOf(order, price) {
  const limit = order.limit === null ? "market" : price(order.limit, order.symbol);
  if (order.pends_on !== undefined) return `${limit}, after order ${order.pends_on}`;
  return order.waits ? `${limit}, ${triggerOf(order, price)}` : limit;
}

/** @param {Order} order */
export function editName(order) {
  const shares = `Shares of order ${order.order_id}, those included that were executed`;
  return order.limit === null ? `${shares}. With more its place is lost` : `${shares}, @ and its limit. With more shares or another limit its place is lost`;
}

/** The price that an order waits for, or waited for. @param {HistoryRow} order @param {Price} price */
function triggerOf(order, price) {
  if (order.stop === null) return `profit ${price(order.take_profit ?? "", order.symbol)}`;
  const follows = order.trail !== undefined || order.trail_bips !== undefined;
  return `${follows ? "trailing stop" : "stop"} ${price(order.stop, order.symbol)}`;
}

/** @param {HistoryRow} order @param {Price} price */
export function kindOf(order, price) {
  const name = kindName(order.kind);
  const kind = order.display === undefined ? name : `${name}, shows ${group(order.display)}`;
  return order.stop === null && order.take_profit === null ? kind : `${kind}, ${triggerOf(order, price)}`;
}

/** The order in one line, below its number. @param {Order} order */
export function aboutOrder(order) {
  const { side, shares, symbol, limit } = order;
  return `${side === "buy" ? "▲ Buy" : "▼ Sell"} ${group(shares)} ${symbol} at ${limit === null ? "any price" : group(limit)}: ${statusOf(order)}`;
}

/** The shares that an order took from others. @param {Pick<Order, "executed">} order @param {Execution[]} executions those of it that are here */
export function takenText({ executed }, executions) {
  const sharesOf = (/** @type {Execution[]} */ some) => some.reduce((all, { shares }) => all + exact(shares), 0n);
  // The oldest fall out of the list, and none of them is in it after a loss of the connection.
  if (sharesOf(executions) < exact(executed)) return "The page does not have all of its executions any more";
  const taken = executions.filter(({ role }) => role === "aggressor");
  if (taken.length === 0) return "It met no order at once";
  return `It took ${group(format(sharesOf(taken)))} from ${taken.length === 1 ? "one order" : `${taken.length} orders`}`;
}

/** @param {Order} order */
function statusOf(order) {
  const why = whyText(order);
  if (order.status !== "open") return why === null ? order.status : `${order.status}. ${why}`;
  if (order.pends_on !== undefined) return `waits for order ${order.pends_on}`;
  return order.waits ? "waits for its price" : `${group(order.open)} open`;
}
