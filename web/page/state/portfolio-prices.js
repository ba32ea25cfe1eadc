// The prices that a portfolio is worth at: the candles of its curve, and the first price on record of each symbol.
// Knows no
// element.

import { Refusal } from "../api.js";
import { exact } from "../decimal.js";
import { Observable } from "./observable.js";

/** @import { Api } from "../api.js" */
/** @import { Candle, Interval } from "../types.js" */

/** Candles that were asked for longer ago than this are asked for again when they are looked at. */
const FRESH_MS = 30_000;
/** The pause before a failed request is repeated. */
const AGAIN_MS = 3_000;

/** A look at an account over a span. @typedef {{account: string|null, span: string, interval: Interval}} Look */

export class PortfolioPrices extends Observable {
  /** First prices on record, by symbol; null where there is none. @type {Map<string, bigint|null>} */
  #first = new Map();
  /** @type {{account: string|null, span: string|null, at_ms: number, candles: Map<string, Candle[]>}} */
  #past = { account: null, span: null, at_ms: -Infinity, candles: new Map() };
  #asking = false;
  /** Whether the server did not answer the last time. */
  failed = false;
  #api;
  #now;
  #later;

  /**
   * @param {Pick<Api, "candles">} api
   * @param {object} [clock]
   * @param {() => number} [clock.now] milliseconds
   * @param {(then: () => void, pause_ms: number) => unknown} [clock.later]
   */
  constructor(api, { now = () => performance.now(), later = (then, pause_ms) => setTimeout(then, pause_ms) } = {}) {
    super();
    this.#api = api;
    this.#now = now;
    this.#later = later;
  }

  /** The first price on record; null where there is none, or as long as it is not here. @param {string} symbol */
  first(symbol) {
    return this.#first.get(symbol) ?? null;
  }

  /** The number of symbols whose first price was asked for. It grows whenever one comes. */
  get known() {
    return this.#first.size;
  }

  /** Whether the first prices of all these are here, as far as they are on record. @param {string[]} symbols */
  know(symbols) {
    return symbols.every((symbol) => this.#first.has(symbol));
  }

  /**
   * The candles of this look, oldest first; null while they are not here.
   * @param {Pick<Look, "account"|"span">} look
   */
  candles({ account, span }) {
    const past = this.#past;
    return past.account === account && past.span === span ? past.candles : null;
  }

  /** Asks for the candles of these symbols, unless they are here. @param {Look} look @param {string[]} symbols */
  async look({ account, span, interval }, symbols) {
    const at_ms = this.#now();
    const fresh_ms = this.know(symbols) ? FRESH_MS : this.failed ? AGAIN_MS : 0;
    if (this.#asking || (this.candles({ account, span }) && at_ms - this.#past.at_ms < fresh_ms)) return;
    this.#asking = true;
    try {
      this.#past = { account, span, at_ms, candles: await this.#fetch(symbols, interval) };
      this.failed = false;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // What is there stays, and is asked for again in a while.
      this.#past = { ...this.#past, account, span, at_ms };
      this.failed = true;
      this.#later(() => this.changed(), AGAIN_MS);
    } finally {
      this.#asking = false;
    }
    this.changed();
  }

  /** @param {string[]} symbols @param {Interval} interval */
  async #fetch(symbols, interval) {
    const after = (Date.now() + 1_000) * 1_000;
    /** @type {Map<string, Candle[]>} */
    const all = new Map();
    await Promise.all(
      symbols.map(async (symbol) => {
        all.set(symbol, (await this.#api.candles(symbol, interval, after)).candles);
        if (this.#first.has(symbol)) return;
        const [oldest] = (await this.#api.candles(symbol, "1d", after)).candles;
        this.#first.set(symbol, oldest ? exact(oldest.open) : null);
      }),
    );
    return all;
  }
}
