// Puts a new order in the place of one, with other prices or shares, and says what came of it. An order whose
// replacement is refused stays as it is.

import { exact, format, group } from "../decimal.js";
import { Refusal } from "../api.js";
import { absentIsNull } from "../state/found-out.js";
import { newId } from "./ticket-order.js";
import { notice } from "./notices.js";
import { notChanged, outcomeOf } from "./order-notices.js";

/** @import { Api } from "../api.js" */
/** @import { Price } from "../state/quote.js" */
/** @import { NewOrder, Order, Placed } from "../types.js" */

/** Replaces an order. Its executed shares count. @param {{api: Api, price: Price}} parts @param {Order} order @param {string} shares @param {{limit?: string, stop?: string, take_profit?: string}} prices */
export async function replaceOrder({ api, price }, order, shares, prices) {
  const rest = exact(shares) - exact(order.executed);
  const why = whyKept(order, rest) ?? (await whyMoved(api, order));
  if (why !== null) return notChanged(order, why);
  // Under an id of its own it can be asked for; and of one order there is never more than one in its stead.
  const placing = { ...sameAs(order), shares: format(rest), ...prices, client_order_id: newId() };
  try {
    const { placed, not_canceled } = await api.replace(order.order_id, placing);
    // A browser may have sent it twice: then the first one placed the order, and canceled the old one.
    if (not_canceled?.code === "kept") notice(`Order ${placed.order_id} was placed before, and order ${order.order_id} is kept, too`, "fault");
    else showReplaced(order, placed, price);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (!error.unknown) return notChanged(order, error.message);
    await findReplaced({ api, price }, order, placing.client_order_id, error);
  }
}

/** The reason why an order cannot be replaced; null if it can. @param {Order} order @param {bigint} rest the shares that the new one would have */
function whyKept({ pends_on, linked_with, executed }, rest) {
  if (pends_on !== undefined) return `it is placed when order ${pends_on} is executed`;
  if (linked_with !== undefined) return `it is linked with order ${linked_with}, which would be canceled, too`;
  return rest <= 0n ? `${group(executed)} were executed, so choose more` : null;
}

/** The change of an order since it was shown; null if there is none. Some of it may have been executed while somebody read the question: that many more would be traded. @param {Api} api @param {Order} order */
async function whyMoved(api, order) {
  try {
    const current = await api.order(order.order_id, order.account);
    if (current.status !== "open") return `it was ${current.status} meanwhile`;
    return exact(current.executed) === exact(order.executed) ? null : `it was executed further, ${group(current.executed)} by now meanwhile`;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return error.message;
  }
}

/** @param {{api: Api, price: Price}} parts @param {Order} order @param {string} id that of the one in its stead @param {Refusal} refusal of the lost answer */
async function findReplaced({ api, price }, order, id, refusal) {
  const outcome = await outcomeOf(
    order,
    "replaced",
    refusal,
    async () => {
      // The old one first: once it is done nothing can come in its stead any more.
      const old = await api.order(order.order_id, order.account);
      return { old, placed: await absentIsNull(api.orderOf(id, order.account)) };
    },
    ({ old, placed }) => placed !== null || old.status !== "open",
  );
  if (!outcome) return;
  const { old, placed } = outcome;
  if (placed) return showReplaced(order, placed, price);
  notice(
    old.status === "open"
      ? `Order ${order.order_id} is still open: it is not replaced by now`
      : `Order ${order.order_id} is ${old.status}, and was not replaced`,
    "fault",
  );
}

/** @param {Order} order @param {Placed|Order} placed @param {Price} price */
function showReplaced(order, placed, price) {
  const { order_id, shares, symbol, limit, stop, take_profit } = placed;
  const trigger = stop ?? take_profit;
  const waits = trigger === null ? ", behind the others of its price" : `, waiting for ${price(trigger, symbol)}`;
  notice(`Order ${order_id} stands for order ${order.order_id}: ${group(shares)} ${symbol} at ${limit === null ? "any price" : price(limit, symbol)}${waits}`);
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
