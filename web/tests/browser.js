// The page in a real browser against a running server: PRICETIME_HTTP=http://127.0.0.1:8080 node tests/browser.js
//
// Brings its own accounts and symbol, so any server will do; on an empty one the empty state is looked at too. Screenshots go to
// $OUT, or to a temporary folder. Every step waits for a condition; the first that does not come about ends it with 1.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Complaints } from "./complaints.js";
import { in_firefox, launch, look, out, rebound } from "./launch.js";
import { OwnMarket, ask } from "./own-market.js";

/** @import { BrowserContext, Page } from "playwright-core" */
/** @import { SymbolInfo } from "../page/types.js" */

const base = process.env.PRICETIME_HTTP?.replace(/\/$/, "");
if (!base) {
  console.error("PRICETIME_HTTP is not set: the address of a running server, such as http://127.0.0.1:8080");
  process.exit(2);
}

/** All files that opening the page and its system view may transfer, in bytes, headers included. */
const TRANSFER_MAX = 400_000;
/** The least contrast of text to its ground: WCAG 2.2, AA. */
const CONTRAST_MIN = 4.5;

const sizes = {
  desktop: { width: 1440, height: 900 },
  phone: { width: 375, height: 812 },
};

/** @param {string} name @param {() => Promise<unknown>} run */
async function step(name, run) {
  try {
    await run();
    console.log(`ok      ${name}`);
  } catch (error) {
    console.log(`FAILED  ${name}`);
    throw error;
  }
}

/** Lets the test close the page's sockets, as a network would. @param {BrowserContext} context */
async function keepSockets(context) {
  await context.addInitScript(() => {
    const real = window.WebSocket;
    /** @type {WebSocket[]} */
    const all = [];
    Object.assign(window, { __sockets: all });
    window.WebSocket = class extends real {
      /** @param {string | URL} url */
      constructor(url) {
        super(url);
        all.push(this);
      }
    };
  });
}

/** Brings a section into view: a telephone shows one at a time. @param {Page} page @param {boolean} phone @param {string} section */
async function go(page, phone, section) {
  if (phone) await page.click(`nav.sections [data-section=${section}]`);
}

/** @param {Page} page @param {string} selector @param {string} attribute @param {string|null} before */
async function changes(page, selector, attribute, before) {
  await page.waitForFunction(([at, name, old]) => document.querySelector(String(at))?.getAttribute(String(name)) !== old, [selector, attribute, before]);
}

/** @param {Page} page @param {string} selector @param {string} text */
async function shows(page, selector, text) {
  await page.waitForFunction(([at, wanted]) => document.querySelector(at)?.textContent === wanted, [selector, text]);
}

/** Every visible text whose contrast to its ground is too low. @param {Page} page */
function tooFaint(page) {
  return page.evaluate((least) => {
    /** @param {string} text */
    const rgba = (text) => {
      const parts = (text.match(/[\d.]+/g) ?? []).map(Number);
      return { r: parts[0] ?? 0, g: parts[1] ?? 0, b: parts[2] ?? 0, a: parts.length > 3 ? parts[3] : 1 };
    };
    /** @typedef {ReturnType<typeof rgba>} Colour */
    /** @param {Colour} over @param {Colour} under */
    const blend = (over, under) => ({
      r: over.r * over.a + under.r * (1 - over.a),
      g: over.g * over.a + under.g * (1 - over.a),
      b: over.b * over.a + under.b * (1 - over.a),
      a: 1,
    });
    /** @param {Element} element @returns {Colour} */
    const ground = (element) => {
      const own = rgba(getComputedStyle(element).backgroundColor);
      if (own.a === 1) return own;
      return blend(own, element.parentElement ? ground(element.parentElement) : { r: 255, g: 255, b: 255, a: 1 });
    };
    /** @param {Colour} colour */
    const luminance = ({ r, g, b }) => {
      const [red, green, blue] = [r, g, b].map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    /** @type {string[]} */
    const faint = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const element = walker.currentNode.parentElement;
      if (!element || !walker.currentNode.textContent?.trim() || !element.checkVisibility() || element.closest("button:disabled, .unseen, script")) continue;
      const style = getComputedStyle(element);
      const under = ground(element);
      const over = blend(rgba(style.color), under);
      const [light, dark] = [luminance(over), luminance(under)].sort((a, b) => b - a);
      const contrast = (light + 0.05) / (dark + 0.05);
      if (contrast < least)
        faint.push(`${contrast.toFixed(2)}: "${walker.currentNode.textContent.trim().slice(0, 30)}" in ${element.tagName.toLowerCase()}.${element.className}`);
    }
    return [...new Set(faint)];
  }, CONTRAST_MIN);
}

