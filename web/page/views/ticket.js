// The order ticket. What it computes is exact; whether an order is taken is for the server to say.

import { MONEY_DECIMALS, affordable, exact, fault, format, group, parse, plain, total } from "../decimal.js";
import { find, setAttribute, setText, within } from "../dom.js";
import { amountField } from "./amount.js";
import { bipsOf, newId, ordersOf } from "./asked.js";
import { amountOf, clearFaults, nameFault, showFault, valueOf } from "./faults.js";
import { forecast, foretoldMeeting, foretoldWaiting } from "./forecast.js";
import { presetsView } from "./presets.js";
import { steps } from "./steps.js";
import { ticketSender } from "./ticket-send.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Fees } from "../state/fees.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Shown } from "../state/shown.js" */
/** @import { Standing } from "../state/standing.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { OrderKind, SelfTrade, Side } from "../types.js" */
/** @import { Asked, Waits } from "./asked.js" */
/** @import { Confirm } from "./confirm.js" */

/** What numbers are called where one is none. @type {Record<string, string>} */
const NAMES = { limit: "Limit", shares: "The amount", display: "What it shows" };

/** What would happen is told anew so often while the book changes; nobody reads faster. */
const BOOK_PAUSE_MS = 100;

/**
 * @typedef {object} Ticket
 * @property {(side: Side) => void} begin chooses the side and goes to the first field
 * @property {(limit: string) => void} take fills in a price
 * @property {(preset: number) => boolean} apply fills it in as a preset says
 * @property {() => Asked|null} draft what would be sent now; null while the fields are none, which is then said beside them
 * @property {(member: string) => void} allow hears who looks at the page; "" where there are no members
 * @property {(order: number, text: string) => void} filled hears what was executed of an order
 */

/**
 * @param {{market: Market, symbols: Symbols, shown: Shown, holdings: AccountSeen, fees: Fees, vitals: Vitals, standing: Standing, frames: Frames, api: Api, confirm: Confirm, chooseAccount: () => void}} parts
 * @returns {Ticket}
 */
