// Shows the faults of a form, each next to its field.

import { plain } from "../decimal.js";
import { setAttribute, setText } from "../dom.js";

/** @param {HTMLFormElement} form */
export function clearFaults(form) {
  for (const place of form.querySelectorAll("[data-fault]")) setText(place, "");
  for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
}

/**
 * Shows a fault at its field, which gets the focus; without such a field, at the foot of the form.
 * @param {HTMLFormElement} form
 * @param {string|null} field
 * @param {string} text
 */
export function showFault(form, field, text) {
  nameFault(form, field, text)?.focus();
}

/**
 * Shows a fault as `showFault` does, and leaves the focus.
 * @param {HTMLFormElement} form
 * @param {string|null} field
 * @param {string} text
 * @returns {HTMLInputElement|null}
 */
export function nameFault(form, field, text) {
  const place = form.querySelector(`[data-fault="${CSS.escape(field ?? "form")}"]`) ?? form.querySelector('[data-fault="form"]');
  if (place) setText(place, text);
  if (place) bringIntoView(place);
  const input = field ? form.elements.namedItem(field) : null;
  if (!(input instanceof HTMLInputElement)) return null;
  setAttribute(input, "aria-invalid", "true");
  return input;
}

/** Scrolls until an element is in view, and again when the next frame has drawn what may have moved it. @param {Element} element */
export function bringIntoView(element) {
  const scroll = () => element.scrollIntoView({ block: "nearest" });
  scroll();
  requestAnimationFrame(() => requestAnimationFrame(scroll));
}

/** The value of a field as a plain decimal, however it was typed. @param {HTMLFormElement} form @param {string} name */
export function amountOf(form, name) {
  return plain(valueOf(form, name));
}

/** The trimmed text of a field. @param {HTMLFormElement} form @param {string} name */
export function valueOf(form, name) {
  const input = form.elements.namedItem(name);
  if (input instanceof HTMLInputElement || input instanceof HTMLSelectElement || input instanceof RadioNodeList) return input.value.trim();
  throw new Error(`the form has no field "${name}"`);
}
