// The order ticket. What it computes is exact; whether an order is taken is for the server to say.

import { MONEY_DECIMALS, affordable, exact, fault, format, group, parse, part, plain, roundedDown, total } from "../decimal.js";
import { find, setAttribute, setText, within } from "../dom.js";
import { dayAndTime } from "../format.js";
import { Refusal } from "../api.js";
import { amountOf, clearFaults, nameFault, showFault, valueOf } from "./faults.js";
import { forecast } from "./forecast.js";
import { steps } from "./steps.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Shown } from "../state/shown.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { ListKind, NewOrder, OrderKind, Placed, SelfTrade, Side } from "../types.js" */

/** Orders that are asked for; several belong together as `kind` says. @typedef {{kind: ListKind, orders: NewOrder[]}} Asked */

/** What numbers are called where one is none. @type {Record<string, string>} */
const NAMES = { limit: "Limit", shares: "Shares", display: "What it shows" };

/** Where a refusal stands that names no field. @type {Record<string, string>} */
const FIELD_OF_CODE = {
  "insufficient-funds": "total",
  "too-much-money": "total",
  "insufficient-shares": "shares",
  "too-many-shares": "shares",
  "would-take": "limit",
  "triggers-at-once": "trigger",
  "nothing-to-trail": "trigger",
  "trail-too-far": "trigger",
  "too-many-trails": "trigger",
  "outside-band": "limit",
  "off-lot": "shares",
  "shares-out-of-range": "shares",
  "value-out-of-range": "total",
  "deadline-passed": "until",
  "no-day-end": "until",
  "display-out-of-range": "display",
};

/**
 * @typedef {object} Ticket
 * @property {(side: Side) => void} begin chooses the side and goes to the first field
 * @property {(limit: string) => void} take fills in a price
 * @property {(order: number, text: string) => void} filled hears what was executed of an order
 */

/**
 * @param {{market: Market, symbols: Symbols, shown: Shown, holdings: Holdings, vitals: Vitals, frames: Frames, api: Api, chooseAccount: () => void}} parts
 * @returns {Ticket}
 */
