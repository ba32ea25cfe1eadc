// The line above an account's tables: its dollars, and its shares of the symbol.

import { MONEY_DECIMALS, exact, group } from "../decimal.js";
import { find, setText } from "../dom.js";

/** @import { AccountSeen } from "../state/holdings.js" */

/** @param {string} suffix of the panel's ids */
export function accountSum(suffix) {
  return { root: find(`account-sum${suffix}`), name: find(`account-sum-name${suffix}`), text: find(`account-sum-text${suffix}`) };
}

/** @param {ReturnType<typeof accountSum>} sum @param {AccountSeen} seen @param {string|null} symbol */
export function drawSum({ name, text }, seen, symbol) {
  // A chooser may stand in the place of the name.
  if (name.isConnected) setText(name, seen.id === null ? "No account" : `Account ${seen.id}`);
  setText(text, sumText(seen, symbol));
}

/** @param {Pick<AccountSeen, "id"|"account"|"refused">} seen @param {string|null} symbol */
export function sumText({ id, account, refused }, symbol) {
  if (!account) return id === null ? "Choose an account" : (refused ?? "Loading…");
  const held = (/** @type {string} */ amount, /** @type {number} */ decimals) => (exact(amount, decimals) === 0n ? "" : `, ${group(amount)} held`);
  const money = `${group(account.balance)} dollars${held(account.held, MONEY_DECIMALS)}`;
  if (symbol === null) return money;
  const of = account.positions.find((each) => each.symbol === symbol);
  return `${money} · ${group(of?.shares ?? "0")} ${symbol}${of ? held(of.held, 8) : ""}`;
}
