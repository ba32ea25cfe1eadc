// Alerts beneath the watchlist: a price of the symbol that is looked at, the list of those that wait and those that rang, and their sound.

import { fault, group, plain } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { timeOfDay } from "../format.js";
import { notice } from "./notices.js";

/** @import { Frames } from "../frames.js" */
/** @import { Sound } from "../sound.js" */
/** @import { Alert, Alerts } from "../state/alerts.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */

/** @param {{alerts: Alerts, market: Market, quote: Quote, sound: Sound, frames: Frames}} parts */
export function alertsView({ alerts, market, quote, sound, frames }) {
  const form = /** @type {HTMLFormElement} */ (find("alert-form"));
  const input = /** @type {HTMLInputElement} */ (find("alert-price"));
  const wrong = find("alert-price-fault");
  const list = find("alert-list");
  const button = find("alert-sound");
  const count = find("alert-count");
  const drawRows = alertRows(list, { alerts, quote, left: () => input.focus() });

  const mark = frames.view(() => {
    setText(find("alert-symbol"), market.symbol ?? "–");
    setAttribute(button, "aria-pressed", String(sound.on));
    setText(button, sound.on ? "Sound on" : "Sound off");
    const waiting = alerts.all.filter(({ rang }) => rang === null).length;
    setText(count, waiting > 0 ? String(waiting) : "");
    drawRows();
  });

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const price = plain(input.value);
    const why = fault(price, "Price") ?? (market.symbol ? alerts.add(market.symbol, price, quote.last) : "Choose a symbol first");
    setText(wrong, why ?? "");
    setAttribute(input, "aria-invalid", why === null ? null : "true");
    if (why === null) input.value = "";
  });
  const clearFault = () => {
    setText(wrong, "");
    setAttribute(input, "aria-invalid", null);
  };
  const clear = () => {
    input.value = "";
    clearFault();
  };
  input.addEventListener("input", clearFault);
  button.addEventListener("click", () => {
    sound.turn(!sound.on);
    mark();
  });
  alerts.onRing = ({ symbol, price, rises }, last) => {
    const heard = sound.play();
    setAttribute(list, "data-heard", String(Number(list.dataset.heard ?? 0) + Number(heard)));
    notice(`${rises ? "▲" : "▼"} Alert: ${symbol} reached ${quote.price(price, symbol)}, at ${group(last)} now`);
  };
  alerts.watch(mark);
  let { symbol } = market;
  market.watch(() => {
    // A price of another symbol is worse than none.
    if (symbol !== market.symbol) clear();
    symbol = market.symbol;
    mark();
  });
}

/**
 * The rows of alerts, newest first, each with the button that removes it.
 * @param {HTMLElement} list
 * @param {{alerts: Alerts, quote: Quote, left: () => void}} parts `left` takes the focus of a row that goes
 * @returns {() => void} draws them
 */
function alertRows(list, { alerts, quote, left }) {
  /** Rows by id, in their order. @type {Map<number, {item: HTMLLIElement, text: HTMLElement}>} */
  const rows = new Map();

  /** @param {Alert} alert */
  function addRow(alert) {
    const text = make("span", { class: "number" });
    const remove = make("button", { type: "button", class: "quiet icon", "aria-label": `Remove the alert of ${alert.symbol} at ${alert.price}` }, "×");
    remove.addEventListener("click", () => alerts.remove(alert.id));
    const row = { item: make("li", {}, text, remove), text };
    list.prepend(row.item);
    rows.set(alert.id, row);
    return row;
  }

  return () => {
    const ids = new Set(alerts.all.map(({ id }) => id));
    for (const [id, { item }] of rows) {
      if (ids.has(id)) continue;
      if (item.contains(document.activeElement)) left();
      item.remove();
      rows.delete(id);
    }
    for (const alert of alerts.all) {
      const row = rows.get(alert.id) ?? addRow(alert);
      setText(row.text, textOf(alert, quote));
      setAttribute(row.item, "data-rang", alert.rang !== null);
    }
  };
}

/** @param {Alert} alert @param {Quote} quote */
function textOf({ symbol, price, rises, rang }, quote) {
  return `${symbol} ${rises ? "▲" : "▼"} ${quote.price(price, symbol)}${rang === null ? "" : ` · rang ${timeOfDay(rang)}`}`;
}
