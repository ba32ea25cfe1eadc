// The page at many sizes and in many states: the button that sends an order can always be pressed, and nothing sticks out. PRICETIME_HTTP
// says where the server is; with an argument only steps whose names hold it are run. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { browser, eventually, go, look, market, out, step, visit } from "./visits.js";
import { ask } from "./own-market.js";

/** @import { Page } from "playwright-core" */

/** Windows in CSS pixels; those at 200% have half of what the screen has. */
const SIZES = [
  [1920, 1080],
  [1366, 650],
  [1280, 720],
  [1181, 640],
  [1180, 800],
  [1024, 600],
  [800, 600],
  [360, 640],
  [375, 667],
  [667, 375],
  [640, 360],
  [320, 480],
  [480, 320],
  [683, 325],
  [960, 540],
];

/** Whether the button is hit where it stands, as it is or after one scroll to it; and what sticks out. @param {Page} page */
function reach(page) {
  return page.evaluate(() => {
    const button = /** @type {HTMLElement} */ (document.querySelector("#ticket-submit"));
    const hit = () => {
      const { x, y, width, height } = button.getBoundingClientRect();
      // All of it, not only its middle.
      return [
        [0.5, 0.5],
        [0.1, 0.15],
        [0.9, 0.85],
      ].every(([right, down]) => button.contains(document.elementFromPoint(x + width * right, y + height * down)));
    };
    // What the server said is in view before anybody scrolls.
    const said = [...document.querySelectorAll("#ticket [data-fault=form], #ticket-total-fault, #ticket-done, #ticket-unknown-text")].filter(
      (element) => element.textContent && element.checkVisibility(),
    );
    const unseen = said
      .filter((element) => {
        const { x, y, height } = element.getBoundingClientRect();
        return !element.contains(document.elementFromPoint(x + 20, y + height - 5));
      })
      .map((element) => element.textContent);
    const at_once = hit();
    // The page has its own scroll to what the server said, perhaps some frames later: this one waits for it.
    if (!at_once && unseen.length === 0) button.scrollIntoView({ block: "nearest" });
    const outside = [...document.querySelectorAll("button, input, select, a")]
      .filter((element) => element.checkVisibility() && !element.closest(".tabs, .table-body, .unseen, .skip, .notices"))
      .filter((element) => element.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
      .map((element) => element.outerHTML.slice(0, 90));
    return { reached: at_once || hit(), wide: document.documentElement.scrollWidth > innerWidth, outside, unseen };
  });
}

/** States of the ticket, by what leads to them. @type {Record<string, (page: Page) => Promise<unknown>>} */
const STATES = {
  empty: async () => {},
  "with faults": async (page) => page.evaluate(() => /** @type {HTMLFormElement} */ (document.querySelector("#ticket")).requestSubmit()),
  "with others behind": async (page) => {
    await page.selectOption("#ticket-waits", "then_both");
    await page.click("#ticket-terms > summary");
    await page.evaluate(() => /** @type {HTMLFormElement} */ (document.querySelector("#ticket")).requestSubmit());
  },
  refused: async (page) => {
    await page.selectOption("#ticket-waits", "");
    await page.fill("#ticket-limit", "140");
    await page.fill("#ticket-shares", "1,000,000");
    await page.press("#ticket-shares", "Enter");
    await page.waitForFunction(() => /140,000,000/.test(document.querySelector("#ticket-total-fault")?.textContent ?? ""));
  },
  "of unknown outcome": async (page) => {
    await page.route("**/api/v1/orders", (route) => route.abort());
    await page.fill("#ticket-shares", "1");
    await page.press("#ticket-shares", "Enter");
    await page.waitForSelector("#ticket-submit:has-text('Send again')");
    await page.unroute("**/api/v1/orders");
  },
  placed: async (page) => {
    await page.press("#ticket-shares", "Enter");
    await page.waitForSelector("#ticket-done:not(:empty)");
    await page.waitForSelector(".notice, #ticket-done");
    await ask("DELETE", `/accounts/${market.trader}/orders`);
  },
};

try {
  await market.make(7);
  for (const [width, height] of SIZES) {
    await step(`${width} × ${height}: the ticket's button can be pressed in every state`, () =>
      visit({ viewport: { width, height } }, async (page) => {
        for (const section of ["chart", "book", "account", "ticket"]) {
          await go(page, section);
          const { wide, outside } = await reach(page);
          assert.deepEqual([section, wide, outside], [section, false, []]);
        }
        for (const [state, lead] of Object.entries(STATES)) {
          await lead(page);
          await eventually(page, async () =>
            assert.deepEqual({ state, ...(await reach(page)) }, { state, reached: true, wide: false, outside: [], unseen: [] }),
          );
          await look(page, `${width}x${height}-${state.replaceAll(" ", "-")}`);
        }
      }),
    );
  }
} finally {
  await browser.close();
}
console.log(`screenshots in ${out}`);
