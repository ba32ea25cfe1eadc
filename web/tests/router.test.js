// The symbol that the page shows.

import assert from "node:assert/strict";
import { test } from "node:test";
import { symbolToShow } from "../page/router.js";

test("the symbol in the address comes first, then the one shown, then the last one that still is, then the first", () => {
  const symbols = {
    all: new Map([
      ["GLD", /** @type {any} */ ({})],
      ["SPY", /** @type {any} */ ({})],
    ]),
    first: () => "GLD",
  };
  assert.equal(symbolToShow({ address: "NEW", shown: "SPY", last: "GLD" }, symbols), "NEW");
  assert.equal(symbolToShow({ address: null, shown: "SPY", last: "GLD" }, symbols), "SPY");
  assert.equal(symbolToShow({ address: null, shown: null, last: "SPY" }, symbols), "SPY");
  assert.equal(symbolToShow({ address: null, shown: null, last: "GONE" }, symbols), "GLD");
  assert.equal(symbolToShow({ address: null, shown: null, last: null }, symbols), "GLD");
  assert.equal(symbolToShow({ address: null, shown: null, last: null }, { all: new Map(), first: () => null }), null);
});
