// Two accounts side by side, as a teacher or a market maker uses them: by pointer and by keys alone, at every size, in both themes. In a real
// browser: PRICETIME_HTTP says where the server is; with an argument only steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { base, browser, go, look, market, out, paint, step, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const SIZES = [
  [1920, 1080],
  [1366, 650],
  [1024, 700],
  [768, 1024],
  [360, 640],
];

/** @param {Page} page @param {string} selector @param {string|RegExp} text */
const shows = (page, selector, text) => page.locator(selector).filter({ hasText: text }).first().waitFor();

/** The second account by its number. @param {Page} page @param {string} account */
async function chooseSecond(page, account) {
  await page.click("#second-chooser .chooser-button");
  await page.fill("#second-chooser input[role=combobox]", account);
  await page.press("#second-chooser input[role=combobox]", "Enter");
  await shows(page, "#second-chooser .chooser-label", account);
}

/** Checks the views of both accounts, beside or beneath each other. @param {Page} page */
async function places(page) {
  const boxOf = async (/** @type {string} */ id) => {
    const box = await page.locator(`#${id}`).boundingBox();
    assert.ok(box, `#${id} is not in view`);
    return box;
  };
  return [await boxOf("account"), await boxOf("account-beside")];
}

/** @param {Page} page */
async function faultsOf(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, { resultTypes: ["violations"] });
    return violations.map(
      (/** @type {any} */ { id, nodes }) =>
        `${id}: ${nodes
          .map((/** @type {any} */ { html }) => html)
          .slice(0, 3)
          .join(" ")}`,
    );
  });
}

