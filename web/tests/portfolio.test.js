import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../page/api.js";
import { MONEY_DECIMALS, exact, format } from "../page/decimal.js";
import { PortfolioPrices } from "../page/state/portfolio-prices.js";
import { averageCost, equityAt, linesOf, mostWorth, percent, sumOf } from "../page/state/portfolio.js";
import { pointsOf } from "../page/views/portfolio-curve.js";
import { average, figuresOf, noteOf, withPercent } from "../page/views/portfolio-text.js";
import { compared, csvOf } from "../page/views/table.js";

/** @import { Line } from "../page/state/portfolio.js" */
/** @import { Account, Candle, Execution, Side } from "../page/types.js" */

/** @param {string} balance @param {[symbol: string, shares: string, held: string][]} positions @returns {Account} */
const account = (balance, positions) => ({
  account: "1",
  balance,
  held: "0",
  positions: positions.map(([symbol, shares, held]) => ({ symbol, shares, held })),
  open_orders: 0,
  sequence: 1,
});

let number = 0;
/** @param {string} symbol @param {Side} side @param {string} shares @param {string} price @param {Partial<Execution>} [more] @returns {Execution} */
const execution = (symbol, side, shares, price, more = {}) => ({
  trade_id: (number += 1),
  order_id: number,
  account: "1",
  symbol,
  side,
  role: "maker",
  price,
  shares,
  time: number,
  ...more,
});

const money = (/** @type {bigint|null} */ amount) => (amount === null ? null : format(amount, MONEY_DECIMALS));

test("what was bought costs what was paid on average, and what is sold brings the rest", () => {
  const executions = [execution("SPY", "buy", "10", "100"), execution("SPY", "buy", "10", "110"), execution("SPY", "sell", "5", "120")].reverse();
  const [line] = linesOf(account("0", [["SPY", "12", "3"]]), executions, { first: () => null, last: () => exact("120") });
  assert.equal(format(averageCost(line) ?? 0n), "105");
  assert.deepEqual([line.value, line.unrealised, line.realised, line.fees].map(money), ["1800", "225", "75", "0"]);
});

test("shares that were issued count at the first price, and fees are part of what is brought", () => {
  const executions = [
    execution("SPY", "buy", "100", "10", { fee: "1", fee_of: "shares" }),
    execution("SPY", "sell", "50", "12", { fee: "6", fee_of: "dollars" }),
  ].reverse();
  // 21 were there before.
  const [line] = linesOf(account("0", [["SPY", "70", "0"]]), executions, { first: () => exact("8"), last: () => exact("12") });
  // 21 × 8 and 1,000 for 120 shares: 50 of them go.
  assert.equal(money(line.cost), "681.3333333333333334");
  assert.equal(money(line.realised), "107.3333333333333334");
  assert.equal(money(line.fees), "16");
  // No dollar is made or lost: value, and what was paid and brought.
  assert.equal(money((line.unrealised ?? 0n) + line.realised), money(exact("840", 16) - exact("168", 16) - exact("1000", 16) + exact("594", 16)));
});

test("what is all sold costs nothing, and has brought all", () => {
  const executions = [execution("SPY", "buy", "3", "10"), execution("SPY", "sell", "3", "11")].reverse();
  const [line] = linesOf(account("3", []), executions, { first: () => null, last: () => null });
  assert.deepEqual([line.cost, line.value, averageCost(line)], [0n, null, null]);
  assert.equal(money(line.realised), "3");
  const sum = sumOf(account("3.5", []), [line]);
  assert.deepEqual([sum.equity, sum.realised].map(money), ["3.5", "3"]);
});

