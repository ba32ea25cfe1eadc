// An order that is replaced: what is asked for, and what is said of it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, api } from "../page/api.js";
import { replaceOrder } from "../page/views/order-replace.js";

/** @import { Order } from "../page/types.js" */

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
    self_trade: "allowed",
    until: null,
    waits: false,
    shares: "5",
    open: "5",
    executed: "0",
    canceled: "0",
    status: "open",
  })
);
const NEW = { ...ORDER, order_id: 8, limit: "151" };
const absent = () => Promise.reject(new Refusal({ code: "unknown-order", detail: "No such order", status: 404 }));
const lost = () => Promise.reject(new Refusal({ code: "no-answer", detail: "No answer" }));

/** Replaces the order, and gives the notices, oldest first. Nothing waits. @param {object} server */
async function saidOf(server) {
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
    await replaceOrder(parts, ORDER, "5", { limit: "151" });
  } finally {
    Object.assign(globalThis, { document: undefined, setTimeout: real });
  }
  return said;
}

test("an order is replaced on the condition that it stays where the new one is refused", async () => {
  /** @type {string[]} */
  const asked = [];
  const real = globalThis.fetch;
  globalThis.fetch = /** @type {any} */ (
    async (/** @type {string} */ path, /** @type {any} */ { method }) => {
      asked.push(`${method} ${path}`);
      return new Response(JSON.stringify({ code: "insufficient-funds", title: "Insufficient funds", detail: "755 needed, 1 available" }), { status: 422 });
    }
  );
  try {
    assert.deepEqual(await saidOf({ replace: api.replace }), ["Order 7 not changed: 755 needed, 1 available"]);
  } finally {
    globalThis.fetch = real;
  }
  assert.deepEqual(asked, ["PUT /api/v1/orders/7?on_failure=keep"]);
});

test("what came of a replacement is told as it is", async () => {
  const answers = (/** @type {string|null} */ code) => ({ replace: async () => ({ placed: NEW, not_canceled: code && { code } }) });
  assert.deepEqual(await saidOf(answers(null)), ["Order 8 stands for order 7: 5 SPY at 151, behind the others of its price"]);
  // The browser sent it twice, and the second answer came.
  assert.match((await saidOf(answers("nothing-open")))[0], /^Order 8 stands for order 7/);
  assert.deepEqual(await saidOf(answers("kept")), ["Order 8 was placed before, and order 7 is kept, too"]);
});

test("of a replacement whose answer was lost nothing is said but what the server has", async () => {
  /** The order is looked at before it is replaced, and then as it is `now`. @param {Order["status"]} now @param {() => Promise<unknown>} orderOf */
  const last = async (now, orderOf) => {
    let looks = 0;
    const said = await saidOf({ replace: lost, order: async () => ({ ...ORDER, status: (looks += 1) === 1 ? "open" : now }), orderOf });
    assert.match(said[0], /^Order 7: whether it was replaced is not known/);
    return said.at(-1);
  };
  assert.match((await last("canceled", async () => NEW)) ?? "", /^Order 8 stands for order 7/);
  assert.equal(await last("open", absent), "Order 7 is still open: it is not replaced by now");
  assert.equal(await last("executed", absent), "Order 7 is executed, and was not replaced");
  assert.match((await last("open", lost)) ?? "", /still not known/);
});
