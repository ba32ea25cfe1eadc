// The remembered and computed parts of the desk: the layout, the watchlist, alerts, indicators, lines.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Activity } from "../page/state/activity.js";
import { noteOf as activityNote } from "../page/views/venue-activity.js";
import { Alerts } from "../page/state/alerts.js";
import { Layout } from "../page/state/layout.js";
import { Lines, Studies, averageFrom, dayIsCut, profileOf, vwapOf } from "../page/state/studies.js";
import { Symbols } from "../page/state/symbols.js";
import { POINT_SPAN_US, Watchlist } from "../page/state/watchlist.js";

/** @import { SymbolInfo, Trade } from "../page/types.js" */

/** @param {string} symbol @param {Partial<SymbolInfo>} [changes] @returns {SymbolInfo} */
function info(symbol, changes = {}) {
  return {
    symbol,
    last: "10",
    last_time: 0,
    change: null,
    change_percent: null,
    open_24h: null,
    high_24h: null,
    low_24h: null,
    volume_24h: null,
    money_24h: null,
    trades_24h: null,
    best_bid: null,
    best_ask: null,
    issued: "1",
    ...changes,
  };
}

/** @param {number} start @param {string} close */
const candle = (start, close) => ({ start, open: close, high: close, low: close, close, volume: "1", money: "1", trades: 1 });

/** @param {string[]} names */
function listOf(names, kept = /** @type {unknown} */ (null)) {
  const symbols = new Symbols();
  symbols.snapshot(names.map((name) => info(name)));
  let now = 0;
  /** @type {string[]} */
  const asked = [];
  /** @type {string[]} */
  let last_kept = [];
  const list = new Watchlist(kept, {
    symbols,
    now: () => now,
    keep: (favourites) => (last_kept = favourites),
    ask: async (symbol) => {
      asked.push(symbol);
      return symbol.startsWith("GONE") ? null : [candle(0, "9"), candle(POINT_SPAN_US, "11")];
    },
  });
  return { list, symbols, asked, kept: () => last_kept, pass: (/** @type {number} */ ms) => (now += ms) };
}

test("favourites come first, and what begins with the text before what holds it", () => {
  const { list, kept } = listOf(["SPY", "ASP", "BOLT", "SPX"]);
  list.toggle("SPX");
  assert.deepEqual(
    list.found("", false).map(({ symbol }) => symbol),
    ["SPX", "ASP", "BOLT", "SPY"],
  );
  assert.deepEqual(
    list.found("", true).map(({ symbol }) => symbol),
    ["SPX"],
  );
  assert.deepEqual(
    list.found(" sp ", true).map(({ symbol }) => symbol),
    ["SPX", "SPY", "ASP"],
    "a search looks among all",
  );
  assert.deepEqual(kept(), ["SPX"]);
  list.toggle("SPX");
  assert.deepEqual(kept(), []);
});

test("favourites are bounded, and whatever was kept is taken with care", () => {
  const { list } = listOf(["A"], [...Array.from({ length: 300 }, (_, at) => `S${at}`), 7]);
  assert.equal(list.favourites.size, 100);
  assert.equal(list.toggle("A"), false);
  assert.equal(list.toggle("S0"), true);
  assert.equal(list.toggle("A"), true);
  assert.equal(listOf(["A"], { a: 1 }).list.favourites.size, 0);
});

test("a line is asked for once, follows the last price, and is asked for again when it is old", async () => {
  const { list, asked, pass } = listOf(["A"]);
  assert.deepEqual(list.line(info("A")), []);
  assert.deepEqual(list.line(info("A")), []);
  await null;
  assert.deepEqual(asked, ["A"]);
  assert.deepEqual(list.line(info("A", { last: "12", last_time: POINT_SPAN_US + 5 })), [9, 12]);
  assert.deepEqual(list.line(info("A", { last: "13", last_time: 2 * POINT_SPAN_US })), [9, 12, 13]);
  for (let at = 3; at < 500; at += 1) list.line(info("A", { last: "14", last_time: at * POINT_SPAN_US }));
  assert.equal(list.line(info("A", { last: "14", last_time: 499 * POINT_SPAN_US })).length, 96);
  pass(600_000);
  list.line(info("A"));
  assert.deepEqual(asked, ["A", "A"]);
});

