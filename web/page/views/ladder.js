// The order book as a ladder: sell orders above, the spread in the middle, buy orders beneath. Rows keep their elements; only
// what differs is written.

import { MONEY_DECIMALS, atLeast, exact, format, forDrawing, group, total } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { abbreviated } from "../format.js";
import { Columns } from "./columns.js";

/** @import { Frames } from "../frames.js" */
/** @import { Level } from "../state/book.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Phase, Side } from "../types.js" */

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

/** Room for the spread between the sides. */
const MIDDLE_PX = 26;
/** The width of a row beside its three columns. */
const GAPS_PX = 36;
const ROWS_MIN = 3;
const ROWS_MAX = 40;
/** Levels can be put together by so many steps of the price. */
const GROUPS = [1n, 5n, 10n, 50n, 100n, 1_000n];

/** @param {{market: Market, quote: Quote, holdings: AccountSeen, frames: Frames, take: (limit: string) => void}} parts */
export function ladderView({ market, quote, holdings, frames, take }) {
  const root = find("ladder");
  const middle = find("ladder-middle");
  const note = find("ladder-note");
  const state = find("book-state");
  const unit = /** @type {HTMLSelectElement} */ (find("book-unit"));
  const group_by = groupChoice(() => {
    held = null;
    mark();
  });
  const lists = { buy: find("ladder-bids"), sell: find("ladder-asks") };
  /** Best first. @type {Record<Side, Row[]>} */
  const rows = { buy: [], sell: [] };
  let height = 0;
  let width = 0;
  const columns = new Columns(/** @type {HTMLElement} */ (root.closest(".book")), root);
  /** @type {"both"|Side} */
  let sides = "both";
  /** The prices of the rows while one of them is pointed at: nothing moves under the pointer. @type {Record<Side, (bigint|null)[]>|null} */
  let held = null;
  /** @type {string|null} */
  let symbol = null;

  /** @param {number} wanted rows a side */
  function fit(wanted) {
    for (const side of SIDES) {
      const here = sides === "both" ? wanted : sides === side ? 2 * wanted : 0;
      while (rows[side].length < here) {
        const row = makeRow();
        rows[side].push(row);
        // The best sell order stands lowest, next to the spread.
        if (side === "buy") lists.buy.append(row.item);
        else lists.sell.prepend(row.item);
      }
      for (const row of rows[side].splice(here)) row.button.parentElement?.remove();
      lists[side].hidden = here === 0;
    }
    held = null;
  }

  function refit() {
    const style = getComputedStyle(root);
    const row = Number.parseFloat(style.getPropertyValue("--row"));
    columns.measure({ width, gaps: GAPS_PX, beside: "" });
    fit(Math.min(ROWS_MAX, Math.max(ROWS_MIN, Math.floor((height - MIDDLE_PX) / 2 / row))));
    mark();
  }

  const mark = frames.view(() => {
    const { book } = market;
    const step = group_by.step(quote.step, market.symbol);
    if (symbol !== market.symbol) {
      held = null;
      columns.forget();
    }
    symbol = market.symbol;
    const levels = { buy: grouped(book.bids, "buy", step, rows.buy.length), sell: grouped(book.asks, "sell", step, rows.sell.length) };
    if (held) for (const side of SIDES) levels[side] = heldLevels(held[side], grouped(book.side(side), side, step, Infinity));
    const mine = limitsOf(holdings, market, step);
    const { decimals } = quote;
    const money = unit.value === "money";
    const deepest = Math.max(...SIDES.map((side) => totalOf(levels[side], rows[side].length, money)));
    columns.fit(SIDES.flatMap((side) => levels[side].slice(0, rows[side].length).map(({ limit }) => group(atLeast(limit, decimals)))));
    for (const side of SIDES) drawSide(rows[side], levels[side], { decimals, deepest, mine: mine[side], side, money, room: columns.room });
    setText(middle, book.phase ? phaseText(book.phase) : spread(book.bids[0], book.asks[0], decimals));
    setAttribute(middle, "title", middle.textContent);
    const empty = book.bids.length + book.asks.length === 0;
    note.hidden = !empty;
    setText(note, book.state === "waiting" ? "Loading the book…" : "No open orders");
    middle.hidden = empty && !book.phase;
    setText(state, book.state === "waiting" && !empty ? "asking again…" : held ? "held" : "");
    setAttribute(state, "title", held ? "Prices stay where they are while you point at the book; shares are live" : null);
    setAttribute(root, "data-stale", book.state === "waiting" && !empty);
    setAttribute(root, "data-update", String(book.update));
  });

  fit(ROWS_MIN);
  new ResizeObserver(([entry]) => {
    ({ width, height } = entry.contentRect);
    refit();
  }).observe(root);

  const hold = () => {
    held ??= { buy: rows.buy.map(priceOf), sell: rows.sell.map(priceOf) };
    mark();
  };
  const release = () => {
    held = null;
    mark();
  };
  root.addEventListener("pointerover", (event) => {
    if (event.target instanceof Element && event.target.closest(".level")) hold();
  });
  root.addEventListener("pointerleave", () => {
    if (!root.querySelector(":focus-visible")) release();
  });
  root.addEventListener("focusin", () => {
    if (root.querySelector(":focus-visible")) hold();
  });
  root.addEventListener("focusout", () => {
    if (!root.matches(":hover")) release();
  });
  root.addEventListener("click", (event) => {
    const level = levelAt(event.target, rows);
    if (level) take(level.limit);
  });
  root.addEventListener("keydown", (event) => walk(event, rows));
  const choices = [...document.querySelectorAll("[data-sides]")];
  for (const button of choices) {
    button.addEventListener("click", () => {
      sides = /** @type {"both"|Side} */ (button.getAttribute("data-sides"));
      for (const each of choices) setAttribute(each, "aria-pressed", String(each === button));
      refit();
    });
  }
  unit.addEventListener("input", () => {
    setText(find("book-total-name"), unit.value === "money" ? "Total, $" : "Total");
    mark();
  });
  market.book.watch(mark);
  holdings.watch(mark);
}

