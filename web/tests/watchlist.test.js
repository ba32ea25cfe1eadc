// The texts of the watchlist, and the line of a symbol's day.

import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf, drawn, noteOf } from "../page/views/watchlist-text.js";

test("a change has two decimals and an arrow, unless there is none", () => {
  /** @type {[string|null, string, string|null][]} */
  const cases = [
    [null, "–", null],
    ["1.25", "▲1.25%", "up"],
    ["-1.5", "▼1.50%", "down"],
    ["12", "▲12.00%", "up"],
    ["0.00", "0.00%", null],
    ["-0.0", "0.00%", null],
    ["0", "0.00%", null],
  ];
  for (const [percent, text, way] of cases) assert.deepEqual(changeOf(percent), { text, way }, String(percent));
});

test("the note says why nothing is listed, or how many more there are", () => {
  const list = { found: 0, rows: 60, waiting: false, text: "", favourites: false };
  assert.equal(noteOf({ ...list, waiting: true, found: 3 }), "Loading symbols…");
  assert.equal(noteOf({ ...list, found: 61 }), "and 1 more: type a part of their name");
  assert.equal(noteOf({ ...list, found: 60, text: "sp" }), "");
  assert.equal(noteOf({ ...list, text: " sp ", favourites: true }), "No symbol's name holds “sp”");
  assert.equal(noteOf({ ...list, favourites: true }), "No favourites yet: a star makes a symbol one");
  assert.equal(noteOf(list), "No symbols yet");
});

test("a line is as wide and as high as there is room for, and level where the price stands still", () => {
  assert.equal(drawn([5, 7, 6]), "M0.0 19.0L32.0 1.0L64.0 10.0");
  assert.equal(drawn([5, 5]), "M0.0 10.0L64.0 10.0");
  assert.equal(drawn([5]), "");
});
