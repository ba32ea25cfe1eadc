// The WebSocket: subscriptions that outlive it. Connects again by itself, subscribes again, and notices a connection that
// died without saying so. Knows no market: it hands each message to whom it is for.

import { Pauses } from "./pauses.js";
import { Observable } from "./state/observable.js";

/** @import { FeedError, FeedMessage, ServerMessage, Topic } from "./types.js" */

/**
 * @typedef {object} Handler
 * @property {(message: any) => void} message snapshots and updates of this topic
 * @property {(error: FeedError) => void} [failed] the server refused it
 * @property {() => void} [lost] what is known of it is no longer live
 */

/**
 * The part of a WebSocket that is used.
 * @typedef {Pick<WebSocket, "send"|"close"|"readyState"|"onopen"|"onmessage"|"onclose">} Socket
 */

/**
 * Time, as the feed needs it; tests bring their own.
 * @typedef {object} Clock
 * @property {() => number} now milliseconds
 * @property {(then: () => void, ms: number) => unknown} after
 * @property {(timer: any) => void} forget
 */

/** @type {Clock} */
const wallClock = {
  now: () => performance.now(),
  after: (then, ms) => setTimeout(then, ms),
  forget: (timer) => clearTimeout(timer),
};

/** `WebSocket.OPEN`, which a test has not. */
const OPEN = 1;
/** A connection that stood so long was a good one, and the next pause is short. */
const GOOD_MS = 5_000;
/** The time between two checks for silence: the server sends a message each second. */
const LISTEN_MS = 900;
/** Looks in vain until it is said that the server does not answer, within three seconds of its last word. */
const HUNG = 2;
/** Looks in vain until a connection is given up. */
const GIVEN_UP = 11;
const NEVER_OPENED = 6;
/** A topic that is refused while the database is away is asked for again so much later. */
const AWAY_MS = 2_000;

export class Feed extends Observable {
  /** @type {"connecting"|"open"|"lost"} */
  state = "connecting";
  /** The time of the next attempt, by the clock; null unless the connection is lost. @type {number|null} */
  retry_at = null;
  /** The connection stands, and the server says nothing. */
  hung = false;

  /** @type {Map<string, {topic: Topic, handler: Handler, id: number}>} */
  #subscriptions = new Map();
  /** @type {Socket|null} */
  #socket = null;
  #id = 0;
  #opened_at = 0;
  #heard = false;
  /** Looks in vain. */
  #silent = 0;
  /** @type {unknown} */
  #retry = null;
  /** @type {unknown} */
  #watch = null;
  #open;
  #clock;
  #pauses;

  /**
   * @param {() => Socket} open begins a connection
   * @param {Clock} [clock]
   * @param {Pauses} [pauses]
   */
  constructor(open, clock = wallClock, pauses = new Pauses({ first_ms: 500, longest_ms: 15_000 })) {
    super();
    this.#open = open;
    this.#clock = clock;
    this.#pauses = pauses;
  }

