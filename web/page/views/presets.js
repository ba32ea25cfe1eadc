// Presets: how the ticket is filled in, but for prices, under a name. They are kept in this browser, nine at most, one for each number key.

import { find, make, setText } from "../dom.js";
import { remember, remembered } from "../settings.js";

/** A preset: the values of the ticket's fields, by name. @typedef {{name: string, fields: Record<string, string>}} Preset */

const PRESETS_MAX = 9;
const NAME_MAX = 16;
const VALUE_MAX = 40;
/** Fields that a preset keeps. A price of yesterday is worse than none. */
const FIELDS = ["kind", "waits", "unit", "shares", "display", "self-trade", "ends"];

/** Reads the kept presets, whatever another program wrote there. @param {string|null} text @returns {Preset[]} */
export function presetsOf(text) {
  let kept;
  try {
    kept = JSON.parse(text ?? "[]");
  } catch {
    return [];
  }
  if (!Array.isArray(kept)) return [];
  return kept
    .flatMap((each) => {
      const { name, fields } = each ?? {};
      if (typeof name !== "string" || name === "" || name.length > NAME_MAX || typeof fields !== "object" || fields === null) return [];
      const sound = FIELDS.flatMap((field) => (typeof fields[field] === "string" && fields[field].length <= VALUE_MAX ? [[field, fields[field]]] : []));
      return [{ name, fields: Object.fromEntries(sound) }];
    })
    .slice(0, PRESETS_MAX);
}

/** Returns the presets with one more, in place of the one with its name; null if there is no room. @param {Preset[]} presets @param {Preset} preset */
export function withPreset(presets, preset) {
  const at = presets.findIndex(({ name }) => name === preset.name);
  if (at >= 0) return presets.with(at, preset);
  return presets.length >= PRESETS_MAX ? null : [...presets, preset];
}

/**
 * @param {HTMLFormElement} form
 * @param {() => void} applied
 * @returns {(at: number) => boolean} fills the ticket in as a preset says, counted from one
 */
export function presetsView(form, applied) {
  const row = find("ticket-presets");
  const input = /** @type {HTMLInputElement} */ (find("ticket-preset-name"));
  const save = /** @type {HTMLButtonElement} */ (find("ticket-preset-save"));
  const drop = /** @type {HTMLButtonElement} */ (find("ticket-preset-drop"));
  const note = find("ticket-preset-note");
  let presets = presetsOf(remembered("presets"));

  function draw() {
    const named = presets.some(({ name }) => name === input.value.trim());
    drop.disabled = !named;
    save.disabled = input.value.trim() === "";
    setText(save, named ? "Replace" : "Save");
    drawButtons(row, presets, apply);
  }

  /** @param {number} number */
  function apply(number) {
    const preset = presets[number - 1];
    if (!preset) return false;
    fillIn(form, preset);
    input.value = preset.name;
    draw();
    applied();
    return true;
  }

  /** @param {Preset[]|null} next @param {string} text */
  function keep(next, text) {
    if (next === null) return setText(note, `There are ${PRESETS_MAX} presets, one for each number key; remove one first`);
    presets = next;
    remember("presets", JSON.stringify(presets));
    setText(note, text);
    draw();
  }

  save.addEventListener("click", () => {
    const name = input.value.trim().slice(0, NAME_MAX);
    keep(withPreset(presets, { name, fields: valuesOf(form) }), `“${name}” is kept in this browser`);
  });
  drop.addEventListener("click", () => {
    const name = input.value.trim();
    const others = presets.filter((preset) => preset.name !== name);
    keep(others, `“${name}” is removed`);
  });
  input.addEventListener("input", (event) => {
    event.stopPropagation();
    setText(note, "");
    draw();
  });
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    // Else it would send the order.
    event.preventDefault();
    if (!save.disabled) save.click();
  });
  draw();
  return apply;
}

/** Draws a button for each preset. @param {HTMLElement} row @param {Preset[]} presets @param {(number: number) => void} apply */
function drawButtons(row, presets, apply) {
  row.hidden = presets.length === 0;
  if (row.children.length === presets.length && presets.every(({ name }, at) => row.children[at].textContent === name)) return;
  row.replaceChildren(
    ...presets.map((preset, at) => {
      const button = make("button", { type: "button", title: `Key ${at + 1}` }, preset.name);
      button.addEventListener("click", () => apply(at + 1));
      return button;
    }),
  );
}

/** Fills the form in as a preset says. @param {HTMLFormElement} form @param {Preset} preset */
function fillIn(form, { fields }) {
  for (const name of FIELDS) {
    const into = fieldOf(form, name);
    if (!into) continue;
    const value = fields[name] ?? "";
    // What a select has no option for, it does not become.
    if (into instanceof HTMLSelectElement && ![...into.options].some((option) => option.value === value && !option.disabled)) continue;
    into.value = value;
  }
}

/** The values of the form that a preset keeps, by the names of their fields. @param {HTMLFormElement} form @returns {Record<string, string>} */
function valuesOf(form) {
  return Object.fromEntries(
    FIELDS.flatMap((name) => {
      const field = fieldOf(form, name);
      return field ? [[name, field.value.slice(0, VALUE_MAX)]] : [];
    }),
  );
}

/** @param {HTMLFormElement} form @param {string} name */
function fieldOf(form, name) {
  const found = form.elements.namedItem(name);
  return found instanceof HTMLInputElement || found instanceof HTMLSelectElement ? found : null;
}
