// Notices about an action on an order whose answer was lost: first that its outcome is unknown, then what the server says about the order.

import { foundOut } from "../state/found-out.js";
import { notice } from "./notices.js";

/** @import { Refusal } from "../api.js" */
/** @import { Order } from "../types.js" */

/** @param {Order} order @param {string} why */
export function notChanged({ order_id }, why) {
  notice(`Order ${order_id} not changed: ${why}`, "fault");
}

/**
 * Says that the outcome is not known, and asks until it is; null if the server does not answer this either, which is said, too.
 * @template T
 * @param {Order} order
 * @param {string} done the action, as in “whether it was canceled”
 * @param {Refusal} refusal of the lost answer
 * @param {() => Promise<T>} ask
 * @param {(answer: T) => boolean} settled whether an answer leaves nothing open
 */
export async function outcomeOf({ order_id }, done, refusal, ask, settled) {
  notice(`Order ${order_id}: whether it was ${done} is not known. ${refusal.message}; the server is asked for it…`, "fault");
  const outcome = await foundOut(ask, settled);
  if (!outcome) notice(`Order ${order_id}: whether it was ${done} is still not known. The table of orders says it once the server answers`, "fault");
  return outcome;
}
