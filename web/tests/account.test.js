// The rows and texts of an account's tables.

import assert from "node:assert/strict";
import { test } from "node:test";
import { executionColumns, historyColumns, openColumns } from "../page/views/account-columns.js";
import { pages } from "../page/views/account-csv.js";
import { balanceLines } from "../page/views/account-lines.js";
import { emptyOf } from "../page/views/account-tables.js";
import { leftText } from "../page/views/cancel-all.js";
import { aboutOrder, editName, kindOf, limitOf, statusText, takenText } from "../page/views/order-text.js";
import { csvOf } from "../page/views/table.js";

/** @import { Account, Cursor, Execution, Order } from "../page/types.js" */

/** @param {Partial<Order>} changes @returns {Order} */
const order = (changes = {}) => ({
  order_id: 7,
  client_order_id: null,
  account: "1",
  symbol: "SPY",
  side: "buy",
  kind: "limit",
  limit: "1000.5",
  stop: null,
  take_profit: null,
  self_trade: "allowed",
  until: null,
  waits: false,
  shares: "1500",
  open: "500",
  executed: "1000",
  canceled: "0",
  status: "open",
  time: 1_000_000,
  done_time: null,
  average_price: null,
  ...changes,
});
const price = (/** @type {string} */ text) => `$${text}`;
const press = () => {};

test("a limit is told with what the order waits for", () => {
  /** @type {[Partial<Order>, string][]} */
  const cases = [
    [{}, "$1000.5"],
    [{ limit: null }, "market"],
    [{ pends_on: 3 }, "$1000.5, after order 3"],
    [{ waits: true, stop: "990" }, "$1000.5, stop $990"],
    [{ waits: true, stop: "990", trail_bips: 50 }, "$1000.5, trailing stop $990"],
    [{ waits: true, limit: null, take_profit: "1100" }, "market, profit $1100"],
  ];
  for (const [changes, text] of cases) assert.equal(limitOf(order(changes), price), text);
});

test("a kind is told with the shares that it shows, and its trigger also after that was reached", () => {
  assert.equal(kindOf(order({ kind: "immediate_or_cancel" }), price), "immediate or cancel");
  assert.equal(kindOf(order({ kind: "auction_limit", display: "1200" }), price), "limit, for an auction, shows 1,200");
  assert.equal(kindOf(order({ display: "1200", stop: "990" }), price), "limit, shows 1,200, stop $990");
});

test("an order is told in one line with its state", () => {
  assert.equal(aboutOrder(order()), "▲ Buy 1,500 SPY at 1,000.5: 500 open");
  assert.equal(aboutOrder(order({ side: "sell", limit: null, waits: true })), "▼ Sell 1,500 SPY at any price: waits for its price");
  assert.equal(aboutOrder(order({ pends_on: 3, waits: true })), "▲ Buy 1,500 SPY at 1,000.5: waits for order 3");
  assert.equal(aboutOrder(order({ status: "canceled", waits: true })), "▲ Buy 1,500 SPY at 1,000.5: canceled");
  assert.equal(aboutOrder(order({ status: "canceled", canceled_why: "expired" })), "▲ Buy 1,500 SPY at 1,000.5: canceled. Its time was over");
  assert.equal(editName(order({ limit: null })), "Shares of order 7, those included that were executed. With more its place is lost");
});

test("a status is told with its reason, which is known of no order from before reasons were kept", () => {
  assert.equal(statusText(order()), "open");
  assert.equal(statusText(order({ status: "canceled" })), "canceled");
  assert.equal(statusText(order({ status: "canceled", canceled_why: "self_trade" })), "canceled: own order met");
  // Some of its shares were canceled when it met an own one, and the others executed.
  assert.equal(statusText(order({ status: "executed", canceled_why: "self_trade" })), "executed");
});

test("what an order took at once is not told where its executions are not all here", () => {
  const taken = (/** @type {string} */ executed, /** @type {[role: string, shares: string][]} */ ...executions) =>
    takenText(
      { executed },
      executions.map(([role, shares]) => /** @type {any} */ ({ role, shares })),
    );
  assert.equal(taken("0"), "It met no order at once");
  assert.equal(taken("5", ["maker", "5"]), "It met no order at once");
  assert.equal(taken("1500", ["aggressor", "1000"], ["aggressor", "200"], ["maker", "300"]), "It took 1,200 from 2 orders");
  assert.equal(taken("5"), "The page does not have all of its executions any more");
  assert.equal(taken("5", ["maker", "4"]), "The page does not have all of its executions any more");
});

