// The spans of a portfolio's curve, the buttons that choose one, and the points of the curve.

import { MONEY_DECIMALS, forDrawing, format } from "../decimal.js";
import { make, setAttribute } from "../dom.js";
import { dayAndTime } from "../format.js";
import { equityAt } from "../state/portfolio.js";
import { money } from "./portfolio-text.js";

/** @import { PriceOf } from "../state/portfolio.js" */
/** @import { Account, Candle, Execution, Interval } from "../types.js" */
/** @import { Point } from "./curve.js" */

/**
 * A span: its name, the candles that it is made of, and how many.
 * @typedef {{name: string, interval: Interval, span_s: number, points: number}} Span
 */

/** @type {Record<string, Span>} */
export const SPANS = {
  "1h": { name: "1 hour", interval: "1m", span_s: 60, points: 60 },
  "1d": { name: "1 day", interval: "15m", span_s: 900, points: 96 },
  "1w": { name: "1 week", interval: "1h", span_s: 3_600, points: 168 },
  "1mo": { name: "1 month", interval: "1d", span_s: 86_400, points: 30 },
};

/**
 * The buttons that choose the span of the curve.
 * @param {HTMLElement} spans
 * @param {string} chosen at first
 * @param {(id: string) => void} choose
 */
export function spanButtons(spans, chosen, choose) {
  const buttons = Object.entries(SPANS).map(([id, { name }]) => {
    const button = make("button", { type: "button", "aria-label": `${id}: ${name}`, "aria-pressed": String(id === chosen) }, id);
    button.addEventListener("click", () => {
      for (const [other, each] of buttons) setAttribute(each, "aria-pressed", String(other === id));
      choose(id);
    });
    spans.append(button);
    return /** @type {const} */ ([id, button]);
  });
}

/**
 * The points of the curve: the equity at the end of each span, and now.
 * @param {Span} span
 * @param {object} of
 * @param {Account} of.account
 * @param {Execution[]} of.executions newest first
 * @param {Map<string, Candle[]>} of.candles of each symbol, oldest first
 * @param {PriceOf} of.last
 * @param {bigint} equity now
 * @param {number} now_us
 * @returns {Point[]}
 */
export function pointsOf({ span_s, points }, { account, executions, candles, last }, equity, now_us = Date.now() * 1_000) {
  const step_us = span_s * 1_000_000;
  const end = Math.floor(now_us / step_us) * step_us;
  const times = Array.from({ length: points }, (_, at) => end - (points - 1 - at) * step_us);
  const before = equityAt(
    account,
    executions,
    candles,
    last,
    times.map((time) => time - 1),
  );
  const all = [...before.map((worth, at) => ({ time: times[at], worth })), { time: now_us, worth: equity }];
  return all.map(({ time, worth }) => ({ x: time, y: forDrawing(format(worth, MONEY_DECIMALS)), told: `${money(worth)} · ${dayAndTime(time)}` }));
}
