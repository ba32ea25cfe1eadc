// A replay against a market that is kept naively: forwards, backwards, to the next trade, at any speed, and while the server is busy.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../page/api.js";
import { bookChecksum } from "../page/checksum.js";
import { exact } from "../page/decimal.js";
import { barsAt, withTrade } from "../page/state/bars.js";
import { Market } from "../page/state/market.js";
import { Replay } from "../page/state/replay.js";

/** @import { Feed } from "../page/feed.js" */
/** @import { Candle, PastBook, PastEvent, PastTrade, WireLevel } from "../page/types.js" */

const SECOND = 1_000_000;
const LAST = 9_000;

/** The event of command n: each third trades, and each adds a bid or takes one away. @param {number} n @returns {PastEvent} */
function eventOf(n) {
  const limit = String(100 + (n % 10));
  /** @type {WireLevel} */
  const level = n % 20 < 10 ? [limit, String(n), 1] : [limit, "0", 0];
  return {
    sequence: n,
    time: n * SECOND,
    bids: [level],
    asks: [],
    checksum: checksumAt(n),
    trades: n % 3 === 0 ? [tradeOf(n)] : [],
    orders: [{ order_id: n, side: "buy", limit, open: n % 20 < 10 ? "1" : "0" }],
  };
}

/** @param {number} n @returns {PastTrade} */
function tradeOf(n) {
  const fills = n % 6 === 0 ? { fills: [{ side: /** @type {const} */ ("buy"), order_id: n, role: /** @type {const} */ ("maker") }] } : {};
  return { trade_id: n / 3, price: String(100 + (n % 7)), shares: "1", time: n * SECOND, aggressor: "buy", buy_order: n, sell_order: 1, ...fills };
}

/** The bids behind command n, best first. @param {number} n @returns {WireLevel[]} */
function bidsAt(n) {
  /** @type {Map<string, WireLevel>} */
  const levels = new Map();
  for (let at = Math.max(1, n - 20); at <= n; at += 1) {
    const limit = String(100 + (at % 10));
    if (at % 20 < 10) levels.set(limit, [limit, String(at), 1]);
    else levels.delete(limit);
  }
  return [...levels.values()].sort((a, b) => Number(b[0]) - Number(a[0]));
}

/** @param {number} n */
function checksumAt(n) {
  return bookChecksum(
    bidsAt(n).map(([limit, shares, orders]) => ({ limit, price: exact(limit), shares, amount: exact(shares), orders })),
    [],
  );
}

/** @param {number} n @returns {PastTrade[]} newest first */
function tradesAt(n) {
  return Array.from({ length: Math.min(100, Math.floor(n / 3)) }, (_, back) => tradeOf((Math.floor(n / 3) - back) * 3));
}

/** A server with that market, and what it was asked. @param {{busy?: number, first?: number}} [how] */
function server({ busy = 0, first = 0 } = {}) {
  /** @type {string[]} */
  const asked = [];
  return {
    asked,
    /** @param {string} symbol @param {{at?: number, time?: number}} moment @returns {Promise<PastBook>} */
    pastBook: async (symbol, { at, time }) => {
      asked.push(`book ${at ?? `t${time}`}`);
      if (busy-- > 0) throw new Refusal({ code: "replay-busy", detail: "on its way, at command 5" });
      const n = at ?? Math.min(LAST, Math.floor((time ?? 0) / SECOND));
      if (n > LAST) throw new Refusal({ code: "malformed", detail: `at is ${n}` });
      if (n < first) throw new Refusal({ code: "no-longer-kept", detail: `begins at command ${first}` });
      return { symbol, sequence: n, time: n * SECOND, newest: LAST, bids: bidsAt(n), asks: [], checksum: checksumAt(n), trades: tradesAt(n), orders: [] };
    },
    /** @param {string} symbol @param {number} from */
    pastEvents: async (symbol, from) => {
      asked.push(`events ${from}`);
      const through = Math.min(LAST, from + 500);
      return { symbol, from, through, time: through * SECOND, newest: LAST, events: Array.from({ length: through - from }, (_, at) => eventOf(from + 1 + at)) };
    },
    /** @param {string} symbol @returns {Promise<any>} */
    candles: async (symbol, /** @type {string} */ interval) => ({ symbol, interval, candles: [] }),
    /** @param {string} _symbol @param {number} before @param {number} limit */
    trades: async (_symbol, before, limit) => ({
      trades: tradesAt((before - 1) * 3)
        .slice(0, limit)
        .map((trade) => ({ ...trade, symbol: "SPY", trade_id: trade.trade_id ?? 0 })),
      next: null,
    }),
  };
}

