// The state of the sandbox's traders in words.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isLocked, stateText } from "../page/views/sandbox-elements.js";

/** @import { Sandbox } from "../page/types.js" */

/** @type {Sandbox} */
const STILL = {
  possible: true,
  made: true,
  why: null,
  running: false,
  stopping: false,
  rate: 50,
  seed: 1,
  strategies: [],
  commands: 0,
  accounts: [],
  symbols: [],
};

test("the dialog says how the traders stand, and takes their fields only while they stand still", () => {
  /** @type {[now: Partial<Sandbox>, text: string, locked: boolean][]} */
  const cases = [
    [{}, "No simulated trader trades now", false],
    [{ possible: false, why: "The venue has members" }, "The venue has members", false],
    [{ running: true, commands: 1234 }, "The traders trade: 1,234 orders and cancels so far", true],
    [{ running: true, stopping: true }, "The traders cancel their orders…", true],
    [{ stopping: true, why: "none" }, "The traders cancel their orders…", true],
  ];
  for (const [now, text, locked] of cases) assert.deepEqual([stateText({ ...STILL, ...now }), isLocked({ ...STILL, ...now })], [text, locked]);
});