test("a list without rows of a symbol is not told as one without any", () => {
  const empty = (/** @type {any} */ list, /** @type {string|null} */ symbol = null) => emptyOf({ next: null, ...list }, "orders", symbol);
  assert.equal(empty({ state: "here" }), "No orders yet");
  assert.equal(empty({ state: "here" }, "SPY"), "No orders of SPY");
  assert.equal(empty({ state: "here", next: 7 }, "SPY"), "No orders of SPY among the newest: there are older ones");
  assert.deepEqual([empty({ state: "asking" }), empty({ state: "failed" }, "SPY")], ["Loading…", "The server does not answer"]);
});

test("orders that are not open any more need not be canceled", () => {
  assert.match(leftText(false), /^None of them is open any more: what was not canceled was executed$/);
  assert.match(leftText(true), /^Some orders are open now/);
  assert.match(leftText(null), /still not known/);
});

test("the balance comes first, then positions and limits, and all is free and held together", () => {
  /** @type {Account} */
  const account = {
    account: "1",
    balance: "1000.25",
    held: "0.75",
    positions: [{ symbol: "SPY", shares: "12000", held: "1" }],
    open_orders: 1,
    limits: { open_orders: 5, collar: "10" },
    sequence: 1,
  };
  assert.deepEqual(
    balanceLines(account).map(({ what, free, held, all }) => [what, free, held, all]),
    [
      ["Dollars", "1,000.25", "0.75", "1,001"],
      ["SPY", "12,000", "1", "12,001"],
      ["Open orders, at most", "–", "–", "5"],
      ["Per cent from the market, at most", "–", "–", "10"],
    ],
  );
  assert.deepEqual(balanceLines(null), []);
});

test("a refused order has no number, and a reason, in a file as well", () => {
  const refused = /** @type {any} */ ({
    ...order(),
    order_id: -1,
    status: "refused",
    why: "Insufficient funds",
    funds: "1500",
    executed: "0",
    done_time: 1_000_000,
  });
  const [number, , , , , executed, status] = historyColumns(price, press);
  assert.deepEqual(
    [number, executed, status].map(({ text }) => text(refused)),
    ["", "0 of $1,500", "refused: Insufficient funds"],
  );
  assert.match(csvOf(historyColumns(price, press), [refused]), /\r\n,SPY,buy,1000\.5,,0,refused: Insufficient funds,limit,/);
});

test("files of orders and executions hold plain amounts and times of UTC", () => {
  assert.equal(
    csvOf(openColumns(price, press), [order({ until: 2_000_000 })]),
    "Order,Symbol,Side,Limit,Open,Shares,Executed,Kind,Placed,Until\r\n" +
      "7,SPY,buy,1000.5,500,1500,1000,limit,1970-01-01T00:00:01.000Z,1970-01-01T00:00:02.000Z\r\n",
  );
  assert.equal(
    csvOf(historyColumns(price, press), [order({ status: "canceled", limit: null, done_time: 3_000_000, average_price: "1000.25" })]),
    "Order,Symbol,Side,Limit,Average,Executed,Status,Kind,Placed,Done\r\n" +
      "7,SPY,buy,,1000.25,1000,canceled,limit,1970-01-01T00:00:01.000Z,1970-01-01T00:00:03.000Z\r\n",
  );
  const fill = { trade_id: 3, order_id: 7, account: "1", symbol: "SPY", price: "1000.5", shares: "2000", time: 1_000_000, fee: "1", fee_of: "shares" };
  assert.equal(
    csvOf(executionColumns(price, press), [/** @type {Execution} */ ({ ...fill, side: "sell", role: "maker" })]),
    "Trade,Order,Symbol,Side,Price,Shares,Money,Fee,Role,Time\r\n3,7,SPY,sell,1000.5,2000,2001000,1 SPY,maker,1970-01-01T00:00:01.000Z\r\n",
  );
});

test("pages are fetched until there are no more, or until there are more rows than a file takes", async () => {
  /** @param {number} count */
  const fetched = (count) => {
    /** @type {Cursor[]} */
    const asked = [];
    const ask = async (/** @type {Cursor} */ before) => {
      asked.push(before);
      return { rows: Array.from({ length: 9_000 }, () => asked.length), next: asked.length < count ? asked.length : null };
    };
    return pages(ask).then(({ rows, all }) => [rows.length, all, asked]);
  };
  assert.deepEqual(await fetched(2), [18_000, true, [null, 1]]);
  assert.deepEqual(await fetched(9), [27_000, false, [null, 1, 2]]);
});
