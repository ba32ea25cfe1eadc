// Answers that are lost on their way, in a real browser: what was asked for is done once, and the page says what became of it. PRICETIME_HTTP says
// where the server is; with an argument only steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { browser, look, market, out, step, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page, Route } from "playwright-core" */

const open = async () => (await ask("GET", `/accounts/${market.trader}/orders?status=open`)).orders;
const cancelAll = () => ask("DELETE", `/accounts/${market.trader}/orders`);
const UNKNOWN = {
  status: 504,
  contentType: "application/problem+json",
  body: JSON.stringify({
    type: "about:blank",
    title: "Outcome unknown",
    status: 504,
    code: "outcome-unknown",
    detail: "what became of the request is not known yet",
  }),
};

/** Ways in which an answer is lost that the server gave: the database's, a proxy's, the network's. @type {Record<string, (route: Route) => Promise<void>>} */
const WAYS = {
  "504 outcome-unknown": (route) => route.fulfill(UNKNOWN),
  "502 of a proxy": (route) => route.fulfill({ status: 502, contentType: "text/html", body: "<h1>Bad gateway</h1>" }),
  "503 of a proxy": (route) => route.fulfill({ status: 503, contentType: "application/json", body: '{"message":"upstream"}' }),
  "the connection": (route) => route.abort(),
};

/** The next such request reaches the server, and its answer is lost. @param {Page} page @param {string} method @param {RegExp} path @param {(route: Route) => Promise<void>} lose */
async function loseNext(page, method, path, lose, done = true) {
  let lost = false;
  await page.route(path, async (route) => {
    if (lost || route.request().method() !== method) return route.continue();
    lost = true;
    if (done) await route.fetch();
    await lose(route);
  });
}
const ORDERS = /\/api\/v1\/orders$/;

try {
  await market.make(12);

  for (const [name, lose] of Object.entries(WAYS))
    await step(`an order whose answer is lost by ${name} is placed once`, () =>
      visit({}, async (page) => {
        await loseNext(page, "POST", ORDERS, lose);
        // It is not told by itself yet: somebody is faster.
        await page.route(/by-client-id/, (route) => route.abort());
        await page.fill("#ticket-limit", "100");
        await page.fill("#ticket-shares", "3");
        await page.click("#ticket-submit");
        await page.waitForSelector(`#ticket-unknown-text:has-text("Buy 3 ${market.symbol} at 100.00, account ${market.trader}")`);
        await look(page, "unknown");
        await page.fill("#ticket-shares", "99");
        await page.keyboard.press("Enter");
        await page.waitForSelector("#ticket-done:has-text('placed: buy 3')");
        assert.deepEqual(
          (await open()).map((/** @type {any} */ { shares }) => shares),
          ["3"],
        );
        assert.equal(await page.isVisible("#ticket-unknown"), false);
        assert.equal(await page.inputValue("#ticket-shares"), "99", "what was typed meanwhile stays");
        await cancelAll();
      }),
    );

  await step("what became of an order is found out by itself, also where the page was left meanwhile", () =>
    visit({}, async (page) => {
      await loseNext(page, "POST", ORDERS, WAYS["the connection"]);
      await page.fill("#ticket-limit", "100");
      await page.fill("#ticket-shares", "4");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:has-text('placed: buy 4')");
      assert.equal(await page.inputValue("#ticket-shares"), "", "it is not sent twice by a second press");
      await page.route(ORDERS, () => {});
      await page.fill("#ticket-shares", "5");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-submit:has-text('Sending')");
      await page.reload();
      await page.waitForSelector("#ticket-unknown-text:has-text('The page was left')");
      await page.waitForSelector("#ticket-unknown-text:has-text('none such by now')");
      await look(page, "absent");
      await page.click("#ticket-forget");
      await page.waitForSelector("#ticket-unknown", { state: "hidden" });
      assert.deepEqual(
        (await open()).map((/** @type {any} */ { shares }) => shares),
        ["4"],
      );
      await cancelAll();
    }),
  );

  await step("a cancel whose answer is lost is not told as one that failed", () =>
    visit({}, async (page) => {
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "100", shares: "2" });
      await loseNext(page, "DELETE", /\/api\/v1\/orders\/\d+/, WAYS["the connection"]);
      await page.click("#panel-open .cancel");
      await page.waitForSelector(".notice:has-text('whether it was canceled is not known')");
      await page.waitForSelector(".notice:has-text('canceled: 2')");
      assert.equal(await page.locator(".notice:has-text('not canceled')").count(), 0);
    }),
  );

  await step("an order that is amended without an answer is amended once, and told so", () =>
    visit({}, async (page) => {
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "100", shares: "2" });
      await loseNext(page, "PATCH", /\/api\/v1\/orders\/\d+/, WAYS["502 of a proxy"]);
      await page.click("#panel-open .edit");
      await page.locator("#panel-open tbody input").fill("2 @ 101");
      await page.keyboard.press("Enter");
      await page.waitForSelector(".notice:has-text('whether it was amended is not known')");
      await page.waitForSelector(".notice:has-text('2 open now')");
      assert.deepEqual(
        (await open()).map((/** @type {any} */ { limit, shares }) => [limit, shares]),
        [["101", "2"]],
      );
      await cancelAll();
    }),
  );

  await step("of an account whose answer is lost it is not told that it was created", () =>
    visit({}, async (page) => {
      const there = Number((await ask("GET", `/accounts/${market.trader}`)).balance).toLocaleString("en-US", { maximumFractionDigits: 20 });
      // The server answers that there is such an account.
      await loseNext(page, "POST", /\/accounts$/, WAYS["the connection"]);
      await page.click("#create-open");
      await page.fill("#create-account-id", market.trader);
      await page.fill("#create-account-balance", "7");
      await page.click("#create-account [type=submit]");
      await page.waitForSelector(
        `#create-account .done:has-text("Account ${market.trader} is there, with ${there}. Whether this press created it is not known")`,
      );
    }),
  );

  await step("shares whose issue has no answer are issued once, and how many there are is told", () =>
    visit({}, async (page) => {
      const issued = async () => (await ask("GET", `/symbols/${market.symbol}`)).issued;
      const before = Number(await issued());
      await loseNext(page, "POST", /\/shares$/, WAYS["the connection"]);
      await page.click("#create-open");
      await page.fill("#create-shares-symbol", market.symbol);
      await page.fill("#create-shares-account", market.trader);
      await page.fill("#create-shares-shares", "25");
      await page.click("#create-shares [type=submit]");
      await page.waitForSelector("#create-shares [data-fault=form]:has-text('were issued before')");
      assert.equal(Number(await issued()), before + 25);
      await look(page, "issued");
      await page.waitForSelector(`#create-shares .note:has-text('${market.symbol} are issued')`);
      // A request that never came is sent again, for the number that the form shows.
      await page.route(/\/shares$/, (route) => route.abort(), { times: 1 });
      await page.click("#create-shares [type=submit]");
      await page.waitForSelector("#create-shares [data-fault=form]:has-text('Pressing again is safe')");
      await page.click("#create-shares [type=submit]");
      await page.waitForSelector("#create-shares .done:has-text('issued to account')");
      assert.equal(Number(await issued()), before + 50);
      // Somebody else issues some meanwhile.
      await ask("POST", `/symbols/${market.symbol}/shares`, { account: market.trader, shares: "5" });
      await page.click("#create-shares [type=submit]");
      await page.waitForSelector("#create-shares [data-fault=form]:has-text('another number of shares')");
      assert.equal(Number(await issued()), before + 55);
    }),
  );
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
