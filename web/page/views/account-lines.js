// The lines of the account's balance, positions and limits, and the one that sums it up. Knows no element.

import { MONEY_DECIMALS, exact, format, group } from "../decimal.js";

/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Account, Limits } from "../types.js" */

/** @typedef {{what: string, free: string, held: string, all: string}} Line */

/** The balance, then each position. @param {Account|null} account @returns {Line[]} */
export function balanceLines(account) {
  if (!account) return [];
  const sum = (/** @type {string} */ a, /** @type {string} */ b, /** @type {number} */ decimals) =>
    group(format(exact(a, decimals) + exact(b, decimals), decimals));
  const money = { what: "Dollars", free: group(account.balance), held: group(account.held), all: sum(account.balance, account.held, MONEY_DECIMALS) };
  const positions = account.positions.map(({ symbol, shares, held }) => ({ what: symbol, free: group(shares), held: group(held), all: sum(shares, held, 8) }));
  return [money, ...positions, ...limitLines(account.limits ?? {})];
}

/** The limits of the account, behind its holdings. @param {Limits} limits @returns {Line[]} */
function limitLines({ open_orders, order_shares, order_value, position, collar }) {
  const said = [
    { what: "Open orders, at most", all: open_orders?.toString() },
    { what: "Shares of an order, at most", all: order_shares },
    { what: "Dollars of an order, at most", all: order_value },
    { what: "Shares of a symbol, at most", all: position },
    { what: "Per cent from the market, at most", all: collar },
  ];
  return said.flatMap(({ what, all }) => (all === undefined ? [] : [{ what, free: "–", held: "–", all: group(all) }]));
}

/**
 * The account's dollars, and its shares of the symbol.
 * @param {Pick<AccountSeen, "id"|"account"|"refused">} seen
 * @param {string|null} symbol
 */
export function sumText({ id, account, refused }, symbol) {
  if (!account) return id === null ? "Choose an account" : (refused ?? "Loading…");
  const held = (/** @type {string} */ amount, /** @type {number} */ decimals) => (exact(amount, decimals) === 0n ? "" : `, ${group(amount)} held`);
  const money = `${group(account.balance)} dollars${held(account.held, MONEY_DECIMALS)}`;
  if (symbol === null) return money;
  const of = account.positions.find((each) => each.symbol === symbol);
  return `${money} · ${group(of?.shares ?? "0")} ${symbol}${of ? held(of.held, 8) : ""}`;
}