export function ticketView({ market, symbols, shown, holdings, vitals, frames, api, chooseAccount }) {
  const form = /** @type {HTMLFormElement} */ (find("ticket"));
  const limit = /** @type {HTMLInputElement} */ (find("ticket-limit"));
  const shares = /** @type {HTMLInputElement} */ (find("ticket-shares"));
  const kind = /** @type {HTMLSelectElement} */ (find("ticket-kind"));
  const waits = /** @type {HTMLSelectElement} */ (find("ticket-waits"));
  const terms = /** @type {HTMLDetailsElement} */ (find("ticket-terms"));
  const until = /** @type {HTMLInputElement} */ (find("ticket-until"));
  const day = /** @type {HTMLInputElement} */ (find("ticket-day"));
  const dayField = find("ticket-day-field");
  const display = /** @type {HTMLInputElement} */ (find("ticket-display"));
  const selfTrade = /** @type {HTMLSelectElement} */ (find("ticket-self-trade"));
  const triggerField = find("ticket-trigger-field");
  const triggerNote = find("ticket-trigger-note");
  const profitField = find("ticket-profit-field");
  const profitNote = find("ticket-profit-note");
  const limitField = find("ticket-limit-field");
  const submit = /** @type {HTMLButtonElement} */ (find("ticket-submit"));
  const availableName = find("ticket-available-name");
  const available = find("ticket-available");
  const sumName = find("ticket-total-name");
  const sum = find("ticket-total");
  const done = find("ticket-done");
  const forecastLine = find("ticket-forecast");
  /** What was executed of orders whose answer is still on its way, or was the last. @type {Map<number, string>} */
  const fills = new Map();
  /** The orders whose fate is unknown; sent again they keep their ids, and cannot be placed twice. @type {Asked|null} */
  let unanswered = null;
  let sending = false;

  const side = () => /** @type {Side} */ (valueOf(form, "side"));
  const atAnyPrice = () => kind.value === "market";
  const rules = () => shown.rules;
  const price = (/** @type {string} */ text) => (market.symbol ? shown.price(text, market.symbol) : group(text));
  /** Whether it is one of two, of which the other waits for a stop and one cancels the other. */
  const isOneOfTwo = () => waits.value === "or_stop";
  /** Whether others are placed when it is executed. */
  const hasOthersBehind = () => waits.value.startsWith("then_");
  const hasTrigger = () => waits.value !== "" && waits.value !== "then_profit";
  const hasProfit = () => waits.value === "then_profit" || waits.value === "then_both";
  const endsWithTheDay = () => stays() && day.checked && !dayField.hidden;
  /** Whether it stays open when it is placed, and so may end at a time. */
  const stays = () => kind.value === "limit" || kind.value === "post_only" || waits.value !== "";

  /** Whether what is left of it rests, so that it may show a part. */
  const rests = () => kind.value === "limit" || kind.value === "post_only";

  /** What can be sold, or bought at the limit; null when that cannot be said. */
  function most() {
    if (!holdings.account || !market.symbol) return null;
    if (side() === "sell") return exact(holdings.position(market.symbol)?.shares ?? "0");
    const balance = exact(holdings.account.balance, MONEY_DECIMALS);
    // What a market order will come to that waits, nobody knows.
    if (atAnyPrice()) return waits.value === "" ? market.book.buys(balance) : null;
    const most = parse(plain(limit.value));
    return most !== null && most > 0n ? affordable(balance, most) : null;
  }

  /** Price times shares; null when one of them is none. Of a market order what it would come to now. */
  function cost() {
    const amount = parse(plain(shares.value));
    if (atAnyPrice()) return amount !== null && amount > 0n && waits.value === "" ? market.book.atAnyPrice(side(), amount) : null;
    const each = parse(plain(limit.value));
    return each !== null && amount !== null && each > 0n && amount > 0n ? total(each, amount) : null;
  }

  /** What would happen if it were sent now. */
  function foretold() {
    const amount = parse(plain(shares.value));
    const bound = atAnyPrice() ? null : parse(plain(limit.value));
    if (waits.value !== "" || amount === null || amount <= 0n || (!atAnyPrice() && (bound === null || bound <= 0n))) return "";
    return forecast(market.book, { side: side(), kind: /** @type {OrderKind} */ (kind.value), limit: bound, shares: amount }, price);
  }

  const mark = frames.view(() => {
    const selling = side() === "sell";
    const account = holdings.account;
    setAttribute(form, "data-side", side());
    setText(availableName, selling ? "Can sell" : "Can spend");
    if (!account) setText(available, holdings.id && !holdings.refused ? "…" : "–");
    else if (selling) setText(available, market.symbol ? `${group(holdings.position(market.symbol)?.shares ?? "0")} ${market.symbol}` : "–");
    else setText(available, group(account.balance));

    limitField.hidden = atAnyPrice();
    triggerField.hidden = !hasTrigger();
    profitField.hidden = !hasProfit();
    dayField.hidden = vitals.server?.orders_for_the_day !== true;
    day.disabled = !stays();
    until.disabled = !stays() || endsWithTheDay();
    const follows = waits.value === "trail";
    display.disabled = !rests() || isOneOfTwo() || hasOthersBehind() || follows;
    const rises = hasOthersBehind() ? selling : (waits.value !== "take_profit") !== selling;
    const reached = `an execution at this price or ${rises ? "above" : "below"}`;
    const back = selling ? "Buys" : "Sells";
    setText(profitNote, `${back} at this price once all of it is executed`);
    if (hasOthersBehind()) setText(triggerNote, `${back} at any price after ${reached}, once all of it is executed${hasProfit() ? "; one cancels the other" : ""}`);
    else if (follows) setText(triggerNote, `Waits so many dollars ${selling ? "below the highest" : "above the lowest"} price from now on`);
    else setText(triggerNote, isOneOfTwo() ? `${selling ? "Sells" : "Buys"} at any price instead after ${reached}; one cancels the other` : `Waits for ${reached}`);
    setText(sumName, atAnyPrice() ? "About" : "Total");
    const money = cost();
    setText(sum, money === null ? "–" : group(format(money, MONEY_DECIMALS)));
    const amount = parse(plain(shares.value));
    const bound = most();
    const tooMuch = account !== null && amount !== null && bound !== null && amount > bound;
    setAttribute(form, "data-too-much", tooMuch);
    setAttribute(available, "title", tooMuch ? "Less than this order needs" : null);

    setText(forecastLine, foretold());
    const halted = rules()?.trading === false;
    limit.placeholder = rules()?.tick ?? "0.00";
    shares.placeholder = rules()?.lot ?? "0";
    submit.disabled = sending || !market.symbol || halted;
    const action = selling ? "Sell" : "Buy";
    if (halted) setText(submit, "Trading is halted");
    else if (!holdings.id) setText(submit, "Choose an account");
    else setText(submit, sending ? "Sending…" : unanswered ? `Send again: ${action.toLowerCase()}` : `${action} ${market.symbol ?? ""}`.trim());
  });

  function changed() {
    unanswered = null;
    setText(done, "");
    clearFaults(form);
    mark();
  }

  /** Whether the fields can be an order; if not, says at each what is wrong. */
  function check() {
    const limitFault = atAnyPrice() ? null : fault(amountOf(form, "limit"), "Limit");
    const triggerFault = hasTrigger() ? fault(amountOf(form, "trigger"), "The price") : null;
    const profitFault = hasProfit() ? fault(amountOf(form, "profit"), "The price") : null;
    const faults = /** @type {const} */ ([["shares", fault(amountOf(form, "shares"), "Shares")], ["limit", limitFault], ["profit", profitFault], ["trigger", triggerFault]]);
    for (const [field, text] of faults) if (text) showFault(form, field, text);
    // A time that is written in part is no time, and must not be taken for none.
    const noTime = !until.disabled && until.validity.badInput;
    if (noTime) showFault(form, "until", "This is no time");
    const noDisplay = !display.disabled && display.value.trim() !== "" ? fault(amountOf(form, "display"), "What it shows") : null;
    if (noDisplay !== null) showFault(form, "display", noDisplay);
    terms.open ||= noTime || noDisplay !== null;
    return !noTime && noDisplay === null && faults.every(([, text]) => text === null);
  }

  /** What the fields ask for. @param {string} account @param {string} symbol @returns {Asked} */
  function asked(account, symbol) {
    const common = {
      account, symbol, side: side(), shares: amountOf(form, "shares"),
      self_trade: /** @type {SelfTrade} */ (selfTrade.value),
    };
    const ends = endsWithTheDay() ? { tif: /** @type {const} */ ("DAY") }
      : !until.disabled && until.value !== "" ? { until: new Date(until.value).getTime() * 1000 } : {};
    const order = {
      ...common, ...ends, kind: /** @type {OrderKind} */ (kind.value),
      ...(atAnyPrice() ? {} : { limit: amountOf(form, "limit") }),
      ...(waits.value === "" || isOneOfTwo() || hasOthersBehind() ? {} : { [waits.value]: amountOf(form, "trigger") }),
      ...(!display.disabled && display.value.trim() !== "" ? { display: amountOf(form, "display") } : {}),
      client_order_id: newId(),
    };
    const stop = () => ({ kind: /** @type {const} */ ("market"), stop: amountOf(form, "trigger"), client_order_id: newId() });
    if (isOneOfTwo()) return { kind: "oco", orders: [order, { ...common, ...ends, ...stop() }] };
    if (!hasOthersBehind()) return { kind: "oco", orders: [order] };
    const back = { ...common, side: /** @type {Side} */ (common.side === "buy" ? "sell" : "buy") };
    // Of two of which one cancels the other, the one that is at once on the book must not execute when it is placed.
    const profit = () => ({ kind: /** @type {OrderKind} */ (hasTrigger() ? "post_only" : "limit"), limit: amountOf(form, "profit"), client_order_id: newId() });
    const behind = [...(hasProfit() ? [{ ...back, ...profit() }] : []), ...(hasTrigger() ? [{ ...back, ...stop() }] : [])];
    return { kind: behind.length === 1 ? "oto" : "otoco", orders: [order, ...behind] };
  }

  async function send() {
    if (!holdings.id) return chooseAccount();
    if (!market.symbol || sending) return;
    clearFaults(form);
    setText(done, "");
    if (!check()) return;
    const list = unanswered ?? asked(holdings.id, market.symbol);
    const { kind: listKind, orders } = list;
    sending = true;
    mark();
    try {
      const placed = orders.length === 1 ? [await api.place(orders[0])] : (await api.placeList(listKind, orders)).orders;
      unanswered = null;
      const [{ order_id: id, side: taken, shares: count, symbol: name }, ...others] = placed;
      const ids = others.length === 0 ? `Order ${id}` : `Orders ${placed.map((order) => order.order_id).join(" and ")}`;
      const then = listKind === "oco" || others.length === 0 ? "" : `, then ${others[0].side} `;
      const behind = others.length === 0 ? "" : `${then || ", or "}${others.map((other) => termsOf(other, shown)).join(", or ")}`;
      setText(done, `${ids} placed: ${taken} ${group(count)} ${name} ${termsOf(placed[0], shown)}${behind}`);
      done.scrollIntoView({ block: "nearest" });
      setAttribute(done, "data-order", String(id));
      tellFill(id);
      shares.value = display.value = "";
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      unanswered = error.unknown ? list : null;
      const named = fieldOf(error.field, orders);
      const text = error.unknown ? `${error.message}: whether the order was placed is not known. Sending it again is safe, it cannot be placed twice.` : error.message;
      const field = named ?? FIELD_OF_CODE[error.code] ?? null;
      terms.open ||= field === "until" || field === "display";
      showFault(form, field, text);
    } finally {
      sending = false;
      mark();
    }
  }

  /** Beside what was placed stands what was executed of it. @param {number} id */
  function tellFill(id) {
    const text = fills.get(id);
    if (!text || done.textContent === "" || done.dataset.order !== String(id)) return;
    fills.delete(id);
    setText(done, `${done.textContent} · ${text}`);
  }

  /** @param {string} text */
  function take(text) {
    // Who chooses a price wants no other.
    if (atAnyPrice()) kind.value = "limit";
    limit.value = text;
    changed();
  }

  waits.addEventListener("input", () => {
    // The other order waits, so this one must not execute at once.
    if (isOneOfTwo()) kind.value = "post_only";
    // What others wait for rests.
    else if (hasOthersBehind() && !rests()) kind.value = "limit";
  });
  form.addEventListener("input", changed);
  // What is no number is named when the field is left; what was typed stays in it.
  form.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.inputMode !== "decimal" || target.value.trim() === "") return;
    const text = fault(plain(target.value), NAMES[target.name] ?? "The price");
    if (text) nameFault(form, target.name, text);
  });
  steps([limit, ...["trigger", "profit"].map((name) => within(form, "input", `[name=${name}]`))], { step: () => shown.step, from: () => market.book.side(side())[0]?.limit ?? shown.last, changed });
  steps([shares, display], { step: () => rules()?.lot ?? "1", from: () => null, changed });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  find("ticket-bid").addEventListener("click", () => takeBest("buy"));
  find("ticket-ask").addEventListener("click", () => takeBest("sell"));
  /** @param {Side} of */
  function takeBest(of) {
    const best = market.book.side(of)[0];
    if (best) take(best.limit);
    limit.focus();
  }
  for (const button of form.querySelectorAll("[data-percent]")) {
    button.addEventListener("click", () => {
      const bound = most();
      if (bound === null) {
        if (side() === "buy" && holdings.account) showFault(form, "limit", "The limit comes first: it says what a share costs");
        return;
      }
      const some = part(bound, BigInt(/** @type {HTMLElement} */ (button).dataset.percent ?? "0"));
      const lot = rules()?.lot;
      shares.value = format(lot ? roundedDown(some, exact(lot)) : some);
      changed();
    });
  }

  // What was wrong for one account is not for another.
  let account = holdings.id;
  holdings.watch(() => {
    if (account === holdings.id) return;
    account = holdings.id;
    changed();
  });
  /** @type {string|null} */
  let symbol = market.symbol;
  market.watch(() => {
    // A price of another symbol is worse than none.
    if (symbol !== market.symbol) {
      symbol = market.symbol;
      limit.value = shares.value = display.value = "";
      changed();
    }
    mark();
  });
  holdings.watch(mark);
  symbols.watch(mark);
  vitals.watch(mark);

  return {
    take,
    filled(order, text) {
      fills.set(order, text);
      // Only what was just placed is told here.
      for (const old of [...fills.keys()].slice(0, -20)) fills.delete(old);
      tellFill(order);
    },
    begin(chosen) {
      within(form, "input", `[name=side][value=${chosen}]`).checked = true;
      changed();
      (limit.value === "" && !atAnyPrice() ? limit : shares).focus();
    },
  };
}