/** Controls without a name that could be read out. @param {Page} page */
function nameless(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("button, input, a, [role=tab], canvas[role=img]")]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const labels = element instanceof HTMLInputElement ? [...(element.labels ?? [])].map((label) => label.textContent).join("") : "";
        return !(element.getAttribute("aria-label") || element.textContent?.trim() || labels.trim());
      })
      .map((element) => element.outerHTML.slice(0, 120)),
  );
}

/** Controls that reach out of the window, beside those in parts that scroll. @param {Page} page */
function outside(page) {
  return page.evaluate(() =>
    [...document.querySelectorAll("button, input, a, h2, output")]
      .filter((element) => element.checkVisibility() && !element.closest(".tabs, .table-body, .unseen, .skip"))
      .filter((element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
      .map((element) => element.outerHTML.slice(0, 120)),
  );
}

/** An exchange without symbols says so, and the first ones are made through the page. @param {BrowserContext} context */
async function emptyExchange(context) {
  const complaints = new Complaints();
  const page = await context.newPage();
  complaints.listen(page);
  await step("empty: says how to make a symbol", async () => {
    await page.goto(`${base}/`);
    await page.waitForSelector("#welcome:not([hidden])");
    assert.match(await page.innerText("#welcome-line"), /<symbol sym="SPY">/);
    await look(page, "empty");
  });
  await step("empty: makes an account and shares through the dialog", async () => {
    await page.click("#welcome-create");
    await page.click("#create-account button[type=submit]");
    await page.waitForSelector("#create-account-id-fault:not(:empty)");
    await page.fill("#create-account-id", "1");
    await page.fill("#create-account-balance", "100000");
    await page.click("#create-account button[type=submit]");
    await page.waitForSelector("#create-account .done:not(:empty)");
    await page.click("#create-account button[type=submit]");
    await page.waitForSelector("#create-account-id-fault:not(:empty)");
    await look(page, "create");
    await page.fill("#create-shares-symbol", "SPY");
    await page.fill("#create-shares-shares", "500");
    await page.click("#create-shares button[type=submit]");
    await page.waitForSelector("#create-shares .done:not(:empty)");
    await page.keyboard.press("Escape");
    await page.waitForSelector("body[data-market=chosen]");
    await page.waitForSelector("#ladder-note:text('No open orders')");
    await look(page, "no-orders");
  });
  assert.deepEqual(complaints.heard, [], "the page complained");
  await page.close();
}

/** @param {BrowserContext} context @param {"desktop"|"phone"} name @param {OwnMarket} market */
async function trade(context, name, market) {
  const phone = name === "phone";
  const complaints = new Complaints();
  const page = await context.newPage();
  complaints.listen(page);
  /** @type {string[]} */
  const foreign = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(String(base))) foreign.push(request.url());
  });

  await step(`${name}: opens on the market, with candles, ladder and tape`, async () => {
    await page.goto(`${base}/#/trade/${market.symbol}`, { waitUntil: "networkidle" });
    await page.waitForSelector("body[data-connection=open][data-market=chosen]");
    await page.waitForFunction(() => Number(document.querySelector("#candles")?.getAttribute("data-candles")) >= 1);
    await page.waitForFunction(() => ["asks", "bids"].every((side) => document.querySelectorAll(`#ladder-${side} button:not([hidden])`).length >= 3));
    await page.waitForFunction(() => document.querySelectorAll("#tape li:not([hidden])").length >= 1);
    assert.deepEqual(foreign, [], "nothing comes from elsewhere");
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
    console.log(`        first paint after ${paint?.toFixed(0)} ms`);
  });

  await step(`${name}: ladder, tape and candles move`, async () => {
    const update = await page.getAttribute("#ladder", "data-update");
    const last = await page.getAttribute("#tape", "data-last");
    const volume = await page.textContent("#legend");
    await market.trade();
    await changes(page, "#ladder", "data-update", update);
    await changes(page, "#tape", "data-last", last);
    await page.waitForFunction((before) => document.querySelector("#legend")?.textContent !== before, volume);
    await shows(page, "#market-last", "145.00");
  });

  await step(`${name}: what stands in ladder and tape is what the server has`, async () => {
    await go(page, phone, "book");
    for (const shares of ["7", "8.5", "9"]) {
      await market.place("sell", "145.01", shares);
      await market.place("buy", "145.01", shares);
    }
    await market.place("buy", "144.9", "1234.5");
    const { trades } = await ask("GET", `/symbols/${market.symbol}/trades?limit=4`);
    const wanted = trades.map((/** @type {any} */ trade) => `${Number(trade.price).toFixed(2)} ${trade.shares}`);
    await page.waitForFunction(
      (all) =>
        all.every((/** @type {string} */ text, /** @type {number} */ at) => {
          const row = document.querySelectorAll("#tape li")[at];
          return `${row?.children[0]?.textContent?.slice(2)} ${row?.children[1]?.textContent}` === text;
        }),
      wanted,
    );
    const book = await ask("GET", `/symbols/${market.symbol}/book?depth=4`);
    for (const [list, levels] of [
      ["bids", book.bids],
      ["asks", book.asks],
    ]) {
      const shown = levels.map(
        (/** @type {[string, string, number]} */ [limit, shares]) => `${Number(limit).toFixed(2)} ${Number(shares).toLocaleString("en-GB")}`,
      );
      await page.waitForFunction(([at, all]) => {
        const rows = [...document.querySelectorAll(`#ladder-${at} .level:not([hidden])`)].map(
          (row) => `${row.children[1].textContent} ${row.children[2].textContent}`,
        );
        if (at === "asks") rows.reverse();
        return all.every((/** @type {string} */ text, /** @type {number} */ place) => rows[place] === text);
      }, /** @type {const} */ ([list, shown]));
    }
    await go(page, phone, "chart");
  });

  await step(`${name}: chooses an account by typing its number`, async () => {
    await page.click("#account-chooser .chooser-button");
    await page.fill("#account-chooser input", market.trader);
    await page.keyboard.press("Enter");
    await shows(page, "#ticket-available", "50,000");
  });

  const placed = await (async () => {
    let id = "";
    await step(`${name}: an order goes through the ticket and rests`, async () => {
      await page.keyboard.press("b");
      await page.fill("#ticket-limit", "144.98");
      await page.fill("#ticket-shares", "10");
      await shows(page, "#ticket-total", "1,449.8");
      await look(page, `${name}-ticket`);
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:not(:empty)");
      id = String(await page.getAttribute("#ticket-done", "data-order"));
      await go(page, phone, "account");
      await page.waitForSelector(`#panel-open tr[data-key="${id}"]`);
      await shows(page, "#ticket-available", "48,550.2");
      await go(page, phone, "book");
      await shows(page, "#ladder-bids .level[data-mine] .level-price", "144.98");
      await look(page, `${name}-book`);
    });
    return id;
  })();

  await step(`${name}: it executes, and the page says so`, async () => {
    await market.place("sell", "144.98", "4");
    await page.waitForSelector(`.notice:has-text("Filled 4 of 10 ${market.symbol} @ 144.98")`);
    await go(page, phone, "account");
    await page.waitForFunction((id) => document.querySelector(`#panel-open tr[data-key="${id}"]`)?.children[4]?.textContent === "6", placed);
    await market.place("sell", "144.9", "6");
    await page.waitForSelector(`#panel-open tr[data-key="${placed}"]`, { state: "detached" });
    await page.click("#tab-history");
    await page.waitForSelector(`#panel-history tr[data-key="${placed}"]:has-text("executed")`);
    await page.click("#tab-executions");
    await page.waitForFunction(() => document.querySelectorAll("#panel-executions tbody tr").length === 2);
    await look(page, `${name}-executions`);
    await page.click("#tab-balances");
    await page.waitForSelector(`#panel-balances tr[data-key="${market.symbol}"]:has-text("510")`);
    await page.click("#tab-open");
  });

  await step(`${name}: a market order says about what it costs, and takes what there is`, async () => {
    await page.keyboard.press("b");
    await page.selectOption("#ticket-kind", "market");
    await page.waitForSelector("#ticket-limit-field", { state: "hidden" });
    await page.fill("#ticket-shares", "1");
    await page.waitForFunction(() => /^[0-9,.]+$/.test(document.querySelector("#ticket-total")?.textContent ?? ""));
    await look(page, `${name}-market-order`);
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-done:has-text('at any price')");
    await page.selectOption("#ticket-kind", "post_only");
    await page.fill("#ticket-limit", "150");
    await page.fill("#ticket-shares", "1");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-limit-fault:has-text('would execute at once')");
    await page.selectOption("#ticket-kind", "limit");
  });

  await step(`${name}: an order waits for a price`, async () => {
    await page.keyboard.press("b");
    await page.selectOption("#ticket-kind", "market");
    await page.selectOption("#ticket-waits", "stop");
    await page.waitForSelector("#ticket-trigger-note:has-text('or above')");
    await page.fill("#ticket-shares", "1");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-trigger-fault:has-text('The price is missing')");
    await page.fill("#ticket-trigger", "9000");
    await look(page, `${name}-stop-order`);
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-done:has-text('waiting for 9,000')");
    const waiting = await page.getAttribute("#ticket-done", "data-order");
    await go(page, phone, "account");
    await page.waitForSelector(`#panel-open tr[data-key="${waiting}"]:has-text("market, stop 9,000")`);
    await page.click(`#panel-open tr[data-key="${waiting}"] .cancel`);
    await page.waitForSelector(`#panel-open tr[data-key="${waiting}"]`, { state: "detached" });
    await go(page, phone, "ticket");
    await page.selectOption("#ticket-waits", "");
    await page.selectOption("#ticket-kind", "limit");
  });

  await step(`${name}: one order cancels the other`, async () => {
    await page.keyboard.press("b");
    await page.selectOption("#ticket-waits", "or_stop");
    await page.waitForSelector("#ticket-trigger-note:has-text('one cancels the other')");
    await page.fill("#ticket-limit", "100");
    await page.fill("#ticket-trigger", "9000");
    await page.fill("#ticket-shares", "1");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-done:has-text('at 100.00, or at any price, waiting for 9,000.00')");
    const first = await page.getAttribute("#ticket-done", "data-order");
    const second = Number(first) + 1;
    await go(page, phone, "account");
    await page.waitForSelector(`#panel-open tr[data-key="${second}"]`);
    await page.click(`#panel-open tr[data-key="${first}"] .cancel`);
    for (const order of [first, second]) await page.waitForSelector(`#panel-open tr[data-key="${order}"]`, { state: "detached" });
    await go(page, phone, "ticket");
    await page.selectOption("#ticket-waits", "");
    await page.selectOption("#ticket-kind", "limit");
  });

  await step(`${name}: others are placed when an order is executed`, async () => {
    await page.keyboard.press("b");
    for (const [waits, field, told] of [
      ["then_profit", "", "then sell at 9,000.00"],
      ["then_both", "50", "then sell at 9,000.00, or at any price, waiting for 50.00"],
    ]) {
      await page.selectOption("#ticket-waits", waits);
      await page.waitForSelector("#ticket-profit-note:has-text('Sells at this price once all of it is executed')");
      await page.waitForSelector("#ticket-trigger-field", { state: field ? "visible" : "hidden" });
      await page.fill("#ticket-limit", "100");
      await page.fill("#ticket-shares", "1");
      await page.fill("#ticket-profit", "");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-profit-fault:has-text('The price is missing')");
      await page.fill("#ticket-profit", "9000");
      if (field) await page.fill("#ticket-trigger", field);
      if (field) await look(page, `${name}-then`);
      await page.click("#ticket-submit");
      await page.waitForSelector(`#ticket-done:has-text('at 100.00, ${told}')`);
      const first = Number(await page.getAttribute("#ticket-done", "data-order"));
      const orders = field ? [first, first + 1, first + 2] : [first, first + 1];
      await go(page, phone, "account");
      for (const order of orders) await page.waitForSelector(`#panel-open tr[data-key="${order}"]`);
      await page.click(`#panel-open tr[data-key="${first}"] .cancel`);
      for (const order of orders) await page.waitForSelector(`#panel-open tr[data-key="${order}"]`, { state: "detached" });
      await go(page, phone, "ticket");
    }
    await page.selectOption("#ticket-waits", "");
  });

  const { orders_for_the_day: days } = await ask("GET", "/status");
  if (days)
    await step(`${name}: an order ends with the day`, async () => {
      await page.click("#ticket-terms > summary");
      await page.selectOption("#ticket-ends", "day");
      await page.waitForSelector("#ticket-until", { state: "hidden" });
      await page.fill("#ticket-limit", "100");
      await page.fill("#ticket-shares", "1");
      await look(page, `${name}-day`);
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:has-text(', until ')");
      const id = await page.getAttribute("#ticket-done", "data-order");
      const told = await ask("GET", `/orders/${id}?account=${market.trader}`);
      assert.ok(told.until > told.time && told.until <= told.time + 86_400_000_000);
      await ask("DELETE", `/orders/${id}?account=${market.trader}`);
      await page.selectOption("#ticket-ends", "");
      await page.click("#ticket-terms > summary");
    });

  await step(`${name}: an order ends at a time, and gets other shares and another limit`, async () => {
    await page.keyboard.press("b");
    await page.click("#ticket-terms > summary");
    await page.selectOption("#ticket-ends", "until");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-until-fault:has-text('The time is missing')");
    await page.fill("#ticket-until", "2001-01-01T00:00:01");
    await page.selectOption("#ticket-self-trade", "cancel_oldest");
    await page.fill("#ticket-limit", "120");
    await page.fill("#ticket-shares", "8");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-until-fault:has-text('would end before it is placed')");
    await page.fill("#ticket-until", "2100-02-01T10:20:30");
    await look(page, `${name}-terms`);
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-done:has-text('until 01 Feb 2100 10:20:30')");
    const dated = await page.getAttribute("#ticket-done", "data-order");
    await go(page, phone, "account");
    const row = `#panel-open tr[data-key="${dated}"]`;
    if (!phone) await page.waitForSelector(`${row}:has-text("01 Feb 2100")`);
    const told = await ask("GET", `/orders/${dated}?account=${market.trader}`);
    assert.deepEqual([told.self_trade, told.until % 1_000_000], ["cancel_oldest", 0]);
    await page.click(`${row} .edit`);
    assert.equal(await page.inputValue(`${row} .row-edit`), "8 @ 120");
    await page.fill(`${row} .row-edit`, "100000");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".notice:has-text('not changed')");
    await page.click(`${row} .edit`);
    await page.fill(`${row} .row-edit`, "3 @ 120");
    await look(page, `${name}-reduce`);
    await page.keyboard.press("Enter");
    await page.waitForFunction((id) => document.querySelector(`#panel-open tr[data-key="${id}"]`)?.children[4]?.textContent === "3", dated);
    // By the keyboard alone, with more shares and another limit.
    await page.focus(`${row} .edit`);
    await page.keyboard.press("Enter");
    await page.fill(`${row} .row-edit`, "4 @ nothing");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".notice:has-text('is not a plain number')");
    await page.keyboard.press("Enter");
    await page.fill(`${row} .row-edit`, "4 @ 119.5");
    await page.keyboard.press("Enter");
    await page.waitForFunction((id) => document.querySelector(`#panel-open tr[data-key="${id}"]`)?.children[4]?.textContent === "4", dated);
    const amended = await ask("GET", `/orders/${dated}?account=${market.trader}`);
    assert.deepEqual([amended.shares, amended.limit, amended.self_trade, amended.until], ["4", "119.5", "cancel_oldest", told.until]);
    await page.click(`${row} .cancel`);
    await page.waitForSelector(row, { state: "detached" });
    await go(page, phone, "ticket");
    await page.selectOption("#ticket-ends", "");
    await page.selectOption("#ticket-self-trade", "allowed");
    await page.click("#ticket-terms > summary");
  });

  await step(`${name}: a refusal stands next to what it names`, async () => {
    await page.keyboard.press("b");
    await page.fill("#ticket-limit", "145");
    await page.fill("#ticket-shares", "100000");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-total-fault:has-text('Insufficient funds')");
    await page.fill("#ticket-shares", "");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-shares-fault:has-text('Shares is missing')");
    await page.fill("#ticket-shares", "0.123456789");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-shares-fault:has-text('at most 8')");
    await look(page, `${name}-refusal`);
    await page.keyboard.press("Escape");
  });

  await step(`${name}: a press on a level fills the price, and an order is canceled`, async () => {
    await go(page, phone, "book");
    await page.click("#ladder-bids button:has-text('144.75')");
    assert.equal(await page.inputValue("#ticket-limit"), "144.75");
    await page.fill("#ticket-shares", "3");
    await page.click("#ticket-submit");
    await page.waitForSelector("#ticket-done:not(:empty)");
    const id = await page.getAttribute("#ticket-done", "data-order");
    await go(page, phone, "account");
    await page.click(`#panel-open tr[data-key="${id}"] .cancel`);
    await page.waitForSelector(`.notice:has-text("Order ${id} canceled")`);
    await page.waitForSelector(`#panel-open tr[data-key="${id}"]`, { state: "detached" });
  });

  await step(`${name}: all orders are canceled at once, when pressed twice`, async () => {
    for (const limit of ["100", "101", "102"]) await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit, shares: "1" });
    await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 3);
    await look(page, `${name}-orders`);
    await page.click("#cancel-all");
    await page.waitForSelector("#cancel-all:has-text('Sure? Cancel 3 orders')");
    await page.click("#cancel-all");
    await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 0);
  });

  await step(`${name}: says that the connection is lost, and comes back by itself`, async () => {
    await go(page, phone, "chart");
    complaints.cut_off = true;
    await context.setOffline(true);
    await page.evaluate(() => /** @type {any} */ (window).__sockets.at(-1).close());
    await page.waitForSelector("#banner:not([hidden])");
    await page.waitForSelector("body[data-connection=lost]");
    await look(page, `${name}-disconnected`);
    await market.trade();
    await context.setOffline(false);
    await page.waitForSelector("body[data-connection=open]");
    await page.waitForSelector("#banner", { state: "hidden" });
    complaints.cut_off = false;
    const last = await page.getAttribute("#tape", "data-last");
    await market.trade();
    await changes(page, "#tape", "data-last", last);
  });

  await step(`${name}: every text can be read and every control has a name, in both themes`, async () => {
    for (const theme of ["dark", "light"]) {
      if (theme === "light") await page.click("#theme");
      for (const section of phone ? ["chart", "book", "ticket", "account"] : ["all"]) {
        await go(page, phone, section);
        assert.deepEqual(await tooFaint(page), [], `faint in the ${theme} theme, ${section}`);
        assert.deepEqual(await nameless(page), [], `nameless, ${section}`);
        assert.deepEqual(await outside(page), [], `outside the window, ${section}`);
        await look(page, `${name}-${theme}${phone ? `-${section}` : ""}`);
      }
    }
    await page.reload();
    await page.waitForSelector("html[data-theme=light] body[data-connection=open]");
    assert.match(String(await page.textContent("#account-chooser .chooser-label")), new RegExp(market.trader), "the account is remembered");
    await page.click("#theme");
  });

  if (!phone) {
    await step("desktop: the keys lead where they say", async () => {
      await page.keyboard.press("s");
      assert.equal(await page.isChecked("#ticket [value=sell]"), true);
      await page.keyboard.press("Escape");
      await page.keyboard.press("/");
      await page.waitForSelector("#symbol-chooser .chooser-popover:not([hidden])");
      await page.keyboard.press("Escape");
      await page.waitForSelector("#symbol-chooser .chooser-popover", { state: "hidden" });
      await page.keyboard.press("?");
      await page.waitForSelector("#keys-dialog[open]");
      await page.keyboard.press("Escape");
      await page.waitForSelector("#keys-dialog", { state: "hidden" });
    });
    await step("desktop: an unknown symbol is said to be one", async () => {
      await page.goto(`${base}/#/trade/NOSUCHSYMBOL`);
      await page.waitForSelector("#unknown:not([hidden])");
      await look(page, "desktop-unknown");
    });
  }

  await step(`${name}: the system view has its charts`, async () => {
    await page.click("#view-system");
    await page.waitForFunction(() => document.querySelectorAll("#system-charts canvas").length === 8);
    await page.waitForFunction(() => /\d/.test(document.querySelector("#system-charts .headline")?.textContent ?? ""));
    assert.deepEqual(await outside(page), [], "outside the window");
    assert.deepEqual(await tooFaint(page), []);
    await look(page, `${name}-system`);
  });

  await step(`${name}: a fresh browser transfers little, and the system view's library only when it is looked at`, async () => {
    const fresh = await browser.newContext({ viewport: sizes[name] });
    const other = await fresh.newPage();
    /** @type {Map<string, Promise<number>>} */
    const sizes_of = new Map();
    other.on("requestfinished", (request) => {
      // The answer with the seconds of the status grows with the age of the server.
      if (request.url().includes("/api/")) return;
      const size = request.sizes().then(({ responseBodySize, responseHeadersSize }) => responseBodySize + responseHeadersSize);
      sizes_of.set(request.url(), size);
      // Of one that ends as the browser closes nobody asks; whoever asks of another is told.
      size.catch(() => 0);
    });
    const transferred = async () => (await Promise.all(sizes_of.values())).reduce((all, one) => all + one, 0);
    const library = () => [...sizes_of.keys()].some((url) => url.endsWith("/uPlot.iife.min.js"));

    await other.goto(`${base}/#/trade/${market.symbol}`, { waitUntil: "networkidle" });
    await other.waitForSelector("body[data-connection=open][data-market=chosen]");
    const first = await transferred();
    assert.ok(first > 0);
    assert.equal(library(), false);
    const fetched = other.waitForEvent("requestfinished", (request) => request.url().endsWith("/uPlot.iife.min.js"));
    await other.click("#view-system");
    await fetched;
    const all = await transferred();
    assert.ok(all <= TRANSFER_MAX, `${all} bytes were transferred, not up to ${TRANSFER_MAX}`);
    console.log(`        ${(first / 1000).toFixed(0)} KB to trade, ${(all / 1000).toFixed(0)} KB with the system view`);
    await fresh.close();
  });

  assert.deepEqual(complaints.heard, [], "the page complained");
  await page.close();
}

