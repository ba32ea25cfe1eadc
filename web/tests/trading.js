// The ticket, the account's tables and the portfolio, in a real browser: PRICETIME_HTTP says where the server is; with an argument only
// steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { browser, eventually, go, look, market, out, step, takeAway, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

const cancelAll = () => ask("DELETE", `/accounts/${market.trader}/orders`);
/** The newest order of the trader. */
const newest = async () => (await ask("GET", `/accounts/${market.trader}/orders?status=all&limit=1`)).orders[0];
const axe = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
/** The faults that axe finds in the page now. @param {Page} page @returns {Promise<string[]>} */
async function barriers(page) {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, { resultTypes: ["violations"] });
    return violations.flatMap((/** @type {any} */ { id, nodes }) =>
      nodes.map((/** @type {any} */ node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 220)}`),
    );
  });
}
/** @param {Page} page */
const send = async (page) => {
  await page.click("#ticket-submit");
  await page.waitForSelector("#ticket-done:not(:empty)");
};

try {
  await market.make(9);

  await step("fees are told before an order is sent, as the server takes them", async () => {
    await ask("PUT", `/symbols/${market.symbol}/fees`, { maker: "0.1", taker: "0.25", account: market.maker });
    await visit({}, async (page) => {
      await page.fill("#ticket-limit", "145.05");
      await page.fill("#ticket-shares", "10");
      await page.waitForSelector(`#ticket-forecast:has-text('10 now at 145.05 on average, 0 rests, fee 0.025 ${market.symbol}')`);
      await send(page);
      const {
        executions: [{ fee }],
      } = await ask("GET", `/accounts/${market.trader}/executions?limit=1`);
      assert.equal(fee, "0.025");
      await page.keyboard.press("Escape");
      await page.keyboard.press("s");
      await page.fill("#ticket-limit", "144.95");
      await page.fill("#ticket-shares", "10");
      await page.waitForSelector("#ticket-forecast:has-text('fee 3.62')");
    });
    await ask("PUT", `/symbols/${market.symbol}/fees`, {});
  });

  await step("an amount is shares, dollars, or per cent of what the account has, typed or drawn", () =>
    visit({}, async (page) => {
      await page.fill("#ticket-limit", "100");
      await page.selectOption("#ticket-unit", "dollars");
      await page.fill("#ticket-shares", "1,000");
      await page.waitForSelector("#ticket-shares-note:has-text('= 10 shares')");
      await send(page);
      assert.equal((await newest()).shares, "10");
      await cancelAll();
      const { balance } = await ask("GET", `/accounts/${market.trader}`);
      await page.selectOption("#ticket-unit", "percent");
      await page.locator("#ticket-slider").fill("40");
      assert.equal(await page.inputValue("#ticket-shares"), "40");
      await send(page);
      assert.equal(Number((await newest()).shares), Math.floor((Number(balance) * 0.4) / 100));
      await cancelAll();
      // A market order asks for dollars, which prices that move do not make too many.
      await page.selectOption("#ticket-kind", "market");
      await page.selectOption("#ticket-unit", "dollars");
      await page.fill("#ticket-shares", "1450.5");
      await page.waitForSelector("#ticket-shares-note:has-text('About 10 shares')");
      await look(page, "dollars");
      await send(page);
      assert.equal((await newest()).executed, "10");
      await page.selectOption("#ticket-unit", "percent");
      await page.fill("#ticket-shares", "101");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-shares-fault:has-text('at most 100')");
    }),
  );

  await step("every kind of order is placed as what it is", () =>
    visit({}, async (page) => {
      await page.click("#ticket-terms > summary");
      /** @type {[fields: Record<string, string>, told: object][]} */
      const kinds = [
        [
          { kind: "post_only_move", limit: "150" },
          { kind: "post_only", status: "open" },
        ],
        [
          { kind: "immediate_or_cancel", limit: "1" },
          { kind: "immediate_or_cancel", status: "canceled" },
        ],
        [
          { kind: "fill_or_kill", limit: "1" },
          { kind: "fill_or_kill", status: "canceled" },
        ],
        [
          { kind: "limit", limit: "100", display: "1" },
          { display: "1", waits: false },
        ],
        [
          { kind: "limit", limit: "100", ends: "until", until: "2100-01-01T00:00:01" },
          { kind: "limit", status: "open" },
        ],
        [{ kind: "limit", limit: "100", "self-trade": "decrement" }, { self_trade: "decrement" }],
        [
          { kind: "market", waits: "stop", trigger: "200" },
          { stop: "200", waits: true },
        ],
        [
          { kind: "limit", limit: "90", waits: "take_profit", trigger: "95" },
          { take_profit: "95", limit: "90", waits: true },
        ],
        [
          { kind: "market", waits: "trail", trigger: "5" },
          { trail: "5", waits: true },
        ],
        [
          { kind: "market", waits: "trail_bips", trigger: "2.5" },
          { trail_bips: 250, waits: true },
        ],
      ];
      for (const [fields, told] of kinds) {
        for (const [name, value] of Object.entries({ kind: "limit", waits: "", ends: "", "self-trade": "allowed", display: "", ...fields })) {
          await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
          const field = page.locator(`#ticket [name="${name}"]`);
          if (!(await field.isVisible())) continue;
          if (["kind", "waits", "ends", "self-trade"].includes(name)) await field.selectOption(value);
          else await field.fill(value);
        }
        await page.fill("#ticket-shares", "2");
        await send(page);
        const order = await newest();
        assert.deepEqual({ ...order, ...told }, order, JSON.stringify(fields));
        await cancelAll();
      }
      await page.selectOption("#ticket-waits", "trail_bips");
      await page.fill("#ticket-trigger", "100");
      await page.fill("#ticket-shares", "1");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-trigger-fault:has-text('0.01 to 99.99 per cent')");
    }),
  );

  await step("orders for an auction wait for the next one, and are shown, amended and gone with the one that there is", () =>
    visit({}, async (page) => {
      const phase = (/** @type {string} */ name) => ask("PUT", `/symbols/${market.symbol}/phase`, { phase: name });
      const option = (/** @type {string} */ kind) => `#ticket-kind option[value=${kind}]`;
      const kinds = ["auction_limit", "auction_market"];
      const offered = (/** @type {string} */ which) =>
        Promise.all(kinds.map((kind) => page.waitForSelector(`${option(kind)}:not([disabled]):has-text("${which} auction")`, { state: "attached" })));
      await offered("next");
      await ask("PUT", `/symbols/${market.symbol}/rules`, { band_up: "10", band_down: "10" });
      await phase("auction");
      await offered("this");
      // What waits for a price is for no auction, and the other way round.
      await page.selectOption("#ticket-kind", "auction_market");
      await page.selectOption("#ticket-waits", "stop");
      assert.equal(await page.inputValue("#ticket-kind"), "market");
      await page.selectOption("#ticket-kind", "auction_market");
      assert.equal(await page.inputValue("#ticket-waits"), "");
      await page.waitForSelector("#ticket-kind-note:has-text('within the price band')");
      assert.equal(await page.isVisible("#ticket-limit"), false);
      await page.fill("#ticket-shares", "4");
      await look(page, "auction-ticket");
      assert.deepEqual(await barriers(page), []);
      await send(page);
      assert.match(await page.locator("#ticket-done").innerText(), /at any price, for one auction/);
      const { order_id, ...order } = await newest();
      assert.deepEqual({ ...order, kind: "auction_market", limit: null, status: "open" }, order);
      // A price that is pressed makes it one with a limit.
      await page.fill("#ticket-shares", "2");
      await page.click("#ladder-bids .level:not([hidden])");
      await page.waitForSelector("#ticket-limit:visible");
      assert.equal(await page.inputValue("#ticket-kind"), "auction_limit");
      await page.fill("#ticket-limit", "120");
      await send(page);
      const limited = await newest();
      assert.deepEqual({ ...limited, kind: "auction_limit", limit: "120", status: "open" }, limited);
      const row = (/** @type {number} */ id) => page.locator(`#panel-open tbody tr:has(button:text-is("${id}"))`);
      await row(order_id).locator("td:has-text('market, for an auction')").waitFor({ state: "attached" });
      await row(limited.order_id).locator("td:has-text('limit, for an auction')").waitFor({ state: "attached" });
      for (const [id, written, told] of /** @type {const} */ ([
        [order_id, "3", { shares: "3", limit: null }],
        [limited.order_id, "5 @ 121", { shares: "5", limit: "121" }],
      ])) {
        await row(id).locator(".edit").click();
        await row(id).locator(".row-edit").fill(written);
        await row(id).locator(".row-edit").press("Enter");
        await page.waitForSelector(`.notice:has-text("Order ${id} has ${told.shares}")`);
        const amended = await ask("GET", `/orders/${id}?account=${market.trader}`);
        assert.deepEqual({ ...amended, ...told }, amended);
      }
      await look(page, "auction-orders");
      await page.setViewportSize({ width: 360, height: 640 });
      await go(page, "ticket");
      await look(page, "auction-ticket-360");
      await go(page, "account");
      await look(page, "auction-orders-360");
      await page.setViewportSize({ width: 1366, height: 650 });
      await phase("open");
      // The chosen kind stays, and the ticket says that such an order waits for the next auction.
      await page.waitForSelector("#ticket-kind-note:has-text('Waits for the next auction')");
      await look(page, "auction-over");
      await page.fill("#ticket-limit", "120");
      await page.fill("#ticket-shares", "1");
      await page.click("#ticket-submit");
      await page.waitForSelector("#ticket-done:has-text('for one auction')");
      const waiting = await newest();
      assert.deepEqual([waiting.status, waiting.delayed], ["open", true]);
      await ask("DELETE", `/orders/${waiting.order_id}?account=${market.trader}`);
      const ended = await ask("GET", `/orders/${limited.order_id}?account=${market.trader}`);
      assert.deepEqual([ended.status, ended.canceled], ["canceled", "5"]);
      assert.equal((await ask("GET", `/orders/${order_id}?account=${market.trader}`)).status, "executed");
      await ask("PUT", `/symbols/${market.symbol}/rules`, {});
    }),
  );

  await step("who wants to be asked before an order is sent is asked, and Escape sends nothing", () =>
    visit({}, async (page) => {
      await page.click("#ticket-terms > summary");
      await page.check("#ticket-confirm");
      const before = (await newest()).order_id;
      await page.fill("#ticket-limit", "100");
      await page.fill("#ticket-shares", "3");
      await page.press("#ticket-shares", "Enter");
      await page.waitForSelector(`#confirm[open]:has-text("Buy 3 ${market.symbol} at 100.00")`);
      assert.equal(await page.evaluate(() => document.activeElement?.id), "confirm-sure");
      await look(page, "confirm");
      await page.keyboard.press("Escape");
      await page.waitForSelector("#confirm", { state: "hidden" });
      assert.equal((await newest()).order_id, before);
      await page.press("#ticket-shares", "Enter");
      await page.waitForSelector("#confirm[open]");
      await page.keyboard.press("Enter");
      await page.waitForSelector("#ticket-done:not(:empty)");
      assert.equal((await newest()).shares, "3");
      await page.reload();
      await page.waitForSelector("body[data-connection=open]");
      assert.equal(await page.isChecked("#ticket-confirm"), true, "it is remembered");
      await cancelAll();
    }),
  );

  await step("a preset is kept under a name and fills the ticket in by its number", () =>
    visit({}, async (page) => {
      await page.selectOption("#ticket-kind", "fill_or_kill");
      await page.selectOption("#ticket-unit", "percent");
      await page.fill("#ticket-shares", "25");
      await page.click("#ticket-terms > summary");
      await page.fill("#ticket-preset-name", "Quarter");
      await page.press("#ticket-preset-name", "Enter");
      await page.waitForSelector("#ticket-presets button:has-text('Quarter')");
      await page.reload();
      await page.waitForSelector("body[data-connection=open][data-market=chosen]");
      await page.keyboard.press("1");
      assert.deepEqual(
        await page.evaluate(() => ["kind", "unit", "shares"].map((name) => /** @type {any} */ (document.querySelector(`#ticket-${name}`)).value)),
        ["fill_or_kill", "percent", "25"],
      );
      await look(page, "preset");
      // A kind that what stands in the ticket leaves no room for, and one that there is not.
      const keep = (/** @type {string} */ kind) =>
        page.evaluate((kind) => {
          const fields = { kind, waits: "", unit: "shares", shares: "2", display: "", "self-trade": "allowed", ends: "" };
          localStorage.setItem("pricetime.presets", JSON.stringify([{ name: "Quarter", fields }]));
        }, kind);
      for (const [kind, taken] of [
        ["post_only_move", "post_only_move"],
        ["gone", "limit"],
      ]) {
        await keep(kind);
        await page.reload();
        await page.waitForSelector("body[data-connection=open][data-market=chosen]");
        await page.selectOption("#ticket-kind", "market");
        await page.selectOption("#ticket-waits", "stop");
        await page.fill("#ticket-trigger", "200");
        await page.waitForFunction(() => document.querySelector("#ticket-kind option[value=post_only_move]")?.hasAttribute("disabled"));
        await page.click("#ticket-presets button");
        assert.deepEqual([await page.inputValue("#ticket-kind"), await page.inputValue("#ticket-waits")], [taken, ""]);
      }
      await page.waitForSelector(".notice:has-text('cannot set here: the kind')");
      await page.click("#ticket-terms > summary");
      await page.click("#ticket-preset-drop");
      await page.waitForSelector("#ticket-presets", { state: "hidden" });
    }),
  );

  await step("tables are sorted by their heads, and filtered by words", () =>
    visit({}, async (page) => {
      for (const [limit, shares] of [
        ["100", "3"],
        ["102", "1"],
        ["101", "20"],
      ])
        await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit, shares });
      const limits = (/** @type {string} */ wanted) =>
        page.waitForFunction(
          (all) => [...document.querySelectorAll("#panel-open tbody td:nth-child(4)")].map((cell) => cell.textContent).join(" ") === all,
          wanted,
        );
      await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 3);
      await limits("101.00 102.00 100.00");
      await page.click("#panel-open th:nth-child(4) button");
      await page.waitForSelector("#panel-open th:nth-child(4)[aria-sort=descending]");
      await limits("102.00 101.00 100.00");
      await page.click("#panel-open th:nth-child(5) button");
      await page.click("#panel-open th:nth-child(5) button");
      await page.waitForSelector("#panel-open th:nth-child(5)[aria-sort=ascending]");
      await limits("102.00 100.00 101.00");
      await page.keyboard.press("f");
      await page.keyboard.type("101");
      await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 1);
      await look(page, "sorted");
      await page.keyboard.type("x");
      await page.waitForSelector("#panel-open .note:has-text('has “101x”')");
      await cancelAll();
    }),
  );

  await step("tables are taken away as CSV", () =>
    visit({}, async (page) => {
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "101", shares: "20" });
      await page.waitForSelector("#panel-open tbody tr");
      await page.fill("#account-filter", "101");
      const csv = async (/** @type {string} */ tab) => (await takeAway(page, "#account-csv", `account-${market.trader}-${tab}.csv`)).trimEnd().split("\r\n");
      const open = await csv("open");
      assert.equal(open[0], "Order,Symbol,Side,Limit,Open,Shares,Executed,Kind,Placed,Until");
      assert.match(open[1], new RegExp(`^\\d+,${market.symbol},buy,101,20,20,0,limit,20[-0-9T:.]+Z,$`));
      await page.fill("#account-filter", "");
      await page.click("#tab-executions");
      const { executions } = await ask("GET", `/accounts/${market.trader}/executions?limit=1000`);
      assert.equal((await csv("executions")).length, executions.length + 1);
      await cancelAll();
    }),
  );

  await step("the portfolio says what shares cost, are worth and brought, and what the account was worth", () =>
    visit({}, async (page) => {
      await page.keyboard.press("p");
      await page.waitForSelector(`#portfolio-table tr[data-key="${market.symbol}"]`);
      const account = await ask("GET", `/accounts/${market.trader}`);
      const { last } = await ask("GET", `/symbols/${market.symbol}`);
      const worth = Number(account.balance) + Number(account.held) + Number(last) * (Number(account.positions[0].shares) + Number(account.positions[0].held));
      await page.waitForFunction((equity) => Math.abs(Number(document.querySelector("#portfolio-figures dd")?.getAttribute("title")) - equity) < 1e-6, worth);
      await page.waitForFunction(() => Number(document.querySelector("#portfolio-curve")?.getAttribute("data-points")) === 97);
      await page.click("#portfolio-spans button:has-text('1h')");
      await page.waitForFunction(() => Number(document.querySelector("#portfolio-curve")?.getAttribute("data-points")) === 61);
      await look(page, "portfolio");
      // What is sold for less than it cost is told as realised.
      const before = await page.locator("#portfolio-figures dd").nth(4).getAttribute("title");
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "sell", limit: "100", shares: "10" });
      await page.waitForFunction((was) => Number(document.querySelectorAll("#portfolio-figures dd")[4]?.getAttribute("title")) < Number(was), before);
    }),
  );

  await step("of the portfolio nothing is shown before all of it is there, and its last price is that of the market's bar", () =>
    visit(
      {},
      async (page) => {
        await page.evaluate((symbol) => {
          /** @type {string[]} */
          const figures = [];
          /** @type {string[]} */
          const lasts = [];
          Object.assign(window, { __figures: figures, __lasts: lasts });
          const digits = (/** @type {Element|null|undefined} */ element) => (element?.textContent ?? "").replace(/[^\d.]/g, "");
          const look = () => {
            const all = document.querySelectorAll("#portfolio-figures dd");
            const row = document.querySelector(`#portfolio-table tr[data-key="${symbol}"]`);
            if (all[0]?.checkVisibility()) figures.push([...all].map((each) => each.textContent).join(" "));
            if (row?.checkVisibility()) lasts.push(`${digits(document.querySelector("#market-last"))} ${digits(row.querySelectorAll("td, th")[3])}`);
            requestAnimationFrame(look);
          };
          look();
        }, market.symbol);
        await page.keyboard.press("p");
        await page.waitForSelector("#portfolio-note:has-text('Loading')");
        await page.waitForSelector("#portfolio-figures dd");
        await page.waitForFunction(() => /** @type {any} */ (window).__figures.length > 20);
        assert.equal(new Set(await page.evaluate(() => /** @type {any} */ (window).__figures)).size, 1, "no figure was there that was none");
        const seen = async () => /** @type {string[]} */ (await page.evaluate(() => /** @type {any} */ (window).__lasts));
        // A busy machine draws few frames: it gets more prices.
        for (let round = 0; round < 40 || (round < 1_000 && new Set(await seen()).size <= 3); round += 1) {
          await market.place("sell", `144.${96 + (round % 4)}`, "1");
          await market.place("buy", `144.${96 + (round % 4)}`, "1");
        }
        const lasts = await seen();
        assert.ok(new Set(lasts).size > 3, `${lasts.length} frames`);
        assert.deepEqual(
          lasts.filter((each) => new Set(each.split(" ")).size > 1),
          [],
        );
      },
      async (page) => {
        for (const [path, ms] of /** @type {const} */ ([
          [/\/executions/, 300],
          [/\/candles/, 600],
        ]))
          await page.route(path, async (route) => {
            await new Promise((then) => setTimeout(then, ms));
            await route.continue();
          });
      },
    ),
  );

  await step("“Cancel all” cancels what is listed and nothing else, and says before how many of what", () =>
    visit({}, async (page) => {
      await cancelAll();
      for (const limit of ["100", "101", "102", "103", "104"])
        await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit, shares: "1" });
      await page.waitForFunction(() => document.querySelectorAll("#panel-open tbody tr").length === 5);
      await page.fill("#account-filter", "101");
      await page.waitForSelector("#cancel-all:has-text('Cancel 1 listed')");
      await page.click("#cancel-all");
      await page.waitForSelector("#cancel-all:has-text('Sure? Cancel 1 of 5 orders with “101”')");
      await look(page, "cancel-listed");
      await page.click("#cancel-all");
      await page.waitForSelector(".notice:has-text('1 order canceled')");
      const { orders } = await ask("GET", `/accounts/${market.trader}/orders?status=open`);
      assert.deepEqual(
        orders.map((/** @type {any} */ { limit }) => limit),
        ["104", "103", "102", "100"],
      );
      await page.fill("#account-filter", "");
      await page.click("#cancel-all");
      await page.waitForSelector("#cancel-all:has-text('Sure? Cancel 4 orders')");
      await page.click("#cancel-all");
      await page.waitForSelector(".notice:has-text('4 orders canceled')");
    }),
  );

  /** The place of the label of an order's line, beside the axis of prices; with `middle` on the line instead. @param {Page} page @param {boolean} [middle] */
  async function labelOf(page, middle = false) {
    const place = await page.locator("#candles").boundingBox();
    assert.ok(place);
    const x = middle ? place.x + place.width / 3 : place.x + place.width - 80;
    for (let y = place.y + 5; y < place.y + place.height; y += 4) {
      await page.mouse.move(x, y);
      if (await page.evaluate(() => document.querySelector("#candles")?.hasAttribute("data-grab"))) return { x, y };
    }
    assert.fail("no label");
  }
  /** Drags the label of the only line by so many pixels, and keeps it in the hand. @param {Page} page @param {number} by */
  async function drag(page, by) {
    const { x, y } = await eventually(page, () => labelOf(page));
    await page.mouse.move(x, y + 2);
    await page.mouse.down();
    await page.mouse.move(x, y + 2 + by, { steps: 4 });
  }
  const lines = (/** @type {Page} */ page, /** @type {number} */ count) =>
    page.waitForFunction((all) => document.querySelector("#candles")?.getAttribute("data-lines") === String(all), count);

  await step("the line of an order is dragged by its label to another price, and Escape leaves it", () =>
    visit({}, async (page) => {
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "144.97", shares: "5" });
      await lines(page, 1);
      const { order_id: first } = await newest();
      await assert.rejects(labelOf(page, true), /no label/, "the line itself is no handle: the chart is dragged there");
      await drag(page, 20);
      await page.waitForSelector(
        `#chart-move-note:has-text("Order ${first} to 144."):has-text("0 now, 5 rest at 144."):has-text("its place in the queue is lost")`,
      );
      await look(page, "dragging");
      await page.keyboard.press("Escape");
      await page.mouse.up();
      assert.equal(await page.textContent("#chart-move-note"), "");
      assert.equal((await newest()).order_id, first);
      await drag(page, 30);
      await page.mouse.up();
      await page.waitForSelector(`.notice:has-text("Order ${first} has 5 ")`);
      const moved = await newest();
      assert.equal(moved.order_id, first, "it keeps its number");
      assert.ok(Number(moved.limit) < 144.97 && moved.shares === "5" && moved.status === "open", JSON.stringify(moved));
      assert.match(moved.limit, /^\d+(\.\d{1,2})?$/, "on the step of prices");
      await lines(page, 1);
      await cancelAll();
    }),
  );

  await step("an order that is dragged to where it executes is asked for, and what the server would refuse is not sent", () =>
    visit({}, async (page) => {
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "144.97", shares: "5" });
      await lines(page, 1);
      const { order_id: first } = await newest();
      const far = async () => {
        const place = await page.locator("#candles").boundingBox();
        assert.ok(place);
        await drag(page, 0);
        await page.mouse.move(place.x + place.width - 80, place.y + 4, { steps: 6 });
      };
      await far();
      await page.waitForSelector("#chart-move-note[data-warns]:has-text('5 now at 145.')");
      await look(page, "dragging-through");
      await page.mouse.up();
      await page.waitForSelector(
        "#confirm[open]:has-text('5 now at 145.'):has-text('It executes at once.'):has-text('lost: behind all orders at its new price')",
      );
      await page.keyboard.press("Escape");
      await page.waitForSelector("#confirm", { state: "hidden" });
      assert.deepEqual([(await newest()).order_id, (await newest()).executed], [first, "0"]);
      await far();
      await page.mouse.up();
      await page.click("#confirm-sure");
      await page.waitForSelector(`.notice:has-text("Order ${first} has 5 ")`);
      assert.deepEqual([(await newest()).order_id, (await newest()).executed], [first, "5"]);
      await lines(page, 0);
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", kind: "post_only", limit: "144.97", shares: "5" });
      await lines(page, 1);
      const { order_id: second } = await newest();
      await far();
      await page.mouse.up();
      await page.waitForSelector(`.notice:has-text("Order ${second} not moved to"):has-text("it is post-only, and would execute at once")`);
      assert.deepEqual([(await newest()).order_id, (await newest()).status], [second, "open"]);
      await page.click("#panel-open .edit");
      await page.locator("#panel-open tbody input").fill("1000 @ 144");
      await page.keyboard.press("Enter");
      await page.waitForSelector(`.notice:has-text("Order ${second} not changed: ")`);
      assert.deepEqual([(await newest()).order_id, (await newest()).status, (await newest()).shares], [second, "open", "5"], "it stays where it is refused");
      await cancelAll();
    }),
  );

  await step("the map of keys has each key, and each leads where it says", () =>
    visit({}, async (page) => {
      for (const [key, focus] of [
        ["o", "tab-open"],
        ["h", "tab-history"],
        ["e", "tab-executions"],
        ["p", "tab-portfolio"],
        ["f", "account-filter"],
      ]) {
        await page.keyboard.press(key);
        await page.waitForFunction((id) => document.activeElement?.id === id, focus);
      }
      await page.keyboard.press("Escape");
      await page.keyboard.press("v");
      await page.waitForSelector("body[data-view=system]");
      await page.keyboard.press("v");
      await page.waitForSelector("body[data-view=trade]");
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "100", shares: "1" });
      await page.keyboard.press("o");
      await page.waitForSelector("#panel-open .cancel");
      await page.keyboard.press("x");
      await page.waitForSelector("#cancel-all:has-text('Sure?')");
      await page.keyboard.press("x");
      await page.waitForSelector("#panel-open .cancel", { state: "detached" });
      await page.keyboard.press("?");
      await page.waitForSelector("#keys-dialog[open]");
      const keys = await page.locator("#keys-map kbd").allInnerTexts();
      for (const key of ["B", "S", "X", "O", "H", "E", "P", "F", "V", "T", "/", "A", "?", "1"]) assert.ok(keys.includes(key), key);
      await look(page, "keys");
    }),
  );

  for (const [width, height] of [
    [1366, 650],
    [375, 667],
  ])
    await step(`axe finds nothing in any view at ${width} × ${height}, in both themes`, async () => {
      await ask("POST", "/orders", { account: market.trader, symbol: market.symbol, side: "buy", limit: "100", shares: "1" });
      for (const colorScheme of /** @type {const} */ (["dark", "light"]))
        await visit({ colorScheme, viewport: { width, height } }, async (page) => {
          /** @type {Record<string, () => Promise<unknown>>} */
          const views = {
            chart: () => go(page, "chart"),
            book: () => go(page, "book"),
            ticket: async () => {
              await go(page, "ticket");
              await page.click("#ticket-terms > summary");
              await page.selectOption("#ticket-waits", "then_both");
              await page.evaluate(() => /** @type {HTMLFormElement} */ (document.querySelector("#ticket")).requestSubmit());
            },
            open: () => go(page, "account"),
            history: () => page.click("#tab-history"),
            executions: () => page.click("#tab-executions"),
            portfolio: () => page.click("#tab-portfolio"),
            balances: () => page.click("#tab-balances"),
            confirm: async () => {
              await page.evaluate(() => /** @type {HTMLDialogElement} */ (document.querySelector("#confirm")).showModal());
            },
            keys: async () => {
              await page.keyboard.press("Escape");
              await page.evaluate(() => /** @type {HTMLElement} */ (document.querySelector("#keys")).click());
            },
            create: async () => {
              await page.keyboard.press("Escape");
              await page.click("#create-open");
              await page.click("#create-account [type=submit]");
            },
            symbols: async () => {
              await page.keyboard.press("Escape");
              await page.keyboard.press("/");
            },
            system: async () => {
              await page.keyboard.press("Escape");
              await page.click("#view-system");
            },
          };
          for (const [view, lead] of Object.entries(views)) {
            await lead();
            await eventually(page, async () => assert.deepEqual({ view, colorScheme, found: await barriers(page) }, { view, colorScheme, found: [] }));
            await look(page, `${width}x${height}-${colorScheme}-${view}`);
          }
        });
      await cancelAll();
    });
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
