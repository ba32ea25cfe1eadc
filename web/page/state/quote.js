// The price figures of the chosen symbol, one source for all views: the last price, the day, and the decimals of a price.

import { atLeast, exact, format, group, places } from "../decimal.js";

/** @import { Candle, Interval, Phase, Rules, SymbolInfo } from "../types.js" */
/** @import { Market } from "./market.js" */
/** @import { Symbols } from "./symbols.js" */

/** A price as it is shown everywhere, by its text and symbol. @typedef {Quote["price"]} Price */

/** Levels a side that count for the decimals: one far away must not widen all columns. */
const LEVELS = 20;
const DECIMALS_MIN = 2;

/** @type {Record<Interval, number>} */
export const SECONDS_OF = { "1s": 1, "1m": 60, "5m": 300, "15m": 900, "1h": 3_600, "1d": 86_400 };

/** The figures of a symbol without any. */
const UNKNOWN = {
  last: null,
  last_time: null,
  change: null,
  change_percent: null,
  open_24h: null,
  high_24h: null,
  low_24h: null,
  volume_24h: null,
  money_24h: null,
  trades_24h: null,
  best_bid: null,
  best_ask: null,
};

export class Quote {
  /** @type {string|null} */
  #symbol = null;
  #seen = DECIMALS_MIN;
  #market;
  #symbols;

  /** @param {Market} market @param {Symbols} symbols */
  constructor(market, symbols) {
    this.#market = market;
    this.#symbols = symbols;
  }

  /** @returns {SymbolInfo|undefined} */
  get info() {
    const { symbol, past } = this.#market;
    const info = symbol ? this.#symbols.all.get(symbol) : undefined;
    // Of the past only what does not change is known.
    return info && past ? { ...UNKNOWN, symbol: info.symbol, issued: info.issued, ...(info.rules && { rules: info.rules }) } : info;
  }

  /** @returns {Rules|undefined} */
  get rules() {
    return this.info?.rules;
  }

  /** The phase of the symbol while it is not open: the book says it with each update, the list of symbols four times a second. @returns {Phase|null} */
  get phase() {
    const { book } = this.#market;
    return book.state === "live" ? book.phase : (this.info?.phase ?? null);
  }

  /** Every price has so many: those of the tick, or the most that were seen near the market. They do not become fewer. */
  get decimals() {
    const { symbol, book, tape } = this.#market;
    if (symbol !== this.#symbol) {
      this.#symbol = symbol;
      this.#seen = DECIMALS_MIN;
    }
    if (this.rules?.tick) return Math.max(DECIMALS_MIN, places(this.rules.tick));
    const see = (/** @type {string|null|undefined} */ price) => {
      if (price) this.#seen = Math.max(this.#seen, places(price));
    };
    see(this.info?.last);
    for (const { price } of tape.trades) see(price);
    for (const side of [book.bids, book.asks]) for (let at = 0; at < LEVELS && at < side.length; at += 1) see(side[at].limit);
    return this.#seen;
  }

  /** The decimals of any symbol, as far as they are known. @param {string} symbol */
  decimalsOf(symbol) {
    if (symbol === this.#market.symbol) return this.decimals;
    const info = this.#symbols.all.get(symbol);
    return Math.max(DECIMALS_MIN, places(info?.rules?.tick ?? info?.last ?? ""));
  }

  /** A price as it is shown everywhere. @param {string} text @param {string} symbol */
  price(text, symbol) {
    return group(atLeast(text, this.decimalsOf(symbol)));
  }

  /** The step of a price: the tick, or one of its last decimal. */
  get step() {
    return this.rules?.tick ?? format(10n ** BigInt(8 - this.decimals));
  }

  /** The price of the newest trade on the tape; what is known of the symbol, while there is none. */
  get last() {
    return this.#market.tape.trades[0]?.price ?? this.info?.last ?? null;
  }

  /** The last price of any symbol: of the one that is looked at it is the same as everywhere. @param {string} symbol @returns {string|null} */
  lastOf(symbol) {
    const { symbol: looked_at, past } = this.#market;
    return symbol === looked_at && !past ? this.last : (this.#symbols.all.get(symbol)?.last ?? null);
  }

  /** The symbol's day up to that trade. @returns {{change: string|null, percent: string|null, high: string|null, low: string|null}} */
  get day() {
    const { info, last } = this;
    const open = info?.open_24h;
    if (this.#market.past) return { change: null, percent: null, high: null, low: null };
    if (!info || !last || !open)
      return { change: info?.change ?? null, percent: info?.change_percent ?? null, high: info?.high_24h ?? last, low: info?.low_24h ?? last };
    const change = exact(last) - exact(open);
    const percent = (Number(change) / Number(exact(open))) * 100;
    return { change: format(change), percent: percent.toFixed(2), high: further(info.high_24h, last, 1n), low: further(info.low_24h, last, -1n) };
  }

  /** The newest candle up to the newest trade: what comes over one topic may be behind the other. @param {Candle} candle @returns {Candle} */
  upToDate(candle) {
    const trade = this.#market.tape.trades[0];
    const end = candle.start + SECONDS_OF[this.#market.interval] * 1_000_000;
    if (!trade || trade.time < candle.start || trade.time >= end) return candle;
    return { ...candle, close: trade.price, high: further(candle.high, trade.price, 1n), low: further(candle.low, trade.price, -1n) };
  }
}

/** The price that lies further up, or down. @param {string|null} known @param {string} last @param {1n|-1n} direction */
function further(known, last, direction) {
  return known !== null && exact(known) * direction > exact(last) * direction ? known : last;
}
