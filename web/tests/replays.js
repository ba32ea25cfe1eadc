// The market of a past moment, played on the page in a real browser: PRICETIME_HTTP says where the server is; with an argument only steps whose
// names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { ask } from "./own-market.js";
import { base, browser, go, look, market, out, step, visit } from "./visits.js";

/** @import { Page } from "playwright-core" */

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const SIZES = /** @type {const} */ ([
  [1366, 650],
  [1920, 1080],
  [768, 1024],
  [360, 640],
  [320, 480],
]);

/** The live book after each of some orders, in order. @type {{sequence: number, bids: [string, string, number][], asks: [string, string, number][]}[]} */
const shown = [];
const note = async () => shown.push(await ask("GET", `/symbols/${market.symbol}/book?depth=1000`));
/** @param {"buy"|"sell"} side @param {string} limit @param {string} shares */
const trade = (side, limit, shares) => ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side, limit, shares });
const pause = (/** @type {number} */ ms) => new Promise((then) => setTimeout(then, ms));

/** Shows a moment. @param {Page} page @param {string} moment */
async function show(page, moment) {
  await page.goto(`${base}/#/trade/${market.symbol}/${moment}`);
  await page.waitForSelector("#replay[data-state=still]");
}

/** The command that the bar says. @param {Page} page */
const command = async (page) => Number((await page.locator("#replay-sequence").innerText()).replaceAll(",", ""));

/** Waits until the ladder has the best levels of a book. @param {Page} page @param {typeof shown[number]} book */
async function hasBook(page, book) {
  const best = [book.bids[0], book.asks[0]].map((level) => [Number(level[0]).toFixed(2), Number(level[1]).toLocaleString("en-GB")]);
  await page.waitForFunction(([bid, ask]) => {
    const first = (/** @type {string} */ list, /** @type {boolean} */ last) => {
      const rows = [...document.querySelectorAll(`#${list} li button:not([hidden])`)];
      const row = last ? rows.at(-1) : rows[0];
      return [...(row?.children ?? [])].slice(1, 3).map((cell) => (cell.textContent ?? "").trim());
    };
    return JSON.stringify([first("ladder-bids", false), first("ladder-asks", true)]) === JSON.stringify([bid, ask]);
  }, best);
}

/** @param {Page} page @param {number} at */
const standsAt = (page, at) =>
  page.waitForFunction((wanted) => document.querySelector("#replay-sequence")?.textContent?.replaceAll(",", "") === String(wanted), at);

