// The curve of depth in Numbers: its steps, and where they lie on the canvas.

import { forDrawing, format } from "../decimal.js";

/** @import { Level } from "../state/book.js" */

/** Levels a side that are drawn. */
const LEVELS = 60;
/** Room beneath for prices. */
export const FOOT_PX = 18;
export const PADDING_PX = 6;

/** @typedef {{price: number, total: number, level: Level, exact: bigint}} Step */
/** @typedef {ReturnType<typeof scaleOf>} Scale */

/** The steps of a side's curve. @param {Level[]} levels best first @returns {Step[]} */
export function stepsOf(levels) {
  let exact = 0n;
  return levels.slice(0, LEVELS).map((level) => {
    exact += level.amount;
    return { price: forDrawing(level.limit), total: forDrawing(format(exact)), level, exact };
  });
}

/** Round numbers up to the most: 1, 2 or 5 times a power of ten apart. @param {number} most @param {number} lines at most */
export function roundSteps(most, lines) {
  const power = 10 ** Math.floor(Math.log10(most / lines));
  const step = power * ([1, 2, 5, 10].find((each) => most / (power * each) <= lines) ?? 10);
  return Array.from({ length: Math.floor(most / step) }, (_, at) => (at + 1) * step);
}

/** The scale of both sides, one of which has a step. @param {Step[]} bids @param {Step[]} asks @param {number} width @param {number} height */
export function scaleOf(bids, asks, width, height) {
  const middle = bids.length > 0 && asks.length > 0 ? (bids[0].price + asks[0].price) / 2 : (bids[0] ?? asks[0]).price;
  // As far to both sides as most of the shares reach: a few small orders far away do not squeeze all others into a line.
  const far = [bids, asks]
    .filter((side) => side.length > 0)
    .map((side) => {
      const most = (side.at(-1)?.total ?? 0) * 0.95;
      return Math.abs((side.find(({ total }) => total >= most) ?? side[0]).price - middle);
    });
  const reach = Math.max(...far, middle * 0.0005) * 1.05;
  const low = middle - reach;
  const high = middle + reach;
  const seen = [...bids, ...asks].filter(({ price }) => price >= low && price <= high);
  const most = Math.max(...seen.map(({ total }) => total), 1e-8) * 1.1;
  const floor = height - FOOT_PX;
  return {
    low,
    high,
    most,
    x: (/** @type {number} */ price) => ((price - low) / (high - low)) * width,
    y: (/** @type {number} */ total) => floor - (total / most) * (floor - PADDING_PX),
    price: (/** @type {number} */ x) => low + (x / width) * (high - low),
  };
}

/** The step of a price that is pointed at, on the side where it lies. @param {Step[]} bids @param {Step[]} asks @param {number} price @returns {Step|undefined} */
export function stepAt(bids, asks, price) {
  const side = bids.length > 0 && (asks.length === 0 || price <= (bids[0].price + asks[0].price) / 2) ? bids : asks;
  return side.findLast((each) => (side === bids ? each.price >= price : each.price <= price)) ?? side[0];
}
