// The form of an account's limits on the venue. Operators change them, others read them.

import { fault, plain } from "../decimal.js";
import { find, make } from "../dom.js";
import { plural } from "../format.js";
import { clearFaults, showFault, valueOf } from "./faults.js";

/** @import { Api } from "../api.js" */
/** @import { Limits } from "../types.js" */
/** @import { Attempt } from "./venue-view.js" */

/** @type {[keyof Limits, string][]} */
const LIMITS = [
  ["open_orders", "Open orders"],
  ["order_shares", "Shares of an order"],
  ["order_value", "Dollars of an order"],
  ["position", "Shares of a symbol"],
  ["collar", "Per cent from the market"],
];

/** @param {{api: Api, attempt: Attempt, account: () => string|null, changed: (account: string) => Promise<void>}} parts `account` is the one in view; `changed` reads it again */
export function limitsForm({ api, attempt, account, changed }) {
  const form = /** @type {HTMLFormElement} */ (find("control-limits"));
  find("control-limits-fields").append(...LIMITS.map(([name, text]) => limitField(name, text)));
  form.addEventListener("input", () => clearFaults(form));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(form);
    const limits = read();
    const id = account();
    if (limits === null || id === null) return;
    const count = Object.keys(limits).length;
    const set = async () => (await api.setLimits(id, limits), `Account ${id} has ${count === 0 ? "no limits" : plural(count, "limit")} now`);
    if (await attempt(set)) await changed(id);
  });

  /** The typed limits; null after a fault, which is shown. */
  function read() {
    /** @type {Record<string, string|number>} */
    const limits = {};
    for (const [name, text] of LIMITS) {
      const value = plain(valueOf(form, name));
      if (value === "") continue;
      const why = fault(value, text) ?? (name === "open_orders" && !/^\d{1,9}$/.test(value) ? "A whole number" : null);
      if (why !== null) {
        showFault(form, name, why);
        return null;
      }
      limits[name] = name === "open_orders" ? Number(value) : value;
    }
    return limits;
  }

  return {
    /** @param {Limits|undefined} limits @param {boolean} operates */
    draw(limits, operates) {
      clearFaults(form);
      for (const [name] of LIMITS) {
        const field = /** @type {HTMLInputElement} */ (form.elements.namedItem(name));
        field.value = limits?.[name]?.toString() ?? "";
        field.readOnly = !operates;
      }
      find("control-limits-set").hidden = !operates;
    },
  };
}

/** @param {keyof Limits} name @param {string} text */
function limitField(name, text) {
  const id = `control-limit-${name}`;
  return make(
    "div",
    { class: "field" },
    make("label", { for: id }, text),
    make("input", { id, name, class: "number", inputmode: "decimal", "aria-describedby": `${id}-fault` }),
    make("p", { class: "fault", id: `${id}-fault`, "data-fault": name }),
  );
}
