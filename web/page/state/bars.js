// Candles of a moment of the past: whole ones as the server keeps them, and the one that had just begun, made of what had been traded by then.

import { MONEY_DECIMALS, exact, format, total } from "../decimal.js";
import { SECONDS_OF } from "./quote.js";

/** @import { Api } from "../api.js" */
/** @import { Candle, Interval, PastTrade } from "../types.js" */

const MINUTE_US = 60_000_000;
/** Trades that a page holds, and pages that are asked for, so that the last minute is whole. */
const PAGE = 1_000;
const PAGES_MAX = 5;

/** The fields of a trade that a bar needs. @typedef {Pick<PastTrade, "price"|"shares"|"time">} Traded */

/** The beginning of the span that holds a time. @param {number} time_us @param {Interval} interval */
export function startOf(time_us, interval) {
  const span = SECONDS_OF[interval] * 1_000_000;
  return Math.floor(time_us / span) * span;
}

/** The candle with a trade more, or the one that begins with it. @param {Candle|undefined} candle @param {Traded} trade @param {Interval} interval @returns {Candle} */
export function withTrade(candle, { price, shares, time }, interval) {
  const money = format(total(exact(price), exact(shares)), MONEY_DECIMALS);
  return joined(candle, { start: startOf(time, interval), open: price, high: price, low: price, close: price, volume: shares, money, trades: 1 }, interval);
}

/** The candle with a shorter one behind it, or the one that begins with that. @param {Candle|undefined} candle @param {Candle} next @param {Interval} interval @returns {Candle} */
function joined(candle, next, interval) {
  const start = startOf(next.start, interval);
  if (candle?.start !== start) return { ...next, start };
  const sum = (/** @type {string} */ a, /** @type {string} */ b, /** @type {number} */ decimals) => format(exact(a, decimals) + exact(b, decimals), decimals);
  return {
    start,
    open: candle.open,
    close: next.close,
    high: exact(next.high) > exact(candle.high) ? next.high : candle.high,
    low: exact(next.low) < exact(candle.low) ? next.low : candle.low,
    volume: sum(candle.volume, next.volume, 8),
    money: sum(candle.money, next.money, MONEY_DECIMALS),
    trades: candle.trades + next.trades,
  };
}

/**
 * The candles of a moment, oldest first.
 * @param {Pick<Api, "candles"|"trades">} api
 * @param {{symbol: string, interval: Interval, time: number, trades: PastTrade[]}} moment with its last trades, newest first
 * @returns {Promise<Candle[]>}
 */
export async function barsAt(api, { symbol, interval, time, trades }) {
  const begun = startOf(time, interval);
  // Of seconds the server keeps no candles, but of the newest trades alone.
  const minute = interval === "1s" ? 0 : startOf(time, "1m");
  const [whole, minutes, since] = await Promise.all([
    interval === "1s" ? [] : api.candles(symbol, interval, begun).then(({ candles }) => candles),
    minute > begun && interval !== "1s" ? api.candles(symbol, "1m", minute, Math.round((minute - begun) / MINUTE_US)).then(({ candles }) => candles) : [],
    tradesSince(api, symbol, trades, minute),
  ]);
  const bars = whole.filter(({ start }) => start < begun);
  /** @param {Candle} bar */
  const put = (bar) => {
    if (bars.at(-1)?.start === bar.start) bars.pop();
    bars.push(bar);
  };
  for (const candle of minutes) if (candle.start >= begun) put(joined(bars.at(-1), candle, interval));
  for (const trade of since.reverse()) put(withTrade(bars.at(-1), trade, interval));
  return bars;
}

/** The trades since a time, newest first; those of the seconds before are as many as a few pages hold. @param {Pick<Api, "trades">} api @param {string} symbol @param {PastTrade[]} trades @param {number} since_us */
async function tradesSince(api, symbol, trades, since_us) {
  /** @type {(Traded & {trade_id: number|null})[]} */
  const all = [...trades];
  for (let page = 0; page < (since_us === 0 ? 1 : PAGES_MAX); page += 1) {
    const oldest = all.at(-1);
    if (!oldest || oldest.time < since_us || oldest.trade_id === null) break;
    const older = (await api.trades(symbol, oldest.trade_id, PAGE)).trades;
    all.push(...older);
    if (older.length < PAGE) break;
  }
  return all.filter(({ time }) => time >= since_us);
}