test("lines are bounded, and one that cannot be had is not asked for at each look", async () => {
  const { list, asked, pass } = listOf([]);
  for (let at = 0; at < 400; at += 1) list.line(info(`S${at}`));
  assert.ok(list.kept <= 120, String(list.kept));
  list.line(info("GONE"));
  await null;
  const before = asked.length;
  for (let at = 0; at < 50; at += 1) list.line(info("GONE"));
  assert.equal(asked.length, before);
  pass(10_000);
  list.line(info("GONE"));
  assert.equal(asked.length, before + 1);
});

/** @param {string} price @param {number} trade_id @returns {Trade} */
const trade = (price, trade_id) => ({ trade_id, symbol: "A", price, shares: "1", time: trade_id, aggressor: "buy", buy_order: 1, sell_order: 2 });

test("an alert rings once, when its price is reached from where it was", () => {
  /** @type {string[]} */
  const rang = [];
  const alerts = new Alerts(null, () => {});
  alerts.onRing = ({ price }, last) => rang.push(`${price} at ${last}`);
  assert.equal(alerts.add("A", "10", "10"), "That is the last price already");
  assert.equal(alerts.add("A", "12", null), "A has no price yet");
  assert.equal(alerts.add("A", "12", "10"), null);
  assert.equal(alerts.add("A", "12.0", "10"), "There is one at this price");
  assert.equal(alerts.add("A", "9.5", "10"), null);
  alerts.seeAll([info("A", { last: "11.99" }), info("B", { last: "12" })]);
  assert.deepEqual(rang, []);
  alerts.seeAll([info("A", { last: "12.5" })]);
  alerts.seeAll([info("A", { last: "13" })]);
  assert.deepEqual(rang, ["12 at 12.5"]);
  alerts.see("A", "9.5", 7);
  assert.deepEqual(rang, ["12 at 12.5", "9.5 at 9.5"]);
  assert.equal(alerts.all.at(-1)?.rang, 7);
});

test("each trade of the tape counts for an alert, but not those of before it was looked at", () => {
  let rang = 0;
  const alerts = new Alerts(null, () => {});
  alerts.onRing = () => (rang += 1);
  alerts.add("A", "12", "10");
  alerts.seeTape([trade("10", 3), trade("12", 2)]);
  assert.equal(rang, 0);
  alerts.seeTape([trade("10", 6), trade("12.01", 5), trade("10", 3), trade("12", 2)]);
  assert.equal(rang, 1, "it was there between two others");
});

test("alerts are bounded, kept, and read with care", () => {
  /** @type {unknown} */
  let kept = null;
  const alerts = new Alerts(null, (all) => (kept = JSON.parse(JSON.stringify(all))));
  for (let at = 1; at <= 60; at += 1) alerts.add("A", String(100 + at), "10");
  assert.equal(alerts.all.length, 50);
  assert.match(alerts.add("A", "1", "10") ?? "", /At most 50/);
  const again = new Alerts([.../** @type {any[]} */ (kept).slice(0, 2), { symbol: "A", price: "1e5", rises: true, rang: null }, null, 7], () => {});
  assert.deepEqual(
    again.all.map(({ price }) => price),
    ["101", "102"],
  );
  again.remove(again.all[0].id);
  assert.deepEqual(
    again.all.map(({ price }) => price),
    ["102"],
  );
});

