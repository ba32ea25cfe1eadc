// What is done with an order that is open: canceled, reduced, replaced. What becomes of it is told in a notice.

import { exact, fault, format, group, plain } from "../decimal.js";
import { Refusal } from "../api.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Confirm } from "./confirm.js" */
/** @import { NewOrder, Order } from "../types.js" */
/** @import { Shown } from "../state/shown.js" */

/** @typedef {ReturnType<typeof orderActions>} OrderActions */

/** What the prices of an order are called. */
const NAMES = { limit: "limit", stop: "stop", take_profit: "profit" };

/** @param {{api: Api, shown: Shown, confirm: Confirm}} parts */
export function orderActions({ api, shown, confirm }) {
  /** A price as it is shown everywhere. @param {string} text @param {string} symbol */
  const price = (text, symbol) => shown.price(text, symbol);

  /** @param {Order} order @returns {Promise<boolean>} whether it is canceled */
  async function cancel(order) {
    try {
      const canceled = await api.cancel(order.order_id, order.account);
      notice(`Order ${canceled.order_id} canceled: ${canceled.canceled} ${canceled.symbol} were open`);
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notice(`Order ${order.order_id} not canceled: ${error.message}`, "fault");
      return false;
    }
  }

  /** Shares alone are amended; with another limit it is replaced. @param {Order} order @param {string} text */
  async function edit(order, text) {
    const [shares, limit, ...more] = text.split("@").map(plain);
    const wrong = more.length > 0 ? "write shares @ limit" : fault(shares, "Shares") ?? (limit === undefined ? null : fault(limit, "Limit"));
    if (wrong !== null) return notice(`Order ${order.order_id} not changed: ${wrong}`, "fault");
    if (limit === undefined || (order.limit !== null && exact(limit) === exact(order.limit))) return amend(order, shares);
    if (order.limit === null) return notice(`Order ${order.order_id} not changed: a market order has no limit`, "fault");
    return replace(order, shares, { limit });
  }

  /** Gives an order another price: its limit, or what it waits for. @param {Order} order @param {"limit"|"stop"|"take_profit"} which @param {string} to */
  async function move(order, which, to) {
    const from = order[which];
    const lines = /** @type {[string, string][]} */ ([["Order", `${order.order_id}: ${order.side} ${group(order.open)} ${order.symbol}`], ["From", `${NAMES[which]} ${from === null ? "" : price(from, order.symbol)}`], ["To", price(to, order.symbol)]]);
    if (!(await confirm(lines, "Move"))) return;
    return replace(order, order.shares, { [which]: to });
  }

  /** Its executed shares count. @param {Order} order @param {string} shares @param {{limit?: string, stop?: string, take_profit?: string}} prices */
  async function replace(order, shares, prices) {
    const rest = exact(shares) - exact(order.executed);
    if (order.pends_on !== undefined) return notice(`Order ${order.order_id} not changed: it is placed when order ${order.pends_on} is executed`, "fault");
    if (order.linked_with !== undefined) return notice(`Order ${order.order_id} not changed: it is linked with order ${order.linked_with}, which would be canceled, too`, "fault");
    if (rest <= 0n) return notice(`Order ${order.order_id} not changed: ${group(order.executed)} were executed, so choose more`, "fault");
    try {
      const { placed, not_placed } = await api.replace(order.order_id, { ...sameAs(order), shares: format(rest), ...prices });
      if (placed) notice(`Order ${placed.order_id} stands for order ${order.order_id}: ${group(placed.shares)} ${placed.symbol} at ${placed.limit === null ? "any price" : price(placed.limit, placed.symbol)}${waitingFor(placed)}`);
      else notice(`Order ${order.order_id} canceled, and nothing placed: ${not_placed?.detail ?? "refused"}`, "fault");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notice(`Order ${order.order_id} not changed: ${error.message}`, "fault");
    }
  }

  /** @param {Order} order @param {string} shares */
  async function amend(order, shares) {
    try {
      const amended = await api.amend(order.order_id, order.account, shares);
      notice(`Order ${amended.order_id} has ${group(amended.shares)} ${amended.symbol} now, ${group(amended.open)} open`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notice(`Order ${order.order_id} not reduced: ${error.message}`, "fault");
    }
  }

  /** @param {{symbol: string, stop: string|null, take_profit: string|null}} placed */
  function waitingFor({ symbol, stop, take_profit }) {
    const trigger = stop ?? take_profit;
    return trigger === null ? ", behind the others of its price" : `, waiting for ${price(trigger, symbol)}`;
  }

  return { cancel, edit, move };
}

/** What a new order has of the one that it replaces. @param {Order} order @returns {Omit<NewOrder, "shares"|"client_order_id">} */
function sameAs({ account, symbol, side, kind, limit, waits, stop, take_profit, trail, trail_bips, until, self_trade, display }) {
  return {
    account, symbol, side, kind, self_trade,
    ...(limit !== null && { limit }),
    // One that follows the market goes on to follow it, from where that is now.
    ...(waits && trail !== undefined ? { trail } : waits && trail_bips !== undefined ? { trail_bips } : waits && stop !== null && { stop }),
    ...(waits && take_profit !== null && { take_profit }),
    ...(until !== null && { until }),
    ...(display !== undefined && { display }),
  };
}
