// The tape: trades, newest first, coloured and signed by their aggressor. Rows keep their elements.

import { atLeast, group } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { abbreviated, timeOfDay } from "../format.js";
import { Columns } from "./columns.js";

/** @import { Frames } from "../frames.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Side, Trade } from "../types.js" */

const ROWS_MAX = 60;
/** The width of a row beside its columns: its padding, and the gaps. */
const GAPS_PX = 32;
/** A text as wide as a time. */
const TIME = "00:00:00";

/**
 * @typedef {object} Row
 * @property {HTMLLIElement} item
 * @property {HTMLElement} price
 * @property {HTMLElement} shares
 * @property {HTMLElement} time
 * @property {number|null} trade_id
 */

/** @param {{market: Market, quote: Quote, holdings: AccountSeen, frames: Frames}} parts */
export function tapeView({ market, quote, holdings, frames }) {
  const list = find("tape");
  const note = find("tape-note");
  /** The rows in their order, the newest first. @type {Row[]} */
  let rows = [];
  /** Prices are filled up to so many decimals. */
  let decimals = 2;
  const columns = new Columns(/** @type {HTMLElement} */ (list.closest(".tape")), list);
  /** @type {string|null} */
  let symbol = null;

  /** @param {number} wanted */
  function fit(wanted) {
    while (rows.length < wanted) rows.push(makeRow(list));
    for (const row of rows.splice(wanted)) row.item.remove();
  }

  const mark = frames.view(() => {
    const { trades, state } = market.tape;
    const seen = trades.slice(0, rows.length);
    const needed = quote.decimals;
    if (symbol !== market.symbol) columns.forget();
    symbol = market.symbol;
    const other_room = columns.fit(seen.map(({ price }) => `▲ ${group(atLeast(price, needed))}`));
    if (needed === decimals && !other_room) rows = turned(rows, seen, list);
    else for (const row of rows) row.trade_id = null;
    decimals = needed;
    const mine = market.past?.sides ?? holdings.tradesOf(market.symbol);
    rows.forEach((row, at) => {
      const trade = seen[at];
      fill(row, trade, decimals, columns.room);
      const own = mine.get(trade?.trade_id);
      setAttribute(row.item, "data-mine", own !== undefined);
      if (trade) setAttribute(row.item, "title", titleOf(trade, own, row.price.textContent ?? ""));
    });
    note.hidden = trades.length > 0;
    setText(note, state === "waiting" ? "Loading trades…" : "No trades yet");
    setAttribute(list, "data-last", String(trades[0]?.trade_id ?? ""));
  });

  fit(1);
  new ResizeObserver(([entry]) => {
    const row = Number.parseFloat(getComputedStyle(list).getPropertyValue("--row"));
    columns.measure({ width: entry.contentRect.width, gaps: GAPS_PX, beside: TIME });
    fit(Math.min(ROWS_MAX, Math.max(1, Math.ceil(entry.contentRect.height / row))));
    mark();
  }).observe(find("tape-body"));
  market.tape.watch(mark);
  market.book.watch(mark);
  holdings.watch(mark);
}

/** @param {HTMLElement} list @returns {Row} */
function makeRow(list) {
  const price = make("span", { class: "level-price" });
  const shares = make("span");
  const time = make("span", { class: "muted" });
  const item = make("li", { hidden: true }, price, shares, time);
  list.append(item);
  return { item, price, shares, time, trade_id: null };
}

/**
 * New trades come in front: as many rows go from the foot to the head, and all others stay as they are.
 * @param {Row[]} rows
 * @param {Trade[]} trades
 * @param {HTMLElement} list
 */
function turned(rows, trades, list) {
  const fresh = trades.findIndex(({ trade_id }) => trade_id === rows[0].trade_id);
  if (fresh <= 0) return rows;
  const moved = rows.slice(-fresh);
  list.prepend(...moved.map(({ item }) => item));
  return [...moved, ...rows.slice(0, -fresh)];
}

/** The title of a row, which has its abbreviations in full. @param {Trade} trade @param {Side|undefined} own @param {string} price */
function titleOf(trade, own, price) {
  const whose = own ? `; you ${own === "buy" ? "bought" : "sold"}` : "";
  return `${group(trade.shares)} at ${price.slice(2)}, ${timeOfDay(trade.time)}${whose}`;
}

/** @param {Row} row @param {Trade|undefined} trade @param {number} decimals @param {number} room so many characters has a size */
function fill(row, trade, decimals, room) {
  row.item.hidden = !trade;
  if (!trade || trade.trade_id === row.trade_id) return;
  row.trade_id = trade.trade_id;
  const buys = trade.aggressor === "buy";
  setAttribute(row.item, "data-direction", buys ? "up" : "down");
  setText(row.price, `${buys ? "▲" : "▼"} ${group(atLeast(trade.price, decimals))}`);
  setText(row.shares, abbreviated(trade.shares, room));
  setText(row.time, timeOfDay(trade.time));
}
