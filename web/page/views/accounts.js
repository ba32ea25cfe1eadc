// The account switcher: accounts of a local exchange, one page after the other, and any other by its number.

import { Refusal } from "../api.js";
import { group } from "../decimal.js";
import { make } from "../dom.js";
import { Chooser } from "./chooser.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { AccountLine } from "../types.js" */

/** The accounts of a demo's simulated traders. */
const SIMULATED = /^[1-4]0\d$/;

/** The most accounts that are listed; a user types the number of a further one. */
const LISTED = 1_000;

/**
 * @param {{root: HTMLElement, name?: string, holdings: Holdings, vitals: Vitals, frames: Frames, api: Api, choose: (id: string) => void}} parts
 * @returns {Chooser}
 */
export function accountChooser({ root, name = "account", holdings, vitals, frames, api, choose }) {
  let asking = false;
  /** Whether to list the simulated traders of a demo. */
  let simulated = false;
  /** @type {[AccountLine[], string]} */
  let listed = [[], ""];

  const chooser = new Chooser(root, {
    name,
    choose,
    typed: (text) => chooseTyped(text, { api, choose }),
    opened: list,
  });

  async function list() {
    if (asking) return;
    asking = true;
    /** @type {AccountLine[]} */
    let accounts = [];
    try {
      for await (const page of pagesOf(api)) {
        accounts = page.accounts;
        offer(accounts, page.note);
      }
      if (accounts.length === 0) chooser.offer([], "No accounts yet: “Create” makes one");
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      offer(accounts, error.message);
    } finally {
      asking = false;
    }
  }

  /** @param {AccountLine[]} accounts @param {string} note */
  function offer(accounts, note) {
    listed = [accounts, note];
    const demo = vitals.server?.demo === true;
    toggle.hidden = !demo;
    const here = demo && !simulated ? accounts.filter(({ account }) => !SIMULATED.test(account)) : accounts;
    chooser.offer(
      here.map(({ account, balance }) => ({ id: account, note: group(balance) })),
      note,
    );
  }

  const box = make("input", { type: "checkbox" });
  const toggle = make("label", { class: "only", hidden: true }, box, make("span", {}, "Simulated traders, too"));
  box.addEventListener("change", () => {
    simulated = box.checked;
    offer(...listed);
  });
  chooser.extend(toggle);

  const mark = frames.view(() => chooser.show(holdings.id, "No account"));
  holdings.watch(mark);
  return chooser;
}

/** Chooses the account of a typed number, if there is one. @param {string} text @param {{api: Api, choose: (id: string) => void}} parts */
async function chooseTyped(text, { api, choose }) {
  try {
    choose((await api.account(text)).account);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    notice(error.message, "fault");
  }
}

/** Fetches accounts page by page: all those so far, with a note about the rest. @param {Api} api @returns {AsyncGenerator<{accounts: AccountLine[], note: string}, void>} */
async function* pagesOf(api) {
  /** @type {AccountLine[]} */
  const accounts = [];
  /** @type {string|null} */
  let next = null;
  do {
    const page = await api.accounts(next);
    accounts.push(...page.accounts);
    next = page.next;
    const is_full = next !== null && accounts.length >= LISTED;
    yield { accounts, note: is_full ? "There are more: type the number and press Enter" : next ? "Loading more…" : "" };
    if (is_full) return;
  } while (next);
}
