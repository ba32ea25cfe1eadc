// Asks before an order is sent, where somebody wants to be asked or there is something to warn of. The answer is a promise.

import { find, make, setText } from "../dom.js";
import { remember, remembered } from "../settings.js";

/** Asks, unless nobody wants to be asked; with a warning in any case. @typedef {(lines: [name: string, value: string][], action: string, warning?: string) => Promise<boolean>} Confirm */

/** @returns {Confirm} */
export function confirmation() {
  const wanted = /** @type {HTMLInputElement} */ (find("ticket-confirm"));
  const dialog = /** @type {HTMLDialogElement} */ (find("confirm"));
  const form = /** @type {HTMLFormElement} */ (find("confirm-form"));
  const terms = find("confirm-terms");
  const warns = find("confirm-warning");
  const [not, sure] = [find("confirm-not"), find("confirm-sure")];
  /** @type {((sure: boolean) => void)|null} */
  let answer = null;

  wanted.checked = remembered("confirm") === "yes";
  wanted.addEventListener("change", () => remember("confirm", wanted.checked ? "yes" : null));
  // It is no part of an order.
  wanted.addEventListener("input", (event) => event.stopPropagation());
  not.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const told = answer;
    answer = null;
    dialog.close();
    told?.(true);
  });
  // Escape closes it, too.
  dialog.addEventListener("close", () => {
    answer?.(false);
    answer = null;
  });

  return (lines, action, warning = "") => {
    if (!wanted.checked && warning === "") return Promise.resolve(true);
    setText(warns, warning);
    warns.hidden = warning === "";
    terms.replaceChildren(
      ...lines.filter(([, value]) => value !== "").map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", { class: "number" }, value))),
    );
    sure.textContent = action;
    return new Promise((resolve) => {
      answer = resolve;
      dialog.showModal();
      // The second press of a hasty Enter sends nothing that was warned of.
      if (warning !== "") not.focus();
    });
  };
}
