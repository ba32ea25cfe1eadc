// Turns the ticket's fields into orders of the interface. Knows no element.

import { isForAuction, isMarket, rests } from "../state/kinds.js";

/** @import { ListKind, NewOrder, OrderKind, SelfTrade, Side } from "../types.js" */

/** Orders that are asked for; several belong together as `kind` says. @typedef {{kind: ListKind, orders: NewOrder[]}} TicketOrder */

/** The kind of price that an order waits for, or of the orders behind it. @typedef {""|"stop"|"take_profit"|"trail"|"trail_bips"|"or_stop"|"then_profit"|"then_stop"|"then_both"} Waits */

/**
 * The values of the fields, as plain decimals.
 * @typedef {object} TicketInput
 * @property {string} account
 * @property {string} symbol
 * @property {Side} side
 * @property {OrderKind} kind
 * @property {Waits} waits
 * @property {string} shares
 * @property {string|null} funds in place of shares
 * @property {string} limit
 * @property {string} trigger
 * @property {string} profit
 * @property {string} display empty for all
 * @property {SelfTrade} self_trade
 * @property {{tif: "DAY"}|{until: number}|{}} ends
 */

/** The kind of an order that moves until it does not execute. */
export const MOVES = "post_only_move";

/** Whether an order of this kind may be active so: what waits does not move and is for no auction, nor is one of several. @param {string|undefined} kind @param {string|undefined} waits */
export const goesWith = (kind, waits) => (kind !== MOVES && !isForAuction(kind ?? "")) || waits === "";

/** The kind of an order of the wanted kind that is active so: the nearest one that the server takes. @param {string} wanted @param {string} waits @returns {string} */
export function kindFor(wanted, waits) {
  if (waits === "") return wanted;
  const kind = isForAuction(wanted) ? (isMarket(wanted) ? "market" : "limit") : wanted;
  // The other order of two waits, so this one must not execute at once; and what waits does not move.
  if (waits === "or_stop" || kind === MOVES) return "post_only";
  // What others wait for rests.
  return waits.startsWith("then_") && !rests(kind) ? "limit" : kind;
}

/** The unit of what an order waits for: a price, or how far behind the market that stays; null where it waits for nothing. @param {string} waits @returns {"price"|"dollars"|"percent"|null} */
export function triggerUnit(waits) {
  if (waits === "" || waits === "then_profit") return null;
  return waits === "trail" ? "dollars" : waits === "trail_bips" ? "percent" : "price";
}

/** @param {TicketInput} wish @param {() => string} newId @returns {TicketOrder} */
export function ordersOf(wish, newId) {
  const { account, symbol, side, kind, waits, shares, funds, limit, trigger, profit, display, self_trade, ends } = wish;
  const common = { account, symbol, side, self_trade, ...(funds === null ? { shares } : { funds }) };
  const order = {
    ...common,
    ...ends,
    kind,
    ...(isMarket(kind) ? {} : { limit }),
    ...waitingFor(waits, trigger),
    ...(display === "" ? {} : { display }),
    client_order_id: newId(),
  };
  const stop = () => ({ kind: /** @type {const} */ ("market"), stop: trigger, client_order_id: newId() });
  if (waits === "or_stop") return { kind: "oco", orders: [order, { ...common, ...ends, ...stop() }] };
  if (!waits.startsWith("then_")) return { kind: "oco", orders: [order] };
  const back = { ...common, side: /** @type {Side} */ (side === "buy" ? "sell" : "buy") };
  const withStop = waits !== "then_profit";
  // Of two of which one cancels the other, the one that is at once on the book must not execute when it is placed.
  const taking = () => ({ kind: /** @type {OrderKind} */ (withStop ? "post_only" : "limit"), limit: profit, client_order_id: newId() });
  const behind = [...(waits === "then_stop" ? [] : [{ ...back, ...taking() }]), ...(withStop ? [{ ...back, ...stop() }] : [])];
  return { kind: behind.length === 1 ? "oto" : "otoco", orders: [order, ...behind] };
}

/** @param {Waits} waits @param {string} trigger */
function waitingFor(waits, trigger) {
  switch (waits) {
    case "stop":
    case "take_profit":
    case "trail":
      return { [waits]: trigger };
    // Per cent with two decimals are whole hundredths.
    case "trail_bips":
      return { trail_bips: bipsOf(trigger) ?? 0 };
    default:
      return {};
  }
}

/** Per cent as hundredths of one, 1 to 9999; null if it is no such number. @param {string} percent */
export function bipsOf(percent) {
  const parts = /^(\d{1,2})(?:\.(\d{1,2})0*)?$/.exec(percent);
  const bips = parts ? Number(parts[1]) * 100 + Number((parts[2] ?? "").padEnd(2, "0")) : 0;
  return bips > 0 ? bips : null;
}

/** An id that no other order has. `crypto.randomUUID` is only there over TLS and on loopback. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
