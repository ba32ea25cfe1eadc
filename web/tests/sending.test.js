import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../page/api.js";
import { foundOut } from "../page/state/found-out.js";
import { Sending } from "../page/state/sending.js";

/** @import { TicketOrder } from "../page/views/ticket-order.js" */

/** @param {string} id @param {string} [shares] @returns {TicketOrder} */
const asked = (id, shares = "10") => ({
  kind: "oco",
  orders: [{ account: "1", symbol: "SPY", side: "buy", kind: "limit", limit: "145", shares, client_order_id: id }],
});
const lost = () => new Refusal({ code: "no-answer", detail: "The server does not answer" });
const refusal = (/** @type {number} */ status, /** @type {string} */ code) => new Refusal({ status, code, detail: code });

/** A server that answers as it is told to, and time that passes when it is told to. @param {unknown} [kept] what was on its way when the page was left @param {string} [member] who looks at it now */
function scene(kept = null, member = "alice") {
  /** The answers to a placing and to its query; an error is thrown. @type {{place: any, ask: any}} */
  const answers = { place: {}, ask: refusal(404, "unknown-order") };
  /** @type {any[]} */
  const placed = [];
  /** @type {(string|null)[]} */
  const stored = [];
  /** @type {any[]} */
  const found = [];
  /** @type {(() => unknown)[]} */
  const waiting = [];
  const answer = (/** @type {any} */ what) => (what instanceof Error ? Promise.reject(what) : Promise.resolve(what));
  const api = /** @type {any} */ ({
    place: (/** @type {any} */ order) => (placed.push(order), answer(answers.place)),
    orderOf: (/** @type {string} */ id) => answer(answers.ask instanceof Error ? answers.ask : { ...answers.ask, client_order_id: id }),
  });
  const sending = new Sending({
    api,
    keep: (all) => stored.push(all),
    kept: () => null,
    found: (outcome) => found.push(outcome),
    later: (then) => waiting.push(then),
  });
  sending.allow(member, kept);
  const pass = async () => {
    for (const then of waiting.splice(0)) await then();
  };
  return { answers, placed, stored, found, sending, pass };
}

test("an order without an answer is sent again as it was, under its id, whatever the form says by then", async () => {
  for (const unknown of [lost(), refusal(504, "outcome-unknown")]) {
    const { answers, placed, sending } = scene();
    answers.place = unknown;
    assert.equal(await sending.send(asked("a")), null);
    assert.equal(sending.unknown, true);
    answers.place = { order_id: 7 };
    assert.deepEqual(await sending.send(asked("b", "99")), { placed: [{ order_id: 7 }] });
    assert.deepEqual(placed, [asked("a").orders[0], asked("a").orders[0]]);
    assert.equal(sending.state, "idle");
    await sending.send(asked("c"));
    assert.equal(placed[2].client_order_id, "c");
  }
});

test("what became of it is asked for by its id until it is known", async () => {
  const { answers, sending, found, pass, stored } = scene();
  answers.place = lost();
  answers.ask = lost();
  await sending.send(asked("a"));
  await pass();
  assert.deepEqual([sending.unknown, sending.absent], [true, false], "nobody answers");
  sending.forget();
  assert.equal(sending.unknown, true, "it is not forgotten before the server was asked");
  answers.ask = { order_id: 7, status: "open" };
  await pass();
  assert.deepEqual(found, [{ placed: [{ order_id: 7, status: "open", client_order_id: "a" }] }]);
  assert.deepEqual([sending.state, sending.orders], ["idle", null]);
  assert.deepEqual([JSON.parse(stored[0] ?? ""), stored.at(-1)], [{ ...asked("a"), member: "alice" }, null]);
});

test("of what the server does not have nobody knows that it will not come: it can be sent again, or be forgotten", async () => {
  const { answers, sending, placed, pass } = scene();
  answers.place = lost();
  await sending.send(asked("a"));
  await pass();
  assert.deepEqual([sending.unknown, sending.absent], [true, true]);
  sending.forget();
  assert.equal(sending.state, "idle");
  answers.place = { order_id: 8 };
  await sending.send(asked("b"));
  assert.deepEqual(
    placed.map(({ client_order_id: id }) => id),
    ["a", "b"],
  );
});

test("a refusal of what is sent again settles it only where the server has no such order", async () => {
  const refused = refusal(409, "killed");
  const { answers, sending, found, pass } = scene();
  answers.place = lost();
  await sending.send(asked("a"));
  answers.place = refusal(503, "read-only");
  assert.equal(await sending.send(asked("a")), null);
  await pass();
  assert.equal(sending.unknown, true, "a mode says nothing of the order");
  answers.place = refused;
  assert.equal(await sending.send(asked("a")), null);
  answers.ask = lost();
  await pass();
  assert.equal(sending.unknown, true);
  answers.ask = refusal(404, "unknown-order");
  await pass();
  assert.deepEqual(found, [{ refused }]);
  assert.equal(sending.state, "idle");
});

