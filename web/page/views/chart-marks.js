// Prices on the chart that are nobody's order: where an alert waits, and where an auction would execute now.

import { forDrawing, group } from "../decimal.js";
import { LineStyle } from "../vendor/lightweight-charts.standalone.production.mjs";

/** @import { IPriceLine, ISeriesApi } from "lightweight-charts" */
/** @import { Alerts } from "../state/alerts.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Theme } from "../theme.js" */

/**
 * @param {ISeriesApi<"Candlestick">} series
 * @param {{market: Market, alerts: Alerts, theme: Theme}} parts
 * @returns {() => number} draws the lines, and says how many
 */
export function markLines(series, { market, alerts, theme }) {
  /** Lines by their text; an unchanged one stays. @type {Map<string, IPriceLine>} */
  const lines = new Map();
  return () => {
    const { phase } = market.book;
    /** @type {Map<string, {price: string, title: string}>} */
    const wanted = new Map();
    const want = (/** @type {string} */ price, /** @type {string} */ title) => wanted.set(`${price} ${title} ${theme.name}`, { price, title });
    for (const { symbol, price, rises, rang } of alerts.all) if (symbol === market.symbol && rang === null) want(price, `alert ${rises ? "▲" : "▼"}`);
    if (phase?.price && phase.shares) want(phase.price, `auction ${group(phase.shares)}`);
    for (const [told, line] of lines) {
      if (wanted.has(told)) continue;
      series.removePriceLine(line);
      lines.delete(told);
    }
    for (const [told, { price, title }] of wanted) {
      if (!lines.has(told))
        lines.set(
          told,
          series.createPriceLine({
            price: forDrawing(price),
            color: theme.colour("warn"),
            lineWidth: 1,
            lineStyle: LineStyle.LargeDashed,
            axisLabelVisible: true,
            title,
          }),
        );
    }
    return lines.size;
  };
}
