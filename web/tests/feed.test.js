import assert from "node:assert/strict";
import { test } from "node:test";
import { Feed } from "../page/feed.js";
import { Pauses } from "../page/pauses.js";

/** @import { Topic } from "../page/types.js" */

/** A socket that the test is the other end of. */
class FakeSocket {
  /** @type {any[]} */
  sent = [];
  closed = false;
  readyState = 1;
  /** @type {any} */ onopen = null;
  /** @type {any} */ onmessage = null;
  /** @type {any} */ onclose = null;

  /** @param {any} text */
  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.closed = true;
  }

  /** @param {object} message */
  says(message) {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

/** A clock that the test turns. */
class FakeClock {
  time = 0;
  /** @type {{at: number, then: () => void}[]} */
  timers = [];
  now = () => this.time;
  after = (/** @type {() => void} */ then, /** @type {number} */ ms) => {
    const timer = { at: this.time + ms, then };
    this.timers.push(timer);
    return timer;
  };
  forget = (/** @type {any} */ timer) => {
    this.timers = this.timers.filter((each) => each !== timer);
  };

  /** @param {number} ms */
  turn(ms) {
    const end = this.time + ms;
    for (;;) {
      const next = this.timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
      if (!next) break;
      this.time = next.at;
      this.forget(next);
      next.then();
    }
    this.time = end;
  }
}

/** A feed over fake sockets; without jitter, each pause is its whole length. */
function begin() {
  const clock = new FakeClock();
  /** @type {FakeSocket[]} */
  const sockets = [];
  const feed = new Feed(
    () => {
      sockets.push(new FakeSocket());
      return /** @type {any} */ (sockets.at(-1));
    },
    clock,
    new Pauses({ first_ms: 500, longest_ms: 15_000 }, () => 1),
  );
  feed.connect();
  const last = () => /** @type {FakeSocket} */ (sockets.at(-1));
  return { feed, clock, sockets, last };
}

/** @type {Topic} */
const BOOK = { channel: "book", symbol: "SPY" };
/** @type {Topic} */
const ORDERS = { channel: "orders", account: "1" };

test("what is subscribed to before the connection stands is asked for when it does", () => {
  const { feed, last } = begin();
  feed.subscribe(BOOK, { message() {} });
  assert.deepEqual(last().sent, []);
  last().onopen();
  assert.deepEqual(last().sent, [{ op: "subscribe", id: 1, channel: "book", symbol: "SPY" }]);
  assert.equal(feed.state, "open");
});

test("a message reaches whom it is for, and nobody else", () => {
  const { feed, last } = begin();
  /** @type {string[]} */
  const heard = [];
  feed.subscribe(BOOK, { message: (message) => heard.push(`book ${message.type}`) });
  feed.subscribe(ORDERS, { message: (message) => heard.push(`orders ${message.account.account}`) });
  feed.subscribe({ channel: "candles", symbol: "SPY", interval: "1m" }, { message: () => heard.push("candles") });
  last().onopen();
  last().says({ type: "subscribed", id: 1, channel: "book", symbol: "SPY" });
  last().says({ type: "snapshot", channel: "book", symbol: "SPY" });
  last().says({ type: "snapshot", channel: "book", symbol: "QQQ" });
  last().says({ type: "update", channel: "candles", symbol: "SPY", interval: "5m" });
  last().says({ type: "update", channel: "candles", symbol: "SPY", interval: "1m" });
  last().says({ type: "update", channel: "orders", account: { account: "2" } });
  last().says({ type: "update", channel: "orders", account: { account: "1" } });
  assert.deepEqual(heard, ["book snapshot", "candles", "orders 1"]);
});

test("after a loss it connects again and asks for all that is wanted still", () => {
  const { feed, clock, sockets, last } = begin();
  let lost = 0;
  feed.subscribe(BOOK, {
    message() {},
    lost: () => {
      lost += 1;
    },
  });
  feed.subscribe(ORDERS, { message() {} });
  last().onopen();
  feed.unsubscribe(ORDERS);
  assert.equal(last().sent.at(-1).op, "unsubscribe");
  last().onclose();
  assert.equal(feed.state, "lost");
  assert.equal(lost, 1);
  assert.equal(sockets.length, 1);
  clock.turn(500);
  assert.equal(sockets.length, 2);
  assert.equal(feed.state, "connecting");
  last().onopen();
  assert.deepEqual(
    last().sent.map(({ op, channel }) => `${op} ${channel}`),
    ["subscribe book"],
  );
});

test("pauses grow to a bound, and are short again after a good connection", () => {
  const { feed, clock, sockets, last } = begin();
  /** @type {number[]} */
  const pauses = [];
  for (let tries = 0; tries < 7; tries += 1) {
    last().onclose();
    const pause = Number(feed.retry_at) - clock.time;
    pauses.push(pause);
    clock.turn(pause);
  }
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 15000, 15000]);
  assert.equal(sockets.length, 8);

  last().onopen();
  clock.turn(1000);
  last().onclose();
  assert.equal(Number(feed.retry_at) - clock.time, 15_000, "one that broke at once was no good one");

  clock.turn(15_000);
  last().onopen();
  for (let second = 0; second < 6; second += 1) {
    last().says({ type: "update", channel: "status" });
    clock.turn(1000);
  }
  last().onclose();
  assert.equal(Number(feed.retry_at) - clock.time, 500);
});

