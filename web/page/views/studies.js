// Indicators on the chart: moving averages, the volume-weighted price, the volume profile of what is in view, a logarithmic scale; and their menu.

import { LineSeries, LineStyle, PriceScaleMode } from "../vendor/lightweight-charts.standalone.production.mjs";
import { forDrawing } from "../decimal.js";
import { find, make, setAttribute, setText, within } from "../dom.js";
import { PERIOD_MAX, PERIOD_MIN, averageFrom, dayIsCut, isPeriod, profileOf, vwapOf } from "../state/studies.js";
import { SECONDS_OF } from "../state/quote.js";

/** @import { IChartApi, ISeriesApi, LineData, UTCTimestamp } from "lightweight-charts" */
/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Average, Bar, Shelf, Studies } from "../state/studies.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Candle } from "../types.js" */

const PAUSE_MS = 100;
/** A profile is a picture of many candles: it changes little. */
const PROFILE_PAUSE_MS = 400;
const SHELVES = 32;
/** The part of the chart's width that the longest bar takes. */
const PROFILE_PART = 0.28;
/** Candles that are asked for to reach the beginning of the day. */
const DAY_CANDLES_MAX = 3_000;
const COLOURS = ["study-1", "study-2"];

/** A line of an indicator: its key among them, its name in the legend, and its value at each candle. @typedef {{key: string, name: string, colour: string, all: (number|null)[]}} StudyLine */

/** @param {{chart: IChartApi, prices: ISeriesApi<"Candlestick">, inView: () => [number, number]|null, market: Market, quote: Quote, studies: Studies, frames: Frames, theme: Theme}} parts `inView`: the seconds at the edges of what is seen */
export function studiesView({ chart, prices, inView, market, quote, studies, frames, theme }) {
  const legend = find("studies-legend");
  const series = new StudySeries({ chart, prices, theme, container: find("candles") });
  let redrawn = -1;
  let told = "";
  /** @type {Bar[]} */
  let bars = [];
  /** The values of each average. @type {(number|null)[][]} */
  const values = studies.chosen.averages.map(() => []);

  const mark = frames.view(() => {
    const { candles, interval } = market;
    const { averages, vwap, log } = studies.chosen;
    const look = `${candles.redrawn} ${JSON.stringify(studies.chosen)} ${theme.name} ${quote.decimals}`;
    const anew = look !== told || candles.redrawn !== redrawn;
    told = look;
    redrawn = candles.redrawn;
    if (anew) {
      prices.priceScale().applyOptions({ mode: log ? PriceScaleMode.Logarithmic : PriceScaleMode.Normal });
      setAttribute(find("chart-log"), "aria-pressed", String(log));
    }
    if (!vwap && averages.every(({ on }) => !on)) {
      bars = [];
      series.show([], bars, 0);
      return legend.replaceChildren();
    }
    const from = anew ? 0 : Math.max(0, bars.length - 1);
    bars.length = from;
    for (let at = from; at < candles.all.length; at += 1) bars.push(barOf(at === candles.all.length - 1 ? quote.upToDate(candles.all[at]) : candles.all[at]));
    const closes = bars.map(({ close }) => close);
    /** @type {StudyLine[]} */
    const lines = [];
    averages.forEach((average, at) => {
      if (!average.on) return;
      averageFrom(closes, average, values[at], from);
      lines.push({ key: `average ${at}`, name: nameOf(average), colour: COLOURS[at], all: values[at] });
    });
    const whole = !candles.older;
    if (vwap) lines.push({ key: "vwap", name: "VWAP", colour: "study-3", all: vwapOf(bars, SECONDS_OF[interval], whole) });
    series.show(lines, bars, from);
    // Once for what is here now: what is not answered is asked for again when other candles came.
    if (vwap && anew && dayIsCut(bars, SECONDS_OF[interval], whole) && bars.length < DAY_CANDLES_MAX) market.olderCandles();
    legend.replaceChildren(...lines.map((line) => legendEntry(line, market, quote)));
  }, PAUSE_MS);

  const markProfile = profile({ chart, prices, inView, market, studies, frames, theme });
  menu(studies, frames);
  for (const watched of [market.candles, market.tape, studies, theme]) watched.watch(mark);
  for (const watched of [market.candles, studies, theme]) watched.watch(markProfile);
}

