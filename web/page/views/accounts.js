// The account switcher: accounts of a local exchange, one page after the other, and any other by its number.

import { Refusal } from "../api.js";
import { group } from "../decimal.js";
import { find } from "../dom.js";
import { Chooser } from "./chooser.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { AccountLine } from "../types.js" */

/** So many accounts are listed; beyond them the number is typed. */
const LISTED = 1_000;

/**
 * @param {{holdings: Holdings, frames: Frames, api: Api, choose: (id: string) => void}} parts
 * @returns {Chooser}
 */
export function accountChooser({ holdings, frames, api, choose }) {
  let asking = false;

  const chooser = new Chooser(find("account-chooser"), {
    name: "account",
    choose,
    typed: async (text) => {
      try {
        choose((await api.account(text)).account);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        notice(error.message, "fault");
      }
    },
    opened: list,
  });

  async function list() {
    if (asking) return;
    asking = true;
    /** @type {AccountLine[]} */
    const accounts = [];
    let note = "";
    try {
      /** @type {string|null} */
      let next = null;
      do {
        const page = await api.accounts(next);
        accounts.push(...page.accounts);
        next = page.next;
        note = next && accounts.length >= LISTED ? "There are more: type the number and press Enter" : "";
        offer(accounts, next && !note ? "Loading more…" : note);
      } while (next && !note);
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
    chooser.offer(accounts.map(({ account, balance }) => ({ id: account, note: group(balance) })), note);
  }

  const mark = frames.view(() => chooser.show(holdings.id, "No account"));
  holdings.watch(mark);
  return chooser;
}
