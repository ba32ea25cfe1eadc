// The dialog that creates accounts and issues shares: it is a local exchange.

import { Refusal } from "../api.js";
import { fault, group, parse } from "../decimal.js";
import { find, setText, within } from "../dom.js";
import { clearFaults, showFault, valueOf } from "./faults.js";

/** @import { Api } from "../api.js" */

/** @param {{api: Api, created: (account: string) => void, issued: (symbol: string, account: string) => void}} parts @returns {() => void} opens it */
export function createDialog({ api, created, issued }) {
  const dialog = /** @type {HTMLDialogElement} */ (find("create"));
  const account = /** @type {HTMLFormElement} */ (find("create-account"));
  const shares = /** @type {HTMLFormElement} */ (find("create-shares"));

  handle(account, () => {
    const balance = valueOf(account, "balance");
    return [["account", valueOf(account, "account") === "" ? "Account is missing" : null], ["balance", balance !== "" && parse(balance) === 0n ? null : fault(balance, "Balance")]];
  }, async () => {
    const made = await api.createAccount(valueOf(account, "account"), valueOf(account, "balance"));
    const next = /** @type {HTMLInputElement} */ (shares.elements.namedItem("account"));
    next.value = made.account;
    created(made.account);
    return `Account ${made.account} created with ${group(made.balance)}`;
  });

  handle(shares, () => [
    ["shares", fault(valueOf(shares, "shares"), "Shares")],
    ["account", valueOf(shares, "account") === "" ? "Account is missing" : null],
    ["symbol", /^[A-Za-z0-9]{1,32}$/.test(valueOf(shares, "symbol")) ? null : "A symbol is 1 to 32 letters and digits"],
  ], async () => {
    const made = await api.issue(valueOf(shares, "symbol"), valueOf(shares, "account"), valueOf(shares, "shares"));
    issued(made.symbol, made.account);
    return `${group(made.shares)} ${made.shares === "1" ? "share" : "shares"} of ${made.symbol} issued to account ${made.account}`;
  });

  return () => {
    for (const form of [account, shares]) {
      clearFaults(form);
      setText(within(form, "p", ".done"), "");
    }
    dialog.showModal();
  };
}

/**
 * @param {HTMLFormElement} form
 * @param {() => [field: string, fault: string|null][]} check the first field last: it gets the focus
 * @param {() => Promise<string>} send answers what was done
 */
function handle(form, check, send) {
  const done = within(form, "p", ".done");
  const button = within(form, "button", "[type=submit]");
  form.addEventListener("input", () => {
    clearFaults(form);
    setText(done, "");
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(form);
    setText(done, "");
    const faults = check().filter(([, text]) => text !== null);
    for (const [field, text] of faults) showFault(form, field, text ?? "");
    if (faults.length > 0) return;
    button.disabled = true;
    try {
      setText(done, await send());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const field = error.field ?? (error.code.includes("account") ? "account" : error.code === "too-much-money" ? "balance" : error.code === "too-many-shares" ? "shares" : null);
      showFault(form, field, error.message);
    } finally {
      button.disabled = false;
    }
  });
}
