// A button that is pressed twice for what cannot be undone, and lists whose rows are kept by key.

import { make, setAttribute, setText } from "../dom.js";

/** A press is forgotten after so long. */
const SURE_MS = 4_000;

/**
 * @param {string} text
 * @param {string} name for those who hear it: which one it is
 * @param {() => Promise<void>|void} run
 * @param {{sure?: string|null, danger?: boolean}} [look] `sure`: what it asks; null if once is enough
 * @returns {HTMLButtonElement}
 */
export function confirmButton(text, name, run, { sure = null, danger = false } = {}) {
  const button = make("button", { type: "button", class: danger ? "danger" : null, "aria-label": `${text}: ${name}`, "data-do": text }, text);
  let asked = false;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  const ask = (/** @type {boolean} */ now) => {
    clearTimeout(timer);
    asked = now;
    setText(button, now && sure !== null ? sure : text);
    setAttribute(button, "aria-label", `${now && sure !== null ? sure : text}: ${name}`);
    if (now) timer = setTimeout(() => ask(false), SURE_MS);
  };
  button.addEventListener("blur", () => asked && ask(false));
  button.addEventListener("click", async () => {
    if (sure !== null && !asked) return ask(true);
    ask(false);
    // It keeps the focus meanwhile; a disabled one would lose it.
    if (button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    await run();
    button.removeAttribute("aria-disabled");
  });
  return button;
}

/**
 * Rows kept by key: one is made anew when what it shows differs, and the button that had the focus has it again.
 * @template T
 * @param {HTMLElement} list
 * @param {{key: (item: T) => string, version: (item: T) => string, make: (item: T) => (Node|string)[]}} parts
 * @returns {(items: T[]) => void}
 */
export function keptRows(list, { key, version, make: content }) {
  /** @type {Map<string, {item: HTMLLIElement, version: string}>} */
  const rows = new Map();
  return (items) => {
    const wanted = new Set(items.map(key));
    for (const [name, { item }] of rows) {
      if (wanted.has(name)) continue;
      item.remove();
      rows.delete(name);
    }
    /** @type {Node|null} */
    let place = list.firstChild;
    for (const each of items) {
      const name = key(each);
      const row = rows.get(name) ?? { item: make("li", { "data-key": name }), version: "" };
      rows.set(name, row);
      const now = version(each);
      if (row.version !== now) {
        const focus = row.item.contains(document.activeElement) ? document.activeElement?.getAttribute("data-do") : null;
        row.item.replaceChildren(...content(each));
        row.version = now;
        const again = focus ? (row.item.querySelector(`[data-do="${CSS.escape(focus)}"]`) ?? row.item.querySelector("button")) : null;
        if (again instanceof HTMLElement) again.focus({ preventScroll: true });
      }
      if (row.item === place) place = place.nextSibling;
      else list.insertBefore(row.item, place);
    }
  };
}
