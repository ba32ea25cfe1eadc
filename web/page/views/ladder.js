// The order book as a ladder: sell orders above, the spread in the middle, buy orders beneath. Rows keep their elements; only
// what differs is written.

import { atLeast, format, forDrawing, group, places } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";

/** @import { Frames } from "../frames.js" */
/** @import { Level } from "../state/book.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Phase, Side } from "../types.js" */

/**
 * @typedef {object} Row
 * @property {HTMLButtonElement} button
 * @property {HTMLElement} price
 * @property {HTMLElement} shares
 * @property {HTMLElement} total
 * @property {string} shown all that stands in it
 * @property {Level|null} level
 */

/** Room for the spread between the sides. */
const MIDDLE_PX = 26;
const ROWS_MIN = 3;
const ROWS_MAX = 40;

/** @param {{market: Market, holdings: Holdings, frames: Frames, take: (limit: string) => void}} parts */
export function ladderView({ market, holdings, frames, take }) {
  const root = find("ladder");
  const middle = find("ladder-middle");
  const note = find("ladder-note");
  const state = find("book-state");
  const lists = { buy: find("ladder-bids"), sell: find("ladder-asks") };
  /** Best first. @type {Record<Side, Row[]>} */
  const rows = { buy: [], sell: [] };

  /** @param {number} wanted rows a side */
  function fit(wanted) {
    for (const side of /** @type {Side[]} */ (["buy", "sell"])) {
      while (rows[side].length < wanted) {
        const row = makeRow();
        rows[side].push(row);
        // The best sell order stands lowest, next to the spread.
        if (side === "buy") lists.buy.append(row.item);
        else lists.sell.prepend(row.item);
      }
      for (const row of rows[side].splice(wanted)) row.button.parentElement?.remove();
    }
  }

  const mark = frames.view(() => {
    const { book } = market;
    const mine = limitsOf(holdings, market.symbol);
    const decimals = Math.max(2, ...shownLevels(book.bids, rows.buy), ...shownLevels(book.asks, rows.sell));
    const deepest = Math.max(sum(book.bids, rows.buy.length), sum(book.asks, rows.sell.length));
    for (const side of /** @type {Side[]} */ (["buy", "sell"])) drawSide(rows[side], book.side(side), { decimals, deepest, mine: mine[side], side });
    setText(middle, book.phase ? phaseText(book.phase) : spread(book.bids[0], book.asks[0], decimals));
    const empty = book.bids.length + book.asks.length === 0;
    note.hidden = !empty;
    setText(note, book.state === "waiting" ? "Loading the book…" : "No open orders");
    middle.hidden = empty && !book.phase;
    setText(state, book.state === "waiting" && !empty ? "asking again…" : "");
    setAttribute(root, "data-stale", book.state === "waiting" && !empty);
    setAttribute(root, "data-update", String(book.update));
  });

  const size = new ResizeObserver(([entry]) => {
    const row = Number.parseFloat(getComputedStyle(root).getPropertyValue("--row"));
    fit(Math.min(ROWS_MAX, Math.max(ROWS_MIN, Math.floor((entry.contentRect.height - MIDDLE_PX) / 2 / row))));
    mark();
  });
  fit(ROWS_MIN);
  size.observe(root);
  root.addEventListener("click", (event) => {
    const level = levelAt(event.target, rows);
    if (level) take(level.limit);
  });
  root.addEventListener("keydown", (event) => walk(event, rows));
  market.book.watch(mark);
  holdings.watch(mark);
}

/** @returns {Row & {item: HTMLLIElement}} */
function makeRow() {
  const price = make("span", { class: "level-price" });
  const shares = make("span", {});
  const total = make("span", {});
  const button = make("button", { type: "button", class: "level", tabindex: "-1" }, make("span", { class: "bar", "aria-hidden": "true" }), price, shares, total);
  button.hidden = true;
  return { item: make("li", {}, button), button, price, shares, total, shown: "", level: null };
}

