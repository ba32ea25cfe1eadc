import assert from "node:assert/strict";
import { test } from "node:test";
import { crc32 } from "node:zlib";
import * as ours from "../page/checksum.js";
import { exact } from "../page/decimal.js";
import { Book } from "../page/state/book.js";

/** @import { BookMessage, WireLevel } from "../page/types.js" */

/** A CRC-32 that is not ours, where this Node has one. */
const independent = typeof crc32 === "function" ? crc32 : null;

/**
 * @param {number} update
 * @param {WireLevel[]} bids
 * @param {WireLevel[]} asks
 * @param {string} best what the checksum covers
 * @returns {BookMessage}
 */
function message(update, bids, asks, best) {
  return { symbol: "SPY", sequence: update * 10, update, time: 0, bids, asks, checksum: ours.crc32(best) };
}

/** @param {Book} book */
function limits(book) {
  return { bids: book.bids.map(({ limit }) => limit), asks: book.asks.map(({ limit }) => limit) };
}

/** A book of two levels a side, at update 7. */
function begun() {
  const book = new Book();
  const fault = book.snapshot(
    message(
      7,
      [
        ["145.6", "300", 2],
        ["145.5", "10", 1],
      ],
      [
        ["145.7", "100", 1],
        ["146", "40", 3],
      ],
      "145.6:300:145.7:100:145.5:10:146:40",
    ),
  );
  assert.equal(fault, null);
  return book;
}

test("the checksum is CRC-32 of IEEE", () => {
  // The check value of its definition.
  assert.equal(ours.crc32("123456789"), 0xcbf43926);
  assert.equal(ours.crc32(""), 0);
  if (independent) assert.equal(ours.crc32("145.6:300:145.7:100"), independent("145.6:300:145.7:100"));
});

test("the checksum covers ten levels a side, in turn, and passes over a side that has fewer", () => {
  const levels = (/** @type {number} */ many) => Array.from({ length: many }, (_, at) => ({ limit: `${at + 1}`, shares: `${at + 100}` }));
  assert.equal(ours.bookChecksum([], []), 0);
  assert.equal(ours.bookChecksum(levels(1), levels(2)), ours.crc32("1:100:1:100:2:101"));
  assert.equal(ours.bookChecksum(levels(2), []), ours.crc32("1:100:2:101"));
  assert.equal(ours.bookChecksum(levels(11), levels(11)), ours.bookChecksum(levels(10), levels(10)));
  assert.notEqual(ours.bookChecksum(levels(9), levels(10)), ours.bookChecksum(levels(10), levels(10)));
});

test("a snapshot is the whole book", () => {
  const book = begun();
  assert.equal(book.state, "live");
  assert.deepEqual(limits(book), { bids: ["145.6", "145.5"], asks: ["145.7", "146"] });
  book.snapshot(message(9, [], [["150", "1", 1]], "150:1"));
  assert.deepEqual(limits(book), { bids: [], asks: ["150"] });
});

test("what an order comes to at any price, and what money buys", () => {
  const book = begun();
  // 100 shares at 145.7 and 40 at 146; 300 bid at 145.6 and 10 at 145.5.
  assert.equal(book.atAnyPrice("buy", exact("120")), exact("17490", 16));
  assert.equal(book.atAnyPrice("buy", exact("140")), exact("20410", 16));
  assert.equal(book.atAnyPrice("buy", exact("140.00000001")), null);
  assert.equal(book.atAnyPrice("sell", exact("305")), exact("44407.5", 16));
  assert.equal(book.buys(exact("145.7", 16)), exact("1"));
  assert.equal(book.buys(exact("17490", 16)), exact("120"));
  assert.equal(book.buys(exact("1000000", 16)), exact("140"));
  assert.equal(new Book().buys(exact("1", 16)), 0n);
});

test("levels change, appear between others, at both ends, and go", () => {
  const book = begun();
  const fault = book.apply(
    message(
      8,
      [
        ["145.6", "250", 1],
        ["145.55", "5", 1],
        ["145.5", "0", 0],
        ["99.125", "1", 1],
      ],
      [
        ["145.65", "7", 1],
        ["1000", "2", 1],
      ],
      "145.6:250:145.65:7:145.55:5:145.7:100:99.125:1:146:40:1000:2",
    ),
  );
  assert.equal(fault, null);
  assert.deepEqual(limits(book), { bids: ["145.6", "145.55", "99.125"], asks: ["145.65", "145.7", "146", "1000"] });
  assert.equal(book.bids[0].shares, "250");
  assert.equal(book.sequence, 80);
});

test("prices are in the order of numbers, not of text", () => {
  const book = new Book();
  book.snapshot(
    message(
      1,
      [
        ["9", "1", 1],
        ["100", "1", 1],
        ["10.5", "1", 1],
      ],
      [
        ["1000", "1", 1],
        ["200", "1", 1],
      ],
      "100:1:200:1:10.5:1:1000:1:9:1",
    ),
  );
  assert.deepEqual(limits(book), { bids: ["100", "10.5", "9"], asks: ["200", "1000"] });
});

test("a level that goes and was not there changes nothing", () => {
  const book = begun();
  assert.equal(book.apply(message(8, [["145.55", "0", 0]], [], "145.6:300:145.7:100:145.5:10:146:40")), null);
  assert.equal(book.bids.length, 2);
});

test("a missing update makes the book worthless until the next snapshot", () => {
  const book = begun();
  assert.equal(book.apply(message(9, [["145.6", "1", 1]], [], "")), "gap");
  assert.equal(book.state, "waiting");
  // Updates of the old subscription still come: they are not for this book any more, and no second fault.
  assert.equal(book.apply(message(10, [["145.6", "1", 1]], [], "")), null);
  assert.equal(book.bids[0].shares, "300");
  assert.equal(book.snapshot(message(11, [["145.6", "1", 1]], [], "145.6:1")), null);
  assert.equal(book.state, "live");
  assert.equal(book.apply(message(12, [["145.6", "2", 1]], [], "145.6:2")), null);
});

test("what the snapshot holds already is no gap", () => {
  const book = begun();
  assert.equal(book.apply(message(7, [["145.6", "1", 1]], [], "")), null);
  assert.equal(book.bids[0].shares, "300");
});

test("a wrong checksum makes the book worthless, of an update and of a snapshot", () => {
  const book = begun();
  assert.equal(book.apply(message(8, [["145.6", "299", 2]], [], "145.6:298:145.7:100:145.5:10:146:40")), "checksum");
  assert.equal(book.state, "waiting");
  assert.equal(book.snapshot(message(9, [["145.6", "300", 2]], [], "something else")), "checksum");
  assert.equal(book.state, "waiting");
});

test("another symbol begins without levels", () => {
  const book = begun();
  let changes = 0;
  book.watch(() => {
    changes += 1;
  });
  book.clear();
  assert.deepEqual(limits(book), { bids: [], asks: [] });
  assert.equal(changes, 1);
});

test("a book knows its phase as long as messages name one", () => {
  const book = begun();
  assert.equal(book.phase, null);
  const phase = /** @type {const} */ ({ name: "auction", until: null, price: "145.7", shares: "100", surplus: "0" });
  const crossed = "145.7:100:145.7:100:145.6:300:146:40:145.5:10";
  assert.equal(book.apply({ ...message(8, [["145.7", "100", 1]], [], crossed), phase }), null);
  assert.deepEqual(book.phase, phase);
  const fault = book.apply(message(9, [["145.7", "0", 0]], [], "145.6:300:145.7:100:145.5:10:146:40"));
  assert.deepEqual([fault, book.phase], [null, null]);
});
