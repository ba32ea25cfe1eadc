// The width of every view: neither the page nor anything in it that scrolls has to be scrolled sideways, at any size of a table and in each
// density. PRICETIME_HTTP says where the server is; with an argument only steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { browser, go, look, market, out, step, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

const SIZES = [[320, 480], [360, 640], [1366, 650]];
const DENSITIES = ["compact", "standard", "comfortable"];

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

const escape = (/** @type {Page} */ page) => page.keyboard.press("Escape");
/** @param {string} tab @returns {(page: Page) => Promise<unknown>} */
const tab = (tab) => async (page) => {
  await go(page, "account");
  await page.click(`#tab-${tab}`);
  if (tab !== "balances" && tab !== "portfolio") await page.waitForSelector(`#panel-${tab} tbody tr`);
};
/** A dialog by its button. @param {string} button @param {string} dialog @returns {(page: Page) => Promise<unknown>} */
const dialog = (button, dialog) => async (page) => {
  await escape(page);
  await page.evaluate((at) => /** @type {HTMLElement} */ (document.querySelector(at)).click(), button);
  await page.waitForSelector(`${dialog}[open]`);
};

/** How each view is reached from the one before. @type {Record<string, (page: Page) => Promise<unknown>>} */
const VIEWS = {
  chart: (page) => go(page, "chart"),
  book: (page) => go(page, "book"),
  ticket: (page) => go(page, "ticket"),
  watchlist: async (page) => {
    if (!(await page.isVisible(".trade > .watch"))) await page.keyboard.press("w");
    await go(page, "watch");
  },
  orders: tab("open"),
  history: tab("history"),
  executions: tab("executions"),
  balances: tab("balances"),
  portfolio: tab("portfolio"),
  "two accounts": async (page) => {
    await page.keyboard.press("d");
    await page.fill("#second-chooser input[role=combobox]", market.maker);
    await page.press("#second-chooser input[role=combobox]", "Enter");
    await page.waitForSelector("#account-sum-text-beside:has-text('held')");
    for (const each of ["open", "history", "executions", "balances", "portfolio"]) {
      for (const side of ["", "-beside"]) await page.click(`#tab-${each}${side}`);
      await page.waitForTimeout(60);
      assert.deepEqual(await narrow(page), [], `two accounts: ${each}`);
    }
    await page.evaluate(() => /** @type {HTMLElement} */ (document.querySelector("#beside-open")).click());
    await page.waitForSelector("#account-beside", { state: "hidden" });
  },
  order: async (page) => {
    await tab("open")(page);
    await page.locator("#panel-open .order-id").first().click();
    await page.waitForSelector("#order[open]");
  },
  layout: dialog("#layout-open", "#layout"),
  keys: dialog("#keys", "#keys-dialog"),
  create: dialog("#create-open", "#create"),
  "a moment": dialog("#replay-open", "#replay-dialog"),
  replay: async (page) => {
    await escape(page);
    const { sequence } = await ask("GET", "/status");
    await page.evaluate((hash) => (location.hash = hash), `#/trade/${market.symbol}/at/${sequence}`);
    await page.waitForSelector("#replay[data-state=still]");
  },
  system: async (page) => {
    await page.evaluate(() => (location.hash = "#/system"));
    await page.waitForFunction(() => document.querySelectorAll("#system-charts canvas").length > 0);
  },
  venue: async (page) => {
    await page.evaluate(() => (location.hash = "#/venue"));
    await page.waitForSelector("#control-audit tbody tr");
  },
};

try {
  await market.make(4);
  // Long numbers are wide: an account that has much, and orders of many digits.
  const trade = (/** @type {object} */ order) => ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", shares: "12.34567891", ...order });
  for (const limit of ["101.11", "1.23"]) await trade({ limit });
  await trade({ limit: "9", stop: "9000", until: 4_000_000_000_000_000 });
  await trade({ kind: "market" });
  for (const [width, height] of SIZES) {
    for (const density of DENSITIES) {
      await step(`${width} × ${height}, ${density}: nothing has to be scrolled sideways`, () => visit({ viewport: { width, height } }, async (page) => {
        for (const [view, lead] of Object.entries(VIEWS)) {
          await lead(page);
          await page.waitForTimeout(60);
          if (density === "standard") await look(page, `${view.replaceAll(" ", "-")}-${width}`);
          assert.deepEqual({ view, narrow: await narrow(page) }, { view, narrow: [] });
        }
      }, (page) => page.addInitScript((kept) => localStorage.setItem("pricetime.layout", kept), JSON.stringify({ look: { density, hidden: ["watch"], sizes: {}, two: false, beside: null } }))));
    }
  }
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
