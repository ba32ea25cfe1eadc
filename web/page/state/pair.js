// Two accounts: the first, and the one beside it. Whoever sends orders, and marks what is its own, asks here which of them acts. Knows no element.

import { Observable } from "./observable.js";

/** @import { AccountSeen, Holdings } from "./holdings.js" */

export class Pair extends Observable {
  /** The ticket sends from the second. */
  #turned = false;

  /** @param {Holdings} first @param {Holdings} second */
  constructor(first, second) {
    super();
    this.first = first;
    this.second = second;
    for (const each of [first, second]) {
      each.watch(() => {
        // Nobody sends from an account that is not there.
        if (second.id === null) this.#turned = false;
        this.changed();
      });
    }
  }

  /** @returns {AccountSeen} */
  get acting() {
    return this.#turned ? this.second : this.first;
  }

  /** @param {AccountSeen} account one of both */
  turnTo(account) {
    const turned = account === this.second && this.second.id !== null;
    if (turned === this.#turned) return;
    this.#turned = turned;
    this.changed();
  }

  /** The other one acts from now on, if there is one. */
  turn() {
    this.turnTo(this.#turned ? this.first : this.second);
  }

  get id() {
    return this.acting.id;
  }

  get account() {
    return this.acting.account;
  }

  get open() {
    return this.acting.open;
  }

  get executions() {
    return this.acting.executions;
  }

  get refused() {
    return this.acting.refused;
  }

  /** @param {string} symbol */
  position(symbol) {
    return this.acting.position(symbol);
  }

  /** @param {string|null} symbol */
  tradesOf(symbol) {
    return this.acting.tradesOf(symbol);
  }

  /** An order of either. @param {number} id */
  order(id) {
    return this.first.orders.get(id) ?? this.second.orders.get(id);
  }

  /** The executed shares of an order of either account. @param {number} id */
  executionsOf(id) {
    return [...this.first.executions, ...this.second.executions].filter((execution) => execution.order_id === id);
  }
}
