// Refused orders, which the page keeps, and their places among the others.

import assert from "node:assert/strict";
import { test } from "node:test";
import { RefusedOrders, merged } from "../page/state/refused.js";

/** @import { NewOrder, Order } from "../page/types.js" */

const order = (/** @type {object} */ more = {}) =>
  /** @type {NewOrder} */ (
    /** @type {unknown} */ ({ account: "1", symbol: "SPY", side: "buy", kind: "limit", limit: "7", shares: "2", client_order_id: "web-1", ...more })
  );

function keeper() {
  /** @type {string[]} */
  const kept = [];
  return { kept, refused: new RefusedOrders((text) => kept.push(text)), last: () => JSON.parse(kept.at(-1) ?? "null") };
}

test("a refused order is kept with its reason, for its account, and for its member alone", () => {
  const { refused, last } = keeper();
  refused.allow("alice", null);
  refused.note([order(), order({ limit: undefined, stop: "6", kind: "market" })], "Insufficient funds", 5);
  refused.note([order({ account: "2" })], "x".repeat(1_000), 6);
  const [second, first] = refused.of("1");
  assert.deepEqual([first.limit, first.stop, first.status, first.why, first.time], ["7", null, "refused", "Insufficient funds", 5]);
  assert.deepEqual([second.limit, second.stop, second.kind], [null, "6", "market"]);
  assert.equal(refused.of("2")[0].why.length, 300);
  assert.equal(new Set([...refused.of("1"), ...refused.of("2")].map(({ order_id }) => order_id)).size, 3);
  const again = keeper().refused;
  again.note([order()], "no", 9);
  again.allow("alice", last());
  assert.deepEqual(
    again.of("1").map(({ why }) => why),
    ["no", "Insufficient funds", "Insufficient funds"],
  );
  assert.equal(new Set([...again.of("1"), ...again.of("2")].map(({ order_id }) => order_id)).size, 4);
  for (const [member, kept] of /** @type {[string, unknown][]} */ ([
    ["bob", last()],
    ["alice", { member: "alice", orders: [{ status: "open", order_id: 7 }] }],
    ["alice", "no"],
    ["alice", { member: "alice", orders: [null] }],
  ])) {
    const other = keeper().refused;
    other.allow(member, kept);
    assert.deepEqual(other.of("1"), []);
  }
});

test("the oldest refused orders fall out, and nothing is kept before it is known whose they are", () => {
  const { refused, kept } = keeper();
  refused.note([order()], "no", 1);
  assert.deepEqual([kept.length, refused.of("1").length], [0, 1]);
  refused.allow("", null);
  for (let time = 2; time < 100; time += 1) refused.note([order()], "no", time);
  assert.deepEqual([refused.of("1").length, refused.of("1")[0].time, refused.of("1")[49].time], [50, 99, 50]);
});

test("a refused order stands among the others by its time", () => {
  const { refused } = keeper();
  refused.note([order()], "first", 5);
  refused.note([order()], "second", 9);
  const placed = [8, 6, 2].map((time) => /** @type {Order} */ (/** @type {unknown} */ ({ order_id: time, time })));
  assert.deepEqual(
    merged(placed, refused.of("1")).map(({ time }) => time),
    [9, 8, 6, 5, 2],
  );
  assert.deepEqual(merged([], refused.of("1")).length, 2);
});
