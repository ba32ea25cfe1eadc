// The features that only a local exchange can have, in a real browser: PRICETIME_HTTP says where the server is; with an argument only steps whose names
// hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { base, browser, go, look, market, out, step, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

const run = promisify(execFile);
const cancelAll = () => ask("DELETE", `/accounts/${market.trader}/orders`);
/** @param {string} limit @param {string} shares */
const place = (limit, shares) => ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit, shares });

const SIZES = /** @type {const} */ ([
  [1366, 650],
  [1920, 1080],
  [768, 1024],
  [375, 667],
  [320, 480],
]);

/** Checks the screen at each size and in both themes; nothing sticks out. @param {string} name @param {(page: Page) => Promise<unknown>} open @param {string} [selector] */
async function looks(name, open, selector = "dialog[open]") {
  for (const colorScheme of /** @type {const} */ (["dark", "light"])) {
    for (const [width, height] of SIZES) {
      await visit({ viewport: { width, height }, colorScheme }, async (page) => {
        await open(page);
        const box = await page.locator(selector).first().boundingBox();
        assert.ok(
          box && box.x >= 0 && box.x + box.width <= width && box.y + Math.min(box.height, height) <= height + 1,
          `${name} at ${width}: ${JSON.stringify(box)}`,
        );
        await look(page, `${name}-${width}-${colorScheme}`);
      });
    }
  }
}

/** @param {Page} page */
async function openFirst(page) {
  await go(page, "account");
  await page.locator("#panel-open .order-id").first().click();
  await page.waitForSelector("#order[open]");
}

try {
  await step("an empty server gets a market with one press, and its traders are stopped from the page", async () => {
    const { symbols } = await ask("GET", "/status");
    assert.equal(symbols, 0, "this step wants an empty server");
    const page = await browser.newPage({ viewport: { width: 1366, height: 650 } });
    await page.goto(`${base}/`);
    await page.waitForSelector("#welcome-sandbox");
    await look(page, "welcome");
    await page.click("#welcome-sandbox");
    await page.waitForSelector("body[data-market=chosen]");
    await page.waitForSelector("#ticket-available:has-text('100,000')");
    await page.waitForSelector("#tape li");
    await look(page, "sandbox-trades");
    await page.click("#view-system");
    await page.click("#sandbox-open");
    await page.waitForSelector("#sandbox-about:has-text('The traders trade')");
    assert.equal(await page.locator("#sandbox tbody tr").count(), 13);
    await page.click("#sandbox-run");
    await page.waitForSelector("#sandbox-about:has-text('No simulated trader trades')");
    await page.press("#sandbox-seed", "ControlOrMeta+a");
    await page.keyboard.type("5");
    await page.uncheck("#sandbox input[value=noise]");
    await page.click("#sandbox-run");
    await page.waitForSelector("#sandbox-about:has-text('The traders trade')");
    const standing = await ask("GET", "/sandbox");
    assert.deepEqual([standing.seed, standing.strategies], [5, ["makers", "patient", "momentum"]]);
    await page.reload();
    await page.click("#sandbox-open");
    assert.equal(await page.locator("#sandbox input[type=checkbox]").count(), 4, "those that do not trade now are there, too");
    await page.click("#sandbox-run");
    await page.waitForSelector("#sandbox-about:has-text('No simulated trader trades')");
    await page.close();
  });

  await market.make(9);

  await step("an order is said in code, copied with one press, and does what it says", () =>
    visit({ permissions: ["clipboard-read", "clipboard-write"] }, async (page) => {
      await page.fill("#ticket-shares", "3");
      await page.click("#ticket-code");
      await page.waitForSelector("#ticket-limit-fault:not(:empty)");
      assert.equal(await page.locator("#order[open]").count(), 0, "what is no order is not said");
      await page.fill("#ticket-limit", "100");
      await page.click("#ticket-code");
      await page.click("#order [data-protocol=curl]");
      await page.click("#said-copy");
      await page.waitForSelector("#said-copy:has-text('Copied')");
      const copied = await page.evaluate(() => navigator.clipboard.readText());
      assert.equal(copied, await page.locator("#said-code").textContent());
      await run("bash", ["-c", copied]);
      await page.keyboard.press("Escape");
      await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 1);

      await page.locator("#panel-open .order-id").first().click();
      await page.click("#tab-said");
      await page.selectOption("#said-act", "cancel");
      await run("bash", ["-c", (await page.locator("#said-code").textContent()) ?? ""]);
      await page.waitForSelector("#order .order-about:has-text('canceled')");
      await page.click("#order [data-close]");
    }),
  );

  await step("an order knows what stands before it", () =>
    visit({}, async (page) => {
      await place("144.95", "5");
      await openFirst(page);
      await page.click("#tab-place");
      await page.waitForSelector("#place-sum:has-text('100 shares of 1 order execute before it')");
      await market.place("buy", "144.97", "50");
      await page.waitForSelector("#place-sum:has-text('150 shares of 2 orders execute before it')");
      assert.deepEqual(await page.locator("#place-parts dd").allInnerTexts(), ["50 of 1 order", "100 of 1 order", "5", "nothing"]);
      await ask("POST", "/orders", { account: market.maker, symbol: market.symbol, side: "sell", limit: "144.95", shares: "150" });
      await page.waitForSelector("#place-sum:has-text('It is the next to execute')");
      await cancelAll();
      await page.waitForSelector("#place-sum:has-text('canceled')");
      await market.place("buy", "144.95", "100");
    }),
  );

  await step("an order is followed from the press to the answer, with the time of each room", () =>
    visit({}, async (page) => {
      await page.selectOption("#ticket-kind", "limit");
      await page.fill("#ticket-limit", "145.05");
      await page.fill("#ticket-shares", "3");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:has-text('placed')");
      await page.waitForSelector("#ticket-journey:has-text('Durable in')");
      await page.waitForFunction(() => document.querySelector("#ticket-done")?.textContent?.includes("Filled"));
      await page.click("#ticket-journey button");
      await page.waitForSelector("#order[open] #way-rooms");
      const rooms = await page.locator("#way-rooms li:not([hidden]) b").allInnerTexts();
      assert.deepEqual(rooms, ["Wire", "Gateway", "Inbox", "Journal", "Disk", "Engine", "Reply"]);
      await page.waitForSelector("#way-rooms li:has-text('It took 3 from one order')");
      await page.click("#order [data-close]");
      const { order_id } = await place("100", "1");
      await page.locator(`#panel-open tr[data-key="${order_id}"] .order-id`).click();
      await page.waitForSelector("#panel-way:has-text('known for the last orders that the ticket has placed')");
      await page.click("#order [data-close]");
      await cancelAll();
    }),
  );

  await step("the order's dialog fits every size", async () => {
    await place("99.5", "7");
    await looks("said", async (page) => {
      await openFirst(page);
      await page.click("#tab-said");
      await page.click("#order [data-protocol=websocket]");
    });
    await looks("place", async (page) => {
      await openFirst(page);
      await page.click("#tab-place");
      await page.waitForSelector("#place-parts:not([hidden])");
    });
    await cancelAll();
    await looks("sandbox", async (page) => {
      await page.click("#view-system");
      await page.click("#sandbox-open");
      await page.waitForSelector("#sandbox[open] tbody tr");
    });
    await looks("way", async (page) => {
      await go(page, "ticket");
      await page.fill("#ticket-limit", "99");
      await page.fill("#ticket-shares", "1");
      await page.click("#ticket-submit");
      await page.click("#ticket-journey button");
      await page.waitForSelector("#order[open] #way-rooms");
    });
    await cancelAll();
  });
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
