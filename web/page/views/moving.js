// The effect of an order at another price, before it is moved there. Knows no element.

import { exact, format, group, parse } from "../decimal.js";
import { forecast, foretoldWaiting } from "./forecast.js";

/** @import { Book } from "../state/book.js" */
/** @import { Order } from "../types.js" */

/** The price of an order that changes. @typedef {"limit"|"stop"|"take_profit"} Which */

/**
 * @typedef {object} Move
 * @property {string} text what it would do now; empty when that cannot be said
 * @property {boolean} crosses whether it would execute at once
 * @property {boolean} loses_place whether it leaves its place in the queue, for one behind all orders at its new price
 * @property {string|null} refused why the server would not take it: the one that stands would stay
 */

/**
 * @param {{book: Book, last: string|null}} market
 * @param {Order} order
 * @param {Which} which
 * @param {string} to
 * @param {(text: string) => string} price as prices are shown
 * @returns {Move}
 */
export function moveOf({ book, last }, order, which, to, price) {
  const { side, kind, open } = order;
  const wanted = parse(to) ?? 0n;
  if (which !== "limit") {
    const rises = (which === "stop") === (side === "buy");
    const reached = last !== null && (rises ? exact(last) >= wanted : exact(last) <= wanted);
    const limit = order.limit === null ? null : price(order.limit);
    const text = foretoldWaiting({ side, waits: which, kind, shares: group(open), limit, trigger: price(format(wanted)) });
    return { text, crosses: false, loses_place: false, refused: reached ? `the last price, ${price(last ?? "")}, has reached it already` : null };
  }
  const best = book.phase ? undefined : book.side(side === "buy" ? "sell" : "buy")[0]?.price;
  const crosses = best !== undefined && (side === "buy" ? wanted >= best : wanted <= best);
  const text = forecast(book, { side, kind, limit: wanted, shares: exact(open) }, price);
  const loses_place = !order.waits && order.pends_on === undefined && (order.limit === null || exact(order.limit) !== wanted);
  return { text, crosses, loses_place, refused: crosses && kind === "post_only" ? "it is post-only, and would execute at once" : null };
}