/** @type {Side[]} */
const SIDES = ["buy", "sell"];

/** @param {Row} row */
function priceOf(row) {
  return row.level?.price ?? null;
}

/** The choice of how far levels are put together, which follows the symbol's step. @param {() => void} changed */
function groupChoice(changed) {
  const select = /** @type {HTMLSelectElement} */ (find("book-group"));
  let offered = "";
  select.addEventListener("input", changed);
  return {
    /** @param {string} least @param {string|null} symbol @returns {bigint} */
    step(least, symbol) {
      const wanted = `${symbol} ${least}`;
      if (wanted !== offered) {
        offered = wanted;
        select.replaceChildren(
          ...GROUPS.map((times) => make("option", { value: String(times === 1n ? 1n : exact(least) * times) }, group(format(exact(least) * times)))),
        );
      }
      return BigInt(select.value);
    },
  };
}

/**
 * Levels put together: of a buy side downwards, of a sell side upwards, so that nobody is shown a better price than there is.
 * @param {Level[]} levels best first
 * @param {Side} side
 * @param {bigint} step
 * @param {number} wanted no more than so many are needed
 * @returns {Level[]}
 */
function grouped(levels, side, step, wanted) {
  /** @type {Level[]} */
  const all = [];
  for (const level of levels) {
    const price = roundTo(level.price, side, step);
    const last = all.at(-1);
    if (!last || last.price !== price) {
      if (all.length >= wanted) break;
      all.push(price === level.price ? level : { ...level, price, limit: format(price) });
    } else {
      const amount = last.amount + level.amount;
      all[all.length - 1] = { ...last, amount, shares: format(amount), orders: last.orders + level.orders };
    }
  }
  return all;
}

/** @param {bigint} price @param {Side} side @param {bigint} step */
function roundTo(price, side, step) {
  const down = price - (price % step);
  return side === "buy" || down === price ? down : down + step;
}

/** The levels at the prices at which rows are held. @param {(bigint|null)[]} prices @param {Level[]} levels @returns {Level[]} */
function heldLevels(prices, levels) {
  const by_price = new Map(levels.map((level) => [level.price, level]));
  return prices.filter((price) => price !== null).map((price) => by_price.get(price) ?? { limit: format(price), price, shares: "0", amount: 0n, orders: 0 });
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

/**
 * @param {Row[]} rows best first
 * @param {Level[]} levels best first
 * @param {{decimals: number, deepest: number, mine: Set<bigint>, side: Side, money: boolean, room: number}} look `room`: so many characters has a size
 */
function drawSide(rows, levels, { decimals, deepest, mine, side, money, room }) {
  let sum = 0n;
  rows.forEach((row, at) => {
    const level = levels[at] ?? null;
    row.level = level;
    row.button.hidden = level === null;
    if (!level) return;
    sum += money ? total(level.price, level.amount) : level.amount;
    const own = mine.has(level.price);
    const text = money ? format(sum, MONEY_DECIMALS).split(".")[0] : format(sum);
    const part = deepest > 0 ? forDrawing(text) / deepest : 0;
    const shown = `${level.limit} ${level.shares} ${text} ${level.orders} ${decimals} ${own} ${part.toFixed(3)} ${room}`;
    setAttribute(row.button, "tabindex", at === 0 ? "0" : "-1");
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
  });
}

/** The limits of one's own open orders, as levels are put together. @param {AccountSeen} holdings @param {Market} market @param {bigint} step */
function limitsOf(holdings, { past, symbol }, step) {
  /** @type {Record<Side, Set<bigint>>} */
  const limits = { buy: new Set(), sell: new Set() };
  const orders = past ? past.orders.values() : [...holdings.open.values()].filter((order) => order.symbol === symbol);
  for (const order of orders) {
    if (order.limit !== null) limits[order.side].add(roundTo(exact(order.limit), order.side, step));
  }
  return limits;
}

/** @param {Level[]} levels @param {number} rows @param {boolean} money */
function totalOf(levels, rows, money) {
  let sum = 0n;
  for (const level of levels.slice(0, rows)) sum += money ? total(level.price, level.amount) : level.amount;
  return forDrawing(format(sum, money ? MONEY_DECIMALS : undefined));
}

/** The text in place of the spread while the symbol is not open: a crossed book has none. @param {Phase} phase */
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
  const down = [...rows.sell]
    .reverse()
    .concat(rows.buy)
    .filter(({ level }) => level);
  const at = down.findIndex(({ button }) => button === document.activeElement);
  if (at < 0) return;
  down[at + (event.key === "ArrowDown" ? 1 : -1)]?.button.focus();
  event.preventDefault();
}
