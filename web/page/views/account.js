// The tables of an account: open orders, history, executions, balance and positions.

import { MONEY_DECIMALS, exact, format, group, total } from "../decimal.js";
import { find, setText } from "../dom.js";
import { save } from "../save.js";
import { dayAndTime, plural } from "../format.js";
import { Refusal } from "../api.js";
import { cancelAllButton } from "./cancel-all.js";
import { notice } from "./notices.js";
import { Table } from "./table.js";
import { tabs } from "./tabs.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Cursor, Execution, Limits, Order, Side } from "../types.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { OrderActions } from "./order-actions.js" */
/** @import { portfolioView } from "./portfolio.js" */
/** @import { Column } from "./table.js" */

/** A price as it is shown everywhere. @typedef {(text: string, symbol: string) => string} Price */

/** @typedef {"tab-open"|"tab-history"|"tab-executions"|"tab-portfolio"|"tab-balances"} Tab */

const direction = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "up" : "down");
const sideOf = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "▲\u00a0Buy" : "▼\u00a0Sell");
const feeOf = (/** @type {Execution} */ { fee, fee_of, symbol }) => (fee ? `${group(fee)} ${fee_of === "shares" ? symbol : "$"}` : "–");

const moneyOf = (/** @type {Execution} */ { price, shares }) => total(exact(price), exact(shares));
/** A time that every program reads; empty for none. @param {number|null} time_us */
const atUtc = (time_us) => (time_us === null ? "" : new Date(time_us / 1_000).toISOString());

/** The most rows of a CSV file. */
const CSV_ROWS_MAX = 20_000;
const CSV_PAGE = 1_000;

