// The times of an order, as the page shows them.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Journeys, journeyOf } from "../page/state/journeys.js";

const told = "read;dur=0.100, wait;dur=0.010, write;dur=0.020, sync;dur=0.500, apply;dur=0.005, reply;dur=0.100, total;dur=0.735";

test("the wire is what the server did not see, and an order is durable when the disk has it", () => {
  const journey = journeyOf({ took_ms: 2.735, told });
  assert.ok(journey);
  assert.equal(journey.parts.wire, 2);
  assert.equal(journey.parts.sync, 0.5);
  assert.ok(Math.abs(journey.durable - 0.63) < 1e-9);
  assert.equal(journey.took, 2.735);
});

test("with a database it is durable when that has committed", () => {
  const journey = journeyOf({ took_ms: 9, told: "read;dur=1, wait;dur=1, write;dur=0, sync;dur=0, apply;dur=1, commit;dur=2, reply;dur=1, total;dur=6" });
  assert.equal(journey?.durable, 5);
});

test("what is not understood is nothing", () => {
  assert.equal(journeyOf({ took_ms: 1, told: "" }), null);
  assert.equal(journeyOf({ took_ms: 1, told: "cache;desc=hit, total;dur=1" }), null);
});

test("orders that were placed together have one journey, and the oldest are forgotten", () => {
  const journeys = new Journeys();
  for (let id = 1; id <= 600; id += 1) journeys.note([{ order_id: id }], { took_ms: 1, told });
  assert.equal(journeys.last, 600);
  assert.equal(journeys.of(1), null);
  assert.ok(journeys.of(600));
});
