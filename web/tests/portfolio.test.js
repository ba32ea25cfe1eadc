import assert from "node:assert/strict";
import { test } from "node:test";
import { MONEY_DECIMALS, exact, format } from "../page/decimal.js";
import { averageCost, equityAt, linesOf, percent, sumOf } from "../page/state/portfolio.js";
import { compared, csvOf } from "../page/views/table.js";

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
