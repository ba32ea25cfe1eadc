// The dialog that creates accounts and issues shares: it is a local exchange.

import { Refusal } from "../api.js";
import { fault, group, parse } from "../decimal.js";
import { find, setText, within } from "../dom.js";
import { absentIsNull, foundOut } from "../state/found-out.js";
import { clearFaults, showFault, valueOf } from "./faults.js";

/** @import { Api } from "../api.js" */

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
      const made = await createAccount(api, valueOf(account, "account"), valueOf(account, "balance"));
      const next = /** @type {HTMLInputElement} */ (shares.elements.namedItem("account"));
      next.value = made.account;
      created(made.account);
      return `Account ${made.account} created with ${group(made.balance)}`;
    },
  );

  handle(
    shares,
    () => [
      ["shares", fault(valueOf(shares, "shares"), "Shares")],
      ["account", valueOf(shares, "account") === "" ? "Account is missing" : null],
      ["symbol", /^[A-Za-z0-9]{1,32}$/.test(valueOf(shares, "symbol")) ? null : "A symbol is 1 to 32 letters and digits"],
    ],
    async () => {
      const made = await issue(api, { symbol: valueOf(shares, "symbol"), account: valueOf(shares, "account"), shares: valueOf(shares, "shares") });
      issued(made.symbol, made.account);
      return `${group(made.shares)} ${made.shares === "1" ? "share" : "shares"} of ${made.symbol} issued to account ${made.account}`;
    },
  );

  return () => {
    for (const form of [account, shares]) {
      clearFaults(form);
      setText(within(form, "p", ".done"), "");
    }
    dialog.showModal();
  };
}

/** Creates an account; where the answer was lost, says whether it is there. @param {Api} api @param {string} account @param {string} balance @returns {Promise<{account: string, balance: string}>} */
async function createAccount(api, account, balance) {
  try {
    return await api.createAccount(account, balance);
  } catch (error) {
    if (!(error instanceof Refusal) || !error.unknown) throw error;
    const found = await foundOut(
      () => absentIsNull(api.account(account)),
      (there) => there !== null,
    );
    if (found) return { account, balance: found.balance };
    throw unknown(error, "Whether the account was created is not known. It can be created once, so pressing again is safe");
  }
}

/**
 * Issues shares. They have no id under which they could be sent twice: where the answer was lost, how many are issued says whether these are.
 * @param {Api} api
 * @param {{symbol: string, account: string, shares: string}} what
 */
async function issue(api, what) {
  const count = async () => (await absentIsNull(api.symbol(what.symbol)))?.issued ?? "0";
  const before = await count();
  try {
    return await api.issue(what.symbol, what.account, what.shares);
  } catch (error) {
    if (!(error instanceof Refusal) || !error.unknown) throw error;
    const found = await foundOut(count, (now) => now !== before);
    const told =
      found === null
        ? "how many there are now cannot be had"
        : found === before
          ? `${group(before)} ${what.symbol} are issued, as before`
          : `${group(before)} ${what.symbol} were issued before, and ${group(found)} are now`;
    throw unknown(error, `Whether the shares were issued is not known: ${told}. Pressing again issues them again`);
  }
}

/** @param {Refusal} refusal @param {string} detail */
function unknown({ code, message }, detail) {
  return new Refusal({ code, detail: `${message}. ${detail}` });
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
