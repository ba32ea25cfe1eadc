import assert from "node:assert/strict";
import { test } from "node:test";
import { obstacles } from "../page/state/standing.js";

const NOTHING = /** @type {const} */ ({
  away: null,
  mode: "normal",
  is_operator: false,
  killed: false,
  account: null,
  closed: null,
  symbol: null,
  halted: null,
});

test("nothing keeps orders from being taken on an open venue, and each thing that does has words for the strip and for the button", () => {
  assert.deepEqual(obstacles(NOTHING), []);
  /** @type {[now: object, title: string, button: string][]} */
  const cases = [
    [{ away: "lost" }, "The connection is lost.", "No connection"],
    [{ away: "hung" }, "The server does not answer.", "The server does not answer"],
    [{ away: "maintenance" }, "The venue is in maintenance.", "In maintenance"],
    [{ mode: "maintenance" }, "The venue is in maintenance.", "In maintenance"],
    [{ mode: "read-only" }, "The venue is read-only.", "The venue is read-only"],
    [{ killed: true }, "Everything is killed.", "Everything is killed"],
    [{ account: "7" }, "Account 7 is killed.", "The account is killed"],
    [{ closed: "7" }, "Account 7 is closed.", "The account is closed"],
    [{ symbol: "SPY" }, "SPY is killed: it takes no orders.", "SPY is killed"],
    [{ halted: "SPY" }, "Trading in SPY is halted.", "Trading is halted"],
  ];
  for (const [now, title, button] of cases)
    assert.deepEqual(
      obstacles({ ...NOTHING, ...now }).map((one) => [one.title, one.button]),
      [[title, button]],
    );
});

test("the widest comes first, and a mode stops no operator", () => {
  const all = obstacles({ ...NOTHING, mode: "read-only", killed: true, account: "7", symbol: "SPY", halted: "SPY" });
  assert.deepEqual(
    all.map(({ kind }) => kind),
    ["mode", "killed", "killed", "killed", "halted"],
  );
  assert.deepEqual(obstacles({ ...NOTHING, mode: "read-only", is_operator: true }), []);
  assert.equal(obstacles({ ...NOTHING, away: "lost", mode: "read-only" }).length, 1, "what was told before is not known any more");
});
