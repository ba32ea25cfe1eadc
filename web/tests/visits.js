// A browser and a market for tests of the page: each visit is a fresh one, with an account chosen. PRICETIME_HTTP says where the server is.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { OwnMarket } from "./own-market.js";

/** @import { BrowserContextOptions, Page } from "playwright-core" */

export const base = process.env.PRICETIME_HTTP?.replace(/\/$/, "");
export const out = process.env.OUT ?? mkdtempSync(join(tmpdir(), "pricetime-visits-"));
mkdirSync(out, { recursive: true });
const only = process.argv[2] ?? "";

export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
export const market = new OwnMarket();

/** @param {string} name @param {() => Promise<unknown>} run */
export async function step(name, run) {
  if (!name.includes(only)) return;
  try {
    await run();
    console.log(`ok      ${name}`);
  } catch (error) {
    console.log(`FAILED  ${name}`);
    throw error;
  }
}

/** @param {BrowserContextOptions} options @param {(page: Page) => Promise<unknown>} use @param {(page: Page) => Promise<unknown>} [before] the page is opened */
export async function visit(options, use, before) {
  const context = await browser.newContext({ viewport: { width: 1366, height: 650 }, colorScheme: "dark", ...options });
  context.setDefaultTimeout(10_000);
  await context.addInitScript((account) => localStorage.setItem("pricetime.account", account), market.trader);
  const page = await context.newPage();
  /** @type {string[]} */
  const complaints = [];
  page.on("pageerror", (error) => complaints.push(error.stack ?? error.message));
  await before?.(page);
  await page.goto(`${base}/#/trade/${market.symbol}`);
  await page.waitForSelector("body[data-connection=open][data-market=chosen]");
  await page.waitForFunction(() => document.querySelector("#ticket-available")?.textContent?.match(/\d/));
  await use(page);
  assert.deepEqual(complaints, [], "the page complained");
  await context.close();
}

/** On a telephone one section is in view at a time. @param {Page} page @param {string} section */
export async function go(page, section) {
  const button = page.locator(`nav.sections [data-section=${section}]`);
  if (await button.isVisible()) await button.click();
}
