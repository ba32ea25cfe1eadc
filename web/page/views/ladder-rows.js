// The rows of the ladder, a button for each level. Rows keep their elements; only what differs is written.

import { MONEY_DECIMALS, atLeast, forDrawing, format, group } from "../decimal.js";
import { make, setAttribute, setText } from "../dom.js";
import { abbreviated } from "../format.js";
import { SIDES, bySide } from "./ladder-levels.js";

/** @import { Level } from "../state/book.js" */
/** @import { Side } from "../types.js" */

/**
 * @typedef {object} Row
 * @property {HTMLButtonElement} button
 * @property {HTMLElement} bar as long as its part of the deepest total
 * @property {HTMLElement} price
 * @property {HTMLElement} shares
 * @property {HTMLElement} total
 * @property {string} shown all that stands in it
 * @property {Level|null} level
 */

/**
 * The look of a side: its totals up to each level, the deepest total of both sides, the prices of one's own orders.
 * @typedef {object} Look
 * @property {bigint[]} totals
 * @property {number} deepest
 * @property {Set<bigint>} mine
 * @property {number} decimals of a price
 * @property {boolean} money whether totals are dollars
 * @property {number} room the number of characters of a size
 */

export class LadderRows {
  /** Best first. @type {Record<Side, Row[]>} */
  #rows = { buy: [], sell: [] };
  #lists;

  /** @param {Record<Side, HTMLElement>} lists */
  constructor(lists) {
    this.#lists = lists;
  }

  /** @param {number} wanted rows a side; one side alone has twice as many @param {"both"|Side} sides */
  fit(wanted, sides) {
    for (const side of SIDES) {
      const [rows, list] = [this.#rows[side], this.#lists[side]];
      const here = sides === "both" ? wanted : sides === side ? 2 * wanted : 0;
      while (rows.length < here) {
        const row = makeRow();
        rows.push(row);
        // The best sell order stands lowest, next to the spread.
        if (side === "buy") list.append(row.item);
        else list.prepend(row.item);
      }
      for (const row of rows.splice(here)) row.button.parentElement?.remove();
      list.hidden = here === 0;
    }
  }

  /** @param {Side} side */
  count(side) {
    return this.#rows[side].length;
  }

  /** The prices of the rows; null for a row without a level. */
  get prices() {
    return bySide((side) => this.#rows[side].map(({ level }) => level?.price ?? null));
  }

  /** @param {Side} side @param {Level[]} levels best first @param {Look} look */
  draw(side, levels, look) {
    this.#rows[side].forEach((row, at) => {
      row.level = levels[at] ?? null;
      row.button.hidden = row.level === null;
      if (!row.level) return;
      setAttribute(row.button, "tabindex", at === 0 ? "0" : "-1");
      drawRow(row, row.level, look.totals[at], side, look);
    });
  }

  /** @param {EventTarget|null} target */
  levelAt(target) {
    const button = target instanceof Element ? target.closest("button") : null;
    return [...this.#rows.buy, ...this.#rows.sell].find((row) => row.button === button)?.level ?? null;
  }

  /** The arrows go from level to level, across the spread. @param {KeyboardEvent} event */
  walk(event) {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    const down = [...this.#rows.sell.toReversed(), ...this.#rows.buy].filter(({ level }) => level);
    const at = down.findIndex(({ button }) => button === document.activeElement);
    if (at < 0) return;
    down[at + (event.key === "ArrowDown" ? 1 : -1)]?.button.focus();
    event.preventDefault();
  }
}

/** @returns {Row & {item: HTMLLIElement}} */
function makeRow() {
  const bar = make("span", { class: "bar", "aria-hidden": "true" });
  const price = make("span", { class: "level-price" });
  const shares = make("span", {});
  const total = make("span", {});
  const button = make("button", { type: "button", class: "level", tabindex: "-1" }, bar, price, shares, total);
  button.hidden = true;
  return { item: make("li", {}, button), button, bar, price, shares, total, shown: "", level: null };
}

/** @param {Row} row @param {Level} level @param {bigint} sum up to here @param {Side} side @param {Look} look */
function drawRow(row, level, sum, side, { decimals, deepest, mine, money, room }) {
  const own = mine.has(level.price);
  const text = money ? format(sum, MONEY_DECIMALS).split(".")[0] : format(sum);
  const part = deepest > 0 ? forDrawing(text) / deepest : 0;
  const shown = `${level.limit} ${level.shares} ${text} ${level.orders} ${decimals} ${own} ${part.toFixed(3)} ${room}`;
  if (shown === row.shown) return;
  row.shown = shown;
  const price = group(atLeast(level.limit, decimals));
  setText(row.price, price);
  setText(row.shares, level.amount === 0n ? "–" : abbreviated(level.shares, room));
  setText(row.total, abbreviated(text, room));
  row.bar.style.backgroundSize = `${(100 * part).toFixed(1)}% 100%`;
  setAttribute(row.button, "data-mine", own);
  const orders = `${level.orders} ${level.orders === 1 ? "order" : "orders"}${own ? ", yours among them" : ""}`;
  setAttribute(
    row.button,
    "title",
    `${side === "buy" ? "Buy" : "Sell"} ${group(level.shares)} at ${price}: ${orders}; ${money ? "$" : ""}${group(text)} up to here`,
  );
}
