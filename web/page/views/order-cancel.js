// Cancels what is open of an order, and says what came of it.

import { Refusal } from "../api.js";
import { notice } from "./notices.js";
import { outcomeOf } from "./order-notices.js";

/** @import { Api } from "../api.js" */
/** @import { Order } from "../types.js" */

/** @param {Api} api @param {Order} order @returns {Promise<boolean>} whether it is canceled */
export async function cancelOrder(api, order) {
  const { order_id, account } = order;
  try {
    return showCanceled(await api.cancel(order_id, account));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.unknown) {
      const current = await outcomeOf(
        order,
        "canceled",
        error,
        () => api.order(order_id, account),
        ({ status }) => status !== "open",
      );
      return current ? showCanceled(current) : false;
    }
    notice(`Order ${order_id} not canceled: ${error.message}`, "fault");
    return false;
  }
}

/** @param {Order} order as it is now */
function showCanceled({ order_id: id, symbol, status, canceled }) {
  if (status === "canceled") notice(`Order ${id} canceled: ${canceled} ${symbol} were open`);
  else notice(status === "open" ? `Order ${id} is still open: it is not canceled by now` : `Order ${id} not canceled: it is ${status}`, "fault");
  return status === "canceled";
}
