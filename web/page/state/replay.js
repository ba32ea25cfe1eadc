// A replay: the market of a past moment in the place of the one of now, and what followed it, at any speed. Pages of what followed are asked for
// ahead. It goes back by beginning anew from where its pages begin, or from an earlier moment.

import { Refusal } from "../api.js";
import { barsAt, withTrade } from "./bars.js";
import { Observable } from "./observable.js";

/** @import { Api } from "../api.js" */
/** @import { Market } from "./market.js" */
/** @import { Candle, PastBook, PastEvent, PastOrder, PastTrade, Side, Trade, WireLevel } from "../types.js" */

/** Behind a command, or behind the last one of a time. @typedef {{at: number}|{time: number}} Moment */

/**
 * The parts of a past market beside its book, trades and candles: the activity of the chosen account.
 * @typedef {object} Past
 * @property {Map<number, PastOrder>} orders in the book, by id
 * @property {Map<number, Side>} sides of its trades, by their ids
 * @property {{time: number, side: Side}[]} fills oldest first
 */

/** A place to which a replay goes back without asking: a book with the parts beside it. @typedef {PastBook & {bars: Candle[]|null, fills: Past["fills"]}} Base */

export const SPEEDS = /** @type {const} */ ([1, 10, 100]);

/** The position moves so often while it is played. */
const TICK_MS = 50;
/** A page that was in the background does not catch up with what it missed. */
const TICK_MAX_MS = 250;
/** The most events in one tick, because users would feel more: the rest comes with the next one. */
const EVENTS_A_TICK = 1_500;
/** The number of events below which the replay asks for more. */
const AHEAD = 400;
/** The number of events behind the position that are kept, to go back to. */
const KEPT = 4_000;
/** Going back further begins so many commands earlier, so that the next step back is at hand. */
const LEAD = 300;
/** A silence that would last longer is passed over. */
const SILENCE_MS = 30_000;
/** A question that is to be asked again. */
const AGAIN_MS = 700;
/** Pages that are looked through for the next trade, at a press. */
const PAGES_MAX = 50;

export class Replay extends Observable {
  /** @type {"off"|"asking"|"still"|"playing"|"failed"} */
  state = "off";
  /** A note for the user. */
  said = "";
  /** The command that was applied last. */
  sequence = 0;
  /** Microseconds; while it is played the time goes on between commands. */
  time = 0;
  /** The last command of the live market, as far as is known. */
  newest = 0;
  /** @type {number} */
  speed = 1;

  /** The moment that was asked for. @type {Moment|null} */
  #moment = null;
  /** @type {string|null} */
  #account = null;
  /** Counts beginnings: an answer to an earlier one comes too late. */
  #run = 0;
  /** @type {Base|null} */
  #base = null;
  /** Behind the base. @type {PastEvent[]} */
  #events = [];
  /** The first that is not applied. */
  #next = 0;
  /** All commands up to here are among the events, and its time. */
  #through = { sequence: 0, time: 0 };
  /** @type {Promise<boolean>|null} */
  #asking = null;
  /** @type {ReturnType<typeof setInterval>|undefined} */
  #timer;
  #ticked_at = 0;
  /** The interval that the chart was made for. @type {string|null} */
  #interval = null;
  #market;
  #api;

