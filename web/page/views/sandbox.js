// A market to play in: simulated traders, started and stopped here, and the accounts that they have.

import { Refusal } from "../api.js";
import { find, make, setText } from "../dom.js";
import { count } from "../format.js";

/** @import { Api } from "../api.js" */
/** @import { Sandbox, Session } from "../types.js" */

/** The pause between two requests while the dialog is open. */
const AGAIN_MS = 1_000;

const WHAT = /** @type {Record<string, string>} */ ({
  makers: "quote both sides around a price that wanders",
  noise: "take what is offered, on either side",
  momentum: "buy what rises, sell what falls",
  patient: "leave orders of all kinds that rest or wait",
});

/**
 * @param {{api: Api, choose: (account: string, symbol: string) => void}} parts `choose` shows the market to whoever trades with this account
 */
export function sandboxDialog({ api, choose }) {
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
  const wrong = make("p", { class: "fault", role: "alert" });
  const list = make("tbody");
  const table = make(
    "table",
    { class: "sandbox-accounts" },
    make("caption", { class: "unseen" }, "Accounts of the sandbox"),
    make(
      "thead",
      {},
      make("tr", {}, ...["Account", "Name", "Does", ""].map((head) => make("th", { scope: "col" }, head || make("span", { class: "unseen" }, "Look")))),
    ),
    list,
  );
  const form = make("form", { novalidate: true }, about, strategies, fields, make("p", { class: "actions" }, run), wrong);
  const dialog = make(
    "dialog",
    { id: "sandbox", class: "dialog sandbox", "aria-labelledby": "sandbox-title" },
    make("header", {}, make("h2", { id: "sandbox-title" }, "Sandbox"), close),
    form,
    make("div", { class: "table-body", tabindex: "0", role: "region", "aria-label": "Accounts" }, table),
  );
  document.body.append(dialog);

  const opener = find("sandbox-open");
  const welcome = /** @type {HTMLButtonElement} */ (find("welcome-sandbox"));
  const offer = find("welcome-offer");
  /** @type {Sandbox|null} */
  let standing = null;
  let operator = true;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;

  /** @param {Sandbox} told */
  function draw(told) {
    const first = standing === null;
    standing = told;
    const { possible, why, running, stopping } = told;
    opener.hidden = !operator || !possible;
    offer.hidden = !operator || !possible;
    setText(
      about,
      stopping
        ? "The traders cancel their orders…"
        : running
          ? `The traders trade: ${count(told.commands)} orders and cancels so far`
          : (why ?? "No simulated trader trades now"),
    );
    setText(run, running || stopping ? "Stop" : "Start");
    run.disabled = stopping || !possible;
    const locked = running || stopping;
    for (const input of form.querySelectorAll("input")) input.disabled = locked;
    if (first || locked) {
      if (first) makeLists(told);
      rate.value = String(told.rate);
      seed.value = String(told.seed);
      for (const input of strategies.querySelectorAll("input")) input.checked = told.strategies.includes(input.value);
    }
  }

  /** @param {Sandbox} told */
  function makeLists({ accounts, symbols }) {
    for (const name of new Set(accounts.flatMap(({ strategy }) => strategy ?? []))) {
      const input = make("input", { type: "checkbox", value: name, checked: true });
      strategies.append(make("label", { class: "only" }, input, make("span", {}, make("b", {}, name), ` ${WHAT[name] ?? ""}`)));
    }
    for (const { account, name, strategy } of accounts) {
      const look = make(
        "button",
        { type: "button", class: "row-action", "aria-label": `${strategy === null ? "Trade with" : "Look at"} account ${account}` },
        strategy === null ? "Trade" : "Look",
      );
      look.addEventListener("click", () => {
        dialog.close();
        choose(account, symbols[0]);
      });
      list.append(
        make("tr", {}, make("td", { class: "number" }, account), make("td", {}, name), make("td", {}, strategy ?? "–"), make("td", { class: "action" }, look)),
      );
    }
  }

  async function look() {
    clearTimeout(timer);
    try {
      draw(await api.sandbox());
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      opener.hidden = offer.hidden = true;
      setText(about, error.message);
    }
    clearTimeout(timer);
    if (dialog.open) timer = setTimeout(look, AGAIN_MS);
  }

  /** @param {boolean} running @param {{rate?: number, seed?: number, strategies?: string[]}} [how] */
  async function set(running, how = {}) {
    setText(wrong, "");
    run.disabled = welcome.disabled = true;
    try {
      draw(await api.runSandbox({ running, ...how }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(wrong, error.message);
      run.disabled = false;
    } finally {
      welcome.disabled = false;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (standing?.running) return set(false);
    const chosen = [...strategies.querySelectorAll("input")].filter((input) => input.checked).map((input) => input.value);
    return set(true, { rate: Number(rate.value), seed: Number(seed.value), strategies: chosen });
  });
  welcome.addEventListener("click", async () => {
    await set(true);
    // Where its market is not there yet, the dialog says how it stands.
    if (!standing?.running || !standing.made) return open();
    const {
      accounts: [{ account }],
      symbols: [symbol],
    } = standing;
    choose(account, symbol);
  });
  dialog.addEventListener("close", () => clearTimeout(timer));
  opener.addEventListener("click", open);

  function open() {
    if (!dialog.open) dialog.showModal();
    look();
  }

  return {
    look,
    /** @param {Session|null} session */
    allow(session) {
      operator = session?.members !== true || session.roles.includes("operator");
      look();
    },
  };
}
