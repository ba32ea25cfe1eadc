// Every view of the page, how each is reached from the one before, and a market in which all of them have something to show.

import { ask } from "./own-market.js";
import { go, market } from "./visits.js";

/** @import { Page } from "playwright-core" */

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

/** @type {Record<string, (page: Page) => Promise<unknown>>} */
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
  },
  ...Object.fromEntries(
    ["open", "history", "executions", "balances", "portfolio"].map((tab) => [
      `two accounts, ${tab}`,
      async (page) => {
        for (const side of ["", "-beside"]) await page.click(`#tab-${tab}${side}`);
      },
    ]),
  ),
  order: async (page) => {
    await page.evaluate(() => /** @type {HTMLElement} */ (document.querySelector("#beside-open")).click());
    await page.waitForSelector("#account-beside", { state: "hidden" });
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

/** Goes through all of them. @param {Page} page @param {(view: string) => Promise<unknown>} seen called where one is shown */
export async function tour(page, seen) {
  for (const [view, lead] of Object.entries(VIEWS)) {
    await lead(page);
    await page.waitForTimeout(60);
    await seen(view);
  }
}

/** A market in which all have something to show. Long numbers are wide: its account has much, and orders of many digits. */
export async function fill() {
  await market.make(4);
  const trade = (/** @type {object} */ order) =>
    ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", shares: "12.34567891", ...order });
  for (const limit of ["101.11", "1.23"]) await trade({ limit });
  await trade({ limit: "9", stop: "9000", until: 4_000_000_000_000_000 });
  await trade({ kind: "market" });
}
