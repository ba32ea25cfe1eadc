// The page's snippets do what they say: each text is run as it stands, and the orders that it placed are compared with those that
// it was made of. PRICETIME_HTTP says where the server is; API_KEY and API_SECRET are a key of account 1, PYTHON has ccxt, and `pricetime`
// is on the path.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ask } from "./own-market.js";
import { termsOf, words } from "../page/state/order-snippets.js";

/** @import { Order } from "../page/types.js" */
/** @import { Terms, SnippetRequest, Snippet } from "../page/state/order-snippets.js" */

const run = promisify(execFile);
const [account, maker, symbol] = ["1", "2", "SAID"];
const { host, hostname } = new URL(process.env.PRICETIME_HTTP ?? "");
const { xml_port, fix_port } = await ask("GET", "/status");
const where = { host, hostname, secure: false, xml_port, fix_port, members: false };
const common = { account, symbol, side: /** @type {const} */ ("buy"), kind: "limit", shares: "1" };
const back = { account, symbol, side: /** @type {const} */ ("sell"), shares: "1" };
const LATER = 4_102_444_800_250_000;

/** @type {[string, SnippetRequest & {act: "place"}][]} */
const all = [
  ["a limit order of many digits", one({ limit: "99.12345678", shares: "1.00000001" })],
  ["a post-only order", one({ kind: "post_only", limit: "90" })],
  ["an immediate one", one({ kind: "immediate_or_cancel", limit: "90" })],
  ["one that is filled or killed", one({ kind: "fill_or_kill", limit: "110" })],
  ["a market order", one({ kind: "market" })],
  ["a market order for so much money", one({ kind: "market", shares: undefined, funds: "210" })],
  ["a stop", one({ ...back, kind: "market", stop: "50" })],
  ["a stop with a limit, and no trades with oneself", one({ ...back, kind: "limit", limit: "45.5", stop: "50", self_trade: "cancel_oldest" })],
  ["a profit", one({ ...back, kind: "limit", limit: "190", take_profit: "200" })],
  ["one that follows the market by a part", one({ ...back, kind: "market", trail_bips: 500 })],
  ["one that follows it by dollars", one({ ...back, kind: "market", trail: "5" })],
  ["one that ends at a time", one({ limit: "90", until: LATER })],
  ["one that shows a part", one({ limit: "90", shares: "10", display: "2" })],
  ["a post-only one that waits", one({ ...back, kind: "post_only", limit: "220", take_profit: "210" })],
  [
    "two of which one cancels the other",
    {
      act: "place",
      kind: "oco",
      orders: [
        { ...back, kind: "post_only", limit: "120" },
        { ...back, kind: "market", stop: "60" },
      ],
    },
  ],
  [
    "one, then another",
    {
      act: "place",
      kind: "oto",
      orders: [
        { ...common, limit: "80" },
        { ...back, kind: "limit", limit: "130" },
      ],
    },
  ],
  [
    "one, then one of both",
    {
      act: "place",
      kind: "otoco",
      orders: [
        { ...common, limit: "80" },
        { ...back, kind: "post_only", limit: "130" },
        { ...back, kind: "market", stop: "70" },
      ],
    },
  ],
];
/** Orders in another symbol, which is in an auction. */
const gathering = "SAIDGFA";
all.push(
  ["a limit order for an auction", one({ symbol: gathering, kind: "auction_limit", limit: "99" })],
  ["a market order for an auction", one({ symbol: gathering, kind: "auction_market" })],
);
/** Orders that no client written for Binance can express, and those that FIX cannot. */
const UNSAYABLE = [
  "a limit order for an auction",
  "a market order for an auction",
  "one that follows it by dollars",
  "one that ends at a time",
  "a post-only one that waits",
];
const UNSAYABLE_IN_FIX = [
  "a stop with a limit, and no trades with oneself",
  "a profit",
  "one that follows the market by a part",
  "one that follows it by dollars",
  "a post-only one that waits",
  "two of which one cancels the other",
  "one, then another",
  "one, then one of both",
];

