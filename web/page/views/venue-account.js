// One account of the venue: what it has, its limits, and whether it is killed.

import { group } from "../decimal.js";
import { find, setText } from "../dom.js";
import { plural } from "../format.js";
import { killOutcome, killState } from "../state/kills.js";
import { Refusal } from "../api.js";
import { confirmButton } from "./confirm-button.js";
import { limitsForm } from "./venue-limits.js";

/** @import { Api } from "../api.js" */
/** @import { Account } from "../types.js" */
/** @import { Attempt, Rights } from "./venue-view.js" */

/** The most positions that are named. */
const POSITIONS_MAX = 5;

/** @param {{api: Api, attempt: Attempt, follow: (of: {accounts: string[]}) => void, rights: () => Rights}} parts */
export function venueAccount({ api, attempt, follow, rights }) {
  const form = /** @type {HTMLFormElement} */ (find("control-account-form"));
  const input = /** @type {HTMLInputElement} */ (find("control-account-id"));
  const fault = find("control-account-fault");
  const root = find("control-account");
  /** @type {string|null} */
  let shown = null;
  const limits = limitsForm({ api, attempt, account: () => shown, changed: look });

  /** @param {string} id */
  async function look(id) {
    try {
      const account = await api.account(id);
      shown = account.account;
      setText(fault, "");
      draw(account);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(fault, error.message);
      root.hidden = true;
    }
  }

  /** @param {Account} account */
  function draw(account) {
    const { account: id, killed = false } = account;
    const { operates, accounts, roles } = rights();
    root.hidden = false;
    setText(find("control-account-text"), accountText(account));
    const own = accounts.includes(id) && roles.includes("trader");
    const watch = confirmButton("Watch", id, () => follow({ accounts: [id] }));
    // A trader may kill its own; an operator releases them.
    find("control-account-buttons").replaceChildren(watch, ...(operates || (own && !killed) ? [killButton(id, killed, { api, attempt, look })] : []));
    limits.draw(account.limits, operates);
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim() !== "") look(input.value.trim());
  });
  return {
    /** Shows a member its own account first. */
    show() {
      const [own] = rights().accounts;
      if (shown !== null || own === undefined) return;
      input.value = own;
      look(own);
    },
  };
}

/** The button that kills an account, or releases it, and then looks at it again. @param {string} id @param {boolean} killed @param {{api: Api, attempt: Attempt, look: (id: string) => Promise<void>}} parts */
function killButton(id, killed, { api, attempt, look }) {
  return confirmButton(
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
  );
}

/** @param {Account} account */
function accountText({ account, balance, held, open_orders, positions, killed, tier, group: account_group }) {
  const named = positions.slice(0, POSITIONS_MAX).map(({ symbol, shares }) => `${group(shares)} ${symbol}`);
  return [
    `Account ${account}`,
    killed ? killState("killed: takes no orders", open_orders) : "",
    `${group(balance)} dollars free, ${group(held)} held`,
    plural(open_orders, "open order"),
    named.join(", ") + (positions.length > POSITIONS_MAX ? " and more" : ""),
    tier ? `tier ${tier}` : "",
    account_group ? `group ${account_group}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}
