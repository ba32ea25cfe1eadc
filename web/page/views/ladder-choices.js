// The choices above the ladder: how far levels are put together, one side or both, and the unit of totals.

import { exact, format, group } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";

/** @import { Side } from "../types.js" */

/** Levels can be put together by so many steps of the price. */
const GROUPS = [1n, 5n, 10n, 50n, 100n, 1_000n];

/** The choice of how far levels are put together, which follows the symbol's step. @param {() => void} changed */
export function groupChoice(changed) {
  const select = /** @type {HTMLSelectElement} */ (find("book-group"));
  let offered = "";
  select.addEventListener("input", changed);
  return {
    /** @param {string} least @param {string|null} symbol @returns {bigint} */
    step(least, symbol) {
      const wanted = `${symbol} ${least}`;
      if (wanted !== offered) {
        offered = wanted;
        select.replaceChildren(
          ...GROUPS.map((times) => make("option", { value: String(times === 1n ? 1n : exact(least) * times) }, group(format(exact(least) * times)))),
        );
      }
      return BigInt(select.value);
    },
  };
}

/** The choice of the sides that are shown. @param {() => void} changed @returns {() => "both"|Side} */
export function sideChoice(changed) {
  /** @type {"both"|Side} */
  let sides = "both";
  const choices = [...document.querySelectorAll("[data-sides]")];
  for (const button of choices) {
    button.addEventListener("click", () => {
      sides = /** @type {"both"|Side} */ (button.getAttribute("data-sides"));
      for (const each of choices) setAttribute(each, "aria-pressed", String(each === button));
      changed();
    });
  }
  return () => sides;
}

/** The choice whether totals are dollars, in place of shares. @param {() => void} changed @returns {() => boolean} */
export function moneyChoice(changed) {
  const unit = /** @type {HTMLSelectElement} */ (find("book-unit"));
  const isMoney = () => unit.value === "money";
  unit.addEventListener("input", () => {
    setText(find("book-total-name"), isMoney() ? "Total, $" : "Total");
    changed();
  });
  return isMoney;
}
