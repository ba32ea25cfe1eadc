// Actions on an open order: cancel, reduce, replace. A notice shows the outcome.

import { exact, fault, format, group, plain } from "../decimal.js";
import { Refusal } from "../api.js";
import { absentIsNull, foundOut } from "../state/found-out.js";
import { newId } from "./ticket-order.js";
import { moveOf } from "./moving.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Confirm } from "./confirm.js" */
/** @import { NewOrder, Order, Placed } from "../types.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Which } from "./moving.js" */

/** @typedef {ReturnType<typeof orderActions>} OrderActions */

/** The names of an order's prices. */
const NAMES = { limit: "limit", stop: "stop", take_profit: "profit" };

/** @param {{api: Api, market: Market, quote: Quote, confirm: Confirm}} parts */
export function orderActions({ api, market, quote, confirm }) {
  /** A price as it is shown everywhere. @param {string} text @param {string} symbol */
  const price = (text, symbol) => quote.price(text, symbol);

  /** The notice at once after an answer was lost. @param {Order} order @param {string} done @param {Refusal} refusal */
  const unknown = (order, done, refusal) =>
    notice(`Order ${order.order_id}: whether it was ${done} is not known. ${refusal.message}; the server is asked for it…`, "fault");
  /** The notice if the server does not answer the question either. @param {Order} order @param {string} done */
  const stillUnknown = (order, done) =>
    notice(`Order ${order.order_id}: whether it was ${done} is still not known. The table of orders says it once the server answers`, "fault");

  /** @param {Order} order @returns {Promise<boolean>} whether it is canceled */
  async function cancel(order) {
    try {
      return tellCanceled(await api.cancel(order.order_id, order.account));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (error.unknown) {
        unknown(order, "canceled", error);
        const found = await foundOut(
          () => api.order(order.order_id, order.account),
          ({ status }) => status !== "open",
        );
        if (found) return tellCanceled(found);
        stillUnknown(order, "canceled");
      } else notice(`Order ${order.order_id} not canceled: ${error.message}`, "fault");
      return false;
    }
  }

  /** @param {Order} order as it is now */
  function tellCanceled({ order_id: id, symbol, status, canceled }) {
    if (status === "canceled") notice(`Order ${id} canceled: ${canceled} ${symbol} were open`);
    else notice(status === "open" ? `Order ${id} is still open: it is not canceled by now` : `Order ${id} not canceled: it is ${status}`, "fault");
    return status === "canceled";
  }

  /** Shares alone are amended; with another limit it is replaced. @param {Order} order @param {string} text */
  async function edit(order, text) {
    const [shares, limit, ...more] = text.split("@").map(plain);
    const wrong = more.length > 0 ? "write shares @ limit" : (fault(shares, "Shares") ?? (limit === undefined ? null : fault(limit, "Limit")));
    if (wrong !== null) return notice(`Order ${order.order_id} not changed: ${wrong}`, "fault");
    if (limit === undefined || (order.limit !== null && exact(limit) === exact(order.limit))) return amend(order, shares);
    if (order.limit === null) return notice(`Order ${order.order_id} not changed: a market order has no limit`, "fault");
    if (!(await isSure(order, "limit", limit, false))) return;
    return replace(order, shares, { limit });
  }

  /** The effect of an order at another price now; null if its market is not in view. @param {Order} order @param {Which} which @param {string} to */
  function foretell(order, which, to) {
    if (order.symbol !== market.symbol || market.past || market.book.state !== "live") return null;
    return moveOf({ book: market.book, last: quote.last }, order, which, to, (text) => price(text, order.symbol));
  }

  /** Whether an order is to get another price. Where it would execute at once that is asked in any case; what the server would refuse is not sent, because the order would be gone. @param {Order} order @param {Which} which @param {string} to @param {boolean} asks whether it is asked otherwise, too, where somebody wants to be */
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
      ["Now", would?.text ?? ""],
    ]);
    return would?.crosses || asks ? confirm(lines, "Move", would?.crosses) : true;
  }

  /** Gives an order another price: its limit, or what it waits for. @param {Order} order @param {Which} which @param {string} to */
  async function move(order, which, to) {
    if (!(await isSure(order, which, to, true))) return;
    return replace(order, order.shares, { [which]: to });
  }

  /** Its executed shares count. @param {Order} order @param {string} shares @param {{limit?: string, stop?: string, take_profit?: string}} prices */
  async function replace(order, shares, prices) {
    const rest = exact(shares) - exact(order.executed);
    if (order.pends_on !== undefined) return notice(`Order ${order.order_id} not changed: it is placed when order ${order.pends_on} is executed`, "fault");
    if (order.linked_with !== undefined)
      return notice(`Order ${order.order_id} not changed: it is linked with order ${order.linked_with}, which would be canceled, too`, "fault");
    if (rest <= 0n) return notice(`Order ${order.order_id} not changed: ${group(order.executed)} were executed, so choose more`, "fault");
    try {
      // Some of it may have been executed while somebody read the question: that many more would be traded.
      const now = await api.order(order.order_id, order.account);
      if (now.status !== "open" || exact(now.executed) !== exact(order.executed)) {
        return notice(
          `Order ${order.order_id} not changed: it was ${now.status === "open" ? `executed further, ${group(now.executed)} by now` : now.status} meanwhile`,
          "fault",
        );
      }
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return notice(`Order ${order.order_id} not changed: ${error.message}`, "fault");
    }
    // Under an id of its own it can be asked for; and of one order there is never more than one in its stead.
    const placing = { ...sameAs(order), shares: format(rest), ...prices, client_order_id: newId() };
    try {
      const { placed, not_placed } = await api.replace(order.order_id, placing);
      if (placed) tellReplaced(order, placed);
      else notice(`Order ${order.order_id} canceled, and nothing placed: ${not_placed?.detail ?? "refused"}`, "fault");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!error.unknown) return notice(`Order ${order.order_id} not changed: ${error.message}`, "fault");
      unknown(order, "replaced", error);
      await findReplaced(order, placing.client_order_id);
    }
  }

  /** @param {Order} order @param {Placed|Order} placed */
  function tellReplaced(order, placed) {
    notice(
      `Order ${placed.order_id} stands for order ${order.order_id}: ${group(placed.shares)} ${placed.symbol} at ${placed.limit === null ? "any price" : price(placed.limit, placed.symbol)}${waitingFor(placed)}`,
    );
  }

  /** @param {Order} order @param {string} id that of the one in its stead */
  async function findReplaced(order, id) {
    const found = await foundOut(
      async () => {
        // The old one first: once it is done nothing can come in its stead any more.
        const old = await api.order(order.order_id, order.account);
        return { old, placed: await absentIsNull(api.orderOf(id, order.account)) };
      },
      ({ old, placed }) => placed !== null || old.status !== "open",
    );
    if (!found) return stillUnknown(order, "replaced");
    if (found.placed) return tellReplaced(order, found.placed);
    notice(
      found.old.status === "open"
        ? `Order ${order.order_id} is as it was: it is not replaced by now`
        : `Order ${order.order_id} is ${found.old.status}, and nothing stands for it`,
      "fault",
    );
  }

  /** @param {Order} order @param {string} shares */
  async function amend(order, shares) {
    try {
      tellAmended(await api.amend(order.order_id, order.account, shares));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (!error.unknown) return notice(`Order ${order.order_id} not reduced: ${error.message}`, "fault");
      unknown(order, "reduced", error);
      const reduced = (/** @type {Order} */ now) => exact(now.shares) === exact(shares);
      const found = await foundOut(
        () => api.order(order.order_id, order.account),
        (now) => reduced(now) || now.status !== "open",
      );
      if (!found) return stillUnknown(order, "reduced");
      if (reduced(found)) return tellAmended(found);
      notice(`Order ${order.order_id} is not reduced by now: it has ${group(found.shares)} ${found.symbol}, ${group(found.open)} open`, "fault");
    }
  }

  /** @param {Order} amended */
  function tellAmended(amended) {
    notice(`Order ${amended.order_id} has ${group(amended.shares)} ${amended.symbol} now, ${group(amended.open)} open`);
  }

  /** @param {{symbol: string, stop: string|null, take_profit: string|null}} placed */
  function waitingFor({ symbol, stop, take_profit }) {
    const trigger = stop ?? take_profit;
    return trigger === null ? ", behind the others of its price" : `, waiting for ${price(trigger, symbol)}`;
  }

  return { cancel, edit, move, foretell };
}

/** The terms that a new order takes from the one that it replaces. @param {Order} order @returns {Omit<NewOrder, "shares"|"client_order_id">} */
function sameAs({ account, symbol, side, kind, limit, waits, stop, take_profit, trail, trail_bips, until, self_trade, display }) {
  return {
    account,
    symbol,
    side,
    kind,
    self_trade,
    ...(limit !== null && { limit }),
    // One that follows the market goes on to follow it, from where that is now.
    ...(waits && trail !== undefined ? { trail } : waits && trail_bips !== undefined ? { trail_bips } : waits && stop !== null && { stop }),
    ...(waits && take_profit !== null && { take_profit }),
    ...(until !== null && { until }),
    ...(display !== undefined && { display }),
  };
}
