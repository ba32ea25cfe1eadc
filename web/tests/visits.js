// A browser and a market for tests of the page: each visit is a fresh one, with an account chosen. PRICETIME_HTTP says where the server is.

import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Complaints } from "./complaints.js";
import { in_firefox, launch, out } from "./launch.js";
import { OwnMarket } from "./own-market.js";

/** @import { BrowserContextOptions, Page } from "playwright-core" */

export const base = process.env.PRICETIME_HTTP?.replace(/\/$/, "");
export { in_firefox, look, out } from "./launch.js";
const only = process.argv[2] ?? "";

export const browser = await launch();
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

/** A step that the driver of Firefox cannot take. @param {string} name @param {string} why @param {() => Promise<unknown>} run */
export async function stepInChromium(name, why, run) {
  if (in_firefox) console.log(`skipped ${name}: ${why}`);
  else await step(name, run);
}

/** @param {BrowserContextOptions} options @param {(page: Page) => Promise<unknown>} use @param {(page: Page) => Promise<unknown>} [before] the page is opened */
export async function visit(options, use, before) {
  const context = await browser.newContext({ viewport: { width: 1366, height: 650 }, colorScheme: "dark", ...options });
  context.setDefaultTimeout(30_000);
  const kept = { "pricetime.account": market.trader, ...(in_firefox && options.colorScheme === "light" && { "pricetime.theme": "light" }) };
  await context.addInitScript((all) => {
    // Firefox runs it in the empty page of a new tab, too, which has no storage.
    if (location.protocol === "http:") for (const [name, value] of Object.entries(all)) localStorage.setItem(name, value);
  }, kept);
  const page = await context.newPage();
  const complaints = new Complaints();
  complaints.listen(page);
  await before?.(page);
  await page.goto(`${base}/#/trade/${market.symbol}`);
  await page.waitForSelector("body[data-connection=open][data-market=chosen]");
  await page.waitForFunction(() => document.querySelector("#ticket-available")?.textContent?.match(/\d/));
  await use(page);
  assert.deepEqual(complaints.heard, [], "the page complained");
  await context.close();
}

/** Asserts until it holds, for ten seconds: a page shows what was done some frames later, and a busy machine draws few. @template Found @param {Page} page @param {() => Promise<Found>} check */
export async function eventually(page, check) {
  const ends = Date.now() + 10_000;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof assert.AssertionError) || Date.now() > ends) throw error;
      await page.waitForTimeout(30);
    }
  }
}

/** Has the page in dark or in light colours: by the system's, or where the driver cannot change these, by the page's own button. @param {Page} page @param {"dark"|"light"} colours */
export async function paint(page, colours) {
  if (!in_firefox) await page.emulateMedia({ colorScheme: colours });
  else if ((await page.getAttribute("html", "data-theme")) !== colours)
    await page.evaluate(() => /** @type {HTMLElement} */ (document.querySelector("#theme")).click());
  await page.waitForSelector(`html[data-theme=${colours}]`);
}

/** The file of this name that a press stores. Firefox's driver does not report it, so the test looks in the folder. @param {Page} page @param {string} selector @param {string} name */
export async function takeAway(page, selector, name) {
  if (in_firefox) {
    await page.click(selector);
    const path = join(out, name);
    for (let tries = 0; tries < 300; tries += 1) {
      if (existsSync(path) && statSync(path).size > 0) return readFileSync(path, "utf8");
      await page.waitForTimeout(100);
    }
    assert.fail(`${path} was not stored within 30 s`);
  }
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
  assert.equal(file.suggestedFilename(), name);
  return readFileSync(await file.path(), "utf8");
}

/** Brings a section into view: a telephone shows one at a time. @param {Page} page @param {string} section */
export async function go(page, section) {
  const button = page.locator(`nav.sections [data-section=${section}]`);
  if (await button.isVisible()) await button.click();
}
