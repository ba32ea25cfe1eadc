// The address of what is shown: #/trade/SPY, #/trade/SPY/at/1042 behind a command of the past, #/trade/SPY/time/1763690000000000 at a time,
// #/system or #/venue. It can be linked to, and the browser's back works.

/** @import { Moment } from "./state/replay.js" */

/** @typedef {{view: "trade"|"system"|"venue", symbol: string|null, moment?: Moment|null|undefined}} Place */

/** @param {string} hash @returns {Place} */
export function read(hash) {
  const [view, symbol, by, number] = hash.replace(/^#\/?/, "").split("/");
  if (view === "system" || view === "venue") return { view, symbol: null };
  if (!symbol || !/^[A-Za-z0-9]{1,32}$/.test(symbol)) return { view: "trade", symbol: null };
  const value = /^\d{1,16}$/.test(number ?? "") ? Number(number) : null;
  if (value === null || (by !== "at" && by !== "time")) return { view: "trade", symbol };
  return { view: "trade", symbol, moment: by === "at" ? { at: value } : { time: value } };
}

/** @param {Place} place */
export function write({ view, symbol, moment }) {
  if (view !== "trade") return `#/${view}`;
  if (!symbol) return "#/trade";
  const when = moment ? ("at" in moment ? `/at/${moment.at}` : `/time/${moment.time}`) : "";
  return `#/trade/${symbol}${when}`;
}
