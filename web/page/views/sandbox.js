// A market to play in: simulated traders, started and stopped here, and the accounts that they have.

import { Refusal } from "../api.js";
import { find, setText } from "../dom.js";
import { count } from "../format.js";
import { accountRow, sandboxElements, strategyBox } from "./sandbox-elements.js";

/** @import { Api } from "../api.js" */
/** @import { Sandbox, Session } from "../types.js" */

/** The pause between two requests while the dialog is open. */
const AGAIN_MS = 1_000;

/**
 * @param {{api: Api, choose: (account: string, symbol: string) => void}} parts `choose` shows the market to whoever trades with this account
 */
export function sandboxDialog({ api, choose }) {
  const { dialog, form, about, strategies, rate, seed, run, fault, list } = sandboxElements();
  const opener = find("sandbox-open");
  const welcome = /** @type {HTMLButtonElement} */ (find("welcome-sandbox"));
  const offer = find("welcome-offer");
  /** @type {Sandbox|null} */
  let current = null;
  let operator = true;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;

  /** @param {Sandbox} sandbox */
  function draw(sandbox) {
    const first = current === null;
    current = sandbox;
    const { possible, running, stopping } = sandbox;
    opener.hidden = offer.hidden = !operator || !possible;
    setText(about, stateText(sandbox));
    setText(run, running || stopping ? "Stop" : "Start");
    run.disabled = stopping || !possible;
    const locked = running || stopping;
    for (const input of form.querySelectorAll("input")) input.disabled = locked;
    if (!first && !locked) return;
    if (first) makeLists(sandbox);
    rate.value = String(sandbox.rate);
    seed.value = String(sandbox.seed);
    for (const input of strategies.querySelectorAll("input")) input.checked = sandbox.strategies.includes(input.value);
  }

  /** @param {Sandbox} sandbox */
  function makeLists({ accounts, symbols }) {
    for (const name of new Set(accounts.flatMap(({ strategy }) => strategy ?? []))) strategies.append(strategyBox(name));
    list.append(...accounts.map((each) => accountRow(each, () => leaveFor(each.account, symbols[0]))));
  }

  /** @param {string} account @param {string} symbol */
  function leaveFor(account, symbol) {
    dialog.close();
    choose(account, symbol);
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
    setText(fault, "");
    run.disabled = welcome.disabled = true;
    try {
      draw(await api.runSandbox({ running, ...how }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(fault, error.message);
      run.disabled = false;
    } finally {
      welcome.disabled = false;
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (current?.running) return set(false);
    const chosen = [...strategies.querySelectorAll("input")].filter((input) => input.checked).map((input) => input.value);
    return set(true, { rate: Number(rate.value), seed: Number(seed.value), strategies: chosen });
  });
  welcome.addEventListener("click", async () => {
    await set(true);
    // Where its market is not there yet, the dialog says how it stands.
    if (!current?.running || !current.made) return open();
    const {
      accounts: [{ account }],
      symbols: [symbol],
    } = current;
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

/** @param {Sandbox} sandbox */
function stateText({ stopping, running, commands, why }) {
  if (stopping) return "The traders cancel their orders…";
  return running ? `The traders trade: ${count(commands)} orders and cancels so far` : (why ?? "No simulated trader trades now");
}
