// Indicators of a chart and lines drawn on it: which there are, and what they come to. All of it is for drawing, so in Numbers. Knows no chart.

import { Observable } from "./observable.js";

/** @typedef {{on: boolean, period: number, exponential: boolean}} Average */
/** @typedef {{averages: Average[], vwap: boolean, profile: boolean, log: boolean}} Chosen */

/** The spans of an average, in candles. */
export const PERIOD_MIN = 2;
export const PERIOD_MAX = 400;
const DAY_S = 86_400;

/** @returns {Chosen} */
const nothing = () => ({
  averages: [
    { on: false, period: 20, exponential: false },
    { on: false, period: 50, exponential: false },
  ],
  vwap: false,
  profile: false,
  log: false,
});

export class Studies extends Observable {
  /** @type {Chosen} */
  chosen;
  #keep;

  /** @param {unknown} kept what `keep` got the last time @param {(chosen: Chosen) => void} keep */
  constructor(kept, keep) {
    super();
    this.#keep = keep;
    this.chosen = nothing();
    const { averages, vwap, profile, log } = /** @type {Record<string, unknown>} */ (kept ?? {});
    this.chosen.averages = this.chosen.averages.map((first, at) => readAverage(Array.isArray(averages) ? averages[at] : null, first));
    Object.assign(this.chosen, { vwap: vwap === true, profile: profile === true, log: log === true });
  }

  /** @param {Partial<Chosen>} change */
  change(change) {
    this.chosen = { ...this.chosen, ...change };
    this.#keep(this.chosen);
    this.changed();
  }

  /** @param {number} at @param {Partial<Average>} change */
  changeAverage(at, change) {
    this.change({ averages: this.chosen.averages.map((average, each) => (each === at ? { ...average, ...change } : average)) });
  }
}

/** @param {unknown} kept @param {Average} first @returns {Average} */
function readAverage(kept, first) {
  if (typeof kept !== "object" || kept === null) return first;
  const { on, period, exponential } = /** @type {Record<string, unknown>} */ (kept);
  return { on: on === true, period: isPeriod(period) ? period : first.period, exponential: exponential === true };
}

/** @param {unknown} period @returns {period is number} */
export function isPeriod(period) {
  return typeof period === "number" && Number.isInteger(period) && period >= PERIOD_MIN && period <= PERIOD_MAX;
}

/**
 * Fills in an average of the last `period` prices, from one place on; before there are so many it is null. An exponential one begins as a plain one.
 * @param {number[]} prices
 * @param {Average} average
 * @param {(number|null)[]} values
 * @param {number} from
 */
export function averageFrom(prices, { period, exponential }, values, from) {
  values.length = Math.min(values.length, from);
  for (let at = from; at < prices.length; at += 1) {
    const before = values[at - 1];
    if (at < period - 1) values.push(null);
    else if (exponential && typeof before === "number") values.push(before + ((prices[at] - before) * 2) / (period + 1));
    else {
      let sum = 0;
      for (let each = at - period + 1; each <= at; each += 1) sum += prices[each];
      values.push(sum / period);
    }
  }
}

/** A candle as studies see it; its time is in seconds. @typedef {{time: number, high: number, low: number, close: number, volume: number, money: number, rises: boolean}} Bar */

/**
 * The price that was paid on average since the day began (of UTC, as candles of a day do). What came before the first candle is not known, so a day
 * that began before it has none; with candles of a day it is that of all of them.
 * @param {Bar[]} bars
 * @param {number} span_s
 * @param {boolean} whole whether nothing came before the first one
 * @returns {(number|null)[]}
 */
export function vwapOf(bars, span_s, whole) {
  const daily = span_s >= DAY_S;
  const dayOf = (/** @type {Bar} */ { time }) => (daily ? 0 : Math.floor(time / DAY_S));
  let day = -1;
  let known = false;
  let money = 0;
  let volume = 0;
  return bars.map((bar, at) => {
    if (dayOf(bar) !== day) {
      day = dayOf(bar);
      known = at > 0 || whole || daily;
      money = volume = 0;
    }
    money += bar.money;
    volume += bar.volume;
    return known && volume > 0 ? money / volume : null;
  });
}

