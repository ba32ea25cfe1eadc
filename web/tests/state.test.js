// Tape, candles, one's own orders, and the loop that draws.

import assert from "node:assert/strict";
import { test } from "node:test";
import { read, write } from "../page/address.js";
import { Refusal } from "../page/api.js";
import { Frames } from "../page/frames.js";
import { Candles } from "../page/state/candles.js";
import { Holdings } from "../page/state/holdings.js";
import { Market } from "../page/state/market.js";
import { Tape } from "../page/state/tape.js";
import { isComplete, noteOf } from "../page/views/portfolio-text.js";

/** @import { Candle, Execution, Order, Trade } from "../page/types.js" */

/** @param {number} trade_id @returns {Trade} */
function trade(trade_id) {
  return { trade_id, symbol: "SPY", price: "1", shares: "1", time: trade_id, aggressor: "buy", buy_order: 1, sell_order: 2 };
}

/** @param {number} start @param {string} [close] @returns {Candle} */
function candle(start, close = "1") {
  return { start, open: "1", high: "1", low: "1", close, volume: "1", money: "1", trades: 1 };
}

/** @param {number} order_id @param {Partial<Order>} [changes] @returns {Order} */
function order(order_id, changes = {}) {
  return {
    order_id,
    client_order_id: null,
    account: "1",
    symbol: "SPY",
    side: "buy",
    kind: "limit",
    limit: "1",
    stop: null,
    take_profit: null,
    self_trade: "allowed",
    until: null,
    waits: false,
    shares: "10",
    open: "10",
    executed: "0",
    canceled: "0",
    status: "open",
    time: 0,
    done_time: null,
    average_price: null,
    ...changes,
  };
}

/** @param {number} trade_id @returns {Execution} */
function execution(trade_id) {
  return { trade_id, order_id: 7, account: "1", symbol: "SPY", side: "buy", role: "maker", price: "1", shares: "1", time: 0 };
}

const ACCOUNT = { account: "1", balance: "1", held: "0", positions: [{ symbol: "SPY", shares: "90", held: "10" }], open_orders: 0, sequence: 1 };

test("the tape has the newest first, takes nothing twice and stays bounded", () => {
  const tape = new Tape();
  tape.add([trade(1)]);
  assert.equal(tape.trades.length, 0, "nothing is taken before the snapshot");
  tape.snapshot([trade(1), trade(2)]);
  tape.add([trade(2), trade(3)]);
  assert.deepEqual(
    tape.trades.map(({ trade_id }) => trade_id),
    [3, 2, 1],
  );
  tape.add(Array.from({ length: 500 }, (_, at) => trade(at + 4)));
  assert.equal(tape.trades.length, 100);
  assert.equal(tape.trades[0].trade_id, 503);
});

test("a candle is updated in place, and a new span appended", () => {
  const candles = new Candles();
  candles.snapshot([candle(60), candle(120)]);
  const redrawn = candles.redrawn;
  candles.put(candle(120, "2"));
  candles.put(candle(180, "3"));
  assert.deepEqual(
    candles.all.map(({ start, close }) => `${start} ${close}`),
    ["60 1", "120 2", "180 3"],
  );
  assert.equal(candles.redrawn, redrawn, "only the end changed");
  candles.put(candle(60, "9"));
  assert.equal(candles.all[0].close, "9");
  assert.notEqual(candles.redrawn, redrawn);
});

test("older candles come in front, and a snapshot after a loss keeps them", () => {
  const candles = new Candles();
  candles.snapshot([candle(120), candle(180)]);
  assert.equal(candles.older, true, "a short snapshot says nothing about older ones");
  candles.putOlder([candle(0), candle(60), candle(120)]);
  assert.deepEqual(
    candles.all.map(({ start }) => start),
    [0, 60, 120, 180],
  );
  assert.equal(candles.older, true);
  candles.snapshot([candle(180), candle(240)]);
  assert.deepEqual(
    candles.all.map(({ start }) => start),
    [0, 60, 120, 180, 240],
  );
  candles.putOlder([]);
  assert.equal(candles.older, false);
});

test("candles stay bounded, and those that went can be asked for again", () => {
  const candles = new Candles();
  candles.snapshot([candle(0)]);
  for (let start = 1; start <= 25_000; start += 1) candles.put(candle(start));
  assert.ok(candles.all.length <= 20_000);
  assert.equal(candles.all.at(-1)?.start, 25_000);
  assert.equal(candles.older, true);
});

