// The rows of an account's table as a file, with those that the page has not fetched yet.

import { Refusal } from "../api.js";
import { group } from "../decimal.js";
import { plural } from "../format.js";
import { save } from "../save.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Cursor } from "../types.js" */
/** @import { AccountRows, AccountTables, Tab } from "./account-tables.js" */
/** @import { Portfolio } from "./portfolio.js" */
/** @import { Table } from "./table.js" */

/** The most rows of a CSV file. */
const CSV_ROWS_MAX = 20_000;
const CSV_PAGE = 1_000;

/**
 * @typedef {object} Parts
 * @property {Api} api
 * @property {AccountTables} tables
 * @property {AccountRows} rows
 * @property {(row: {symbol: string}) => boolean} isWanted
 * @property {Portfolio} portfolio
 */

/** @typedef {{text: string, rows: number, all: boolean}} CsvFile */

/**
 * Saves the rows of the tab as a file.
 * @param {HTMLButtonElement} button that was pressed
 * @param {Parts} parts
 * @param {Tab} tab
 * @param {string} account
 */
export async function saveRows(button, parts, tab, account) {
  if (button.getAttribute("aria-disabled")) return;
  button.setAttribute("aria-disabled", "true");
  const name = tab.replace("tab-", "");
  try {
    const { text, rows, all } = await fileOf(parts, tab, account);
    save(`account-${account}-${name}.csv`, text);
    notice(
      `${plural(rows, "row")} of ${name === "open" ? "open orders" : name}${all ? "" : `; there are more than ${group(String(CSV_ROWS_MAX))}, the newest are in it`}`,
    );
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    notice(`No file: ${error.message}`, "fault");
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

/** @param {Parts} parts @param {Tab} tab @param {string} account @returns {Promise<CsvFile>} */
async function fileOf({ api, tables, rows, isWanted, portfolio }, tab, account) {
  if (tab === "tab-history") {
    const { rows: orders, all } = await pages((before) => api.orders(account, before, CSV_PAGE).then(({ orders: rows, next }) => ({ rows, next })));
    return { ...csvOf(tables[tab], rows.history(orders)), all };
  }
  if (tab === "tab-executions") {
    const { rows: executions, all } = await pages((before) => api.executions(account, before, CSV_PAGE).then(({ executions: rows, next }) => ({ rows, next })));
    return { ...csvOf(tables[tab], executions.filter(isWanted)), all };
  }
  if (tab === "tab-open") return { ...csvOf(tables[tab], rows.open()), all: true };
  if (tab === "tab-portfolio") return { ...csvOf(tables[tab], portfolio.lines()), all: true };
  return { ...csvOf(tables[tab], rows.balances()), all: true };
}

/** The rows that have what is searched for, and their number. @template T @param {Table<T>} table @param {T[]} rows */
function csvOf(table, rows) {
  return { text: table.csv(rows), rows: table.arranged(rows).length };
}

/**
 * Page after page, until there are no more, or so many rows that no more are asked for.
 * @template T
 * @param {(before: Cursor) => Promise<{rows: T[], next: Cursor}>} ask
 */
export async function pages(ask) {
  /** @type {T[]} */
  const rows = [];
  /** @type {Cursor} */
  let next = null;
  do {
    const page = await ask(next);
    rows.push(...page.rows);
    ({ next } = page);
  } while (next !== null && rows.length < CSV_ROWS_MAX);
  return { rows, all: next === null };
}
