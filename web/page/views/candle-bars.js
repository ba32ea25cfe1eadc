// Candles as the chart draws them: in Numbers, and with the empty places of a pause between them.

import { forDrawing } from "../decimal.js";
import { SECONDS_OF } from "../state/quote.js";

/** @import { UTCTimestamp } from "lightweight-charts" */
/** @import { Candle, Interval } from "../types.js" */

/** The most spans without a trade that keep their place; a longer pause is left out. */
const PAUSE_SPANS_MAX = 5_000;

/** @param {Candle} candle */
function priceBar(candle) {
  return {
    time: seconds(candle),
    open: forDrawing(candle.open),
    high: forDrawing(candle.high),
    low: forDrawing(candle.low),
    close: forDrawing(candle.close),
  };
}

/** @param {Candle} candle @param {{up: string, down: string}} colours */
export function volumeBar(candle, colours) {
  return { time: seconds(candle), value: forDrawing(candle.volume), color: forDrawing(candle.close) >= forDrawing(candle.open) ? colours.up : colours.down };
}

/**
 * The candles from one on, each behind the empty places in front of it.
 * @param {Candle[]} all
 * @param {number} from
 * @param {Interval} interval
 * @param {(last: Candle) => Candle} upToDate the last candle as it is by now
 */
export function barsFrom(all, from, interval, upToDate) {
  return all
    .slice(from)
    .flatMap((candle, at) => [...gap(all[from + at - 1], candle, SECONDS_OF[interval]), priceBar(from + at === all.length - 1 ? upToDate(candle) : candle)]);
}

/**
 * The empty places between two candles: spans in which nothing was traded.
 * @param {Candle|undefined} before @param {Candle} candle @param {number} span_s
 * @returns {{time: UTCTimestamp}[]}
 */
function gap(before, candle, span_s) {
  if (!before) return [];
  const missing = Math.round((candle.start - before.start) / 1_000_000 / span_s) - 1;
  if (missing <= 0 || missing > PAUSE_SPANS_MAX) return [];
  return Array.from({ length: missing }, (_, at) => ({ time: /** @type {UTCTimestamp} */ (seconds(before) + (at + 1) * span_s) }));
}

/** @param {Candle} candle @returns {UTCTimestamp} */
function seconds(candle) {
  return /** @type {UTCTimestamp} */ (candle.start / 1_000_000);
}
