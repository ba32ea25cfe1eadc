// npm's binance, with nothing but the addresses changed, on a market in which somebody offers at 145.67, bids at 140 and takes
// a little of both all the time. The server and the key come from the environment, as in ../market.py.

import assert from "node:assert/strict";
import { MainClient, WebsocketAPIClient, WebsocketClient } from "binance";

const { PRICETIME_HTTP, API_KEY, API_SECRET } = process.env;
const keys = { api_key: API_KEY, api_secret: API_SECRET };
const baseUrl = `http://${PRICETIME_HTTP}/binance`;
const client = new MainClient({ ...keys, baseUrl });
const quiet = { trace() {}, info() {}, error: console.error };
const symbol = "SPYUSD";
const PATIENCE_MS = 30_000;

// A call is refused with this code.
async function refused(code, call) {
  const refusal = await call.then((answer) => assert.fail(`not refused: ${JSON.stringify(answer)}`), (error) => error);
  assert.equal(refusal.code, code, JSON.stringify(refusal.body ?? String(refusal)));
}

const place = (order) => client.submitNewOrder({ symbol, newOrderRespType: "FULL", ...order });

async function market() {
  await client.testConnectivity();
  const info = await client.getExchangeInfo({ symbol });
  assert.ok(["LIMIT", "LIMIT_MAKER", "MARKET"].every((type) => info.symbols[0].orderTypes.includes(type)));
  assert.equal((await client.getSystemStatus()).status, 0);
  assert.equal((await client.getTradeFee({ symbol }))[0].makerCommission, "0");
  const account = await client.getAccountInformation();
  assert.deepEqual(account.balances.find(({ asset }) => asset === "USD"), {
    asset: "USD", free: "100000.00000000", locked: "0.00000000",
  });
  const depth = await client.getOrderBook({ symbol, limit: 5 });
  assert.deepEqual([depth.bids[0][0], depth.asks[0][0]], ["140.00000000", "145.67000000"]);
  const best = await client.getSymbolOrderBookTicker({ symbol });
  assert.deepEqual([best.bidPrice, best.askPrice], ["140.00000000", "145.67000000"]);
}

async function resting() {
  await client.testNewOrder({ symbol, side: "BUY", type: "MARKET", quantity: 1 });
  const name = client.generateNewOrderId();
  const order = await place({
    side: "BUY", type: "LIMIT", timeInForce: "GTC", quantity: 2, price: 139, newClientOrderId: name,
  });
  assert.equal(order.status, "NEW");
  assert.equal((await client.getOrder({ symbol, origClientOrderId: name })).orderId, order.orderId);
  assert.deepEqual((await client.getOpenOrders({ symbol })).map(({ orderId }) => orderId), [order.orderId]);
  assert.equal((await client.cancelOrder({ symbol, orderId: order.orderId })).status, "CANCELED");
  assert.equal((await client.getOrder({ symbol, orderId: order.orderId })).status, "CANCELED");
  await refused(-2011, client.cancelOrder({ symbol, orderId: order.orderId }));
  // Others trade all the time, so that one of two orders that met would be theirs: it waits below their prices.
  const own = await place({
    side: "BUY", type: "LIMIT", timeInForce: "GTC", quantity: 3, price: 131, selfTradePreventionMode: "EXPIRE_TAKER",
  });
  assert.deepEqual([own.status, own.selfTradePreventionMode], ["NEW", "EXPIRE_TAKER"]);
  assert.equal((await client.cancelOrder({ symbol, orderId: own.orderId })).status, "CANCELED");
  const maker = await place({ side: "SELL", type: "LIMIT_MAKER", quantity: 1, price: 150 });
  assert.deepEqual([maker.status, maker.type], ["NEW", "LIMIT_MAKER"]);
  await refused(-2010, place({ side: "SELL", type: "LIMIT_MAKER", quantity: 1, price: 139 }));
  assert.equal((await client.cancelAllSymbolOrders({ symbol })).length, 1);
}

// Orders that wait for a price: executions are at 140 and at 145.67.
async function waiting() {
  const stop = { side: "SELL", quantity: 1, stopPrice: 130 };
  const profit = { ...stop, stopPrice: 160 };
  const limit = { timeInForce: "GTC", price: 120 };
  const orders = [
    { ...stop, type: "STOP_LOSS" },
    { ...stop, ...limit, type: "STOP_LOSS_LIMIT" },
    { ...profit, type: "TAKE_PROFIT" },
    { ...profit, ...limit, type: "TAKE_PROFIT_LIMIT" },
  ];
  for (const asked of orders) {
    const { orderId } = await place(asked);
    const order = await client.getOrder({ symbol, orderId });
    assert.deepEqual([order.type, order.status, order.isWorking], [asked.type, "NEW", false]);
    assert.equal(Number(order.stopPrice), asked.stopPrice);
  }
  await refused(-2010, place({ ...stop, type: "STOP_LOSS", stopPrice: 150 }));
  assert.equal((await client.cancelAllSymbolOrders({ symbol })).length, orders.length);
}

