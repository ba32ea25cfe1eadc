// The dialog that creates accounts and issues shares: it is a local exchange.

import { Refusal } from "../api.js";
import { fault, group, parse } from "../decimal.js";
import { find, setText, within } from "../dom.js";
import { createAccount } from "../state/creating.js";
import { issuedOf, issueShares } from "../state/issuing.js";
import { clearFaults, showFault, valueOf } from "./faults.js";

/** @import { Api } from "../api.js" */

const SYMBOL = /^[A-Za-z0-9]{1,32}$/;

/** @param {{api: Api, created: (account: string) => void, issued: (symbol: string, account: string) => void}} parts @returns {() => void} opens it */
export function createDialog({ api, created, issued }) {
  const dialog = /** @type {HTMLDialogElement} */ (find("create"));
  const account = /** @type {HTMLFormElement} */ (find("create-account"));
  const shares = /** @type {HTMLFormElement} */ (find("create-shares"));

  handle(
    account,
    () => {
      const balance = valueOf(account, "balance");
      return [
        ["account", valueOf(account, "account") === "" ? "Account is missing" : null],
        ["balance", balance !== "" && parse(balance) === 0n ? null : fault(balance, "Balance")],
      ];
    },
    async () => {
      const { account: id, balance, isSure } = await createAccount(api, valueOf(account, "account"), valueOf(account, "balance"));
      const next = /** @type {HTMLInputElement} */ (shares.elements.namedItem("account"));
      next.value = id;
      created(id);
      if (isSure) return `Account ${id} created with ${group(balance)}`;
      return `Account ${id} is there, with ${group(balance)}. Whether this press created it is not known: the answer was lost`;
    },
  );

  const look = issueForm(shares, api, issued);

  return () => {
    for (const form of [account, shares]) {
      clearFaults(form);
      setText(within(form, "p", ".done"), "");
    }
    dialog.showModal();
    look();
  };
}

/**
 * The form that issues shares. It shows how many are issued, and an issue is meant for that number.
 * @param {HTMLFormElement} form
 * @param {Api} api
 * @param {(symbol: string, account: string) => void} issued
 * @returns {() => Promise<void>} looks how many are issued
 */
function issueForm(form, api, issued) {
  /** @type {{symbol: string, issued: string, isUnsure?: boolean|undefined}|null} */
  let shown = null;
  /** @param {{symbol: string, issued: string, isUnsure?: boolean|undefined}|null} next */
  const show = (next) => {
    shown = next;
    setText(within(form, "p", ".note"), next ? `${group(next.issued)} ${next.symbol} are issued` : "");
  };
  const look = async () => {
    const symbol = valueOf(form, "symbol");
    show(null);
    if (!SYMBOL.test(symbol)) return;
    const found = await issuedOf(api, symbol).catch(() => null);
    if (found !== null && shown === null && valueOf(form, "symbol") === symbol) show({ symbol, issued: found });
  };
  const symbol = /** @type {HTMLInputElement} */ (form.elements.namedItem("symbol"));
  symbol.addEventListener("change", look);

  handle(
    form,
    () => [
      ["shares", fault(valueOf(form, "shares"), "Shares")],
      ["account", valueOf(form, "account") === "" ? "Account is missing" : null],
      ["symbol", SYMBOL.test(valueOf(form, "symbol")) ? null : "A symbol is 1 to 32 letters and digits"],
    ],
    async () => {
      const what = { symbol: valueOf(form, "symbol"), account: valueOf(form, "account"), shares: valueOf(form, "shares") };
      const before = shown?.symbol === what.symbol ? { number: shown.issued, isAgain: shown.isUnsure } : { number: await issuedOf(api, what.symbol) };
      const { refusal, issued: now, shares = what.shares, isUnsure } = await issueShares(api, what, before);
      show(now === null ? null : { symbol: what.symbol, issued: now, isUnsure });
      if (refusal) throw refusal;
      issued(what.symbol, what.account);
      return `${group(shares)} ${shares === "1" ? "share" : "shares"} of ${what.symbol} issued to account ${what.account}`;
    },
  );
  return look;
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
      const field =
        error.field ??
        (error.code.includes("account") ? "account" : error.code === "too-much-money" ? "balance" : error.code === "too-many-shares" ? "shares" : null);
      showFault(form, field, error.message);
    } finally {
      button.disabled = false;
    }
  });
}
