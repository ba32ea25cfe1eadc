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
  const candles = new CandleDrawing(container, { market, quote, theme });
  const { chart, prices } = candles;

  const mark = frames.view(() => {
    candles.draw();
    const { all, state } = market.candles;
    setText(note, state === "waiting" ? "Loading candles…" : "No trades yet: candles begin with the first");
    note.hidden = all.length > 0;
    setAttribute(container, "data-candles", String(all.length));
    setAttribute(container, "data-bars", String(candles.times.length));
  }, PAUSE_MS);

  const legend = candleLegend({ market, quote, frames });
  chart.subscribeCrosshairMove(({ time }) => {
    legend.point(time === undefined ? null : Number(time));
  });
  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
    if (range && range.from < 10) market.olderCandles();
  });
  theme.watch(() => {
    candles.repaint();
    mark();
  });

  intervalButtons({ market, frames, chooseInterval });
  for (const watched of [market.candles, market.tape]) {
    watched.watch(mark);
    watched.watch(legend.mark);
  }
  marksOver(prices, { market, quote, holdings, alerts, frames, theme, actions, container });
  studiesView({ chart, prices, inView: () => candles.inView(), market, quote, studies, frames, theme });
  linesView({ chart, prices, times: () => candles.times, market, quote, lines, frames, theme });
}

/** The candles and volumes that the chart has: all of them anew where they are others, else from the last one on. */
class CandleDrawing {
  /** The times of candles, and of the spans between them that have none, in seconds. @type {number[]} */
  times = [];
  #container;
  #parts;
  #made;
  #colours;
  #redrawn = -1;
  #drawn = 0;
  #precision = -1;
  /** The symbol and interval that the view was fitted to. @type {string|null} */
  #fitted = null;

  /** @param {HTMLElement} container @param {{market: Market, quote: Quote, theme: Theme}} parts */
  constructor(container, parts) {
    this.#container = container;
    this.#parts = parts;
    this.#made = candleChart(container, () => parts.market.interval);
    this.#colours = paintChart(this.#made, parts.theme);
  }

  get chart() {
    return this.#made.chart;
  }

  get prices() {
    return this.#made.prices;
  }

  draw() {
    const { candles } = this.#parts.market;
    if (this.#redrawn === candles.redrawn) this.#drawOn();
    else {
      this.#redrawn = candles.redrawn;
      this.#drawAll();
    }
    this.#drawn = candles.all.length;
  }

  /** Takes the theme's colours; the next draw is of all candles. */
  repaint() {
    this.#colours = paintChart(this.#made, this.#parts.theme);
    this.#redrawn = -1;
  }

  /** The seconds at the edges of what is seen. @returns {[number, number]|null} */
  inView() {
    const { times } = this;
    const range = this.chart.timeScale().getVisibleLogicalRange();
    if (!range || times.length === 0) return null;
    return [times[Math.max(0, Math.floor(range.from))] ?? Infinity, times[Math.min(times.length - 1, Math.ceil(range.to))] ?? -Infinity];
  }

  #drawAll() {
    const { market } = this.#parts;
    const { all } = market.candles;
    this.#adjust();
    const places = this.#bars(0);
    this.times = places.map(({ time }) => time);
    this.prices.setData(places);
    this.#made.volumes.setData(all.map((candle) => volumeBar(candle, this.#colours)));
    this.chart.applyOptions({ timeScale: { timeVisible: market.interval !== "1d", secondsVisible: market.interval === "1s" } });
    const view = `${market.symbol} ${market.interval}`;
    if (all.length === 0 || this.#fitted === view) return;
    this.#fitted = view;
    const width = this.#container.clientWidth || 600;
    this.chart.timeScale().setVisibleLogicalRange({
      from: this.times.length - Math.max(Math.min(this.times.length + 1, width / CANDLE_PX), width / CANDLE_PX_MAX),
      to: this.times.length + 2,
    });
  }

  #drawOn() {
    this.#adjust();
    const from = Math.max(0, this.#drawn - 1);
    const places = this.#bars(from);
    // What stands in front of the last one that was drawn is there already.
    const fresh = this.#drawn > 0 ? places.slice(places.findIndex((each) => "open" in each)) : places;
    for (const place of fresh) {
      this.prices.update(place);
      if (place.time > (this.times.at(-1) ?? 0)) this.times.push(place.time);
    }
    for (const candle of this.#parts.market.candles.all.slice(from)) this.#made.volumes.update(volumeBar(candle, this.#colours));
  }

  /** @param {number} from */
  #bars(from) {
    const { market, quote } = this.#parts;
    return barsFrom(market.candles.all, from, market.interval, (last) => quote.upToDate(last));
  }

  /** The price scale has as many decimals as prices have everywhere. */
  #adjust() {
    const precision = this.#parts.quote.decimals;
    if (precision === this.#precision) return;
    this.#precision = precision;
    this.prices.applyOptions({ priceFormat: { type: "price", precision, minMove: Number((10 ** -precision).toFixed(precision)) } });
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
