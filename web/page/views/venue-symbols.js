// The symbols of the venue, with their phases and kills, and the buttons that change them.

import { find, make, setAttribute, setText } from "../dom.js";
import { group } from "../decimal.js";
import { killOutcome } from "../state/kills.js";
import { phaseText } from "./phase.js";
import { keptRows, confirmButton } from "./confirm-button.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { SymbolInfo } from "../types.js" */
/** @import { Attempt, Rights } from "./venue-view.js" */

/** The most symbols that are listed; a filter finds others by their name. */
const SYMBOLS_MAX = 50;
const PAUSE_MS = 250;

/** The name of a phase after “is”. */
const PHASE_NAMES = { open: "open", halted: "halted", auction: "in an auction" };

/**
 * @param {{api: Api, attempt: Attempt, symbols: Symbols, quote: Quote, frames: Frames, rights: () => Rights}} parts
 * @returns {{show: () => void}}
 */
export function venueSymbols({ api, attempt, symbols, quote, frames, rights }) {
  const search = /** @type {HTMLInputElement} */ (find("control-symbols-find"));
  const note = find("control-symbols-note");

  const drawRows = keptRows(find("control-symbols"), {
    key: (/** @type {SymbolInfo} */ { symbol }) => symbol,
    version: (info) =>
      JSON.stringify([info.phase, info.killed, info.rules?.tick, info.rules?.lot, rights().operates, info.phase?.until ? Math.floor(Date.now() / 1_000) : 0]),
    make: (info) => (rights().operates ? [textOf(info, quote), buttonsOf(info, { api, attempt })] : [textOf(info, quote)]),
  });

  const mark = frames.view(() => {
    if (find("control").hidden) return;
    const words = search.value.trim().toLowerCase();
    const listed = matching([...symbols.all.values()], words);
    drawRows(listed.slice(0, SYMBOLS_MAX));
    setText(note, noteOf(listed.length, words));
    note.hidden = note.textContent === "";
  }, PAUSE_MS);

  search.addEventListener("input", mark);
  symbols.watch(mark);
  return { show: mark };
}

/** @typedef {keyof typeof PHASE_NAMES} PhaseName */
/** The interface of the venue, and the attempt that shows what came of a call. @typedef {{api: Api, attempt: Attempt}} VenueCalls */

/** The buttons that change the phase of a symbol, and kill or release it. @param {SymbolInfo} info @param {VenueCalls} calls */
function buttonsOf({ symbol, phase, killed }, calls) {
  const current = phase?.name ?? "open";
  const phaseButton = (/** @type {string} */ text, /** @type {PhaseName} */ name) => {
    const button = confirmButton(text, symbol, () => setPhase(symbol, name, calls), { sure: name === "halted" ? "Sure? Halt" : null });
    setAttribute(button, "aria-pressed", String(current === name));
    return button;
  };
  return make(
    "span",
    { class: "control-buttons" },
    phaseButton("Open", "open"),
    phaseButton("Auction", "auction"),
    phaseButton("Halt", "halted"),
    killButton(symbol, killed === true, calls),
  );
}

/** @param {string} symbol @param {PhaseName} phase @param {VenueCalls} calls */
async function setPhase(symbol, phase, { api, attempt }) {
  await attempt(async () => {
    await api.setPhase(symbol, phase);
    return `${symbol} is ${PHASE_NAMES[phase]}`;
  });
}

/** @param {string} symbol @param {boolean} killed @param {VenueCalls} calls */
function killButton(symbol, killed, { api, attempt }) {
  return confirmButton(
    killed ? "Release" : "Kill",
    symbol,
    async () => {
      await attempt(async () => {
        const outcome = await api.kill("symbols", symbol, !killed);
        return killed ? `${symbol} is released` : killOutcome(symbol, outcome);
      });
    },
    { sure: killed ? null : "Sure? Kill", danger: !killed },
  );
}

/** Symbols whose names hold the words: those that are not open first, then by their names. @param {SymbolInfo[]} all @param {string} words */
function matching(all, words) {
  return all
    .filter(({ symbol }) => symbol.toLowerCase().includes(words))
    .sort((a, b) => Number(Boolean(b.phase || b.killed)) - Number(Boolean(a.phase || a.killed)) || (a.symbol < b.symbol ? -1 : 1));
}

/** The note beneath the list. @param {number} count @param {string} words */
function noteOf(count, words) {
  if (count === 0) return words === "" ? "No symbols yet" : "No symbol has such a name";
  return count > SYMBOLS_MAX ? `and ${count - SYMBOLS_MAX} more: type a part of their name` : "";
}

/** The text of a symbol's row. @param {SymbolInfo} info @param {Quote} quote */
function textOf({ symbol, phase, killed, rules }, quote) {
  const state = [killed ? "Killed: takes no orders" : "", phase ? phaseText(phase, (price) => quote.price(price, symbol)) : "Open"].filter(Boolean).join(" · ");
  const steps = [rules?.tick && `tick ${group(rules.tick)}`, rules?.lot && `lot ${group(rules.lot)}`].filter(Boolean).join(", ");
  return make(
    "span",
    { class: "control-text" },
    make("strong", {}, symbol),
    " ",
    make("span", { "data-state": killed || phase ? "held" : null }, state),
    steps ? make("span", { class: "muted" }, ` · ${steps}`) : "",
  );
}
