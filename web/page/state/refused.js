// The orders that the server refused. It keeps none of them, so this tab does, for the member who sent them. Knows no element.

import { Observable } from "./observable.js";

/** @import { NewOrder, Order } from "../types.js" */

/**
 * A refused order, as a row among the others. Its number is below zero: the server gave it none.
 * @typedef {Omit<Order, "status"> & {status: "refused", why: string, funds?: string}} RefusedOrder
 */

/** An order of the history, or one that never came so far. @typedef {Order|RefusedOrder} HistoryRow */

/** The most orders that are kept; the oldest fall out. */
const KEPT = 50;
/** The most characters of a reason that are kept. */
const WHY_MAX = 300;

export class RefusedOrders extends Observable {
  /** Newest first. @type {RefusedOrder[]} */
  #orders = [];
  /** @type {string|null} */
  #member = null;
  #keep;

  /** @param {(kept: string) => void} keep has the browser keep them, so that they outlive a reload */
  constructor(keep) {
    super();
    this.#keep = keep;
  }

  /** Takes up those that were kept, if they were this member's. @param {string} member "" where there are none @param {unknown} kept */
  allow(member, kept) {
    this.#member = member;
    if (isKept(kept) && kept.member === member) {
      const older = kept.orders.map((order, at) => ({ ...order, order_id: this.#lowest - 1 - at }));
      this.#orders = [...this.#orders, ...older].slice(0, KEPT);
    }
    this.changed();
  }

  /** @param {NewOrder[]} orders that were refused together @param {string} why @param {number} time in microseconds */
  note(orders, why, time) {
    const rows = orders.map((order, at) => rowOf(order, { order_id: this.#lowest - 1 - at, why: why.slice(0, WHY_MAX), time }));
    this.#orders = [...rows.toReversed(), ...this.#orders].slice(0, KEPT);
    if (this.#member !== null) this.#keep(JSON.stringify({ member: this.#member, orders: this.#orders }));
    this.changed();
  }

  /** The lowest number that is given. */
  get #lowest() {
    return Math.min(0, ...this.#orders.map(({ order_id }) => order_id));
  }

  /** The refused orders of an account, newest first. @param {string|null} account */
  of(account) {
    return this.#orders.filter((order) => order.account === account);
  }
}

/** @param {NewOrder} order @param {{order_id: number, why: string, time: number}} refusal @returns {RefusedOrder} */
function rowOf({ shares, limit, stop, take_profit, self_trade, until, tif: _, ...order }, refusal) {
  return {
    ...order,
    ...refusal,
    limit: limit ?? null,
    stop: stop ?? null,
    take_profit: take_profit ?? null,
    self_trade: self_trade ?? "allowed",
    until: until ?? null,
    waits: false,
    shares: shares ?? "0",
    open: "0",
    executed: "0",
    canceled: "0",
    status: "refused",
    done_time: refusal.time,
    average_price: null,
  };
}

/** Orders with refused ones among them, by their times. @param {Order[]} orders newest first @param {RefusedOrder[]} refused newest first @returns {HistoryRow[]} */
export function merged(orders, refused) {
  const waiting = [...refused];
  /** @type {HistoryRow[]} */
  const all = [];
  for (const order of orders) {
    while (waiting.length > 0 && waiting[0].time >= (order.time ?? 0)) all.push(...waiting.splice(0, 1));
    all.push(order);
  }
  return [...all, ...waiting];
}

/** Whether it is what was kept. @param {unknown} kept @returns {kept is {member: unknown, orders: RefusedOrder[]}} */
function isKept(kept) {
  const orders = typeof kept === "object" && kept !== null && "orders" in kept ? kept.orders : null;
  return Array.isArray(orders) && orders.every((order) => order?.status === "refused" && typeof order.why === "string" && order.order_id < 0);
}
