import assert from "node:assert/strict";
import { test } from "node:test";
import { exact, group } from "../page/decimal.js";
import { average, forecast, told } from "../page/views/forecast.js";

/** @import { OrderKind, Side } from "../page/types.js" */

const level = (/** @type {[string, string]} */ [limit, shares]) => ({ limit, price: exact(limit), shares, amount: exact(shares), orders: 1 });

/** @param {[string, string][]} bids @param {[string, string][]} asks */
function book(bids, asks, phase = null) {
  const sides = { buy: bids.map(level), sell: asks.map(level) };
  return /** @type {any} */ ({ state: "live", phase, side: (/** @type {Side} */ side) => sides[side] });
}

const BOOK = book(
  [
    ["150.4", "10"],
    ["150.3", "40"],
  ],
  [
    ["150.6", "20"],
    ["150.75", "5"],
    ["151", "100"],
  ],
);

/** @param {Side} side @param {OrderKind} kind @param {string|null} limit @param {string} shares */
const says = (side, kind, limit, shares) => forecast(BOOK, { side, kind, limit: limit === null ? null : exact(limit), shares: exact(shares) }, group);

test("what would happen is told before an order is sent", () => {
  assert.equal(says("buy", "limit", "150.75", "25"), "25 now at 150.63 on average, 0 rests");
  assert.equal(says("buy", "limit", "150.6", "25"), "20 now at 150.6 on average, 5 rest at 150.6");
  assert.equal(says("buy", "limit", "150", "25"), "0 now, 25 rest at 150");
  assert.equal(says("sell", "market", null, "60"), "50 now at 150.32 on average, 10 canceled");
  assert.equal(says("sell", "immediate_or_cancel", "151", "1"), "Nothing would execute");
  assert.equal(says("buy", "fill_or_kill", "150.6", "21"), "Only 20 there at 150.6: nothing would execute");
  assert.equal(says("buy", "post_only", "150.6", "1"), "Would execute at once: it is refused");
  assert.equal(says("sell", "post_only", "151", "1"), "1 rest at 151");
});

test("in an auction nothing is foretold", () => {
  const gathering = book([], [["1", "1"]], /** @type {any} */ ({ name: "auction" }));
  assert.equal(forecast(gathering, { side: "buy", kind: "market", limit: null, shares: exact("1") }, group), "");
  assert.deepEqual([says("buy", "auction_market", null, "1"), says("buy", "auction_limit", "151", "1")], ["", ""], "nor of what is for one");
});

test("an average is rounded to a hundredth of a cent, and exact where it can be", () => {
  assert.equal(average(exact("301", 16), exact("2")), "150.5");
  assert.equal(average(exact("100", 16), exact("3")), "33.3333");
});

test("fills are told with what is better than the limit", () => {
  const order = { side: /** @type {const} */ ("buy"), limit: "151.11", shares: "25", symbol: "ACME" };
  const executions = [
    { price: "150.6", shares: "20" },
    { price: "150.75", shares: "5" },
  ];
  assert.equal(told(order, executions, group), "Filled 25 ACME @ 150.63, 0.48 better than the limit");
  assert.equal(told({ ...order, shares: "100" }, executions.slice(0, 1), group), "Filled 20 of 100 ACME @ 150.6, 0.51 better than the limit");
  assert.equal(told({ ...order, side: "sell", limit: "150.63" }, executions, group), "Filled 25 ACME @ 150.63");
  assert.equal(told({ ...order, limit: null }, executions, group), "Filled 25 ACME @ 150.63");
});
