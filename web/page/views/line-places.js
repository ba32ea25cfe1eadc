// Places of the chart as points of time and price, also between two candles and beyond the last.

import { SECONDS_OF } from "../state/quote.js";

/** @import { IChartApi, ISeriesApi, Logical } from "lightweight-charts" */
/** @import { Market } from "../state/market.js" */
/** @import { Point } from "../state/studies.js" */

/** The place of a moment among the seconds of all places on the axis; null without any. @param {number[]} times @param {number} span_s @param {number} time */
export function placeOf(times, span_s, time) {
  if (times.length === 0) return null;
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= time) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [times[low - 1], times[low]];
  if (before === undefined) return (time - times[0]) / span_s;
  return after === undefined ? low - 1 + (time - before) / span_s : low - 1 + (time - before) / (after - before);
}

/** The moment at a place, to the nearest candle. @param {number[]} times not empty @param {number} span_s @param {number} place */
export function timeAt(times, span_s, place) {
  const last = times.length - 1;
  const at = Math.round(place);
  if (at < 0) return times[0] + at * span_s;
  return at > last ? times[last] + (at - last) * span_s : times[at];
}

/** @typedef {ReturnType<typeof linePlaces>} LinePlaces */

/** @param {{chart: IChartApi, prices: ISeriesApi<"Candlestick">, times: () => number[], market: Market, container: HTMLElement}} parts `times`: seconds of all places on the axis */
export function linePlaces({ chart, prices, times, market, container }) {
  return {
    /** The pixels of a point; null where it has none. @param {Point} point @returns {[number, number]|null} */
    pixels({ time, price }) {
      const place = placeOf(times(), SECONDS_OF[market.interval], time);
      const x = place === null ? null : chart.timeScale().logicalToCoordinate(/** @type {Logical} */ (place));
      const y = prices.priceToCoordinate(price);
      return x === null || y === null ? null : [x, y];
    },
    /** The height of a price. @param {number} price */
    height: (price) => prices.priceToCoordinate(price),
    /** The point beneath the pointer; null beside the chart. @param {PointerEvent} event @returns {Point|null} */
    point({ clientX, clientY }) {
      const all = times();
      const { left, top } = container.getBoundingClientRect();
      const price = prices.coordinateToPrice(clientY - top);
      const logical = chart.timeScale().coordinateToLogical(clientX - left);
      if (logical === null || price === null || all.length === 0 || clientX - left > chart.timeScale().width()) return null;
      return { time: timeAt(all, SECONDS_OF[market.interval], logical), price };
    },
  };
}