test("equity before is what is there now without what came since, at the prices of then", () => {
  const executions = [
    execution("SPY", "buy", "10", "100", { time: 50 }),
    execution("SPY", "sell", "4", "110", { time: 150, fee: "1", fee_of: "dollars" }),
  ].reverse();
  const now = account("1439", [["SPY", "6", "0"]]);
  const candle = (/** @type {number} */ start, /** @type {string} */ open, /** @type {string} */ close) =>
    /** @type {Candle} */ ({ start, open, close, high: close, low: open, volume: "1", money: "1", trades: 1 });
  const candles = new Map([["SPY", [candle(20, "99", "100"), candle(100, "100", "110")]]]);
  const worth = equityAt(now, executions, candles, () => exact("120"), [10, 60, 120, 200]).map(money);
  // At 10 nothing was bought yet, at 60 ten are worth 100 each, at 120 they are worth 110, at 200 six are left.
  assert.deepEqual(worth, ["2000", "2000", "2100", "2099"]);
  assert.deepEqual(equityAt(now, executions, new Map(), () => exact("120"), [200]).map(money), ["2159"]);
});

test("a part is told with two decimals, the nearest", () => {
  assert.deepEqual(
    [percent(1n, 3n), percent(-1n, 3n), percent(1n, 0n), percent(2n, 1n), percent(-1n, 1_000_000n)],
    ["33.33", "-33.33", null, "200.00", "0.00"],
  );
});

test("numbers are sorted as numbers, names as names, and what is not known comes last", () => {
  assert.deepEqual(["10", "9", "b", "A"].sort(compared), ["9", "10", "A", "b"]);
  assert.deepEqual([null, 3n, 20n].sort(compared), [3n, 20n, null]);
});

test("CSV has quotes where it needs them", () => {
  const columns = [
    { head: "Name", text: (/** @type {string} */ row) => row },
    { head: "Size, all", text: () => "", value: (/** @type {string} */ row) => row.length },
  ];
  assert.equal(csvOf(columns, ['a "b"', "c\nd", "plain"]), 'Name,"Size, all"\r\n"a ""b""",5\r\n"c\nd",3\r\nplain,5\r\n');
});

/** @param {string} symbol @param {Partial<Line>} changes @returns {Line} */
const line = (symbol, changes) => ({ symbol, shares: 0n, cost: 0n, last: null, value: null, unrealised: null, realised: 0n, fees: 0n, ...changes });

test("prices are asked for of the symbols of most worth, and of those that brought something", () => {
  const lines = [line("A", { shares: 1n, value: 2n }), line("B", { shares: 1n, value: 9n }), line("GONE", {}), line("SOLD", { realised: -1n })];
  assert.deepEqual(
    [mostWorth(lines, 9), mostWorth(lines, 2)],
    [
      ["B", "A", "SOLD"],
      ["B", "A"],
    ],
  );
});

test("figures have their sign and direction where they are gains, and are exact beneath", () => {
  const sum = sumOf(account("1234.5678", []), [line("A", { value: exact("1", 16), unrealised: exact("-2.5", 16), realised: exact("3", 16) })]);
  assert.deepEqual(
    figuresOf(sum).map(({ name, text, exactly, way }) => [name, text, exactly, way]),
    [
      ["Equity", "1,235.57", "1235.5678", null],
      ["Cash", "1,234.57", "1234.5678", null],
      ["Shares", "1.00", "1", null],
      ["Unrealised", "−2.50", "-2.5", "down"],
      ["Realised", "+3.00", "3", "up"],
      ["Fees", "0.00", "0", null],
    ],
  );
});

test("an average cost is rounded where it is shown, and is whole in a file", () => {
  const [some, none] = [line("A", { shares: exact("3"), cost: exact("200", 16), unrealised: exact("-50", 16) }), line("A", {})];
  const as_is = (/** @type {string} */ cost) => cost;
  assert.deepEqual([average(some, as_is), average(some, as_is, 8)], ["66.6667", "66.66666666"]);
  assert.deepEqual([average(none, as_is), average(none, as_is, 8)], ["–", ""]);
  assert.deepEqual([withPercent(some), withPercent(none)], [" (−25.00%)", ""]);
});

