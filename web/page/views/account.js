// The panel of an account: a tab for each of its tables, what is searched for in them, and what is done with all
// their rows.

import { find, setText } from "../dom.js";
import { saveRows } from "./account-csv.js";
import { accountRows, accountTables, drawTable } from "./account-tables.js";
import { cancelAllButton } from "./cancel-all.js";
import { tabs } from "./tabs.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Parts as TableParts, Tab } from "./account-tables.js" */

/**
 * The parts that it is made of. `suffix` ends the ids of its elements.
 * @typedef {Omit<TableParts, "part"|"resort"> & {market: Market, frames: Frames, api: Api, suffix?: string}} Parts
 */

/** @param {Parts} parts */
export function accountView(parts) {
  const { market, holdings, refused, frames, api, portfolio, suffix = "" } = parts;
  const part = (/** @type {string} */ id) => find(id + suffix);
  const only = /** @type {HTMLInputElement} */ (part("only-symbol"));
  const filter = /** @type {HTMLInputElement} */ (part("account-filter"));
  const csv = /** @type {HTMLButtonElement} */ (part("account-csv"));
  /** @type {Tab} */
  let tab = "tab-open";

  const isWanted = (/** @type {{symbol: string}} */ { symbol }) => !only.checked || symbol === market.symbol;
  const wantedSymbol = () => (only.checked ? market.symbol : null);
  const tables = accountTables({ ...parts, part, resort: () => mark() });
  const rows = accountRows(parts, isWanted);

  const mark = frames.view(() => {
    setText(part("open-count"), holdings.account ? ` ${holdings.account.open_orders}` : "");
    setText(part("only-symbol-name"), market.symbol ?? "this symbol");
    drawCancelAll();
    // What the account has is of all symbols.
    const ofSymbol = only.closest("label");
    if (ofSymbol) ofSymbol.hidden = tab === "tab-portfolio" || tab === "tab-balances";
    drawTable(tab, { tables, holdings, rows, symbol: wantedSymbol() });
  });

  tabs(part("account-tabs"), (id) => {
    tab = /** @type {Tab} */ (id.slice(0, id.length - suffix.length));
    portfolio.show(tab === "tab-portfolio");
    for (const table of Object.values(tables)) table.seek(filter.value);
    mark();
  });
  only.addEventListener("change", mark);
  filter.addEventListener("input", () => {
    tables[tab].seek(filter.value);
    portfolio.mark();
    mark();
  });
  csv.addEventListener("click", () => holdings.id !== null && saveRows(csv, { api, tables, rows, isWanted, portfolio }, tab, holdings.id));
  market.watch(mark);
  holdings.watch(mark);
  refused.watch(mark);
  const drawCancelAll = cancelAllButton(/** @type {HTMLButtonElement} */ (part("cancel-all")), {
    api,
    // It stands only where the orders are that it cancels.
    listed: () => {
      if (tab !== "tab-open") return null;
      const all = [...holdings.open.values()].filter(isWanted);
      return { account: holdings.id, orders: tables[tab].arranged(all), open: all.length, symbol: wantedSymbol(), words: filter.value.trim() };
    },
  });
}
