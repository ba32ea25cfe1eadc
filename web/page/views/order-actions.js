// Actions on an open order: cancel, amend. A notice shows the outcome.

import { Refusal } from "../api.js";
import { exact, fault, group, plain } from "../decimal.js";
import { moveOf } from "./moving.js";
import { notice } from "./notices.js";
import { amendOrder } from "./order-amend.js";
import { cancelOrder } from "./order-cancel.js";
import { notChanged } from "./order-notices.js";

/** @import { Api } from "../api.js" */
/** @import { Confirm } from "./confirm.js" */
/** @import { Order } from "../types.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Price, Quote } from "../state/quote.js" */
/** @import { Which } from "./moving.js" */

/** @typedef {ReturnType<typeof orderActions>} OrderActions */

/** The names of an order's prices. */
const NAMES = { limit: "limit", stop: "stop", take_profit: "profit" };

/** @param {{api: Api, market: Market, quote: Quote, confirm: Confirm}} parts */
export function orderActions({ api, market, quote, confirm }) {
  /** @type {Price} */
  const price = (text, symbol) => quote.price(text, symbol);

  /** Changes an order as it is typed: its shares, or its shares and its limit. @param {Order} order @param {string} text */
  async function edit(order, text) {
    const [shares, limit, ...more] = text.split("@").map(plain);
    const why = more.length > 0 ? "write shares @ limit" : (fault(shares, "Shares") ?? (limit === undefined ? null : fault(limit, "Limit")));
    if (why !== null) return notChanged(order, why);
    if (order.limit === null) return limit === undefined ? amendOrder({ api, price }, order, { shares }) : notChanged(order, "a market order has no limit");
    const stays = limit === undefined || exact(limit) === exact(order.limit);
    if (!stays && !(await isSure(order, "limit", limit, false))) return;
    return amendOrder({ api, price }, order, { shares, limit: limit ?? order.limit });
  }

  /** The effect of an order at another price now; null if its market is not in view. @param {Order} order @param {Which} which @param {string} to */
  function foretell(order, which, to) {
    if (order.symbol !== market.symbol || market.past || market.book.state !== "live") return null;
    return moveOf({ book: market.book, last: quote.last }, order, which, to, (text) => price(text, order.symbol));
  }

  /** Whether an order is to get another price. Where it would execute at once, or where that is not known of a dragged one, it is asked in any case; what the server would refuse is not sent. @param {Order} order @param {Which} which @param {string} to @param {boolean} asks whether it is asked otherwise, too, where somebody wants to be */
  async function isSure(order, which, to, asks) {
    const would = foretell(order, which, to);
    if (would?.refused) {
      notice(`Order ${order.order_id} not moved to ${price(to, order.symbol)}: ${would.refused}`, "fault");
      return false;
    }
    const from = order[which];
    const lines = /** @type {[string, string][]} */ ([
      ["Order", `${order.order_id}: ${order.side} ${group(order.open)} ${order.symbol}`],
      ["From", `${NAMES[which]} ${from === null ? "" : price(from, order.symbol)}`],
      ["To", price(to, order.symbol)],
      ["Now", would?.text ?? "not known: the book is not shown as it is now"],
    ]);
    if (would?.loses_place) lines.push(["Place", "lost: behind all orders at its new price"]);
    if (which === "stop" && (order.trail ?? order.trail_bips ?? null) !== null) lines.push(["Then", "it follows the market no more"]);
    const warning = would?.crosses ? "It executes at once." : asks && would === null ? "Whether it executes at once is not known." : "";
    return warning !== "" || asks ? confirm(lines, "Move", warning) : true;
  }

  /** Gives an order another price: its limit, or what it waits for. @param {Order} order @param {Which} which @param {string} to */
  async function move(order, which, to) {
    if (!(await isSure(order, which, to, true))) return;
    if (which !== "limit") return amendOrder({ api, price }, order, { [which]: to });
    // A member's bound on the value of an order wants to know both its limit and its shares, which may have changed since it was asked.
    try {
      const { shares } = await api.order(order.order_id, order.account);
      return await amendOrder({ api, price }, order, { shares, limit: to });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notChanged(order, error.message);
    }
  }

  return { cancel: (/** @type {Order} */ order) => cancelOrder(api, order), edit, move, foretell };
}
