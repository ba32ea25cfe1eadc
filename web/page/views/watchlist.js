// The watchlist: favourites or all symbols, found by their name, each with its last price, its change and the line of its day. Rows keep their elements.

import { find, make, setAttribute, setText } from "../dom.js";
import { remember, remembered } from "../settings.js";
import { notice } from "./notices.js";

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
const LINE_WIDTH = 64;
const LINE_HEIGHT = 20;

/**
 * @typedef {object} Row
 * @property {HTMLLIElement} item
 * @property {HTMLButtonElement} star
 * @property {HTMLButtonElement} button
 * @property {HTMLElement} last
 * @property {HTMLElement} change
 * @property {SVGPathElement} path
 */

/** @param {{watchlist: Watchlist, market: Market, quote: Quote, symbols: Symbols, frames: Frames, choose: (symbol: string) => void}} parts */
export function watchlistView({ watchlist, market, quote, symbols, frames, choose }) {
  const list = find("watch-list");
  const note = find("watch-note");
  const search = /** @type {HTMLInputElement} */ (find("watch-find"));
  const choices = [...document.querySelectorAll("[data-listed]")];
  /** Rows by symbol, in their order. @type {Map<string, Row>} */
  const rows = new Map();
  /** Only lines that are seen are asked for. @type {Set<Element>} */
  const in_view = new Set();
  const seer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) in_view.add(target);
      else in_view.delete(target);
    }
    mark();
  });
  let favourites = remembered("listed") === "favourites";

  const mark = frames.view(() => {
    for (const each of choices) setAttribute(each, "aria-pressed", String((each.getAttribute("data-listed") === "favourites") === favourites));
    if (!list.checkVisibility()) return;
    const found = watchlist.found(search.value, favourites);
    const here = found.slice(0, ROWS_MAX);
    const names = new Set(here.map(({ symbol }) => symbol));
    for (const [symbol, { item }] of rows) {
      if (names.has(symbol)) continue;
      item.remove();
      seer.unobserve(item);
      in_view.delete(item);
      rows.delete(symbol);
    }
    /** @type {Node|null} */
    let place = list.firstChild;
    for (const info of here) {
      const row = rows.get(info.symbol) ?? addRow(info.symbol);
      fill(row, info);
      if (row.item === place) place = place.nextSibling;
      else list.insertBefore(row.item, place);
    }
    setText(note, told(found.length));
    note.hidden = note.textContent === "";
  }, PAUSE_MS);

  /** @param {number} found */
  function told(found) {
    if (symbols.state === "waiting") return "Loading symbols…";
    if (found > ROWS_MAX) return `and ${found - ROWS_MAX} more: type a part of their name`;
    if (found > 0) return "";
    if (search.value.trim() !== "") return `No symbol's name holds “${search.value.trim()}”`;
    return favourites ? "No favourites yet: a star makes a symbol one" : "No symbols yet";
  }

  /** @param {string} symbol @returns {Row} */
  function addRow(symbol) {
    const star = make("button", { type: "button", class: "star", "aria-label": `Favourite ${symbol}` });
    star.addEventListener("click", () => {
      if (!watchlist.toggle(symbol)) notice("There is no room for another favourite", "fault");
    });
    const last = make("span", { class: "number" });
    const change = make("span", { class: "number watch-change" });
    const { svg, path } = spark();
    const button = make("button", { type: "button", class: "watch-symbol" }, make("span", { class: "watch-name" }, symbol), svg, last, change);
    button.addEventListener("click", () => choose(symbol));
    const row = { item: make("li", {}, star, button), star, button, last, change, path };
    rows.set(symbol, row);
    seer.observe(row.item);
    return row;
  }

  /** @param {Row} row @param {SymbolInfo} info */
  function fill(row, info) {
    const { symbol } = info;
    const chosen = symbol === market.symbol;
    const favourite = watchlist.favourites.has(symbol);
    // One source for the price of the symbol that is looked at.
    const last = chosen ? quote.last : info.last;
    const percent = chosen ? quote.day.percent : info.change_percent;
    setAttribute(row.star, "aria-pressed", String(favourite));
    setText(row.star, favourite ? "★" : "☆");
    setAttribute(row.button, "aria-current", chosen ? "true" : null);
    setText(row.last, last === null ? "–" : quote.price(last, symbol));
    const falls = percent?.startsWith("-") ?? false;
    const still = percent === null || /^-?[0.]+$/.test(percent);
    setText(
      row.change,
      percent === null
        ? "–"
        : `${still ? "" : falls ? "▼" : "▲"}${percent
            .replace(/^-/, "")
            .replace(/^(\d+)$/, "$1.00")
            .replace(/(\.\d)$/, "$10")}%`,
    );
    setAttribute(row.button, "data-way", still ? null : falls ? "down" : "up");
    if (in_view.has(row.item)) setAttribute(row.path, "d", drawn(watchlist.line(info)));
  }

  search.addEventListener("input", mark);
  search.addEventListener("keydown", (event) => {
    const first = list.querySelector("button.watch-symbol");
    if (event.key === "Enter" && first instanceof HTMLButtonElement) first.click();
    else if (event.key === "ArrowDown" && first instanceof HTMLButtonElement) first.focus();
    else return;
    event.preventDefault();
  });
  // The arrows go from symbol to symbol.
  list.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    const all = [...list.querySelectorAll("button.watch-symbol")];
    const at = all.findIndex((button) => button.parentElement?.contains(document.activeElement));
    const next = event.key === "ArrowUp" && at === 0 ? search : all[at + (event.key === "ArrowDown" ? 1 : -1)];
    if (next instanceof HTMLElement) next.focus();
    event.preventDefault();
  });
  for (const each of choices) {
    each.addEventListener("click", () => {
      favourites = each.getAttribute("data-listed") === "favourites";
      remember("listed", favourites ? "favourites" : null);
      mark();
    });
  }
  new ResizeObserver(mark).observe(list.parentElement ?? list);
  for (const watched of [symbols, watchlist, market, market.tape]) watched.watch(mark);
}

function spark() {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${LINE_WIDTH} ${LINE_HEIGHT}`);
  svg.setAttribute("class", "spark");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("preserveAspectRatio", "none");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  svg.append(path);
  return { svg, path };
}

/** A line as high as there is room for. @param {number[]} points */
export function drawn(points) {
  if (points.length < 2) return "";
  const low = Math.min(...points);
  const range = Math.max(...points) - low;
  const x = (/** @type {number} */ at) => ((at / (points.length - 1)) * LINE_WIDTH).toFixed(1);
  const y = (/** @type {number} */ point) => (range === 0 ? LINE_HEIGHT / 2 : 1 + (1 - (point - low) / range) * (LINE_HEIGHT - 2)).toFixed(1);
  return points.map((point, at) => `${at === 0 ? "M" : "L"}${x(at)} ${y(point)}`).join("");
}
