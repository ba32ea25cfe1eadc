// Sends the ticket's orders, and shows the outcome: placed, refused, or unknown. While it is unknown, the ticket names the order and sends it again unchanged.

import { group } from "../decimal.js";
import { find, setAttribute, setText } from "../dom.js";
import { dayAndTime } from "../format.js";
import { keepSending, keptRefused, keptSending } from "../settings.js";
import { isForAuction } from "../state/kinds.js";
import { Sending } from "../state/sending.js";
import { bringIntoView, showFault } from "./faults.js";

/** @import { Api, Refusal } from "../api.js" */
/** @import { Outcome } from "../state/sending.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { RefusedOrders } from "../state/refused.js" */
/** @import { ListKind, NewOrder, Order, Placed } from "../types.js" */
/** @import { TicketOrder } from "./ticket-order.js" */
/** @import { Confirm } from "./confirm.js" */

/** The fields at which refusals stand that name no field. @type {Record<string, string>} */
const FIELD_OF_CODE = {
  "insufficient-funds": "total",
  "too-much-money": "total",
  "insufficient-shares": "shares",
  "too-many-shares": "shares",
  "would-take": "limit",
  "not-in-auction": "kind",
  "auction-without-band": "kind",
  "triggers-at-once": "trigger",
  "nothing-to-trail": "trigger",
  "trail-too-far": "trigger",
  "funds-trade-nothing": "shares",
  "too-many-trails": "trigger",
  "outside-band": "limit",
  "off-lot": "shares",
  "shares-out-of-range": "shares",
  "value-out-of-range": "total",
  "deadline-passed": "until",
  "no-day-end": "until",
  "display-out-of-range": "display",
};

/** The most orders whose executions are remembered. */
const FILLS_MAX = 20;

/**
 * @param {{form: HTMLFormElement, api: Api, quote: Quote, refused: RefusedOrders, confirm: Confirm, placed: (as_shown: boolean) => void}} parts
 *   `placed` is told when orders are, and whether the form still shows them
 */
export function ticketSender({ form, api, quote, refused, confirm, placed }) {
  const done = find("ticket-done");
  const fills = new Fills();
  /** The orders that were sent last. @type {TicketOrder|null} */
  let sent = null;
  let as_shown = false;
  const sending = new Sending({ api, keep: keepSending, kept: keptSending, found: tell });
  const unknown = unknownOrders(sending, quote);

  /** @param {Exclude<Outcome, null>} outcome */
  function tell(outcome) {
    if ("refused" in outcome) {
      refused.note(sent?.orders ?? [], outcome.refused.message, Date.now() * 1000);
      return showRefusal(form, outcome.refused, sent?.orders ?? []);
    }
    setText(done, placedText(outcome.placed, sent?.kind ?? "oco", quote));
    setAttribute(done, "data-order", String(outcome.placed[0].order_id));
    tellFill(outcome.placed[0].order_id);
    placed(as_shown);
  }

  /** Beside what was placed stands what was executed of it. @param {number} id */
  function tellFill(id) {
    if (done.textContent === "" || done.dataset.order !== String(id)) return;
    const told = fills.take(id);
    if (told) setText(done, `${done.textContent} · ${told}`);
  }

  return {
    sending,
    /** Takes up what was on its way when this member left the page. @param {string} member */
    allow(member) {
      sending.allow(member, keptSending());
      refused.allow(member, keptRefused());
      sent ??= sending.orders;
    },
    /** The form shows something else than what was sent. */
    changed: () => (as_shown = false),
    /** Sends orders, also a second time if their first outcome is unknown. @param {TicketOrder} asked @param {[name: string, value: string][]} more the lines of the question before an order is sent @param {string} warning the reason to ask in any case; empty for none */
    async send(asked, more, warning) {
      const orders = sending.orders ?? asked;
      const again = sending.unknown;
      const action = `${orders.orders[0].side === "buy" ? "Buy" : "Sell"} ${orders.orders[0].symbol}`;
      const lines = [...orderLines(orders, quote), ...(again ? [] : more)];
      if (!(await confirm(lines, again ? `Send again: ${action}` : action, again ? "" : warning))) return;
      as_shown ||= !again;
      sent = orders;
      const outcome = await sending.send(orders);
      if (outcome) tell(outcome);
      else if (sending.unknown) bringIntoView(unknown);
    },
    /** @param {number} order @param {string} told */
    filled(order, told) {
      fills.note(order, told);
      tellFill(order);
    },
  };
}

/** The executions of orders whose answer is on its way, or was the last: only what was just placed is told. */
class Fills {
  /** The texts by order, oldest first. @type {Map<number, string>} */
  #told = new Map();