/** @param {Partial<Terms>} terms @returns {SnippetRequest & {act: "place"}} */
function one(terms) {
  return { act: "place", kind: "oco", orders: [{ ...common, ...terms }] };
}

/** @param {Snippet} words */
async function does({ id, text }) {
  const [program, option] = ["ccxt", "fix"].includes(id) ? [process.env.PYTHON ?? "python3", "-c"] : ["bash", "-c"];
  // The program takes its settings from such variables, too.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("PRICETIME_")));
  const { stdout } = await run(program, [option, text ?? ""], { env });
  return stdout;
}

/** @param {number} count the newest of the account, oldest first @returns {Promise<Order[]>} */
async function newest(count) {
  const { orders } = await ask("GET", `/accounts/${account}/orders?status=all&limit=${count}`);
  return orders.reverse();
}

for (const id of [account, maker]) {
  await ask("POST", "/accounts", { account: id, balance: "1000000" });
  await ask("POST", `/symbols/${symbol}/shares`, { account: id, shares: "1000" });
}
await ask("POST", `/symbols/${gathering}/shares`, { account: maker, shares: "1" });
for (const name of [symbol, gathering])
  for (const side of ["sell", "buy"]) await ask("POST", "/orders", { account: maker, symbol: name, side, limit: "100", shares: "1" });
await ask("PUT", `/symbols/${gathering}/rules`, { band_up: "10", band_down: "10" });
await ask("PUT", `/symbols/${gathering}/phase`, { phase: "auction" });
await ask("POST", "/orders", { account: maker, symbol, side: "sell", limit: "105", shares: "500" });

let ran = 0;
for (const [name, said] of all) {
  for (const each of words(said, where)) {
    if (each.text === null) {
      const unsayable = each.id === "fix" ? UNSAYABLE_IN_FIX : UNSAYABLE;
      assert.ok(unsayable.includes(name) && !["xml", "curl"].includes(each.id) && each.why, `${name} as ${each.id}: ${each.why}`);
      continue;
    }
    assert.ok(each.id !== "fix" || !UNSAYABLE_IN_FIX.includes(name), name);
    assert.match(each.text, /^[\n -~]*$/, `${name} as ${each.id} can be copied: it has no characters that are not seen`);
    const [before] = await newest(1);
    const told = await does(each);
    const placed = await newest(said.orders.length);
    const about = `${name} as ${each.id}: ${each.text}\n${told}`;
    assert.ok(
      placed.every((order) => order.order_id > (before?.order_id ?? 0)),
      about,
    );
    // The order of a list's parts is the protocol's own.
    const key = (/** @type {Terms} */ order) => JSON.stringify([order.side, order.kind, order.limit ?? null, order.stop ?? null, order.shares]);
    const [wanted, got] = [said.orders, placed.map(termsOf)].map((orders) => orders.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)));
    wanted.forEach((order, at) => {
      for (const [field, value] of Object.entries(order).filter(([name, value]) => name !== "funds" && value !== undefined))
        assert.deepEqual(got[at][/** @type {keyof Terms} */ (field)], value, `${field} of ${about}`);
    });
    ran += 1;
  }
}

for (const id of ["xml", "curl", "websocket", "ccxt", "binance", "fix"]) {
  await ask("POST", "/orders", { account, symbol, side: "buy", limit: "75", shares: "1" });
  const [order] = await newest(1);
  for (const act of /** @type {const} */ (["query", "cancel"])) {
    const each = words({ act, order }, where).find((one) => one.id === id);
    assert.ok(each);
    const told = await does(each);
    const shown = [String(order.order_id), act === "query" ? /open|NEW|\|39=0\|/i : /cancell?ed|\|39=4\|/i];
    for (const part of shown) assert.match(told, new RegExp(part), `${act} as ${id}: ${each.text}\n${told}`);
    const [after] = await newest(1);
    assert.equal(after.status, act === "query" ? "open" : "canceled", `${act} as ${id}`);
    ran += 1;
  }
}
console.log(`${ran} texts were run`);
