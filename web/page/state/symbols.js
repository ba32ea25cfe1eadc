// All symbols and what is known of each.

import { Observable } from "./observable.js";

/** @import { SymbolInfo } from "../types.js" */

export class Symbols extends Observable {
  /** @type {Map<string, SymbolInfo>} */
  all = new Map();
  /** @type {"waiting"|"live"} */
  state = "waiting";

  /** @param {SymbolInfo[]} symbols */
  snapshot(symbols) {
    this.all = new Map();
    this.state = "live";
    this.put(symbols);
  }

  /** @param {SymbolInfo[]} symbols */
  put(symbols) {
    for (const info of symbols) this.all.set(info.symbol, info);
    this.changed();
  }

  /** The name of the first one in the order of the alphabet. @returns {string|null} */
  first() {
    return [...this.all.keys()].sort()[0] ?? null;
  }
}
