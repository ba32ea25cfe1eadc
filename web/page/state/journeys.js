// The times of the orders that this page placed, part by part: the server's measurements, and the wire, which is the rest.

import { Observable } from "./observable.js";

/** @import { Timing } from "../api.js" */

/** @typedef {"wire"|"read"|"wait"|"write"|"sync"|"apply"|"commit"|"reply"} Part */

/**
 * Milliseconds from the press to the answer.
 * @typedef {object} Journey
 * @property {Partial<Record<Part, number>>} parts
 * @property {number} took until the answer was here
 * @property {number} durable since the server had it
 */

const PARTS = /** @type {const} */ (["read", "wait", "write", "sync", "apply", "commit", "reply"]);
/** The most journeys that are remembered. */
const KEPT = 500;

export class Journeys extends Observable {
  /** Journeys by order. @type {Map<number, Journey>} */
  #all = new Map();
  /** The order that was placed last. @type {number|null} */
  last = null;

  /** @param {{order_id: number}[]} orders those that were placed together, and the time of all of them @param {Timing} timing */
  note(orders, timing) {
    const journey = journeyOf(timing);
    if (!journey) return;
    for (const { order_id } of orders) this.#all.set(order_id, journey);
    for (const old of [...this.#all.keys()].slice(0, -KEPT)) this.#all.delete(old);
    this.last = orders[0]?.order_id ?? null;
    this.changed();
  }

  /** @param {number} order @returns {Journey|null} */
  of(order) {
    return this.#all.get(order) ?? null;
  }
}

/** @param {Timing} timing @returns {Journey|null} none if the server says nothing that is understood */
export function journeyOf({ took_ms, told }) {
  const times = new Map(
    told.split(",").map((part) => {
      const [, name = "", ms = ""] = /^\s*([a-z]+);dur=([0-9.]+)\s*$/.exec(part) ?? [];
      return /** @type {const} */ ([name, Number(ms)]);
    }),
  );
  const total = times.get("total");
  if (total === undefined || !times.has("sync")) return null;
  /** @type {Journey["parts"]} */
  const parts = { wire: Math.max(0, took_ms - total) };
  for (const name of PARTS) {
    const ms = times.get(name);
    if (ms !== undefined) parts[name] = ms;
  }
  const until_durable = times.has("commit") ? ["read", "wait", "write", "sync", "apply", "commit"] : ["read", "wait", "write", "sync"];
  const durable = until_durable.reduce((sum, name) => sum + (times.get(name) ?? 0), 0);
  return { parts, took: Math.max(took_ms, total), durable };
}
