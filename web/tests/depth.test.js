// The curve of depth: its steps, its scale, and the step under the pointer.

import assert from "node:assert/strict";
import { test } from "node:test";
import { exact } from "../page/decimal.js";
import { roundSteps, scaleOf, stepAt, stepsOf } from "../page/views/depth-scale.js";

/** @param {[limit: string, shares: string][]} levels best first */
const side = (...levels) => stepsOf(levels.map(([limit, shares]) => /** @type {any} */ ({ limit, amount: exact(shares) })));
const bids = side(["99", "10"], ["98", "30"]);
const asks = side(["101", "5"], ["103", "15"]);

test("a step has the shares of its level and of all better ones, exactly", () => {
  assert.deepEqual(
    bids.map(({ price, total, exact: shares }) => [price, total, shares]),
    [
      [99, 10, exact("10")],
      [98, 40, exact("40")],
    ],
  );
  assert.equal(side(...Array.from({ length: 100 }, (_, at) => /** @type {[string, string]} */ ([String(200 - at), "1"]))).length, 60);
});

test("the middle of the market is the middle of the canvas, and a price is found where it is drawn", () => {
  const scale = scaleOf(bids, asks, 400, 218);
  assert.ok(Math.abs(scale.x(100) - 200) < 1e-9);
  for (const price of [98, 99.5, 103]) assert.ok(Math.abs(scale.price(scale.x(price)) - price) < 1e-9);
  assert.equal(scale.y(0), 200);
  assert.ok(scale.y(40) > 6);
});

test("a few shares far away do not squeeze the others into a line", () => {
  const far = scaleOf(side(["99", "1000"], ["1", "1"]), asks, 400, 218);
  assert.ok(far.low > 90, String(far.low));
});

test("a side that is alone has a scale, too", () => {
  const scale = scaleOf([], asks, 400, 218);
  assert.ok(scale.low < 101 && scale.high > 103);
});

test("lines stand at round numbers, and are no more than there is room for", () => {
  assert.deepEqual(roundSteps(44, 5), [10, 20, 30, 40]);
  assert.deepEqual(roundSteps(100, 2), [50, 100]);
  for (const most of [0.03, 7, 999, 123_456]) assert.ok(roundSteps(most, 4).length <= 4, String(most));
});

test("the pointer is on a step of the side where it is: the last level up to its price", () => {
  assert.equal(stepAt(bids, asks, 98.5)?.price, 99);
  assert.equal(stepAt(bids, asks, 50)?.price, 98);
  assert.equal(stepAt(bids, asks, 102)?.price, 101);
  assert.equal(stepAt(bids, asks, 100.5)?.price, 101);
  assert.equal(stepAt(bids, [], 500)?.price, 99);
  assert.equal(stepAt([], asks, 1)?.price, 101);
  assert.equal(stepAt([], [], 1), undefined);
});
