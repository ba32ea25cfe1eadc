// The account that trades here: what it has, its open orders, its history and executions, kept live from the feed.

import { Refusal } from "../api.js";
import { Observable } from "./observable.js";

/** @import { Api } from "../api.js" */
/** @import { Feed } from "../feed.js" */
/** @import { Account, Cursor, Execution, Order, OrdersSnapshot, OrdersUpdate, Position, Side } from "../types.js" */

/** @typedef {"unasked"|"asking"|"here"|"failed"} ListState */

/**
 * A list that is asked for page by page, newest first, and added to by the feed.
 * @typedef {{state: ListState, next: Cursor}} PagedList
 */

/**
 * The view of an account that other parts read, whichever part keeps it.
 * @typedef {Pick<Holdings, "id"|"account"|"open"|"executions"|"refused"|"position"|"tradesOf"|"watch">} AccountSeen
 */

/** The most done orders and executions that the feed adds; beyond them the oldest fall out. */
const KEPT = 2_000;

export class Holdings extends Observable {
  /** @type {string|null} */
  id = null;
  /** @type {Account|null} */
  account = null;
  /** Orders by id. @type {Map<number, Order>} */
  open = new Map();
  /** All that are known, by id. @type {Map<number, Order>} */
  orders = new Map();
  /** Newest first. @type {Execution[]} */
  executions = [];
  /** Why the account cannot be shown. @type {string|null} */
  refused = null;
  /** @type {PagedList} */
  history = { state: "unasked", next: null };
  /** @type {PagedList} */
  executed = { state: "unasked", next: null };
  /** Is told of each execution as it happens. @type {(execution: Execution) => void} */
  onExecution = () => {};

  /** @type {{executions: Execution[], symbol: string|null, trades: Map<number, Side>}} */
  #own = { executions: [], symbol: null, trades: new Map() };
  /** The executions that were asked for beyond the first page, which raise the bound. */
  #executionsAsked = 0;
  #feed;
  #api;

  /** @param {Feed} feed @param {Api} api */
  constructor(feed, api) {
    super();
    this.#feed = feed;
    this.#api = api;
  }