/** Holdings over a feed and an interface that are the test's. @param {object} api */
function holdings(api = {}) {
  /** @type {any} */
  let handler;
  const feed = {
    subscribe: (/** @type {any} */ _topic, /** @type {any} */ given) => {
      handler = given;
    },
    unsubscribe() {},
  };
  const made = new Holdings(/** @type {any} */ (feed), /** @type {any} */ (api));
  made.choose("1");
  return { holdings: made, says: (/** @type {object} */ message) => handler.message({ account: ACCOUNT, executions: [], ...message }) };
}

test("open orders are those of the snapshot and the updates, without what is done", () => {
  const { holdings: mine, says } = holdings();
  says({ type: "snapshot", orders: [order(1), order(2)] });
  says({ type: "update", orders: [order(3), order(1, { status: "executed", open: "0" })] });
  assert.deepEqual([...mine.open.keys()], [2, 3]);
  assert.equal(mine.orders.get(1)?.status, "executed");
  assert.equal(mine.position("SPY")?.shares, "90");
  assert.equal(mine.position("QQQ"), null);
  says({ type: "snapshot", orders: [order(3)] });
  assert.deepEqual([...mine.open.keys()], [3], "after a loss only what is still open");
});

test("an execution that an answer brought already is not listed twice", async () => {
  const { holdings: mine, says } = holdings({ executions: async () => ({ executions: [execution(5), execution(4)], next: null }) });
  says({ type: "snapshot", orders: [] });
  await mine.moreExecutions();
  says({ type: "update", orders: [], executions: [execution(5), execution(6)] });
  assert.deepEqual(
    mine.executions.map(({ trade_id }) => trade_id),
    [6, 5, 4],
  );
});

test("an answer that overtook the feed is put in its place", async () => {
  const { holdings: mine, says } = holdings({ executions: async () => ({ executions: [8, 7, 6].map(execution), next: null }) });
  says({ type: "snapshot", orders: [] });
  says({ type: "update", orders: [], executions: [execution(7)] });
  await mine.moreExecutions();
  assert.deepEqual(
    mine.executions.map(({ trade_id }) => trade_id),
    [8, 7, 6],
  );
});

/** The numbers from one down to another. @param {number} from @param {number} to */
const down = (from, to) => Array.from({ length: from - to + 1 }, (_, at) => from - at);

/** An account whose executions have these numbers, newest first; a page has 2,000. @param {number[]} numbers */
function executed(numbers) {
  /** @type {any[]} */
  const asked = [];
  const executions = async (/** @type {string} */ _id, /** @type {any} */ before) => {
    asked.push(before);
    const page = numbers.filter((number) => before === null || number < before).slice(0, 2_000);
    return { executions: page.map(execution), next: (page.at(-1) ?? 1) > 1 ? page.at(-1) : null };
  };
  return { ...holdings({ executions }), asked };
}

test("executions that fall out can be asked for again, and the portfolio says that they do not count", async () => {
  const { holdings: mine, says, asked } = executed(down(2_000, 1));
  const note = () => noteOf(mine, { ready: true, failed: false, others: 0 });
  says({ type: "snapshot", orders: [] });
  await mine.moreExecutions();
  assert.deepEqual([mine.executed.next, isComplete(mine)], [null, true]);
  assert.doesNotMatch(note(), /newest/);
  says({ type: "update", orders: [], executions: [execution(2_001), execution(2_002)] });
  assert.deepEqual([mine.executions.length, mine.executions.at(-1)?.trade_id, mine.executed.next], [2_000, 3, 3]);
  assert.match(note(), /Of the executions the newest 2,000 count/);
  await mine.moreExecutions();
  assert.deepEqual([asked, mine.executions.length, mine.executions.at(-1)?.trade_id, mine.executed.next], [[null, 3], 2_002, 1, null]);
});

test("after “Older” and one more execution there is no hole", async () => {
  const { holdings: mine, says } = executed(down(6_000, 1));
  says({ type: "snapshot", orders: [] });
  await mine.moreExecutions();
  const older = mine.moreExecutions();
  says({ type: "update", orders: [], executions: [execution(6_001)] });
  assert.equal(mine.executions.length, 2_001, "what a page on its way goes on from stays");
  await older;
  says({ type: "update", orders: [], executions: [execution(6_002)] });
  assert.deepEqual([mine.executions.length, mine.executed.next], [4_000, 2_003], "what was asked for stays");
  says({ type: "update", orders: [], executions: [] });
  await mine.moreExecutions();
  assert.deepEqual(
    mine.executions.map(({ trade_id }) => trade_id),
    down(6_002, 3),
  );
});

