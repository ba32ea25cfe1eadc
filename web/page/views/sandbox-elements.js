// The elements of the sandbox's dialog, and what is drawn in them: the state of the traders, their pace, and the table of
// their accounts.

import { find, make, setText } from "../dom.js";
import { count } from "../format.js";

/** @import { Sandbox } from "../types.js" */

/** The deeds of each strategy. */
const DEEDS = /** @type {Record<string, string>} */ ({
  makers: "quote both sides around a price that wanders",
  noise: "take what is offered, on either side",
  momentum: "buy what rises, sell what falls",
  patient: "leave orders of all kinds that rest or wait",
});

/**
 * The elements of the dialog, and those of the page that open it.
 * @typedef {ReturnType<typeof sandboxElements>} SandboxElements
 */

export function sandboxElements() {
  const opener = find("sandbox-open");
  const welcome = /** @type {HTMLButtonElement} */ (find("welcome-sandbox"));
  const offer = find("welcome-offer");
  const close = make("button", { type: "button", class: "quiet icon", "data-close": true, "aria-label": "Close" }, "×");
  const about = make("p", { id: "sandbox-about", role: "status" });
  const strategies = make("fieldset", { class: "sandbox-strategies" }, make("legend", {}, "Traders"));
  const rate = make("input", { id: "sandbox-rate", type: "number", min: "1", max: "1000", step: "1", class: "number", value: "50" });
  const seed = make("input", { id: "sandbox-seed", type: "number", min: "0", max: "2147483647", step: "1", class: "number", value: "1" });
  const fields = make(
    "div",
    { class: "pair" },
    make("div", { class: "field" }, make("label", { for: "sandbox-rate" }, "Orders a second"), rate),
    make("div", { class: "field" }, make("label", { for: "sandbox-seed" }, "Seed"), seed),
  );
  const run = make("button", { id: "sandbox-run", type: "submit", class: "primary" }, "Start");
  const fault = make("p", { class: "fault", role: "alert" });
  const list = make("tbody");
  const form = make("form", { novalidate: true }, about, strategies, fields, make("p", { class: "actions" }, run), fault);
  const dialog = make(
    "dialog",
    { id: "sandbox", class: "dialog sandbox", "aria-labelledby": "sandbox-title" },
    make("header", {}, make("h2", { id: "sandbox-title" }, "Sandbox"), close),
    form,
    make("div", { class: "table-body", tabindex: "0", role: "region", "aria-label": "Accounts" }, accountTable(list)),
  );
  document.body.append(dialog);
  return { opener, welcome, offer, dialog, form, about, strategies, rate, seed, run, fault, list };
}

/** @param {HTMLElement} list */
function accountTable(list) {
  const heads = ["Account", "Name", "Does", ""].map((head) => make("th", { scope: "col" }, head || make("span", { class: "unseen" }, "Look")));
  return make(
    "table",
    { class: "sandbox-accounts" },
    make("caption", { class: "unseen" }, "Accounts of the sandbox"),
    make("thead", {}, make("tr", {}, ...heads)),
    list,
  );
}

/** @param {string} name */
function strategyBox(name) {
  const input = make("input", { type: "checkbox", value: name, checked: true });
  return make("label", { class: "only" }, input, make("span", {}, make("b", {}, name), ` ${DEEDS[name] ?? ""}`));
}

/** @param {Sandbox["accounts"][number]} account @param {() => void} chosen */
function accountRow({ account, name, strategy }, chosen) {
  const look = make(
    "button",
    { type: "button", class: "row-action", "aria-label": `${strategy === null ? "Trade with" : "Look at"} account ${account}` },
    strategy === null ? "Trade" : "Look",
  );
  look.addEventListener("click", chosen);
  return make("tr", {}, make("td", { class: "number" }, account), make("td", {}, name), make("td", {}, strategy ?? "–"), make("td", { class: "action" }, look));
}

/** Whether the traders keep their pace and strategies as they are. @param {Sandbox} sandbox */
export const isLocked = ({ running, stopping }) => running || stopping;

/** @param {Sandbox} sandbox */
export function stateText({ stopping, running, commands, why }) {
  if (stopping) return "The traders cancel their orders…";
  return running ? `The traders trade: ${count(commands)} orders and cancels so far` : (why ?? "No simulated trader trades now");
}

/**
 * @param {SandboxElements} elements
 * @param {Sandbox} sandbox
 * @param {boolean} may whether the user may start traders
 */
export function drawState({ opener, offer, about, run, form }, sandbox, may) {
  const { possible, stopping } = sandbox;
  const locked = isLocked(sandbox);
  opener.hidden = offer.hidden = !may || !possible;
  setText(about, stateText(sandbox));
  setText(run, locked ? "Stop" : "Start");
  run.disabled = stopping || !possible;
  for (const input of form.querySelectorAll("input")) input.disabled = locked;
}

/**
 * @param {SandboxElements} elements
 * @param {Sandbox} sandbox
 * @param {(account: string) => void} look is called with the account of a row
 */
export function fillLists({ strategies, list }, { accounts }, look) {
  for (const name of new Set(accounts.flatMap(({ strategy }) => strategy ?? []))) strategies.append(strategyBox(name));
  list.append(...accounts.map((each) => accountRow(each, () => look(each.account))));
}

/** @param {SandboxElements} elements @param {Sandbox} sandbox */
export function fillFields({ rate, seed, strategies }, sandbox) {
  rate.value = String(sandbox.rate);
  seed.value = String(sandbox.seed);
  for (const input of strategies.querySelectorAll("input")) input.checked = sandbox.strategies.includes(input.value);
}

/** The pace and strategies that the fields ask for. @param {SandboxElements} elements */
export function fieldsOf({ rate, seed, strategies }) {
  const chosen = [...strategies.querySelectorAll("input")].filter((input) => input.checked).map((input) => input.value);
  return { rate: Number(rate.value), seed: Number(seed.value), strategies: chosen };
}
