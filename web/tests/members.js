// The page of a server that knows its members, in a real browser: PRICETIME_HTTP, MEMBER, PASSWORD, ACCOUNT and SYMBOL say which.
// Somebody signs in, trades, signs out; pages of others get nothing by it. Screenshots go to $OUT.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Complaints } from "./complaints.js";
import { launch, look } from "./launch.js";

/** @import { BrowserContext, Page } from "playwright-core" */

const {
  PRICETIME_HTTP: base = "",
  MEMBER: member = "",
  PASSWORD: password = "",
  ACCOUNT: account = "",
  SYMBOL: symbol = "",
  OPERATOR: operator = "",
} = process.env;

const sizes = { desk: { width: 1366, height: 650 }, phone: { width: 375, height: 667 } };

/** The dialog of a page that began without a member: that of a page which is left just now may be open, too. */
const signed_out = "body:has(#sign-out[hidden]) #login[open]";

/** @param {Page} page @param {string} secret @param {string} who */
async function tryToSignIn(page, secret, who) {
  await page.waitForSelector(signed_out);
  await page.fill("#login-member", who);
  await page.fill("#login-password", secret);
  await page.click("#login-form [type=submit]");
}

/** Gives the page as the one who signed in has it: until it is loaded again, another address would be lost. @param {Page} page @param {string} [who] */
async function signIn(page, who = member) {
  await tryToSignIn(page, password, who);
  await page.waitForSelector(`#sign-out[aria-label="Sign out ${who}"]`, { state: "attached" });
}

/** @param {Page} page */
const account_shown = (page) => page.waitForFunction((id) => document.querySelector("#account-chooser")?.textContent?.includes(id), account);

/** @param {BrowserContext} context @param {keyof typeof sizes} size */
async function visit(context, size) {
  const page = await context.newPage();
  const complaints = new Complaints();
  complaints.listen(page);
  await page.goto(`${base}/#/trade/${symbol}`);
  await page.waitForSelector("#login[open]");
  await page.keyboard.press("Escape");
  await page.keyboard.press("Escape");
  // Only signing in closes it: the browser itself closes it at the second Escape, and the page opens it once it hears of that.
  await page.waitForSelector("#login[open]");
  await look(page, `${size}-signed-out`);
  await tryToSignIn(page, "wrong", member);
  await page.waitForFunction(() => document.querySelector("#login-form [data-fault=form]")?.textContent === "Member or password is wrong");
  await look(page, `${size}-wrong`);
  await signIn(page);
  await page.waitForFunction(() => document.body?.dataset.connection === "open");
  await account_shown(page);
  assert.ok(!(await page.isVisible("#create-open")), "a trader creates nothing");
  await look(page, `${size}-signed-in`);
  const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie }));
  const cookies = await context.cookies(base);
  const port = new URL(base).port;
  const names = [`pricetime-device-${port}`, `pricetime-session-${port}`];
  assert.deepEqual(cookies.map((cookie) => cookie.name).sort(), names);
  assert.ok(kept.includes('"cookie":""') && !kept.includes(password), kept);
  for (const { httpOnly, sameSite, value } of cookies) assert.ok(httpOnly && sameSite === "Strict" && !kept.includes(value), kept);
  const [cookie] = cookies.filter((cookie) => cookie.name === names[1]);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");

  if (size === "phone") await page.click("nav.sections [data-section=ticket]");
  await page.fill("#ticket-limit", "7");
  await page.fill("#ticket-shares", "1");
  await page.click("#ticket-submit");
  await page.waitForFunction(() => document.querySelector("#ticket-done")?.textContent !== "");
  // Beside its own account it gets no other one.
  if (size === "desk") {
    await page.click("#beside-open");
    await page.waitForFunction(
      (own) => [...document.querySelectorAll("#second-chooser-list [data-id]")].map((each) => each.getAttribute("data-id")).join() === own,
      account,
    );
    await page.fill("#second-chooser input[role=combobox]", "2");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".notice[data-kind=fault]");
    assert.equal(await page.innerText("#second-chooser .chooser-label"), "No account");
    await page.click("#beside-open");
  }
  assert.deepEqual(complaints.heard, []);
  return { page, cookie };
}