/**
 * @param {Row[]} rows best first
 * @param {Level[]} levels best first
 * @param {{decimals: number, deepest: number, mine: Set<string>, side: Side}} look
 */
function drawSide(rows, levels, { decimals, deepest, mine, side }) {
  let total = 0n;
  rows.forEach((row, at) => {
    const level = levels[at] ?? null;
    row.level = level;
    row.button.hidden = level === null;
    if (!level) return;
    total += level.amount;
    const own = mine.has(level.limit);
    const part = deepest > 0 ? forDrawing(format(total)) / deepest : 0;
    const shown = `${level.limit} ${level.shares} ${total} ${level.orders} ${decimals} ${own} ${part.toFixed(3)}`;
    setAttribute(row.button, "tabindex", at === 0 ? "0" : "-1");
    if (shown === row.shown) return;
    row.shown = shown;
    setText(row.price, group(atLeast(level.limit, decimals)));
    setText(row.shares, group(level.shares));
    setText(row.total, group(format(total)));
    row.button.style.setProperty("--part", part.toFixed(3));
    setAttribute(row.button, "data-mine", own);
    const orders = `${level.orders} ${level.orders === 1 ? "order" : "orders"}${own ? ", yours among them" : ""}`;
    setAttribute(row.button, "title", `${side === "buy" ? "Buy" : "Sell"}: ${orders}`);
  });
}

/** The limits of one's own open orders. @param {Holdings} holdings @param {string|null} symbol */
function limitsOf(holdings, symbol) {
  /** @type {Record<Side, Set<string>>} */
  const limits = { buy: new Set(), sell: new Set() };
  for (const order of holdings.open.values()) if (order.symbol === symbol) if (order.limit !== null) limits[order.side].add(order.limit);
  return limits;
}

/** Decimals of the levels that have a row. @param {Level[]} levels @param {Row[]} rows */
function shownLevels(levels, rows) {
  return levels.slice(0, rows.length).map(({ limit }) => places(limit));
}

/** @param {Level[]} levels @param {number} rows */
function sum(levels, rows) {
  let total = 0n;
  for (let at = 0; at < rows && at < levels.length; at += 1) total += levels[at].amount;
  return forDrawing(format(total));
}

/** What stands in the place of the spread while the symbol is not open: a crossed book has none. @param {Phase} phase */
function phaseText(phase) {
  const what = phase.name === "halted" ? "Halted" : "Auction";
  if (!phase.price || !phase.shares) return `${what}: nothing would execute`;
  return `${what}: ${group(phase.shares)} would execute at ${group(phase.price)}`;
}

/** @param {Level|undefined} bid @param {Level|undefined} ask @param {number} decimals */
function spread(bid, ask, decimals) {
  if (!bid || !ask) return bid ? "no sell orders" : "no buy orders";
  const difference = ask.price - bid.price;
  const percent = (Number(difference) / Number(ask.price + bid.price)) * 200;
  return `Spread ${group(atLeast(format(difference), decimals))}  (${percent.toFixed(percent < 0.1 ? 3 : 2)}%)`;
}

/** @param {EventTarget|null} target @param {Record<Side, Row[]>} rows */
function levelAt(target, rows) {
  const button = target instanceof Element ? target.closest("button") : null;
  return [...rows.buy, ...rows.sell].find((row) => row.button === button)?.level ?? null;
}

/** The arrows go from level to level, across the spread. @param {KeyboardEvent} event @param {Record<Side, Row[]>} rows */
function walk(event, rows) {
  if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
  const down = [...rows.sell].reverse().concat(rows.buy).filter(({ level }) => level);
  const at = down.findIndex(({ button }) => button === document.activeElement);
  if (at < 0) return;
  down[at + (event.key === "ArrowDown" ? 1 : -1)]?.button.focus();
  event.preventDefault();
}