test("a refusal of what was sent once is one, and a page that was left asks when it is back", async () => {
  const first = scene();
  first.answers.place = refusal(422, "insufficient-funds");
  assert.deepEqual(await first.sending.send(asked("a")), { refused: first.answers.place });
  assert.equal(first.stored.at(-1), null);
  const second = scene({ ...asked("a"), member: "alice" });
  assert.equal(second.sending.unknown, true);
  second.answers.ask = { order_id: 7, status: "canceled" };
  await second.pass();
  assert.equal(second.found[0].placed[0].order_id, 7);
  for (const nonsense of [null, 7, {}, { orders: [] }, { orders: [{}] }]) assert.equal(scene(nonsense).sending.state, "idle");
});

test("an order that another member left is neither told of, nor asked for, nor sent", async () => {
  const kept = { ...asked("a"), member: "alice" };
  for (const [left, member] of [
    [kept, "bob"],
    [kept, ""],
    [asked("a"), "alice"],
    [{ ...kept, member: "" }, "alice"],
  ]) {
    const { answers, sending, placed, stored, found, pass } = scene(left, /** @type {string} */ (member));
    answers.ask = { order_id: 7 };
    await pass();
    assert.deepEqual([sending.state, sending.orders, found, stored], ["idle", null, [], []], "it is there when its member is back");
    answers.place = { order_id: 8 };
    await sending.send(asked("b"));
    assert.deepEqual(placed, [asked("b").orders[0]]);
  }
  const again = scene({ ...asked("a"), member: "" }, "");
  assert.deepEqual([again.sending.unknown, again.stored], [true, []], "where there are no members");
});

test("an order that is sent before it is known who looks at the page is kept as theirs", async () => {
  const { Sending } = await import("../page/state/sending.js");
  /** @type {any[]} */
  const stored = [];
  const sending = new Sending({
    api: /** @type {any} */ ({ place: () => new Promise(() => {}) }),
    keep: (all) => stored.push(JSON.parse(all ?? "null")),
    kept: () => null,
    found: () => {},
  });
  sending.send(asked("a"));
  sending.allow("alice", stored.at(-1));
  assert.deepEqual([sending.state, stored.at(-1)], ["sending", { ...asked("a"), member: "alice" }]);
});

test("what was kept is not lost to an order that is sent before it is known who looks at the page", async () => {
  const kept = { ...asked("a"), member: "alice" };
  /** @type {any[]} */
  const done = [];
  const api = /** @type {any} */ ({ place: (/** @type {any} */ order) => (done.push(order), Promise.resolve({ order_id: 8 })) });
  const sending = new Sending({ api, keep: (all) => done.push(all), kept: () => kept, found: () => {}, later: () => {} });
  assert.deepEqual([await sending.send(asked("b")), sending.waits, done], [null, true, []]);
  sending.allow("alice", kept);
  assert.deepEqual([sending.waits, sending.unknown, sending.orders?.orders[0].client_order_id], [false, true, "a"]);
});

test("an answer that is lost and one that stands in a proxy's place are unknown, and a refusal with a code is not", async () => {
  const { api } = await import("../page/api.js");
  const fetched = globalThis.fetch;
  /** @param {() => Promise<Response>} answer */
  const told = async (answer) => {
    globalThis.fetch = /** @type {any} */ (answer);
    const error = await api.place(asked("a").orders[0]).then(
      () => null,
      (refused) => refused,
    );
    globalThis.fetch = fetched;
    return error?.unknown;
  };
  const answers = (/** @type {number} */ status, /** @type {string} */ body) => () => Promise.resolve(new Response(body, { status }));
  assert.equal(await told(() => Promise.reject(new TypeError("lost"))), true);
  for (const status of [502, 503, 504]) {
    assert.equal(await told(answers(status, "<html>")), true);
    assert.equal(await told(answers(status, '{"message":"upstream"}')), true);
  }
  assert.equal(await told(answers(504, '{"code":"outcome-unknown","detail":"later"}')), true);
  assert.equal(await told(answers(200, "null")), true);
  assert.equal(await told(answers(503, '{"code":"read-only","detail":"no"}')), false);
  assert.equal(await told(answers(422, '{"code":"insufficient-funds","detail":"no"}')), false);
});

test("what became of a request is asked for until it is done, and else told as it was last", async () => {
  const answers = [lost(), "open", "open", "canceled"];
  const ask = () => {
    const next = answers.shift() ?? lost();
    return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
  };
  const now = () => Promise.resolve();
  assert.equal(await foundOut(ask, (status) => status === "canceled", now), "canceled");
  assert.equal(await foundOut(ask, () => true, now), null);
  answers.push("open", lost());
  assert.equal(await foundOut(ask, (status) => status === "canceled", now), "open");
});
