// The levels that the ladder shows: put together by steps of the price, with their totals, and the text between the
// sides. Knows no element.

import { MONEY_DECIMALS, atLeast, exact, forDrawing, format, group, total } from "../decimal.js";

/** @import { Book, Level } from "../state/book.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Phase, Side } from "../types.js" */

/** @type {Side[]} */
export const SIDES = ["buy", "sell"];

/** One value a side. @template T @param {(side: Side) => T} value @returns {Record<Side, T>} */
export function bySide(value) {
  return { buy: value("buy"), sell: value("sell") };
}

/**
 * The levels of a side's rows: the best ones, or those at the prices at which rows are held.
 * @param {Level[]} levels best first
 * @param {{side: Side, step: bigint, rows: number, held: (bigint|null)[]|null}} look
 */
export function levelsOf(levels, { side, step, rows, held }) {
  return held ? heldLevels(held, grouped(levels, side, step, Infinity)) : grouped(levels, side, step, rows);
}

/**
 * Levels put together: of a buy side downwards, of a sell side upwards, so that no price is better than those of its
 * orders.
 * @param {Level[]} levels best first
 * @param {Side} side
 * @param {bigint} step
 * @param {number} wanted the most levels that are needed
 * @returns {Level[]}
 */
export function grouped(levels, side, step, wanted) {
  /** @type {Level[]} */
  const all = [];
  for (const level of levels) {
    const price = roundTo(level.price, side, step);
    const last = all.at(-1);
    if (!last || last.price !== price) {
      if (all.length >= wanted) break;
      all.push(price === level.price ? level : { ...level, price, limit: format(price) });
    } else {
      const amount = last.amount + level.amount;
      all[all.length - 1] = { ...last, amount, shares: format(amount), orders: last.orders + level.orders };
    }
  }
  return all;
}

/** @param {bigint} price @param {Side} side @param {bigint} step */
function roundTo(price, side, step) {
  const down = price - (price % step);
  return side === "buy" || down === price ? down : down + step;
}

/**
 * The levels at the prices at which rows are held.
 * @param {(bigint|null)[]} prices
 * @param {Level[]} levels
 * @returns {Level[]}
 */
function heldLevels(prices, levels) {
  const by_price = new Map(levels.map((level) => [level.price, level]));
  return prices.filter((price) => price !== null).map((price) => by_price.get(price) ?? { limit: format(price), price, shares: "0", amount: 0n, orders: 0 });
}

/**
 * The limits of one's own open orders, as levels are put together.
 * @param {AccountSeen} holdings
 * @param {Market} market
 * @param {bigint} step
 */
export function limitsOf(holdings, { past, symbol }, step) {
  /** @type {Record<Side, Set<bigint>>} */
  const limits = { buy: new Set(), sell: new Set() };
  const orders = past ? past.orders.values() : [...holdings.open.values()].filter((order) => order.symbol === symbol);
  for (const order of orders) {
    if (order.limit !== null) limits[order.side].add(roundTo(exact(order.limit), order.side, step));
  }
  return limits;
}

/** The shares up to each level, or their money. @param {Level[]} levels best first @param {boolean} money */
export function totalsOf(levels, money) {
  let sum = 0n;
  return levels.map(({ price, amount }) => (sum += money ? total(price, amount) : amount));
}

/** The deepest of the totals, for drawing. @param {Record<Side, bigint[]>} totals @param {boolean} money */
export function deepestOf(totals, money) {
  return Math.max(...SIDES.map((side) => forDrawing(format(totals[side].at(-1) ?? 0n, money ? MONEY_DECIMALS : undefined))));
}

/**
 * The text between the sides: the spread, or the phase of a symbol that is not open.
 * @param {Book} book
 * @param {number} decimals
 */
export function middleText({ phase, bids, asks }, decimals) {
  return phase ? phaseText(phase) : spread(bids[0], asks[0], decimals);
}

/** The text in place of the spread while the symbol is not open: a crossed book has none. @param {Phase} phase */
function phaseText(phase) {
  const what = phase.name === "halted" ? "Halted" : "Auction";
  if (!phase.price || !phase.shares) return `${what}: nothing would execute`;
  return `${what}: ${group(phase.shares)} would execute at ${group(phase.price)}`;
}

/** @param {Level|undefined} bid @param {Level|undefined} ask @param {number} decimals */
function spread(bid, ask, decimals) {
  if (!bid || !ask) return bid ? "no sell orders" : "no buy orders";
  const difference = ask.price - bid.price;
  const percent = (Number(difference) / Number(ask.price + bid.price)) * 200;
  return `Spread ${group(atLeast(format(difference), decimals))}  (${percent.toFixed(percent < 0.1 ? 3 : 2)}%)`;
}