  /** @param {Market} market @param {Pick<Api, "pastBook"|"pastEvents"|"candles"|"trades">} api */
  constructor(market, api) {
    super();
    this.#market = market;
    this.#api = api;
    market.watch(() => {
      if (this.#base && market.past && this.#interval !== market.interval) this.#drawBars(this.#run);
    });
  }

  /** The moment that is shown, or that was asked for while none is. @returns {Moment|null} */
  get moment() {
    return this.#base ? { at: this.sequence } : this.#moment;
  }

  /** Whether it is where this moment was asked for. @param {string|null} symbol @param {Moment} moment */
  isAt(symbol, moment) {
    return this.state !== "off" && symbol === this.#market.symbol && JSON.stringify(moment) === JSON.stringify(this.#moment);
  }

  /** Shows a moment, with what this account did. @param {string} symbol @param {Moment} moment @param {string|null} account */
  async open(symbol, moment, account) {
    this.#moment = moment;
    this.#account = account;
    await this.#guard(async (run) => {
      const book = await this.#patiently(run, () => this.#api.pastBook(symbol, moment, account));
      if (book) this.#begin(run, book);
    }, symbol);
  }

  /** Another account is looked at: the same moment, with what that did. @param {string|null} account */
  look(account) {
    const { symbol } = this.#market;
    const { moment } = this;
    if (this.state !== "off" && account !== this.#account && symbol && moment) this.open(symbol, moment, account);
  }

  /** Ends it; who looks at the market then sees it live. */
  close() {
    this.#run += 1;
    this.#stop();
    this.#base = this.#moment = null;
    this.#events = [];
    this.state = "off";
    this.changed();
  }

  play() {
    if (this.state !== "still") return;
    this.state = "playing";
    this.said = "";
    this.#ticked_at = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.changed();
  }

  pause() {
    this.#stop();
    if (this.state === "playing") this.state = "still";
    this.changed();
  }

  /** @param {number} speed times the market's own */
  setSpeed(speed) {
    this.speed = speed;
    this.changed();
  }

  /** One command on. */
  step() {
    return this.#guard(async (run) => {
      const next = this.sequence + 1;
      while (this.#through.sequence < next) if (!(await this.#more(run))) break;
      if (run !== this.#run) return;
      if (this.#through.sequence < next) {
        this.said = "This is the last command by now";
        return;
      }
      this.said = this.#events[this.#next]?.sequence === next ? "" : `Command ${next} changed nothing in ${this.#market.symbol}`;
      this.#goOn(next);
    });
  }

  /** One command back. */
  back() {
    return this.#guard(async (run) => {
      const target = this.sequence - 1;
      if (target < 0) {
        this.said = "This is before the first command";
        return;
      }
      if (this.#base && target >= this.#base.sequence) return this.#rewind(target);
      const { symbol } = this.#market;
      if (!symbol) return;
      const at = Math.max(0, target - LEAD);
      const ask = (/** @type {number} */ from) => this.#patiently(run, () => this.#api.pastBook(symbol, { at: from }, this.#account));
      const book = await ask(at).catch((error) => {
        // What is kept may begin between the two.
        if (error instanceof Refusal && error.code === "no-longer-kept") return ask(target);
        throw error;
      });
      if (!book) return;
      this.#begin(run, book);
      while (this.#through.sequence < target) if (!(await this.#more(run))) break;
      if (run === this.#run) this.#goOn(target);
    });
  }

  /** Goes on to the next command that traded. */
  toTrade() {
    return this.#guard(async (run) => {
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const found = this.#events.slice(this.#next).find(({ trades }) => trades.length > 0);
        if (found) return this.#goOn(found.sequence);
        if (!(await this.#more(run))) break;
      }
      if (run === this.#run) this.said = "Nothing was traded behind it";
    });
  }

  /**
   * Does something that may have to ask: until it is done nothing else is.
   * @param {(run: number) => Promise<void>|void} work
   * @param {string|null} [symbol] it begins with this symbol
   */
  async #guard(work, symbol = null) {
    if (symbol === null && (this.state === "asking" || !this.#base)) return;
    this.#stop();
    const run = (this.#run += symbol === null ? 0 : 1);
    if (symbol !== null) {
      this.#base = null;
      this.#events = [];
      this.#next = 0;
      this.#asking = null;
      this.#market.choose(symbol, { orders: new Map(), sides: new Map(), fills: [] });
    }
    this.state = "asking";
    this.said = "";
    this.changed();
    try {
      await work(run);
      if (run === this.#run) this.state = this.#base ? "still" : "failed";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (run !== this.#run) return;
      this.state = this.#base ? "still" : "failed";
      this.said = error.message;
    }
    if (run === this.#run) this.changed();
  }

  /** Asks again while the server is busy with it. @template T @param {number} run @param {() => Promise<T>} ask @returns {Promise<T|null>} */
  async #patiently(run, ask) {
    while (run === this.#run) {
      try {
        const answer = await ask();
        return run === this.#run ? answer : null;
      } catch (error) {
        if (!(error instanceof Refusal) || error.code !== "replay-busy") throw error;
        this.said = error.message;
        this.changed();
        await new Promise((then) => setTimeout(then, AGAIN_MS));
      }
    }
    return null;
  }

  /** @param {number} run @param {PastBook} book */
  #begin(run, book) {
    this.newest = book.newest;
    const fills = (book.trades ?? []).flatMap(fillsOf).reverse();
    this.#base = { ...book, trades: book.trades ?? [], bars: null, fills };
    this.#events = [];
    this.#next = 0;
    this.#through = { sequence: book.sequence, time: book.time };
    this.#market.candles.clear();
    this.#rewind(book.sequence);
    this.#drawBars(run);
    this.#more(run).catch(() => {});
  }

  /** Goes to a command that is not before the base, from there on. @param {number} target */
  #rewind(target) {
    const base = this.#base;
    const { past, book, tape, candles } = this.#market;
    if (!base || !past) return;
    past.orders = new Map((base.orders ?? []).map((order) => [order.order_id, order]));
    past.fills = [...base.fills];
    past.sides = new Map((base.trades ?? []).flatMap((trade) => fillsOf(trade).map(({ side }) => /** @type {const} */ ([trade.trade_id ?? 0, side]))));
    book.snapshot({ ...base, update: 0 });
    tape.snapshot((base.trades ?? []).map((trade) => tradeOf(trade, base.symbol)).reverse());
    if (base.bars) {
      candles.clear();
      candles.snapshot(base.bars);
    }
    this.#next = 0;
    this.sequence = base.sequence;
    this.time = base.time;
    this.#goOn(target);
  }

  /** Applies what is known up to a command. @param {number} target */
  #goOn(target) {
    while (this.#next < this.#events.length && this.#events[this.#next].sequence <= target) this.#apply(this.#events[this.#next++]);
    this.sequence = target;
    if (target === this.#through.sequence) this.time = this.#through.time;
    this.#forget();
    this.#market.changed();
    this.changed();
  }

  /** @param {PastEvent} event */
  #apply(event) {
    const { past, book, tape, candles, symbol, interval } = this.#market;
    if (!past || !symbol) return;
    const fault = book.apply({ ...event, symbol, update: book.update + 1 });
    if (fault) this.said = `The book differs from the server's behind command ${event.sequence}`;
    for (const { order_id, ...order } of event.orders ?? []) {
      if (order.open === "0") past.orders.delete(order_id);
      else past.orders.set(order_id, { order_id, ...order });
    }
    if (event.trades.length > 0) {
      for (const trade of event.trades) {
        for (const fill of fillsOf(trade)) {
          past.fills.push(fill);
          past.sides.set(trade.trade_id ?? 0, fill.side);
        }
        candles.put(withTrade(candles.all.at(-1), trade, interval));
      }
      tape.add(event.trades.map((trade) => tradeOf(trade, symbol)));
    }
    this.sequence = event.sequence;
    this.time = event.time;
  }

  /** Forgets events that lie far behind, and keeps the market to which they led. */
  #forget() {
    const { book, tape, candles, past } = this.#market;
    if (this.#next < KEPT || !this.#base || !past || candles.state === "waiting") return;
    const levels = (/** @type {typeof book.bids} */ side) => side.map(({ limit, shares, orders }) => /** @type {WireLevel} */ ([limit, shares, orders]));
    const event = this.#events[this.#next - 1];
    const { phase: _, ...base } = this.#base;
    this.#base = {
      ...base,
      ...(event.phase && { phase: event.phase }),
      sequence: event.sequence,
      time: event.time,
      bids: levels(book.bids),
      asks: levels(book.asks),
      checksum: event.checksum,
      trades: tape.trades.map(({ trade_id, ...trade }) => ({ ...trade, trade_id, fills: sideFill(past.sides.get(trade_id)) })),
      orders: [...past.orders.values()],
      bars: [...candles.all],
      fills: [...past.fills],
    };
    this.#events.splice(0, this.#next);
    this.#next = 0;
  }

  /** Asks for the page behind what is known. False if there is none by now. @param {number} run @returns {Promise<boolean>} */
  #more(run) {
    this.#asking ??= this.#ask(run).finally(() => (this.#asking = null));
    return this.#asking;
  }

  /** @param {number} run */
  async #ask(run) {
    const { symbol } = this.#market;
    const from = this.#through.sequence;
    const page = symbol && (await this.#patiently(run, () => this.#api.pastEvents(symbol, from, this.#account)));
    if (!page || run !== this.#run || page.from !== this.#through.sequence) return false;
    this.#events.push(...page.events);
    this.#through = { sequence: page.through, time: page.time };
    this.newest = page.newest;
    return page.through > from;
  }

  #tick() {
    const now = performance.now();
    const passed_ms = Math.min(TICK_MAX_MS, now - this.#ticked_at);
    this.#ticked_at = now;
    let clock = this.time + passed_ms * 1_000 * this.speed;
    const left = this.#events.length - this.#next;
    if (left < AHEAD && !this.#asking) this.#goAhead(left === 0);
    const next = this.#events[this.#next];
    if (next && next.time - clock > SILENCE_MS * 1_000 * this.speed) {
      this.said = `Nothing happened for ${Math.round((next.time - clock) / 1_000_000)} s: passed over`;
      clock = next.time;
    }
    for (let applied = 0; applied < EVENTS_A_TICK && (this.#events[this.#next]?.time ?? Infinity) <= clock; applied += 1)
      this.#apply(this.#events[this.#next++]);
    // Not beyond what is known.
    const known = this.#events[this.#next]?.time ?? this.#through.time;
    this.time = Math.max(this.time, Math.min(clock, known));
    this.#forget();
    this.changed();
  }

  /** @param {boolean} empty nothing is left to play */
  async #goAhead(empty) {
    const run = this.#run;
    try {
      const more = await this.#more(run);
      if (run !== this.#run || more || !empty || this.state !== "playing" || this.#next < this.#events.length) return;
      this.sequence = this.#through.sequence;
      this.said = "This is the last command by now";
      this.pause();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (run !== this.#run) return;
      this.said = error.message;
      this.pause();
    }
  }

  /** The chart of the base, and what was traded since. @param {number} run */
  async #drawBars(run) {
    const base = this.#base;
    const { symbol, interval, candles } = this.#market;
    if (!base || !symbol) return;
    this.#interval = interval;
    base.bars = null;
    try {
      const bars = await barsAt(this.#api, { symbol, interval, time: base.time, trades: base.trades ?? [] });
      if (run !== this.#run || base !== this.#base || interval !== this.#market.interval) return;
      base.bars = bars;
      candles.clear();
      candles.snapshot(bars);
      for (const event of this.#events.slice(0, this.#next)) for (const trade of event.trades) candles.put(withTrade(candles.all.at(-1), trade, interval));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (run === this.#run) this.said = `The chart: ${error.message}`;
      this.changed();
    }
  }

  #stop() {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

/** The account's sides of a trade. @param {PastTrade} trade @returns {{time: number, side: Side}[]} */
function fillsOf({ time, fills }) {
  return (fills ?? []).map(({ side }) => ({ time, side }));
}

/** @param {Side|undefined} side @returns {PastTrade["fills"]} */
function sideFill(side) {
  return side === undefined ? undefined : [{ side, order_id: 0, role: "maker" }];
}

/** A trade as the tape has it. @param {PastTrade} trade @param {string} symbol @returns {Trade} */
function tradeOf({ fills: _, trade_id, ...trade }, symbol) {
  return { ...trade, symbol, trade_id: trade_id ?? 0 };
}
