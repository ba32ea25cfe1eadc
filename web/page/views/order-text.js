// The texts of an order: its limit, its kind, the price that it waits for, and its state. Knows no element.

import { group } from "../decimal.js";

/** @import { Price } from "../state/quote.js" */
/** @import { Order, Side } from "../types.js" */

export const direction = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "up" : "down");
export const sideOf = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "▲\u00a0Buy" : "▼\u00a0Sell");

/** @param {Order} order @param {Price} price */
export function limitOf(order, price) {
  const limit = order.limit === null ? "market" : price(order.limit, order.symbol);
  if (order.pends_on !== undefined) return `${limit}, after order ${order.pends_on}`;
  return order.waits ? `${limit}, ${triggerOf(order, price)}` : limit;
}

/** @param {Order} order */
export function editName(order) {
  const shares = `Shares of order ${order.order_id}, those included that were executed`;
  return order.limit === null ? shares : `${shares}, @ and its limit`;
}

/** The price that an order waits for, or waited for. @param {Order} order @param {Price} price */
function triggerOf(order, price) {
  if (order.stop === null) return `profit ${price(order.take_profit ?? "", order.symbol)}`;
  const follows = order.trail !== undefined || order.trail_bips !== undefined;
  return `${follows ? "trailing stop" : "stop"} ${price(order.stop, order.symbol)}`;
}

/** @param {Order} order @param {Price} price */
export function kindOf(order, price) {
  const name = order.kind.replaceAll("_", " ");
  const kind = order.display === undefined ? name : `${name}, shows ${group(order.display)}`;
  return order.stop === null && order.take_profit === null ? kind : `${kind}, ${triggerOf(order, price)}`;
}

/** The order in one line, below its number. @param {Order} order */
export function aboutOrder(order) {
  const { side, shares, symbol, limit } = order;
  return `${side === "buy" ? "▲ Buy" : "▼ Sell"} ${group(shares)} ${symbol} at ${limit === null ? "any price" : group(limit)}: ${statusOf(order)}`;
}

/** @param {Order} order */
function statusOf(order) {
  if (order.status !== "open") return order.status;
  if (order.pends_on !== undefined) return `waits for order ${order.pends_on}`;
  return order.waits ? "waits for its price" : `${group(order.open)} open`;
}
