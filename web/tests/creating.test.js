// Accounts that are created, and what is known of one whose answer was lost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../page/api.js";
import { createAccount } from "../page/state/creating.js";

const atOnce = async () => {};

/** A server that has these accounts, and loses the answer where it is told to. @param {Record<string, string>} accounts @param {"told"|"lost before"|"lost behind"} way */
function server(accounts, way) {
  return {
    async createAccount(/** @type {string} */ account, /** @type {string} */ balance) {
      const exists = account in accounts;
      if (!exists && way !== "lost before") accounts[account] = balance;
      if (way !== "told") throw new Refusal({ code: "no-answer", detail: "No answer" });
      if (exists) throw new Refusal({ code: "account-exists", detail: "There is such an account" });
      return { account, balance };
    },
    async account(/** @type {string} */ account) {
      if (!(account in accounts)) throw new Refusal({ code: "unknown-account", detail: "No such account", status: 404 });
      return /** @type {any} */ ({ account, balance: accounts[account] });
    },
  };
}

test("an account that is created is told so, and one that was there is refused", async () => {
  const api = server({}, "told");
  assert.deepEqual(await createAccount(api, "7", "1000", atOnce), { account: "7", balance: "1000", isSure: true });
  await assert.rejects(createAccount(api, "7", "1000", atOnce), { code: "account-exists" });
});

test("where the answer was lost it is not told that this request created the account", async () => {
  assert.deepEqual(await createAccount(server({ 7: "5" }, "lost behind"), "7", "1000", atOnce), { account: "7", balance: "5", isSure: false });
  assert.deepEqual(await createAccount(server({}, "lost behind"), "7", "1000", atOnce), { account: "7", balance: "1000", isSure: false });
});

test("an account that is not there may still be created", async () => {
  await assert.rejects(createAccount(server({}, "lost before"), "7", "1000", atOnce), /not known\. It can be created once, so pressing again is safe$/);
});
