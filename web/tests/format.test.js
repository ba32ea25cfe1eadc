import assert from "node:assert/strict";
import { test } from "node:test";
import { abbreviated } from "../page/format.js";

test("a size has so many characters at most, is rounded down, and is told in full where there is room", () => {
  /** @type {[text: string, room: number, shown: string][]} */
  const cases = [
    ["1234567.12345678", 18, "1,234,567.12345678"],
    ["1234567.12345678", 11, "1,234,567.1"],
    ["1234567.12345678", 9, "1,234,567"],
    ["1234567.12345678", 8, "1,234.5K"],
    ["1234567.12345678", 6, "1,234K"],
    ["1234567.12345678", 5, "1.23M"],
    ["1234567.12345678", 4, "1.2M"],
    ["1234567.12345678", 3, "1M"],
    ["1999", 4, "1.9K"],
    ["1999", 5, "1,999"],
    ["999999", 4, "999K"],
    ["100000000", 4, "100M"],
    ["12.34567891", 6, "12.345"],
    ["12.34567891", 3, "12"],
    ["1000", 4, "1K"],
    ["0.00012345", 6, "0.0001"],
    ["0.00012345", 5, "<0.01"],
    ["0.00012345", 2, "<1"],
    ["0.5", 3, "0.5"],
    ["5", 1, "5"],
    ["12", 1, "…"],
    ["0.00012345", 0, "…"],
  ];
  for (const [text, room, shown] of cases) {
    assert.equal(abbreviated(text, room), shown, `${text} in ${room}`);
    assert.ok(shown.length <= Math.max(1, room), shown);
  }
});
