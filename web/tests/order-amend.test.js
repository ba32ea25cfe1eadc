// An order that is amended: what is asked for, and what is said of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, api } from "../page/api.js";
import { amendOrder } from "../page/views/order-amend.js";

/** @import { AmendOrder, Order } from "../page/types.js" */

const ORDER = /** @type {Order} */ (
  /** @type {unknown} */ ({
    order_id: 7,
    account: "1",
    symbol: "SPY",
    side: "buy",
    kind: "limit",
    limit: "150",
    stop: null,
    take_profit: null,
    waits: false,
    shares: "5",
    open: "5",
    executed: "0",
    canceled: "0",
    status: "open",
  })
);
const AMENDED = { ...ORDER, limit: "151" };
const lost = () => Promise.reject(new Refusal({ code: "no-answer", detail: "No answer" }));

/** Amends the order, and gives the notices, oldest first. Nothing waits. @param {object} server @param {AmendOrder} terms */
async function saidOf(server, terms = { limit: "151" }) {
  /** @type {string[]} */
  const said = [];
  const element = () => ({
    append: (/** @type {string} */ text) => said.push(text),
    setAttribute() {},
    addEventListener() {},
    hasAttribute: () => false,
    getAttribute: () => null,
    remove() {},
  });
  const root = { prepend() {}, children: [] };
  const real = globalThis.setTimeout;
  Object.assign(globalThis, {
    document: { getElementById: () => root, createElement: element },
    setTimeout: (/** @type {() => void} */ then) => real(then, 0),
  });
  try {
    const parts = /** @type {any} */ ({ api: { order: async () => ORDER, ...server }, price: (/** @type {string} */ text) => text });
    await amendOrder(parts, ORDER, terms);
  } finally {
    Object.assign(globalThis, { document: undefined, setTimeout: real });
  }
  return said;
}

test("an order is amended under its number by what changes alone", async () => {
  /** @type {string[]} */
  const asked = [];
  const real = globalThis.fetch;
  globalThis.fetch = /** @type {any} */ (
    async (/** @type {string} */ path, /** @type {any} */ { method, body }) => {
      asked.push(`${method} ${path} ${body}`);
      return new Response(JSON.stringify({ code: "insufficient-funds", title: "Insufficient funds", detail: "755 needed, 1 available" }), { status: 422 });
    }
  );
  try {
    assert.deepEqual(await saidOf({ amend: api.amend }), ["Order 7 not changed: 755 needed, 1 available"]);
  } finally {
    globalThis.fetch = real;
  }
  assert.deepEqual(asked, ['PATCH /api/v1/orders/7 {"account":"1","limit":"151"}']);
});

test("what came of an amendment is told as it is", async () => {
  assert.deepEqual(await saidOf({ amend: async () => AMENDED }), ["Order 7 has 5 SPY at 151, 5 open now"]);
  const waiting = { ...ORDER, limit: null, kind: "market", waits: true, stop: "149" };
  assert.deepEqual(await saidOf({ amend: async () => waiting }, { stop: "149" }), ["Order 7 has 5 SPY at any price, waiting for 149, 5 open now"]);
  const done = { ...AMENDED, open: "0", executed: "5", status: "executed" };
  assert.deepEqual(await saidOf({ amend: async () => done }), ["Order 7 has 5 SPY at 151, 0 open now"]);
});

test("an amendment whose answer is lost is told by the order", async () => {
  const last = async (/** @type {object} */ order) => (await saidOf({ amend: lost, order: async () => order })).at(-1);
  assert.equal(await last(AMENDED), "Order 7 has 5 SPY at 151, 5 open now");
  assert.equal(await last({ ...AMENDED, limit: "151.00" }), "Order 7 has 5 SPY at 151.00, 5 open now");
  assert.equal(await last({ ...ORDER, status: "canceled", open: "0" }), "Order 7 is not amended by now: it has 5 SPY at 150, 0 open");
});
