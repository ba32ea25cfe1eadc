// A user's actions on the page and the page's answers, in a real browser: PRICETIME_HTTP says where the server is; with an argument
// only steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { base, browser, eventually, look, market, out, step, stepInChromium, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

/** @param {Page} page @param {string} selector */
const text = (page, selector) => page.locator(selector).first().innerText();
const cancelAll = () => ask("DELETE", `/accounts/${market.trader}/orders`);
/** @param {Page} page @param {string} kind @param {string} limit @param {string} shares */
async function fill(page, kind, limit, shares) {
  await page.selectOption("#ticket-kind", kind);
  if (limit) await page.fill("#ticket-limit", limit);
  await page.fill("#ticket-shares", shares);
}

try {
  await market.make(8);

  await step("bar, tape and legend say one price, whatever comes when", () =>
    visit({}, async (page) => {
      // Every frame is looked at while trades come as fast as they are answered.
      await page.evaluate(() => {
        /** @type {string[]} */
        const seen = [];
        Object.assign(window, { __seen: seen });
        const look = () => {
          const digits = (/** @type {string} */ selector) => (document.querySelector(selector)?.textContent ?? "").replace(/[^\d.]/g, "");
          const legend = /C ([\d,.]+)/.exec(document.querySelector("#legend")?.textContent ?? "")?.[1] ?? "";
          seen.push([digits("#market-last"), digits("#tape li .level-price"), legend, /^[\d.,]+/.exec(document.title)?.[0] ?? ""].join(" "));
          requestAnimationFrame(look);
        };
        requestAnimationFrame(look);
      });
      // A busy machine draws few frames: trades come until enough were looked at.
      const enough = () =>
        page.evaluate(() => {
          const { __seen: seen } = /** @type {any} */ (window);
          return seen.length > 20 && new Set(seen).size > 3;
        });
      for (let round = 0; round < 60 || (round < 1000 && !(await enough())); round += 1) {
        const price = `144.${96 + (round % 8 < 4 ? round % 4 : 0)}`;
        await market.place("sell", price, "1");
        await market.place("buy", price, "1");
      }
      const seen = /** @type {string[]} */ (await page.evaluate(() => /** @type {any} */ (window).__seen));
      const differ = seen.filter((each) => new Set(each.split(" ")).size > 1);
      assert.ok(seen.length > 20 && new Set(seen).size > 3, `${seen.length} frames`);
      assert.deepEqual(differ, []);
    }),
  );

  await step("numbers are taken as people write them, and what is none is named beside its field and stays", () =>
    visit({}, async (page) => {
      await fill(page, "limit", ".5", "1,150.5");
      await page.waitForFunction(() => document.querySelector("#ticket-total")?.textContent === "575.25");
      // Typed: what a driver puts into a field is no change of Firefox's.
      await page.press("#ticket-limit", "ControlOrMeta+a");
      await page.keyboard.type("1,5");
      await page.keyboard.press("Tab");
      await page.waitForSelector("#ticket-limit-fault:has-text('no thousands apart; write 1.5 or 15')");
      assert.equal(await page.inputValue("#ticket-limit"), "1,5");
      await page.fill("#ticket-limit", "about 12");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-limit-fault:has-text('“about 12” is not a plain number')");
      assert.equal(await page.inputValue("#ticket-limit"), "about 12");
      await fill(page, "limit", "140.5", "1,000,000");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-total-fault:has-text('140,500,000')");
      await look(page, "refused");
      await fill(page, "limit", ".5", "1");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:has-text('at 0.50')");
      await cancelAll();
    }),
  );

  await step("the arrows step prices and shares", () =>
    visit({}, async (page) => {
      await page.fill("#ticket-limit", "144.9");
      await page.press("#ticket-limit", "ArrowUp");
      assert.equal(await page.inputValue("#ticket-limit"), "144.91");
      await page.press("#ticket-limit", "Shift+ArrowDown");
      assert.equal(await page.inputValue("#ticket-limit"), "144.9");
      await page.press("#ticket-shares", "ArrowUp");
      await page.press("#ticket-shares", "Shift+ArrowUp");
      assert.equal(await page.inputValue("#ticket-shares"), "10");
    }),
  );

  await step("what would happen is told before, and what happened after", () =>
    visit({}, async (page) => {
      await fill(page, "limit", "145.1", "140");
      await page.waitForSelector("#ticket-forecast:has-text('140 now at 145.0571 on average, 0 rests')");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:has-text('Filled 140')");
      assert.match(await text(page, "#ticket-done"), /Filled 140 T\w+ @ 145\.0571, 0\.0429 better than the limit/);
      await page.waitForSelector(".notice:has-text('▲ Buy Filled 140')");
      await page.waitForFunction(() => document.querySelectorAll("#tape li[data-mine]").length === 2);
      await look(page, "filled");
      const covered = await page.evaluate(() => {
        const box = document.querySelector(".notice")?.getBoundingClientRect();
        return [...document.querySelectorAll("button, input, select, a, td")]
          .filter((element) => element.checkVisibility() && !element.closest(".foot"))
          .filter((element) => {
            const own = element.getBoundingClientRect();
            const panel = element.closest(".ticket, .table-body")?.getBoundingClientRect() ?? own;
            return box && Math.min(own.bottom, panel.bottom) > box.top && own.top < box.bottom && own.right > box.left && own.left < box.right;
          })
          .map((element) => element.outerHTML.slice(0, 60));
      });
      assert.deepEqual(covered, [], "a notice covers nothing that is used");
    }),
  );

  await step("a row under the pointer stays, and is what is pressed", () =>
    visit({}, async (page) => {
      const row = page.locator("#ladder-bids .level:not([hidden])").nth(1);
      await row.hover();
      const price = await row.locator(".level-price").innerText();
      await page.waitForSelector("#book-state:has-text('held')");
      // Better bids would push it down.
      for (const limit of ["144.96", "144.97", "144.98"]) await market.place("buy", limit, "5");
      await page.waitForTimeout(200);
      assert.equal(await row.locator(".level-price").innerText(), price);
      await row.click();
      assert.equal(await page.inputValue("#ticket-limit"), String(Number(price)));
      await page.mouse.move(5, 5);
      await page.waitForFunction(() => document.querySelector("#ladder-bids .level-price")?.textContent === "144.98");
    }),
  );

  await step("the book is grouped, shows one side, and sums dollars", () =>
    visit({}, async (page) => {
      await page.selectOption("#book-group", { label: "1" });
      await page.waitForFunction(() => document.querySelectorAll("#ladder-bids .level:not([hidden])").length === 1);
      assert.equal(await text(page, "#ladder-bids .level-price"), "144.00");
      await page.selectOption("#book-unit", "money");
      await page.waitForFunction(() => /^\d{3},\d{3}$/.test(document.querySelector("#ladder-bids .level span:last-child")?.textContent ?? ""));
      await page.click("[data-sides=sell]");
      await page.waitForSelector("#ladder-bids", { state: "hidden" });
      await look(page, "asks");
      await page.click("[data-sides=both]");
      await page.waitForSelector("#ladder-bids .level");
    }),
  );

  await step("a size that is too long for its column of the book is abbreviated, and told in full where it is pointed at", () =>
    visit({}, async (page) => {
      const long = await market.place("buy", "144.99", "123456.1234");
      const row = "#ladder-bids .level[title^='Buy 123,456.1234 at 144.99']";
      await page.waitForSelector(row);
      assert.match(await page.locator(`${row} span`).nth(2).innerText(), /^123(,456|\.4\d*K)/);
      const begins = await page
        .locator("#ladder .level:not([hidden])")
        .evaluateAll((rows) =>
          rows.map((row) => [...row.querySelectorAll("span:not(.bar)")].map((cell) => Math.round(cell.getBoundingClientRect().left)).join()),
        );
      assert.ok(begins.length > 3 && new Set(begins).size === 1, begins.join(" | "));
      await ask("DELETE", `/orders/${long.order_id}?account=${market.maker}`);
      await page.waitForSelector(row, { state: "detached" });
    }),
  );

  await step("after a row's cancel the focus is on the next one's, and “Cancel all” stands where orders are", () =>
    visit({}, async (page) => {
      assert.equal(await page.isVisible("#cancel-all"), false);
      for (const limit of ["100", "101", "102"])
        await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit, shares: "1" });
      await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 3);
      await look(page, "orders");
      for (const left of [2, 1, 0]) {
        await page.locator("#panel-open .cancel").first().focus();
        await page.keyboard.press("Enter");
        await page.waitForFunction((rows) => document.querySelectorAll("#panel-open tbody tr").length === rows, left);
        const focus = await page.evaluate(() => (document.activeElement?.matches(".cancel") ? "next" : document.activeElement?.id));
        assert.equal(focus, left > 0 ? "next" : "panel-open");
      }
      await page.waitForSelector("#cancel-all", { state: "hidden" });
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "100", shares: "1" });
      await page.waitForSelector("#cancel-all", { state: "visible" });
      await page.click("#tab-history");
      await page.waitForSelector("#cancel-all", { state: "hidden" });
      await cancelAll();
    }),
  );

  await step("a server that hangs is told of, and its return at once", async () => {
    let silent = false;
    await visit(
      {},
      async (page) => {
        await page.waitForTimeout(1_500);
        silent = true;
        // How soon, a test of the feed says, whose clock no busy machine delays.
        await page.waitForSelector("#banner:not([hidden]):has-text('does not answer')");
        await look(page, "hung");
        silent = false;
        await page.waitForSelector("#banner", { state: "hidden" });
        assert.equal(await page.getAttribute("body", "data-connection"), "open");
      },
      (page) =>
        page.routeWebSocket(/\/ws\/v1$/, (socket) => {
          const server = socket.connectToServer();
          server.onMessage((message) => {
            if (!silent) socket.send(message);
          });
        }),
    );
  });

  await stepInChromium("the system's colours are followed until others are chosen here", "the system's colours stay", async () => {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      await visit({ colorScheme }, async (page) => {
        assert.equal(await page.getAttribute("html", "data-theme"), colorScheme);
        const other = colorScheme === "light" ? "dark" : "light";
        await page.emulateMedia({ colorScheme: other });
        await page.waitForSelector(`html[data-theme=${other}]`);
        await page.click("#theme");
        await page.emulateMedia({ colorScheme });
        await page.emulateMedia({ colorScheme: other });
        assert.equal(await page.getAttribute("html", "data-theme"), colorScheme, "what was chosen stays");
      });
    }
  });

  await stepInChromium("with forced colours the chosen side is told by its ground", "colours are not forced", () =>
    visit({ forcedColors: "active" }, async (page) => {
      const ground = (/** @type {string} */ side) =>
        page.evaluate((at) => getComputedStyle(/** @type {Element} */ (document.querySelector(`.side-${at} span`))).backgroundColor, side);
      assert.notEqual(await ground("buy"), await ground("sell"));
      await look(page, "forced-colours");
    }),
  );

  await step("dialogs begin at their first field, and what was wrong in them is forgotten", () =>
    visit({}, async (page) => {
      await page.click("#create-open");
      assert.equal(await page.evaluate(() => document.activeElement?.id), "create-account-id");
      await page.click("#create-account [type=submit]");
      await page.waitForSelector("#create-account-id-fault:not(:empty)");
      await page.keyboard.press("Escape");
      assert.equal(await page.evaluate(() => document.activeElement?.id), "create-open", "back to what opened it");
      await page.click("#create-open");
      assert.equal(await page.locator("#create .fault:not(:empty)").count(), 0);
    }),
  );

  await step("one's open orders are lines on the chart, and its spans without trades keep their place", () =>
    visit({}, async (page) => {
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "144.9", shares: "1" });
      await page.waitForTimeout(2_100);
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", kind: "market", shares: "1" });
      await page.click("#intervals button:has-text('1s')");
      await page.waitForFunction(() => Number(document.querySelector("#candles")?.getAttribute("data-lines")) === 1);
      await page.waitForFunction(() => {
        const [candles, bars, fills] = ["candles", "bars", "fills"].map((name) => Number(document.querySelector("#candles")?.getAttribute(`data-${name}`)));
        return candles > 0 && bars > candles && fills > 0;
      });
      await look(page, "lines");
      await cancelAll();
      await page.waitForFunction(() => document.querySelector("#candles")?.getAttribute("data-lines") === "0");
    }),
  );

  await step("the system view begins with what the server remembers, and says why an axis is empty", async () => {
    let heard = 0;
    await visit(
      {},
      async (page) => {
        await page.click("#view-system");
        await eventually(page, async () =>
          assert.ok(Number(await page.getAttribute("#system-charts", "data-seconds")) > heard + 3, `beside ${heard} that the page was told one by one`),
        );
        await look(page, "system");
        const empty = await page.evaluate(() =>
          [...document.querySelectorAll("#system-charts .panel")]
            .filter((panel) => panel.querySelector(".headline.none"))
            .map((panel) => panel.querySelector(".note")?.textContent?.length ?? 0),
        );
        assert.ok(
          empty.every((length) => length > 10),
          `${empty}`,
        );
      },
      (page) =>
        page.routeWebSocket(/\/ws\/v1$/, (socket) => {
          socket.connectToServer().onMessage((message) => {
            if (message.includes('"channel":"status"')) heard += 1;
            socket.send(message);
          });
        }),
    );
  });

  await step("the reference is searched, and its examples can be tried", async () => {
    const page = await browser.newPage();
    await page.goto(`${base}/reference`);
    await page.waitForSelector("#placeOrder");
    const [example] = await page.locator("#getBook pre, article:has-text('/symbols/{symbol}/book') pre").allInnerTexts();
    const url = /'([^']+)'/.exec(example)?.[1] ?? "";
    assert.equal((await fetch(url)).status, 200, example);
    await page.fill("#search", "iceberg nothing-so-called");
    await page.waitForSelector("#found:has-text('0 found')");
    await page.fill("#search", "cancel client_order_id");
    await page.waitForFunction(() =>
      [...document.querySelectorAll("main article:not([hidden])")].every((article) => /cancel/i.test(article.textContent ?? "")),
    );
    assert.ok((await page.locator("main article:not([hidden])").count()) > 0);
    assert.equal(await page.isVisible("#getBook"), false);
    await look(page, "reference-search");
    await page.setViewportSize({ width: 375, height: 667 });
    await page.reload();
    await page.fill("#search", "phase");
    await page.waitForFunction(() => /^[1-9]\d* found$/.test(document.querySelector("#found")?.textContent ?? ""));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out on a telephone");
    await look(page, "reference-phone");
    await page.goto(`${base}/`);
    assert.equal(await page.locator(".foot a[href=reference]").count(), 1);
    await page.close();
  });
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
