// The button that cancels the orders that are listed. Pressed twice: the question says how many they are, and of what.

import { Refusal } from "../api.js";
import { setText } from "../dom.js";
import { plural } from "../format.js";
import { foundOut } from "../state/found-out.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Order } from "../types.js" */

/**
 * The orders that are listed, of how many that are open.
 * @typedef {object} Listed
 * @property {string|null} account
 * @property {Order[]} orders
 * @property {number} open
 * @property {string|null} symbol whose orders alone are listed
 * @property {string} words that those have which are listed; empty for all
 */

/** A question is forgotten after so long. */
const SURE_MS = 4_000;
/** The most cancels on their way at once. */
const AT_ONCE = 8;

/** The question before orders are canceled. @param {Listed} listed */
export function cancelText({ orders, open, symbol, words }, asked = true) {
  const of = symbol === null ? "" : ` of ${symbol}`;
  const which = words === "" ? "" : ` with “${words}”`;
  if (!asked) return words === "" ? `Cancel all${of}` : `Cancel ${orders.length} listed`;
  return `Sure? Cancel ${orders.length < open ? `${orders.length} of ${plural(open, "order")}` : plural(open, "order")}${of}${which}`;
}

/** The outcome of the cancels, in words. @param {{canceled: number, refused: string[], unknown: number}} result */
export function resultText({ canceled, refused, unknown }) {
  const parts = [`${plural(canceled, "order")} canceled`];
  if (refused.length > 0) parts.push(`${refused.length} not: ${refused[0]}`);
  if (unknown > 0) parts.push(`of ${unknown} it is not known: the table says it once the server answers`);
  return parts.join("; ");
}

/**
 * @param {HTMLButtonElement} button
 * @param {{api: Api, listed: () => Listed|null}} parts `listed`: null where no orders are listed
 * @returns {() => void} draws it
 */
export function cancelAllButton(button, { api, listed }) {
  let asked = false;
  let sending = false;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  const draw = () => {
    const now = listed();
    button.hidden = !now || (now.orders.length === 0 && !sending);
    button.disabled = sending;
    if (now) setText(button, cancelText(now, asked));
  };
  const withdraw = () => {
    clearTimeout(timer);
    asked = false;
    draw();
  };
  button.addEventListener("click", async () => {
    if (!asked) {
      asked = true;
      timer = setTimeout(withdraw, SURE_MS);
      return draw();
    }
    const now = listed();
    withdraw();
    if (!now?.account) return;
    sending = true;
    draw();
    try {
      await (now.words === "" ? cancelTogether(api, now) : cancelEach(api, now.orders));
    } finally {
      sending = false;
      draw();
    }
  });
  button.addEventListener("blur", withdraw);
  return draw;
}

/** Cancels all orders of an account, or of a symbol, with one request. @param {Api} api @param {Listed} listed */
async function cancelTogether(api, { account, symbol }) {
  try {
    const { canceled } = await api.cancelAll(account ?? "", symbol);
    notice(`${plural(canceled.length, "order")} canceled`);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (!error.unknown) return notice(`Not canceled: ${error.message}`, "fault");
    notice(`Whether they were canceled is not known. ${error.message}; the server is asked for it…`, "fault");
    const left = await foundOut(
      () => api.openOrders(account ?? "", symbol),
      ({ orders }) => orders.length === 0,
    );
    notice(leftText(left && left.orders.length > 0), left?.orders.length === 0 ? "plain" : "fault");
  }
}

/** The outcome of cancels whose answer was lost, in words. @param {boolean|null} isSome whether orders are open now; null while nobody knows */
export function leftText(isSome) {
  if (isSome === null) return "Whether they were canceled is still not known. The table of orders says it once the server answers";
  return isSome ? "Some orders are open now: not all are canceled, or new ones came" : "None of them is open any more: what was not canceled was executed";
}

/** Cancels the listed orders, and no others. @param {Api} api @param {Order[]} orders */
async function cancelEach(api, orders) {
  const waiting = [...orders];
  const result = { canceled: 0, refused: /** @type {string[]} */ ([]), unknown: 0 };
  const work = async () => {
    for (let order = waiting.shift(); order; order = waiting.shift()) {
      const { order_id: id, account } = order;
      try {
        await api.cancel(id, account);
        result.canceled += 1;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        // What has nothing open may have been executed, or canceled with the other of two.
        if (error.unknown || error.code === "nothing-open") {
          const found = await foundOut(
            () => api.order(id, account),
            ({ status }) => status !== "open",
          );
          if (found?.status === "canceled") result.canceled += 1;
          else if (found) result.refused.push(`order ${id} is ${found.status}`);
          else result.unknown += 1;
        } else result.refused.push(error.message);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  notice(resultText(result), result.refused.length + result.unknown > 0 ? "fault" : "plain");
}
