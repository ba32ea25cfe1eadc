import assert from "node:assert/strict";
import { test } from "node:test";
import { exact, group } from "../page/decimal.js";
import { Book } from "../page/state/book.js";
import { Fees, feeOf, percentOf } from "../page/state/fees.js";
import { fundsOf, percentageOf, sharesOf } from "../page/views/amount.js";
import { bipsOf, ordersOf, kindFor } from "../page/views/ticket-order.js";
import { forecast, foretoldMeeting, foretoldWaiting, nearest } from "../page/views/forecast.js";
import { moveOf } from "../page/views/moving.js";
import { fillingOf, presetsOf, withPreset } from "../page/views/presets.js";
import { ticketPrices } from "../page/views/ticket-prices.js";

/** @import { TicketInput } from "../page/views/ticket-order.js" */
/** @import { Basis } from "../page/views/amount.js" */

const level = (/** @type {[string, string]} */ [limit, shares]) => ({ limit, price: exact(limit), shares, amount: exact(shares), orders: 1 });

/** @param {[string, string][]} bids @param {[string, string][]} asks */
function book(bids, asks) {
  return Object.assign(new Book(), { state: "live", bids: bids.map(level), asks: asks.map(level) });
}

const BOOK = book(
  [
    ["150.4", "10"],
    ["150.3", "40"],
  ],
  [
    ["150.6", "20"],
    ["150.75", "5"],
    ["151", "100"],
  ],
);

test("fees are told as the server takes them: of the shares of a buyer, of the dollars of a seller, each level rounded up", () => {
  const rates = { maker: 1000n, taker: 2500n };
  const says = (/** @type {"buy"|"sell"} */ side, /** @type {string} */ limit, /** @type {string} */ shares) =>
    forecast(BOOK, { side, kind: "limit", limit: exact(limit), shares: exact(shares) }, group, { rates, symbol: "SPY" });
  assert.equal(says("buy", "150.75", "25"), "25 now at 150.63 on average, 0 rests, fee 0.0625 SPY");
  assert.equal(says("sell", "150.4", "12"), "10 now at 150.4 on average, 2 rest at 150.4, fee 3.76");
  assert.equal(says("buy", "150", "25"), "0 now, 25 rest at 150, fee 0.1% once executed");
  assert.equal(
    forecast(BOOK, { side: "buy", kind: "limit", limit: exact("151"), shares: exact("1") }, group, { rates: { maker: 0n, taker: 0n } }),
    "1 now at 150.6 on average, 0 rests, fee 0",
  );
  // Of the least unit a fee takes all.
  assert.equal(feeOf(1n, 1n), 1n);
  assert.equal(percentOf(2500n), "0.25");
  assert.equal(percentOf(1n), "0.0001");
  assert.equal(percentOf(0n), "0");
  assert.equal(nearest(exact("3.7649", 16)), "3.76");
  assert.equal(nearest(exact("-0.00126", 16)), "-0.0013");
});

test("a post-only order that moves is foretold at the price that it gets", () => {
  const says = (/** @type {string} */ limit, /** @type {string} */ step) =>
    forecast(BOOK, { side: "buy", kind: "post_only_move", limit: exact(limit), shares: exact("1") }, group, { step: exact(step) });
  assert.equal(says("151", "0.01"), "1 rest at 150.59, the next price at which it does not execute");
  assert.equal(says("150.5", "0.01"), "1 rest at 150.5");
});

test("what waits is told in words, and own orders that it meets", () => {
  const order = { side: /** @type {const} */ ("sell"), kind: /** @type {const} */ ("market"), shares: "5", limit: null };
  assert.equal(foretoldWaiting({ ...order, waits: "stop", trigger: "140" }), "Waits for 140, then sells 5 at any price");
  assert.equal(
    foretoldWaiting({ ...order, waits: "trail_bips", trigger: "2.5" }),
    "Follows 2.5% behind the market; when that comes back to it, sells 5 at any price",
  );
  assert.equal(foretoldWaiting({ ...order, waits: "stop", trigger: null }), "");
  const own = [{ side: /** @type {const} */ ("sell"), symbol: "SPY", limit: "150.6", waits: false }];
  assert.equal(foretoldMeeting({ side: "buy", limit: exact("150.6") }, own, "SPY", "cancel_oldest"), "cancels your own that it meets");
  assert.equal(foretoldMeeting({ side: "buy", limit: exact("150.5") }, own, "SPY", "cancel_oldest"), "");
  assert.equal(foretoldMeeting({ side: "buy", limit: null }, own, "ACME", "allowed"), "");
});

