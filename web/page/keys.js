// Keys for the whole page, and the map of them that people read. None of them does anything while something is typed or a dialog is open.

import { find, make } from "./dom.js";

/** A key, what it does in words, and the group it stands in. @typedef {{key: string, group: string, text: string, run: () => void, shown?: string[]}} Key `shown` where one line of the map stands for several keys */

/** @type {Map<string, Key>} */
const known = new Map();

/** Has keys work, and stand in the map. A letter is itself without Shift and with it, unless both are named. @param {Key[]} keys */
export function listen(keys) {
  if (known.size === 0) document.addEventListener("keydown", hear);
  for (const key of keys) {
    known.set(key.key, key);
    if (key.text !== "") place(key);
  }
}

/** @param {KeyboardEvent} event */
function hear(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
  const target = event.target instanceof HTMLElement ? event.target : null;
  if (event.key === "Escape") {
    // A dialog and a list close by themselves; out of a field it leads back to the page.
    if (target && typing(target)) target.blur();
    return;
  }
  if ((target && typing(target)) || document.querySelector("dialog[open]")) return;
  const key = known.get(event.key) ?? known.get(event.key.toLowerCase());
  if (!key) return;
  event.preventDefault();
  key.run();
}

/** Its line in the map. @param {Key} key */
function place({ key, group, text, shown }) {
  const map = find("keys-map");
  const names = shown ?? [key.length === 1 && /[a-z]/.test(key) ? key.toUpperCase() : key];
  const line = make("div", {}, make("dt", {}, ...names.flatMap((name, at) => [...(at > 0 ? [" "] : []), make("kbd", {}, name)])), make("dd", {}, text));
  const there = [...map.children].find((child) => child instanceof HTMLElement && child.dataset.group === group);
  if (there) return there.querySelector("dl")?.append(line);
  return map.append(make("section", { "data-group": group }, make("h3", {}, group), make("dl", { class: "keys" }, line)));
}

/** @param {HTMLElement} target */
function typing(target) {
  if (target instanceof HTMLInputElement) return target.type !== "radio" && target.type !== "checkbox";
  return target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement || target.isContentEditable;
}
