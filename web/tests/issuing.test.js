import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "../page/api.js";
import { issueShares } from "../page/state/issuing.js";

const WHAT = { symbol: "SPY", account: "1", shares: "25" };
const SHOWN = { number: "100" };

/** A server with 100 shares of SPY. What it is asked for is done as `ways` say, in order; then as the last one. */
function server(/** @type {("done"|"lost before"|"lost behind"|"not-in-a-cluster"|"given-from-budget")[]} */ ...ways) {
  const server = {
    issued: 100,
    /** @type {(string|null)[]} */
    expected: [],
    isSilent: false,
    async symbol() {
      if (server.isSilent) throw new Refusal({ code: "no-answer", detail: "No answer" });
      return /** @type {any} */ ({ issued: String(server.issued) });
    },
    async issue(/** @type {string} */ symbol, /** @type {string} */ account, /** @type {string} */ shares, /** @type {string|null} */ expected) {
      const way = ways.length > 1 ? ways.shift() : ways[0];
      server.expected.push(expected);
      if (way === "not-in-a-cluster" || way === "given-from-budget") throw new Refusal({ code: way, detail: "Refused" });
      if (expected !== null && Number(expected) !== server.issued) throw new Refusal({ code: "issued-otherwise", detail: "another number" });
      if (way !== "lost before") server.issued += Number(shares);
      if (way !== "done") throw new Refusal({ code: "no-answer", detail: "No answer" });
      return { symbol, account, shares, ...(expected !== null && { issued: String(server.issued) }) };
    },
  };
  return server;
}

const atOnce = async () => {};

test("an issue is meant for the number that is shown, and tells the next one", async () => {
  const api = server("done");
  assert.deepEqual(await issueShares(api, WHAT, SHOWN, atOnce), { refusal: null, issued: "125", shares: "25" });
  const { refusal, issued } = await issueShares(api, WHAT, SHOWN, atOnce);
  assert.deepEqual([refusal?.code, issued, api.issued], ["issued-otherwise", "125", 125]);
});

test("an issue whose answer was lost says whether the number is another one", async () => {
  const api = server("lost behind");
  const { refusal, issued } = await issueShares(api, WHAT, SHOWN, atOnce);
  assert.match(refusal?.message ?? "", /100 SPY were issued before, and 125 are now\. Pressing again issues them again$/);
  assert.equal(issued, "125");
});

test("an issue that may still come is sent again for the same number", async () => {
  const api = server("lost before", "done");
  const { refusal, issued, isUnsure } = await issueShares(api, WHAT, SHOWN, atOnce);
  assert.match(refusal?.message ?? "", /100 SPY are issued, as before\. Pressing again is safe: they are issued once$/);
  // The first one comes now.
  api.issued += 25;
  const again = await issueShares(api, WHAT, { number: issued ?? "", isAgain: isUnsure }, atOnce);
  assert.deepEqual([again.refusal?.code, again.issued, api.issued], ["issued-otherwise", "125", 125]);
  assert.match(again.refusal?.message ?? "", /probably issued by the press that had no answer: 100 SPY .* 125 are now\. Pressing again issues them again$/);
  assert.equal(again.isUnsure, undefined, "a third press is for the new number, and says nothing of the first");
});

test("where nobody can say the number, what is shown stays", async () => {
  const api = server("lost behind");
  api.isSilent = true;
  const { refusal, issued } = await issueShares(api, WHAT, SHOWN, atOnce);
  assert.match(refusal?.message ?? "", /how many there are now cannot be had\. Pressing again is safe/);
  assert.equal(issued, "100");
});

test("a cluster and a budget take no such condition, and pressing again is not safe", async () => {
  const cluster = server("not-in-a-cluster", "done");
  assert.deepEqual(await issueShares(cluster, WHAT, SHOWN, atOnce), { refusal: null, issued: "125", shares: "25" });
  assert.deepEqual(cluster.expected, ["100", null]);
  const lost = await issueShares(server("not-in-a-cluster", "lost before"), WHAT, SHOWN, atOnce);
  assert.match(lost.refusal?.message ?? "", /Pressing again issues them again$/);
  const given = await issueShares(server("given-from-budget", "lost behind"), WHAT, SHOWN, atOnce);
  assert.match(given.refusal?.message ?? "", /Pressing again gives them again$/);
});
