// The worth of the ticket's order, and its effect now. Exact; draws nothing.

import { MONEY_DECIMALS, affordable, exact, format, group, parse, plain, total } from "../decimal.js";
import { valueOf } from "./faults.js";
import { forecast, foretoldMeeting, foretoldWaiting } from "./forecast.js";

/** @import { Fees } from "../state/fees.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Amount, Fields } from "./ticket-fields.js" */

/** @typedef {{fields: Fields, market: Market, quote: Quote, holdings: AccountSeen, fees: Fees}} Parts */

/** The most shares that the account can sell, or buy at the limit; null if that is unknown. @param {Parts} parts */
export function most({ fields, market, holdings }) {
  if (!holdings.account || !market.symbol) return null;
  if (fields.side() === "sell") return exact(holdings.position(market.symbol)?.shares ?? "0");
  const balance = exact(holdings.account.balance, MONEY_DECIMALS);
  // What a market order will come to that waits, or is for an auction, nobody knows.
  if (fields.atAnyPrice()) return fields.takesAtOnce() ? market.book.buys(balance) : null;
  const each = fields.bound();
  return each === null ? null : affordable(balance, each);
}

/** Price times shares; null when one of them is none. Of a market order what it would come to now. @param {Parts} parts @param {Amount} amount */
export function cost({ fields, market }, amount) {
  const funds = amount.funds();
  if (funds !== null) return exact(funds, MONEY_DECIMALS);
  const count = amount.shares();
  if (count === null || count <= 0n) return null;
  if (fields.atAnyPrice()) return fields.takesAtOnce() ? market.book.atAnyPrice(fields.side(), count) : null;
  const each = fields.bound();
  return each === null ? null : total(each, count);
}

/** The effect of the order if it were sent now. @param {Parts} parts @param {Amount} amount */
export function foretold(parts, amount) {
  const { fields, market, quote } = parts;
  const count = amount.shares();
  const each = fields.bound();
  if (count === null || count <= 0n || (!fields.atAnyPrice() && each === null)) return "";
  const price = (/** @type {string} */ text) => (market.symbol ? quote.price(text, market.symbol) : group(text));
  const waits = fields.waits.value;
  if (waits !== "" && !fields.isOneOfTwo() && !fields.hasOthersBehind()) {
    const typed = parse(plain(valueOf(fields.form, "trigger")));
    const trigger = typed === null || typed <= 0n ? null : waits === "trail_bips" ? format(typed) : price(format(typed));
    return foretoldWaiting({
      side: fields.side(),
      waits,
      kind: fields.kindOf(),
      shares: group(format(count)),
      limit: each === null ? null : price(format(each)),
      trigger,
    });
  }
  return foretoldNow(parts, { side: fields.side(), kind: fields.kindOf(), limit: each, shares: count }, price);
}

/** @param {Parts} parts @param {Parameters<typeof forecast>[1]} order @param {(text: string) => string} price */
function foretoldNow({ fields, market, quote, holdings, fees }, order, price) {
  const { rules } = quote;
  const now = forecast(market.book, order, price, { rates: fees.rates, symbol: market.symbol ?? "", step: rules?.tick ? exact(rules.tick) : 1n });
  const meets = foretoldMeeting(order, holdings.open.values(), market.symbol ?? "", fields.selfTradeOf());
  return [now, now === "" ? "" : meets].filter((part) => part !== "").join("; ");
}