test("a layout keeps sizes within bounds, has names, and is read with care", () => {
  /** @type {any} */
  let kept = null;
  const layout = new Layout(null, { hidden: ["watch"], keep: (each) => (kept = JSON.parse(JSON.stringify(each))) });
  assert.equal(layout.hides("watch"), true);
  layout.resize("desk", "book", 5_000);
  layout.resize("desk", "ticket", 1);
  layout.resize("short", "book", 300.4);
  assert.deepEqual(
    [layout.size("desk", "book"), layout.size("desk", "ticket"), layout.size("short", "book"), layout.size("narrow", "book")],
    [520, 240, 300, null],
  );
  layout.show("watch", true);
  layout.chooseDensity("compact");
  assert.equal(layout.save(" "), "A layout needs a name");
  assert.equal(layout.save("mine"), null);
  layout.reset();
  layout.chooseDensity("comfortable");
  assert.equal(layout.size("desk", "book"), null);
  layout.use("mine");
  assert.deepEqual([layout.size("desk", "book"), layout.density, layout.hides("watch")], [520, "compact", false]);
  const again = new Layout(kept, { hidden: ["watch"], keep: () => {} });
  assert.deepEqual([again.size("desk", "book"), again.density, again.hides("watch"), [...again.saved.keys()]], [520, "compact", false, ["mine"]]);
  for (let at = 0; at < 20; at += 1) layout.save(`n${at}`);
  assert.equal(layout.saved.size, 12);
  const strange = new Layout(
    {
      look: { density: "huge", hidden: "all", sizes: { "desk book": "9", "desk tape": 9e9, "x y": 1 } },
      saved: [
        [1, 2],
        ["a", null],
      ],
    },
    { hidden: [], keep: () => {} },
  );
  assert.deepEqual(
    [strange.density, strange.hides("depth"), strange.size("desk", "book"), strange.size("desk", "tape"), strange.saved.size],
    ["standard", false, null, null, 0],
  );
});

test("averages are those of the last prices, and the same when they are gone on with", () => {
  const prices = [1, 2, 3, 4, 10];
  for (const exponential of [false, true]) {
    const average = { on: true, period: 3, exponential };
    /** @type {(number|null)[]} */
    const whole = [];
    averageFrom(prices, average, whole, 0);
    /** @type {(number|null)[]} */
    const parts = [];
    averageFrom(prices.slice(0, 4), average, parts, 0);
    averageFrom(prices, average, parts, 3);
    assert.deepEqual(parts, whole);
    assert.deepEqual(whole.slice(0, 4), [null, null, 2, 3]);
    assert.equal(whole[4], exponential ? 3 + (10 - 3) / 2 : 17 / 3);
  }
});

const DAY = 86_400;
/** @param {number} time @param {number} close @param {number} volume @param {number} [low] @param {number} [high] */
const bar = (time, close, volume, low = close, high = close) => ({ time, high, low, close, volume, money: close * volume, rises: true });

test("the volume-weighted price begins with each day, and is not told of a day that is cut", () => {
  const bars = [bar(DAY - 60, 10, 1), bar(DAY, 20, 1), bar(DAY + 60, 40, 3)];
  assert.deepEqual(vwapOf(bars, 60, true), [10, 20, 35]);
  assert.deepEqual(vwapOf(bars, 60, false), [null, 20, 35]);
  assert.deepEqual(vwapOf(bars.slice(1), 60, false), [null, null]);
  assert.deepEqual(vwapOf([bar(0, 10, 1), bar(DAY, 20, 1)], DAY, false), [10, 15], "candles of a day: all of them");
  assert.deepEqual(
    [dayIsCut(bars, 60, false), dayIsCut(bars.slice(1), 60, false), dayIsCut(bars.slice(1), 60, true), dayIsCut([], 60, false)],
    [false, true, false, false],
  );
});