/** @param {{market: Market, quote: Quote, holdings: Holdings, frames: Frames, api: Api, actions: OrderActions, portfolio: ReturnType<typeof portfolioView>, openOrder: (order: Order) => void, replay: (symbol: string, time: number) => void, suffix?: string}} parts `replay` shows the market of a past moment; `suffix` ends the ids of its elements */
export function accountView({ market, quote, holdings, frames, api, actions, portfolio, openOrder, replay, suffix = "" }) {
  const part = (/** @type {string} */ id) => find(id + suffix);
  /** @type {Price} */
  const price = (text, symbol) => quote.price(text, symbol);
  const only = /** @type {HTMLInputElement} */ (part("only-symbol"));
  const filter = /** @type {HTMLInputElement} */ (part("account-filter"));
  const openCount = part("open-count");
  /** @type {Tab} */
  let tab = "tab-open";

  const open = new Table(part("panel-open"), {
    caption: "Open orders",
    columns: openColumns(price, openOrder),
    key: (order) => String(order.order_id),
    action: {
      label: "Cancel",
      name: (order) => `Cancel order ${order.order_id}: ${order.side} ${order.open} ${order.symbol} at ${limitOf(order, price)}`,
      run: async (order) => {
        if (!(await actions.cancel(order))) open.release(String(order.order_id));
      },
    },
    edit: { label: "Edit", name: editName, value: (order) => (order.limit === null ? order.shares : `${order.shares} @ ${order.limit}`), run: actions.edit },
    resort: () => mark(),
  });
  const history = new Table(part("panel-history"), {
    caption: "All orders",
    columns: historyColumns(price, openOrder),
    key: (order) => String(order.order_id),
    more: () => holdings.moreHistory(),
    resort: () => mark(),
  });
  const executions = new Table(part("panel-executions"), {
    caption: "Executions",
    columns: executionColumns(price, ({ symbol, time }) => replay(symbol, time)),
    key: (execution) => `${execution.trade_id}/${execution.order_id}`,
    more: () => holdings.moreExecutions(),
    resort: () => mark(),
  });
  const balances = new Table(part("panel-balances"), {
    caption: "Balance and positions",
    columns: balanceColumns,
    key: (line) => line.what,
    resort: () => mark(),
  });
  const tables = { "tab-open": open, "tab-history": history, "tab-executions": executions, "tab-portfolio": portfolio.table, "tab-balances": balances };

  const wanted = (/** @type {{symbol: string}} */ { symbol }) => !only.checked || symbol === market.symbol;

  const mark = frames.view(() => {
    const { account, id } = holdings;
    setText(openCount, account ? ` ${account.open_orders}` : "");
    setText(part("only-symbol-name"), market.symbol ?? "this symbol");
    drawCancelAll();
    // What the account has is of all symbols.
    const ofSymbol = only.closest("label");
    if (ofSymbol) ofSymbol.hidden = tab === "tab-portfolio" || tab === "tab-balances";
    const none = id === null ? "Choose an account to see its orders" : (holdings.refused ?? (account ? null : "Loading…"));
    // Only the table in view is drawn.
    if (tab === "tab-open") {
      const orders = [...holdings.open.values()].filter(wanted).sort(newestFirst);
      open.draw(orders, { empty: none ?? (only.checked ? `No open orders of ${market.symbol}` : "No open orders") });
    } else if (tab === "tab-history") {
      if (account && holdings.history.state === "unasked") holdings.moreHistory();
      history.draw([...holdings.orders.values()].filter(wanted).sort(newestFirst), {
        empty: none ?? emptyOf(holdings.history, "No orders yet"),
        more: moreOf(holdings.history),
      });
    } else if (tab === "tab-executions") {
      if (account && holdings.executed.state === "unasked") holdings.moreExecutions();
      executions.draw(holdings.executions.filter(wanted), { empty: none ?? emptyOf(holdings.executed, "No executions yet"), more: moreOf(holdings.executed) });
    } else if (tab === "tab-balances") {
      balances.draw(lines(holdings), { empty: none ?? "Nothing" });
    }
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
  part("account-csv").addEventListener("click", takeAway);
  market.watch(mark);
  holdings.watch(mark);

  /** Saves the rows of the tab as a file, with those that the page has not fetched yet. */
  async function takeAway() {
    const button = /** @type {HTMLButtonElement} */ (part("account-csv"));
    const account = holdings.id;
    if (account === null || button.getAttribute("aria-disabled")) return;
    button.setAttribute("aria-disabled", "true");
    const name = tab.replace("tab-", "");
    try {
      const { text, rows, all } = await csv(account);
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

  /** @param {string} account @returns {Promise<{text: string, rows: number, all: boolean}>} */
  async function csv(account) {
    if (tab === "tab-history")
      return fileOf(history, await pages((before) => api.orders(account, before, CSV_PAGE).then(({ orders, next }) => ({ rows: orders, next }))));
    if (tab === "tab-executions")
      return fileOf(executions, await pages((before) => api.executions(account, before, CSV_PAGE).then(({ executions: rows, next }) => ({ rows, next }))));
    if (tab === "tab-open") return fileOf(open, { rows: [...holdings.open.values()].sort(newestFirst), all: true });
    if (tab === "tab-portfolio") return { text: portfolio.table.csv(portfolio.lines()), rows: portfolio.table.arranged(portfolio.lines()).length, all: true };
    return { text: balances.csv(lines(holdings)), rows: balances.arranged(lines(holdings)).length, all: true };
  }

  /** @template {{symbol: string}} T @param {Table<T>} table @param {{rows: T[], all: boolean}} of */
  function fileOf(table, { rows, all }) {
    const listed = rows.filter(wanted);
    return { text: table.csv(listed), rows: table.arranged(listed).length, all };
  }

  const drawCancelAll = cancelAllButton(/** @type {HTMLButtonElement} */ (part("cancel-all")), {
    api,
    // It stands only where the orders are that it cancels.
    listed: () => {
      if (tab !== "tab-open") return null;
      const all = [...holdings.open.values()].filter(wanted);
      return { account: holdings.id, orders: open.arranged(all), open: all.length, symbol: only.checked ? market.symbol : null, words: filter.value.trim() };
    },
  });
}

/**
 * Page after page, until there are no more, or so many rows that no more are asked for.
 * @template T
 * @param {(before: Cursor) => Promise<{rows: T[], next: Cursor}>} ask
 */
async function pages(ask) {
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

/** @param {Order} order @param {Price} price */
function limitOf(order, price) {
  const limit = order.limit === null ? "market" : price(order.limit, order.symbol);
  if (order.pends_on !== undefined) return `${limit}, after order ${order.pends_on}`;
  return order.waits ? `${limit}, ${triggerOf(order, price)}` : limit;
}

/** @param {Order} order */
function editName(order) {
  const shares = `Shares of order ${order.order_id}, those included that were executed`;
  return order.limit === null ? shares : `${shares}, @ and its limit`;
}

/** The price that an order waits for, or waited for. @param {Order} order @param {Price} price */
function triggerOf(order, price) {
  if (order.stop === null) return `profit ${price(order.take_profit ?? "", order.symbol)}`;
  const follows = order.trail !== undefined || order.trail_bips !== undefined;
  return `${follows ? "trailing stop" : "stop"} ${price(order.stop, order.symbol)}`;
}

/** @param {Order} order @param {Price} price */
function kindOf(order, price) {
  const name = order.kind.replaceAll("_", " ");
  const kind = order.display === undefined ? name : `${name}, shows ${group(order.display)}`;
  return order.stop === null && order.take_profit === null ? kind : `${kind}, ${triggerOf(order, price)}`;
}

/** @param {Order} a @param {Order} b */
function newestFirst(a, b) {
  return b.order_id - a.order_id;
}

/** @param {Holdings["history"]} list @param {string} text */
function emptyOf(list, text) {
  if (list.state === "here") return text;
  return list.state === "failed" ? "The server does not answer" : "Loading…";
}

/** @param {Holdings["history"]} list */
function moreOf(list) {
  if (list.state === "failed") return "Try again";
  return list.state === "here" && list.next !== null ? "Older" : null;
}

/** @typedef {{what: string, free: string, held: string, all: string}} Line */

/** The balance, then each position. @param {Holdings} holdings @returns {Line[]} */
function lines({ account }) {
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

/** @param {Price} price @param {(order: Order) => void} press @returns {Column<Order>[]} */
const openColumns = (price, press) => [
  { head: "Order", text: (order) => String(order.order_id), kind: "id", value: (row) => row.order_id, press },
  { head: "Symbol", text: (order) => order.symbol },
  { head: "Side", text: sideOf, direction, csv: ({ side }) => side },
  {
    head: "Limit",
    text: (order) => limitOf(order, price),
    kind: "number",
    value: (order) => (order.limit === null ? null : exact(order.limit)),
    csv: (order) => order.limit ?? "",
  },
  { head: "Open", text: (order) => group(order.open), kind: "number", value: (order) => exact(order.open), csv: (order) => order.open },
  { head: "Shares", text: (order) => group(order.shares), kind: "number widest", value: (row) => exact(row.shares), csv: (row) => row.shares },
  { head: "Executed", text: (order) => group(order.executed), kind: "number wide", value: (order) => exact(order.executed), csv: (order) => order.executed },
  { head: "Kind", text: (order) => kindOf(order, price), kind: "wider" },
  { head: "Placed", text: (order) => dayAndTime(order.time), kind: "number wider", value: (order) => order.time, csv: (order) => atUtc(order.time) },
  {
    head: "Until",
    text: (order) => (order.until === null ? "–" : dayAndTime(order.until)),
    kind: "number widest",
    value: (order) => order.until,
    csv: (order) => atUtc(order.until),
  },
];

/** @param {Price} price @param {(order: Order) => void} press @returns {Column<Order>[]} */
const historyColumns = (price, press) => [
  { head: "Order", text: (order) => String(order.order_id), kind: "id", value: (row) => row.order_id, press },
  { head: "Symbol", text: (order) => order.symbol },
  { head: "Side", text: sideOf, direction, csv: ({ side }) => side },
  {
    head: "Limit",
    text: (order) => limitOf(order, price),
    kind: "number",
    value: (order) => (order.limit === null ? null : exact(order.limit)),
    csv: (order) => order.limit ?? "",
  },
  {
    head: "Average",
    text: (order) => (order.average_price ? price(order.average_price, order.symbol) : "–"),
    kind: "number wide",
    value: (order) => (order.average_price ? exact(order.average_price, MONEY_DECIMALS) : null),
    csv: (order) => order.average_price ?? "",
  },
  {
    head: "Executed",
    text: (order) => `${group(order.executed)} of ${group(order.shares)}`,
    kind: "number",
    value: (order) => exact(order.executed),
    csv: (order) => order.executed,
  },
  { head: "Status", text: (order) => order.status },
  { head: "Kind", text: (order) => kindOf(order, price), kind: "wider" },
  { head: "Placed", text: (order) => dayAndTime(order.time), kind: "number wider", value: (order) => order.time, csv: (order) => atUtc(order.time) },
  {
    head: "Done",
    text: (order) => (order.done_time === null ? "–" : dayAndTime(order.done_time)),
    kind: "number widest",
    value: (order) => order.done_time,
    csv: (order) => atUtc(order.done_time),
  },
];

/** @param {Price} price @param {(execution: Execution) => void} press @returns {Column<Execution>[]} */
const executionColumns = (price, press) => [
  { head: "Trade", text: (execution) => String(execution.trade_id), kind: "id widest", value: (row) => row.trade_id },
  { head: "Order", text: (execution) => String(execution.order_id), kind: "id", value: (row) => row.order_id },
  { head: "Symbol", text: (execution) => execution.symbol },
  { head: "Side", text: sideOf, direction, csv: ({ side }) => side },
  {
    head: "Price",
    text: (execution) => price(execution.price, execution.symbol),
    kind: "number",
    value: (execution) => exact(execution.price),
    csv: (execution) => execution.price,
  },
  { head: "Shares", text: (execution) => group(execution.shares), kind: "number", value: (row) => exact(row.shares), csv: (row) => row.shares },
  {
    head: "Money",
    text: (execution) => group(format(total(exact(execution.price), exact(execution.shares)), MONEY_DECIMALS)),
    kind: "number wide",
    value: moneyOf,
    csv: (execution) => format(moneyOf(execution), MONEY_DECIMALS),
  },
  {
    head: "Fee",
    text: feeOf,
    kind: "number wider",
    value: (execution) => (execution.fee ? exact(execution.fee, MONEY_DECIMALS) : null),
    csv: (execution) => (execution.fee ? `${execution.fee} ${execution.fee_of === "shares" ? execution.symbol : "$"}` : ""),
  },
  { head: "Role", text: (execution) => execution.role, kind: "wider" },
  {
    head: "Time",
    text: (execution) => dayAndTime(execution.time),
    kind: "number",
    value: (execution) => execution.time,
    csv: (execution) => atUtc(execution.time),
    press,
    hint: "The market then",
  },
];

/** @type {Column<Line>[]} */
const balanceColumns = [
  { head: "What", text: (line) => line.what },
  {
    head: "Free",
    text: (line) => line.free,
    kind: "number",
    value: (line) => (line.free === "–" ? null : exact(line.free.replaceAll(",", ""), MONEY_DECIMALS)),
    csv: (line) => line.free.replaceAll(",", "").replace("–", ""),
  },
  {
    head: "Held by orders",
    text: (line) => line.held,
    kind: "number",
    value: (line) => (line.held === "–" ? null : exact(line.held.replaceAll(",", ""), MONEY_DECIMALS)),
    csv: (line) => line.held.replaceAll(",", "").replace("–", ""),
  },
  {
    head: "All",
    text: (line) => line.all,
    kind: "number",
    value: (line) => (line.all === "–" ? null : exact(line.all.replaceAll(",", ""), MONEY_DECIMALS)),
    csv: (line) => line.all.replaceAll(",", "").replace("–", ""),
  },
];