  /** @param {string|null} id */
  choose(id) {
    if (id === this.id && !this.refused) return;
    if (this.id) this.#feed.unsubscribe({ channel: "orders", account: this.id });
    this.id = id;
    this.account = null;
    this.refused = null;
    this.open = new Map();
    this.#forgetLists();
    if (id) {
      this.#feed.subscribe(
        { channel: "orders", account: id },
        {
          message: (/** @type {OrdersSnapshot|OrdersUpdate} */ message) => this.#take(message),
          failed: (error) => {
            this.refused = error.detail ?? error.code;
            this.changed();
          },
        },
      );
    }
    this.changed();
  }

  /** @param {string} symbol @returns {Position|null} */
  position(symbol) {
    return this.account?.positions.find((position) => position.symbol === symbol) ?? null;
  }

  /** One's own trades of a symbol, with the side of each. @param {string|null} symbol @returns {Map<number, Side>} */
  tradesOf(symbol) {
    const { executions } = this;
    // The list is another one whenever something comes.
    if (this.#own.executions !== executions || this.#own.symbol !== symbol) {
      const of = executions.filter((execution) => execution.symbol === symbol);
      this.#own = { executions, symbol, trades: new Map(of.map(({ trade_id, side }) => [trade_id, side])) };
    }
    return this.#own.trades;
  }

  /** Asks for the first page of the history, or for the next older one. */
  moreHistory() {
    return this.#more(this.history, async (id, before) => {
      const { orders, next } = await this.#api.orders(id, before);
      return () => {
        // What the feed said meanwhile is newer than the answer.
        for (const order of orders) if (!this.orders.has(order.order_id)) this.orders.set(order.order_id, order);
        return next;
      };
    });
  }

  /** Asks for the first page of executions, or for the next older one. */
  moreExecutions() {
    return this.#more(this.executed, async (id, before) => {
      const { executions, next } = await this.#api.executions(id, before);
      return () => {
        const known = new Set(this.executions.map(keyOf));
        const older = executions.filter((execution) => !known.has(keyOf(execution)));
        if (before !== null) this.#executionsAsked += older.length;
        // An answer may also have overtaken the feed.
        this.executions = [...this.executions, ...older].sort((a, b) => b.trade_id - a.trade_id);
        return next;
      };
    });
  }

  /** @param {OrdersSnapshot|OrdersUpdate} message */
  #take(message) {
    this.account = message.account;
    if (message.type === "snapshot") {
      this.open = new Map();
      // What happened while there was no connection is in nobody's update: the lists are asked for anew.
      const { history, executed } = this;
      this.#forgetLists();
      if (history.state !== "unasked") this.moreHistory();
      if (executed.state !== "unasked") this.moreExecutions();
    }
    for (const order of message.orders) {
      this.orders.set(order.order_id, order);
      if (order.status === "open") this.open.set(order.order_id, order);
      else this.open.delete(order.order_id);
    }
    if (message.type === "update" && message.executions.length > 0) {
      this.#execute(message.executions);
      this.#boundExecutions();
    }
    this.#boundOrders();
    this.changed();
  }

  /** @param {Execution[]} executions oldest first */
  #execute(executions) {
    // An answer that overtook the feed holds them already.
    const known = new Set(this.executions.slice(0, KEPT).map(keyOf));
    const fresh = executions.filter((execution) => !known.has(keyOf(execution)));
    this.executions = [...fresh.toReversed(), ...this.executions];
    for (const execution of executions) this.onExecution(execution);
  }

  /** Done orders beyond the bound fall out, the oldest first. */
  #boundOrders() {
    // The page that is on its way goes on from the oldest that is here.
    if (this.orders.size <= 2 * KEPT + this.open.size || this.history.state === "asking") return;
    const kept = [...this.orders.values()].sort((a, b) => b.order_id - a.order_id).slice(0, KEPT);
    this.orders = new Map([...this.open, ...kept.map((order) => /** @type {const} */ ([order.order_id, order]))]);
    // What fell out can be asked for again, from the oldest that is left.
    if (this.history.state !== "unasked") this.history.next = kept.at(-1)?.order_id ?? null;
  }

  /** Executions beyond the bound fall out, the oldest first. Those that were asked for raise it. */
  #boundExecutions() {
    const most = KEPT + this.#executionsAsked;
    if (this.executions.length <= most || this.executed.state === "asking") return;
    // A page begins behind a trade, so both sides of one are kept.
    const { trade_id: oldest } = this.executions[most - 1];
    const kept = this.executions.filter(({ trade_id }) => trade_id >= oldest);
    if (kept.length === this.executions.length) return;
    this.executions = kept;
    if (this.executed.state !== "unasked") this.executed.next = oldest;
  }

  #forgetLists() {
    this.orders = new Map();
    this.executions = [];
    this.#executionsAsked = 0;
    this.history = { state: "unasked", next: null };
    this.executed = { state: "unasked", next: null };
  }

  /**
   * @param {PagedList} list
   * @param {(id: string, before: Cursor) => Promise<() => Cursor>} ask answers how to put it in, which gives the next page
   */
  async #more(list, ask) {
    if (!this.id || list.state === "asking" || (list.state === "here" && list.next === null)) return;
    list.state = "asking";
    this.changed();
    try {
      const put = await ask(this.id, list.next);
      // Another account was chosen, or the list begun anew, while the answer was on its way.
      if (list !== this.history && list !== this.executed) return;
      list.next = put();
      list.state = "here";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      list.state = "failed";
    }
    this.changed();
  }
}

/** @param {Execution} execution */
function keyOf(execution) {
  return `${execution.trade_id}/${execution.order_id}`;
}
