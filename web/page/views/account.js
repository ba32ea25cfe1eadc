// What an account has and does: open orders, history, executions, balance and positions.

import { MONEY_DECIMALS, exact, fault, format, group, plain, total } from "../decimal.js";
import { find, setText } from "../dom.js";
import { dayAndTime, plural } from "../format.js";
import { Refusal } from "../api.js";
import { notice } from "./notices.js";
import { Table } from "./table.js";
import { tabs } from "./tabs.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Execution, Limits, NewOrder, Order, Side } from "../types.js" */
/** @import { Shown } from "../state/shown.js" */
/** @import { Column } from "./table.js" */

/** A price as it is shown everywhere. @typedef {(text: string, symbol: string) => string} Price */

/** @typedef {"tab-open"|"tab-history"|"tab-executions"|"tab-balances"} Tab */

const direction = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "up" : "down");
const sideOf = (/** @type {{side: Side}} */ { side }) => (side === "buy" ? "▲ Buy" : "▼ Sell");
const feeOf = (/** @type {Execution} */ { fee, fee_of, symbol }) => (fee ? `${group(fee)} ${fee_of === "shares" ? symbol : "$"}` : "–");

/** A cancel-all is asked twice, and forgotten after so long. */
const SURE_MS = 4_000;

/** @param {{market: Market, shown: Shown, holdings: Holdings, frames: Frames, api: Api, openOrder: (order: Order) => void}} parts */
export function accountView({ market, shown, holdings, frames, api, openOrder }) {
  /** @type {Price} */
  const price = (text, symbol) => shown.price(text, symbol);
  const only = /** @type {HTMLInputElement} */ (find("only-symbol"));
  const openCount = find("open-count");
  /** @type {Tab} */
  let tab = "tab-open";

  const open = new Table(find("panel-open"), {
    caption: "Open orders",
    columns: openColumns(price, openOrder),
    key: (order) => String(order.order_id),
    action: { label: "Cancel", name: (order) => `Cancel order ${order.order_id}: ${order.side} ${order.open} ${order.symbol} at ${limitOf(order, price)}`, run: cancel },
    edit: { label: "Edit", name: editName, value: (order) => (order.limit === null ? order.shares : `${order.shares} @ ${order.limit}`), run: edit },
  });
  const history = new Table(find("panel-history"), { caption: "All orders", columns: historyColumns(price, openOrder), key: (order) => String(order.order_id), more: () => holdings.moreHistory() });
  const executions = new Table(find("panel-executions"), {
    caption: "Executions", columns: executionColumns(price), key: (execution) => `${execution.trade_id}/${execution.order_id}`, more: () => holdings.moreExecutions(),
  });
  const balances = new Table(find("panel-balances"), { caption: "Balance and positions", columns: balanceColumns, key: (line) => line.what });

  const wanted = (/** @type {{symbol: string}} */ { symbol }) => !only.checked || symbol === market.symbol;

  const mark = frames.view(() => {
    const { account, id } = holdings;
    setText(openCount, account ? ` ${account.open_orders}` : "");
    setText(find("only-symbol-name"), market.symbol ?? "this symbol");
    drawCancelAll();
    const none = id === null ? "Choose an account to see its orders" : holdings.refused ?? (account ? null : "Loading…");
    // Only the table in view is drawn.
    if (tab === "tab-open") {
      const orders = [...holdings.open.values()].filter(wanted).sort(newestFirst);
      open.draw(orders, { empty: none ?? (only.checked ? `No open orders of ${market.symbol}` : "No open orders") });
    } else if (tab === "tab-history") {
      if (account && holdings.history.state === "unasked") holdings.moreHistory();
      history.draw([...holdings.orders.values()].filter(wanted).sort(newestFirst), { empty: none ?? emptyOf(holdings.history, "No orders yet"), more: moreOf(holdings.history) });
    } else if (tab === "tab-executions") {
      if (account && holdings.executed.state === "unasked") holdings.moreExecutions();
      executions.draw(holdings.executions.filter(wanted), { empty: none ?? emptyOf(holdings.executed, "No executions yet"), more: moreOf(holdings.executed) });
    } else {
      balances.draw(lines(holdings), { empty: none ?? "Nothing" });
    }
  });

  tabs(find("account-tabs"), (id) => {
    tab = /** @type {Tab} */ (id);
    mark();
  });
  only.addEventListener("change", mark);
  market.watch(mark);
  holdings.watch(mark);

  /** @param {Order} order */
  async function cancel(order) {
    try {
      const canceled = await api.cancel(order.order_id, order.account);
      notice(`Order ${canceled.order_id} canceled: ${canceled.canceled} ${canceled.symbol} were open`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      open.release(String(order.order_id));
      notice(`Order ${order.order_id} not canceled: ${error.message}`, "fault");
    }
  }

  /** Shares alone are amended; with another limit it is replaced. @param {Order} order @param {string} text */
  async function edit(order, text) {
    const [shares, limit, ...more] = text.split("@").map(plain);
    const wrong = more.length > 0 ? "write shares @ limit" : fault(shares, "Shares") ?? (limit === undefined ? null : fault(limit, "Limit"));
    if (wrong !== null) return notice(`Order ${order.order_id} not changed: ${wrong}`, "fault");
    if (limit === undefined || (order.limit !== null && exact(limit) === exact(order.limit))) return amend(order, shares);
    if (order.limit === null) return notice(`Order ${order.order_id} not changed: a market order has no limit`, "fault");
    return replace(order, shares, limit);
  }

  /** Its executed shares count. @param {Order} order @param {string} shares @param {string} limit */
  async function replace(order, shares, limit) {
    const rest = exact(shares) - exact(order.executed);
    if (order.linked_with !== undefined) return notice(`Order ${order.order_id} not changed: it is linked with order ${order.linked_with}, which would be canceled, too`, "fault");
    if (rest <= 0n) return notice(`Order ${order.order_id} not changed: ${group(order.executed)} were executed, so choose more`, "fault");
    try {
      const { placed, not_placed } = await api.replace(order.order_id, { ...sameAs(order), shares: format(rest), limit });
      if (placed) notice(`Order ${placed.order_id} stands for order ${order.order_id}: ${group(placed.shares)} ${placed.symbol} at ${price(limit, placed.symbol)}, behind the others of its price`);
      else notice(`Order ${order.order_id} canceled, and nothing placed: ${not_placed?.detail ?? "refused"}`, "fault");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notice(`Order ${order.order_id} not changed: ${error.message}`, "fault");
    }
  }

  /** @param {Order} order @param {string} shares */
  async function amend(order, shares) {
    try {
      const amended = await api.amend(order.order_id, order.account, shares);
      notice(`Order ${amended.order_id} has ${group(amended.shares)} ${amended.symbol} now, ${group(amended.open)} open`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      notice(`Order ${order.order_id} not reduced: ${error.message}`, "fault");
    }
  }

  const drawCancelAll = cancelAll();

  /** The button, pressed twice. @returns {() => void} draws it */
  function cancelAll() {
    const button = /** @type {HTMLButtonElement} */ (find("cancel-all"));
    let asked = false;
    let sending = false;
    /** @type {ReturnType<typeof setTimeout>|undefined} */
    let timer;
    const withdraw = () => {
      clearTimeout(timer);
      asked = false;
      draw();
    };
    const draw = () => {
      const amount = [...holdings.open.values()].filter(wanted).length;
      // It stands only where the orders are that it cancels.
      button.hidden = tab !== "tab-open" || (amount === 0 && !sending);
      button.disabled = sending;
      const of = only.checked && market.symbol ? ` of ${market.symbol}` : "";
      setText(button, asked ? `Sure? Cancel ${plural(amount, "order")}${of}` : `Cancel all${of}`);
    };
    button.addEventListener("click", async () => {
      if (!asked) {
        asked = true;
        timer = setTimeout(withdraw, SURE_MS);
        return draw();
      }
      withdraw();
      if (!holdings.id) return;
      sending = true;
      draw();
      try {
        const { canceled } = await api.cancelAll(holdings.id, only.checked ? market.symbol : null);
        notice(`${plural(canceled.length, "order")} canceled`);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        notice(`Not canceled: ${error.message}`, "fault");
      } finally {
        sending = false;
        draw();
      }
    });
    button.addEventListener("blur", withdraw);
    return draw;
  }
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

/** What a new order has of the one that it replaces. @param {Order} order @returns {Omit<NewOrder, "shares"|"client_order_id">} */
function sameAs({ account, symbol, side, kind, waits, stop, take_profit, until, self_trade, display }) {
  return {
    account, symbol, side, kind, self_trade,
    ...(waits && stop !== null && { stop }),
    ...(waits && take_profit !== null && { take_profit }),
    ...(until !== null && { until }),
    ...(display !== undefined && { display }),
  };
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
  const sum = (/** @type {string} */ a, /** @type {string} */ b, /** @type {number} */ decimals) => group(format(exact(a, decimals) + exact(b, decimals), decimals));
  const money = { what: "Dollars", free: group(account.balance), held: group(account.held), all: sum(account.balance, account.held, MONEY_DECIMALS) };
  const positions = account.positions.map(({ symbol, shares, held }) => ({ what: symbol, free: group(shares), held: group(held), all: sum(shares, held, 8) }));
  return [money, ...positions, ...limitLines(account.limits ?? {})];
}

/** What the account may do, behind what it has. @param {Limits} limits @returns {Line[]} */
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
  { head: "Order", text: (order) => String(order.order_id), kind: "id", press },
  { head: "Symbol", text: (order) => order.symbol },
  { head: "Side", text: sideOf, direction },
  { head: "Limit", text: (order) => limitOf(order, price), kind: "number" },
  { head: "Open", text: (order) => group(order.open), kind: "number" },
  { head: "Shares", text: (order) => group(order.shares), kind: "number wide" },
  { head: "Executed", text: (order) => group(order.executed), kind: "number wide" },
  { head: "Kind", text: (order) => kindOf(order, price), kind: "wide" },
  { head: "Placed", text: (order) => dayAndTime(order.time), kind: "number wide" },
  { head: "Until", text: (order) => (order.until === null ? "–" : dayAndTime(order.until)), kind: "number wide" },
];

/** @param {Price} price @param {(order: Order) => void} press @returns {Column<Order>[]} */
const historyColumns = (price, press) => [
  { head: "Order", text: (order) => String(order.order_id), kind: "id", press },
  { head: "Symbol", text: (order) => order.symbol },
  { head: "Side", text: sideOf, direction },
  { head: "Limit", text: (order) => limitOf(order, price), kind: "number" },
  { head: "Average", text: (order) => (order.average_price ? price(order.average_price, order.symbol) : "–"), kind: "number wide" },
  { head: "Executed", text: (order) => `${group(order.executed)} of ${group(order.shares)}`, kind: "number" },
  { head: "Status", text: (order) => order.status },
  { head: "Kind", text: (order) => kindOf(order, price), kind: "wide" },
  { head: "Placed", text: (order) => dayAndTime(order.time), kind: "number wide" },
  { head: "Done", text: (order) => (order.done_time === null ? "–" : dayAndTime(order.done_time)), kind: "number wide" },
];

/** @param {Price} price @returns {Column<Execution>[]} */
const executionColumns = (price) => [
  { head: "Trade", text: (execution) => String(execution.trade_id), kind: "id wide" },
  { head: "Order", text: (execution) => String(execution.order_id), kind: "id" },
  { head: "Symbol", text: (execution) => execution.symbol },
  { head: "Side", text: sideOf, direction },
  { head: "Price", text: (execution) => price(execution.price, execution.symbol), kind: "number" },
  { head: "Shares", text: (execution) => group(execution.shares), kind: "number" },
  { head: "Money", text: (execution) => group(format(total(exact(execution.price), exact(execution.shares)), MONEY_DECIMALS)), kind: "number wide" },
  { head: "Fee", text: feeOf, kind: "number wide" },
  { head: "Role", text: (execution) => execution.role, kind: "wide" },
  { head: "Time", text: (execution) => dayAndTime(execution.time), kind: "number" },
];

/** @type {Column<Line>[]} */
const balanceColumns = [
  { head: "What", text: (line) => line.what },
  { head: "Free", text: (line) => line.free, kind: "number" },
  { head: "Held by orders", text: (line) => line.held, kind: "number" },
  { head: "All", text: (line) => line.all, kind: "number" },
];