test("orders that come and go take away no executions that were asked for", async () => {
  const { holdings: mine, says } = executed(down(5_000, 1));
  says({ type: "snapshot", orders: [] });
  await mine.moreExecutions();
  await mine.moreExecutions();
  says({ type: "update", orders: [order(1)], executions: [] });
  assert.deepEqual([mine.executions.length, mine.executed.next], [4_000, 1_001]);
});

test("of a trade with itself an account keeps both sides, or none", async () => {
  const { holdings: mine, says } = executed(down(2_000, 1));
  says({ type: "snapshot", orders: [] });
  await mine.moreExecutions();
  const sides = (/** @type {number} */ number) => [execution(number), { ...execution(number), order_id: 8 }];
  says({ type: "update", orders: [], executions: sides(2_001) });
  assert.deepEqual([mine.executions.length, mine.executed.next], [2_000, 3]);
  says({ type: "update", orders: [], executions: down(4_001, 2_002).reverse().flatMap(sides) });
  assert.equal(mine.executions.length % 2, 0);
  assert.equal(mine.executions.at(-1)?.trade_id, mine.executed.next);
  const few = executed(down(1_999, 1));
  few.says({ type: "snapshot", orders: [] });
  await few.holdings.moreExecutions();
  few.says({ type: "update", orders: [], executions: [...sides(2_000), execution(2_001)] });
  assert.deepEqual([few.holdings.executions.length, few.holdings.executed.next], [2_000, 3]);
  few.says({ type: "update", orders: [], executions: down(3_998, 2_002).reverse().map(execution) });
  assert.deepEqual([few.holdings.executions.length, few.holdings.executed.next], [2_000, 2_000]);
  few.says({ type: "update", orders: [], executions: [execution(3_999)] });
  assert.deepEqual([few.holdings.executions.length, few.holdings.executed.next], [2_001, 2_000], "the second side of 2,000 stays");
});

test("orders that fall out while a page is on its way, or after one that failed, can be asked for again", async () => {
  /** @type {any[]} */
  const asked = [];
  /** @type {((orders: number[]|null) => void)|undefined} */
  let answer;
  const { holdings: mine, says } = holdings({
    orders: (/** @type {string} */ _id, /** @type {any} */ before) => {
      asked.push(before);
      return new Promise((resolve, reject) => {
        answer = (numbers) =>
          numbers === null
            ? reject(new Refusal({ code: "no-answer", detail: "No answer" }))
            : resolve({ orders: numbers.map((number) => order(number, { status: "executed" })), next: numbers.at(-1) });
      });
    },
  });
  const done = (/** @type {number[]} */ numbers) => says({ type: "update", orders: numbers.map((number) => order(number, { status: "executed" })) });
  says({ type: "snapshot", orders: [] });
  const first = mine.moreHistory();
  answer?.([100, 99]);
  await first;
  const second = mine.moreHistory();
  done(down(4_200, 101));
  assert.equal(mine.orders.size, 4_102, "what the page goes on from stays");
  answer?.(null);
  await second;
  done([4_201]);
  assert.deepEqual([mine.history.state, mine.orders.size, mine.history.next], ["failed", 2_000, 2_202]);
  const third = mine.moreHistory();
  answer?.([2_201]);
  await third;
  assert.deepEqual([asked, mine.orders.size], [[null, 99, 2_202], 2_001]);
});

test("older candles are not put before a list that was begun anew meanwhile", async () => {
  /** @type {Map<string, any>} */
  const handlers = new Map();
  const feed = { subscribe: (/** @type {any} */ { channel }, /** @type {any} */ handler) => handlers.set(channel, handler), unsubscribe() {} };
  /** @type {((answer: any) => void)[]} */
  const answers = [];
  const market = new Market(/** @type {any} */ (feed), /** @type {any} */ ({ candles: () => new Promise((resolve) => answers.push(resolve)) }), "1m");
  const snapshot = (/** @type {number} */ first) =>
    handlers.get("candles").message({ type: "snapshot", candles: Array.from({ length: 500 }, (_, at) => candle(first + at)) });
  market.choose("SPY");
  snapshot(1_000);
  const asking = market.olderCandles();
  market.choose("QQQ");
  market.choose("SPY");
  snapshot(5_000);
  answers[0]({ candles: [candle(998), candle(999)] });
  await asking;
  assert.deepEqual([market.candles.all[0].start, market.candles.older], [5_000, true]);
  const again = market.olderCandles();
  answers[1]({ candles: [candle(4_999)] });
  await again;
  assert.equal(market.candles.all[0].start, 4_999);
});