/** @param {Page} page @param {string} text */
const venue = (page, text) => page.waitForFunction((said) => document.querySelector("#venue-text")?.textContent === said, text);

/** A trader looks at the system view, and then an operator stops everything. @param {Page} page @param {keyof typeof sizes} size */
async function stopEverything(page, size) {
  await page.goto(`${base}/#/system`);
  await venue(page, "Nothing is killed");
  assert.ok(!(await page.isVisible("#kill-everything")), "a trader kills nothing but its own");
  await page.click("#sign-out");
  await signIn(page, operator);
  await page.waitForSelector("#kill-everything", { state: "visible" });
  await venue(page, "Nothing is killed");
  await look(page, `${size}-venue`);
  await page.click("#kill-everything");
  await page.waitForSelector("#kill[open]");
  await look(page, `${size}-kill`);
  await page.click("#kill-not");
  await venue(page, "Nothing is killed");
  await page.click("#kill-everything");
  await page.click("#kill-sure");
  await venue(page, "Everything is killed: no orders are taken");
  assert.equal(await page.textContent("#kill-everything"), "Release everything");
  await look(page, `${size}-killed`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
  const order = { account, symbol, side: "buy", shares: "1", limit: "5" };
  const told = await page.evaluate(
    async (asked) =>
      (await (await fetch("/api/v1/orders", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(asked) })).json()).code,
    order,
  );
  assert.equal(told, "killed");
  await page.click("#kill-everything");
  await venue(page, "Nothing is killed");
  const put = (/** @type {string} */ path, /** @type {object} */ body) =>
    page.evaluate(
      async ([where, what]) => (await fetch(`/api/v1${where}`, { method: "PUT", headers: { "content-type": "application/json" }, body: what })).status,
      /** @type {const} */ ([path, JSON.stringify(body)]),
    );
  assert.deepEqual([await put(`/symbols/${symbol}/kill`, { killed: true }), await put("/mode", { mode: "read-only" })], [200, 200]);
  await venue(page, `Mode: read-only · Killed: symbol ${symbol}`);
  await look(page, `${size}-read-only`);
  assert.deepEqual([await put(`/symbols/${symbol}/kill`, { killed: false }), await put("/mode", { mode: "normal" })], [200, 200]);
  await page.click("#sign-out");
  await page.waitForSelector(signed_out);
}

/** A user follows a link to a replay, and has to sign in first. @param {BrowserContext} context @param {keyof typeof sizes} size */
async function followToReplay(context, size) {
  const page = await context.newPage();
  const complaints = new Complaints();
  complaints.listen(page);
  await page.goto(`${base}/#/trade/${symbol}/at/6`);
  await signIn(page);
  await page.waitForSelector("#replay[data-state=still]:has-text('command 6')");
  await page.waitForSelector("#ladder-bids .level-price:has-text('10.00')", { state: "attached" });
  await account_shown(page);
  await look(page, `${size}-replay`);
  assert.deepEqual(complaints.heard, []);
  await page.click("#sign-out");
  await page.waitForSelector(signed_out);
  await page.close();
}

