// The kinds for an auction and the words about a kind, by the phase of the symbol. Knows no element.

import { isForAuction, isMarket } from "../state/kinds.js";

/** @import { Phase, Rules, SelfTrade, Side } from "../types.js" */

/** The names of the kinds for an auction, while there is one and while there is none. @type {Record<string, [now: string, next: string]>} */
export const AUCTION_KINDS = {
  auction_limit: ["Limit, this auction (GFA)", "Limit, next auction (GFA)"],
  auction_market: ["Market, this auction (GFA)", "Market, next auction (GFA)"],
};

/**
 * The words about an order of this kind in the present phase: why the server would refuse it, or its end; empty where neither needs to be said.
 * @param {{kind: string, waits: string, side: Side, self_trade: SelfTrade, phase: Phase|null, rules: Rules|undefined}} order `waits` as the ticket has it
 */
export function kindNote({ kind, waits, side, self_trade, phase, rules }) {
  const gathers = phase?.name === "auction";
  const own = self_trade === "allowed" ? "" : "Trades with own orders, too: self-trade prevention does not act in an auction";
  if (isForAuction(kind)) {
    const bound = side === "buy" ? (rules?.band_up ?? rules?.static_up) : (rules?.band_down ?? rules?.static_down);
    if (isMarket(kind) && bound === undefined) return `Needs a price band, and the symbol has none ${side === "buy" ? "above" : "below"} its price`;
    if (!gathers) return "Waits for the next auction, whatever begins it, and ends with it";
    return (
      own || (isMarket(kind) ? "At the auction's price, within the price band; what is left is canceled" : "Ends with this auction: what is left is canceled")
    );
  }
  // What waits for a price is placed in an auction, too.
  const comesNow = waits === "" || waits === "or_stop" || waits.startsWith("then_");
  if (!gathers || !comesNow) return "";
  return kind === "limit" ? own : "In an auction only limit orders and those for it are placed";
}
