// The phase of a symbol that does not trade as usual, above the market: a halt, or an auction with what would execute and when it ends.

import { group } from "../decimal.js";
import { find, setAttribute, setText } from "../dom.js";
import { timeOfDay } from "../format.js";

/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Phase } from "../types.js" */

/** @param {{market: Market, quote: Quote, frames: Frames, symbols: {watch: (changed: () => void) => void}}} parts */
export function phaseView({ market, quote, frames, symbols }) {
  const root = find("phase");
  /** @type {ReturnType<typeof setInterval>|undefined} */
  let ticking;

  const mark = frames.view(() => {
    const { phase } = quote;
    const told = phase ? phaseText(phase, (price) => quote.price(price, market.symbol ?? "")) : "";
    root.hidden = told === "";
    setText(root, told);
    setAttribute(root, "data-phase", phase?.name ?? null);
    clearInterval(ticking);
    if (phase?.until) ticking = setInterval(mark, 1_000);
  });
  for (const watched of [market, market.book, symbols]) watched.watch(mark);
}

/** @param {Phase} phase @param {(price: string) => string} show @param {number} [now_us] */
export function phaseText({ name, until, price, shares, surplus }, show, now_us = Date.now() * 1_000) {
  const what = name === "halted" ? "Halted: orders wait, and none executes" : "Auction: orders gather";
  const would =
    price && shares ? `${group(shares)} would execute at ${show(price)}${surplusText(surplus)}` : name === "halted" ? "" : "nothing would execute yet";
  const ends = until === null ? "" : `ends at ${timeOfDay(until)}, in ${left(until - now_us)}`;
  return [what, would, ends].filter(Boolean).join(" · ");
}

/** @param {string|null} surplus bought less sold */
function surplusText(surplus) {
  if (!surplus || /^-?[0.]+$/.test(surplus)) return "";
  return surplus.startsWith("-") ? `, ${group(surplus.slice(1))} more to sell` : `, ${group(surplus)} more to buy`;
}

/** @param {number} us */
function left(us) {
  const seconds = Math.max(0, Math.ceil(us / 1_000_000));
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
