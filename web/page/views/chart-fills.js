// The executions of one's own orders on the chart: a marker for each side of a candle.

import { SECONDS_OF } from "../state/quote.js";

/** @import { ISeriesMarkersPluginApi, SeriesMarker, Time, UTCTimestamp } from "lightweight-charts" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Side } from "../types.js" */

/**
 * @param {ISeriesMarkersPluginApi<Time>} markers
 * @param {{market: Market, holdings: AccountSeen, theme: Theme}} parts
 * @returns {() => number} draws the markers, and says how many
 */
export function fillMarkers(markers, { market, holdings, theme }) {
  let drawn = "";
  return () => {
    const first = market.candles.all[0]?.start ?? Infinity;
    const span = SECONDS_OF[market.interval] * 1_000_000;
    /** One for each side of a candle. @type {Map<string, {time: number, side: Side}>} */
    const places = new Map();
    const fills = market.past?.fills ?? holdings.executions.filter(({ symbol }) => symbol === market.symbol);
    for (const { side, time } of fills) {
      if (time < first) continue;
      const start = Math.floor(time / span) * span;
      places.set(`${start} ${side}`, { time: start / 1_000_000, side });
    }
    const now = `${theme.name} ${market.symbol} ${market.interval} ${[...places.keys()].join()}`;
    if (now === drawn) return places.size;
    drawn = now;
    const sorted = [...places.values()].sort((a, b) => a.time - b.time);
    markers.setMarkers(
      sorted.map(
        ({ time, side }) =>
          /** @type {SeriesMarker<Time>} */ ({
            time: /** @type {UTCTimestamp} */ (time),
            position: side === "buy" ? "belowBar" : "aboveBar",
            shape: side === "buy" ? "arrowUp" : "arrowDown",
            color: theme.colour(side),
          }),
      ),
    );
    return places.size;
  };
}