/** @param {Parameters<typeof server>[0]} [how] */
function replayed(how) {
  const api = server(how);
  /** @type {string[]} */
  const topics = [];
  const feed = /** @type {Feed} */ (
    /** @type {unknown} */ ({
      subscribe: (/** @type {{channel: string}} */ { channel }) => topics.push(channel),
      unsubscribe: (/** @type {{channel: string}} */ { channel }) => topics.splice(topics.indexOf(channel), 1),
    })
  );
  const market = new Market(feed, /** @type {any} */ (api), "1m");
  return { api, market, topics, replay: new Replay(market, api) };
}

/** The book and the trades are those of the command. @param {Market} market @param {number} n */
function assertAt(market, n) {
  assert.deepEqual(
    market.book.bids.map(({ limit, shares, orders }) => [limit, shares, orders]),
    bidsAt(n),
    `bids at ${n}`,
  );
  assert.deepEqual(
    market.tape.trades.map(({ trade_id }) => trade_id),
    tradesAt(n).map(({ trade_id }) => trade_id),
    `trades at ${n}`,
  );
}

/** Lets answers come. */
const settle = () => new Promise((then) => setTimeout(then));

test("a replay takes the market's place, and gives it back", async () => {
  const { market, topics, replay } = replayed();
  market.choose("SPY");
  assert.deepEqual(topics.sort(), ["book", "candles", "trades"]);
  await replay.open("SPY", { at: 1_000 }, null);
  assert.deepEqual(topics, [], "nothing of the present comes in between");
  assert.deepEqual([replay.state, replay.sequence, replay.time], ["still", 1_000, 1_000 * SECOND]);
  assertAt(market, 1_000);
  market.chooseInterval("5m");
  assert.deepEqual(topics, []);
  replay.close();
  market.choose("SPY");
  assert.deepEqual(topics.sort(), ["book", "candles", "trades"]);
  assert.equal(market.past, null);
});

// An account that was chosen while the moment was looked up, as after a sign-in, led to the market before the first command.
test("another account that is chosen meanwhile has the moment that was asked for", async () => {
  const { api, market, replay } = replayed();
  const opened = replay.open("SPY", { at: 500 }, null);
  replay.look("1");
  await opened;
  await settle();
  assert.deepEqual(
    api.asked.filter((one) => one.startsWith("book")),
    ["book 500", "book 500"],
  );
  assert.deepEqual([replay.state, replay.sequence], ["still", 500]);
  assertAt(market, 500);
});

test("it steps forwards and backwards by commands, and to the next trade", async () => {
  const { api, market, replay } = replayed();
  await replay.open("SPY", { at: 100 }, "1");
  for (const n of [101, 102, 103]) {
    await replay.step();
    assert.equal(replay.sequence, n);
    assertAt(market, n);
  }
  await replay.back();
  assertAt(market, 102);
  await replay.toTrade();
  assert.equal(replay.sequence, 105);
  assertAt(market, 105);
  const before = api.asked.length;
  for (let back = 0; back < 6; back += 1) await replay.back();
  assert.equal(replay.sequence, 99);
  assertAt(market, 99);
  assert.deepEqual(api.asked.slice(before), ["book 0", "events 0"], "one question for many steps back");
  for (let back = 0; back < 99; back += 1) await replay.back();
  await replay.back();
  assert.deepEqual([replay.sequence, replay.said], [0, "This is before the first command"]);
  assertAt(market, 0);
});

test("where what is kept begins, a step back begins there", async () => {
  const { market, replay } = replayed({ first: 190 });
  await replay.open("SPY", { at: 200 }, null);
  await replay.back();
  assert.equal(replay.sequence, 199);
  assertAt(market, 199);
  await replay.open("SPY", { at: 5 }, null);
  assert.deepEqual([replay.state, replay.said], ["failed", "begins at command 190"]);
});

