// The accounts that stand side by side: the first, and the second that the layout says. Knows no element.

/** @import { Layout } from "./layout.js" */
/** @import { Pair } from "./pair.js" */

export class SideBySide {
  /** The accounts of the user; one of them is the second if none was chosen. @type {string[]} */
  own = [];
  #layout;
  #pair;
  #keep;

  /**
   * @param {object} parts
   * @param {Layout} parts.layout
   * @param {Pair} parts.pair
   * @param {(account: string) => void} parts.keep gets the first account whenever it is another one
   */
  constructor({ layout, pair, keep }) {
    this.#layout = layout;
    this.#pair = pair;
    this.#keep = keep;
  }

  /** Has the second account be what the layout says. */
  follow() {
    const { first, second } = this.#pair;
    const { two, beside } = this.#layout;
    const wanted = two && beside !== first.id ? beside : null;
    if (wanted !== second.id) second.choose(wanted);
  }

  /** Shows two accounts, or one. */
  toggle() {
    const { two, beside } = this.#layout;
    if (two) return this.#layout.showTwo(false);
    this.#layout.showTwo(true, beside ?? this.own.find((account) => account !== this.#pair.first.id));
  }

  /** Chooses the first account; the second changes places with it. @param {string} account */
  chooseFirst(account) {
    const { first, second } = this.#pair;
    if (account === second.id) {
      if (first.id !== null) return this.#change(account, first.id);
      // One topic of the feed has one reader.
      second.choose(null);
    }
    this.#keep(account);
    first.choose(account);
  }

  /**
   * Chooses the second account; the first changes places with it.
   * @param {string} account
   * @returns {string|null} why it cannot be the second
   */
  chooseSecond(account) {
    const { first, second } = this.#pair;
    if (account !== first.id) this.#layout.showTwo(true, account);
    else if (second.id === null) return `Account ${account} is the first one already: choose another`;
    else this.#change(second.id, account);
    return null;
  }

  /** The accounts change places. @param {string} one the first from now on @param {string} other the second */
  #change(one, other) {
    const { first, second } = this.#pair;
    // First none: one topic of the feed has one reader.
    second.choose(null);
    this.#keep(one);
    first.choose(one);
    this.#layout.showTwo(true, other);
  }
}
