// The desk of somebody who looks at many symbols: watchlist, alerts, indicators, lines, the layout. In a real browser: PRICETIME_HTTP says
// where the server is; with an argument only steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { browser, eventually, go, in_firefox, look, market, out, paint, step, stepInChromium, visit } from "./visits.js";
import { OwnMarket, ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

const DESK = { viewport: { width: 1600, height: 900 } };
/** Every new thing is looked at in these windows, in both themes. */
const SIZES = [
  [1366, 650],
  [1920, 1080],
  [768, 1024],
  [375, 667],
  [320, 480],
];

/** @param {Page} page @param {string} panel */
const boxOf = async (page, panel) => (await page.locator(`.trade > .${panel}`).boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
/** The elements that stick out of the window at its right edge. @param {Page} page */
const outside = (page) =>
  page.evaluate(() => {
    const visible = [...document.querySelectorAll("button, input, select, summary")].filter(
      (element) => element.checkVisibility() && !element.closest(".tabs, .table-body, .unseen, .skip, .notices"),
    );
    const out = visible
      .filter((element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
      .map((element) => element.outerHTML.slice(0, 90));
    return document.documentElement.scrollWidth > innerWidth ? [...out, "the page"] : out;
  });

try {
  await market.make(5);
  const other = new OwnMarket();
  await other.make(6);

  await step("the watchlist finds symbols, has favourites, and leads to a symbol by pointer and keys", () =>
    visit(DESK, async (page) => {
      await page.fill("#watch-find", market.symbol.slice(0, -1));
      await page.waitForSelector(`#watch-list .watch-symbol[aria-current]:has-text("${market.symbol}")`);
      assert.match(await page.locator(`.watch-symbol:has-text("${market.symbol}") .number`).first().innerText(), /^145\.00$/);
      await page.fill("#watch-find", other.symbol);
      await page.waitForFunction(() => document.querySelectorAll("#watch-list li").length === 1);
      await page.click(`#watch-list .star[aria-label="Favourite ${other.symbol}"]`);
      await page.waitForSelector("#watch-list .star[aria-pressed=true]");
      await page.press("#watch-find", "Enter");
      await page.waitForFunction((symbol) => location.hash === `#/trade/${symbol}`, other.symbol);
      await page.fill("#watch-find", "no-such-symbol");
      await page.waitForSelector("#watch-note:has-text('No symbol')");
      await page.fill("#watch-find", "");
      await page.click("[data-listed=favourites]");
      await page.waitForFunction(() => document.querySelectorAll("#watch-list li").length === 1);
      await page.reload();
      await page.waitForFunction(
        (symbol) => document.querySelector("#watch-list")?.textContent?.includes(symbol) && document.querySelectorAll("#watch-list li").length === 1,
        other.symbol,
      );
      await page.focus("#watch-find");
      await page.keyboard.press("ArrowDown");
      assert.ok(await page.evaluate(() => document.activeElement?.matches(".watch-symbol")), "the arrows walk the list");
      await look(page, "favourites");
    }),
  );

  await step("an alert rings when its price is traded, is heard after the page was used, and is remembered", () =>
    visit(DESK, async (page) => {
      await page.fill("#alert-price", "145");
      await page.press("#alert-price", "Enter");
      await page.waitForSelector("#alert-price-fault:has-text('last price already')");
      await page.fill("#alert-price", "1,5");
      await page.press("#alert-price", "Enter");
      await page.waitForSelector("#alert-price-fault:has-text('no thousands apart')");
      assert.equal(await page.inputValue("#alert-price"), "1,5");
      for (const price of ["145.05", "90"]) {
        await page.fill("#alert-price", price);
        await page.press("#alert-price", "Enter");
      }
      await page.waitForFunction(() => document.querySelectorAll("#alert-list li").length === 2);
      await page.waitForSelector("#candles[data-marks='2']");
      await page.reload();
      await page.waitForFunction(() => document.querySelectorAll("#alert-list li").length === 2);
      await page.waitForSelector("#tape li:not([hidden])");
      await page.click("#watch-title");
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "145.05", shares: "1" });
      await page.waitForSelector(".notice:has-text('reached 145.05')");
      await page.waitForSelector("#alert-list li[data-rang]:has-text('145.05')");
      // Without a sound device Firefox keeps silent.
      if (!in_firefox) assert.equal(await page.getAttribute("#alert-list", "data-heard"), "1");
      await page.click("#alert-sound");
      await page.waitForSelector("#alert-sound[aria-pressed=false]");
      await look(page, "alerts");
      await page.locator("#alert-list button").first().click();
      await page.waitForFunction(() => document.querySelectorAll("#alert-list li").length === 1);
    }),
  );

  await step("panels are resized by pointer and keys, within bounds, and stay so", () =>
    visit(DESK, async (page) => {
      const edge = page.locator("[data-edge=book]");
      const before = await boxOf(page, "book");
      const at = await edge.boundingBox();
      assert.ok(at);
      await page.mouse.move(at.x + at.width / 2, at.y + 200);
      await page.mouse.down();
      await page.mouse.move(at.x + at.width / 2 - 60, at.y + 200, { steps: 4 });
      await page.mouse.up();
      await eventually(page, async () => assert.equal(Math.round((await boxOf(page, "book")).width - before.width), 60));
      await edge.focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Shift+ArrowRight");
      await page.waitForFunction(
        (width) => Number(document.querySelector("[data-edge=book]")?.getAttribute("aria-valuenow")) === width,
        Math.round(before.width),
      );
      await page.keyboard.press("End");
      await page.waitForFunction(
        (width) => Number(document.querySelector("[data-edge=book]")?.getAttribute("aria-valuenow")) > width,
        Math.round(before.width),
      );
      await eventually(page, async () => assert.ok((await boxOf(page, "chart")).width >= 240, "the chart keeps its room"));
      await page.keyboard.press("Home");
      await page.waitForFunction(() => Number(document.querySelector("[data-edge=book]")?.getAttribute("aria-valuenow")) === 190);
      const account = await boxOf(page, "account");
      await page.focus("[data-edge=account]");
      await page.keyboard.press("ArrowUp");
      await eventually(page, async () => assert.equal(Math.round((await boxOf(page, "account")).height - account.height), 10));
      await look(page, "resized");
      await page.reload();
      await page.waitForFunction(() => Number(document.querySelector("[data-edge=book]")?.getAttribute("aria-valuenow")) === 190);
      await edge.focus();
      await page.keyboard.press("Enter");
      await page.waitForFunction(
        (width) => Number(document.querySelector("[data-edge=book]")?.getAttribute("aria-valuenow")) === width,
        Math.round(before.width),
      );
    }),
  );

  await stepInChromium("a finger resizes panels, too", "no moving finger", () =>
    visit({ viewport: { width: 1366, height: 650 }, hasTouch: true }, async (page) => {
      const before = await boxOf(page, "ticket");
      const at = await page.locator("[data-edge=ticket]").boundingBox();
      assert.ok(at);
      const client = await page.context().newCDPSession(page);
      const [x, y] = [at.x + at.width / 2, at.y + 100];
      await client.send("Input.dispatchTouchEvent", { type: "touchStart", touchPoints: [{ x, y }] });
      for (const moved of [10, 25, 40]) await client.send("Input.dispatchTouchEvent", { type: "touchMove", touchPoints: [{ x: x - moved, y }] });
      await client.send("Input.dispatchTouchEvent", { type: "touchEnd", touchPoints: [] });
      await eventually(page, async () => assert.equal(Math.round((await boxOf(page, "ticket")).width - before.width), 40));
    }),
  );

  await step("density and panels are chosen, a layout has a name, and comes back", () =>
    visit(DESK, async (page) => {
      const row = () => page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--row").trim());
      const standard = await row();
      await page.keyboard.press("l");
      await page.check("#layout-density input[value=compact]");
      await page.waitForFunction(() => document.documentElement.dataset.density === "compact");
      assert.notEqual(await row(), standard);
      await page.uncheck("[data-shows=depth]");
      await page.uncheck("[data-shows=watch]");
      await page.fill("#layout-name", "dense");
      await page.press("#layout-name", "Enter");
      await page.waitForSelector("#layout-list .use:has-text('dense')");
      await look(page, "layout-dialog");
      await page.check("[data-shows=watch]");
      // What is chosen as the page is left is remembered, too.
      await page.evaluate(() => {
        /** @type {HTMLElement} */ (document.querySelector("#layout-density input[value=comfortable]")).click();
        location.reload();
      });
      await page.waitForSelector("html[data-density=comfortable] body[data-connection=open]");
      await look(page, "comfortable");
      assert.ok(await page.isVisible(".trade > .watch"));
      await page.click("#layout-open");
      await page.click("#layout-list .use");
      await page.waitForSelector("html[data-density=compact]");
      await page.keyboard.press("Escape");
      assert.deepEqual([await page.isVisible(".trade > .watch"), await page.isVisible(".trade > .depth")], [false, false]);
      assert.equal(
        Math.round((await boxOf(page, "account")).width + (await boxOf(page, "account")).x),
        Math.round((await boxOf(page, "book")).x + (await boxOf(page, "book")).width),
        "what is hidden leaves its place",
      );
      await look(page, "compact");
      await page.keyboard.press("w");
      await page.waitForSelector(".trade > .watch", { state: "visible" });
    }),
  );

  await step("indicators and a logarithmic scale are chosen and remembered", () =>
    visit(DESK, async (page) => {
      await page.click("#studies > summary");
      await page.fill("#studies-averages input.number >> nth=0", "1");
      await page.waitForSelector("#studies-fault:has-text('2 to 400')");
      await page.fill("#studies-averages input.number >> nth=0", "2");
      await page.check("#study-vwap");
      await page.check("#study-profile");
      await page.keyboard.press("Escape");
      assert.equal(await page.evaluate(() => document.activeElement?.matches("#studies > summary")), true);
      await page.click("#chart-log");
      await page.click("#intervals button:has-text('1s')");
      await page.waitForTimeout(1_100);
      await market.trade();
      const there = () =>
        page.waitForFunction(() => {
          const { studies, profile } = /** @type {HTMLElement} */ (document.querySelector("#candles")).dataset;
          return (
            studies === "average 0,vwap" &&
            Number(profile) > 0 &&
            /MA 2 14\d\.\d\d.*VWAP 14\d\.\d\d/.test(document.querySelector("#studies-legend")?.textContent ?? "")
          );
        });
      await there();
      await look(page, "indicators");
      await page.reload();
      await there();
      assert.equal(await page.getAttribute("#chart-log", "aria-pressed"), "true");
    }),
  );

  await step("a line is drawn through two points, a level is typed, and both are the symbol's", () =>
    visit(DESK, async (page) => {
      const drawn = (/** @type {string} */ lines) =>
        page.waitForFunction((wanted) => document.querySelector("#candles")?.getAttribute("data-drawn") === wanted, lines);
      await page.waitForFunction(() => Number(document.querySelector("#candles")?.getAttribute("data-bars")) > 0);
      const chart = await boxOf(page, "chart");
      await page.click("#chart-line");
      await page.mouse.click(chart.x + 150, chart.y + 200);
      await page.waitForSelector("#candles[data-drawing='1']");
      await page.mouse.move(chart.x + 300, chart.y + 260);
      await page.mouse.click(chart.x + 300, chart.y + 260);
      await drawn("1");
      await page.click("#chart-line");
      await page.keyboard.press("Escape");
      assert.equal(await page.getAttribute("#candles", "data-drawing"), null);
      await page.click("#studies > summary");
      await page.fill("#level-price", "abc");
      await page.press("#level-price", "Enter");
      await page.waitForSelector("#level-price-fault:not(:empty)");
      await page.fill("#level-price", "145.02");
      await page.press("#level-price", "Enter");
      await drawn("2");
      await look(page, "lines");
      await page.fill("#level-price", "145.03");
      await page.click("#intervals button:has-text('1h')");
      await drawn("2");
      await page.selectOption("#ticket-waits", "then_both");
      for (const name of ["limit", "trigger", "profit"]) await page.fill(`#ticket-${name}`, "145");
      await page.goto(page.url().replace(market.symbol, other.symbol));
      await drawn("0");
      for (const id of ["level-price", "ticket-limit", "ticket-trigger", "ticket-profit"])
        assert.equal(await page.inputValue(`#${id}`), "", `${id}: a price of another symbol`);
      await page.goBack();
      await drawn("2");
      await page.click("#studies > summary");
      await page.locator("#line-list button").first().click();
      await drawn("1");
    }),
  );

  await step("an auction and a halt show what would execute, and a market operator changes them", () =>
    visit(DESK, async (page) => {
      const phase = (/** @type {string} */ name) => ask("PUT", `/symbols/${other.symbol}/phase`, { phase: name });
      await page.goto(page.url().replace(market.symbol, other.symbol));
      await page.waitForSelector("#banner", { state: "hidden" });
      await phase("auction");
      await page.waitForSelector("#phase[data-phase=auction]:has-text('nothing would execute yet')");
      await other.place("sell", "145", "30");
      await other.place("buy", "145", "50");
      await page.waitForSelector("#phase:has-text('30 would execute at 145.00, 20 more to buy')");
      await page.waitForSelector("#candles[data-marks='1']");
      await look(page, "auction");
      await page.click("#view-venue");
      const row = `#control-symbols [data-key="${other.symbol}"]`;
      await page.waitForSelector(`${row}:has-text("30 would execute at 145.00")`);
      await look(page, "venue");
      await page.click(`${row} [data-do=Open]`);
      await page.waitForSelector(`${row} [data-do=Open][aria-pressed=true]`);
      await page.click(`${row} [data-do=Kill]`);
      await page.waitForSelector(`${row} [data-do=Kill]:has-text("Sure?")`);
      await page.click(`${row} [data-do=Kill]`);
      await page.waitForSelector(`${row} [data-do=Release]`);
      await page.click("#view-trade");
      await page.waitForSelector("#banner:has-text('is killed: it takes no orders')");
      await ask("PUT", `/symbols/${other.symbol}/kill`, { killed: false });
      await page.waitForSelector("#phase", { state: "hidden" });
    }),
  );

  for (const [width, height] of SIZES) {
    await step(`${width} × ${height}: watchlist, indicators, layout and venue have their place, and nothing sticks out`, () =>
      visit({ viewport: { width, height } }, async (page) => {
        const lookTwice = async (/** @type {string} */ name) => {
          assert.deepEqual(await outside(page), [], name);
          for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
            await paint(page, colorScheme);
            await look(page, `${name}-${width}x${height}-${colorScheme}`);
          }
        };
        if (!(await page.isVisible(".trade > .watch")) && width > 760) await page.keyboard.press("w");
        await go(page, "watch");
        await page.waitForSelector("#watch-list li");
        await page.fill("#alert-price", "150");
        await page.press("#alert-price", "Enter");
        await lookTwice("watch");
        await go(page, "chart");
        // Beside a bar that scrolls the panels, where the browser has one.
        const inner = await page.evaluate(() => document.querySelector(".trade")?.clientWidth);
        if (width <= 760) for (const panel of ["chart", "depth"]) assert.equal((await boxOf(page, panel)).width, inner, `the ${panel} has the window's width`);
        await page.click("#studies > summary");
        await page.check("#study-profile");
        await lookTwice("indicators");
        await page.goto(`${page.url().split("#")[0]}#/venue`);
        await page.fill("#control-account-id", market.trader);
        await page.press("#control-account-id", "Enter");
        await page.waitForSelector("#control-account-text:has-text('dollars free')");
        await page.click("#control-account-buttons [data-do=Watch]");
        await lookTwice("venue");
        await page.click("#layout-open");
        await lookTwice("layout");
      }),
    );
  }
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
