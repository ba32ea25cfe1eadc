// Draws the order ticket: its fields, the texts beside them, and its button.

import { MONEY_DECIMALS, format, group } from "../decimal.js";
import { find, setAttribute, setText, within } from "../dom.js";
import { isForAuction } from "../state/kinds.js";
import { AUCTION_KINDS, kindNote } from "./ticket-kinds.js";
import { MOVES, goesWith } from "./ticket-order.js";
import { cost, foretold, most } from "./ticket-worth.js";

/** @import { Sending } from "../state/sending.js" */
/** @import { Standing } from "../state/standing.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { Amount, Fields } from "./ticket-fields.js" */
/** @import { Parts } from "./ticket-worth.js" */

/**
 * Gives what draws the whole ticket, and what draws what changes with the book.
 * @param {Parts & {amount: Amount, vitals: Vitals, standing: Standing, sending: Sending}} parts
 */
export function ticketDrawing(parts) {
  const { fields, amount, quote, vitals } = parts;
  const drawSum = sumDrawing(parts);
  const drawAvailable = availableDrawing(parts);
  const drawConditions = conditionDrawing(fields);
  const drawButton = buttonDrawing(parts);
  const drawKinds = kindDrawing(parts);
  const drawTerms = termDrawing(fields, vitals);
  return {
    sum() {
      drawKinds();
      drawSum();
    },
    all() {
      setAttribute(fields.form, "data-side", fields.side());
      drawAvailable();
      drawKinds();
      drawTerms();
      drawConditions();
      drawSum();
      fields.limit.placeholder = quote.rules?.tick ?? "0.00";
      amount.input.placeholder = amount.unit.value === "shares" ? (quote.rules?.lot ?? "0") : "0";
      drawButton();
    },
  };
}

/** Draws the amount that the account can spend or sell. @param {Parts} parts */
function availableDrawing({ fields, market, holdings }) {
  const name = find("ticket-available-name");
  const available = find("ticket-available");
  return () => {
    const selling = fields.side() === "sell";
    const account = holdings.account;
    setText(name, selling ? "Can sell" : "Can spend");
    if (!account) setText(available, holdings.id && !holdings.refused ? "…" : "–");
    else if (selling) setText(available, market.symbol ? `${group(holdings.position(market.symbol)?.shares ?? "0")} ${market.symbol}` : "–");
    else setText(available, group(account.balance));
  };
}

/** Shows and hides fields by the kind of the order. @param {Fields} fields @param {Vitals} vitals */
function termDrawing(fields, vitals) {
  const dayOption = within(fields.ends, "option", "[value=day]");
  const restOption = within(fields.ends, "option", "[value='']");
  const moveOption = within(fields.kind, "option", `[value=${MOVES}]`);
  const [limitField, endsField, untilField, displayField] = ["limit", "ends", "until", "display"].map((name) => find(`ticket-${name}-field`));
  return () => {
    limitField.hidden = fields.atAnyPrice();
    dayOption.hidden = dayOption.disabled = vitals.server?.orders_for_the_day !== true;
    setText(restOption, isForAuction(fields.kind.value) ? "With the auction (GFA)" : "When canceled (GTC)");
    moveOption.disabled = !goesWith(MOVES, fields.waits.value);
    endsField.hidden = !fields.stays();
    untilField.hidden = !fields.endsAtATime();
    displayField.hidden = !fields.showsAPart();
  };
}

/** Says for which auction the kinds for one are, and what the phase of the symbol means for the chosen kind. @param {Parts} parts */
function kindDrawing({ fields, quote }) {
  const options = Object.keys(AUCTION_KINDS).map((kind) => within(fields.kind, "option", `[value=${kind}]`));
  const note = find("ticket-kind-note");
  return () => {
    const { phase, rules } = quote;
    const gathers = phase?.name === "auction";
    for (const option of options) setText(option, AUCTION_KINDS[option.value][gathers ? 0 : 1]);
    setText(note, kindNote({ kind: fields.kind.value, waits: fields.waits.value, side: fields.side(), self_trade: fields.selfTradeOf(), phase, rules }));
  };
}

