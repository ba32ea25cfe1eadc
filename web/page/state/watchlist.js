// The contents of the watchlist: favourites, the symbols that a text finds, and for those in view the line of their day. Knows no element.

import { forDrawing } from "../decimal.js";
import { Observable } from "./observable.js";

/** @import { Candle, SymbolInfo } from "../types.js" */
/** @import { Symbols } from "./symbols.js" */

/** A search finds the others. */
const FAVOURITES_MAX = 100;
/** The most lines that are kept: those that users looked at last. */
const LINES_MAX = 120;
/** Points of a line: a day of quarters of an hour. */
const POINTS = 96;
export const POINT_SPAN_US = 900_000_000;
/** A line whose candles were asked for longer ago than this is asked for again when it is looked at. */
const STALE_MS = 600_000;
/** The pause before the page asks again for a line that it could not get. */
const RETRY_MS = 10_000;

/** `points` oldest first; what they are is a Number, for drawing alone. @typedef {{points: {start: number, close: number}[], asked_at: number, state: "asking"|"here"|"failed"}} Line */

export class Watchlist extends Observable {
  /** @type {Set<string>} */
  favourites;
  /** Least lately looked at first. @type {Map<string, Line>} */
  #lines = new Map();
  #symbols;
  #ask;
  #keep;
  #now;

  /**
   * @param {unknown} kept favourites, as `keep` got them
   * @param {object} parts
   * @param {Symbols} parts.symbols
   * @param {(symbol: string, points: number) => Promise<Candle[]|null>} parts.ask candles of a quarter of an hour, oldest first; null if they cannot be had
   * @param {(favourites: string[]) => void} parts.keep
   * @param {() => number} [parts.now] milliseconds
   */
  constructor(kept, { symbols, ask, keep, now = () => performance.now() }) {
    super();
    const names = Array.isArray(kept) ? kept.filter((each) => typeof each === "string") : [];
    this.favourites = new Set(names.slice(0, FAVOURITES_MAX));
    this.#symbols = symbols;
    this.#ask = ask;
    this.#keep = keep;
    this.#now = now;
  }

  /** @param {string} symbol @returns {boolean} false if there is no room for another one */
  toggle(symbol) {
    if (!this.favourites.delete(symbol)) {
      if (this.favourites.size >= FAVOURITES_MAX) return false;
      this.favourites.add(symbol);
    }
    this.#keep([...this.favourites]);
    this.changed();
    return true;
  }

  /**
   * Favourites first, each part in the order of the alphabet; what begins with the text before what merely holds it.
   * @param {string} text
   * @param {boolean} favourites those alone, unless something is looked for
   * @returns {SymbolInfo[]}
   */
  found(text, favourites) {
    const wanted = text.trim().toLowerCase();
    const rank = (/** @type {string} */ symbol) => (this.favourites.has(symbol) ? 0 : 2) + (symbol.toLowerCase().startsWith(wanted) ? 0 : 1);
    return [...this.#symbols.all.values()]
      .filter(({ symbol }) => (wanted === "" ? !favourites || this.favourites.has(symbol) : symbol.toLowerCase().includes(wanted)))
      .sort((a, b) => rank(a.symbol) - rank(b.symbol) || (a.symbol < b.symbol ? -1 : 1));
  }

  /** The line of a symbol's day up to its last price; empty until its candles are here. They are asked for when it is looked at. @param {SymbolInfo} info @returns {number[]} */
  line({ symbol, last, last_time }) {
    const there = this.#lines.get(symbol);
    const due = !there || (there.state !== "asking" && this.#now() - there.asked_at >= (there.state === "failed" ? RETRY_MS : STALE_MS));
    const line = due ? this.#fetch(symbol, there) : there;
    this.#lines.delete(symbol);
    this.#lines.set(symbol, line);
    if (last !== null && last_time !== null && line.state === "here") follow(line, last_time, forDrawing(last));
    return line.points.map(({ close }) => close);
  }

  /** @param {string} symbol @param {Line|undefined} before @returns {Line} */
  #fetch(symbol, before) {
    /** @type {Line} */
    const line = { points: before?.points ?? [], asked_at: this.#now(), state: "asking" };
    for (const oldest of this.#lines.keys()) {
      if (this.#lines.size < LINES_MAX) break;
      this.#lines.delete(oldest);
    }
    this.#ask(symbol, POINTS).then((candles) => {
      line.state = candles === null ? "failed" : "here";
      if (candles) line.points = candles.slice(-POINTS).map(({ start, close }) => ({ start, close: forDrawing(close) }));
      this.changed();
    });
    return line;
  }

  /** The number of lines that are kept. */
  get kept() {
    return this.#lines.size;
  }
}

/** The last price moves the end of its line, or begins another quarter of an hour. @param {Line} line @param {number} time @param {number} price */
function follow(line, time, price) {
  const start = time - (time % POINT_SPAN_US);
  const end = line.points.at(-1);
  if (end && start <= end.start) end.close = price;
  else line.points.push({ start, close: price });
  if (line.points.length > POINTS) line.points.shift();
}
