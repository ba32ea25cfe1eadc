// The last trades of one symbol, newest first.

import { Observable } from "./observable.js";

/** @import { Trade } from "../types.js" */

/** The most trades that are kept. */
const KEPT = 100;

export class Tape extends Observable {
  /** Newest first. @type {Trade[]} */
  trades = [];
  /** @type {"waiting"|"live"} */
  state = "waiting";

  clear() {
    this.trades = [];
    this.state = "waiting";
    this.changed();
  }

  /** @param {Trade[]} trades oldest first, in the place of all that are here */
  snapshot(trades) {
    this.trades = [];
    this.state = "live";
    this.add(trades);
  }

  /** @param {Trade[]} trades oldest first */
  add(trades) {
    if (this.state === "waiting") return;
    // What a snapshot holds already is not taken twice.
    const last = this.trades[0]?.trade_id ?? -1;
    const newer = trades.filter((trade) => trade.trade_id > last).reverse();
    this.trades = [...newer, ...this.trades].slice(0, KEPT);
    this.changed();
  }
}
