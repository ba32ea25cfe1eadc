// One's own orders on the chart: a line for each that is open, whose label can be dragged to another price.

import { forDrawing, group } from "../decimal.js";
import { LineStyle } from "../vendor/lightweight-charts.standalone.production.mjs";
import { dragLines } from "./chart-drag.js";

/** @import { IPriceLine, ISeriesApi } from "lightweight-charts" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Order } from "../types.js" */
/** @import { Which } from "./moving.js" */
/** @import { OrderActions } from "./order-actions.js" */

/** The most lines, because more would hide the candles. */
const LINES_MAX = 30;

/** The line of an order, with what it was drawn from. @typedef {{line: IPriceLine, version: string, order: Order, which: Which}} OrderLine */

/** The price of an order that is to be seen: the one that it waits for, else its limit. @param {Order} order @returns {Which|null} */
function whichOf({ limit, stop, take_profit, waits, pends_on }) {
  if (waits && pends_on === undefined && stop !== null) return "stop";
  if (waits && pends_on === undefined && take_profit !== null) return "take_profit";
  return limit === null ? null : "limit";
}

/**
 * @param {ISeriesApi<"Candlestick">} series
 * @param {{market: Market, holdings: AccountSeen, quote: Quote, theme: Theme, container: HTMLElement, note: HTMLElement, mark: () => void, actions: Pick<OrderActions, "move"|"foretell">}} parts `note` says what an order would do that is being dragged; `mark` has the lines drawn again
 * @returns {() => number} draws the lines, and says how many
 */
export function orderLines(series, { market, holdings, quote, theme, container, note, mark, actions }) {
  /** Lines by order; an unchanged one stays. @type {Map<number, OrderLine>} */
  const lines = new Map();
  const dropped = () => {
    for (const line of lines.values()) line.version = "";
    mark();
  };
  const held = dragLines(series, lines, { quote, theme, container, note, actions, dropped });

  /** @param {Order} order */
  function draw(order) {
    const { order_id, side, open: shares } = order;
    const which = whichOf(order) ?? "limit";
    const price = order[which] ?? "";
    const version = `${side} ${which} ${price} ${shares} ${theme.name}`;
    const there = lines.get(order_id);
    if (there?.version === version || held() === order_id) {
      if (there) there.order = order;
      return;
    }
    const name = which === "limit" ? "" : which === "stop" ? " stop" : " profit";
    const options = {
      price: forDrawing(price),
      color: theme.colour(side),
      lineWidth: /** @type {const} */ (1),
      lineStyle: which === "limit" ? LineStyle.Dashed : LineStyle.Dotted,
      axisLabelVisible: true,
      title: `${side}${name} ${group(shares)}`,
    };
    if (there) there.line.applyOptions(options);
    lines.set(order_id, { line: there?.line ?? series.createPriceLine(options), version, order, which });
  }

  return () => {
    // What is past is not moved.
    const open = market.past
      ? []
      : [...holdings.open.values()].filter((order) => order.symbol === market.symbol && whichOf(order) !== null).slice(0, LINES_MAX);
    const wanted = new Set(open.map(({ order_id }) => order_id));
    for (const [id, { line }] of lines) {
      if (wanted.has(id)) continue;
      series.removePriceLine(line);
      lines.delete(id);
    }
    for (const order of open) draw(order);
    return lines.size;
  };
}