/** A member sees its own part of the venue, and an operator changes the venue. @param {Page} page @param {keyof typeof sizes} size */
async function runTheVenue(page, size) {
  const notice = (/** @type {string} */ text) => page.waitForSelector(`.notice:has-text("${text}")`);
  const twice = async (/** @type {string} */ selector) => {
    await page.click(selector);
    await page.click(selector);
  };
  await page.goto(`${base}/#/venue`);
  await page.waitForSelector(`#control-account-text:has-text("Account ${account}")`);
  assert.match(await page.innerText("#control-who"), new RegExp(`${member}: trader; accounts ${account}`));
  assert.deepEqual(
    [await page.isVisible("#control-members-panel"), await page.isVisible("#control-limits-set"), await page.locator("#control-symbols button").count()],
    [false, false, 0],
  );
  await page.fill("#control-account-id", "2");
  await page.press("#control-account-id", "Enter");
  await page.waitForSelector("#control-account-fault:not(:empty)");
  await look(page, `${size}-own-venue`);
  // Of what was asked for it sees its own.
  const whose = () => page.locator("#control-audit tbody td:nth-child(3)").allInnerTexts();
  await page.waitForSelector("#control-audit tbody tr");
  assert.deepEqual([[...new Set(await whose())], await page.isVisible("#control-audit-member")], [[member], false]);
  await page.click("#sign-out");
  await signIn(page, operator);

  const row = `#control-symbols [data-key="${symbol}"]`;
  await page.click(`${row} [data-do=Halt]`);
  await page.click(`${row} [data-do=Halt]`);
  await page.waitForSelector(`${row}:has-text("Halted")`);
  await page.click(`${row} [data-do=Open]`);
  await page.waitForSelector(`${row} [data-do=Open][aria-pressed=true]`);
  await twice(`${row} [data-do=Kill]`);
  await page.waitForSelector(`${row}:has-text("Killed")`);
  await page.click(`${row} [data-do=Release]`);
  await page.waitForSelector(`${row} [data-do=Kill]`);

  // An operator sees what anybody asked for, what it did just now first.
  await page.fill("#control-audit-member", operator);
  await page.press("#control-audit-member", "Enter");
  await page.waitForSelector(`#control-audit tbody tr:first-child:has-text("release symbol ${symbol}")`);
  assert.deepEqual([...new Set(await whose())], [operator]);
  await page.fill("#control-audit-member", member);
  await page.fill("#control-audit-account", account);
  await page.press("#control-audit-account", "Enter");
  await page.waitForSelector(`#control-audit tbody tr:first-child:has-text("order of account ${account}: buy")`);
  await look(page, `${size}-audit`);
  await page.fill("#control-audit-account", "x");
  await page.press("#control-audit-account", "Enter");
  await page.waitForSelector("#control-audit .fault:not(:empty)");

  await page.fill("#control-account-id", account);
  await page.press("#control-account-id", "Enter");
  await page.waitForSelector("#control-account-text:has-text('dollars free')");
  await page.fill("#control-limit-open_orders", "1.5");
  await page.click("#control-limits-set");
  await page.waitForSelector("#control-limit-open_orders-fault:has-text('whole number')");
  await page.fill("#control-limit-open_orders", "9");
  await page.click("#control-limits-set");
  await notice(`Account ${account} has 1 limit now`);
  await page.fill("#control-limit-open_orders", "");
  await page.click("#control-limits-set");
  await notice(`Account ${account} has no limits now`);

  await page.click(`#control-members [data-key=${member}] [data-do=Watch]`);
  await page.waitForSelector(`#control-activity li:has-text("${account}: order")`);
  await page.fill("#control-add-name", `dora-${size}`);
  await page.click("#control-add [type=submit]");
  await page.waitForSelector("#control-add [data-fault=form]:has-text('one role')");
  await page.check("#control-add-roles input[value=viewer]");
  await page.click("#control-add [type=submit]");
  const dora = `#control-members [data-key=dora-${size}]`;
  await page.click(`${dora} [data-do="New key"]`);
  await page.waitForSelector("#control-secret:has-text('told this once')");
  await look(page, `${size}-operator-venue`);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
  await twice(`${dora} [data-do=Revoke]`);
  await page.waitForSelector(`${dora} [data-do=Revoke]`, { state: "detached" });
  await twice(`${dora} [data-do=Remove]`);
  await page.waitForSelector(dora, { state: "detached" });
  await page.selectOption("#control-mode", "read-only");
  await notice("The venue is read-only now");
  await page.selectOption("#control-mode", "normal");
  await notice("The venue is normal now");
  await page.click("#sign-out");
  await page.waitForSelector(signed_out);
  await signIn(page);
}

