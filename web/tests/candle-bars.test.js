// Candles as the chart draws them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { barsFrom, volumeBar } from "../page/views/candle-bars.js";

/** @param {number} minute @param {string} [close] @param {string} [open] */
const candle = (minute, close = "2", open = "1") => ({ start: minute * 60_000_000, open, high: "3", low: "0.5", close, volume: "10", money: "20", trades: 1 });
const asItIs = (/** @type {ReturnType<typeof candle>} */ last) => last;

test("a span without a trade keeps its place, in front of the next candle", () => {
  assert.deepEqual(barsFrom([candle(0), candle(3)], 0, "1m", asItIs), [
    { time: 0, open: 1, high: 3, low: 0.5, close: 2 },
    { time: 60 },
    { time: 120 },
    { time: 180, open: 1, high: 3, low: 0.5, close: 2 },
  ]);
  // Also where the candle before it is drawn already.
  assert.deepEqual(
    barsFrom([candle(0), candle(2)], 1, "1m", asItIs).map(({ time }) => time),
    [60, 120],
  );
});

test("a pause of days is left out", () => {
  assert.equal(barsFrom([candle(0), candle(5_001)], 0, "1m", asItIs).length, 5_002);
  assert.equal(barsFrom([candle(0), candle(5_002)], 0, "1m", asItIs).length, 2);
});

test("the last candle alone is brought up to date", () => {
  const bars = barsFrom([candle(0), candle(1)], 0, "1m", (last) => ({ ...last, close: "2.75" }));
  assert.deepEqual(
    bars.map((bar) => "close" in bar && bar.close),
    [2, 2.75],
  );
});

test("a volume has the colour of its candle's way", () => {
  const colours = { up: "green", down: "red" };
  assert.deepEqual(volumeBar(candle(1), colours), { time: 60, value: 10, color: "green" });
  assert.equal(volumeBar(candle(1, "0.75"), colours).color, "red");
  assert.equal(volumeBar(candle(1, "1"), colours).color, "green");
});