export function ticketView({ market, symbols, shown, holdings, fees, vitals, standing, frames, api, confirm, chooseAccount }) {
  const form = /** @type {HTMLFormElement} */ (find("ticket"));
  const limit = /** @type {HTMLInputElement} */ (find("ticket-limit"));
  const kind = /** @type {HTMLSelectElement} */ (find("ticket-kind"));
  const waits = /** @type {HTMLSelectElement} */ (find("ticket-waits"));
  const terms = /** @type {HTMLDetailsElement} */ (find("ticket-terms"));
  const until = /** @type {HTMLInputElement} */ (find("ticket-until"));
  const untilField = find("ticket-until-field");
  const ends = /** @type {HTMLSelectElement} */ (find("ticket-ends"));
  const endsField = find("ticket-ends-field");
  const dayOption = within(ends, "option", "[value=day]");
  const moveOption = within(kind, "option", "[value=post_only_move]");
  const displayField = find("ticket-display-field");
  const display = /** @type {HTMLInputElement} */ (find("ticket-display"));
  const selfTrade = /** @type {HTMLSelectElement} */ (find("ticket-self-trade"));
  const triggerField = find("ticket-trigger-field");
  const triggerNote = find("ticket-trigger-note");
  const triggerName = find("ticket-trigger-name");
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
  const pastNote = find("ticket-past");

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
  const endsWithTheDay = () => stays() && ends.value === "day";
  const endsAtATime = () => stays() && ends.value === "until";
  /** Whether it stays open when it is placed, and so may end at a time. */
  const stays = () => rests() || waits.value !== "";

  /** Whether what is left of it rests, so that it may show a part. */
  const rests = () => ["limit", "post_only", "post_only_move"].includes(kind.value);
  const showsAPart = () => rests() && !isOneOfTwo() && !hasOthersBehind() && !waits.value.startsWith("trail");
  /** The limit, while one is typed. */
  const bound = () => {
    const typed = atAnyPrice() ? null : parse(plain(limit.value));
    return typed !== null && typed > 0n ? typed : null;
  };

  /** What can be sold, or bought at the limit; null when that cannot be said. */
  function most() {
    if (!holdings.account || !market.symbol) return null;
    if (side() === "sell") return exact(holdings.position(market.symbol)?.shares ?? "0");
    const balance = exact(holdings.account.balance, MONEY_DECIMALS);
    // What a market order will come to that waits, nobody knows.
    if (atAnyPrice()) return waits.value === "" ? market.book.buys(balance) : null;
    const each = bound();
    return each === null ? null : affordable(balance, each);
  }

  const amount = amountField({
    basis: () => ({
      side: side(), most: most(), each: bound(), lot: rules()?.lot, book: market.book,
      balance: holdings.account ? exact(holdings.account.balance, MONEY_DECIMALS) : null,
      at_once: atAnyPrice() && waits.value === "",
    }),
    changed,
    unpriced: () => {
      if (holdings.account && side() === "buy" && !atAnyPrice()) showFault(form, "limit", "The limit comes first: it says what a share costs");
    },
  });

  const sender = ticketSender({
    form, api, shown, confirm,
    placed: (as_shown) => {
      if (!as_shown) return;
      amount.clear();
      display.value = "";
    },
  });
  const { sending } = sender;

  /** Price times shares; null when one of them is none. Of a market order what it would come to now. */
  function cost() {
    const funds = amount.funds();
    if (funds !== null) return exact(funds, MONEY_DECIMALS);
    const count = amount.shares();
    if (count === null || count <= 0n) return null;
    if (atAnyPrice()) return waits.value === "" ? market.book.atAnyPrice(side(), count) : null;
    const each = bound();
    return each === null ? null : total(each, count);
  }

  /** What would happen if it were sent now. */
  function foretold() {
    const count = amount.shares();
    const each = bound();
    if (count === null || count <= 0n || (!atAnyPrice() && each === null)) return "";
    const shown_limit = each === null ? null : price(format(each));
    if (waits.value !== "" && !isOneOfTwo() && !hasOthersBehind()) {
      const typed = parse(plain(valueOf(form, "trigger")));
      const trigger = typed === null || typed <= 0n ? null : waits.value === "trail_bips" ? format(typed) : price(format(typed));
      return foretoldWaiting({ side: side(), waits: waits.value, kind: /** @type {OrderKind} */ (kind.value), shares: group(format(count)), limit: shown_limit, trigger });
    }
    const order = { side: side(), kind: /** @type {OrderKind} */ (kind.value), limit: each, shares: count };
    const now = forecast(market.book, order, price, { rates: fees.rates, symbol: market.symbol ?? "", step: rules()?.tick ? exact(rules()?.tick ?? "") : 1n });
    const meets = foretoldMeeting(order, holdings.open.values(), market.symbol ?? "", /** @type {SelfTrade} */ (selfTrade.value));
    return [now, now === "" ? "" : meets].filter((part) => part !== "").join("; ");
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
    dayOption.hidden = dayOption.disabled = vitals.server?.orders_for_the_day !== true;
    // An order that waits does not move, nor does one of several.
    moveOption.disabled = waits.value !== "";
    endsField.hidden = !stays();
    untilField.hidden = !endsAtATime();
    displayField.hidden = !showsAPart();
    const follows = waits.value.startsWith("trail");
    const rises = hasOthersBehind() ? selling : (waits.value !== "take_profit") !== selling;
    const reached = `an execution at this price or ${rises ? "above" : "below"}`;
    const back = selling ? "Buys" : "Sells";
    setText(profitNote, `${back} at this price once all of it is executed`);
    if (hasOthersBehind()) setText(triggerNote, `${back} at any price after ${reached}, once all of it is executed${hasProfit() ? "; one cancels the other" : ""}`);
    else if (follows) setText(triggerNote, `Waits so many ${waits.value === "trail" ? "dollars" : "per cent"} ${selling ? "below the highest" : "above the lowest"} price from now on`);
    else setText(triggerNote, isOneOfTwo() ? `${selling ? "Sells" : "Buys"} at any price instead after ${reached}; one cancels the other` : `Waits for ${reached}`);
    setText(sumName, atAnyPrice() ? "About" : "Total");
    setText(triggerName, waits.value === "trail" ? "Behind, $" : waits.value === "trail_bips" ? "Behind, %" : "When at");
    drawWorth();
    const [obstacle] = standing.obstacles;
    limit.placeholder = rules()?.tick ?? "0.00";
    amount.input.placeholder = amount.unit.value === "shares" ? rules()?.lot ?? "0" : "0";
    const past = market.past !== null;
    // Nothing of it can be used: a sentence above says why.
    setAttribute(form, "inert", past);
    pastNote.hidden = !past;
    submit.disabled = sending.state === "sending" || past || (!sending.orders && (!market.symbol || obstacle !== undefined));
    const action = selling ? "Sell" : "Buy";
    if (past) setText(submit, "No orders in a replay");
    else if (sending.orders) setText(submit, sending.unknown ? `Send again: ${sending.orders.orders[0].side}` : "Sending…");
    else if (obstacle) setText(submit, obstacle.button);
    else setText(submit, holdings.id ? `${action} ${market.symbol ?? ""}`.trim() : "Choose an account");
  });

  /** What changes with the book. */
  function drawWorth() {
    const money = cost();
    setText(sum, money === null ? "–" : group(format(money, MONEY_DECIMALS)));
    const [count, possible] = [amount.shares(), most()];
    const tooMuch = holdings.account !== null && count !== null && possible !== null && count > possible;
    setAttribute(form, "data-too-much", tooMuch);
    setAttribute(available, "title", tooMuch ? "Less than this order needs" : null);
    amount.draw();
    setText(forecastLine, foretold());
  }
  const markWorth = frames.view(drawWorth, BOOK_PAUSE_MS);

  function changed() {
    sender.changed();
    setText(done, "");
    clearFaults(form);
    mark();
  }

  /** Whether the fields can be an order; if not, says at each what is wrong. */
  function check() {
    const limitFault = atAnyPrice() ? null : fault(amountOf(form, "limit"), "Limit");
    const triggerFault = hasTrigger() ? fault(amountOf(form, "trigger"), waits.value.startsWith("trail") ? "The distance" : "The price") ?? noBips() : null;
    const profitFault = hasProfit() ? fault(amountOf(form, "profit"), "The price") : null;
    const faults = /** @type {const} */ ([["shares", amount.fault()], ["limit", limitFault], ["profit", profitFault], ["trigger", triggerFault]]);
    for (const [field, text] of faults) if (text) showFault(form, field, text);
    // A time that is written in part is no time, and must not be taken for none.
    const noTime = endsAtATime() && (until.value === "" || until.validity.badInput);
    if (noTime) showFault(form, "until", until.validity.badInput ? "This is no time" : "The time is missing");
    const noDisplay = showsAPart() && display.value.trim() !== "" ? fault(amountOf(form, "display"), "What it shows") : null;
    if (noDisplay !== null) showFault(form, "display", noDisplay);
    terms.open ||= noTime || noDisplay !== null;
    return !noTime && noDisplay === null && faults.every(([, text]) => text === null);
  }

  /** Per cent behind the market are whole hundredths. */
  function noBips() {
    return waits.value === "trail_bips" && bipsOf(amountOf(form, "trigger")) === null ? "The distance is 0.01 to 99.99 per cent, with two decimals at most" : null;
  }

  /** What the fields ask for. @param {string} account @param {string} symbol @returns {Asked} */
  function asked(account, symbol) {
    return ordersOf({
      account, symbol, side: side(), kind: /** @type {OrderKind} */ (kind.value), waits: /** @type {Waits} */ (waits.value),
      shares: format(amount.shares() ?? 0n), funds: amount.funds(), limit: amountOf(form, "limit"), trigger: amountOf(form, "trigger"), profit: amountOf(form, "profit"),
      display: showsAPart() ? amountOf(form, "display") : "", self_trade: /** @type {SelfTrade} */ (selfTrade.value),
      ends: endsWithTheDay() ? { tif: "DAY" } : endsAtATime() ? { until: new Date(until.value).getTime() * 1000 } : {},
    }, newId);
  }

  async function send() {
    if (market.past || sending.state === "sending") return;
    clearFaults(form);
    setText(done, "");
    fees.look();
    if (sending.orders) return sender.send(sending.orders, []);
    if (!holdings.id) return chooseAccount();
    if (!market.symbol || standing.obstacles.length > 0 || !check()) return;
    const orders = asked(holdings.id, market.symbol);
    const chosen = (/** @type {HTMLSelectElement} */ select) => select.selectedOptions[0]?.text ?? "";
    await sender.send(orders, [["Kind", chosen(kind)], ["Ends", !stays() ? "" : endsAtATime() ? until.value.replace("T", " ") : chosen(ends)], ["Shows", orders.orders[0].display ?? ""], [sumName.textContent ?? "", sum.textContent ?? ""], ["Now", foretold()]]);
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
    // What waits does not move.
    else if (waits.value !== "" && kind.value === "post_only_move") kind.value = "post_only";
    // What others wait for rests.
    else if (hasOthersBehind() && !rests()) kind.value = "limit";
  });
  const apply = presetsView(form, changed);
  form.addEventListener("input", changed);
  form.addEventListener("focusin", () => fees.look());
  // What is no number is named when the field is left; what was typed stays in it.
  form.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.inputMode !== "decimal" || target.value.trim() === "") return;
    const text = fault(plain(target.value), NAMES[target.name] ?? "The price");
    if (text) nameFault(form, target.name, text);
  });
  steps([limit, ...["trigger", "profit"].map((name) => within(form, "input", `[name=${name}]`))], { step: () => shown.step, from: () => market.book.side(side())[0]?.limit ?? shown.last, changed });
  steps([amount.input, display], { step: () => (amount.unit.value === "shares" ? rules()?.lot ?? "1" : amount.unit.value === "dollars" ? "100" : "1"), from: () => null, changed });
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
      limit.value = display.value = "";
      amount.clear();
      fees.look();
      changed();
    }
    mark();
  });
  holdings.watch(() => {
    fees.look();
    mark();
  });
  symbols.watch(mark);
  vitals.watch(mark);
  standing.watch(mark);
  sending.watch(mark);
  fees.watch(mark);
  market.book.watch(markWorth);

  return {
    take,
    apply,
    draft() {
      if (!holdings.id) chooseAccount();
      clearFaults(form);
      return holdings.id && market.symbol && check() ? asked(holdings.id, market.symbol) : null;
    },
    allow: sender.allow,
    filled: sender.filled,
    begin(chosen) {
      within(form, "input", `[name=side][value=${chosen}]`).checked = true;
      changed();
      (limit.value === "" && !atAnyPrice() ? limit : amount.input).focus();
    },
  };
}
