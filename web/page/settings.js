// The settings that this browser remembers: the theme, the account, the symbol, the interval, how orders are sent, the layout, the watchlist. Without storage it remembers none.

/** @typedef {"theme"|"account"|"symbol"|"interval"|"confirm"|"presets"|"layout"|"favourites"|"listed"|"alerts"|"sound"|"studies"|"lines"} Setting */

/** Values that come within this time are remembered once. */
const SOON_MS = 200;

/** @param {Setting} name @returns {string|null} */
export function remembered(name) {
  try {
    return localStorage.getItem(`pricetime.${name}`);
  } catch {
    return null;
  }
}

/** @param {Setting} name @param {string|null} value */
export function remember(name, value) {
  try {
    if (value === null) localStorage.removeItem(`pricetime.${name}`);
    else localStorage.setItem(`pricetime.${name}`, value);
  } catch {
    // A browser that keeps nothing still trades.
  }
}

/** The remembered value, from JSON; null if there is none, or none that can be read. @param {Setting} name @returns {unknown} */
export function recalled(name) {
  try {
    return JSON.parse(remembered(name) ?? "null");
  } catch {
    return null;
  }
}

/**
 * Remembers the last one of many values that come quickly, as JSON; what still waits is remembered when the page is left.
 * @param {Setting} name
 * @returns {(value: unknown) => void}
 */
export function rememberSoon(name) {
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  /** @type {(() => void)|null} */
  let waits = null;
  addEventListener("pagehide", () => waits?.());
  return (value) => {
    clearTimeout(timer);
    waits = () => {
      clearTimeout(timer);
      waits = null;
      remember(name, JSON.stringify(value));
    };
    timer = setTimeout(waits, SOON_MS);
  };
}

/** Keeps the orders on their way for this tab alone; they outlive a reload. @param {string|null} value */
export const keepSending = (value) => keepInTab("sending", value);

/** @returns {unknown} */
export const keptSending = () => keptInTab("sending");

/** Keeps the refused orders for this tab alone; they outlive a reload. @param {string|null} value */
export const keepRefused = (value) => keepInTab("refused", value);

/** @returns {unknown} */
export const keptRefused = () => keptInTab("refused");

/** @param {string} name @param {string|null} value */
function keepInTab(name, value) {
  try {
    if (value === null) sessionStorage.removeItem(`pricetime.${name}`);
    else sessionStorage.setItem(`pricetime.${name}`, value);
  } catch {
    // Without storage a reload forgets it.
  }
}

/** @param {string} name @returns {unknown} */
function keptInTab(name) {
  try {
    return JSON.parse(sessionStorage.getItem(`pricetime.${name}`) ?? "null");
  } catch {
    return null;
  }
}
