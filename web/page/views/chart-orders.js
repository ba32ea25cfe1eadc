// One's own orders on the chart: a line for each that is open, a marker where one was executed.

import { forDrawing, group } from "../decimal.js";
import { SECONDS_OF } from "../state/shown.js";
import { LineStyle } from "../vendor/lightweight-charts.standalone.production.mjs";

/** @import { IPriceLine, ISeriesApi, ISeriesMarkersPluginApi, SeriesMarker, Time, UTCTimestamp } from "lightweight-charts" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Side } from "../types.js" */

/** More lines would hide the candles. */
const LINES_MAX = 30;

/**
 * @param {ISeriesApi<"Candlestick">} series
 * @param {{market: Market, holdings: Holdings, theme: Theme}} parts
 * @returns {() => number} draws the lines, and says how many
 */
export function orderLines(series, { market, holdings, theme }) {
  /** By order; a line that is as it was stays. @type {Map<number, {line: IPriceLine, told: string}>} */
  const lines = new Map();
  return () => {
    const open = [...holdings.open.values()].filter(({ symbol, limit }) => symbol === market.symbol && limit !== null).slice(0, LINES_MAX);
    const wanted = new Set(open.map(({ order_id }) => order_id));
    for (const [id, { line }] of lines) {
      if (wanted.has(id)) continue;
      series.removePriceLine(line);
      lines.delete(id);
    }
    for (const { order_id, side, limit, open: shares } of open) {
      const told = `${side} ${limit} ${shares} ${theme.name}`;
      const there = lines.get(order_id);
      if (there?.told === told) continue;
      const options = { price: forDrawing(limit ?? ""), color: theme.colour(side), lineWidth: /** @type {const} */ (1), lineStyle: LineStyle.Dashed, axisLabelVisible: true, title: `${side} ${group(shares)}` };
      if (there) there.line.applyOptions(options);
      lines.set(order_id, { line: there?.line ?? series.createPriceLine(options), told });
    }
    return lines.size;
  };
}

/**
 * @param {ISeriesMarkersPluginApi<Time>} markers
 * @param {{market: Market, holdings: Holdings, theme: Theme}} parts
 * @returns {() => number} draws the markers, and says how many
 */
export function fillMarkers(markers, { market, holdings, theme }) {
  let told = "";
  return () => {
    const first = market.candles.all[0]?.start ?? Infinity;
    const span = SECONDS_OF[market.interval] * 1_000_000;
    /** One for each side of a candle. @type {Map<string, {time: number, side: Side}>} */
    const places = new Map();
    for (const { symbol, side, time } of holdings.executions) {
      if (symbol !== market.symbol || time < first) continue;
      const start = Math.floor(time / span) * span;
      places.set(`${start} ${side}`, { time: start / 1_000_000, side });
    }
    const now = `${theme.name} ${market.symbol} ${market.interval} ${[...places.keys()].join()}`;
    if (now === told) return places.size;
    told = now;
    const sorted = [...places.values()].sort((a, b) => a.time - b.time);
    markers.setMarkers(sorted.map(({ time, side }) => /** @type {SeriesMarker<Time>} */ ({
      time: /** @type {UTCTimestamp} */ (time), position: side === "buy" ? "belowBar" : "aboveBar", shape: side === "buy" ? "arrowUp" : "arrowDown", color: theme.colour(side),
    })));
    return places.size;
  };
}
