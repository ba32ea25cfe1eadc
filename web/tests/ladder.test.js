// The levels of the ladder: put together, held, totalled, and the text between the sides.

import assert from "node:assert/strict";
import { test } from "node:test";
import { exact, format } from "../page/decimal.js";
import { Book } from "../page/state/book.js";
import { deepestOf, grouped, levelsOf, limitsOf, middleText, totalsOf } from "../page/views/ladder-levels.js";

/** @import { Level } from "../page/state/book.js" */
/** @import { Phase } from "../page/types.js" */

/** @param {string} limit @param {string} shares @param {number} [orders] @returns {Level} */
const level = (limit, shares, orders = 1) => ({ limit, price: exact(limit), shares, amount: exact(shares), orders });
/** @param {Level[]} levels */
const texts = (levels) => levels.map(({ limit, shares, orders }) => `${shares} @ ${limit} of ${orders}`);
const TEN_CENTS = exact("0.1");
const bids = [level("99.97", "1"), level("99.95", "2", 2), level("99.8", "3")];
const asks = [level("100", "1"), level("100.01", "2"), level("100.1", "4")];

test("no price that levels are put together at is better than theirs", () => {
  assert.deepEqual(texts(grouped(bids, "buy", TEN_CENTS, 9)), ["3 @ 99.9 of 3", "3 @ 99.8 of 1"]);
  assert.deepEqual(texts(grouped(asks, "sell", TEN_CENTS, 9)), ["1 @ 100 of 1", "6 @ 100.1 of 2"]);
  assert.deepEqual(texts(grouped(bids, "buy", 1n, 2)), ["1 @ 99.97 of 1", "2 @ 99.95 of 2"]);
  assert.deepEqual(grouped(bids, "buy", 1n, 0), []);
});

test("held rows keep their prices: one whose level is gone has no shares, and no other level comes in", () => {
  const held = [exact("99.96"), exact("99.95"), null];
  assert.deepEqual(texts(levelsOf(bids, { side: "buy", step: 1n, rows: 3, held })), ["0 @ 99.96 of 0", "2 @ 99.95 of 2"]);
  assert.equal(levelsOf(bids, { side: "buy", step: 1n, rows: 3, held: null }).length, 3);
});

test("one's own limits are put together as the levels are, those of other symbols left out", () => {
  const open = new Map(
    [
      { symbol: "SPY", side: "buy", limit: "99.97" },
      { symbol: "SPY", side: "sell", limit: "100.01" },
      { symbol: "SPY", side: "sell", limit: null },
      { symbol: "BOLT", side: "buy", limit: "7" },
    ].map((order, at) => [at, order]),
  );
  const limits = limitsOf(/** @type {any} */ ({ open }), /** @type {any} */ ({ past: null, symbol: "SPY" }), TEN_CENTS);
  assert.deepEqual(
    [...limits.buy, ...limits.sell].map((limit) => format(limit)),
    ["99.9", "100.1"],
  );
});

test("totals count up to each level, in shares or in dollars, and the deepest of both sides is the measure", () => {
  assert.deepEqual(
    totalsOf(asks, false).map((sum) => format(sum)),
    ["1", "3", "7"],
  );
  assert.deepEqual(
    totalsOf(asks, true).map((sum) => format(sum, 16)),
    ["100", "300.02", "700.42"],
  );
  const totals = (/** @type {boolean} */ money) => ({ buy: totalsOf(bids, money), sell: totalsOf(asks, money) });
  assert.deepEqual([deepestOf(totals(false), false), deepestOf(totals(true), true), deepestOf({ buy: [], sell: [] }, false)], [7, 700.42, 0]);
});

test("the spread stands between the sides, or the phase of a symbol that is not open", () => {
  const between = (/** @type {Partial<Book>} */ state) => middleText(Object.assign(new Book(), state), 2);
  assert.equal(between({ bids, asks }), "Spread 0.03  (0.030%)");
  assert.deepEqual([between({ bids }), between({ asks })], ["no sell orders", "no buy orders"]);
  const phase = /** @type {Phase} */ ({ name: "auction", until: null, price: "99.98", shares: "1500", surplus: null });
  assert.equal(between({ phase }), "Auction: 1,500 would execute at 99.98");
  assert.equal(between({ phase: { ...phase, name: "halted", price: null } }), "Halted: nothing would execute");
});