/** The series of the chart that show lines of indicators. */
class StudySeries {
  #parts;
  /** @type {Map<string, ISeriesApi<"Line">>} */
  #shown = new Map();

  /** @param {{chart: IChartApi, prices: ISeriesApi<"Candlestick">, theme: Theme, container: HTMLElement}} parts */
  constructor(parts) {
    this.#parts = parts;
  }

  /** Shows these lines and no others. @param {StudyLine[]} lines @param {Bar[]} bars @param {number} from the first bar that is another one than before */
  show(lines, bars, from) {
    const keys = new Set(lines.map(({ key }) => key));
    for (const key of [...this.#shown.keys()]) if (!keys.has(key)) this.#drop(key);
    for (const line of lines) this.#put(line, bars, from);
    if (lines.length > 0) this.#tell();
  }

  /** @param {StudyLine} line @param {Bar[]} bars @param {number} from */
  #put({ key, colour, all }, bars, from) {
    const there = this.#shown.get(key);
    const series = there ?? this.#add(key);
    if (!there || from === 0) {
      series.applyOptions({ color: this.#parts.theme.colour(colour), priceFormat: this.#parts.prices.options().priceFormat });
      series.setData(all.flatMap((value, at) => point(bars[at], value)));
    } else {
      for (let at = from; at < all.length; at += 1) for (const each of point(bars[at], all[at])) series.update(each);
    }
  }

  /** @param {string} key */
  #add(key) {
    const series = this.#parts.chart.addSeries(LineSeries, {
      lineWidth: 2,
      priceLineVisible: false,
      lastValueVisible: false,
      crosshairMarkerVisible: false,
      lineStyle: key === "vwap" ? LineStyle.Dashed : LineStyle.Solid,
    });
    this.#shown.set(key, series);
    return series;
  }

  /** @param {string} key */
  #drop(key) {
    const series = this.#shown.get(key);
    if (!series) return;
    this.#parts.chart.removeSeries(series);
    this.#shown.delete(key);
    this.#tell();
  }

  #tell() {
    setAttribute(this.#parts.container, "data-studies", [...this.#shown.keys()].sort().join());
  }
}

/** @param {Bar} bar @param {number|null} value @returns {LineData[]} */
function point({ time }, value) {
  return value === null ? [] : [{ time: /** @type {UTCTimestamp} */ (time), value }];
}

/** A line's name and last value. @param {StudyLine} line @param {Market} market @param {Quote} quote */
function legendEntry({ name, colour, all }, market, quote) {
  const value = all.at(-1);
  const missing = market.interval === "1s" ? "– (the day's beginning is not here: choose 1m)" : "–";
  const text = typeof value === "number" ? value.toFixed(quote.decimals) : missing;
  return make("span", { class: "study", "data-colour": colour }, `${name} ${text}`);
}

/** @param {{chart: IChartApi, prices: ISeriesApi<"Candlestick">, inView: () => [number, number]|null, market: Market, studies: Studies, frames: Frames, theme: Theme}} parts @returns {() => void} */
function profile({ chart, prices, inView, market, studies, frames, theme }) {
  /** @type {Shelf[]} */
  let shelves = [];
  let update = () => {};
  const view = {
    zOrder: () => /** @type {const} */ ("bottom"),
    renderer: () => ({
      draw: (/** @type {import("fancy-canvas").CanvasRenderingTarget2D} */ target) =>
        target.useMediaCoordinateSpace(({ context, mediaSize }) => paint(context, mediaSize.width)),
    }),
  };
  const views = [view];
  prices.attachPrimitive({ attached: ({ requestUpdate }) => (update = requestUpdate), paneViews: () => views });

  /** @param {CanvasRenderingContext2D} context @param {number} width */
  function paint(context, width) {
    const most = Math.max(...shelves.map(({ up, down }) => up + down), 0);
    if (most === 0) return;
    const colours = { up: theme.colour("buy-area"), down: theme.colour("sell-area"), most: theme.colour("study-4") };
    for (const { low, high, up, down } of shelves) {
      const [top, bottom] = [prices.priceToCoordinate(high), prices.priceToCoordinate(low)];
      if (top === null || bottom === null) continue;
      const scale = (width * PROFILE_PART) / most;
      const height = Math.max(1, bottom - top - 1);
      context.fillStyle = colours.up;
      context.fillRect(width - up * scale, top, up * scale, height);
      context.fillStyle = colours.down;
      context.fillRect(width - (up + down) * scale, top, down * scale, height);
      if (up + down < most) continue;
      // Where most was traded there is a line, so that colour is not the only sign.
      context.fillStyle = colours.most;
      context.fillRect(width - most * scale, (top + bottom) / 2, most * scale, 1.5);
    }
  }

  const mark = frames.view(() => {
    const range = studies.chosen.profile ? inView() : null;
    const seen = range ? market.candles.all.filter(({ start }) => start >= range[0] * 1_000_000 && start <= range[1] * 1_000_000).map(barOf) : [];
    shelves = profileOf(seen, SHELVES);
    setAttribute(find("candles"), "data-profile", String(shelves.length));
    update();
  }, PROFILE_PAUSE_MS);
  chart.timeScale().subscribeVisibleLogicalRangeChange(() => {
    if (studies.chosen.profile) mark();
  });
  return mark;
}

