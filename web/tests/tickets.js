// The ticket in a real browser: its controls that stay in view, its question before a slip, the traces of refused and canceled orders.
// PRICETIME_HTTP says where the server is; with an argument only steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { browser, eventually, go, look, market, out, step, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

const WINDOWS = /** @type {const} */ ([
  [1024, 768],
  [1366, 650],
  [1920, 1080],
  [390, 844],
]);

const cancelAll = () => ask("DELETE", `/accounts/${market.trader}/orders`);
const placed = (/** @type {object} */ order) => ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", ...order });
/** The newest order of the trader. */
const newest = async () => (await ask("GET", `/accounts/${market.trader}/orders?status=all&limit=1`)).orders[0];

/** The controls of side and kind that cannot be pressed where they stand, or a part of them. @param {Page} page */
const hidden = (page) =>
  page.evaluate(() =>
    ["#ticket .side-buy", "#ticket .side-sell", "#ticket-kind"].filter((selector) => {
      const element = /** @type {Element} */ (document.querySelector(selector));
      const { x, y, width, height } = element.getBoundingClientRect();
      return ![0.1, 0.5, 0.9].every((part) => element.contains(document.elementFromPoint(x + width / 2, y + height * part)));
    }),
  );

/** Fills in fields of the ticket by their names. @param {Page} page @param {Record<string, string>} fields */
async function fill(page, fields) {
  for (const [name, value] of Object.entries(fields)) {
    const field = page.locator(`#ticket [name=${name}]`);
    if (name === "kind" || name === "waits") await field.selectOption(value);
    else await field.fill(value);
  }
}

/** Sends what stands in the ticket, from the keyboard. @param {Page} page */
async function send(page) {
  await page.press("#ticket-shares", "Enter");
  await page.waitForSelector("#ticket-done:not(:empty)");
}

/** The rows of the history that have these words, once there are so many. @param {Page} page @param {string} words @param {number} count */
const rows = (page, words, count) =>
  eventually(page, async () => {
    const found = page.locator("#panel-history tbody tr", { hasText: words });
    assert.equal(await found.count(), count, `${words}: ${await page.locator("#panel-history tbody").innerText()}`);
    return found;
  });

