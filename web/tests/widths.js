// Widths of every view, and of prices in book and tape: neither the page nor anything in it that scrolls has to be scrolled sideways, and no price is cut.
// PRICETIME_HTTP says where the server is; with an argument only steps whose names hold it are run.

import assert from "node:assert/strict";
import { fill, tour } from "./views.js";
import { group } from "../page/decimal.js";
import { ask } from "./own-market.js";
import { browser, eventually, go, look, step, visit } from "./visits.js";

/** @import { Page } from "playwright-core" */

/** A comfortable density needs the most room. */
const WINDOWS = /** @type {const} */ ([
  [320, 480, "compact"],
  [360, 640, "compact"],
  [1366, 650, "compact"],
  [320, 480, "standard"],
  [360, 640, "standard"],
  [1366, 650, "standard"],
  [320, 480, "comfortable"],
  [360, 640, "comfortable"],
  [768, 1024, "comfortable"],
  [844, 390, "comfortable"],
  [1366, 650, "comfortable"],
  [1920, 1080, "comfortable"],
]);

/** Boxes that are narrower than what is in them, where it can be scrolled or is cut off; the page itself, too. @param {Page} page */
const narrow = (page) =>
  page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll("body *")]
      // What is there for those who hear it alone has one pixel.
      .filter((box) => box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 1 && (box === document.documentElement || box.checkVisibility()))
      .filter((box) => {
        const { overflowX, textOverflow } = getComputedStyle(box);
        // A text that ends with “…” is told in full where it is pressed or pointed at.
        return (
          (box === document.documentElement || /auto|scroll|hidden/.test(overflowX)) &&
          textOverflow !== "ellipsis" &&
          !box.matches("input, select, textarea, .unseen, .skip")
        );
      })
      .map((box) => `${box.tagName.toLowerCase()}#${box.id}.${box.className}: ${box.scrollWidth} in ${box.clientWidth}`),
  );

/** Prices of many digits before the point, and of many behind it. */
const PRICES = /** @type {const} */ ({
  "104,321.50": ["104321.5", "3"],
  0.00001234: ["0.00001234", "1234567.12345678"],
  "99,999,999.12345678": ["99999999.12345678", "0.00001"],
});

/** The cells of a symbol's book and tape that are wider than their room, or reach beyond the row or into the cell beside them. @param {Page} page */
const cut = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("#ladder .level:not([hidden]), #tape li:not([hidden])")].flatMap((row) => {
      const outside = row.getBoundingClientRect();
      const cells = [...row.querySelectorAll("span:not(.bar)")]
        .filter((cell) => cell.checkVisibility())
        .map((cell) => {
          const range = document.createRange();
          range.selectNodeContents(cell);
          return { text: cell.textContent ?? "", ink: range.getBoundingClientRect(), cell };
        });
      return cells
        .filter(
          ({ cell, ink }, at) =>
            cell.scrollWidth > cell.clientWidth ||
            ink.left < outside.left ||
            ink.right > outside.right + 0.5 ||
            ink.right > (cells[at + 1]?.ink.left ?? Infinity),
        )
        .map(({ text }) => text);
    }),
  );

/** The choices above the book whose chosen text is wider than their room: each is compared with one that has that text alone. @param {Page} page */
const cutChoices = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll(".book-controls select")].flatMap((select) => {
      const alone = /** @type {HTMLSelectElement} */ (select.cloneNode(true));
      const chosen = /** @type {HTMLSelectElement} */ (select).selectedOptions[0];
      alone.replaceChildren(new Option(chosen.text));
      alone.style.cssText = "position: absolute; width: max-content; max-width: none; min-width: 0";
      select.parentElement?.append(alone);
      const [has, needs] = [select, alone].map((each) => each.getBoundingClientRect().width);
      alone.remove();
      return has < needs - 0.5 ? [`${chosen.text}: ${has} of ${needs}`] : [];
    }),
  );

try {
  await fill();
  for (const [shown, [price, shares]] of Object.entries(PRICES)) {
    const symbol = `P${(Date.now() * 3 + Object.keys(PRICES).indexOf(shown)).toString(36).toUpperCase()}`;
    // Of an account of their own: its rows are in no other view.
    const account = String(Date.now() * 100 + Object.keys(PRICES).indexOf(shown));
    await ask("POST", "/accounts", { account, balance: "100000000" });
    await ask("POST", `/symbols/${symbol}/shares`, { account, shares: "10000000" });
    const place = (/** @type {string} */ side, /** @type {object} */ more) => ask("POST", "/orders", { account, symbol, side, limit: price, shares, ...more });
    await place("sell", {});
    await place("buy", {});
    await place("sell", {});
    await place("buy", { limit: price.replace(/\d$/, (digit) => String(Number(digit) - 1)) });
    for (const [width, height] of [
      [360, 800],
      [390, 844],
      [768, 1024],
      [1024, 768],
      [1366, 650],
      [1920, 1080],
    ])
      for (const density of ["compact", "comfortable"]) {
        await step(`${width} × ${height}, ${density}: a price of ${shown} stands in the book and on the tape, and no part of it is missing`, () =>
          visit(
            { viewport: { width, height } },
            async (page) => {
              await page.evaluate((hash) => (location.hash = hash), `#/trade/${symbol}`);
              await go(page, "book");
              for (const rows of ["#ladder-asks .level:not([hidden])", "#tape li:not([hidden])"]) {
                await page.waitForSelector(`${rows} .level-price:has-text('${shown}')`);
                assert.ok((await page.locator(rows).first().getAttribute("title"))?.includes(`${group(shares)} at ${shown}`));
              }
              await look(page, `price-${width}-${density}-${price}`);
              await eventually(page, async () => assert.deepEqual(await cut(page), []));
              for (const unit of ["money", "shares"]) {
                await page.selectOption("#book-unit", unit);
                assert.deepEqual(await cutChoices(page), []);
              }
              await page.selectOption("#book-group", { index: 0 });
            },
            (page) =>
              page.addInitScript(
                (kept) => localStorage.setItem("pricetime.layout", kept),
                JSON.stringify({ look: { density, hidden: ["watch"], sizes: {}, two: false, beside: null } }),
              ),
          ),
        );
      }
  }
  for (const [width, height, density] of WINDOWS) {
    await step(`${width} × ${height}, ${density}: nothing has to be scrolled sideways`, () =>
      visit(
        { viewport: { width, height } },
        (page) => tour(page, async (view) => assert.deepEqual({ view, narrow: await narrow(page) }, { view, narrow: [] })),
        (page) =>
          page.addInitScript(
            (kept) => localStorage.setItem("pricetime.layout", kept),
            JSON.stringify({ look: { density, hidden: ["watch"], sizes: {}, two: false, beside: null } }),
          ),
      ),
    );
  }
} finally {
  await browser.close();
}
