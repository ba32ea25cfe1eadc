// The chart of candles and volumes as its library draws it: its parts, its colours, and the texts of its time axis.

import {
  CandlestickSeries,
  ColorType,
  CrosshairMode,
  HistogramSeries,
  LineStyle,
  TickMarkType,
  createChart,
} from "../vendor/lightweight-charts.standalone.production.mjs";

/** @import { Time } from "lightweight-charts" */
/** @import { Theme } from "../theme.js" */
/** @import { Interval } from "../types.js" */

/** @typedef {ReturnType<typeof candleChart>} CandleChart */

/** Makes the chart. @param {HTMLElement} container @param {() => Interval} interval that of its candles now */
export function candleChart(container, interval) {
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
      tickMarkFormatter: (/** @type {Time} */ time, /** @type {TickMarkType} */ type) => tick(Number(time), type, interval()),
    },
    localization: { timeFormatter: (/** @type {Time} */ time) => moment(Number(time), interval()) },
  });
  const prices = chart.addSeries(CandlestickSeries, { priceLineStyle: LineStyle.Dotted });
  const volumes = chart.addSeries(HistogramSeries, {
    priceScaleId: "volume",
    priceFormat: { type: "volume" },
    lastValueVisible: false,
    priceLineVisible: false,
  });
  volumes.priceScale().applyOptions({ scaleMargins: { top: 0.82, bottom: 0 } });
  return { chart, prices, volumes };
}

/** Gives the chart the theme's colours. @param {CandleChart} made @param {Theme} theme @returns {{up: string, down: string}} those of volumes */
export function paintChart({ chart, prices }, theme) {
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