/** Whether the day of the last candle began before the first one that is here. @param {Bar[]} bars @param {number} span_s @param {boolean} whole */
export function dayIsCut(bars, span_s, whole) {
  if (bars.length === 0 || whole || span_s >= DAY_S) return false;
  return Math.floor((bars.at(-1)?.time ?? 0) / DAY_S) === Math.floor(bars[0].time / DAY_S);
}

/** @typedef {{low: number, high: number, up: number, down: number}} Shelf how many shares were traded between two prices, in rising and in falling candles */

/**
 * The volume traded at each price: each candle's volume lies evenly between its low and its high.
 * @param {Bar[]} bars
 * @param {number} shelves
 * @returns {Shelf[]} lowest first
 */
export function profileOf(bars, shelves) {
  let low = Infinity;
  let high = -Infinity;
  for (const bar of bars) {
    low = Math.min(low, bar.low);
    high = Math.max(high, bar.high);
  }
  if (!(high >= low)) return [];
  const width = (high - low) / shelves || Math.max(high, 1) * 1e-6;
  const all = Array.from({ length: shelves }, (_, at) => ({ low: low + at * width, high: low + (at + 1) * width, up: 0, down: 0 }));
  const shelfOf = (/** @type {number} */ price) => Math.min(shelves - 1, Math.max(0, Math.floor((price - low) / width)));
  for (const bar of bars) {
    const [first, last] = [shelfOf(bar.low), shelfOf(bar.high)];
    for (let at = first; at <= last; at += 1) {
      const within = bar.high > bar.low ? (Math.min(bar.high, all[at].high) - Math.max(bar.low, all[at].low)) / (bar.high - bar.low) : 1;
      all[at][bar.rises ? "up" : "down"] += bar.volume * Math.max(0, within);
    }
  }
  return all;
}

/** A point of a chart: seconds and a price. @typedef {{time: number, price: number}} Point */
/** A line through two points, or a level at one price. @typedef {{from: Point, to: Point}|{level: number}} Drawn */

const LINES_MAX = 20;
const SYMBOLS_MAX = 100;

export class Lines extends Observable {
  /** Lines by symbol, the symbol that was changed last at the end. @type {Map<string, Drawn[]>} */
  #all = new Map();
  #keep;

  /** @param {unknown} kept what `keep` got the last time @param {(all: [string, Drawn[]][]) => void} keep */
  constructor(kept, keep) {
    super();
    this.#keep = keep;
    for (const entry of Array.isArray(kept) ? kept.slice(-SYMBOLS_MAX) : []) {
      const [symbol, lines] = Array.isArray(entry) ? entry : [];
      if (typeof symbol === "string" && Array.isArray(lines)) this.#all.set(symbol, lines.filter(isDrawn).slice(0, LINES_MAX));
    }
  }

  /** @param {string|null} symbol @returns {Drawn[]} */
  of(symbol) {
    return this.#all.get(symbol ?? "") ?? [];
  }

  /** @param {string} symbol @param {Drawn} line @returns {boolean} false if there is no room for another one */
  add(symbol, line) {
    const lines = this.of(symbol);
    if (lines.length >= LINES_MAX) return false;
    this.#put(symbol, [...lines, line]);
    return true;
  }

  /** @param {string} symbol @param {Drawn} line */
  remove(symbol, line) {
    this.#put(
      symbol,
      this.of(symbol).filter((each) => each !== line),
    );
  }

  /** @param {string} symbol @param {Drawn[]} lines */
  #put(symbol, lines) {
    this.#all.delete(symbol);
    if (lines.length > 0) this.#all.set(symbol, lines);
    for (const oldest of this.#all.keys()) {
      if (this.#all.size <= SYMBOLS_MAX) break;
      this.#all.delete(oldest);
    }
    this.#keep([...this.#all]);
    this.changed();
  }
}

/** @param {unknown} kept @returns {kept is Drawn} */
function isDrawn(kept) {
  if (typeof kept !== "object" || kept === null) return false;
  const { from, to, level } = /** @type {Record<string, unknown>} */ (kept);
  return level === undefined ? isPoint(from) && isPoint(to) : typeof level === "number" && Number.isFinite(level);
}

/** @param {unknown} kept */
function isPoint(kept) {
  const { time, price } = /** @type {Record<string, unknown>} */ (kept ?? {});
  return Number.isFinite(time) && Number.isFinite(price);
}
