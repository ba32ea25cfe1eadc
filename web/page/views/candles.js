// Candles and volume. What is drawn are Numbers; the legend shows the exact text.

import {
  CandlestickSeries,
  ColorType,
  CrosshairMode,
  HistogramSeries,
  LineStyle,
  TickMarkType,
  createChart,
  createSeriesMarkers,
} from "../vendor/lightweight-charts.standalone.production.mjs";
import { atLeast, forDrawing, group } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { SECONDS_OF } from "../state/quote.js";
import { markLines } from "./chart-marks.js";
import { fillMarkers, orderLines } from "./chart-orders.js";
import { linesView } from "./lines.js";
import { studiesView } from "./studies.js";

/** @import { UTCTimestamp, Time } from "lightweight-charts" */
/** @import { Frames } from "../frames.js" */
/** @import { Alerts } from "../state/alerts.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Lines, Studies } from "../state/studies.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Candle, Interval } from "../types.js" */
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

/** The most spans without a trade that keep their place; a longer pause is left out. */
const PAUSE_SPANS_MAX = 5_000;

/** Drawing a chart takes most of a frame; nobody sees more than so many in a second. */
const PAUSE_MS = 100;

/** @param {{market: Market, quote: Quote, holdings: AccountSeen, alerts: Alerts, studies: Studies, lines: Lines, frames: Frames, theme: Theme, actions: OrderActions, chooseInterval: (interval: Interval) => void}} parts */
export function candlesView({ market, quote, holdings, alerts, studies, lines, frames, theme, actions, chooseInterval }) {
  const container = find("candles");
  const legend = find("legend");
  const note = find("candles-note");
  const chart = createChart(container, {
    autoSize: true,
    // The link that its licence asks for is beneath the chart, in our own words and styles.
    layout: { attributionLogo: false, fontSize: 11 },
    crosshair: { mode: CrosshairMode.Normal },
    kineticScroll: { mouse: false, touch: !matchMedia("(prefers-reduced-motion: reduce)").matches },
    rightPriceScale: { scaleMargins: { top: 0.08, bottom: 0.24 }, borderVisible: false },
    timeScale: {
      borderVisible: false,
      rightOffset: 4,
      minBarSpacing: 1,
      tickMarkFormatter: (/** @type {Time} */ time, /** @type {TickMarkType} */ type) => tick(Number(time), type, market.interval),
    },
    localization: { timeFormatter: (/** @type {Time} */ time) => moment(Number(time), market.interval) },
  });
  const prices = chart.addSeries(CandlestickSeries, { priceLineStyle: LineStyle.Dotted });
  const volumes = chart.addSeries(HistogramSeries, {
    priceScaleId: "volume",
    priceFormat: { type: "volume" },
    lastValueVisible: false,
    priceLineVisible: false,
  });
  volumes.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });

  let colours = paint();
  let redrawn = -1;
  let drawn = 0;
  /** The times of candles, and of the spans between them that have none, in seconds. @type {number[]} */
  let times = [];
  let precision = -1;
  /** @type {string|null} */
  let fitted = null;
  let legendShown = "";
  /** The time under the pointer, in seconds; null for the last candle. @type {number|null} */
  let pointed = null;

  function paint() {
    const colour = (/** @type {string} */ name) => theme.colour(name);
    chart.applyOptions({
      layout: { background: { type: ColorType.Solid, color: colour("panel") }, textColor: colour("muted"), fontFamily: colour("font") },
      grid: { vertLines: { color: colour("grid") }, horzLines: { color: colour("grid") } },
      crosshair: {
        vertLine: { color: colour("muted"), labelBackgroundColor: colour("raised") },
        horzLine: { color: colour("muted"), labelBackgroundColor: colour("raised") },
      },
    });
    // Rising candles are hollow and falling ones filled, so that colour is not the only sign.
    prices.applyOptions({
      upColor: colour("panel"),
      downColor: colour("sell"),
      borderUpColor: colour("buy"),
      borderDownColor: colour("sell"),
      wickUpColor: colour("buy"),
      wickDownColor: colour("sell"),
      priceLineColor: colour("accent-fill"),
    });
    return { up: colour("buy-bar"), down: colour("sell-bar") };
  }

  /** @param {Candle} candle */
  function price(candle) {
    return {
      time: seconds(candle),
      open: forDrawing(candle.open),
      high: forDrawing(candle.high),
      low: forDrawing(candle.low),
      close: forDrawing(candle.close),
    };
  }

  /** The candles before which so many are, and the empty places in front of each. @param {number} from */
  function barsFrom(from) {
    const { all } = market.candles;
    return all
      .slice(from)
      .flatMap((candle, at) => [
        ...gap(all[from + at - 1], candle, SECONDS_OF[market.interval]),
        price(from + at === all.length - 1 ? quote.upToDate(candle) : candle),
      ]);
  }

  /** @param {Candle} candle */
  function volume(candle) {
    return { time: seconds(candle), value: forDrawing(candle.volume), color: forDrawing(candle.close) >= forDrawing(candle.open) ? colours.up : colours.down };
  }

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
      const places = barsFrom(0);
      times = places.map(({ time }) => time);
      prices.setData(places);
      volumes.setData(all.map(volume));
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
      const places = barsFrom(from);
      // What stands in front of the last one that was drawn is there already.
      const fresh = drawn > 0 ? places.slice(places.findIndex((each) => "open" in each)) : places;
      for (const place of fresh) {
        prices.update(place);
        if (place.time > (times.at(-1) ?? 0)) times.push(place.time);
      }
      for (const candle of all.slice(from)) volumes.update(volume(candle));
    }
    drawn = all.length;
    setText(note, candles.state === "waiting" ? "Loading candles…" : "No trades yet: candles begin with the first");
    note.hidden = all.length > 0;
    setAttribute(container, "data-candles", String(all.length));
    setAttribute(container, "data-bars", String(times.length));
  }, PAUSE_MS);

  const markLegend = frames.view(() => {
    const all = market.candles.all;
    const found = pointed === null ? all.at(-1) : all.findLast(({ start }) => start / 1_000_000 === pointed);
    const candle = found && found === all.at(-1) ? quote.upToDate(found) : found;
    if (!candle) {
      legendShown = "";
      return legend.replaceChildren(all.length > 0 ? "No trades" : "");
    }
    const rises = forDrawing(candle.close) >= forDrawing(candle.open);
    const told = `${candle.start} ${candle.volume} ${candle.close} ${quote.decimals}`;
    if (told === legendShown) return;
    legendShown = told;
    const show = (/** @type {string} */ text) => group(atLeast(text, quote.decimals));
    legend.replaceChildren(
      ...legendPart("O", show(candle.open)),
      ...legendPart("H", show(candle.high)),
      ...legendPart("L", show(candle.low)),
      ...legendPart("C", `${show(candle.close)} ${rises ? "▲" : "▼"}`, rises ? "up" : "down"),
      ...legendPart("V", group(candle.volume)),
    );
  });

  chart.subscribeCrosshairMove(({ time }) => {
    pointed = time === undefined ? null : Number(time);
    markLegend();
  });
  chart.timeScale().subscribeVisibleLogicalRangeChange((range) => {
    if (range && range.from < 10) market.olderCandles();
  });
  theme.watch(() => {
    colours = paint();
    redrawn = -1;
    mark();
  });

  const buttons = intervalButtons(chooseInterval);
  const markButtons = frames.view(() => {
    for (const [interval, button] of buttons) setAttribute(button, "aria-pressed", String(interval === market.interval));
  });
  market.watch(markButtons);
  for (const watched of [market.candles, market.tape]) {
    watched.watch(mark);
    watched.watch(markLegend);
  }
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

  studiesView({ chart, prices, inView, market, quote, studies, frames, theme });
  linesView({ chart, prices, times: () => times, market, quote, lines, frames, theme });

  /** The seconds at the edges of what is seen. @returns {[number, number]|null} */
  function inView() {
    const range = chart.timeScale().getVisibleLogicalRange();
    if (!range || times.length === 0) return null;
    return [times[Math.max(0, Math.floor(range.from))] ?? Infinity, times[Math.min(times.length - 1, Math.ceil(range.to))] ?? -Infinity];
  }
}

