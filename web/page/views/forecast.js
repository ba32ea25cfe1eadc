// What an order would do if it came now: a walk through the book that is shown. What happens is for the server to say.

import { MONEY_DECIMALS, exact, format, group, total } from "../decimal.js";

/** @import { Book } from "../state/book.js" */
/** @import { OrderKind, Side } from "../types.js" */

/**
 * @param {Book} book
 * @param {{side: Side, kind: OrderKind, limit: bigint|null, shares: bigint}} order without a limit it takes any price
 * @param {(text: string) => string} price as prices are shown
 * @returns {string} empty when that cannot be said
 */
export function forecast(book, { side, kind, limit, shares }, price) {
  if (book.state !== "live" || book.phase) return "";
  let left = shares;
  let money = 0n;
  for (const level of book.side(side === "buy" ? "sell" : "buy")) {
    if (left === 0n || (limit !== null && (side === "buy" ? level.price > limit : level.price < limit))) break;
    const taken = left < level.amount ? left : level.amount;
    money += total(level.price, taken);
    left -= taken;
  }
  const now = shares - left;
  const amount = (/** @type {bigint} */ count) => group(format(count));
  const at = limit === null ? "" : ` at ${price(format(limit))}`;
  if (kind === "post_only") return now > 0n ? "Would execute at once: it is refused" : `${amount(left)} rest${at}`;
  if (kind === "fill_or_kill" && left > 0n) return `Only ${amount(now)} there${at}: nothing would execute`;
  const rest = kind === "limit" ? `, ${amount(left)} ${left === 0n ? "rests" : `rest${at}`}` : left > 0n ? `, ${amount(left)} canceled` : "";
  if (now === 0n) return kind === "limit" ? `0 now${rest}` : "Nothing would execute";
  return `${amount(now)} now at ${price(average(money, now))} on average${rest}`;
}

/** To a hundredth of a cent, the nearest; shorter where it is exact. @param {bigint} money @param {bigint} shares */
export function average(money, shares) {
  const unit = 10n ** BigInt(MONEY_DECIMALS / 2 - 4);
  return format(((money + (shares * unit) / 2n) / shares / unit) * unit);
}

/**
 * What was executed of an order, and how much better than its limit.
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
