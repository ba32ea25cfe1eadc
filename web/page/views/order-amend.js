// Gives an order other terms, under its number, and says what came of it. An order whose amendment is refused stays as it is.

import { exact, group } from "../decimal.js";
import { Refusal } from "../api.js";
import { notice } from "./notices.js";
import { notChanged, outcomeOf } from "./order-notices.js";

/** @import { Api } from "../api.js" */
/** @import { Price } from "../state/quote.js" */
/** @import { AmendOrder, Order } from "../types.js" */

/** Amends an order. Its executed shares count. @param {{api: Api, price: Price}} parts @param {Order} order @param {AmendOrder} terms */
export async function amendOrder({ api, price }, order, terms) {
  const { order_id, account } = order;
  try {
    showAmended(await api.amend(order_id, account, terms), price);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (!error.unknown) return notChanged(order, error.message);
    const current = await outcomeOf(
      order,
      "amended",
      error,
      () => api.order(order_id, account),
      (answer) => has(answer, terms) || answer.status !== "open",
    );
    if (!current) return;
    if (has(current, terms)) return showAmended(current, price);
    notice(`Order ${order_id} is not amended by now: it has ${textOf(current, price)}`, "fault");
  }
}

/** Whether an order has these terms. @param {Order} order @param {AmendOrder} terms */
function has(order, terms) {
  return /** @type {(keyof AmendOrder)[]} */ (Object.keys(terms)).every((name) => {
    const [now, wanted] = [order[name], terms[name]];
    return now !== null && wanted !== undefined && exact(now) === exact(wanted);
  });
}

/** @param {Order} amended @param {Price} price */
function showAmended(amended, price) {
  notice(`Order ${amended.order_id} has ${textOf(amended, price)} now`);
}

/** The shares and prices of an order. @param {Order} order @param {Price} price */
function textOf({ shares, symbol, open, limit, stop, take_profit, waits }, price) {
  const trigger = waits ? (stop ?? take_profit) : null;
  const waiting = trigger === null ? "" : `, waiting for ${price(trigger, symbol)}`;
  return `${group(shares)} ${symbol} at ${limit === null ? "any price" : price(limit, symbol)}${waiting}, ${group(open)} open`;
}