test("an order that is moved is foretold, and what would be refused is known before it is sent", () => {
  const order = /** @type {any} */ ({ side: "buy", kind: "limit", open: "25", limit: "150.3", stop: null, take_profit: null });
  const says = (/** @type {object} */ of, /** @type {"limit"|"stop"|"take_profit"} */ which, /** @type {string} */ to) =>
    moveOf({ book: BOOK, last: "150.5" }, { ...order, ...of }, which, to, group);
  assert.deepEqual(says({}, "limit", "150.2"), { text: "0 now, 25 rest at 150.2", crosses: false, loses_place: true, refused: null });
  assert.deepEqual(says({}, "limit", "150.6"), {
    text: "20 now at 150.6 on average, 5 rest at 150.6",
    crosses: true,
    loses_place: true,
    refused: null,
  });
  // Where it is already it stays, and what stands in no book has no place to lose.
  assert.deepEqual([says({}, "limit", "150.30").loses_place, says({ pends_on: 3 }, "limit", "150.2").loses_place], [false, false]);
  assert.equal(says({ side: "sell" }, "limit", "150.4").crosses, true);
  assert.equal(says({ kind: "post_only" }, "limit", "150.6").refused, "it is post-only, and would execute at once");
  assert.equal(says({ kind: "post_only" }, "limit", "150.5").refused, null);
  for (const [side, which, reached, not] of /** @type {const} */ ([
    ["buy", "stop", "150.5", "150.51"],
    ["sell", "stop", "150.5", "150.49"],
    ["buy", "take_profit", "150.5", "150.49"],
    ["sell", "take_profit", "150.5", "150.51"],
  ])) {
    assert.equal(says({ side, kind: "market", limit: null }, which, reached).refused, "the last price, 150.5, has reached it already", `${side} ${which}`);
    assert.deepEqual(says({ side, kind: "market", limit: null }, which, not), {
      text: `Waits for ${not}, then ${side}s 25 at any price`,
      crosses: false,
      loses_place: false,
      refused: null,
    });
  }
});

test("a kind gives way to what the order waits for", () => {
  for (const [wanted, waits, kind] of [
    ["market", "", "market"],
    ["post_only_move", "", "post_only_move"],
    ["market", "stop", "market"],
    ["post_only_move", "stop", "post_only"],
    ["limit", "or_stop", "post_only"],
    ["market", "then_both", "limit"],
    ["post_only", "then_both", "post_only"],
    ["auction_market", "stop", "market"],
    ["auction_market", "then_stop", "limit"],
    ["auction_limit", "stop", "limit"],
  ])
    assert.equal(kindFor(wanted, waits), kind, `${wanted} ${waits}`);
});

test("an amount is shares, dollars or per cent of what there is, rounded down to lots", () => {
  /** @type {Basis} */
  const basis = { side: "buy", most: exact("66.4"), balance: exact("10000", 16), each: exact("150.6"), at_once: false, lot: undefined, book: BOOK };
  assert.equal(sharesOf("shares", exact("2.5"), basis), exact("2.5"));
  assert.equal(sharesOf("percent", exact("50"), basis), exact("33"));
  assert.equal(sharesOf("percent", exact("50"), { ...basis, lot: "10" }), exact("30"));
  assert.equal(sharesOf("percent", exact("100.1"), basis), null);
  assert.equal(sharesOf("percent", exact("50"), { ...basis, most: null }), null);
  assert.equal(sharesOf("dollars", exact("1000"), basis), exact("6"));
  assert.equal(sharesOf("dollars", exact("1000"), { ...basis, each: null }), null);
  const market = { ...basis, each: null, at_once: true };
  assert.equal(sharesOf("dollars", exact("3012"), market), exact("20"));
  assert.equal(fundsOf("dollars", exact("3012"), market), "3012");
  assert.equal(fundsOf("percent", exact("33.333"), market), "3333.3");
  assert.equal(fundsOf("percent", exact("50"), { ...market, side: "sell" }), null);
  assert.equal(fundsOf("dollars", exact("3012"), basis), null);
});

