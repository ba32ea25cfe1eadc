// The book of one symbol: levels by price, kept from a snapshot and the updates that follow it. Knows no socket: it says
// what is wrong, and who feeds it subscribes again.

import { bookChecksum } from "../checksum.js";
import { affordable, exact, total } from "../decimal.js";
import { Observable } from "./observable.js";

/** @import { BookMessage, Phase, Side, WireLevel } from "../types.js" */

/**
 * @typedef {object} Level
 * @property {string} limit
 * @property {bigint} price the limit, scaled
 * @property {string} shares
 * @property {bigint} amount the shares, scaled
 * @property {number} orders
 */

/**
 * The error that makes a book worthless: an update is missing, or the levels differ from the server's.
 * @typedef {"gap"|"checksum"} BookFault
 */

export class Book extends Observable {
  /** Best first. @type {Level[]} */
  bids = [];
  /** Best first. @type {Level[]} */
  asks = [];
  /** @type {"waiting"|"live"} */
  state = "waiting";
  update = 0;
  sequence = 0;
  /** The phase; null while the symbol is open. In an auction the best bid may be above the best ask. @type {Phase|null} */
  phase = null;

  /** Forgets all: another symbol is looked at. */
  clear() {
    this.bids = [];
    this.asks = [];
    this.phase = null;
    this.await();
  }

  /** Shows what it has, and takes nothing but a snapshot. */
  await() {
    this.state = "waiting";
    this.changed();
  }

  /**
   * @param {BookMessage} message
   * @returns {BookFault|null}
   */
  snapshot(message) {
    this.bids = message.bids.map(level).sort((a, b) => order(b.price, a.price));
    this.asks = message.asks.map(level).sort((a, b) => order(a.price, b.price));
    this.update = message.update;
    this.sequence = message.sequence;
    this.state = "live";
    this.phase = message.phase ?? null;
    return this.#verify(message.checksum);
  }

  /**
   * @param {BookMessage} message
   * @returns {BookFault|null}
   */
  apply(message) {
    // Before its snapshot an update says nothing, and what the snapshot holds already says nothing new.
    if (this.state === "waiting" || message.update <= this.update) return null;
    if (message.update !== this.update + 1) {
      this.await();
      return "gap";
    }
    for (const wire of message.bids) place(this.bids, wire, -1n);
    for (const wire of message.asks) place(this.asks, wire, 1n);
    this.update = message.update;
    this.sequence = message.sequence;
    this.phase = message.phase ?? null;
    return this.#verify(message.checksum);
  }

  /** @param {Side} side @returns {Level[]} best first */
  side(side) {
    return side === "buy" ? this.bids : this.asks;
  }

  /**
   * The cost or proceeds of this many shares at the book's prices; null if the book has fewer.
   * @param {Side} side of the order
   * @param {bigint} shares
   * @returns {bigint|null}
   */
  atAnyPrice(side, shares) {
    let left = shares;
    let money = 0n;
    for (const level of side === "buy" ? this.asks : this.bids) {
      const taken = left < level.amount ? left : level.amount;
      money += total(level.price, taken);
      left -= taken;
      if (left === 0n) return money;
    }
    return null;
  }

  /**
   * The shares that so much money buys, or that bring no more than it, at the prices that there are.
   * @param {bigint} money
   * @param {Side} [side] of the order
   * @returns {bigint}
   */
  buys(money, side = "buy") {
    let left = money;
    let shares = 0n;
    for (const level of side === "buy" ? this.asks : this.bids) {
      const paid = affordable(left, level.price);
      if (paid < level.amount) return shares + paid;
      shares += level.amount;
      left -= total(level.price, level.amount);
    }
    return shares;
  }

  /** @param {number} checksum @returns {BookFault|null} */
  #verify(checksum) {
    if (bookChecksum(this.bids, this.asks) !== checksum) {
      this.await();
      return "checksum";
    }
    this.changed();
    return null;
  }
}

/** @param {WireLevel} wire @returns {Level} */
function level([limit, shares, orders]) {
  return { limit, price: exact(limit), shares, amount: exact(shares), orders };
}

/** @param {bigint} a @param {bigint} b */
function order(a, b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

/**
 * Puts a level where it belongs, in the place of the one with its limit; without shares it is gone.
 * @param {Level[]} levels best first
 * @param {WireLevel} wire
 * @param {1n|-1n} direction of prices from best to worst
 */
function place(levels, wire, direction) {
  const placed = level(wire);
  let low = 0;
  let high = levels.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (levels[middle].price * direction < placed.price * direction) low = middle + 1;
    else high = middle;
  }
  const there = low < levels.length && levels[low].price === placed.price;
  if (placed.amount === 0n) {
    if (there) levels.splice(low, 1);
  } else {
    levels.splice(low, there ? 1 : 0, placed);
  }
}
