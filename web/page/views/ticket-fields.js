// The fields of the order ticket, and what they say of the order by themselves. Knows no market, no account and no server.

import { fault, format, parse, plain } from "../decimal.js";
import { find } from "../dom.js";
import { isMarket, rests as kindRests } from "../state/kinds.js";
import { bipsOf, newId, ordersOf, triggerUnit } from "./ticket-order.js";
import { amountOf, showFault, valueOf } from "./faults.js";

/** @import { OrderKind, SelfTrade, Side } from "../types.js" */
/** @import { amountField } from "./amount.js" */
/** @import { TicketOrder, Waits } from "./ticket-order.js" */

/** @typedef {ReturnType<typeof ticketFields>} Fields */
/** @typedef {ReturnType<typeof amountField>} Amount */

/** Finds the ticket's fields. */
export function ticketFields() {
  const form = /** @type {HTMLFormElement} */ (find("ticket"));
  const limit = /** @type {HTMLInputElement} */ (find("ticket-limit"));
  const trigger = /** @type {HTMLInputElement} */ (find("ticket-trigger"));
  const profit = /** @type {HTMLInputElement} */ (find("ticket-profit"));
  const kind = /** @type {HTMLSelectElement} */ (find("ticket-kind"));
  const waits = /** @type {HTMLSelectElement} */ (find("ticket-waits"));
  const until = /** @type {HTMLInputElement} */ (find("ticket-until"));
  const ends = /** @type {HTMLSelectElement} */ (find("ticket-ends"));
  const display = /** @type {HTMLInputElement} */ (find("ticket-display"));
  const selfTrade = /** @type {HTMLSelectElement} */ (find("ticket-self-trade"));

  const atAnyPrice = () => isMarket(kind.value);
  /** Whether it is one of two, of which the other waits for a stop and one cancels the other. */
  const isOneOfTwo = () => waits.value === "or_stop";
  /** Whether others are placed when it is executed. */
  const hasOthersBehind = () => waits.value.startsWith("then_");
  /** Whether what it waits for follows the market. */
  const follows = () => waits.value.startsWith("trail");
  /** Whether what is left of it rests, so that it may show a part. */
  const rests = () => kindRests(kind.value);
  /** Whether it stays open when it is placed, and so may end at a time. */
  const stays = () => rests() || waits.value !== "";
  return {
    form,
    limit,
    trigger,
    profit,
    kind,
    waits,
    until,
    ends,
    display,
    selfTrade,
    side: () => /** @type {Side} */ (valueOf(form, "side")),
    kindOf: () => /** @type {OrderKind} */ (kind.value),
    selfTradeOf: () => /** @type {SelfTrade} */ (selfTrade.value),
    atAnyPrice,
    /** Whether it takes at once what there is, at any price. */
    takesAtOnce: () => kind.value === "market" && waits.value === "",
    isOneOfTwo,
    hasOthersBehind,
    follows,
    rests,
    stays,
    hasTrigger: () => triggerUnit(waits.value) !== null,
    hasProfit: () => waits.value === "then_profit" || waits.value === "then_both",
    endsWithTheDay: () => stays() && ends.value === "day",
    endsAtATime: () => stays() && ends.value === "until",
    showsAPart: () => rests() && !atAnyPrice() && !isOneOfTwo() && !hasOthersBehind() && !follows(),
    /** The limit, while one is typed. */
    bound() {
      const typed = atAnyPrice() ? null : parse(plain(limit.value));
      return typed !== null && typed > 0n ? typed : null;
    },
  };
}

/** Whether the fields can be an order; if not, says at each what is wrong. @param {Fields} fields @param {Amount} amount */
export function checkFields(fields, amount) {
  const { form, until, display } = fields;
  const limitFault = fields.atAnyPrice() ? null : fault(amountOf(form, "limit"), "Limit");
  const triggerFault = fields.hasTrigger() ? (fault(amountOf(form, "trigger"), fields.follows() ? "The distance" : "The price") ?? noBips(fields)) : null;
  const profitFault = fields.hasProfit() ? fault(amountOf(form, "profit"), "The price") : null;
  const faults = /** @type {const} */ ([
    ["shares", amount.fault()],
    ["limit", limitFault],
    ["profit", profitFault],
    ["trigger", triggerFault],
  ]);
  for (const [field, text] of faults) if (text) showFault(form, field, text);
  // A time that is written in part is no time, and must not be taken for none.
  const noTime = fields.endsAtATime() && (until.value === "" || until.validity.badInput);
  if (noTime) showFault(form, "until", until.validity.badInput ? "This is no time" : "The time is missing");
  const noDisplay = fields.showsAPart() && display.value.trim() !== "" ? fault(amountOf(form, "display"), "The shown amount") : null;
  if (noDisplay !== null) showFault(form, "display", noDisplay);
  const terms = /** @type {HTMLDetailsElement} */ (find("ticket-terms"));
  terms.open ||= noTime || noDisplay !== null;
  return !noTime && noDisplay === null && faults.every(([, text]) => text === null);
}

/** Per cent behind the market are whole hundredths. @param {Fields} fields */
function noBips({ form, waits }) {
  return waits.value === "trail_bips" && bipsOf(amountOf(form, "trigger")) === null
    ? "The distance is 0.01 to 99.99 per cent, with two decimals at most"
    : null;
}

/** The order that the fields ask for. @param {Fields} fields @param {Amount} amount @param {string} account @param {string} symbol @returns {TicketOrder} */
export function askedBy(fields, amount, account, symbol) {
  const { form, waits, until } = fields;
  return ordersOf(
    {
      account,
      symbol,
      side: fields.side(),
      kind: fields.kindOf(),
      waits: /** @type {Waits} */ (waits.value),
      shares: format(amount.shares() ?? 0n),
      funds: amount.funds(),
      limit: amountOf(form, "limit"),
      trigger: amountOf(form, "trigger"),
      profit: amountOf(form, "profit"),
      display: fields.showsAPart() ? amountOf(form, "display") : "",
      self_trade: fields.selfTradeOf(),
      ends: fields.endsWithTheDay() ? { tif: "DAY" } : fields.endsAtATime() ? { until: new Date(until.value).getTime() * 1000 } : {},
    },
    newId,
  );
}
