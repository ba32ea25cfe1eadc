// Candles and volume, with what is drawn over them. What is drawn are Numbers; the legend shows the exact text.

import { createSeriesMarkers } from "../vendor/lightweight-charts.standalone.production.mjs";
import { find, make, setAttribute, setText } from "../dom.js";
import { barsFrom, volumeBar } from "./candle-bars.js";
import { candleChart, paintChart } from "./candle-chart.js";
import { candleLegend } from "./candle-legend.js";
import { fillMarkers } from "./chart-fills.js";
import { markLines } from "./chart-marks.js";
import { orderLines } from "./chart-orders.js";
import { linesView } from "./lines.js";
import { studiesView } from "./studies.js";

/** @import { ISeriesApi } from "lightweight-charts" */
/** @import { Frames } from "../frames.js" */
/** @import { Alerts } from "../state/alerts.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Lines, Studies } from "../state/studies.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Interval } from "../types.js" */
/** @import { OrderActions } from "./order-actions.js" */

/** @type {[Interval, string][]} */
const INTERVALS = [
  ["1s", "1 second"],
  ["1m", "1 minute"],
  ["5m", "5 minutes"],
  ["15m", "15 minutes"],
  ["1h", "1 hour"],
  ["1d", "1 day"],
];

/** The width of a candle at first, with the room beside it; wider if there are few. */
const CANDLE_PX = 9;
const CANDLE_PX_MAX = 48;

/** Drawing a chart takes most of a frame; nobody sees more than so many in a second. */
const PAUSE_MS = 100;

/** @param {{market: Market, quote: Quote, holdings: AccountSeen, alerts: Alerts, studies: Studies, lines: Lines, frames: Frames, theme: Theme, actions: OrderActions, chooseInterval: (interval: Interval) => void}} parts */
export function candlesView({ market, quote, holdings, alerts, studies, lines, frames, theme, actions, chooseInterval }) {
  const container = find("candles");
  const note = find("candles-note");
  const made = candleChart(container, () => market.interval);
  const { chart, prices, volumes } = made;
  let colours = paintChart(made, theme);
  let redrawn = -1;
  let drawn = 0;
  /** The times of candles, and of the spans between them that have none, in seconds. @type {number[]} */
  let times = [];
  let precision = -1;
  /** @type {string|null} */
  let fitted = null;

  const bars = (/** @type {number} */ from) => barsFrom(market.candles.all, from, market.interval, (last) => quote.upToDate(last));

  /** The price scale has as many decimals as prices have everywhere. */
  function adjust() {
    const wanted = quote.decimals;
    if (wanted === precision) return;
    precision = wanted;
    prices.applyOptions({ priceFormat: { type: "price", precision, minMove: Number((10 ** -precision).toFixed(precision)) } });
  }

  const mark = frames.view(() => {
    const { candles } = market;
    const all = candles.all;
    if (redrawn !== candles.redrawn) {
      redrawn = candles.redrawn;
      adjust();
      const places = bars(0);
      times = places.map(({ time }) => time);
      prices.setData(places);
      volumes.setData(all.map((candle) => volumeBar(candle, colours)));
      chart.applyOptions({ timeScale: { timeVisible: market.interval !== "1d", secondsVisible: market.interval === "1s" } });
      const view = `${market.symbol} ${market.interval}`;
      if (all.length > 0 && fitted !== view) {
        fitted = view;
        const width = container.clientWidth || 600;
        chart.timeScale().setVisibleLogicalRange({
          from: times.length - Math.max(Math.min(times.length + 1, width / CANDLE_PX), width / CANDLE_PX_MAX),
          to: times.length + 2,
        });
      }
    } else {
      adjust();
      const from = Math.max(0, drawn - 1);
      const places = bars(from);
      // What stands in front of the last one that was drawn is there already.
      const fresh = drawn > 0 ? places.slice(places.findIndex((each) => "open" in each)) : places;
      for (const place of fresh) {
        prices.update(place);
        if (place.time > (times.at(-1) ?? 0)) times.push(place.time);
      }
      for (const candle of all.slice(from)) volumes.update(volumeBar(candle, colours));
    }
    drawn = all.length;
    setText(note, candles.state === "waiting" ? "Loading candles…" : "No trades yet: candles begin with the first");
    note.hidden = all.length > 0;
    setAttribute(container, "data-candles", String(all.length));
    setAttribute(container, "data-bars", String(times.length));
  }, PAUSE_MS);

  const legend = candleLegend({ market, quote, frames });
  chart.subscribeCrosshairMove(({ time }) => {
    legend.point(time === undefined ? null : Number(time));
  });
  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
    if (range && range.from < 10) market.olderCandles();
  });
  theme.watch(() => {
    colours = paintChart(made, theme);
    redrawn = -1;
    mark();
  });

  intervalButtons({ market, frames, chooseInterval });
  for (const watched of [market.candles, market.tape]) {
    watched.watch(mark);
    watched.watch(legend.mark);
  }
  marksOver(prices, { market, quote, holdings, alerts, frames, theme, actions, container });
  studiesView({ chart, prices, inView, market, quote, studies, frames, theme });
  linesView({ chart, prices, times: () => times, market, quote, lines, frames, theme });

  /** The seconds at the edges of what is seen. @returns {[number, number]|null} */
  function inView() {
    const range = chart.timeScale().getVisibleLogicalRange();
    if (!range || times.length === 0) return null;
    return [times[Math.max(0, Math.floor(range.from))] ?? Infinity, times[Math.min(times.length - 1, Math.ceil(range.to))] ?? -Infinity];
  }
}

/**
 * Draws what lies over the candles: orders and fills of the account, alerts, and where an auction would execute.
 * @param {ISeriesApi<"Candlestick">} prices
 * @param {{market: Market, quote: Quote, holdings: AccountSeen, alerts: Alerts, frames: Frames, theme: Theme, actions: OrderActions, container: HTMLElement}} parts
 */
function marksOver(prices, { market, quote, holdings, alerts, frames, theme, actions, container }) {
  const limits = orderLines(prices, { market, holdings, quote, theme, container, note: find("chart-move-note"), mark: () => markOrders(), actions });
  const markers = fillMarkers(createSeriesMarkers(prices, []), { market, holdings, theme });
  const markOrders = frames.view(() => {
    setAttribute(container, "data-lines", String(limits()));
    setAttribute(container, "data-fills", String(markers()));
  }, PAUSE_MS);
  for (const watched of [market, market.candles, holdings, theme]) watched.watch(markOrders);
  const marks = markLines(prices, { market, alerts, theme });
  const markMarks = frames.view(() => setAttribute(container, "data-marks", String(marks())), PAUSE_MS);
  for (const watched of [market, market.book, alerts, theme]) watched.watch(markMarks);
}

/** @param {{market: Market, frames: Frames, chooseInterval: (interval: Interval) => void}} parts */
function intervalButtons({ market, frames, chooseInterval }) {
  const group = find("intervals");
  const buttons = INTERVALS.map(([interval, name]) => {
    const button = make("button", { type: "button", "aria-label": `${interval}: ${name}`, "aria-pressed": "false" }, interval);
    button.addEventListener("click", () => chooseInterval(interval));
    group.append(button);
    return /** @type {const} */ ([interval, button]);
  });
  const mark = frames.view(() => {
    for (const [interval, button] of buttons) setAttribute(button, "aria-pressed", String(interval === market.interval));
  });
  market.watch(mark);
}
