// Alerts: a price of a symbol that somebody wants to be told of. Each rings once. Knows no element and no sound.

import { exact } from "../decimal.js";
import { Observable } from "./observable.js";

/** @import { SymbolInfo, Trade } from "../types.js" */

/** `rises`: it rings at this price or above; else at it or below. `rang` is when, in microseconds, and null while it waits. @typedef {{id: number, symbol: string, price: string, rises: boolean, rang: number|null}} Alert */

const ALERTS_MAX = 50;

export class Alerts extends Observable {
  /** Oldest first. @type {Alert[]} */
  all = [];
  /** Is told of each that rings. @type {(alert: Alert, last: string) => void} */
  onRing = () => {};
  /** The newest trade of the tape that was seen; null before its first. @type {number|null} */
  #seen = null;
  #keep;

  /** @param {unknown} kept what `keep` got the last time @param {(all: Alert[]) => void} keep */
  constructor(kept, keep) {
    super();
    this.#keep = keep;
    this.all = (Array.isArray(kept) ? kept : [])
      .filter(isAlert)
      .slice(0, ALERTS_MAX)
      .map((alert, at) => ({ ...alert, id: at + 1 }));
  }

  /**
   * @param {string} symbol
   * @param {string} price a plain number
   * @param {string|null} last which says from where the price is to be reached
   * @returns {string|null} why there is none
   */
  add(symbol, price, last) {
    if (last === null) return `${symbol} has no price yet`;
    if (exact(price) === exact(last)) return "That is the last price already";
    if (this.all.some((alert) => alert.symbol === symbol && alert.rang === null && exact(alert.price) === exact(price))) return "There is one at this price";
    if (this.all.length >= ALERTS_MAX) return `At most ${ALERTS_MAX} alerts; remove one first`;
    const id = Math.max(0, ...this.all.map((alert) => alert.id)) + 1;
    this.#become([...this.all, { id, symbol, price, rises: exact(price) > exact(last), rang: null }]);
    return null;
  }

  /** @param {number} id */
  remove(id) {
    this.#become(this.all.filter((alert) => alert.id !== id));
  }

  /** Rings what a price reaches. @param {string} symbol @param {string} last @param {number} time microseconds */
  see(symbol, last, time) {
    if (!this.all.some((alert) => alert.symbol === symbol && alert.rang === null)) return;
    const price = exact(last);
    const reached = this.all.filter(
      (alert) => alert.symbol === symbol && alert.rang === null && (alert.rises ? price >= exact(alert.price) : price <= exact(alert.price)),
    );
    if (reached.length === 0) return;
    this.#become(this.all.map((alert) => (reached.includes(alert) ? { ...alert, rang: time } : alert)));
    for (const alert of reached) this.onRing(alert, last);
  }

  /** The tape of one symbol, newest first: each trade that came since it was seen last. An empty one begins anew. @param {Trade[]} trades */
  seeTape(trades) {
    const seen = this.#seen;
    this.#seen = trades[0]?.trade_id ?? null;
    if (seen === null) return;
    for (const { symbol, price, time } of trades.filter(({ trade_id }) => trade_id > seen).toReversed()) this.see(symbol, price, time);
  }

  /** Checks the alerts against the symbols' prices now. @param {SymbolInfo[]} symbols */
  seeAll(symbols) {
    for (const { symbol, last, last_time } of symbols) if (last !== null) this.see(symbol, last, last_time ?? 0);
  }

  /** @param {Alert[]} all */
  #become(all) {
    this.all = all;
    this.#keep(all);
    this.changed();
  }
}

/** @param {unknown} kept @returns {kept is Alert} */
function isAlert(kept) {
  if (typeof kept !== "object" || kept === null) return false;
  const { symbol, price, rises, rang } = /** @type {Record<string, unknown>} */ (kept);
  return (
    typeof symbol === "string" &&
    typeof price === "string" &&
    /^\d{1,11}(\.\d{1,8})?$/.test(price) &&
    typeof rises === "boolean" &&
    (rang === null || typeof rang === "number")
  );
}
