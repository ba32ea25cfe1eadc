import assert from "node:assert/strict";
import { test } from "node:test";
import { words } from "../page/state/order-snippets.js";
import { isForAuction, isMarket, kindName, rests } from "../page/state/kinds.js";
import { kindNote } from "../page/views/ticket-kinds.js";
import { goesWith } from "../page/views/ticket-order.js";

/** @import { Phase } from "../page/types.js" */

/** @type {Phase} */
const AUCTION = { name: "auction", until: null, price: null, shares: null, surplus: null };
const BANDED = { band_up: "10", band_down: "10", trading: true };

test("each kind is named in plain words, and has a limit, rests or is for an auction", () => {
  const kinds = ["limit", "post_only", "immediate_or_cancel", "fill_or_kill", "market", "auction_limit", "auction_market"];
  assert.deepEqual(
    kinds.map((kind) => [kindName(kind), isMarket(kind), rests(kind), isForAuction(kind)]),
    [
      ["limit", false, true, false],
      ["post only", false, true, false],
      ["immediate or cancel", false, false, false],
      ["fill or kill", false, false, false],
      ["market", true, false, false],
      ["limit, for an auction", false, true, true],
      ["market, for an auction", true, true, true],
    ],
  );
  for (const kind of ["auction_limit", "auction_market", "post_only_move"]) assert.deepEqual([goesWith(kind, ""), goesWith(kind, "stop")], [true, false]);
});

test("beside the kind stands why an order of it would be refused in this phase, or for which auction it waits", () => {
  const order = { kind: "auction_limit", waits: "", side: /** @type {const} */ ("buy"), self_trade: /** @type {const} */ ("allowed"), rules: BANDED };
  const says = (/** @type {object} */ changes) => kindNote({ ...order, phase: AUCTION, ...changes });
  const market = { kind: "auction_market" };
  assert.equal(says({}), "Ends with this auction: what is left is canceled");
  assert.equal(says(market), "At the auction's price, within the price band; what is left is canceled");
  assert.equal(says({ ...market, rules: { band_down: "10", trading: true } }), "Needs a price band, and the symbol has none above its price");
  assert.equal(says({ ...market, rules: undefined, side: "sell" }), "Needs a price band, and the symbol has none below its price");
  assert.match(says({ ...market, rules: { static_up: "5", trading: true } }), /^At the auction's price/);
  for (const kind of ["auction_limit", "auction_market"]) {
    for (const phase of [null, { ...AUCTION, name: "halted" }])
      assert.equal(says({ kind, phase }), "Waits for the next auction, whatever begins it, and ends with it");
    assert.match(says({ kind, self_trade: "decrement" }), /^Trades with own orders, too/);
  }
  assert.equal(says({ kind: "limit" }), "");
  assert.match(says({ kind: "limit", self_trade: "cancel_both" }), /own orders/);
  for (const kind of ["market", "post_only", "fill_or_kill"]) {
    assert.equal(says({ kind }), "In an auction only limit orders and those for it are placed");
    assert.equal(says({ kind, waits: "stop" }), "", "what waits for a price is placed");
    assert.equal(says({ kind, phase: null }), "");
  }
});

test("an order for an auction is said in XML, REST and FIX, and Binance has no words for it", () => {
  const where = { host: "h:1", hostname: "h", secure: false, xml_port: 2, fix_port: 3, members: false };
  const said = (/** @type {string} */ kind) => {
    const order = { account: "1", symbol: "SPY", side: /** @type {const} */ ("sell"), kind, shares: "5", limit: isMarket(kind) ? undefined : "9" };
    return Object.fromEntries(words({ act: "place", kind: "oco", orders: [order] }, where).map(({ id, text, why }) => [id, text ?? `none: ${why}`]));
  };
  const [limit, market] = ["auction_limit", "auction_market"].map(said);
  assert.match(limit.xml, /<order sym="SPY" amount="-5" limit="9" tif="GFA"\/>/);
  assert.match(market.xml, /<order sym="SPY" amount="-5" type="market" tif="GFA"\/>/);
  assert.match(limit.curl, /"kind":"auction_limit","limit":"9","shares":"5"/);
  assert.match(market.curl, /"kind":"auction_market","shares":"5"/);
  assert.match(limit.fix, /"40=2", "44=9", "59=2"/);
  assert.match(market.fix, /"40=1", "59=2"/);
  for (const id of ["binance", "websocket", "ccxt"]) assert.match(market[id], /^none: Binance's interface has no orders for an auction/);
});