test("the slider asks for a percentage of what there is, in the chosen unit", () => {
  /** @type {Basis} */
  const basis = { side: "buy", most: exact("66.4"), balance: exact("10000", 16), each: exact("150.6"), at_once: false, lot: undefined, book: BOOK };
  assert.equal(percentageOf("percent", "25", { ...basis, most: null }), "25");
  assert.equal(percentageOf("shares", "50", basis), "33");
  assert.equal(percentageOf("shares", "50", { ...basis, lot: "10" }), "30");
  assert.equal(percentageOf("shares", "50", { ...basis, most: null }), null);
  assert.equal(percentageOf("dollars", "50", basis), "5000");
  assert.equal(percentageOf("dollars", "50", { ...basis, balance: null }), null);
  assert.equal(percentageOf("dollars", "50", { ...basis, side: "sell", most: exact("10") }), "753");
  assert.equal(percentageOf("dollars", "100", { ...basis, side: "sell", most: exact("10"), each: null, at_once: true }), "1504");
  assert.equal(percentageOf("dollars", "50", { ...basis, side: "sell", each: null }), null);
});

test("each choice of the ticket is the order of the interface that it says", () => {
  /** @type {TicketInput} */
  const wish = {
    account: "1",
    symbol: "SPY",
    side: "buy",
    kind: "limit",
    waits: "",
    shares: "5",
    funds: null,
    limit: "150",
    trigger: "9",
    profit: "160",
    display: "",
    self_trade: "allowed",
    ends: {},
  };
  let number = 0;
  const orders = (/** @type {Partial<TicketInput>} */ other) => ordersOf({ ...wish, ...other }, () => `id-${(number += 1)}`);
  const common = { account: "1", symbol: "SPY", side: "buy", self_trade: "allowed", shares: "5" };
  assert.deepEqual(orders({}).orders, [{ ...common, kind: "limit", limit: "150", client_order_id: "id-1" }]);
  assert.deepEqual(orders({ kind: "market", funds: "100" }).orders[0], {
    account: "1",
    symbol: "SPY",
    side: "buy",
    self_trade: "allowed",
    funds: "100",
    kind: "market",
    client_order_id: "id-2",
  });
  const [auctioned] = orders({ kind: "auction_market" }).orders;
  assert.deepEqual([auctioned.kind, auctioned.limit, auctioned.shares], ["auction_market", undefined, "5"]);
  assert.equal(orders({ kind: "auction_limit" }).orders[0].limit, "150");
  assert.equal(orders({ waits: "trail_bips", trigger: "2.5" }).orders[0].trail_bips, 250);
  assert.equal(orders({ waits: "trail" }).orders[0].trail, "9");
  assert.equal(orders({ display: "2" }).orders[0].display, "2");
  assert.equal(orders({ ends: { tif: "DAY" } }).orders[0].tif, "DAY");
  const oco = orders({ waits: "or_stop", kind: "post_only" });
  assert.deepEqual(
    [oco.kind, oco.orders.map(({ side, kind, stop }) => [side, kind, stop])],
    [
      "oco",
      [
        ["buy", "post_only", undefined],
        ["buy", "market", "9"],
      ],
    ],
  );
  const both = orders({ waits: "then_both" });
  assert.deepEqual(
    [both.kind, both.orders.map(({ side, kind }) => [side, kind])],
    [
      "otoco",
      [
        ["buy", "limit"],
        ["sell", "post_only"],
        ["sell", "market"],
      ],
    ],
  );
  assert.deepEqual(["0.01", "99.99", "2.50", "0", "100", "1.234"].map(bipsOf), [1, 9999, 250, null, null, null]);
});

/** The choices of the ticket's fields, as the page has them. @type {Record<string, string[]>} */
const CHOICES = {
  kind: ["limit", "post_only", "post_only_move", "market", "auction_market"],
  waits: ["", "stop", "trail"],
  unit: ["shares", "percent"],
  "self-trade": ["allowed", "cancel_newest"],
  ends: ["", "until"],
};
const PRESET = { kind: "limit", waits: "", unit: "shares", shares: "5", display: "", "self-trade": "allowed", ends: "" };

