// The warning about a price far from the market: a buyer who offers ten times the price has more often mistyped than meant it. This file knows no element.

import { exact, format, group } from "../decimal.js";

/** @import { NewOrder, Side } from "../types.js" */
/** @import { TicketOrder } from "./ticket-order.js" */

/** A price is far when it is worse than the market's by more than so many per cent. */
const FAR_PERCENT = 10n;

/**
 * The market of the orders: the last price, the best ones of both sides, and the average price of what a market order would take now; null for none.
 * @typedef {{last: string|null, bid: bigint|undefined, ask: bigint|undefined, average: bigint|null}} Prices
 */

/** A price that others are compared with, and its name. @typedef {{price: bigint, name: string}} Reference */

/**
 * The warning about orders whose price is far worse than the market's; empty if there is none.
 * @param {TicketOrder} asked
 * @param {Prices} market
 * @param {(text: string) => string} show a price as prices are shown
 */
export function farWarning({ orders }, market, show) {
  const now = marketPrice(market);
  const texts = orders.map((order, at) => {
    const price = at === 0 && isAtOnce(order) ? market.average : order.limit === undefined ? null : exact(order.limit);
    const reference = referenceOf(order, at === 0 ? now : (behind(orders[0]) ?? now));
    return price === null || reference === null ? "" : farText(order.side, price, reference, show);
  });
  return texts.filter((text) => text !== "").join(" ");
}

/** The market's price: the last one, or without one that of the other side. @param {Prices} market @returns {Reference|null} */
function marketPrice({ last, bid, ask }) {
  if (last !== null) return { price: exact(last), name: "the last price" };
  if (bid !== undefined && ask !== undefined) return { price: (bid + ask) / 2n, name: "the middle of the book" };
  if (bid !== undefined) return { price: bid, name: "the best bid" };
  return ask === undefined ? null : { price: ask, name: "the best ask" };
}

/** The price near which an order becomes active. @param {NewOrder} order @param {Reference|null} now @returns {Reference|null} */
function referenceOf({ stop, take_profit }, now) {
  const trigger = stop ?? take_profit;
  return trigger === undefined ? now : { price: exact(trigger), name: "the price that it waits for" };
}

/** Orders behind another one are placed when that is executed. @param {NewOrder} first @returns {Reference|null} */
function behind({ limit }) {
  return limit === undefined ? null : { price: exact(limit), name: "the limit of the order before it" };
}

/** @param {NewOrder} order */
const isAtOnce = ({ kind, stop, take_profit, trail, trail_bips }) =>
  kind === "market" && [stop, take_profit, trail, trail_bips].every((each) => each === undefined);

/** @param {Side} side @param {bigint} price @param {Reference} reference @param {(text: string) => string} show */
function farText(side, price, reference, show) {
  const loss = side === "buy" ? price - reference.price : reference.price - price;
  if (reference.price <= 0n || loss * 100n <= reference.price * FAR_PERCENT) return "";
  const percent = group(String((loss * 100n) / reference.price));
  return `${show(format(price))} is ${percent}% ${side === "buy" ? "above" : "below"} ${reference.name}, ${show(format(reference.price))}.`;
}