/** The desk of somebody who trades says what keeps their orders from being taken, and its button does. @param {() => Promise<BrowserContext>} open @param {keyof typeof sizes} size */
async function sayWhyNot(open, size) {
  const [own, others] = await Promise.all([open(), open()]);
  const [page, boss] = await Promise.all([own.newPage(), others.newPage()]);
  for (const [each, who] of /** @type {const} */ ([
    [page, member],
    [boss, operator],
  ])) {
    await each.goto(`${base}/#/trade/${symbol}`);
    await signIn(each, who);
    await each.waitForFunction(() => document.body?.dataset.connection === "open");
  }
  await account_shown(page);
  if (size === "phone") await page.click("nav.sections [data-section=ticket]");
  const put = async (/** @type {string} */ path, /** @type {object} */ body) => {
    const status = await boss.evaluate(
      async ([where, what]) => (await fetch(`/api/v1${where}`, { method: "PUT", headers: { "content-type": "application/json" }, body: what })).status,
      /** @type {const} */ ([path, JSON.stringify(body)]),
    );
    assert.equal(status, 200, path);
  };
  const [on, off] = [{ killed: true }, { killed: false }];
  /** @type {[path: string, on: object, off: object, strip: string, button: string][]} */
  const all = [
    ["/kill", on, off, "Everything is killed.", "Everything is killed"],
    [`/accounts/${account}/kill`, on, off, `Account ${account} is killed.`, "The account is killed"],
    [`/symbols/${symbol}/kill`, on, off, `${symbol} is killed: it takes no orders.`, `${symbol} is killed`],
    [`/symbols/${symbol}/rules`, { trading: false }, {}, `Trading in ${symbol} is halted.`, "Trading is halted"],
    ["/mode", { mode: "read-only" }, { mode: "normal" }, "The venue is read-only.", "The venue is read-only"],
    ["/mode", { mode: "maintenance" }, { mode: "normal" }, "The venue is in maintenance.", "In maintenance"],
  ];
  for (const [path, stop, go, strip, button] of all) {
    await put(path, stop);
    await page.waitForSelector(`#banner:not([hidden]):has-text("${strip}")`);
    await page.waitForSelector(`#ticket-submit[disabled]:has-text("${button}")`);
    await look(page, `${size}-${button.replaceAll(" ", "-")}`);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "nothing sticks out");
    // A page that is opened only now is told the mode, and nothing else.
    await page.reload();
    await page.waitForSelector(`#banner:not([hidden]):has-text("${strip}")`);
    await page.waitForSelector(`#ticket-submit[disabled]:has-text("${button}")`, { state: "attached" });
    if (size === "phone") await page.click("nav.sections [data-section=ticket]");
    await look(page, `${size}-${button.replaceAll(" ", "-")}-again`);
    // A mode does not stop an operator, who looks at no account here, and all else does.
    if (path !== "/mode" && !path.startsWith("/accounts")) await boss.waitForSelector(`#banner:not([hidden]):has-text("${strip}")`);
    else assert.ok(await boss.isHidden("#banner"), path);
    await put(path, go);
    // It connects by itself, too, and may have done so by the time it is clicked.
    if (await page.isVisible("#banner-retry")) await page.click("#banner-retry", { timeout: 1_000 }).catch(() => {});
    await page.waitForSelector(`#ticket-submit:not([disabled]):has-text("Buy ${symbol}")`);
    await page.waitForSelector("#banner", { state: "hidden" });
  }
  await Promise.all([own.close(), others.close()]);
}

/** An order whose answer is lost by the time its member's session is over is not the next member's to see or to send. @param {BrowserContext} context */
async function leaveAnOrder(context) {
  const page = await context.newPage();
  await page.goto(`${base}/#/trade/${symbol}`);
  await signIn(page);
  await account_shown(page);
  const isTold = () => page.evaluate(() => !document.querySelector("#ticket-unknown")?.hasAttribute("hidden"));
  const kept = () => page.evaluate(() => sessionStorage.getItem("pricetime.sending"));
  await page.route(/\/api\/v1\/orders$/, (route) => route.abort());
  await page.route(/by-client-id/, (route) => route.abort());
  await page.evaluate(() => document.querySelector("nav.sections [data-section=ticket]")?.dispatchEvent(new MouseEvent("click", { bubbles: true })));
  await page.fill("#ticket-limit", "7");
  await page.fill("#ticket-shares", "1");
  await page.click("#ticket-submit");
  await page.waitForSelector("#ticket-submit:has-text('Send again')", { state: "attached" });
  // Whoever comes back finds it.
  await page.reload();
  await page.waitForSelector("#ticket-submit:has-text('Send again')", { state: "attached" });
  assert.deepEqual([await isTold(), JSON.parse((await kept()) ?? "{}").member], [true, member]);
  await context.clearCookies();
  await page.reload();
  await page.waitForSelector(signed_out);
  assert.equal(await isTold(), false);
  await signIn(page, operator);
  await page.waitForFunction(() => document.body?.dataset.connection === "open");
  assert.deepEqual([await isTold(), await page.locator("#ticket-submit:has-text('Send again')").count()], [false, 0]);
  // It is there when its member is back.
  assert.equal(JSON.parse((await kept()) ?? "{}").member, member);
  await page.click("#sign-out");
  await page.waitForSelector(signed_out);
  await page.close();
}

