// The symbol and its day: last, change, high, low, volume; and its rules, where it has any.

import { atLeast, group } from "../decimal.js";
import { find, setAttribute, setText } from "../dom.js";
import { count } from "../format.js";
import { Chooser } from "./chooser.js";

/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Rules, SymbolInfo } from "../types.js" */

const NONE = "–";

/**
 * @param {{market: Market, symbols: Symbols, quote: Quote, frames: Frames, choose: (symbol: string) => void}} parts
 * @returns {Chooser}
 */
export function marketBar({ market, symbols, quote, frames, choose }) {
  const chooser = new Chooser(find("symbol-chooser"), { name: "symbol", choose, opened: () => offer() });
  const last = find("market-last");
  const change = find("market-change");
  const rules = find("market-rules");
  const rulesField = find("market-rules-field");
  const fields = {
    high: find("market-high"),
    low: find("market-low"),
    volume: find("market-volume"),
    money: find("market-money"),
    trades: find("market-trades"),
  };

  function offer() {
    const sorted = [...symbols.all.values()].sort((a, b) => (a.symbol < b.symbol ? -1 : 1));
    chooser.offer(sorted.map((info) => ({ id: info.symbol, note: info.last ? `${group(atLeast(info.last, 2))}  ${changeOf(info)}` : "no trades" })));
  }

  const mark = frames.view(() => {
    chooser.show(market.symbol, symbols.state === "waiting" ? "Loading…" : "No symbol");
    const { info, day, decimals } = quote;
    const price = (/** @type {string|null} */ text) => (text ? group(atLeast(text, decimals)) : NONE);
    const direction = directionOf(day.change);
    setText(last, price(quote.last));
    setAttribute(last, "data-direction", direction);
    setText(change, changeOf({ change: day.change, change_percent: day.percent }, decimals));
    setAttribute(change, "data-direction", direction);
    setText(fields.high, price(day.high));
    setText(fields.low, price(day.low));
    setText(fields.volume, info?.volume_24h ? group(info.volume_24h) : NONE);
    setText(fields.money, info?.money_24h ? group(rounded(info.money_24h)) : NONE);
    setText(fields.trades, info && info.trades_24h !== null ? count(info.trades_24h) : NONE);
    const told = info?.rules ? rulesOf(info.rules) : "";
    rulesField.hidden = told === "";
    setText(rules, told);
    const title = market.symbol ? `${quote.last ? `${price(quote.last)} ` : ""}${market.symbol} · Pricetime` : "Pricetime";
    if (document.title !== title) document.title = title;
  });
  market.watch(mark);
  market.tape.watch(mark);
  symbols.watch(mark);
  return chooser;
}

/** The rules that a trader should know before an order. @param {Rules} rules */
function rulesOf(rules) {
  const told = [];
  if (!rules.trading) told.push("halted");
  if (rules.tick) told.push(`tick ${group(rules.tick)}`);
  if (rules.lot) told.push(`lot ${group(rules.lot)}`);
  return told.join(" · ");
}

/** Money of a day is shown without its decimals: there are up to 16. @param {string} money */
function rounded(money) {
  return money.split(".")[0];
}

/** @param {string|null} change @returns {"up"|"down"|null} */
function directionOf(change) {
  if (!change || /^-?[0.]+$/.test(change)) return null;
  return change.startsWith("-") ? "down" : "up";
}

/** The change with its sign and an arrow. @param {Pick<SymbolInfo, "change"|"change_percent">} info @param {number} [decimals] */
function changeOf(info, decimals = 2) {
  if (!info.change) return NONE;
  const direction = directionOf(info.change);
  const arrow = direction === "up" ? "▲ " : direction === "down" ? "▼ " : "";
  const percent = info.change_percent ? ` (${signed(atLeast(info.change_percent, 2))}%)` : "";
  return `${arrow}${signed(group(atLeast(info.change, decimals)))}${percent}`;
}

/** Writes a change with a plus, or with a true minus. @param {string} text */
function signed(text) {
  if (text.startsWith("-")) return `−${text.slice(1)}`;
  return /^[0.]+$/.test(text) ? text : `+${text}`;
}
