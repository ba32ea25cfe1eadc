import assert from "node:assert/strict";
import { test } from "node:test";
import { MONEY_DECIMALS, affordable, atLeast, exact, fault, format, group, grouped, parse, part, places, plain, roundedDown, total } from "../page/decimal.js";

test("a decimal comes back as it was", () => {
  for (const text of ["0", "1", "145.67", "0.00000001", "99999999999999999999", "12345678901234567890.12345678", "-1.2"]) {
    assert.equal(format(exact(text)), text);
  }
});

test("trailing zeros and leading ones do not change a value", () => {
  assert.equal(exact("145.670"), exact("145.67"));
  assert.equal(exact("007"), exact("7"));
  assert.equal(format(exact("10.00")), "10");
});

test("shares are rounded down to whole lots", () => {
  assert.equal(format(roundedDown(exact("7.49"), exact("0.5"))), "7");
  assert.equal(format(roundedDown(exact("7.5"), exact("0.5"))), "7.5");
  assert.equal(format(roundedDown(exact("0.4"), exact("0.5"))), "0");
});

test("what is no plain decimal is none", () => {
  for (const text of ["", " ", "1e3", "+1", ".5", "5.", "1,000", "0x10", "1.2.3", "NaN", "Infinity", "١", "1 ", "--1"]) {
    assert.equal(parse(text), null, `"${text}"`);
  }
});

test("more decimals than can be kept are refused, never rounded", () => {
  assert.equal(parse("0.123456789"), null);
  assert.notEqual(parse("0.123456789", MONEY_DECIMALS), null);
  assert.throws(() => exact("0.123456789"), RangeError);
});

test("a total is exact where a Number is not", () => {
  assert.equal(format(total(exact("0.1"), exact("3")), MONEY_DECIMALS), "0.3");
  assert.equal(format(total(exact("0.00000001"), exact("0.00000001")), MONEY_DECIMALS), "0.0000000000000001");
  assert.equal(format(total(exact("12345678.12345678"), exact("87654321.87654321")), MONEY_DECIMALS), "1082152044017678.5557079622374638");
});

test("the most shares that a balance pays for cost no more than it, and one more step does", () => {
  const balance = exact("91259.8", MONEY_DECIMALS);
  const price = exact("145.67");
  const shares = affordable(balance, price);
  assert.ok(total(price, shares) <= balance);
  assert.ok(total(price, shares + 1n) > balance);
});

test("a part is whole shares where there are any", () => {
  assert.equal(format(part(exact("90"), 25n)), "22");
  assert.equal(format(part(exact("626.48314683"), 100n)), "626");
  assert.equal(format(part(exact("0.5"), 50n)), "0.25");
  assert.equal(format(part(0n, 50n)), "0");
});

test("faults name the field, what is wrong and the bound", () => {
  assert.equal(fault("145.67", "Limit"), null);
  assert.equal(fault("", "Limit"), "Limit is missing");
  assert.equal(fault("0.00", "Limit"), "Limit is zero");
  assert.equal(fault("-5", "Shares"), "Shares “-5” is not a plain number, such as 145.67");
  assert.equal(fault("0.123456789", "Limit"), "Limit has 9 decimal places; at most 8");
  assert.equal(fault("1,5", "Limit"), "Limit “1,5” has a comma that sets no thousands apart; write 1.5 or 15");
});

test("a number is taken as people write it", () => {
  for (const [typed, wanted] of [
    ["1,150.5", "1150.5"],
    [".5", "0.5"],
    [" 12 ", "12"],
    ["1,234,567", "1234567"],
    ["5.", "5"],
    ["1,5", "1,5"],
    ["1,50,000", "1,50,000"],
    ["-.5", "-.5"],
    ["12,345.", "12345"],
    ["abc", "abc"],
  ]) {
    assert.equal(plain(typed), wanted, typed);
  }
});

test("amounts in a sentence have their thousands set apart, numbers of orders and accounts have not", () => {
  assert.equal(grouped("needs 300000.5 dollars, and 100000 are there"), "needs 300,000.5 dollars, and 100,000 are there");
  assert.equal(grouped("order 123456 of account 9876543 has 12345"), "order 123456 of account 9876543 has 12,345");
  assert.equal(grouped("web-1234567 has 0.123456 at 1,234"), "web-1234567 has 0.123456 at 1,234");
});

test("thousands are set apart in front of the point only", () => {
  assert.equal(group("1234567.12345678"), "1,234,567.12345678");
  assert.equal(group("-1234"), "-1,234");
  assert.equal(group("123"), "123");
  assert.equal(group("100000"), "100,000");
});

test("columns align: decimals are filled up, never cut", () => {
  assert.equal(atLeast("145", 2), "145.00");
  assert.equal(atLeast("145.6", 2), "145.60");
  assert.equal(atLeast("145.678", 2), "145.678");
  assert.equal(places("145"), 0);
  assert.equal(places("145.678"), 3);
});