/** Pages of others, also of this machine, which a cookie counts as the same site. @param {BrowserContext} context @param {string} host */
async function foreignPage(context, host) {
  const elsewhere = createServer((_, response) => response.setHeader("content-type", "text/html").end("<p>elsewhere</p>"));
  await new Promise((listening) => elsewhere.listen(0, "127.0.0.1", () => listening(undefined)));
  const address = elsewhere.address();
  assert.ok(address && typeof address === "object");
  const page = await context.newPage();
  await page.goto(`http://${host}:${address.port}/`);
  const got = await page.evaluate(async ([server, id, name]) => {
    const order = JSON.stringify({ account: id, symbol: name, side: "buy", shares: "1", limit: "6" });
    /** @param {RequestInit} options @param {string} path */
    const send = async (path, options) => {
      try {
        const answer = await fetch(`${server}/api/v1${path}`, { credentials: "include", ...options });
        return answer.type === "opaque" ? "opaque" : `read ${answer.status}`;
      } catch {
        return "refused";
      }
    };
    const socket = new WebSocket(`${server.replace("http", "ws")}/ws/v1`);
    const listened = await new Promise((told) => {
      socket.onopen = () => told("open");
      socket.onclose = () => told("closed");
    });
    return [
      listened,
      await send("/orders", { method: "POST", headers: { "content-type": "application/json" }, body: order }),
      await send("/orders", { method: "POST", mode: "no-cors", body: order }),
      await send(`/accounts/${id}/orders`, { method: "DELETE" }),
      await send(`/accounts/${id}`, {}),
      await send("/sessions", { method: "DELETE" }),
    ];
  }, /** @type {const} */ ([base, account, symbol]));
  assert.ok(got[0] === "closed" && got.slice(1).every((one) => one === "refused" || one === "opaque"), JSON.stringify(got));
  await page.close();
  elsewhere.close();
}

const browser = await launch(["--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"]);
try {
  for (const size of /** @type {const} */ (["desk", "phone"])) {
    const open = async () => {
      const context = await browser.newContext({ viewport: sizes[size], isMobile: size === "phone", hasTouch: size === "phone", reducedMotion: "reduce" });
      context.setDefaultTimeout(20_000);
      return context;
    };
    const context = await open();
    await followToReplay(context, size);
    const { page, cookie } = await visit(context, size);
    for (const host of ["127.0.0.1", "localhost"]) await foreignPage(context, host);
    const orders = await page.evaluate(
      async (id) => (await (await fetch(`/api/v1/accounts/${id}/orders`)).json()).orders.map((/** @type {{limit: string}} */ one) => one.limit),
      account,
    );
    assert.ok(orders.includes("7") && !orders.includes("6"), JSON.stringify(orders));
    if (operator) {
      const other = await open();
      await leaveAnOrder(other);
      await other.close();
      await runTheVenue(page, size);
      await stopEverything(page, size);
      await sayWhyNot(open, size);
    } else await page.click("#sign-out");
    await page.waitForSelector(signed_out);
    const stolen = await fetch(`${base}/api/v1/accounts/${account}`, { headers: { cookie: `${cookie.name}=${cookie.value}` } });
    assert.equal(stolen.status, 401, "a session that was signed out is over for whoever has its cookie");
    await context.close();
    console.log(`ok      ${size}`);
  }
} finally {
  await browser.close();
}
