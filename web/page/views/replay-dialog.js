// The dialog in which the moment of a replay is chosen: a time, or a command.

import { Refusal } from "../api.js";
import { make, setText } from "../dom.js";
import { count, dayTimeOfYear } from "../format.js";

/** @import { Api } from "../api.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Moment } from "../state/replay.js" */

/**
 * @param {{api: Pick<Api, "status">, market: Pick<Market, "symbol">, go: (symbol: string, moment: Moment) => void}} parts `go` shows a moment
 * @returns {(shown_ms: number) => Promise<void>} opens it with a moment
 */
export function replayDialog({ api, market, go }) {
  const when = make("input", { id: "replay-when", type: "datetime-local", step: "1", autofocus: true });
  const number = make("input", { id: "replay-command", class: "number", inputmode: "numeric", autocomplete: "off", "aria-describedby": "replay-last" });
  const last = make("p", { id: "replay-last", class: "muted" });
  const fault = make("p", { id: "replay-fault", class: "fault", role: "alert" });
  const form = make(
    "form",
    { novalidate: true },
    make("p", {}, "The market as it was: its book, trades and chart, played on from there. Orders that are open now stay open."),
    make("div", { class: "field" }, make("label", { for: "replay-when" }, "At a time"), when),
    make("div", { class: "field" }, make("label", { for: "replay-command" }, "or behind a command"), number),
    last,
    fault,
    make("p", { class: "actions" }, make("button", { type: "submit", class: "primary" }, "Show it")),
  );
  const close = make("button", { type: "button", class: "quiet icon", "aria-label": "Close" }, "×");
  const dialog = make(
    "dialog",
    { id: "replay-dialog", class: "dialog narrow", "aria-labelledby": "replay-title" },
    make("header", {}, make("h2", { id: "replay-title" }, "Replay"), close),
    form,
  );
  document.body.append(dialog);

  close.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const moment = momentOf(number.value, when.value);
    setText(fault, moment ? "" : number.value.trim() === "" ? "The time is missing" : "A command is a whole number, such as 1042");
    if (!moment || !market.symbol) return;
    dialog.close();
    go(market.symbol, moment);
  });

  return async (shown_ms) => {
    when.value = dayTimeOfYear(shown_ms * 1_000).replace(" ", "T");
    number.value = "";
    setText(fault, "");
    setText(last, "");
    if (!dialog.open) dialog.showModal();
    try {
      setText(last, `The last command is ${count((await api.status()).sequence)}`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  };
}

/** The moment that is typed: a command, else a time. @param {string} command @param {string} when @returns {Moment|null} */
function momentOf(command, when) {
  const digits = command.replaceAll(",", "").trim();
  if (digits !== "") return /^\d{1,15}$/.test(digits) ? { at: Number(digits) } : null;
  const time_ms = new Date(when).getTime();
  // Behind all that happened in that second.
  return Number.isNaN(time_ms) ? null : { time: time_ms * 1_000 + 999_999 };
}
