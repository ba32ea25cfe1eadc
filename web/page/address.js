// The address of what is shown: #/trade/SPY, #/system or #/venue. It can be linked to, and the browser's back works.

/** @typedef {{view: "trade"|"system"|"venue", symbol: string|null}} Place */

/** @param {string} hash @returns {Place} */
export function read(hash) {
  const [view, symbol] = hash.replace(/^#\/?/, "").split("/");
  if (view === "system" || view === "venue") return { view, symbol: null };
  return { view: "trade", symbol: symbol && /^[A-Za-z0-9]{1,32}$/.test(symbol) ? symbol : null };
}

/** @param {Place} place */
export function write({ view, symbol }) {
  return view !== "trade" ? `#/${view}` : symbol ? `#/trade/${symbol}` : "#/trade";
}