/** @param {(interval: Interval) => void} choose */
function intervalButtons(choose) {
  const group = find("intervals");
  return INTERVALS.map(([interval, name]) => {
    const button = make("button", { type: "button", "aria-label": `${interval}: ${name}`, "aria-pressed": "false" }, interval);
    button.addEventListener("click", () => choose(interval));
    group.append(button);
    return /** @type {const} */ ([interval, button]);
  });
}

/** @param {string} name @param {string} value @param {string|null} [direction] */
function legendPart(name, value, direction = null) {
  return [make("span", { class: "muted" }, `${name} `), make("span", { "data-direction": direction }, `${value} `)];
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

const formats = {
  year: new Intl.DateTimeFormat("en-GB", { year: "numeric" }),
  month: new Intl.DateTimeFormat("en-GB", { month: "short" }),
  day: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" }),
  minutes: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" }),
  seconds: new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  moment: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  // A day's candle begins at midnight of UTC, whatever the day here.
  utcDay: new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" }),
};

/** A mark of the time axis, in this browser's time. @param {number} time_s @param {TickMarkType} type @param {Interval} interval */
function tick(time_s, type, interval) {
  const date = new Date(time_s * 1000);
  switch (type) {
    case TickMarkType.Year:
      return formats.year.format(date);
    case TickMarkType.Month:
      return formats.month.format(date);
    case TickMarkType.DayOfMonth:
      return interval === "1d" ? formats.utcDay.format(date) : formats.day.format(date);
    case TickMarkType.TimeWithSeconds:
      return formats.seconds.format(date);
    default:
      return formats.minutes.format(date);
  }
}

/** @param {number} time_s @param {Interval} interval */
function moment(time_s, interval) {
  return interval === "1d" ? formats.utcDay.format(time_s * 1000) : formats.moment.format(time_s * 1000);
}
