// The arrows up and down step a number in its field; with Shift ten steps at once.

import { exact, format, parse, plain } from "../decimal.js";

/**
 * @param {HTMLInputElement[]} inputs
 * @param {{step: () => string, from: () => string|null, changed: () => void}} parts `from` is where an empty field begins
 */
export function steps(inputs, { step, from, changed }) {
  for (const input of inputs) {
    input.addEventListener("keydown", (event) => {
      if ((event.key !== "ArrowUp" && event.key !== "ArrowDown") || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      const start = from();
      const empty = input.value.trim() === "";
      const value = empty ? (start === null ? 0n : exact(start)) : parse(plain(input.value));
      // What is no number stays as it was typed.
      if (value === null) return;
      const by = exact(step()) * (event.shiftKey ? 10n : 1n);
      // To the next multiple of the step, from wherever it is.
      const below = value - (value % by);
      const next = empty && start !== null ? value : event.key === "ArrowUp" ? below + by : below === value ? value - by : below;
      input.value = format(next > 0n ? next : 0n);
      changed();
    });
  }
}