/** The reference in both themes. @param {"desktop"|"phone"} name */
async function reference(name) {
  const context = await browser.newContext({ viewport: sizes[name], colorScheme: "dark" });
  const page = await context.newPage();
  const complaints = new Complaints();
  complaints.listen(page);
  await step(`${name}: the reference shows every operation and channel, in both themes`, async () => {
    const [described, told] = await Promise.all(["openapi", "asyncapi"].map((file) => ask("GET", `/${file}.json`)));
    await page.goto(`${base}/reference#placeOrder`);
    await page.waitForSelector("#placeOrder");
    const wanted = Object.values(described.paths).flatMap((item) => Object.values(item).map((operation) => `#${operation.operationId}`));
    wanted.push(...Object.keys(told.channels).map((channel) => `#channel-${channel}`));
    assert.ok(wanted.length > 25);
    for (const selector of wanted) assert.equal(await page.locator(selector).count(), 1, selector);
    const broken = await page.evaluate(() =>
      [...document.querySelectorAll('main a[href^="#"]')]
        .map((link) => link.getAttribute("href") ?? "")
        .filter((href) => !document.getElementById(href.slice(1))),
    );
    assert.deepEqual(broken, [], "links that lead nowhere");
    for (const theme of ["dark", "light"]) {
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, "wider than the window");
      assert.deepEqual(await tooFaint(page), []);
      assert.deepEqual(await nameless(page), []);
      await look(page, `${name}-reference-${theme}`);
      await page.click("#theme");
    }
  });
  assert.deepEqual(complaints.heard, [], "the reference complained");
  await context.close();
}

