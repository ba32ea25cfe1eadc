// The tables of an account, one a tab: their rows, and what stands in them while there are none.

import { balanceColumns, executionColumns, historyColumns, openColumns } from "./account-columns.js";
import { balanceLines } from "./account-lines.js";
import { editName, limitOf } from "./order-text.js";
import { merged } from "../state/refused.js";
import { Table } from "./table.js";

/** @import { Holdings, PagedList } from "../state/holdings.js" */
/** @import { Price, Quote } from "../state/quote.js" */
/** @import { HistoryRow, RefusedOrders } from "../state/refused.js" */
/** @import { Order } from "../types.js" */
/** @import { OrderActions } from "./order-actions.js" */
/** @import { Portfolio } from "./portfolio.js" */

/** @typedef {"tab-open"|"tab-history"|"tab-executions"|"tab-portfolio"|"tab-balances"} Tab */

/**
 * @typedef {object} Parts
 * @property {Holdings} holdings
 * @property {RefusedOrders} refused
 * @property {Quote} quote
 * @property {OrderActions} actions
 * @property {Portfolio} portfolio
 * @property {(order: Order) => void} openOrder
 * @property {(symbol: string, time: number) => void} replay shows the market of a past moment
 * @property {(id: string) => HTMLElement} part finds an element of the account's panel
 * @property {() => void} resort has the table in view drawn again
 */

/** @typedef {ReturnType<typeof accountTables>} AccountTables */
/** @typedef {ReturnType<typeof accountRows>} AccountRows */

/** @param {Parts} parts */
export function accountTables({ holdings, quote, actions, portfolio, openOrder, replay, part, resort }) {
  /** @type {Price} */
  const price = (text, symbol) => quote.price(text, symbol);
  return {
    "tab-open": openTable({ root: part("panel-open"), price, actions, openOrder, resort }),
    "tab-history": new Table(part("panel-history"), {
      caption: "All orders",
      // The server knows nothing of a refused one.
      columns: historyColumns(price, (order) => order.status !== "refused" && openOrder(order)),
      key: (order) => String(order.order_id),
      more: () => holdings.moreHistory(),
      resort,
    }),
    "tab-executions": new Table(part("panel-executions"), {
      caption: "Executions",
      columns: executionColumns(price, ({ symbol, time }) => replay(symbol, time)),
      key: (execution) => `${execution.trade_id}/${execution.order_id}`,
      more: () => holdings.moreExecutions(),
      resort,
    }),
    "tab-portfolio": portfolio.table,
    "tab-balances": new Table(part("panel-balances"), {
      caption: "Balance and positions",
      columns: balanceColumns,
      key: (line) => line.what,
      resort,
    }),
  };
}

/**
 * Open orders, each with buttons that edit and cancel it.
 * @param {Pick<Parts, "actions"|"openOrder"|"resort"> & {root: HTMLElement, price: Price}} parts
 * @returns {Table<Order>}
 */
function openTable({ root, price, actions, openOrder, resort }) {
  const key = (/** @type {Order} */ order) => String(order.order_id);
  /** @type {Table<Order>} */
  const table = new Table(root, {
    caption: "Open orders",
    columns: openColumns(price, openOrder),
    key,
    action: {
      label: "Cancel",
      name: (order) => `Cancel order ${order.order_id}: ${order.side} ${order.open} ${order.symbol} at ${limitOf(order, price)}`,
      run: async (order) => {
        if (!(await actions.cancel(order))) table.release(key(order));
      },
    },
    edit: { label: "Edit", name: editName, value: (order) => (order.limit === null ? order.shares : `${order.shares} @ ${order.limit}`), run: actions.edit },
    resort,
  });
  return table;
}

/**
 * The rows of an account, those alone that are wanted.
 * @param {Pick<Parts, "holdings"|"refused">} parts
 * @param {(row: {symbol: string}) => boolean} isWanted
 */
export function accountRows({ holdings, refused }, isWanted) {
  const refusedOnes = () => refused.of(holdings.id).filter(isWanted);
  return {
    open: () => [...holdings.open.values()].filter(isWanted).sort(newestFirst),
    /** @param {Order[]} [orders] those that are known @returns {HistoryRow[]} */
    history: (orders = [...holdings.orders.values()]) => merged(orders.filter(isWanted).sort(newestFirst), refusedOnes()),
    executions: () => holdings.executions.filter(isWanted),
    balances: () => balanceLines(holdings.account),
  };
}

/**
 * Draws the table in view. The portfolio draws itself.
 * @param {Tab} tab
 * @param {object} parts
 * @param {AccountTables} parts.tables
 * @param {Holdings} parts.holdings
 * @param {AccountRows} parts.rows
 * @param {string|null} parts.symbol whose rows alone are wanted
 */
export function drawTable(tab, { tables, holdings, rows, symbol }) {
  const { account, history, executed } = holdings;
  const none = holdings.id === null ? "Choose an account to see its orders" : (holdings.refused ?? (account ? null : "Loading…"));
  if (tab === "tab-open") {
    tables[tab].draw(rows.open(), { empty: none ?? (symbol === null ? "No open orders" : `No open orders of ${symbol}`) });
  } else if (tab === "tab-history") {
    if (account && history.state === "unasked") holdings.moreHistory();
    tables[tab].draw(rows.history(), { empty: none ?? emptyOf(history, "orders", symbol), more: moreOf(history) });
  } else if (tab === "tab-executions") {
    if (account && executed.state === "unasked") holdings.moreExecutions();
    tables[tab].draw(rows.executions(), { empty: none ?? emptyOf(executed, "executions", symbol), more: moreOf(executed) });
  } else if (tab === "tab-balances") {
    tables[tab].draw(rows.balances(), { empty: none ?? "Nothing" });
  }
}

/** @param {Order} a @param {Order} b */
function newestFirst(a, b) {
  return b.order_id - a.order_id;
}

/** The text of a list of which no row is shown. @param {PagedList} list @param {string} what it lists @param {string|null} symbol whose rows alone are shown */
export function emptyOf({ state, next }, what, symbol) {
  if (state !== "here") return state === "failed" ? "The server does not answer" : "Loading…";
  if (symbol === null) return `No ${what} yet`;
  return next === null ? `No ${what} of ${symbol}` : `No ${what} of ${symbol} among the newest: there are older ones`;
}

/** @param {PagedList} list */
function moreOf(list) {
  if (list.state === "failed") return "Try again";
  return list.state === "here" && list.next !== null ? "Older" : null;
}
