// The watchlist: favourites or all symbols, found by their name, each with its last price, its change and the line of
// its day.

import { find, setAttribute, setText } from "../dom.js";
import { remember, remembered } from "../settings.js";
import { notice } from "./notices.js";
import { WatchRows } from "./watchlist-rows.js";
import { noteOf } from "./watchlist-text.js";

/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Watchlist } from "../state/watchlist.js" */
/** @import { SymbolInfo } from "../types.js" */

/** The most symbols that are listed; a filter finds others by their name. */
const ROWS_MAX = 60;
/** The pause between two drawings: users read prices of many symbols no faster, and a line moves little. */
const PAUSE_MS = 250;

/**
 * @typedef {object} Parts
 * @property {Watchlist} watchlist
 * @property {Market} market
 * @property {Quote} quote
 * @property {Symbols} symbols
 * @property {Frames} frames
 * @property {(symbol: string) => void} choose
 */

/** @param {Parts} parts */
export function watchlistView(parts) {
  const { watchlist, market, symbols, frames, choose } = parts;
  const list = find("watch-list");
  const note = find("watch-note");
  const search = /** @type {HTMLInputElement} */ (find("watch-find"));
  const onlyFavourites = favouritesChoice(() => mark());
  const rows = new WatchRows(list, {
    choose,
    star: (symbol) => {
      if (!watchlist.toggle(symbol)) notice("There is no room for another favourite", "fault");
    },
    seen: () => mark(),
  });

  const mark = frames.view(() => {
    if (!list.checkVisibility()) return;
    const favourites = onlyFavourites();
    const found = watchlist.found(search.value, favourites);
    rows.draw(found.slice(0, ROWS_MAX).map((info) => shownOf(parts, info)));
    setText(note, noteOf({ found: found.length, rows: ROWS_MAX, waiting: symbols.state === "waiting", text: search.value, favourites }));
    note.hidden = note.textContent === "";
  }, PAUSE_MS);

  search.addEventListener("input", mark);
  walkWithArrows(search, list);
  new ResizeObserver(mark).observe(list.parentElement ?? list);
  for (const watched of [symbols, watchlist, market, market.tape]) watched.watch(mark);
}

/** The choice between favourites and all, which is remembered. @param {() => void} changed */
function favouritesChoice(changed) {
  const choices = [...document.querySelectorAll("[data-listed]")];
  let favourites = remembered("listed") === "favourites";
  const isChosen = (/** @type {Element} */ each) => (each.getAttribute("data-listed") === "favourites") === favourites;
  const press = () => choices.forEach((each) => setAttribute(each, "aria-pressed", String(isChosen(each))));
  for (const each of choices) {
    each.addEventListener("click", () => {
      favourites = each.getAttribute("data-listed") === "favourites";
      remember("listed", favourites ? "favourites" : null);
      press();
      changed();
    });
  }
  press();
  return () => favourites;
}

/** The state of a symbol for its row. @param {Parts} parts @param {SymbolInfo} info */
function shownOf({ watchlist, market, quote }, info) {
  const { symbol } = info;
  const chosen = symbol === market.symbol;
  // One source for the price of the symbol that is looked at.
  const last = chosen ? quote.last : info.last;
  return {
    symbol,
    chosen,
    favourite: watchlist.favourites.has(symbol),
    last: last === null ? "–" : quote.price(last, symbol),
    percent: chosen ? quote.day.percent : info.change_percent,
    line: () => watchlist.line(info),
  };
}

/**
 * The arrows go from the search to the first symbol, and from symbol to symbol.
 * @param {HTMLInputElement} search
 * @param {HTMLElement} list
 */
function walkWithArrows(search, list) {
  search.addEventListener("keydown", (event) => {
    const first = list.querySelector("button.watch-symbol");
    if (event.key === "Enter" && first instanceof HTMLButtonElement) first.click();
    else if (event.key === "ArrowDown" && first instanceof HTMLButtonElement) first.focus();
    else return;
    event.preventDefault();
  });
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = [...list.querySelectorAll("button.watch-symbol")];
    const at = all.findIndex((button) => button.parentElement?.contains(document.activeElement));
    const next = event.key === "ArrowUp" && at === 0 ? search : all[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (next instanceof HTMLElement) next.focus();
    event.preventDefault();
  });
}