  /** @param {number} order @param {string} told */
  note(order, told) {
    this.#told.set(order, told);
    for (const old of [...this.#told.keys()].slice(0, -FILLS_MAX)) this.#told.delete(old);
  }

  /** The text of an order, which is told once. @param {number} order */
  take(order) {
    const told = this.#told.get(order);
    this.#told.delete(order);
    return told;
  }
}

/** Shows why orders were refused, at the field that the refusal is about. @param {HTMLFormElement} form @param {Refusal} refusal @param {NewOrder[]} orders */
function showRefusal(form, refusal, orders) {
  const field = fieldOf(refusal.field, orders) ?? FIELD_OF_CODE[refusal.code] ?? null;
  const terms = /** @type {HTMLDetailsElement} */ (find("ticket-terms"));
  terms.open ||= field === "until" || field === "display";
  showFault(form, field, refusal.message);
}

/** Keeps the sentence about orders of unknown outcome. @param {Sending} sending @param {Quote} quote @returns {HTMLElement} its place */
function unknownOrders(sending, quote) {
  const root = find("ticket-unknown");
  const text = find("ticket-unknown-text");
  const forget = find("ticket-forget");
  function draw() {
    const { orders } = sending;
    root.hidden = !sending.unknown;
    forget.hidden = !sending.absent;
    if (orders && sending.unknown) setText(text, unknownText(sending, orders, quote));
  }
  sending.watch(draw);
  draw();
  forget.addEventListener("click", () => sending.forget());
  return root;
}

/** The orders and their account, line by line, for somebody who wants to be asked. @param {TicketOrder} asked @param {Quote} quote @returns {[name: string, value: string][]} */
function orderLines({ kind, orders }, quote) {
  const name = (/** @type {number} */ at) => (at === 0 ? "Order" : kind === "oco" || at === 2 ? "Or" : "Then");
  return [...orders.map((order, at) => /** @type {[string, string]} */ ([name(at), inWords(order, quote)])), ["Account", orders[0].account]];
}

/** @param {Sending} sending @param {TicketOrder} asked @param {Quote} quote */
function unknownText({ absent, why }, { orders }, quote) {
  const what = `${orders.map((order) => inWords(order, quote)).join("; ")}, account ${orders[0].account}`;
  const known = absent ? "The server has none such by now." : "The server is being asked.";
  return `${what}: whether it was placed is not known. ${why.replace(/\.$/, "")}. ${known} “Send again” sends exactly this, and it cannot be placed twice.`;
}

/** An order in words. @param {NewOrder} order @param {Quote} quote @returns {string} */
function inWords(order, quote) {
  const price = (/** @type {string} */ text) => quote.price(text, order.symbol);
  const much = order.funds === undefined ? `${group(order.shares ?? "")} ${order.symbol}` : `${order.symbol} for ${group(order.funds)} dollars`;
  const trigger = order.stop ?? order.take_profit;
  const waiting = trigger === undefined ? behindText(order) : `, once there is ${price(trigger)}`;
  return `${order.side === "buy" ? "Buy" : "Sell"} ${much} at ${order.limit === undefined ? "any price" : price(order.limit)}${waiting}${auctionText(order)}`;
}

/** @param {{kind: string}} order */
const auctionText = ({ kind }) => (isForAuction(kind) ? ", for one auction" : "");

/** @param {{trail?: string, trail_bips?: number}} order */
function behindText({ trail, trail_bips }) {
  return trail !== undefined ? `, ${group(trail)} behind the market` : trail_bips !== undefined ? `, ${trail_bips / 100}% behind the market` : "";
}

/** @param {(Placed|Order)[]} placed @param {ListKind} kind @param {Quote} quote */
function placedText(placed, kind, quote) {
  const [{ order_id: id, side, shares, symbol }, ...others] = placed;
  const ids = others.length === 0 ? `Order ${id}` : `Orders ${placed.map((order) => order.order_id).join(" and ")}`;
  const then = kind === "oco" || others.length === 0 ? "" : `, then ${others[0].side} `;
  const behind = others.length === 0 ? "" : `${then || ", or "}${others.map((other) => termsOf(other, quote)).join(", or ")}`;
  const now = "status" in placed[0] && placed[0].status !== "open" ? ` (${placed[0].status} meanwhile)` : "";
  return `${ids} placed: ${side} ${group(shares)} ${symbol} ${termsOf(placed[0], quote)}${behind}${now}`;
}

/** The price and the deadline of a placed order, in words. @param {Placed|Order} placed @param {Quote} quote */
function termsOf(placed, quote) {
  const show = (/** @type {string} */ text) => quote.price(text, placed.symbol);
  const price = placed.limit === null ? "any price" : show(placed.limit);
  const trigger = placed.stop ?? placed.take_profit;
  const ends = placed.until === null ? "" : `, until ${dayAndTime(placed.until)}`;
  return `at ${price}${trigger === null ? "" : `, waiting for ${show(trigger)}`}${behindText(placed)}${auctionText(placed)}${ends}`;
}

/** The field of the form that a refusal is about: those behind the first order have one each. @param {string|null} named @param {NewOrder[]} orders */
function fieldOf(named, orders) {
  const behind = /^orders\.([12])/.exec(named ?? "");
  if (behind) return orders[Number(behind[1])]?.stop === undefined ? "profit" : "trigger";
  let field = named?.replace(/^orders\.0\.?/, "") ?? null;
  if (field === "tif") field = "until";
  if (field === "stop" || field === "take_profit" || field === "trail" || field === "trail_bips") return "trigger";
  if (field === "funds") return "shares";
  return field === "" || field === "orders" ? null : field;
}
