// The order ticket. What it computes is exact; whether an order is taken is for the server to say.

import { MONEY_DECIMALS, exact, fault, plain } from "../decimal.js";
import { find, setText, within } from "../dom.js";
import { isForAuction } from "../state/kinds.js";
import { amountField } from "./amount.js";
import { clearFaults, nameFault, showFault } from "./faults.js";
import { presetsView } from "./presets.js";
import { farWarning } from "./price-guard.js";
import { steps } from "./steps.js";
import { ticketDrawing } from "./ticket-draw.js";
import { askedBy, checkFields, ticketFields } from "./ticket-fields.js";
import { kindFor } from "./ticket-order.js";
import { ticketPrices } from "./ticket-prices.js";
import { ticketSender } from "./ticket-send.js";
import { cost, foretold, most } from "./ticket-worth.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Fees } from "../state/fees.js" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { RefusedOrders } from "../state/refused.js" */
/** @import { Standing } from "../state/standing.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { Side } from "../types.js" */
/** @import { TicketOrder } from "./ticket-order.js" */
/** @import { Confirm } from "./confirm.js" */
/** @import { Amount, Fields } from "./ticket-fields.js" */

/** The names of fields in the fault of a text that is no number. @type {Record<string, string>} */
const NAMES = { limit: "Limit", shares: "The amount", display: "The shown amount" };

/** The pause between two forecasts while the book changes; users read no faster. */
const BOOK_PAUSE_MS = 100;

/**
 * @typedef {object} Ticket
 * @property {(side: Side) => void} begin chooses the side and goes to the first field
 * @property {(limit: string) => void} take fills in a price
 * @property {(preset: number) => boolean} apply fills it in as a preset says
 * @property {() => TicketOrder|null} draft what would be sent now; null while the fields are none, which is then said beside them
 * @property {(member: string) => void} allow hears who looks at the page; "" where there are no members
 * @property {(order: number, text: string) => void} filled hears what was executed of an order
 */

/** @typedef {{market: Market, symbols: Symbols, quote: Quote, holdings: AccountSeen, fees: Fees, vitals: Vitals, standing: Standing, refused: RefusedOrders, frames: Frames, api: Api, confirm: Confirm, chooseAccount: () => void}} Parts */
/** @typedef {Parts & {fields: Fields, prices: ReturnType<typeof ticketPrices>, amount: Amount, sender: ReturnType<typeof ticketSender>, mark: () => void, markWorth: () => void, changed: () => void}} Made */

/**
 * @param {Parts} parts
 * @returns {Ticket}
 */
export function ticketView(parts) {
  const { frames, holdings, market, chooseAccount } = parts;
  const fields = ticketFields();
  const { form, limit } = fields;
  const prices = ticketPrices(fields);
  const worth = { ...parts, fields };

  function changed() {
    prices.heedUnit();
    sender.changed();
    setText(find("ticket-done"), "");
    clearFaults(form);
    mark();
  }

  const amount = ticketAmount(worth, changed);
  const sender = ticketSender({
    ...parts,
    form,
    placed: (as_shown) => {
      if (!as_shown) return;
      amount.clear();
      fields.display.value = "";
    },
  });
  const draw = ticketDrawing({ ...worth, amount, sending: sender.sending });
  const mark = frames.view(draw.all);
  const made = { ...worth, prices, amount, sender, mark, markWorth: frames.view(draw.sum, BOOK_PAUSE_MS), changed };

  const kinds = kindChoice(fields);
  heedFields(made);
  const apply = presetsView(form, () => {
    kinds.forget();
    changed();
  });
  stepFields(made);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(made);
  });
  heedBestPrices(made);
  heedState(made);

  return {
    take: (text) => takePrice(made, text),
    apply,
    draft() {
      if (!holdings.id) chooseAccount();
      clearFaults(form);
      return holdings.id && market.symbol && checkFields(fields, amount) ? askedBy(fields, amount, holdings.id, market.symbol) : null;
    },
    allow: sender.allow,
    filled: sender.filled,
    begin(chosen) {
      within(form, "input", `[name=side][value=${chosen}]`).checked = true;
      changed();
      (limit.value === "" && !fields.atAnyPrice() ? limit : amount.input).focus();
    },
  };
}

/** The field of the amount, which knows what it is a part of. @param {Parts & {fields: Fields}} parts @param {() => void} changed */
function ticketAmount(parts, changed) {
  const { fields, holdings, market, quote } = parts;
  return amountField({
    basis: () => ({
      side: fields.side(),
      most: most(parts),
      each: fields.bound(),
      lot: quote.rules?.lot,
      book: market.book,
      balance: holdings.account ? exact(holdings.account.balance, MONEY_DECIMALS) : null,
      at_once: fields.takesAtOnce(),
    }),
    changed,
    unpriced: () => {
      if (holdings.account && fields.side() === "buy" && !fields.atAnyPrice())
        showFault(fields.form, "limit", "The limit comes first: it says what a share costs");
    },
  });
}

