// Two accounts side by side: which is the first, which the second, and the line above each.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Holdings } from "../page/state/holdings.js";
import { Layout } from "../page/state/layout.js";
import { Pair } from "../page/state/pair.js";
import { SideBySide } from "../page/state/side-by-side.js";
import { sumText } from "../page/views/account-lines.js";

/**
 * Two accounts, of which each follows the layout; and the topics of the feed that are read twice.
 * @param {string|null} first
 * @param {object|null} [look]
 */
function sideBySide(first, look = null) {
  /** @type {Set<string>} */
  const read = new Set();
  /** @type {string[]} */
  const twice = [];
  const feed = {
    subscribe: (/** @type {{account: string}} */ { account }) => {
      if (read.has(account)) twice.push(account);
      read.add(account);
    },
    unsubscribe: (/** @type {{account: string}} */ { account }) => read.delete(account),
  };
  const holdings = () => new Holdings(/** @type {any} */ (feed), /** @type {any} */ ({}));
  const pair = new Pair(holdings(), holdings());
  pair.first.choose(first);
  const layout = new Layout(look && { look }, { hidden: [], keep: () => {} });
  /** @type {string[]} */
  const kept = [];
  const sides = new SideBySide({ layout, pair, keep: (account) => kept.push(account) });
  layout.watch(() => sides.follow());
  sides.follow();
  return { sides, layout, kept, twice, ids: () => [pair.first.id, pair.second.id] };
}

test("a second account is another one than the first, and the two change places", () => {
  const { sides, layout, kept, twice, ids } = sideBySide("1");
  assert.equal(sides.chooseSecond("1"), "Account 1 is the first one already: choose another");
  assert.deepEqual(ids(), ["1", null]);
  assert.equal(sides.chooseSecond("2"), null);
  assert.deepEqual([ids(), layout.two, layout.beside], [["1", "2"], true, "2"]);
  assert.equal(sides.chooseSecond("1"), null);
  assert.deepEqual([ids(), layout.beside, kept], [["2", "1"], "1", ["2"]]);
  sides.chooseFirst("1");
  assert.deepEqual(
    [ids(), kept],
    [
      ["1", "2"],
      ["2", "1"],
    ],
  );
  sides.chooseFirst("3");
  assert.deepEqual(
    [ids(), kept],
    [
      ["3", "2"],
      ["2", "1", "3"],
    ],
  );
  assert.deepEqual(twice, [], "one topic has one reader");
});

test("the second account goes and comes back with the layout; without one it is another of the user's own", () => {
  const { sides, layout, ids } = sideBySide("1");
  sides.own = ["1", "5"];
  sides.toggle();
  assert.deepEqual(ids(), ["1", "5"]);
  sides.toggle();
  assert.deepEqual([ids(), layout.two, layout.beside], [["1", null], false, "5"]);
  sides.own = [];
  sides.toggle();
  assert.deepEqual(ids(), ["1", "5"]);
  const none = sideBySide("1");
  none.sides.toggle();
  assert.deepEqual([none.ids(), none.layout.two], [["1", null], true]);
});

test("a layout that was kept has its second account, unless that is the first", () => {
  const look = { two: true, beside: "2" };
  assert.deepEqual(sideBySide("1", look).ids(), ["1", "2"]);
  assert.deepEqual(sideBySide("2", look).ids(), ["2", null]);
  const { sides, twice, ids } = sideBySide(null, look);
  assert.deepEqual(ids(), [null, "2"]);
  sides.chooseFirst("2");
  sides.follow();
  assert.deepEqual([ids(), twice], [["2", null], []]);
});

test("the line above an account has its dollars and its shares of the symbol, and what orders hold of them", () => {
  const account = { account: "1", balance: "1000", held: "5", positions: [{ symbol: "SPY", shares: "90", held: "1000" }], open_orders: 0, sequence: 1 };
  const text = (/** @type {object} */ changes, /** @type {string|null} */ symbol) => sumText({ id: "1", account, refused: null, ...changes }, symbol);
  assert.equal(text({}, null), "1,000 dollars, 5 held");
  assert.equal(text({}, "SPY"), "1,000 dollars, 5 held · 90 SPY, 1,000 held");
  assert.equal(text({}, "BOLT"), "1,000 dollars, 5 held · 0 BOLT");
  assert.equal(text({ account: null, id: null }, null), "Choose an account");
  assert.equal(text({ account: null }, null), "Loading…");
  assert.equal(text({ account: null, refused: "unknown account" }, null), "unknown account");
});