try {
  await market.make(9);
  const open = (/** @type {string} */ account) => ask("GET", `/accounts/${account}/orders?symbol=${market.symbol}`);

  await step("two accounts have their balances, positions, orders and executions beside each other, and either sends", () =>
    visit({}, async (page) => {
      await page.click("#beside-open");
      await page.waitForSelector("#second-chooser .chooser-popover", { state: "visible" });
      await page.keyboard.press("Escape");
      await chooseSecond(page, market.maker);
      await shows(page, "#account-sum", `Account ${market.trader}`);
      await shows(page, "#account-sum-text", /^50,000 dollars · 500 /);
      await shows(page, "#account-sum-text-beside", /held · [\d,]+ T\w+, [\d,]+ held/);
      const [first, second] = await places(page);
      assert.ok(first.x + first.width <= second.x + 1 && Math.abs(first.y - second.y) < 2, "they stand side by side");
      assert.ok(Math.abs(first.width - second.width) <= 2, "and have equal room");
      // Ten orders of the maker, none of the trader.
      await page.waitForFunction(
        () => document.querySelectorAll("#panel-open-beside tbody tr").length === 10 && document.querySelectorAll("#panel-open tbody tr").length === 0,
      );

      // The first sends: it is the maker's order that is hit.
      await page.click("#ticket-from label:has-text('From') >> nth=0");
      await page.fill("#ticket-limit", "145.05");
      await page.fill("#ticket-shares", "7");
      await page.click("#ticket-submit");
      await shows(page, "#ticket-done", /placed: buy 7/);
      await page.click("#tab-executions");
      await page.click("#tab-executions-beside");
      await shows(page, "#panel-executions tbody", "▲ Buy");
      await shows(page, "#panel-executions-beside tbody", "▼ Sell");
      await shows(page, "#account-sum-text", /507 T/);
      await look(page, "executions");

      // The second sends, with the keys.
      await page.click("#tab-open");
      await page.click("#tab-open-beside");
      await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).blur());
      await page.keyboard.press("y");
      await page.waitForSelector("#account-sum-beside[data-acts]");
      await page.waitForSelector("#account-sum:not([data-acts])");
      await shows(page, "#ticket-available", /^99,|^100,|^\d/);
      const before = (await open(market.maker)).orders.length;
      await page.keyboard.press("b");
      await page.fill("#ticket-limit", "140");
      await page.fill("#ticket-shares", "3");
      await page.keyboard.press("Enter");
      await shows(page, "#ticket-done", /placed: buy 3/);
      assert.equal((await open(market.maker)).orders.length, before + 1);
      assert.equal((await open(market.trader)).orders.length, 0, "the first sent nothing");
      // What waits at its price is marked as one's own, and its cancel is in its own table.
      await page.click("#panel-open-beside tbody tr:first-child .cancel");
      await page.waitForFunction((rows) => document.querySelectorAll("#panel-open-beside tbody tr").length === rows, before);
      await page.fill("#account-filter-beside", "sell");
      await page.waitForFunction(() => [...document.querySelectorAll("#panel-open-beside tbody tr")].every((row) => row.textContent?.includes("Sell")));
    }),
  );

  await step("accounts change places, are remembered, and one may be enough again", () =>
    visit({}, async (page) => {
      await page.click("#beside-open");
      await page.keyboard.press("Escape");
      await page.click("#second-chooser .chooser-button");
      await page.fill("#second-chooser input[role=combobox]", market.trader);
      await page.press("#second-chooser input[role=combobox]", "Enter");
      await shows(page, ".notice[data-kind=fault]", "is the first one already");
      await chooseSecond(page, market.maker);
      await page.click("#second-chooser .chooser-button");
      await page.fill("#second-chooser input[role=combobox]", market.trader);
      await page.press("#second-chooser input[role=combobox]", "Enter");
      await shows(page, "#second-chooser .chooser-label", market.trader);
      await shows(page, "#account-sum-name", market.maker);
      await shows(page, "#account-sum-text-beside", /^48,/);
      await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 10);
      await page.context().addInitScript((account) => localStorage.setItem("pricetime.account", account), market.maker);
      await page.reload();
      await shows(page, "#second-chooser .chooser-label", market.trader);
      await shows(page, "#account-sum-text-beside", /^48,/);
      // It is part of a layout with a name.
      await page.click("#layout-open");
      await page.fill("#layout-name", "both");
      await page.press("#layout-name", "Enter");
      await page.uncheck("#layout-two");
      await page.waitForSelector("#account-beside", { state: "hidden" });
      assert.equal(await page.isVisible("#ticket-from"), false, "there is one that sends");
      await page.click("#layout-list .use:has-text('both')");
      await page.keyboard.press("Escape");
      await shows(page, "#account-sum-text-beside", /^48,/);
      await page.keyboard.press("d");
      await page.waitForSelector("#account-beside", { state: "hidden" });
      assert.equal(await page.isVisible("#account-sum"), false);
    }),
  );

  await step("all of it is done without a pointer", () =>
    visit({}, async (page) => {
      await page.keyboard.press("d");
      await page.waitForSelector("#second-chooser input[role=combobox]:focus");
      await page.keyboard.type(market.maker);
      await page.keyboard.press("Enter");
      await shows(page, "#account-sum-text-beside", "dollars");
      await page.focus("#tab-open-beside");
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("ArrowRight");
      assert.equal(await page.evaluate(() => document.activeElement?.id), "tab-executions-beside");
      await page.waitForSelector("#panel-executions-beside", { state: "visible" });
      assert.equal(await page.isVisible("#panel-open"), true, "the first one's tab stays");
      await page.focus("#ticket-from input >> nth=0");
      await page.keyboard.press("ArrowRight");
      await page.waitForSelector("#account-sum-beside[data-acts]");
    }),
  );

  await step("an account that the server does not tell of says so in its panel, and sends nothing", () =>
    visit({}, async (page) => {
      await page.evaluate(() =>
        localStorage.setItem(
          "pricetime.layout",
          JSON.stringify({ look: { density: "standard", hidden: ["watch"], sizes: {}, two: true, beside: "999999" }, saved: [] }),
        ),
      );
      await page.reload();
      await shows(page, "#account-sum-text-beside", /[Uu]nknown account|no such account/);
      await page.keyboard.press("y");
      await page.keyboard.press("b");
      await page.fill("#ticket-limit", "1");
      await page.fill("#ticket-shares", "1");
      await page.press("#ticket-shares", "Enter");
      await shows(page, "#ticket", /Unknown account/);
    }),
  );

  for (const [width, height] of SIZES) {
    await step(`${width} × ${height}: both accounts are in view, nothing sticks out, and axe finds nothing`, () =>
      visit({ viewport: { width, height } }, async (page) => {
        await page.evaluate(
          (account) =>
            localStorage.setItem(
              "pricetime.layout",
              JSON.stringify({ look: { density: "standard", hidden: ["watch"], sizes: {}, two: true, beside: account }, saved: [] }),
            ),
          market.maker,
        );
        await page.reload();
        await page.waitForSelector("body[data-connection=open][data-market=chosen]");
        await go(page, "account");
        await page.waitForFunction(() => document.querySelectorAll("#panel-open-beside tbody tr").length === 10);
        const [first, second] = await places(page);
        if (width > 960) assert.ok(first.x + first.width <= second.x + 1, "side by side");
        else assert.ok(first.y + first.height <= second.y + 1 && Math.abs(first.width - second.width) < 2, "stacked");
        assert.ok(first.height >= 190 && second.height >= 190, `${first.height} and ${second.height} pixels high`);
        const wide = await page.evaluate(() =>
          [...document.querySelectorAll("#account, #account-beside")].flatMap((panel) =>
            [...panel.querySelectorAll("button, input")]
              .filter((element) => element.checkVisibility() && !element.closest(".table-body"))
              .filter(
                (element) =>
                  element.getBoundingClientRect().right > panel.getBoundingClientRect().right + 0.5 ||
                  element.getBoundingClientRect().left < panel.getBoundingClientRect().left - 0.5,
              )
              .map((element) => element.outerHTML.slice(0, 80)),
          ),
        );
        assert.deepEqual(wide, []);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth), false);
        // Where there is some room, the most important columns need no scrolling.
        const scrolls =
          first.width < 500
            ? []
            : await page.evaluate(() =>
                ["#panel-open", "#panel-open-beside"].filter((each) => {
                  const panel = document.querySelector(each);
                  return panel !== null && panel.scrollWidth > panel.clientWidth + 1;
                }),
              );
        assert.deepEqual(scrolls, []);
        for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
          await paint(page, colorScheme);
          assert.deepEqual(await faultsOf(page), [], colorScheme);
          await look(page, `pair-${width}x${height}-${colorScheme}`);
        }
        await go(page, "ticket");
        await page.locator("#ticket-from").scrollIntoViewIfNeeded();
        await look(page, `pair-ticket-${width}x${height}`);
      }),
    );
  }
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}, of ${base}`);
