// The amount of an order: shares, dollars, or per cent of the account's holdings, typed or chosen with a slider.

import { DECIMALS, MONEY_DECIMALS, affordable, exact, fault, format, group, parse, part, plain, roundedDown, total } from "../decimal.js";
import { find, setAttribute, setText } from "../dom.js";

/** @import { Book } from "../state/book.js" */
/** @import { Side } from "../types.js" */

/** @typedef {"shares"|"dollars"|"percent"} Unit */

/**
 * The whole of which an amount is a part, at this moment.
 * @typedef {object} Basis
 * @property {Side} side
 * @property {bigint|null} most shares that can be sold, or bought; null when that cannot be said
 * @property {bigint|null} balance that can be spent
 * @property {bigint|null} each what a share costs; null at any price
 * @property {boolean} at_once whether it executes at any price, and at once: then it may ask for dollars
 * @property {string|undefined} lot
 * @property {Book} book
 */

const NAMES = { shares: "Shares", dollars: "Dollars", percent: "Per cent" };
const CENT = 10n ** BigInt(MONEY_DECIMALS - 2);
const ONE = 10n ** BigInt(DECIMALS);

/**
 * Shares rounded down to lots, or to whole ones where there are no lots and one is left.
 * @param {bigint} shares @param {string|undefined} lot
 */
export function rounded(shares, lot) {
  return lot ? roundedDown(shares, exact(lot)) : part(shares, 100n);
}

/**
 * The shares that an amount comes to; null when that cannot be said.
 * @param {Unit} unit @param {bigint|null} amount as it was typed @param {Basis} basis
 * @returns {bigint|null}
 */
export function sharesOf(unit, amount, { side, most, each, at_once, lot, book }) {
  if (amount === null || amount <= 0n || unit === "shares") return amount;
  if (unit === "percent") return most === null || amount > 100n * ONE ? null : rounded((most * amount) / (100n * ONE), lot);
  const money = amount * ONE;
  if (each !== null) return each > 0n ? rounded(affordable(money, each), lot) : null;
  return at_once ? book.buys(money, side) : null;
}

/**
 * The dollars that a market order asks for in place of shares: those that were typed, and of a buy the part of the balance, so that it is never
 * more than that when prices move.
 * @param {Unit} unit @param {bigint|null} amount @param {Basis} basis
 * @returns {string|null}
 */
export function fundsOf(unit, amount, { side, balance, at_once }) {
  if (amount === null || amount <= 0n || !at_once) return null;
  if (unit === "dollars") return format(amount);
  if (unit !== "percent" || side !== "buy" || balance === null || amount > 100n * ONE) return null;
  return format(cents((balance * amount) / (100n * ONE)), MONEY_DECIMALS);
}

/**
 * The text of an amount that is a percentage of the most that is possible; null when that cannot be said.
 * @param {Unit} unit @param {string} percent a whole number @param {Basis} basis
 * @returns {string|null}
 */
export function percentageOf(unit, percent, { side, most, balance, each, at_once, lot, book }) {
  if (unit === "percent") return percent;
  if (most === null) return null;
  if (unit === "shares") return format(rounded((most * BigInt(percent)) / 100n, lot));
  // What all shares bring, or all there is to spend.
  const purse = side === "buy" ? balance : each === null ? (at_once ? book.atAnyPrice("sell", most) : null) : total(each, most);
  return purse === null ? null : format(cents((purse * BigInt(percent)) / 100n), MONEY_DECIMALS);
}

/** @param {bigint} money */
const cents = (money) => (money >= CENT ? money - (money % CENT) : money);

/**
 * @param {{basis: () => Basis, changed: () => void, unpriced: () => void}} parts `unpriced` is told when a part of what is possible is asked for before there is a price
 */
export function amountField({ basis, changed, unpriced }) {
  const input = /** @type {HTMLInputElement} */ (find("ticket-shares"));
  const unit = /** @type {HTMLSelectElement} */ (find("ticket-unit"));
  const slider = /** @type {HTMLInputElement} */ (find("ticket-slider"));
  const note = find("ticket-shares-note");
  const typed = () => parse(plain(input.value));
  const chosen = () => /** @type {Unit} */ (unit.value);

  /** Sets the amount to a percentage of the most that is possible, in the chosen unit. @param {string} percent */
  function take(percent) {
    const text = percentageOf(chosen(), percent, basis());
    if (text === null) return unpriced();
    input.value = text;
    changed();
  }

  slider.addEventListener("input", (event) => {
    // The form need not hear of what is no field of the order.
    event.stopPropagation();
    take(slider.value);
  });
  for (const button of document.querySelectorAll("[data-percent]")) {
    button.addEventListener("click", () => take(/** @type {HTMLElement} */ (button).dataset.percent ?? "0"));
  }
  unit.addEventListener("input", () => {
    // A number of dollars is none of shares.
    input.value = "";
  });

  return {
    input,
    unit,
    shares: () => sharesOf(chosen(), typed(), basis()),
    funds: () => fundsOf(chosen(), typed(), basis()),
    /** The fault of the amount; null if it has none. */
    fault() {
      const wrong = fault(plain(input.value), NAMES[chosen()]);
      if (wrong !== null) return wrong;
      const { most, at_once } = basis();
      if (chosen() === "percent" && (typed() ?? 0n) > 100n * ONE) return "Per cent of what the account has: at most 100";
      if (this.funds() !== null) return null;
      if (chosen() === "percent" && most === null) return "Per cent of what is not known; write shares";
      const shares = this.shares();
      if (shares === null) return at_once ? "Dollars come to no number of shares" : "Dollars buy at any price only at once; write shares";
      return shares <= 0n ? `${NAMES[chosen()]} come to no share` : null;
    },
    /** Draws the result of the amount, and the slider. */
    draw() {
      const { most } = basis();
      const shares = this.shares();
      setText(note, chosen() === "shares" || shares === null || shares <= 0n ? "" : `${this.funds() === null ? "=" : "About"} ${group(format(shares))} shares`);
      const part_of_most = most !== null && most > 0n && shares !== null ? (Number(shares) / Number(most)) * 100 : 0;
      const percent = chosen() === "percent" ? Number(typed() ?? 0n) / Number(ONE) : part_of_most;
      drawSlider(slider, percent);
    },
    clear() {
      input.value = "";
    },
  };
}

/** @param {HTMLInputElement} slider @param {number} percent */
function drawSlider(slider, percent) {
  const bound = Math.max(0, Math.min(100, percent));
  // While the slider has the focus its user decides where it stands.
  if (document.activeElement !== slider) slider.value = bound.toFixed(0);
  setAttribute(slider, "aria-valuetext", `${bound.toFixed(0)} per cent`);
  setAttribute(slider, "data-far", percent > 100.5);
}
