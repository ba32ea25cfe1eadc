// The page around the views: its sections on a telephone, the buttons at its top, its dialogs, and what stands there while no market can be shown.

import { find, setAttribute, setText } from "./dom.js";

/** @import { Frames } from "./frames.js" */
/** @import { Market } from "./state/market.js" */
/** @import { Symbols } from "./state/symbols.js" */
/** @import { Theme } from "./theme.js" */

/** The buttons that choose a section, on a telephone. */
const sections = [...document.querySelectorAll("nav.sections button")].filter((button) => button instanceof HTMLButtonElement);

/** Shows one section at a time, on a telephone. @param {string|undefined} name */
export function showSection(name) {
  document.body.dataset.section = name;
  for (const button of sections) setAttribute(button, "aria-current", button.dataset.section === name ? "true" : null);
}

/** Shows the map of keys. */
export function showKeys() {
  /** @type {HTMLDialogElement} */ (find("keys-dialog")).showModal();
}

/**
 * Wires the buttons and dialogs of the page as a whole.
 * @param {{market: Market, symbols: Symbols, frames: Frames, theme: Theme, openLayout: () => void, chooseMoment: () => void, create: () => void, chooseSymbol: () => void}} parts
 */
export function chrome({ market, symbols, frames, theme, openLayout, chooseMoment, create, chooseSymbol }) {
  themeButton(theme);
  find("keys").addEventListener("click", showKeys);
  find("layout-open").addEventListener("click", openLayout);
  find("replay-open").addEventListener("click", chooseMoment);
  find("create-open").addEventListener("click", create);
  find("welcome-create").addEventListener("click", create);
  find("unknown-choose").addEventListener("click", chooseSymbol);
  closeDialogs();
  find("welcome-copy").addEventListener("click", copyWelcome);
  for (const button of sections) button.addEventListener("click", () => showSection(button.dataset.section));

  const mark = frames.view(() => drawMarketState(market, symbols));
  symbols.watch(mark);
  market.watch(mark);
}

/** @param {Theme} theme */
function themeButton(theme) {
  const button = find("theme");
  const draw = () => setAttribute(button, "aria-label", theme.name === "dark" ? "Light theme" : "Dark theme");
  button.addEventListener("click", () => theme.toggle());
  theme.watch(draw);
  draw();
}

/** Has each dialog close by its button, and by a press beside it: its own area begins at its children. */
function closeDialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog && dialog.querySelector("[data-close]")) dialog.close();
    });
  }
}

/** Copies the line that begins a market; selects it where nothing can be copied. */
async function copyWelcome() {
  try {
    await navigator.clipboard.writeText(find("welcome-line").textContent ?? "");
    setText(find("welcome-copy"), "Copied");
  } catch {
    getSelection()?.selectAllChildren(find("welcome-line"));
  }
}

/** Says what stands in the place of the market: it, a welcome, why there is none, or nothing yet. @param {Market} market @param {Symbols} symbols */
function drawMarketState(market, symbols) {
  const none = symbols.state === "live" && symbols.all.size === 0 && !market.symbol;
  document.body.dataset.market = none ? "none" : market.refused ? "refused" : market.symbol ? "chosen" : "loading";
  find("welcome").hidden = !none;
  find("unknown").hidden = none || !market.refused;
  setText(find("unknown-text"), market.refused ? `${market.symbol}: ${market.refused}` : "");
}