test("a preset decides by its own values, and what cannot be taken becomes the safe first choice, which is said", () => {
  const filled = (/** @type {Record<string, string>} */ changes) => {
    const { values, missed } = fillingOf({ ...PRESET, ...changes }, (field) => CHOICES[field] ?? null);
    const fields = Object.fromEntries(values);
    return [fields.kind, fields.waits, fields.unit, fields.shares, fields.ends, missed.join()];
  };
  // Whatever stood in the ticket: what it waited for goes with the preset.
  assert.deepEqual(filled({ kind: "post_only_move" }), ["post_only_move", "", "shares", "5", "", ""]);
  assert.deepEqual(filled({ kind: "market", waits: "stop" }), ["market", "stop", "shares", "5", "", ""]);
  assert.deepEqual(filled({ kind: "post_only_move", waits: "stop" }), ["limit", "stop", "shares", "5", "", "the kind"]);
  assert.deepEqual(filled({ kind: "auction_market" }), ["auction_market", "", "shares", "5", "", ""]);
  assert.deepEqual(filled({ kind: "auction_market", waits: "stop" }), ["limit", "stop", "shares", "5", "", "the kind"]);
  // There is no auction now.
  assert.deepEqual(filled({ kind: "auction_limit" }), ["limit", "", "shares", "5", "", "the kind"]);
  assert.deepEqual(filled({ kind: "gone" }), ["limit", "", "shares", "5", "", "the kind"]);
  assert.deepEqual(filled({ ends: "day" }), ["limit", "", "shares", "5", "", "when it ends"]);
  // An order that was to wait must not execute at any price now, nor a percentage be a number of shares.
  assert.deepEqual(filled({ kind: "market", waits: "gone" }), ["limit", "", "shares", "5", "", "the kind,when it is active"]);
  assert.deepEqual(filled({ unit: "gone", shares: "50" }), ["limit", "", "shares", "", "", "the unit of the amount"]);
  const { values, missed } = fillingOf({}, (field) => CHOICES[field] ?? null);
  assert.deepEqual(Object.fromEntries(values), { ...PRESET, shares: "" });
  assert.equal(missed.length, 3, "a kind, a unit and what happens at own orders are missing");
});

test("prices of another symbol are forgotten, and a price that becomes a distance", () => {
  const field = (/** @type {string} */ value) => ({ value });
  const fields = { limit: field("150"), trigger: field("140"), profit: field("160"), display: field("5"), waits: field("stop") };
  const prices = ticketPrices(fields);
  const trigger = (/** @type {string} */ waits) => {
    fields.waits.value = waits;
    prices.heedUnit();
    return fields.trigger.value;
  };
  assert.deepEqual(["take_profit", "or_stop", "then_profit", "then_both", "", "stop"].map(trigger), Array(6).fill("140"));
  assert.equal(trigger("trail"), "");
  fields.trigger.value = "5";
  assert.deepEqual(["", "trail"].map(trigger), ["5", "5"]);
  assert.equal(trigger("trail_bips"), "", "dollars are no per cent");
  fields.trigger.value = "2.5";
  assert.deepEqual(["then_profit", "then_stop"].map(trigger), ["2.5", ""]);
  fields.trigger.value = "140";
  prices.forgetSymbol();
  assert.deepEqual(
    [fields.limit, fields.trigger, fields.profit, fields.display, fields.waits].map(({ value }) => value),
    ["", "", "", "", "then_stop"],
  );
});

test("presets are kept as they were, and nine of them at most, whatever stands in the storage", () => {
  const one = { name: "Scalp", fields: { kind: "limit", shares: "10" } };
  assert.deepEqual(presetsOf(JSON.stringify([one, { name: 7 }, null, { name: "x".repeat(17), fields: {} }])), [one]);
  assert.deepEqual(presetsOf("nothing"), []);
  assert.deepEqual(presetsOf('{"name":"a"}'), []);
  assert.deepEqual(presetsOf(JSON.stringify([{ name: "a", fields: { kind: "limit", limit: "5", shares: "9".repeat(50) } }])), [
    { name: "a", fields: { kind: "limit" } },
  ]);
  const nine = Array.from({ length: 12 }, (_, at) => ({ name: `p${at}`, fields: {} }));
  assert.equal(presetsOf(JSON.stringify(nine)).length, 9);
  assert.equal(withPreset(nine.slice(0, 9), one), null);
  assert.deepEqual(withPreset([one], { ...one, fields: {} }), [{ name: "Scalp", fields: {} }]);
});

test("the rates are those of the account's tier in the symbol that is looked at, asked for once in a while", async () => {
  const market = { symbol: /** @type {string|null} */ ("SPY") };
  const holdings = { account: { tier: 1 } };
  let asked = 0;
  const fees = new Fees(
    /** @type {any} */ ({
      market,
      holdings,
      api: {
        fees: async (/** @type {string} */ symbol) => ({
          symbol,
          fees: [
            { tier: 0, taker: "1" },
            { tier: 1, maker: "0.1", taker: "0.25" },
          ],
          asked: (asked += 1),
        }),
      },
    }),
  );
  assert.equal(fees.rates, null);
  await fees.look(0);
  assert.deepEqual(fees.rates, { maker: 1000n, taker: 2500n });
  await fees.look(29_000);
  assert.equal(asked, 1);
  market.symbol = "ACME";
  assert.equal(fees.rates, null);
  await fees.look(29_000);
  holdings.account.tier = 5;
  assert.deepEqual([asked, fees.rates], [2, { maker: 0n, taker: 0n }]);
});