  /** Begins a connection, at once also in a pause; nothing happens when there is one. */
  connect() {
    if (this.#socket) return;
    this.#clock.forget(this.#retry);
    this.#retry = null;
    this.retry_at = null;
    if (this.state !== "connecting") {
      this.state = "connecting";
      this.changed();
    }
    const socket = this.#open();
    this.#socket = socket;
    socket.onopen = () => this.#opened();
    socket.onmessage = (event) => this.#heardFrom(String(event.data));
    socket.onclose = () => this.#lost();
    this.#heard = false;
    this.#silent = 0;
    this.#watch = this.#clock.after(() => this.#listen(), LISTEN_MS);
  }

  /**
   * Subscribes, now or when there is a connection, and after each loss again.
   * @param {Topic} topic
   * @param {Handler} handler
   */
  subscribe(topic, handler) {
    const subscription = { topic, handler, id: 0 };
    this.#subscriptions.set(keyOf(topic), subscription);
    if (this.state === "open") this.#ask(subscription);
  }

  /** @param {Topic} topic */
  unsubscribe(topic) {
    if (this.#subscriptions.delete(keyOf(topic)) && this.state === "open") this.#send("unsubscribe", topic);
  }

  /** Asks for a new snapshot. @param {Topic} topic */
  again(topic) {
    const subscription = this.#subscriptions.get(keyOf(topic));
    if (!subscription || this.state !== "open") return;
    this.#send("unsubscribe", topic);
    this.#ask(subscription);
  }

  /** @param {{topic: Topic, id: number}} subscription */
  #ask(subscription) {
    subscription.id = this.#send("subscribe", subscription.topic);
  }

  /**
   * @param {"subscribe"|"unsubscribe"|"ping"} op
   * @param {Topic} [topic]
   * @returns {number} the id that the answer has
   */
  #send(op, topic) {
    this.#id += 1;
    // One that is closing says so in a moment; what is asked for then is asked for again on the next.
    if (this.#socket?.readyState === OPEN) this.#socket.send(JSON.stringify({ op, id: this.#id, ...topic }));
    return this.#id;
  }

  #opened() {
    this.#opened_at = this.#clock.now();
    this.state = "open";
    for (const subscription of this.#subscriptions.values()) this.#ask(subscription);
    this.changed();
  }

  /** @param {string} text */
  #heardFrom(text) {
    this.#heard = true;
    if (this.hung) {
      this.hung = false;
      this.changed();
    }
    /** @type {ServerMessage} */
    const message = JSON.parse(text);
    if (message.type === "snapshot" || message.type === "update" || message.type === "reports") {
      this.#subscriptions.get(keyOfMessage(message))?.handler.message(message);
    } else if (message.type === "error") {
      this.#refused(message);
    }
  }

  /** @param {FeedError} error */
  #refused(error) {
    for (const [key, subscription] of this.#subscriptions) {
      if (subscription.id !== error.id) continue;
      if (error.code === "store-away") {
        this.#clock.after(() => {
          const still = this.#subscriptions.get(key) === subscription && subscription.id === error.id;
          if (still && this.state === "open") this.#ask(subscription);
        }, AWAY_MS);
      } else {
        this.#subscriptions.delete(key);
        subscription.handler.failed?.(error);
      }
    }
  }

  /** Every so often: was anything heard? If not, ask; if that stays in vain, say so, and in the end the connection is dead. */
  #listen() {
    this.#silent = this.#heard ? 0 : this.#silent + 1;
    this.#heard = false;
    if (this.#silent >= (this.state === "open" ? GIVEN_UP : NEVER_OPENED)) {
      this.#lost();
      return;
    }
    this.#watch = this.#clock.after(() => this.#listen(), LISTEN_MS);
    if (this.state !== "open" || this.#silent === 0) return;
    this.#send("ping");
    if (this.#silent >= HUNG && !this.hung) {
      this.hung = true;
      this.changed();
    }
  }

  #lost() {
    const socket = this.#socket;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    this.#socket = null;
    socket.close();
    this.#clock.forget(this.#watch);

    const was_good = this.state === "open" && this.#clock.now() - this.#opened_at >= GOOD_MS;
    if (was_good) this.#pauses.reset();
    const pause = this.#pauses.next();
    this.retry_at = this.#clock.now() + pause;
    this.#retry = this.#clock.after(() => this.connect(), pause);
    this.state = "lost";
    this.hung = false;
    for (const { handler } of this.#subscriptions.values()) handler.lost?.();
    this.changed();
  }
}

/** @param {Topic} topic */
function keyOf(topic) {
  switch (topic.channel) {
    case "book":
    case "trades":
      return `${topic.channel} ${topic.symbol}`;
    case "candles":
      return `candles ${topic.symbol} ${topic.interval}`;
    case "orders":
      return `orders ${topic.account}`;
    case "drop-copy":
    case "status":
    case "symbols":
      return topic.channel;
  }
}

/** @param {FeedMessage} message */
function keyOfMessage(message) {
  if (message.channel === "orders") return keyOf({ channel: "orders", account: message.account.account });
  return keyOf(message);
}