/** @param {Candle} candle @returns {Bar} */
function barOf({ start, open, high, low, close, volume, money }) {
  const last = forDrawing(close);
  return {
    time: start / 1_000_000,
    high: forDrawing(high),
    low: forDrawing(low),
    close: last,
    volume: forDrawing(volume),
    money: forDrawing(money),
    rises: last >= forDrawing(open),
  };
}

/** @param {Average} average */
function nameOf({ period, exponential }) {
  return `${exponential ? "EMA" : "MA"} ${period}`;
}

/** @param {Studies} studies @param {Frames} frames */
function menu(studies, frames) {
  const root = /** @type {HTMLDetailsElement} */ (find("studies"));
  const rows = studies.chosen.averages.map((_, at) => {
    const on = make("input", { type: "checkbox" });
    const period = make("input", { type: "text", inputmode: "numeric", class: "number", "aria-label": `Candles of average ${at + 1}` });
    const exponential = make("input", { type: "checkbox" });
    on.addEventListener("change", () => studies.changeAverage(at, { on: on.checked }));
    exponential.addEventListener("change", () => studies.changeAverage(at, { exponential: exponential.checked }));
    period.addEventListener("input", () => {
      const wanted = Number(period.value);
      const fits = period.value.trim() !== "" && isPeriod(wanted);
      setAttribute(period, "aria-invalid", fits ? null : "true");
      setText(find("studies-fault"), fits ? "" : `An average has ${PERIOD_MIN} to ${PERIOD_MAX} candles`);
      if (fits) studies.changeAverage(at, { period: wanted, on: true });
    });
    find("studies-averages").append(
      make(
        "p",
        { class: "average" },
        make("label", { class: "pick" }, on, make("span", {}, `Average ${at + 1} of`)),
        period,
        make("label", { class: "pick" }, exponential, make("span", {}, "exponential")),
      ),
    );
    return { on, period, exponential };
  });
  const vwap = /** @type {HTMLInputElement} */ (find("study-vwap"));
  const profile = /** @type {HTMLInputElement} */ (find("study-profile"));
  vwap.addEventListener("change", () => studies.change({ vwap: vwap.checked }));
  profile.addEventListener("change", () => studies.change({ profile: profile.checked }));
  find("chart-log").addEventListener("click", () => studies.change({ log: !studies.chosen.log }));

  // It closes as other lists do: with Escape, and when something else is pressed.
  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    event.stopPropagation();
    root.open = false;
    within(root, "summary").focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (root.open && event.target instanceof Node && !root.contains(event.target)) root.open = false;
  });
  const mark = frames.view(() => {
    const { averages } = studies.chosen;
    rows.forEach(({ on, period, exponential }, at) => {
      on.checked = averages[at].on;
      exponential.checked = averages[at].exponential;
      if (document.activeElement !== period) period.value = String(averages[at].period);
    });
    vwap.checked = studies.chosen.vwap;
    profile.checked = studies.chosen.profile;
  });
  studies.watch(mark);
}