/**
 * Checks that a page of another origin that tries everything a browser allows gets nothing: no effect, no data, no socket.
 * @param {OwnMarket} market
 */
async function foreignPage(market) {
  const elsewhere = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><title>Elsewhere</title><body></body>");
  });
  await new Promise((listening) => elsewhere.listen(0, "127.0.0.1", () => listening(undefined)));
  const address = elsewhere.address();
  assert.ok(address && typeof address === "object");
  const context = await browser.newContext();
  const page = await context.newPage();
  /** @type {string[]} */
  const answers = [];
  /** @type {string[]} */
  const permissions = [];
  page.on("response", (response) => {
    if (!response.url().startsWith(String(base))) return;
    answers.push(`${response.request().method()} ${response.status()}`);
    permissions.push(...Object.keys(response.headers()).filter((name) => name.startsWith("access-control")));
  });
  /** @type {string[]} */
  const withheld = [];
  page.on("requestfailed", (request) => {
    if (request.failure()?.errorText.includes("BLOCKED_BY_RESPONSE")) withheld.push(request.method());
  });
  const order = await market.place("buy", "1", "1");
  const account = `${market.maker}99`;

  await step("a foreign page: writes, reads and sockets are refused, and nothing is done", async () => {
    await page.goto(`http://127.0.0.1:${address.port}/`);
    const tried = await page.evaluate(
      async ([server, made, orderOf, maker]) => {
        /** @type {Record<string, string>} */
        const results = {};
        /** @param {string} name @param {string} path @param {RequestInit} [options] */
        const attempt = async (name, path, options) => {
          results[name] = await fetch(`${server}${path}`, options).then(
            (response) => response.type,
            () => "refused",
          );
        };
        const body = JSON.stringify({ account: made, balance: "1" });
        const json = { "content-type": "application/json" };
        await attempt("text", "/api/v1/accounts", { method: "POST", mode: "no-cors", body });
        await attempt("blob", "/api/v1/accounts", { method: "POST", mode: "no-cors", body: new Blob([body], { type: "application/json" }) });
        await attempt("listen key", "/binance/api/v3/userDataStream", { method: "POST", mode: "no-cors" });
        await attempt("json", "/api/v1/accounts", { method: "POST", headers: json, body });
        await attempt("cancel", `/api/v1/orders/${orderOf}?account=${maker}`, { method: "DELETE" });
        await attempt("read", `/api/v1/accounts/${maker}`);
        await attempt("compatible read", "/binance/api/v3/exchangeInfo");
        for (const path of ["/ws/v1", "/binance/ws", "/binance/stream?streams=", "/binance/ws-api/v3"]) {
          results[path] = await new Promise((ended) => {
            const socket = new WebSocket(`${server.replace("http", "ws")}${path}`);
            socket.onopen = () => ended("opened");
            socket.onerror = () => ended("refused");
          });
        }
        return results;
      },
      /** @type {const} */ ([String(base), account, String(order.order_id), market.maker]),
    );
    // Not even that there was an answer: what we say is for pages of ours (cross-origin-resource-policy).
    for (const [name, result] of Object.entries(tried)) assert.equal(result, "refused", name);
    // Chromium's driver tells that an answer was withheld, Firefox's tells the refusal that was.
    const writes = answers.filter((answer) => answer.startsWith("POST"));
    assert.deepEqual(in_firefox ? writes : withheld, Array(3).fill(in_firefox ? "POST 403" : "POST"));
    if (!in_firefox) assert.deepEqual(writes, [], "no answer to a write gets as far as the page");
    assert.equal(
      answers.some((answer) => answer.startsWith("DELETE")),
      false,
      "the browser asked first and was not allowed",
    );
  });

  await step("a foreign page: a form goes nowhere, and a frame stays empty", async () => {
    const posted = page.waitForResponse((response) => response.request().method() === "POST");
    await page.evaluate(
      ([server, made]) => {
        const form = document.createElement("form");
        const field = document.createElement("input");
        // As text it would read {"account":"…","balance":"1","=":""}.
        Object.assign(form, { method: "post", enctype: "text/plain", action: `${server}/api/v1/accounts` });
        Object.assign(field, { name: `{"account":"${made}","balance":"1","`, value: '":""}' });
        form.append(field);
        document.body.append(form);
        form.submit();
      },
      /** @type {const} */ ([String(base), account]),
    );
    assert.equal((await posted).status(), 403);
    await page.waitForURL(`${base}/api/v1/accounts`);
    assert.match(await page.innerText("body"), /foreign-origin/);
    await page.goto(`http://127.0.0.1:${address.port}/`);
    await page.evaluate((server) => {
      const frame = document.createElement("iframe");
      frame.src = `${server}/`;
      document.body.append(frame);
      return new Promise((loaded) => frame.addEventListener("load", loaded));
    }, String(base));
    const shown = page
      .frames()
      .slice(1)
      .map((frame) => frame.url());
    assert.equal(shown.length, 1);
    assert.match(shown[0], /^(chrome-error:|about:neterror\?e=cspBlocked&)/);
  });

  await step("a foreign page: a name that points here is not this server's", async () => {
    const answer = await page.goto(`http://${rebound}:${new URL(String(base)).port}/`);
    assert.equal(answer?.status(), 403);
    assert.match(await page.innerText("body"), /foreign-host/);
  });

  assert.deepEqual(permissions, [], "no answer says that a foreign page may see it");
  assert.equal((await fetch(`${base}/api/v1/accounts/${account}`)).status, 404, "nothing was made");
  assert.equal((await ask("GET", `/orders/${order.order_id}?account=${market.maker}`)).status, "open", "nothing was canceled");
  await context.close();
  elsewhere.close();
}

const browser = await launch(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]);
try {
  /** @type {{symbols: SymbolInfo[]}} */
  const { symbols } = await ask("GET", "/symbols");
  if (symbols.length === 0) await emptyExchange(await browser.newContext({ viewport: sizes.desktop }));
  let number = 0;
  for (const name of /** @type {const} */ (["desktop", "phone"])) {
    const market = new OwnMarket();
    await market.make(number);
    number += 1;
    const context = await browser.newContext({
      viewport: sizes[name],
      isMobile: name === "phone",
      hasTouch: name === "phone",
      reducedMotion: "reduce",
      colorScheme: "dark",
    });
    context.setDefaultTimeout(20_000);
    await keepSockets(context);
    await trade(context, name, market);
    await context.close();
    if (name === "desktop") await foreignPage(market);
  }
  for (const name of /** @type {const} */ (["desktop", "phone"])) await reference(name);
  console.log(`screenshots in ${out}`);
} finally {
  await browser.close();
}
