// Changes the shares of an order, which keeps its place, and says what came of it.

import { exact, group } from "../decimal.js";
import { Refusal } from "../api.js";
import { notice } from "./notices.js";
import { outcomeOf } from "./order-notices.js";

/** @import { Api } from "../api.js" */
/** @import { Order } from "../types.js" */

/** @param {Api} api @param {Order} order @param {string} shares */
export async function amendOrder(api, order, shares) {
  const { order_id, account } = order;
  try {
    showAmended(await api.amend(order_id, account, shares));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (!error.unknown) return notice(`Order ${order_id} not reduced: ${error.message}`, "fault");
    const reduced = (/** @type {Order} */ current) => exact(current.shares) === exact(shares);
    const current = await outcomeOf(
      order,
      "reduced",
      error,
      () => api.order(order_id, account),
      (answer) => reduced(answer) || answer.status !== "open",
    );
    if (!current) return;
    if (reduced(current)) return showAmended(current);
    notice(`Order ${order_id} is not reduced by now: it has ${group(current.shares)} ${current.symbol}, ${group(current.open)} open`, "fault");
  }
}

/** @param {Order} amended */
function showAmended(amended) {
  notice(`Order ${amended.order_id} has ${group(amended.shares)} ${amended.symbol} now, ${group(amended.open)} open`);
}
