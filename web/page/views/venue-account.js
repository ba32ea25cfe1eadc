// One account of the venue: what it has, its limits, and whether it is killed.

import { fault, group, plain } from "../decimal.js";
import { find, make, setText } from "../dom.js";
import { plural } from "../format.js";
import { killOutcome, killState } from "../state/kills.js";
import { Refusal } from "../api.js";
import { clearFaults, showFault, valueOf } from "./faults.js";
import { confirmButton } from "./confirm-button.js";

/** @import { Api } from "../api.js" */
/** @import { Account, Limits } from "../types.js" */
/** @import { May } from "./venue-view.js" */

/** @type {[keyof Limits, string][]} */
const LIMITS = [
  ["open_orders", "Open orders"],
  ["order_shares", "Shares of an order"],
  ["order_value", "Dollars of an order"],
  ["position", "Shares of a symbol"],
  ["collar", "Per cent from the market"],
];

/** @param {{api: Api, attempt: (what: () => Promise<string>) => Promise<boolean>, follow: (of: {accounts: string[]}) => void, may: () => May}} parts */
export function venueAccount({ api, attempt, follow, may }) {
  const form = /** @type {HTMLFormElement} */ (find("control-account-form"));
  const input = /** @type {HTMLInputElement} */ (find("control-account-id"));
  const wrong = find("control-account-fault");
  const root = find("control-account");
  const limits = /** @type {HTMLFormElement} */ (find("control-limits"));
  /** @type {string|null} */
  let shown = null;

  find("control-limits-fields").append(
    ...LIMITS.map(([name, text]) => {
      const id = `control-limit-${name}`;
      return make(
        "div",
        { class: "field" },
        make("label", { for: id }, text),
        make("input", { id, name, class: "number", inputmode: "decimal", "aria-describedby": `${id}-fault` }),
        make("p", { class: "fault", id: `${id}-fault`, "data-fault": name }),
      );
    }),
  );

  /** @param {string} id */
  async function look(id) {
    try {
      const account = await api.account(id);
      shown = account.account;
      setText(wrong, "");
      draw(account);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(wrong, error.message);
      root.hidden = true;
    }
  }

  /** @param {Account} account */
  function draw({ account: id, balance, held, open_orders, positions, killed, tier, group: of_group, limits: has }) {
    root.hidden = false;
    const parts = [
      `Account ${id}`,
      killed ? killState("killed: takes no orders", open_orders) : "",
      `${group(balance)} dollars free, ${group(held)} held`,
      plural(open_orders, "open order"),
      positions.length > 0
        ? positions
            .slice(0, 5)
            .map(({ symbol, shares }) => `${group(shares)} ${symbol}`)
            .join(", ") + (positions.length > 5 ? " and more" : "")
        : "",
      tier ? `tier ${tier}` : "",
      of_group ? `group ${of_group}` : "",
    ];
    setText(find("control-account-text"), parts.filter(Boolean).join(" · "));
    const own = may().accounts.includes(id) && may().roles.includes("trader");
    // A trader may kill its own; an operator releases them.
    const kill = may().operates || (own && !killed);
    find("control-account-buttons").replaceChildren(
      confirmButton("Watch", id, () => follow({ accounts: [id] })),
      ...(kill
        ? [
            confirmButton(
              killed ? "Release" : "Kill",
              id,
              async () => {
                await attempt(async () => {
                  const outcome = await api.kill("accounts", id, !killed);
                  return killed ? `Account ${id} is released` : killOutcome(`Account ${id}`, outcome);
                });
                await look(id);
              },
              { sure: killed ? null : "Sure? Kill", danger: !killed },
            ),
          ]
        : []),
    );
    clearFaults(limits);
    for (const [name] of LIMITS) {
      const field = /** @type {HTMLInputElement} */ (limits.elements.namedItem(name));
      field.value = has?.[name]?.toString() ?? "";
      field.readOnly = !may().operates;
    }
    find("control-limits-set").hidden = !may().operates;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim() !== "") look(input.value.trim());
  });
  limits.addEventListener("input", () => clearFaults(limits));
  limits.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(limits);
    /** @type {Record<string, string|number>} */
    const wanted = {};
    for (const [name, text] of LIMITS) {
      const value = plain(valueOf(limits, name));
      if (value === "") continue;
      const why = fault(value, text) ?? (name === "open_orders" && !/^\d{1,9}$/.test(value) ? "A whole number" : null);
      if (why !== null) return showFault(limits, name, why);
      wanted[name] = name === "open_orders" ? Number(value) : value;
    }
    const id = shown;
    if (id === null) return;
    if (
      await attempt(async () => {
        await api.setLimits(id, wanted);
        return `Account ${id} has ${Object.keys(wanted).length === 0 ? "no limits" : plural(Object.keys(wanted).length, "limit")} now`;
      })
    )
      await look(id);
  });
  return {
    /** Shows a member its own account first. */
    show() {
      if (shown === null && may().accounts.length > 0) {
        input.value = may().accounts[0];
        look(may().accounts[0]);
      }
    },
  };
}
