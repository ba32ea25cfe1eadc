// The fees of an account for executions in the chosen symbol. No topic reports a change, so the page asks again after a while.

import { Refusal } from "../api.js";
import { parse } from "../decimal.js";
import { Observable } from "./observable.js";

/** @import { Api } from "../api.js" */
/** @import { SymbolFees } from "../types.js" */
/** @import { AccountSeen } from "./holdings.js" */
/** @import { Market } from "./market.js" */

/** Rates have so many decimals. */
const RATE_DECIMALS = 4;
/** The whole of a scaled rate: per cent, with its decimals. */
const WHOLE = 100n * 10n ** BigInt(RATE_DECIMALS);

/** The parts of `WHOLE` that are charged of what a party receives. @typedef {{maker: bigint, taker: bigint}} Rates */

/** The time for which an answer counts. */
const FRESH_MS = 30_000;

export class Fees extends Observable {
  /** The fees of all tiers. @type {SymbolFees|null} */
  #told = null;
  #asked_at = -Infinity;
  /** @type {string|null} */
  #asked = null;
  #market;
  #holdings;
  #api;

  /** @param {{market: Market, holdings: AccountSeen, api: Pick<Api, "fees">}} parts */
  constructor({ market, holdings, api }) {
    super();
    this.#market = market;
    this.#holdings = holdings;
    this.#api = api;
  }

  /** The rates of the account that trades; null while they are not known. @returns {Rates|null} */
  get rates() {
    if (this.#told === null || this.#told.symbol !== this.#market.symbol) return null;
    const tier = this.#holdings.account?.tier ?? 0;
    const own = this.#told.fees.find((fees) => (fees.tier ?? 0) === tier);
    return { maker: scaled(own?.maker), taker: scaled(own?.taker) };
  }

  /** Asks, unless that was done just now. @param {number} [now_ms] */
  async look(now_ms = performance.now()) {
    const { symbol } = this.#market;
    // Before there is an account nobody knows whether anything may be asked.
    if (symbol === null || !this.#holdings.account || (symbol === this.#asked && now_ms - this.#asked_at < FRESH_MS)) return;
    this.#asked = symbol;
    this.#asked_at = now_ms;
    try {
      const told = await this.#api.fees(symbol);
      if (symbol === this.#market.symbol) this.#told = told;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // Then nothing is said of fees.
      if (symbol === this.#market.symbol) this.#told = null;
    }
    this.changed();
  }
}

/** The amount of a fee, rounded up as the server does. @param {bigint} received @param {bigint} rate */
export function feeOf(received, rate) {
  return (received * rate + WHOLE - 1n) / WHOLE;
}

/** @param {string|undefined} rate */
function scaled(rate) {
  return rate === undefined ? 0n : (parse(rate, RATE_DECIMALS) ?? 0n);
}

/** A rate in per cent, as it was told. @param {bigint} rate */
export function percentOf(rate) {
  const digits = rate.toString().padStart(RATE_DECIMALS + 1, "0");
  return `${digits.slice(0, -RATE_DECIMALS)}.${digits.slice(-RATE_DECIMALS)}`.replace(/\.?0+$/, "");
}