/** Draws the fields for the price that the order waits for, and for the orders behind it. @param {Fields} fields */
function conditionDrawing(fields) {
  const [triggerField, profitField] = [find("ticket-trigger-field"), find("ticket-profit-field")];
  const [triggerNote, triggerName, profitNote] = [find("ticket-trigger-note"), find("ticket-trigger-name"), find("ticket-profit-note")];
  return () => {
    const selling = fields.side() === "sell";
    const waits = fields.waits.value;
    triggerField.hidden = !fields.hasTrigger();
    profitField.hidden = !fields.hasProfit();
    const rises = fields.hasOthersBehind() ? selling : (waits !== "take_profit") !== selling;
    const reached = `an execution at this price or ${rises ? "above" : "below"}`;
    const back = selling ? "Buys" : "Sells";
    setText(profitNote, `${back} at this price once all of it is executed`);
    if (fields.hasOthersBehind())
      setText(triggerNote, `${back} at any price after ${reached}, once all of it is executed${fields.hasProfit() ? "; one cancels the other" : ""}`);
    else if (fields.follows())
      setText(
        triggerNote,
        `Waits so many ${waits === "trail" ? "dollars" : "per cent"} ${selling ? "below the highest" : "above the lowest"} price from now on`,
      );
    else
      setText(
        triggerNote,
        fields.isOneOfTwo() ? `${selling ? "Sells" : "Buys"} at any price instead after ${reached}; one cancels the other` : `Waits for ${reached}`,
      );
    setText(triggerName, waits === "trail" ? "Behind, $" : waits === "trail_bips" ? "Behind, %" : "When at");
  };
}

/** Draws the worth and the effect of the order, which change with the book. @param {Parts & {amount: Amount}} parts */
function sumDrawing(parts) {
  const { fields, holdings, amount } = parts;
  const [sumName, sum] = [find("ticket-total-name"), find("ticket-total")];
  const [available, forecastLine] = [find("ticket-available"), find("ticket-forecast")];
  return () => {
    setText(sumName, fields.atAnyPrice() ? "About" : "Total");
    const money = cost(parts, amount);
    setText(sum, money === null ? "–" : group(format(money, MONEY_DECIMALS)));
    const [count, possible] = [amount.shares(), most(parts)];
    const tooMuch = holdings.account !== null && count !== null && possible !== null && count > possible;
    setAttribute(fields.form, "data-too-much", tooMuch);
    setAttribute(available, "title", tooMuch ? "Less than this order needs" : null);
    amount.draw();
    setText(forecastLine, foretold(parts, amount));
  };
}

/** Draws the button's text, and enables or disables it. @param {Parts & {standing: Standing, sending: Sending}} parts */
function buttonDrawing({ fields, market, holdings, standing, sending }) {
  const submit = /** @type {HTMLButtonElement} */ (find("ticket-submit"));
  const pastNote = find("ticket-past");
  return () => {
    const [obstacle] = standing.obstacles;
    const past = market.past !== null;
    // Nothing of it can be used: a sentence above says why.
    setAttribute(fields.form, "inert", past);
    pastNote.hidden = !past;
    submit.disabled = sending.state === "sending" || sending.waits || past || (!sending.orders && (!market.symbol || obstacle !== undefined));
    const action = fields.side() === "sell" ? "Sell" : "Buy";
    if (past) setText(submit, "No orders in a replay");
    else if (sending.orders) setText(submit, sending.unknown ? `Send again: ${sending.orders.orders[0].side}` : "Sending…");
    else if (sending.waits) setText(submit, "Asking who you are…");
    else if (obstacle) setText(submit, obstacle.button);
    else setText(submit, holdings.id ? `${action} ${market.symbol ?? ""}`.trim() : "Choose an account");
  };
}