test("a volume profile holds all that was traded, each candle between its low and its high", () => {
  const shelves = profileOf([bar(0, 10, 8, 10, 20), { ...bar(60, 12.5, 4), rises: false }], 4);
  assert.deepEqual(
    shelves.map(({ up, down }) => [up, down]),
    [
      [2, 0],
      [2, 4],
      [2, 0],
      [2, 0],
    ],
  );
  const single = profileOf([bar(0, 5, 3)], 4);
  assert.equal(
    single.reduce((sum, { up }) => sum + up, 0),
    3,
    "at one price",
  );
  assert.deepEqual(profileOf([], 4), []);
});

test("indicators and lines are kept, bounded, and read with care", () => {
  /** @type {unknown} */
  let kept = null;
  const studies = new Studies({ averages: [{ on: true, period: 1e9 }, 7], vwap: "yes", log: true }, (chosen) => (kept = JSON.parse(JSON.stringify(chosen))));
  assert.deepEqual([studies.chosen.averages[0], studies.chosen.vwap, studies.chosen.log], [{ on: true, period: 20, exponential: false }, false, true]);
  studies.changeAverage(1, { on: true, period: 9 });
  assert.deepEqual(new Studies(kept, () => {}).chosen, studies.chosen);

  const lines = new Lines(
    [["A", [{ level: 5 }, { level: "5" }, { from: { time: 1, price: 2 }, to: { time: 3, price: 4 } }, { from: 1, to: 2 }, null]], 7],
    (all) => (kept = JSON.parse(JSON.stringify(all))),
  );
  assert.equal(lines.of("A").length, 2);
  for (let at = 0; at < 30; at += 1) lines.add("A", { level: at });
  assert.equal(lines.of("A").length, 20);
  assert.equal(lines.add("A", { level: 1 }), false);
  for (let at = 0; at < 130; at += 1) lines.add(`S${at}`, { level: at });
  assert.equal(/** @type {any[]} */ (kept).length, 100);
  assert.deepEqual([lines.of("A").length, lines.of("S129").length], [0, 1]);
  lines.remove("S129", lines.of("S129")[0]);
  assert.equal(lines.of("S129").length, 0);
});

test("what somebody does is told newest first, bounded, and without the past where that cannot be had", () => {
  /** @type {{topic: any, handler: any}[]} */
  const asked = [];
  const feed = /** @type {any} */ ({
    subscribe: (/** @type {any} */ topic, /** @type {any} */ handler) => asked.push({ topic, handler }),
    unsubscribe: () => {},
  });
  const activity = new Activity(feed);
  activity.follow({ member: "alice" }, 7_000);
  assert.deepEqual(asked[0].topic, { channel: "drop-copy", member: "alice", from: 2_000 });
  assert.equal(activityNote(activity), "Nothing among the 5,000 commands before, and nothing since");
  asked[0].handler.failed({ code: "no-longer-kept" });
  assert.equal(activityNote(activity), "Nothing since you watch. What was before cannot be listed");
  assert.deepEqual(asked[1].topic, { channel: "drop-copy", member: "alice" });
  const report = (/** @type {number} */ sequence) => ({ account: "1", report: { report: "placed", sequence } });
  asked[1].handler.message({ reports: [report(1), report(2)] });
  assert.deepEqual(
    activity.reports.map((each) => each.report.sequence),
    [2, 1],
  );
  asked[1].handler.message({ reports: Array.from({ length: 1_000 }, (_, at) => report(at + 3)) });
  assert.deepEqual([activity.reports.length, activity.reports[0].report.sequence], [300, 1_002]);
  asked[1].handler.lost();
  assert.equal(activity.reports.length, 0, "it is told again");
  asked[1].handler.failed({ code: "not-permitted", detail: "for others" });
  assert.equal(activity.refused, "for others");
  activity.follow({ accounts: ["1"] }, 10);
  assert.deepEqual([activity.refused, asked.at(-1)?.topic], [null, { channel: "drop-copy", accounts: ["1"], from: 0 }]);
  assert.equal(activityNote(activity), "Nothing yet");
});