try {
  await market.make(4);

  for (const [width, height] of WINDOWS)
    await step(`${width} × ${height}: behind an order, placed or refused, the side and the kind are in view`, () =>
      visit({ viewport: { width, height } }, async (page) => {
        await go(page, "ticket");
        await page.selectOption("#ticket-kind", "post_only");
        for (const [name, fields] of Object.entries({
          plain: { limit: "140", shares: "1" },
          oco: { waits: "or_stop", limit: "140", trigger: "150", shares: "1" },
          otoco: { waits: "then_both", limit: "140", trigger: "130", profit: "150", shares: "1" },
        })) {
          await fill(page, fields);
          await send(page);
          await look(page, `${width}-${name}`);
          assert.deepEqual(await hidden(page), [], name);
        }
        await fill(page, { waits: "", shares: "1000000" });
        await page.press("#ticket-shares", "Enter");
        await page.waitForSelector("#ticket-total-fault:not(:empty)");
        await look(page, `${width}-refused`);
        assert.deepEqual(await hidden(page), []);
        await cancelAll();
      }),
    );

  await step("a kind that gives way to what the order waits for comes back with it, and a chosen one stays", () =>
    visit({}, async (page) => {
      const kind = () => page.inputValue("#ticket-kind");
      for (const [wanted, waits, instead] of [
        ["limit", "or_stop", "post_only"],
        ["market", "or_stop", "post_only"],
        ["immediate_or_cancel", "then_profit", "limit"],
        ["post_only_move", "stop", "post_only"],
      ]) {
        await fill(page, { kind: wanted, waits });
        assert.equal(await kind(), instead);
        await fill(page, { waits: "then_both" });
        await fill(page, { waits });
        assert.equal(await kind(), instead);
        await fill(page, { waits: "" });
        assert.equal(await kind(), wanted);
      }
      // An order that was placed changes nothing of this.
      await fill(page, { kind: "limit", waits: "or_stop", limit: "140", trigger: "150", shares: "1" });
      await send(page);
      await fill(page, { waits: "" });
      assert.equal(await kind(), "limit");
      await fill(page, { kind: "market", waits: "then_stop" });
      await fill(page, { kind: "post_only" });
      await fill(page, { waits: "" });
      assert.equal(await kind(), "post_only");
      await cancelAll();
    }),
  );

  await step("a price far from the market is asked about, and a hasty Enter does not send it", () =>
    visit({}, async (page) => {
      await fill(page, { limit: "1450", shares: "1" });
      const before = (await newest())?.order_id;
      await page.press("#ticket-shares", "Enter");
      await page.waitForSelector("#confirm[open] #confirm-warning:has-text('1,450.00 is 900% above the last price, 145.00.')");
      assert.equal(await page.evaluate(() => document.activeElement?.id), "confirm-not");
      await look(page, "far");
      await page.keyboard.press("Enter");
      await page.waitForSelector("#confirm", { state: "hidden" });
      assert.equal((await newest())?.order_id, before);
      await page.check("#ticket .side-sell input", { force: true });
      await fill(page, { limit: "14.5" });
      await page.click("#ticket-submit");
      await page.waitForSelector("#confirm[open] #confirm-warning:has-text('14.50 is 90% below the last price, 145.00.')");
      await page.click("#confirm-sure");
      await page.waitForSelector("#ticket-done:not(:empty)");
      assert.deepEqual([(await newest()).limit, (await newest()).executed], ["14.5", "1"]);
      // What can only cost less is not asked about, nor what is near.
      for (const limit of ["150", "1450"]) {
        await fill(page, { limit, shares: "1" });
        await send(page);
        assert.equal((await newest()).limit, limit);
      }
      // Nor is a stop, which is compared with its own price; its limit is.
      await fill(page, { waits: "stop", trigger: "100", limit: "95", shares: "1" });
      await send(page);
      await fill(page, { trigger: "100", limit: "9.5", shares: "1" });
      await page.click("#ticket-submit");
      await page.waitForSelector("#confirm[open] #confirm-warning:has-text('9.50 is 90% below the price that it waits for, 100.00.')");
      await page.click("#confirm-not");
      // A market order that takes the whole book is, too.
      await market.place("sell", "1000", "5000");
      await page.check("#ticket .side-buy input", { force: true });
      await fill(page, { waits: "", kind: "market", shares: "5000" });
      await page.waitForSelector("#ticket-forecast:has-text('5,000 now at')");
      await page.click("#ticket-submit");
      await page.waitForSelector("#confirm[open] #confirm-warning:has-text('above the last price')");
      await page.click("#confirm-not");
      await cancelAll();
    }),
  );

  await step("a refused order is in the history with its reason, for its account alone, also after a reload", () =>
    visit({}, async (page) => {
      await page.click("#tab-history");
      await fill(page, { limit: "140", shares: "1000000" });
      await page.press("#ticket-shares", "Enter");
      await page.waitForSelector("#ticket-total-fault:not(:empty)");
      const text = "refused: Insufficient funds";
      const row = (await rows(page, text, 1)).first();
      assert.match(await row.innerText(), /0 of 1,000,000/);
      assert.ok(await row.locator("button").isHidden(), "there is nothing more of it to see");
      assert.match((await row.locator(".why").getAttribute("title")) ?? "", /140,000,000 needed/);
      await look(page, "history-refused");
      await placed({ limit: "139", shares: "1" });
      await page.waitForSelector("#panel-history tbody tr:first-child:has-text('139.00')");
      await page.fill("#account-filter", "refused");
      await eventually(page, async () => assert.equal(await page.locator("#panel-history tbody tr").count(), 1));
      await page.fill("#account-filter", "");
      await page.reload();
      await page.waitForSelector("body[data-connection=open][data-market=chosen]");
      await page.click("#tab-history");
      await rows(page, text, 1);
      await page.keyboard.press("a");
      await page.keyboard.type(market.maker);
      await page.keyboard.press("Enter");
      await eventually(page, async () => assert.ok((await page.locator("#account-chooser .chooser-button").innerText()).includes(market.maker)));
      await page.waitForSelector("#panel-history tbody tr");
      await rows(page, text, 0);
      await cancelAll();
    }),
  );

  await step("a canceled order has its reason in the history and in its dialog", () =>
    visit({}, async (page) => {
      await page.click("#tab-history");
      const until = Date.now() * 1_000 + 1_000_000;
      const { order_id: ends } = await placed({ limit: "139", shares: "1", until });
      const { order_id: asked } = await placed({ limit: "138", shares: "1" });
      const { order_id: ioc } = await placed({ limit: "137", shares: "1", kind: "immediate_or_cancel" });
      await ask("DELETE", `/orders/${asked}?account=${market.trader}`);
      const reasons = async () => {
        for (const [id, text] of /** @type {const} */ ([
          [ends, "canceled: expired"],
          [asked, "canceled: asked for"],
          [ioc, "canceled: does not rest"],
        ]))
          await page.waitForSelector(`#panel-history tr[data-key="${id}"]:has-text("${text}")`);
      };
      // As the feed tells it, and as the history has it.
      await reasons();
      await page.reload();
      await page.waitForSelector("body[data-connection=open][data-market=chosen]");
      await page.click("#tab-history");
      await reasons();
      await look(page, "history-canceled");
      await page.click(`#panel-history tr[data-key="${ends}"] button`);
      await page.waitForSelector("#order[open] .order-about:has-text('canceled. Its time was over')");
      await page.keyboard.press("Escape");
    }),
  );
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
