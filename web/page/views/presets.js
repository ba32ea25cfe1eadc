// Presets: how the ticket is filled in, but for prices, under a name. They are kept in this browser, nine at most, one for each number key.

import { find, make, setText } from "../dom.js";
import { remember, remembered } from "../settings.js";
import { notice } from "./notices.js";
import { MOVES, goesWith } from "./ticket-order.js";

/** A preset: the values of the ticket's fields, by name. @typedef {{name: string, fields: Record<string, string>}} Preset */

const PRESETS_MAX = 9;
const NAME_MAX = 16;
const VALUE_MAX = 40;
/** Fields that a preset keeps, each with its name in a sentence. A price of yesterday is worse than none. */
const NAMES = {
  kind: "the kind",
  waits: "when it is active",
  unit: "the unit of the amount",
  shares: "the amount",
  display: "the shown amount",
  "self-trade": "what happens at own orders",
  ends: "when it ends",
};
const FIELDS = /** @type {(keyof typeof NAMES)[]} */ (Object.keys(NAMES));

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
 * The values that a preset gives the fields, and the names of those that cannot take its value: such a field gets its first option.
 * @param {Record<string, string>} fields of the preset
 * @param {(field: string) => string[]|null} optionsOf the values among which a field has its choice, the safe one first; null where any text goes
 * @returns {{values: [field: string, value: string][], missed: string[]}}
 */
export function fillingOf(fields, optionsOf) {
  const may = (/** @type {string} */ field, /** @type {string|undefined} */ value) => optionsOf(field)?.includes(value ?? "") !== false;
  // What cannot wait as it should must not execute at any price instead; and dollars that are none are no shares.
  const kindFits = may("waits", fields.waits) && goesWith(fields.kind, fields.waits);
  /** @type {string[]} */
  const missed = [];
  const values = FIELDS.map((field) => {
    const value = fields[field] ?? "";
    if (field === "shares" && !may("unit", fields.unit)) return /** @type {[string, string]} */ ([field, ""]);
    if (may(field, value) && (field !== "kind" || kindFits)) return /** @type {[string, string]} */ ([field, value]);
    missed.push(NAMES[field]);
    return /** @type {[string, string]} */ ([field, optionsOf(field)?.[0] ?? ""]);
  });
  return { values, missed };
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

/** Fills the form in as a preset says, and names what it cannot take. @param {HTMLFormElement} form @param {Preset} preset */
function fillIn(form, { name: preset, fields }) {
  const { values, missed } = fillingOf(fields, (name) => {
    const field = fieldOf(form, name);
    return field instanceof HTMLSelectElement ? [...field.options].filter(isOpen).map(({ value }) => value) : null;
  });
  for (const [name, value] of values) {
    const into = fieldOf(form, name);
    if (into) into.value = value;
  }
  if (missed.length > 0) notice(`Preset “${preset}” cannot set here: ${missed.join(", ")}. The first choice stands there now: look before you send`, "fault");
}

/** Whether an option can be chosen. Whether an order may move, the values of the preset decide, and not those that stand in the form. @param {HTMLOptionElement} option */
const isOpen = ({ disabled, value }) => !disabled || value === MOVES;

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
