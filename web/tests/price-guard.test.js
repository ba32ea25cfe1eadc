// Prices far from the market, of which the ticket warns.

import assert from "node:assert/strict";
import { test } from "node:test";
import { exact, group } from "../page/decimal.js";
import { farWarning } from "../page/views/price-guard.js";

const MARKET = { last: "146", bid: exact("145.9"), ask: exact("146.1"), average: null };

/** @param {object[]} orders @param {object} [market] */
const warning = (orders, market = {}) => farWarning(/** @type {any} */ ({ kind: "otoco", orders }), { ...MARKET, ...market }, group);

test("a price is far when it is worse than the market's by more than ten per cent", () => {
  const limit = (/** @type {string} */ side, /** @type {string} */ limit, more = {}) => warning([{ side, kind: "limit", limit, ...more }]);
  assert.equal(limit("buy", "1465"), "1,465 is 903% above the last price, 146.");
  assert.equal(limit("sell", "14.6"), "14.6 is 90% below the last price, 146.");
  assert.deepEqual([limit("buy", "160.6"), limit("sell", "131.4")], ["", ""]);
  assert.deepEqual([limit("buy", "160.60000001") !== "", limit("sell", "131.39999999") !== ""], [true, true]);
  // What can only bring more, or nothing, is nobody's loss.
  assert.deepEqual([limit("buy", "14.6"), limit("sell", "1460")], ["", ""]);
});

test("without a last price the book is the market, and without a book nothing is far", () => {
  const buy = [{ side: "buy", kind: "limit", limit: "1465" }];
  assert.match(warning(buy, { last: null }), /the middle of the book, 146\.$/);
  assert.match(warning(buy, { last: null, ask: undefined }), /the best bid, 145\.9\.$/);
  assert.match(warning(buy, { last: null, bid: undefined }), /the best ask, 146\.1\.$/);
  assert.equal(warning(buy, { last: null, bid: undefined, ask: undefined }), "");
});

test("an order that waits, or comes behind another one, is compared with the price near which it comes", () => {
  const stop = { side: "sell", kind: "limit", stop: "100" };
  assert.equal(warning([{ ...stop, limit: "95" }]), "");
  assert.equal(warning([{ ...stop, limit: "80" }]), "80 is 20% below the price that it waits for, 100.");
  const first = { side: "buy", kind: "limit", limit: "100" };
  assert.equal(warning([first, { side: "sell", kind: "post_only", limit: "101" }]), "");
  assert.equal(warning([first, { side: "sell", kind: "limit", limit: "10" }]), "10 is 90% below the limit of the order before it, 100.");
});

test("a market order is as far as what it would take now, and one that waits is not known to be", () => {
  const market = { side: "buy", kind: "market" };
  assert.equal(warning([market], { average: exact("300") }), "300 is 105% above the last price, 146.");
  assert.equal(warning([market], { average: exact("150") }), "");
  assert.equal(warning([market]), "");
  assert.equal(warning([{ ...market, trail: "5" }], { average: exact("300") }), "");
  assert.equal(warning([{ ...market, stop: "150" }], { average: exact("300") }), "");
});