test("pauses have jitter: between half and all of their length", () => {
  const least = new Pauses({ first_ms: 500, longest_ms: 15_000 }, () => 0);
  const most = new Pauses({ first_ms: 500, longest_ms: 15_000 }, () => 0.999999);
  assert.equal(least.next(), 250);
  assert.equal(Math.round(most.next()), 500);
});

test("a connection that is silent is asked, and given up if it stays so", () => {
  const { feed, clock, sockets, last } = begin();
  feed.subscribe(BOOK, { message() {} });
  last().onopen();
  last().says({ type: "snapshot", channel: "book", symbol: "SPY" });
  clock.turn(900);
  assert.equal(last().sent.at(-1).op, "subscribe", "it was heard: nothing is asked");
  clock.turn(900);
  assert.equal(last().sent.at(-1).op, "ping");
  last().says({ type: "pong", id: 2 });
  clock.turn(900);
  assert.deepEqual([feed.state, feed.hung], ["open", false]);
  clock.turn(1_800);
  assert.deepEqual([feed.state, feed.hung], ["open", true], "said within three seconds");
  last().says({ type: "pong", id: 3 });
  assert.equal(feed.hung, false);
  clock.turn(12_000);
  assert.equal(sockets[0].closed, true);
  assert.notEqual(feed.state, "open");
});

test("a connection that never opens is given up", () => {
  const { feed, clock, sockets } = begin();
  clock.turn(5_400);
  assert.equal(sockets[0].closed, true);
  assert.equal(feed.state, "lost");
});

test("what a lost socket still says is not heard", () => {
  const { feed, sockets, last } = begin();
  let heard = 0;
  feed.subscribe(BOOK, {
    message: () => {
      heard += 1;
    },
  });
  last().onopen();
  last().onclose();
  sockets[0].says({ type: "update", channel: "book", symbol: "SPY" });
  assert.equal(heard, 0);
});

test("asking again asks for a new snapshot of that topic only", () => {
  const { feed, last } = begin();
  feed.subscribe(BOOK, { message() {} });
  feed.subscribe(ORDERS, { message() {} });
  last().onopen();
  feed.again(BOOK);
  assert.deepEqual(
    last()
      .sent.slice(2)
      .map(({ op, channel }) => `${op} ${channel}`),
    ["unsubscribe book", "subscribe book"],
  );
});

test("a refusal reaches who asked, by its id, and is not asked for again", () => {
  const { feed, clock, last } = begin();
  /** @type {string[]} */
  const refused = [];
  feed.subscribe(BOOK, { message() {}, failed: ({ code }) => refused.push(code) });
  feed.subscribe(ORDERS, { message() {}, failed: () => refused.push("wrong one") });
  last().onopen();
  last().says({ type: "error", id: 1, code: "unknown-symbol", detail: "Unknown symbol" });
  last().says({ type: "error", code: "too-slow" });
  assert.deepEqual(refused, ["unknown-symbol"]);
  last().onclose();
  clock.turn(500);
  last().onopen();
  assert.deepEqual(
    last().sent.map(({ channel }) => channel),
    ["orders"],
  );
});

test("while the database is away a topic is asked for again and again, until it is no longer wanted", () => {
  const { feed, clock, last } = begin();
  feed.subscribe(BOOK, { message() {}, failed: () => assert.fail("it comes back") });
  last().onopen();
  const asked = () => last().sent.filter(({ op }) => op !== "ping");
  const away = (/** @type {number} */ id) => last().says({ type: "error", id, code: "store-away", detail: "away" });
  away(1);
  clock.turn(2_000);
  assert.deepEqual(
    asked().map(({ op }) => op),
    ["subscribe", "subscribe"],
  );
  away(asked()[1].id);
  feed.unsubscribe(BOOK);
  clock.turn(2_000);
  assert.deepEqual(
    asked().map(({ op }) => op),
    ["subscribe", "subscribe", "unsubscribe"],
  );
});

test("nothing is said to a socket that is closing, and all is asked for on the next", () => {
  const { feed, clock, last } = begin();
  last().onopen();
  last().readyState = 2;
  feed.subscribe(BOOK, { message() {} });
  assert.deepEqual(last().sent, []);
  last().onclose();
  clock.turn(500);
  last().onopen();
  assert.deepEqual(
    last().sent.map(({ channel }) => channel),
    ["book"],
  );
});

test("connecting in a pause does not wait for its end, and not twice", () => {
  const { feed, clock, sockets, last } = begin();
  last().onclose();
  feed.connect();
  feed.connect();
  assert.equal(sockets.length, 2);
  last().onopen();
  clock.turn(500);
  assert.equal(sockets.length, 2);
});