async function executing() {
  // What is asked for, how it ends, and how much of it executes at which price.
  const orders = [
    [{ side: "BUY", type: "LIMIT", timeInForce: "GTC", quantity: 4, price: 150 }, "FILLED", 4, 145.67],
    [{ side: "BUY", type: "LIMIT", timeInForce: "IOC", quantity: 3, price: 145.67 }, "FILLED", 3, 145.67],
    [{ side: "BUY", type: "LIMIT", timeInForce: "IOC", quantity: 3, price: 144 }, "EXPIRED", 0],
    [{ side: "SELL", type: "LIMIT", timeInForce: "FOK", quantity: 2, price: 140 }, "FILLED", 2, 140],
    [{ side: "SELL", type: "LIMIT", timeInForce: "FOK", quantity: 2, price: 141 }, "EXPIRED", 0],
    [{ side: "BUY", type: "MARKET", quantity: 2 }, "FILLED", 2, 145.67],
    [{ side: "SELL", type: "MARKET", quantity: 1 }, "FILLED", 1, 140],
    [{ side: "BUY", type: "MARKET", quoteOrderQty: 291.34 }, "FILLED", 2, 145.67],
    [{ side: "SELL", type: "MARKET", quoteOrderQty: 280 }, "FILLED", 2, 140],
  ];
  const ids = new Set();
  for (const [asked, status, executed, price] of orders) {
    const order = await place(asked);
    ids.add(order.orderId);
    assert.deepEqual([order.status, Number(order.executedQty)], [status, executed], JSON.stringify([asked, order]));
    assert.deepEqual([order.side, order.type, order.timeInForce], [asked.side, asked.type, asked.timeInForce ?? "GTC"]);
    assert.ok(order.fills.every((fill) => Number(fill.price) === price), JSON.stringify(order));
  }
  await refused(-2010, place({ side: "BUY", type: "LIMIT", timeInForce: "GTC", quantity: 100_000, price: 150 }));
  const statuses = (await client.getAllOrders({ symbol })).map(({ status }) => status);
  assert.equal(statuses.filter((status) => status === "EXPIRED").length, 2, String(statuses));
  // Others trade, too, with what rested before.
  const mine = (await client.getAccountTradeList({ symbol })).filter(({ orderId }) => ids.has(orderId));
  assert.equal(mine.length, 7, JSON.stringify(mine));
  assert.ok(mine.every(({ isMaker }) => !isMaker));
}

async function past() {
  for (const klines of [client.getKlines({ symbol, interval: "1m" }), client.getUIKlines({ symbol, interval: "1d" })]) {
    const volume = (await klines).reduce((sum, kline) => sum + Number(kline[5]), 0);
    assert.ok(volume > 16, String(volume));
  }
  assert.ok((await client.getRecentTrades({ symbol })).length > 7);
  assert.ok((await client.getHistoricalTrades({ symbol, limit: 5 })).length === 5);
  assert.ok((await client.getAggregateTrades({ symbol })).length > 7);
  assert.ok(["140.00000000", "145.67000000"].includes((await client.getSymbolPriceTicker({ symbol })).price));
  assert.equal((await client.get24hrChangeStatistics({ symbol })).highPrice, "145.67000000");
  assert.equal((await client.getRollingWindowTicker({ symbol, windowSize: "1h", type: "FULL" })).symbol, symbol);
  assert.equal((await client.getTradingDayTicker({ symbol, type: "FULL" })).symbol, symbol);
  assert.ok(Number((await client.getAvgPrice({ symbol })).price) > 139);
}

// Gives the next event that is as wanted.
function next(streams, what, wanted) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`waited in vain for ${what}`)), PATIENCE_MS);
    streams.on("message", function look(event) {
      if (!wanted(event)) return;
      clearTimeout(late);
      streams.off("message", look);
      resolve(event);
    });
  });
}

async function follow() {
  const options = { ...keys, wsUrl: `ws://${PRICETIME_HTTP}/binance`, restOptions: { baseUrl } };
  const streams = new WebsocketClient(options, quiet);
  const names = ["trade", "aggTrade", "kline_1m", "bookTicker", "depth@100ms", "depth5@100ms", "ticker", "miniTicker"];
  const told = names.map((name) => next(streams, name, ({ streamName }) => streamName === `spyusd@${name}`));
  await streams.subscribe(names.map((name) => `spyusd@${name}`), "main");
  const [trade] = await Promise.all(told);
  assert.ok(["140.00000000", "145.67000000"].includes(trade.p), JSON.stringify(trade));

  // The account's stream, by a listen key and by a signature over the WebSocket API.
  await streams.subscribeSpotUserDataStream();
  const api = new WebsocketAPIClient({ ...options, attachEventListeners: false }, quiet);
  await api.subscribeUserDataStream("mainWSAPI");
  for (const source of [streams, api.getWSClient()]) {
    const [none, some] = [client.generateNewOrderId(), client.generateNewOrderId()];
    const ended = next(source, "the order's end", ({ c, X }) => c === none && X === "EXPIRED");
    const bought = next(source, "the order's execution", ({ c, x }) => c === some && x === "TRADE");
    const balance = next(source, "the balance", ({ e }) => e === "outboundAccountPosition");
    const buy = { side: "BUY", quantity: 1 };
    await place({ ...buy, type: "LIMIT", timeInForce: "IOC", price: 140, newClientOrderId: none });
    const order = await place({ ...buy, type: "MARKET", newClientOrderId: some });
    assert.equal((await ended).f, "IOC");
    const report = await bought;
    assert.deepEqual([report.i, report.o, report.L], [order.orderId, "MARKET", "145.67000000"]);
    assert.ok((await balance).B.some(({ a }) => a === "SPY"));
  }
}

await market();
await resting();
await waiting();
await executing();
await past();
console.log("npm's binance: REST is as it should be");
await follow();
console.log("npm's binance: streams are as they should be");
// Its timers would keep the program running.
process.exit();
