// The market that is looked at: a symbol with its book, trades and candles, kept live from the feed.

import { Refusal } from "../api.js";
import { Pauses } from "../pauses.js";
import { Book } from "./book.js";
import { Candles } from "./candles.js";
import { Tape } from "./tape.js";
import { Observable } from "./observable.js";

/** @import { Api } from "../api.js" */
/** @import { Feed } from "../feed.js" */
/** @import { BookFault } from "./book.js" */
/** @import { Past } from "./replay.js" */
/** @import { BookFeed, CandlesSnapshot, CandleUpdate, FeedError, Interval, Topic, TradesFeed } from "../types.js" */

/** A book that stood so long was sound: the next fault is mended at once again. */
const SOUND_MS = 30_000;

export class Market extends Observable {
  /** @type {string|null} */
  symbol = null;
  /** @type {Interval} */
  interval;
  /** Why the symbol cannot be shown. @type {string|null} */
  refused = null;
  /** The past market that a replay shows instead of the live one; null while it is live. @type {Past|null} */
  past = null;
  book = new Book();
  tape = new Tape();
  candles = new Candles();
  /** The number of times that the page had to ask for the book again since it was opened. */
  faults = 0;

  #feed;
  #api;
  #pauses = new Pauses({ first_ms: 100, longest_ms: 10_000 });
  #fault_at = -Infinity;
  #asking_older = false;

  /**
   * @param {Feed} feed
   * @param {Api} api
   * @param {Interval} interval
   */
  constructor(feed, api, interval) {
    super();
    this.#feed = feed;
    this.#api = api;
    this.interval = interval;
  }

  /** @param {string|null} symbol @param {Past|null} [past] it is not followed: somebody else fills it */
  choose(symbol, past = null) {
    if (symbol === this.symbol && !this.refused && past === this.past) return;
    if (this.symbol && !this.past) for (const topic of this.#topics(this.symbol)) this.#feed.unsubscribe(topic);
    this.symbol = symbol;
    this.refused = null;
    this.past = past;
    this.book.clear();
    this.tape.clear();
    this.candles.clear();
    if (symbol && !past) {
      this.#subscribeBook(symbol);
      this.#subscribeTrades(symbol);
      this.#subscribeCandles(symbol, this.interval);
    }
    this.changed();
  }

  /** @param {Interval} interval */
  chooseInterval(interval) {
    if (interval === this.interval) return;
    const live = this.symbol !== null && !this.past;
    if (this.symbol && live) this.#feed.unsubscribe({ channel: "candles", symbol: this.symbol, interval: this.interval });
    this.interval = interval;
    this.candles.clear();
    if (this.symbol && live) this.#subscribeCandles(this.symbol, interval);
    this.changed();
  }

  /** Asks for candles before the first one; only one request at a time. */
  async olderCandles() {
    const { symbol, interval, candles } = this;
    if (!symbol || !candles.older || candles.all.length === 0 || this.#asking_older) return;
    const [{ start: first }] = candles.all;
    this.#asking_older = true;
    try {
      const answer = await this.#api.candles(symbol, interval, first);
      // The list may have been cut, or begun anew, while the answer was on its way: then there would be a hole between.
      if (symbol === this.symbol && interval === this.interval && candles.all[0]?.start === first) candles.putOlder(answer.candles);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Nothing is lost: scrolling there again asks again.
    } finally {
      this.#asking_older = false;
    }
  }

  /** @param {string} symbol @returns {Topic[]} */
  #topics(symbol) {
    return [
      { channel: "book", symbol },
      { channel: "trades", symbol },
      { channel: "candles", symbol, interval: this.interval },
    ];
  }

  /** @param {string} symbol */
  #subscribeBook(symbol) {
    this.#feed.subscribe(
      { channel: "book", symbol },
      {
        message: (/** @type {BookFeed} */ message) => {
          const fault = message.type === "snapshot" ? this.book.snapshot(message) : this.book.apply(message);
          if (fault) this.#mend(symbol, fault);
        },
        failed: (error) => this.#fail(symbol, error),
        lost: () => this.book.await(),
      },
    );
  }

  /** @param {string} symbol */
  #subscribeTrades(symbol) {
    this.#feed.subscribe(
      { channel: "trades", symbol },
      {
        message: (/** @type {TradesFeed} */ message) => (message.type === "snapshot" ? this.tape.snapshot(message.trades) : this.tape.add(message.trades)),
        failed: (error) => this.#fail(symbol, error),
      },
    );
  }

  /** @param {string} symbol @param {Interval} interval */
  #subscribeCandles(symbol, interval) {
    this.#feed.subscribe(
      { channel: "candles", symbol, interval },
      {
        message: (/** @type {CandlesSnapshot|CandleUpdate} */ message) =>
          message.type === "snapshot" ? this.candles.snapshot(message.candles) : this.candles.put(message.candle),
        failed: (error) => this.#fail(symbol, error),
      },
    );
  }

  /**
   * Asks for the book again, at once the first time, and with growing pauses should it go on.
   * @param {string} symbol
   * @param {BookFault} fault
   */
  #mend(symbol, fault) {
    this.faults += 1;
    const now = performance.now();
    if (now - this.#fault_at > SOUND_MS) this.#pauses.reset();
    this.#fault_at = now;
    console.warn(`The book of ${symbol} is asked for again: ${fault === "gap" ? "an update is missing" : "its checksum differs"}`);
    setTimeout(() => {
      if (symbol === this.symbol) this.#feed.again({ channel: "book", symbol });
    }, this.#pauses.next());
  }

  /** @param {string} symbol @param {FeedError} error */
  #fail(symbol, error) {
    if (symbol !== this.symbol) return;
    this.refused = error.detail ?? error.code;
    this.changed();
  }
}