test("the note says which prices count, and what is not here yet", () => {
  /** @type {any} */
  const holdings = { id: "1", account: account("1", []), refused: null, executed: { state: "here", next: null }, executions: [] };
  const note = (/** @type {object} */ changes, /** @type {Partial<{ready: boolean, failed: boolean, others: number}>} */ prices = {}) =>
    noteOf({ ...holdings, ...changes }, { ready: true, failed: false, others: 0, ...prices });
  assert.match(note({}), /count at their symbol's first price on record\.$/);
  assert.match(note({}, { others: 2 }), /on record; of 2 symbols of less worth at that of the oldest execution, or at the last one/);
  assert.equal(note({}, { ready: false }), "Loading…");
  assert.match(note({}, { ready: false, failed: true }), /^The prices cannot be had/);
  assert.match(note({ executed: { state: "failed", next: null } }), /^The executions cannot be had/);
  assert.equal(note({ id: null, account: null }), "Choose an account to see what it has");
});

test("the curve has the equity at the end of each span, and the one of now at its end", () => {
  const now = account("5", [["A", "2", "0"]]);
  const candles = new Map([["A", [/** @type {Candle} */ ({ start: 0, open: "10", close: "11" }), /** @type {Candle} */ ({ start: 60_000_000, close: "12" })]]]);
  const span = /** @type {const} */ ({ name: "2 minutes", interval: "1m", span_s: 60, points: 2 });
  const points = pointsOf(span, { account: now, executions: [], candles, last: () => null }, exact("31", 16), 130_000_000);
  assert.deepEqual(
    points.map(({ x, y, told }) => [x, y, told.split(" · ")[0]]),
    [
      [60_000_000, 27, "27.00"],
      [120_000_000, 29, "29.00"],
      [130_000_000, 31, "31.00"],
    ],
  );
});

test("prices are asked for once, kept for a while, and asked for again after a pause where the server did not answer", async () => {
  let now = 0;
  let answers = true;
  /** @type {string[]} */
  const asked = [];
  /** @type {(() => void)[]} */
  const later = [];
  let changes = 0;
  const api = {
    candles: async (/** @type {string} */ symbol, /** @type {import("../page/types.js").Interval} */ interval) => {
      asked.push(`${symbol} ${interval}`);
      if (!answers) throw new Refusal({ code: "no-answer", detail: "no answer" });
      return { symbol, interval, candles: symbol === "NONE" ? [] : [/** @type {Candle} */ ({ start: 0, open: "8", close: "9" })] };
    },
  };
  const prices = new PortfolioPrices(api, { now: () => now, later: (then) => later.push(then) });
  prices.watch(() => (changes += 1));
  const day = /** @type {const} */ ({ account: "1", span: "1d", interval: "15m" });
  const taken = () => asked.splice(0);

  await Promise.all([prices.look(day, ["A"]), prices.look(day, ["A"])]);
  assert.deepEqual([taken(), changes, prices.first("A"), prices.known], [["A 15m", "A 1d"], 1, exact("8"), 1]);
  assert.equal(prices.candles(day)?.get("A")?.length, 1);
  await prices.look(day, ["A"]);
  assert.deepEqual(taken(), []);

  await prices.look(day, ["A", "NONE"]);
  assert.deepEqual([taken(), prices.first("NONE"), prices.know(["A", "NONE"])], [["A 15m", "NONE 15m", "NONE 1d"], null, true]);

  answers = false;
  now = 30_000;
  await prices.look(day, ["A"]);
  assert.deepEqual([taken(), prices.failed, later.length, changes], [["A 15m"], true, 1, 3]);
  assert.equal(prices.candles(day)?.get("A")?.length, 1, "those from before stay");
  later[0]();
  assert.equal(changes, 4);
  await prices.look(day, ["B"]);
  assert.deepEqual(taken(), [], "not before the pause is over");

  answers = true;
  now = 33_000;
  await prices.look(day, ["B"]);
  assert.deepEqual([taken(), prices.failed], [["B 15m", "B 1d"], false]);
  assert.equal(prices.candles({ account: "2", span: "1d" }), null);
  await prices.look({ ...day, account: "2" }, ["B"]);
  assert.deepEqual(taken(), ["B 15m"]);
});
