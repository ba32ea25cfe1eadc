// The vendored files are those of their packages, in the named versions and unchanged.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

/** @param {string} path */
const read = (path) => readFile(new URL(path, import.meta.url), "utf8");

const files = [
  ["lightweight-charts.standalone.production.mjs", "lightweight-charts/dist/lightweight-charts.standalone.production.mjs"],
  ["LICENSE.lightweight-charts", "lightweight-charts/LICENSE"],
  ["uPlot.iife.min.js", "uplot/dist/uPlot.iife.min.js"],
  ["uPlot.min.css", "uplot/dist/uPlot.min.css"],
  ["LICENSE.uplot", "uplot/LICENSE"],
];

for (const [vendored, packaged] of files) {
  test(`${vendored} is as its package has it`, async () => {
    assert.equal(await read(`../page/vendor/${vendored}`), await read(`../node_modules/${packaged}`));
  });
}

test("the versions and the notice are named", async () => {
  const notice = await read("../page/vendor/NOTICE");
  for (const name of ["lightweight-charts", "uplot"]) {
    const { version } = JSON.parse(await read(`../node_modules/${name}/package.json`));
    assert.match(notice, new RegExp(`${name} ${version.replaceAll(".", "\\.")}`));
  }
  const index = await read("../page/index.html");
  assert.match(index, /https:\/\/www\.tradingview\.com\//);
  assert.match(index, /Copyright © 2026 TradingView, Inc\./);
});

test("the page has no inline script, no inline style and no event attribute", async () => {
  const index = await read("../page/index.html");
  assert.doesNotMatch(index, /<script(?![^>]*\bsrc=)/);
  assert.doesNotMatch(index, /<style|\sstyle=|\son[a-z]+=/);
});