/** At which price an order was placed, and until when. @param {Placed} placed @param {Shown} shown */
function termsOf(placed, shown) {
  const show = (/** @type {string} */ text) => shown.price(text, placed.symbol);
  const price = placed.limit === null ? "any price" : show(placed.limit);
  const trigger = placed.stop ?? placed.take_profit;
  const behind = placed.trail === undefined ? "" : `, ${group(placed.trail)} behind the market`;
  const ends = placed.until === null ? "" : `, until ${dayAndTime(placed.until)}`;
  return `at ${price}${trigger === null ? "" : `, waiting for ${show(trigger)}`}${behind}${ends}`;
}

/** The field of the form that a refusal is about: those behind the first order have one each. @param {string|null} named @param {NewOrder[]} orders */
function fieldOf(named, orders) {
  const behind = /^orders\.([12])/.exec(named ?? "");
  if (behind) return orders[Number(behind[1])]?.stop === undefined ? "profit" : "trigger";
  let field = named?.replace(/^orders\.0\.?/, "") ?? null;
  if (field === "tif") field = "until";
  if (field === "stop" || field === "take_profit" || field === "trail") return "trigger";
  return field === "" || field === "orders" ? null : field;
}

/** An id that no other order has. `crypto.randomUUID` is only there over TLS and on loopback. */
function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `web-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
