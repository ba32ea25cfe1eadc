// Shows what the address says: a view, and in the trading view a symbol, live or at a moment of the past.

import { read, write } from "./address.js";
import { find, setAttribute } from "./dom.js";
import { remembered } from "./settings.js";

/** @import { Place } from "./address.js" */
/** @import { LaterReplay } from "./lazy.js" */
/** @import { Market } from "./state/market.js" */
/** @import { Symbols } from "./state/symbols.js" */

/** The views, and the element of each. @type {[Place["view"], string][]} */
const VIEWS = [
  ["trade", "trade"],
  ["system", "system"],
  ["venue", "control"],
];

/**
 * The symbol to show: the one in the address, or the one that is shown, or the one that was looked at last, or the first there is.
 * @param {{address: string|null, shown: string|null, last: string|null}} named
 * @param {Pick<Symbols, "all"|"first">} symbols
 * @returns {string|null} null where there is none
 */
export function symbolToShow({ address, shown, last }, symbols) {
  return address ?? shown ?? (last !== null && symbols.all.has(last) ? last : symbols.first());
}

/**
 * @param {{market: Market, symbols: Symbols, replay: LaterReplay, showSystem: () => void, showVenue: () => void}} parts
 * @returns {() => void} to be called when the address has changed, or when the symbols are others
 */
export function router({ market, symbols, replay, showSystem, showVenue }) {
  function follow() {
    const place = read(location.hash);
    document.body.dataset.view = place.view;
    for (const [view, main] of VIEWS) {
      find(main).hidden = place.view !== view;
      setAttribute(find(`view-${view}`), "aria-current", place.view === view ? "page" : null);
    }
    if (place.view === "system") showSystem();
    if (place.view === "venue") showVenue();

    const symbol = symbolToShow({ address: place.symbol, shown: market.symbol, last: remembered("symbol") }, symbols);
    if (symbol && place.moment) replay.show(symbol, place.moment);
    // Who looks elsewhere for a while finds a replay again.
    else if (place.view === "trade" || !market.past) symbol ? replay.show(symbol, null) : market.choose(null);
    if (place.view === "trade") setAttribute(find("view-trade"), "href", write({ view: "trade", symbol, moment: place.moment }));
  }
  addEventListener("hashchange", follow);
  return follow;
}
