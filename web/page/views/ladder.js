// The order book as a ladder: sell orders above, the spread in the middle, buy orders beneath.

import { atLeast, exact, format, group } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { Columns } from "./columns.js";
import { SIDES, bySide, deepestOf, levelsOf, limitsOf, middleText, totalsOf } from "./ladder-levels.js";
import { LadderRows } from "./ladder-rows.js";

/** @import { Frames } from "../frames.js" */
/** @import { Book } from "../state/book.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Side } from "../types.js" */

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
  const rows = new LadderRows({ buy: find("ladder-bids"), sell: find("ladder-asks") });
  const columns = new Columns(/** @type {HTMLElement} */ (root.closest(".book")), root);
  const groups = groupChoice(() => release());
  const isMoney = moneyChoice(() => mark());
  const sides = sideChoice(() => refit());
  const box = { width: 0, height: 0 };
  /** The prices of the rows while one of them is pointed at: nothing moves under the pointer. @type {Record<Side, (bigint|null)[]>|null} */
  let held = null;
  /** @type {string|null} */
  let symbol = null;

  const mark = frames.view(() => {
    const step = groups.step(quote.step, market.symbol);
    if (symbol !== market.symbol) {
      held = null;
      columns.forget();
    }
    symbol = market.symbol;
    const levels = bySide((side) => levelsOf(market.book.side(side), { side, step, rows: rows.count(side), held: held && held[side] }));
    const { decimals } = quote;
    const money = isMoney();
    const totals = bySide((side) => totalsOf(levels[side], money));
    const deepest = deepestOf(totals, money);
    const mine = limitsOf(holdings, market, step);
    columns.fit([...levels.buy, ...levels.sell].map(({ limit }) => group(atLeast(limit, decimals))));
    for (const side of SIDES) rows.draw(side, levels[side], { totals: totals[side], deepest, mine: mine[side], decimals, money, room: columns.room });
    drawAround(market.book, middleText(market.book, decimals), held !== null);
  });
  const refit = () => {
    columns.measure({ width: box.width, gaps: GAPS_PX, beside: "" });
    rows.fit(rowsFor(box.height, root), sides());
    release();
  };
  const hold = () => {
    held ??= rows.prices;
    mark();
  };
  const release = () => {
    held = null;
    mark();
  };

  rows.fit(ROWS_MIN, sides());
  new ResizeObserver(([{ contentRect }]) => {
    box.width = contentRect.width;
    box.height = contentRect.height;
    refit();
  }).observe(root);
  heedPointer(root, hold, release);
  root.addEventListener("click", ({ target }) => {
    const level = rows.levelAt(target);
    if (level) take(level.limit);
  });
  root.addEventListener("keydown", (event) => rows.walk(event));
  market.book.watch(mark);
  holdings.watch(mark);
}

/** The rows a side that the ladder has room for. @param {number} height @param {HTMLElement} root */
function rowsFor(height, root) {
  const row = Number.parseFloat(getComputedStyle(root).getPropertyValue("--row"));
  return Math.min(ROWS_MAX, Math.max(ROWS_MIN, Math.floor((height - MIDDLE_PX) / 2 / row)));
}

/**
 * Draws the middle, and the notes that say how the book stands.
 * @param {Book} book
 * @param {string} between
 * @param {boolean} held
 */
function drawAround(book, between, held) {
  const [root, middle, note, state] = ["ladder", "ladder-middle", "ladder-note", "book-state"].map(find);
  const empty = book.bids.length + book.asks.length === 0;
  const waits = book.state === "waiting";
  setText(middle, between);
  setAttribute(middle, "title", between);
  middle.hidden = empty && !book.phase;
  setText(note, waits ? "Loading the book…" : "No open orders");
  note.hidden = !empty;
  setText(state, waits && !empty ? "asking again…" : held ? "held" : "");
  setAttribute(state, "title", held ? "Prices stay where they are while you point at the book; shares are live" : null);
  setAttribute(root, "data-stale", waits && !empty);
  setAttribute(root, "data-update", String(book.update));
}

/**
 * Holds the rows while one of them is pointed at, or has the focus of the keyboard.
 * @param {HTMLElement} root
 * @param {() => void} hold
 * @param {() => void} release
 */
function heedPointer(root, hold, release) {
  root.addEventListener("pointerover", ({ target }) => {
    if (target instanceof Element && target.closest(".level")) hold();
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

/** The choice of the sides that are shown. @param {() => void} changed @returns {() => "both"|Side} */
function sideChoice(changed) {
  /** @type {"both"|Side} */
  let sides = "both";
  const choices = [...document.querySelectorAll("[data-sides]")];
  for (const button of choices) {
    button.addEventListener("click", () => {
      sides = /** @type {"both"|Side} */ (button.getAttribute("data-sides"));
      for (const each of choices) setAttribute(each, "aria-pressed", String(each === button));
      changed();
    });
  }
  return () => sides;
}

/** The choice whether totals are dollars, in place of shares. @param {() => void} changed @returns {() => boolean} */
function moneyChoice(changed) {
  const unit = /** @type {HTMLSelectElement} */ (find("book-unit"));
  const isMoney = () => unit.value === "money";
  unit.addEventListener("input", () => {
    setText(find("book-total-name"), isMoney() ? "Total, $" : "Total");
    changed();
  });
  return isMoney;
}
