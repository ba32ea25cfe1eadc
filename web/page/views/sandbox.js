// A market to play in: simulated traders, started and stopped here, and the accounts that they have.

import { Refusal } from "../api.js";
import { setText } from "../dom.js";
import { drawState, fieldsOf, fillFields, fillLists, isLocked, sandboxElements } from "./sandbox-elements.js";

/** @import { Api } from "../api.js" */
/** @import { Sandbox, Session } from "../types.js" */
/** @import { SandboxElements } from "./sandbox-elements.js" */

/** The pause between two requests while the dialog is open. */
const AGAIN_MS = 1_000;

/**
 * @param {{api: Api, choose: (account: string, symbol: string) => void}} parts `choose` shows the market to whoever trades with this account
 */
export function sandboxDialog({ api, choose }) {
  const elements = sandboxElements();
  const { dialog, form, opener, welcome } = elements;
  /** @type {Sandbox|null} */
  let current = null;
  let may_start = true;

  /** @param {Sandbox} sandbox */
  function draw(sandbox) {
    const first = current === null;
    current = sandbox;
    drawState(elements, sandbox, may_start);
    if (first) fillLists(elements, sandbox, (account) => leaveFor(account, sandbox.symbols[0]));
    if (first || isLocked(sandbox)) fillFields(elements, sandbox);
  }

  /** @param {string} account @param {string} symbol */
  function leaveFor(account, symbol) {
    dialog.close();
    choose(account, symbol);
  }

  const look = stateLook({ elements, api, draw });
  const set = runSwitch({ elements, api, draw });

  function open() {
    if (!dialog.open) dialog.showModal();
    look();
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    return set(current?.running ? { running: false } : { running: true, ...fieldsOf(elements) });
  });
  welcome.addEventListener("click", async () => {
    await set({ running: true });
    // Where its market is not there yet, the dialog says how it stands.
    if (!current?.running || !current.made) return open();
    choose(current.accounts[0].account, current.symbols[0]);
  });
  opener.addEventListener("click", open);

  return {
    look,
    /** @param {Session|null} session */
    allow(session) {
      may_start = session?.members !== true || session.roles.includes("operator");
      look();
    },
  };
}

/** @typedef {{elements: SandboxElements, api: Api, draw: (sandbox: Sandbox) => void}} Parts */

/** Asks for the state of the traders: once, and again and again while the dialog is open. @param {Parts} parts */
function stateLook({ elements: { dialog, opener, offer, about }, api, draw }) {
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  dialog.addEventListener("close", () => clearTimeout(timer));
  return async function look() {
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
  };
}

/** Starts the traders, or stops them. @param {Parts} parts */
function runSwitch({ elements: { run, welcome, fault }, api, draw }) {
  return async (/** @type {Parameters<Api["runSandbox"]>[0]} */ wish) => {
    setText(fault, "");
    run.disabled = welcome.disabled = true;
    try {
      draw(await api.runSandbox(wish));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(fault, error.message);
      run.disabled = false;
    } finally {
      welcome.disabled = false;
    }
  };
}