/** Sends what the fields ask for, or again what nobody knows the outcome of. @param {Made} made */
async function send(made) {
  const { fields, amount, market, holdings, standing, fees, sender, chooseAccount } = made;
  const { sending } = sender;
  if (market.past || sending.state === "sending") return;
  clearFaults(fields.form);
  setText(find("ticket-done"), "");
  fees.look();
  if (sending.orders) return sender.send(sending.orders, [], "");
  if (!holdings.id) return chooseAccount();
  if (!market.symbol || standing.obstacles.length > 0 || !checkFields(fields, amount)) return;
  const orders = askedBy(fields, amount, holdings.id, market.symbol);
  const chosen = (/** @type {HTMLSelectElement} */ select) => select.selectedOptions[0]?.text ?? "";
  const ends = !fields.stays() ? "" : fields.endsAtATime() ? fields.until.value.replace("T", " ") : chosen(fields.ends);
  const [sumName, sum] = [find("ticket-total-name"), find("ticket-total")];
  await sender.send(
    orders,
    [
      ["Kind", chosen(fields.kind)],
      ["Ends", ends],
      ["Shows", orders.orders[0].display ?? ""],
      [sumName.textContent ?? "", sum.textContent ?? ""],
      ["Now", foretold(made, amount)],
    ],
    warningOf(made, orders),
  );
}

/** The warning about orders whose price is far from the market; empty if there is none. @param {Made} made @param {TicketOrder} orders */
function warningOf(made, orders) {
  const { market, quote, amount } = made;
  const [{ symbol }] = orders.orders;
  const [money, shares] = [cost(made, amount), amount.shares()];
  const average = money === null || shares === null || shares <= 0n ? null : money / shares;
  const [bid, ask] = [market.book.bids[0]?.price, market.book.asks[0]?.price];
  return farWarning(orders, { last: quote.last, bid, ask, average }, (text) => quote.price(text, symbol));
}

/** @param {Made} made @param {string} text */
function takePrice({ fields, changed }, text) {
  // Who chooses a price wants no other.
  if (fields.atAnyPrice()) fields.kind.value = isForAuction(fields.kind.value) ? "auction_limit" : "limit";
  fields.limit.value = text;
  changed();
}

/** The buttons that show the best bid and ask take their prices. @param {Made} made */
function heedBestPrices(made) {
  for (const [button, side] of /** @type {const} */ ([
    ["ticket-bid", "buy"],
    ["ticket-ask", "sell"],
  ])) {
    find(button).addEventListener("click", () => {
      const best = made.market.book.side(side)[0];
      if (best) takePrice(made, best.limit);
      made.fields.limit.focus();
    });
  }
}

/** Has the kind go with what the order waits for. A kind that had to give way comes back as soon as it may. @param {Fields} fields */
function kindChoice({ kind, waits }) {
  /** The kind that was chosen, and the one that stands in its place. @type {{wanted: string, instead: string}|null} */
  let replaced = null;
  kind.addEventListener("input", () => {
    replaced = null;
    // What is for an auction waits for nothing else, and the other way round.
    if (isForAuction(kind.value)) waits.value = "";
  });
  waits.addEventListener("input", () => {
    const wanted = replaced?.instead === kind.value ? replaced.wanted : kind.value;
    kind.value = kindFor(wanted, waits.value);
    replaced = kind.value === wanted ? null : { wanted, instead: kind.value };
  });
  return {
    /** The kind that stands there now was chosen otherwise. */
    forget: () => (replaced = null),
  };
}

/** @param {Made} made */
function heedFields({ fields, fees, changed }) {
  const { form } = fields;
  form.addEventListener("input", changed);
  form.addEventListener("focusin", () => fees.look());
  // What is no number is named when the field is left; what was typed stays in it.
  form.addEventListener("change", ({ target }) => {
    if (!(target instanceof HTMLInputElement) || target.inputMode !== "decimal" || target.value.trim() === "") return;
    const text = fault(plain(target.value), NAMES[target.name] ?? "The price");
    if (text) nameFault(form, target.name, text);
  });
}

/** Arrow keys change prices by ticks, and amounts by lots. @param {Made} made */
function stepFields({ fields, amount, quote, market, changed }) {
  const { limit, trigger, profit, display } = fields;
  steps([limit, trigger, profit], {
    step: () => quote.step,
    from: () => market.book.side(fields.side())[0]?.limit ?? quote.last,
    changed,
  });
  steps([amount.input, display], {
    step: () => (amount.unit.value === "shares" ? (quote.rules?.lot ?? "1") : amount.unit.value === "dollars" ? "100" : "1"),
    from: () => null,
    changed,
  });
}

/** Draws it anew when what it shows is another. @param {Made} made */
function heedState({ prices, amount, holdings, market, symbols, vitals, standing, sender, fees, mark, markWorth, changed }) {
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
    if (symbol !== market.symbol) {
      symbol = market.symbol;
      prices.forgetSymbol();
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
  for (const each of [symbols, vitals, standing, sender.sending, fees]) each.watch(mark);
  market.book.watch(markWorth);
}
