// The width of every view: neither the page nor anything in it that scrolls has to be scrolled sideways, in windows of a table.
// PRICETIME_HTTP says where the server is; with an argument only steps whose names hold it are run.

import assert from "node:assert/strict";
import { fill, tour } from "./views.js";
import { browser, step, visit } from "./visits.js";

/** @import { Page } from "playwright-core" */

/** A comfortable density needs the most room. */
const WINDOWS = /** @type {const} */ ([
  [320, 480, "compact"], [360, 640, "compact"], [1366, 650, "compact"],
  [320, 480, "standard"], [360, 640, "standard"], [1366, 650, "standard"],
  [320, 480, "comfortable"], [360, 640, "comfortable"], [768, 1024, "comfortable"], [844, 390, "comfortable"], [1366, 650, "comfortable"], [1920, 1080, "comfortable"],
]);

/** Boxes that are narrower than what is in them, where it can be scrolled or is cut off; the page itself, too. @param {Page} page */
const narrow = (page) => page.evaluate(() => [document.documentElement, ...document.querySelectorAll("body *")]
  // What is there for those who hear it alone has one pixel.
  .filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 1 && (box === document.documentElement || box.checkVisibility()))
  .filter((box) => {
    const { overflowX, textOverflow } = getComputedStyle(box);
    // A text that ends with “…” is told in full where it is pressed or pointed at.
    return (box === document.documentElement || /auto|scroll|hidden/.test(overflowX)) && textOverflow !== "ellipsis" && !box.matches("input, select, textarea, .unseen, .skip");
  })
  .map((box) => `${box.tagName.toLowerCase()}#${box.id}.${box.className}: ${box.scrollWidth} in ${box.clientWidth}`));

try {
  await fill();
  for (const [width, height, density] of WINDOWS) {
    await step(`${width} × ${height}, ${density}: nothing has to be scrolled sideways`, () => visit({ viewport: { width, height } },
      (page) => tour(page, async (view) => assert.deepEqual({ view, narrow: await narrow(page) }, { view, narrow: [] })),
      (page) => page.addInitScript((kept) => localStorage.setItem("pricetime.layout", kept), JSON.stringify({ look: { density, hidden: ["watch"], sizes: {}, two: false, beside: null } }))));
  }
} finally {
  await browser.close();
}