test("it plays at the market's pace and at others, to the end, and what lies far behind is forgotten", async (context) => {
  const { market, replay } = replayed();
  await replay.open("SPY", { at: 10 }, null);
  await settle();
  context.mock.timers.enable({ apis: ["setInterval"] });
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const pass = async (/** @type {number} */ ms) => {
    for (let passed = 0; passed < ms; passed += 50) {
      now += 50;
      context.mock.timers.tick(50);
      await settle();
    }
  };
  replay.play();
  await pass(3_000);
  assert.deepEqual([replay.sequence, replay.time], [13, 13 * SECOND]);
  assertAt(market, 13);
  replay.setSpeed(100);
  await pass(5_000);
  assert.equal(replay.sequence, 513);
  assertAt(market, 513);
  replay.pause();
  await pass(1_000);
  assert.equal(replay.sequence, 513, "paused");
  replay.play();
  await pass(90_000);
  assert.deepEqual([replay.state, replay.sequence, replay.said], ["still", LAST, "This is the last command by now"]);
  assertAt(market, LAST);
  await replay.back();
  assertAt(market, LAST - 1);
});

test("a busy server is asked again, and what it says meanwhile is told", async (context) => {
  const { api, market, replay } = replayed({ busy: 3 });
  context.mock.timers.enable({ apis: ["setTimeout"] });
  /** @type {string[]} */
  const told = [];
  replay.watch(() => told.push(replay.said));
  const opened = replay.open("SPY", { time: 50 * SECOND + 999_999 }, null);
  for (let turn = 0; turn < 40; turn += 1) {
    context.mock.timers.tick(700);
    await Promise.resolve();
  }
  await opened;
  assert.ok(told.includes("on its way, at command 5"));
  assert.equal(api.asked.filter((one) => one.startsWith("book")).length, 4);
  assert.equal(replay.sequence, 50);
  assertAt(market, 50);
});

test("what an account did is marked, and only as far as it had come", async () => {
  const { market, replay } = replayed();
  await replay.open("SPY", { at: 12 }, "1");
  const { past } = market;
  assert.deepEqual(
    past?.fills.map(({ time }) => time / SECOND),
    [6, 12],
  );
  await replay.toTrade();
  await replay.toTrade();
  assert.deepEqual(
    past?.fills.map(({ time }) => time / SECOND),
    [6, 12, 18],
  );
  assert.deepEqual([...(past?.sides.keys() ?? [])], [4, 2, 6]);
  await replay.back();
  assert.deepEqual(
    past?.fills.map(({ time }) => time / SECOND),
    [6, 12],
  );
});

test("a candle that had just begun is made of what had been traded by then", async () => {
  const minute = 60 * SECOND;
  /** @param {number} start @param {string} close @returns {Candle} */
  const candle = (start, close) => ({ start, open: "1", high: "9", low: "1", close, volume: "10", money: "10", trades: 2 });
  const api = {
    /** @type {any} */
    candles: async (/** @type {string} */ symbol, /** @type {string} */ interval, /** @type {number} */ before) => ({
      symbol,
      interval,
      candles: interval === "1m" ? [candle(5 * minute, "3"), candle(6 * minute, "4")].filter(({ start }) => start < before) : [candle(0, "2")],
    }),
    trades: async () => ({ trades: [], next: null }),
  };
  const trades = [
    { ...tradeOf(3), price: "12", time: 7 * minute + 5 },
    { ...tradeOf(3), price: "5", time: 7 * minute },
    { ...tradeOf(3), price: "99", time: 6 * minute },
  ];
  const bars = await barsAt(api, { symbol: "SPY", interval: "5m", time: 7 * minute + 10, trades });
  assert.deepEqual(bars, [candle(0, "2"), { start: 5 * minute, open: "1", high: "12", low: "1", close: "12", volume: "22", money: "37", trades: 6 }]);
  assert.equal(withTrade(bars[1], { price: "7", shares: "1", time: 11 * minute }, "5m").start, 10 * minute);
});