test("history goes on where the last page ended, and what the feed said is newer", async () => {
  /** @type {any[]} */
  const asked = [];
  const pages = [
    { orders: [order(9), order(8)], next: 8 },
    { orders: [order(7)], next: null },
  ];
  const { holdings: mine, says } = holdings({
    orders: async (/** @type {string} */ _id, /** @type {any} */ before) => {
      asked.push(before);
      return pages[asked.length - 1];
    },
  });
  says({ type: "snapshot", orders: [] });
  says({ type: "update", orders: [order(9, { status: "canceled" })] });
  await mine.moreHistory();
  await mine.moreHistory();
  await mine.moreHistory();
  assert.deepEqual(asked, [null, 8]);
  assert.equal(mine.orders.get(9)?.status, "canceled");
  assert.deepEqual([...mine.orders.keys()].sort(), [7, 8, 9]);
});

test("an answer for another account is dropped", async () => {
  /** @type {(answer: any) => void} */
  let answer = () => {};
  const { holdings: mine, says } = holdings({
    orders: () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  });
  says({ type: "snapshot", orders: [] });
  const asking = mine.moreHistory();
  mine.choose("2");
  answer({ orders: [order(9)], next: null });
  await asking;
  assert.equal(mine.orders.size, 0);
});

test("a view is drawn once a frame, however often it is marked", () => {
  /** @type {((now_ms: number) => void)[]} */
  const asked = [];
  const frames = new Frames((draw) => asked.push(draw));
  let draws = 0;
  const mark = frames.view(() => {
    draws += 1;
  });
  for (let times = 0; times < 1000; times += 1) mark();
  assert.equal(asked.length, 1);
  asked.shift()?.(0);
  assert.equal(draws, 1);
  mark();
  assert.equal(asked.length, 1);
});

test("a costly view waits for its pause, and is not forgotten", () => {
  /** @type {((now_ms: number) => void)[]} */
  const asked = [];
  const frames = new Frames((draw) => asked.push(draw));
  let draws = 0;
  const mark = frames.view(() => {
    draws += 1;
  }, 100);
  asked.shift()?.(1000);
  assert.equal(draws, 1);
  mark();
  asked.shift()?.(1016);
  asked.shift()?.(1033);
  assert.equal(draws, 1);
  asked.shift()?.(1100);
  assert.equal(draws, 2);
  assert.equal(asked.length, 0, "drawn, and nothing more is asked for");
});

test("a view that marks itself while it draws waits for the next frame", () => {
  /** @type {((now_ms: number) => void)[]} */
  const asked = [];
  const frames = new Frames((draw) => asked.push(draw));
  let draws = 0;
  const mark = frames.view(() => {
    draws += 1;
    mark();
  });
  asked.shift()?.(0);
  assert.equal(draws, 1);
  assert.equal(asked.length, 1);
});

test("the address says what is shown, and nonsense in it is passed over", () => {
  assert.deepEqual(read("#/trade/SPY"), { view: "trade", symbol: "SPY" });
  assert.deepEqual(read("#/system"), { view: "system", symbol: null });
  assert.deepEqual(read(""), { view: "trade", symbol: null });
  assert.deepEqual(read("#/trade/<script>"), { view: "trade", symbol: null });
  assert.equal(write(read("#/trade/SPY")), "#/trade/SPY");
  for (const moment of [{ at: 1042 }, { time: 1_763_690_000_000_000 }, { at: 0 }])
    assert.deepEqual(read(write({ view: "trade", symbol: "SPY", moment })), { view: "trade", symbol: "SPY", moment });
  for (const wrong of ["at/-1", "at/1e3", "at", "at/99999999999999999", "on/5"])
    assert.deepEqual(read(`#/trade/SPY/${wrong}`), { view: "trade", symbol: "SPY" }, wrong);
});
