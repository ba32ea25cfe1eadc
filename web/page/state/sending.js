// Orders on their way. While nobody knows whether they were placed they are kept, are asked for by their client order ids, and are what is sent again. Knows no element.

import { Refusal } from "../api.js";
import { Observable } from "./observable.js";

/** @import { Api } from "../api.js" */
/** @import { NewOrder, Order, Placed } from "../types.js" */
/** @import { TicketOrder } from "../views/ticket-order.js" */

/** The outcome of sending: what was placed, why nothing was, or null while nobody knows. @typedef {{placed: (Placed|Order)[]}|{refused: Refusal}|null} Outcome */

/** Pauses between questions; the last one goes on. */
const PAUSES_MS = [500, 1_000, 2_000, 4_000, 8_000];

/** Refusals of an order itself, as against those of a limit or a mode. */
const OF_THE_ORDER = new Set([400, 404, 409, 422]);

/**
 * @typedef {object} Parts
 * @property {Pick<Api, "place"|"placeList"|"orderOf">} api
 * @property {(kept: string|null) => void} keep has the browser keep what is on its way, so that it outlives a reload
 * @property {() => unknown} kept gives what it keeps
 * @property {(outcome: NonNullable<Outcome>) => void} found is told when the outcome of orders turns up later
 * @property {(then: () => void, pause_ms: number) => unknown} [later]
 */

export class Sending extends Observable {
  /** The orders that are on their way, or of which nobody knows whether they were placed. @type {TicketOrder|null} */
  orders = null;
  /** @type {"idle"|"sending"|"unknown"} */
  state = "idle";
  /** Whether the server was asked, and has none of them by now. */
  absent = false;
  /** Why the outcome is not known. */
  why = "";

  #parts;
  /** The member whose orders they are; null while nobody knows who looks at the page. @type {string|null} */
  #member = null;
  /** The number of the round: an answer to an earlier round does not count. */
  #round = 0;

  /** @param {Parts} parts */
  constructor(parts) {
    super();
    this.#parts = parts;
  }

  /** Takes up what was on its way when the page was left, if it was this member's. What was another one's stays, until this one sends something. @param {string} member "" where there are none @param {unknown} kept */
  allow(member, kept) {
    this.#member = member;
    if (this.orders) this.#keep(this.orders);
    else if (isKept(kept) && kept.member === member) this.#doubt({ kind: kept.kind, orders: kept.orders }, "The page was left before there was an answer");
    else this.changed();
  }

  /** Whether nothing is sent yet: something is kept, and nobody knows whether it is of who looks at the page. */
  get waits() {
    return this.#member === null && this.orders === null && isKept(this.#parts.kept());
  }

  /** Whether what is pressed next sends these orders again. */
  get unknown() {
    return this.state === "unknown";
  }

  /** Sends orders. Where the outcome of others is not known these are sent again instead, exactly as they were. @param {TicketOrder} asked @returns {Promise<Outcome>} */
  async send(asked) {
    if (this.state === "sending" || this.waits) return null;
    const again = this.orders !== null;
    const orders = this.orders ?? asked;
    const round = this.#become("sending", orders);
    this.#keep(orders);
    try {
      const placed =
        orders.orders.length === 1 ? [await this.#parts.api.place(orders.orders[0])] : (await this.#parts.api.placeList(orders.kind, orders.orders)).orders;
      return this.#settle(round, { placed });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!error.unknown && !again) return this.#settle(round, { refused: error });
      this.#doubt(orders, error.message, error.unknown ? null : error);
      return null;
    }
  }

  /** @param {TicketOrder} orders */
  #keep(orders) {
    this.#parts.keep(JSON.stringify({ ...orders, member: this.#member }));
  }

  /** Gives up orders of which the server has none. */
  forget() {
    if (this.state === "unknown" && this.absent) this.#settle(this.#round, null);
  }

  /** @param {TicketOrder} orders @param {string} why @param {Refusal|null} [refusal] of the orders, sent again: what became of them the first time it does not say */
  #doubt(orders, why, refusal = null) {
    this.why = why;
    this.#ask(this.#become("unknown", orders), 0, refusal && OF_THE_ORDER.has(refusal.status) ? refusal : null);
  }

  /** @param {number} round @param {number} tries @param {Refusal|null} refusal */
  #ask(round, tries, refusal) {
    const later = this.#parts.later ?? setTimeout;
    later(
      async () => {
        if (round !== this.#round || !this.orders) return;
        const found = await this.#look(this.orders.orders);
        if (round !== this.#round) return;
        const outcome = found?.length ? { placed: found } : found && refusal ? { refused: refusal } : null;
        if (outcome) {
          this.#settle(round, outcome);
          return this.#parts.found(outcome);
        }
        this.absent ||= found !== null;
        this.changed();
        this.#ask(round, tries + 1, refusal);
      },
      PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)],
    );
  }

  /** The orders as the server has them; none of them, or null where it cannot be asked. Of a list there are all or none. @param {NewOrder[]} orders @returns {Promise<Order[]|null>} */
  async #look(orders) {
    try {
      return await Promise.all(orders.map(({ client_order_id: id, account }) => this.#parts.api.orderOf(id ?? "", account)));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return error.code === "unknown-order" || error.code === "unknown-account" ? [] : null;
    }
  }

  /** @template {Outcome} T @param {number} round @param {T} outcome @returns {T|null} null where another answer came first */
  #settle(round, outcome) {
    if (round !== this.#round) return null;
    this.#become("idle", null);
    this.#parts.keep(null);
    return outcome;
  }

  /** @param {Sending["state"]} state @param {TicketOrder|null} orders @returns {number} the round that begins */
  #become(state, orders) {
    this.state = state;
    this.orders = orders;
    this.absent = false;
    this.#round += 1;
    this.changed();
    return this.#round;
  }
}

/** Whether it is what was kept. @param {unknown} kept @returns {kept is TicketOrder & {member: unknown}} */
function isKept(kept) {
  const orders = typeof kept === "object" && kept !== null && "orders" in kept ? kept.orders : null;
  return Array.isArray(orders) && orders.length > 0 && orders.every((order) => typeof order?.client_order_id === "string" && typeof order.account === "string");
}