try {
  await market.make(8);
  await note();
  // The trader takes and leaves, and the maker quotes: three events every quarter of a second. Before the last ones comes
  // a long pause, so that a slow browser, too, can stop the replay before its end.
  for (let round = 0; round < 8; round += 1) {
    if (round === 7) await pause(8_000);
    await trade("buy", "145.05", String(3 + round));
    await note();
    await market.place("buy", (144.5 + round / 100).toFixed(2), "10");
    await note();
    await trade("sell", "145.1", "2");
    await note();
    await pause(250);
  }

  await step("a book of the past stands in the place of the live one, and says so", () =>
    visit({}, async (page) => {
      const book = shown[4];
      await show(page, `at/${book.sequence}`);
      assert.equal(await command(page), book.sequence);
      assert.match(await page.locator("#replay-time").innerText(), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
      await hasBook(page, book);
      // What happens now is not mixed in.
      await market.place("buy", "144.99", "1");
      await pause(400);
      await hasBook(page, book);
      assert.equal(await page.locator("#market-high").innerText(), "–", "the day of now is not that of then");
      await page.waitForSelector("#candles[data-candles]:not([data-candles='0'])");
      await look(page, "replay");
    }),
  );

  await step("nothing can be ordered in a replay, and the page says why", () =>
    visit({}, async (page) => {
      await show(page, `at/${shown[4].sequence}`);
      await page.waitForSelector("#ticket-past:visible");
      assert.match(await page.locator("#ticket-past").innerText(), /no order can be placed/);
      assert.equal(await page.locator("#ticket-submit").isDisabled(), true);
      assert.equal(await page.locator("#ticket-submit").innerText(), "No orders in a replay");
      await page.keyboard.press("b");
      assert.equal(await page.evaluate(() => document.activeElement?.id ?? ""), "", "no field of it takes the focus");
      await page.click("#replay-live");
      await page.waitForSelector("#replay", { state: "hidden" });
      await page.waitForSelector("#ticket-past", { state: "hidden" });
      await page.fill("#ticket-limit", "100");
      await page.fill("#ticket-shares", "1");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:has-text('placed')");
    }),
  );

  await step("it goes command by command, back, and to the next trade, with one's own fills marked", () =>
    visit({}, async (page) => {
      const [first, second, third] = shown;
      await show(page, `at/${first.sequence}`);
      await hasBook(page, first);
      assert.equal(await page.locator("#tape li[data-mine]").count(), 0, "the trader has done nothing yet");
      await page.click("#replay-trade");
      await standsAt(page, second.sequence);
      await hasBook(page, second);
      await page.waitForFunction(() => document.querySelector("#tape li")?.hasAttribute("data-mine"));
      await page.waitForSelector("#candles[data-fills='1']");
      await page.click("#replay-step");
      await standsAt(page, second.sequence + 1);
      await hasBook(page, third);
      await page.keyboard.press(",");
      await standsAt(page, second.sequence);
      await hasBook(page, second);
      for (let back = 0; back < 3; back += 1) {
        await page.waitForSelector("#replay[data-state=still]");
        await page.click("#replay-back");
        await standsAt(page, second.sequence - 1 - back);
      }
      assert.equal(await page.locator("#tape li[data-mine]").count(), 0, "it is not done again");
      await page.waitForSelector("#candles[data-fills='0']");
      await page.keyboard.press("n");
      await page.waitForFunction(
        (before) => Number(document.querySelector("#replay-sequence")?.textContent?.replaceAll(",", "")) > before,
        second.sequence - 3,
      );
      // The trader's own order stands out in the book of then, though it was canceled since.
      await show(page, `at/${shown.at(-1)?.sequence}`);
      await page.waitForSelector("#ladder-asks button[data-mine]");
    }),
  );

  await step("it is played at its own pace and faster, paused, and ends where the market is", () =>
    visit({}, async (page) => {
      const [first] = shown;
      const last = shown.at(-1) ?? first;
      await show(page, `at/${first.sequence}`);
      const started = Date.now();
      await page.click("#replay-play");
      await page.waitForFunction((before) => Number(document.querySelector("#replay-sequence")?.textContent?.replaceAll(",", "")) > before + 6, first.sequence);
      const took = Date.now() - started;
      assert.ok(took > 150, `seven commands took ${took} ms: they had taken as long`);
      await page.keyboard.press("k");
      await page.waitForSelector("#replay[data-state=still]");
      const paused = await command(page);
      await pause(300);
      assert.equal(await command(page), paused);
      assert.ok(paused < last.sequence, "it had not come to the end");
      await page.click("#replay [data-speed='100']");
      await page.waitForSelector("#replay [data-speed='100'][aria-pressed=true]");
      await page.click("#replay-play");
      await page.waitForSelector("#replay-said:has-text('This is the last command by now')");
      assert.ok((await command(page)) >= last.sequence);
      assert.equal(await page.locator("#replay-said:has-text('differs')").count(), 0, "every book had the checksum of the server's");
    }),
  );

  await step("a moment is chosen by its time, by its command, from an execution and from an order", () =>
    visit({}, async (page) => {
      await page.click("#replay-open");
      await page.waitForSelector("#replay-last:has-text('The last command is')");
      await page.fill("#replay-command", "12x");
      await page.click("#replay-dialog button[type=submit]");
      await page.waitForSelector("#replay-fault:has-text('whole number')");
      await page.fill("#replay-command", String(shown[2].sequence));
      await page.click("#replay-dialog button[type=submit]");
      await standsAt(page, shown[2].sequence);
      await page.keyboard.press("r");
      await page.waitForSelector("#replay-dialog[open]");
      // A time without a command: the fields say the moment that is shown.
      await page.click("#replay-dialog button[type=submit]");
      await page.waitForSelector("#replay[data-state=still]");
      assert.ok((await command(page)) >= shown[2].sequence, "all of that second");

      await go(page, "account");
      await page.click("#tab-executions");
      await page.locator("#panel-executions tbody tr").last().locator("button.order-id").click();
      // That execution is the last that had happened.
      await page.waitForFunction(() => document.querySelectorAll("#tape li[data-mine]").length === 1);
      await page.goBack();
      await page.goBack();
      await standsAt(page, shown[2].sequence);
      await page.click("#tab-history");
      await page.locator("#panel-history tbody .order-id").last().click();
      await page.click("#order-then");
      await page.waitForFunction(() => location.hash.includes("/time/"));
      await page.waitForSelector("#replay[data-state=still]");

      await page.goto(`${base}/#/trade/${market.symbol}/at/99999999`);
      await page.waitForSelector("#replay[data-state=failed] #replay-said:has-text('the last command is')");
      await page.click("#replay-live");
      await page.waitForSelector("#replay", { state: "hidden" });
      await page.waitForFunction(() => document.querySelector("#tape li"));
    }),
  );

  await step("who looks elsewhere finds the replay again, and another symbol has the same moment", () =>
    visit({}, async (page) => {
      await show(page, `at/${shown[3].sequence}`);
      await page.click("#view-system");
      await page.waitForSelector("#replay", { state: "hidden" });
      await page.click("#view-trade");
      await page.waitForSelector("#replay:visible");
      assert.equal(await command(page), shown[3].sequence);
      await hasBook(page, shown[3]);
      await page.click("#intervals button:has-text('1s')");
      await page.waitForSelector("#candles[data-candles]:not([data-candles='0'])");
      await page.reload();
      await page.waitForSelector("#replay[data-state=still]");
      assert.equal(await command(page), shown[3].sequence, "the address says the moment");
    }),
  );

  await step("it fits every size, and axe finds nothing", async () => {
    for (const colorScheme of /** @type {const} */ (["dark", "light"])) {
      for (const [width, height] of SIZES) {
        await visit({ viewport: { width, height }, colorScheme }, async (page) => {
          await show(page, `at/${shown[5].sequence}`);
          await page.waitForSelector("#candles[data-candles]:not([data-candles='0'])");
          const wide = await page.evaluate(() => document.documentElement.scrollWidth);
          assert.ok(wide <= width, `${wide} at ${width}`);
          for (const id of ["replay-back", "replay-play", "replay-step", "replay-trade", "replay-go", "replay-live"]) {
            const box = await page.locator(`#${id}`).boundingBox();
            assert.ok(box && box.x >= 0 && box.x + box.width <= width && box.y + box.height <= height, `${id} at ${width}: ${JSON.stringify(box)}`);
          }
          await look(page, `replay-${width}-${colorScheme}`);
          if (width === 1366 || width === 360) {
            await page.evaluate(axe);
            const found = await page.evaluate(async () => {
              const { violations } = await /** @type {any} */ (window).axe.run(document, { resultTypes: ["violations"] });
              return violations.map(
                (/** @type {any} */ violation) => `${violation.id}: ${violation.nodes.map((/** @type {any} */ node) => node.target.join(" ")).join(", ")}`,
              );
            });
            assert.deepEqual(found, [], `${width} ${colorScheme}`);
          }
          await page.click("#replay-go");
          await page.waitForSelector("#replay-dialog[open]");
          await look(page, `replay-dialog-${width}-${colorScheme}`);
        });
      }
    }
  });
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
