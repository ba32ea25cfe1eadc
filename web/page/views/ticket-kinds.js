// The kinds that the ticket offers, by the phase of the symbol: those for an auction only while it is in one. Knows no element.

import { isForAuction, isMarket } from "../state/kinds.js";

/** @import { Phase, Rules, SelfTrade, Side } from "../types.js" */

/** The names of the kinds for an auction, while there is one and while there is none. @type {Record<string, [now: string, never: string]>} */
export const AUCTION_KINDS = {
  auction_limit: ["Limit, this auction (GFA)", "Limit for an auction: none now"],
  auction_market: ["Market, this auction (GFA)", "Market for an auction: none now"],
};

/**
 * The words about an order of this kind in the present phase: why the server would refuse it, or its end; empty where neither needs to be said.
 * @param {{kind: string, waits: string, side: Side, self_trade: SelfTrade, phase: Phase|null, rules: Rules|undefined}} order `waits` as the ticket has it
 */
export function kindNote({ kind, waits, side, self_trade, phase, rules }) {
  if (isForAuction(kind) && phase?.name !== "auction") return `Placed only while the symbol is in an auction, and it is ${phase ? "halted" : "in none"} now`;
  // What waits for a price is placed in an auction, too.
  const gathers = waits === "" || waits === "or_stop" || waits.startsWith("then_");
  if (phase?.name !== "auction" || !gathers) return "";
  if (kind !== "limit" && !isForAuction(kind)) return "In an auction only limit orders and those for it are placed";
  const own = self_trade === "allowed" ? "" : "Trades with own orders, too: self-trade prevention does not act in an auction";
  if (!isForAuction(kind)) return own;
  if (!isMarket(kind)) return own || "Ends with this auction: what is left is canceled";
  const bound = side === "buy" ? (rules?.band_up ?? rules?.static_up) : (rules?.band_down ?? rules?.static_down);
  if (bound === undefined) return `Needs a price band, and the symbol has none ${side === "buy" ? "above" : "below"} its price`;
  return own || "At the auction's price, within the price band; what is left is canceled";
}
