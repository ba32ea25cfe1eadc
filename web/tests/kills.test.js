import assert from "node:assert/strict";
import { test } from "node:test";
import { killOutcome, killState } from "../page/state/kills.js";

test("a kill that goes on says so, and that nothing of it executes", () => {
  assert.equal(killOutcome("SPY", { canceled: 1 }), "SPY is killed; 1 order canceled");
  assert.equal(
    killOutcome("Everything", { canceled: 1000, goes_on: true }),
    "Everything is killed; 1,000 orders canceled so far. The server cancels the others now, and none of them executes",
  );
  assert.equal(killState("Everything is killed: no orders are taken", 0), "Everything is killed: no orders are taken");
  assert.equal(killState("killed: takes no orders", 2500), "killed: takes no orders. 2,500 orders still to be canceled: none of them executes");
});
