// The amounts of a portfolio as they are shown. Knows no element.

import { MONEY_DECIMALS, atLeast, format, group } from "../decimal.js";
import { averageCost, percent } from "../state/portfolio.js";
import { nearest } from "./forecast.js";

/** @import { Line, Sum } from "../state/portfolio.js" */

export const money = (/** @type {bigint} */ amount) => group(atLeast(nearest(amount), 2));
export const signed = (/** @type {bigint} */ amount) => {
  const text = money(amount < 0n ? -amount : amount);
  return amount > 0n ? `+${text}` : amount < 0n ? `−${text}` : text;
};
export const direction = (/** @type {bigint|null} */ amount) => (amount === null || amount === 0n ? null : amount > 0n ? "up" : "down");
export const full = (/** @type {bigint|null} */ amount) => (amount === null ? "" : format(amount, MONEY_DECIMALS));

/**
 * The figures above the table.
 * @param {Sum} sum
 * @returns {{name: string, text: string, exactly: string, way: string|null}[]}
 */
export function figuresOf({ equity, cash, value, unrealised, realised, fees }) {
  const plain = (/** @type {string} */ name, /** @type {bigint} */ amount) => ({ name, text: money(amount), exactly: full(amount), way: null });
  const change = (/** @type {string} */ name, /** @type {bigint} */ amount) => ({ name, text: signed(amount), exactly: full(amount), way: direction(amount) });
  return [
    plain("Equity", equity),
    plain("Cash", cash),
    plain("Shares", value),
    change("Unrealised", unrealised),
    change("Realised", realised),
    plain("Fees", fees),
  ];
}

/** @param {Line} line @param {(cost: string) => string} show @param {number} [places] */
export function average(line, show, places = 4) {
  const cost = averageCost(line);
  if (cost === null) return places === 8 ? "" : "–";
  const unit = 10n ** BigInt(8 - places);
  return show(format(((cost + unit / 2n) / unit) * unit));
}

/** @param {Line} line */
export function withPercent({ unrealised, cost }) {
  const part = unrealised === null ? null : percent(unrealised, cost);
  return part === null ? "" : ` (${part.replace("-", "−")}%)`;
}
