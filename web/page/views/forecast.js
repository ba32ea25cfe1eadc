// The effect of an order if it came now: a walk through the shown book. Only the server knows the real effect.

import { MONEY_DECIMALS, exact, format, group, total } from "../decimal.js";
import { feeOf, percentOf } from "../state/fees.js";
import { isForAuction } from "../state/kinds.js";

/** @import { Book } from "../state/book.js" */
/** @import { Rates } from "../state/fees.js" */
/** @import { OrderKind, SelfTrade, Side } from "../types.js" */

/** An order to walk through the book. @typedef {{side: Side, kind: OrderKind, limit: bigint|null, shares: bigint}} Question without a limit it takes any price */

/**
 * @param {Book} book
 * @param {Question} order
 * @param {(text: string) => string} price as prices are shown
 * @param {{rates?: Rates|null, symbol?: string, step?: bigint}} [known] what the account pays, and the least step of a price
 * @returns {string} empty when that cannot be said
 */
export function forecast(book, { side, kind, limit, shares }, price, { rates = null, symbol = "", step = 0n } = {}) {
  if (book.state !== "live" || book.phase || isForAuction(kind)) return "";
  const { left, money, fee } = walk(book, { side, limit, shares }, rates?.taker ?? 0n);
  const now = shares - left;
  const amount = (/** @type {bigint} */ count) => group(format(count));
  const at = limit === null ? "" : ` at ${price(format(limit))}`;
  const later = rates !== null && rates.maker > 0n ? `, fee ${percentOf(rates.maker)}% once executed` : "";
  if (kind === "post_only") return now > 0n ? "Would execute at once: it is refused" : `${amount(left)} rest${at}${later}`;
  if (kind === "post_only_move") return `${amount(shares)} rest${moved(book, side, limit, step, price)}${later}`;
  if (kind === "fill_or_kill" && left > 0n) return `Only ${amount(now)} there${at}: nothing would execute`;
  const rest = kind === "limit" ? `, ${amount(left)} ${left === 0n ? "rests" : `rest${at}`}` : left > 0n ? `, ${amount(left)} canceled` : "";
  if (now === 0n) return kind === "limit" ? `0 now${rest}${later}` : "Nothing would execute";
  const paid = rates === null ? "" : `, fee ${side === "buy" ? `${amount(fee)}${fee > 0n ? ` ${symbol}` : ""}` : group(nearest(fee))}`;
  return `${amount(now)} now at ${price(average(money, now))} on average${rest}${paid}`;
}

/**
 * The result of an order's walk through the book, level by level.
 * @param {Book} book
 * @param {{side: Side, limit: bigint|null, shares: bigint}} order
 * @param {bigint} rate what is received is charged
 */
function walk(book, { side, limit, shares }, rate) {
  let left = shares;
  let money = 0n;
  let fee = 0n;
  for (const level of book.side(side === "buy" ? "sell" : "buy")) {
    if (left === 0n || (limit !== null && (side === "buy" ? level.price > limit : level.price < limit))) break;
    const taken = left < level.amount ? left : level.amount;
    const brought = total(level.price, taken);
    money += brought;
    fee += feeOf(side === "buy" ? taken : brought, rate);
    left -= taken;
  }
  return { left, money, fee };
}

/** The price at which an order rests that moves to the next price at which it does not execute. @param {Book} book @param {Side} side @param {bigint|null} limit @param {bigint} step @param {(text: string) => string} price */
function moved(book, side, limit, step, price) {
  if (limit === null) return "";
  const best = book.side(side === "buy" ? "sell" : "buy")[0]?.price;
  const crosses = best !== undefined && (side === "buy" ? limit >= best : limit <= best);
  if (!crosses) return ` at ${price(format(limit))}`;
  return ` at ${price(format(side === "buy" ? best - step : best + step))}, the next price at which it does not execute`;
}

/** The average price to a hundredth of a cent; shorter where it is exact. @param {bigint} money @param {bigint} shares */
export function average(money, shares) {
  const unit = 10n ** BigInt(MONEY_DECIMALS / 2 - 4);
  return format(((money + (shares * unit) / 2n) / shares / unit) * unit);
}

/** Dollars to the nearest hundredth of a cent; to the cent where they are more than a few. @param {bigint} money with `MONEY_DECIMALS` */
export function nearest(money) {
  const size = money < 0n ? -money : money;
  const places = size >= 10n ** BigInt(MONEY_DECIMALS) || size === 0n ? 2 : 4;
  const unit = 10n ** BigInt(MONEY_DECIMALS - places);
  const rounded = ((size + unit / 2n) / unit) * unit;
  return format(money < 0n ? -rounded : rounded, MONEY_DECIMALS);
}

/**
 * The effect of an order that waits for a price, in words.
 * @param {{side: Side, waits: string, kind: OrderKind, shares: string, limit: string|null, trigger: string|null}} order `trigger` and `limit` as they are shown
 */
export function foretoldWaiting({ side, waits, kind, shares, limit, trigger }) {
  if (trigger === null) return "";
  const then = kind === "market" ? `${side}s ${shares} at any price` : limit === null ? "" : `${side}s ${shares} at ${limit} or better`;
  if (then === "") return "";
  if (waits === "trail") return `Follows ${trigger} behind the market; when that comes back to it, ${then}`;
  if (waits === "trail_bips") return `Follows ${trigger}% behind the market; when that comes back to it, ${then}`;
  return `Waits for ${trigger}, then ${then}`;
}

/** The words for own orders that an order would meet. @type {Record<SelfTrade, string>} */
const MEETS = {
  allowed: "may execute with your own",
  cancel_newest: "is canceled where it meets your own",
  cancel_oldest: "cancels your own that it meets",
  cancel_both: "is canceled with your own where it meets them",
  decrement: "shrinks with your own that it meets",
};

/**
 * Whether an order would meet one of its own account, and what becomes of both.
 * @param {{side: Side, limit: bigint|null}} order
 * @param {Iterable<{side: Side, symbol: string, limit: string|null, waits: boolean}>} open orders of the account
 * @param {string} symbol
 * @param {SelfTrade} self_trade
 */
export function foretoldMeeting({ side, limit }, open, symbol, self_trade) {
  for (const order of open) {
    if (order.side === side || order.symbol !== symbol || order.limit === null || order.waits) continue;
    const there = exact(order.limit);
    if (limit === null || (side === "buy" ? there <= limit : there >= limit)) return MEETS[self_trade];
  }
  return "";
}

/**
 * The executed shares of an order, and their gain over its limit.
 * @param {{side: Side, limit: string|null, shares: string|null, symbol: string}} order
 * @param {{price: string, shares: string}[]} executions
 * @param {(text: string) => string} price as prices are shown
 */
export function told({ side, limit, shares, symbol }, executions, price) {
  let filled = 0n;
  let money = 0n;
  for (const execution of executions) {
    filled += exact(execution.shares);
    money += total(exact(execution.price), exact(execution.shares));
  }
  const paid = average(money, filled);
  const better = limit === null ? 0n : (exact(limit) - exact(paid)) * (side === "buy" ? 1n : -1n);
  const of = shares === null || exact(shares) === filled ? "" : ` of ${group(shares)}`;
  return `Filled ${group(format(filled))}${of} ${symbol} @ ${price(paid)}${better > 0n ? `, ${price(format(better))} better than the limit` : ""}`;
}
