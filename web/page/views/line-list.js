// The list of a symbol's lines, each with a button that removes it, and the form that adds one at a typed price.

import { fault, forDrawing, plain } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";

/** @import { Drawn } from "../state/studies.js" */

/** @param {{add: (line: Drawn) => void, remove: (line: Drawn) => void, priceText: (price: number) => string}} parts @returns {{draw: (lines: Drawn[]) => void, clear: () => void}} draws the list, and clears the field of the price */
export function lineList({ add, remove, priceText }) {
  const list = find("line-list");
  const form = /** @type {HTMLFormElement} */ (find("level-form"));
  const input = /** @type {HTMLInputElement} */ (find("level-price"));
  /** @param {string|null} why the price cannot be taken */
  const showFault = (why) => {
    setText(find("level-price-fault"), why ?? "");
    setAttribute(input, "aria-invalid", why === null ? null : "true");
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const price = plain(input.value);
    const why = fault(price, "Price");
    showFault(why);
    if (why !== null) return;
    add({ level: forDrawing(price) });
    input.value = "";
  });

  /** @param {Drawn} line */
  function row(line) {
    const text = "level" in line ? `at ${priceText(line.level)}` : `${priceText(line.from.price)} to ${priceText(line.to.price)}`;
    const button = make("button", { type: "button", class: "quiet icon", "aria-label": `Remove the line ${text}` }, "×");
    button.addEventListener("click", () => {
      remove(line);
      input.focus();
    });
    return make("li", {}, make("span", { class: "number" }, text), button);
  }

  return {
    draw: (lines) => list.replaceChildren(...lines.map(row)),
    clear() {
      input.value = "";
      showFault(null);
    },
  };
}
