// A second account beside the first: the same panel once more, with an account of its own; and the switch that says from which of both the ticket sends.

import { MONEY_DECIMALS, exact, group } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { remember } from "../settings.js";
import { notice } from "./notices.js";

/** @import { Frames } from "../frames.js" */
/** @import { AccountSeen, Holdings } from "../state/holdings.js" */
/** @import { Layout } from "../state/layout.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Pair } from "../state/pair.js" */
/** @import { Session } from "../types.js" */
/** @import { Chooser } from "./chooser.js" */

const SUFFIX = "-beside";
/** Attributes that name elements by their ids. */
const REFERENCES = ["aria-controls", "aria-labelledby", "aria-describedby", "for"];

/**
 * @typedef {object} Beside
 * @property {(session: Session|null) => void} allow says who asks, where that counts
 * @property {() => void} toggle shows two accounts, or one
 * @property {(account: string) => void} choose has it stand beside the first
 * @property {(account: string) => void} first chooses the first one; the account that stands beside it changes places with it
 */

/**
 * @param {object} parts
 * @param {Layout} parts.layout
 * @param {Market} parts.market
 * @param {Pair} parts.pair
 * @param {Frames} parts.frames
 * @param {(root: HTMLElement, choose: (account: string) => void) => Chooser} parts.chooser of the second account
 * @param {(holdings: Holdings, suffix: string) => void} parts.fill has the second panel show an account
 * @returns {Beside}
 */
export function compareAccounts({ layout, market, pair, frames, chooser, fill }) {
  const { first, second } = pair;
  const trade = find("trade");
  const panel = find("account");
  // As it is before anything was put into it.
  const pattern = /** @type {HTMLElement} */ (panel.cloneNode(true));
  const opener = find("beside-open");
  const box = /** @type {HTMLInputElement} */ (find("layout-two"));
  const from = find("ticket-from");
  const radios = [first, second].map((account, at) => {
    const input = make("input", { type: "radio", name: "from", value: at === 0 ? "first" : "second" });
    const text = make("span");
    input.addEventListener("change", () => pair.turnTo(account));
    from.append(make("label", {}, input, text));
    return { account, input, text };
  });
  /** @type {Chooser|null} */
  let choosing = null;
  /** @type {HTMLElement|null} */
  let beside = null;
  /** @type {string[]} */
  let own = [];

  const sums = [{ account: first, ...sumOf("") }];

  /** The second panel is made when it is wanted first. */
  function complete() {
    if (choosing) return;
    const copy = twin(pattern, SUFFIX);
    copy.classList.add("beside");
    panel.after(copy);
    beside = copy;
    setText(find(`account-title${SUFFIX}`), "Second account");
    setAttribute(find(`account-tabs${SUFFIX}`), "aria-label", "Second account");
    const sum = sumOf(SUFFIX);
    const place = make("div", { id: "second-chooser", class: "chooser" });
    sum.name.replaceWith(place);
    choosing = chooser(place, choose);
    sums.push({ account: second, ...sum });
    fill(second, SUFFIX);
  }

  const mark = frames.view(() => {
    const { two } = layout;
    setAttribute(opener, "aria-pressed", String(two));
    box.checked = two;
    from.hidden = second.id === null;
    for (const { account, input, text } of radios) {
      input.checked = pair.acting === account;
      setText(text, `From ${shortened(account.id ?? "–")}`);
      setAttribute(text, "title", account.id);
    }
    if (!two) return;
    for (const { account, root, name, text } of sums) {
      setAttribute(root, "data-acts", second.id !== null && pair.acting === account);
      if (name.isConnected) setText(name, account.id === null ? "No account" : `Account ${account.id}`);
      setText(text, toldOf(account, market.symbol));
    }
  });

  /** Has the second account be what the layout says. */
  function follow() {
    if (layout.two) complete();
    // At once: what opens in the second panel takes the focus.
    setAttribute(trade, "data-two", layout.two);
    if (beside) beside.hidden = !layout.two;
    const wanted = layout.two && layout.beside !== first.id ? layout.beside : null;
    if (wanted !== second.id) second.choose(wanted);
    mark();
  }

  /** @param {string} account */
  function choose(account) {
    if (account !== first.id) return layout.showTwo(true, account);
    if (second.id === null) return notice(`Account ${account} is the first one already: choose another`, "fault");
    change(second.id, account);
  }

  /** The accounts change places, or the first is another. @param {string} one @param {string} other */
  function change(one, other) {
    // First none: one topic of the feed has one reader.
    second.choose(null);
    remember("account", one);
    first.choose(one);
    layout.showTwo(true, other);
  }

  layout.watch(follow);
  first.watch(mark);
  pair.watch(mark);
  market.watch(mark);
  box.addEventListener("change", () => layout.showTwo(box.checked));
  opener.addEventListener("click", toggle);
  follow();

  function toggle() {
    const { two } = layout;
    if (two) return layout.showTwo(false);
    const other = own.find((account) => account !== first.id);
    layout.showTwo(true, layout.beside ?? other);
    if (second.id === null) choosing?.open();
  }

  return {
    toggle,
    choose,
    first(account) {
      if (account === second.id) {
        if (first.id !== null) return change(account, first.id);
        // One topic of the feed has one reader.
        second.choose(null);
      }
      remember("account", account);
      first.choose(account);
      follow();
    },
    allow(session) {
      own = session?.accounts ?? [];
    },
  };
}

/** The end of a long number tells accounts apart. @param {string} id */
function shortened(id) {
  return id.length > 8 ? `…${id.slice(-5)}` : id;
}

/** The contents of the line above the tables. @param {string} suffix */
function sumOf(suffix) {
  return { root: find(`account-sum${suffix}`), name: find(`account-sum-name${suffix}`), text: find(`account-sum-text${suffix}`) };
}

/** The account's dollars, and its shares of the symbol. @param {AccountSeen} seen @param {string|null} symbol */
function toldOf({ id, account, refused }, symbol) {
  if (!account) return id === null ? "Choose an account" : (refused ?? "Loading…");
  const held = (/** @type {string} */ amount, /** @type {number} */ decimals) => (exact(amount, decimals) === 0n ? "" : `, ${group(amount)} held`);
  const money = `${group(account.balance)} dollars${held(account.held, MONEY_DECIMALS)}`;
  if (symbol === null) return money;
  const of = account.positions.find((each) => each.symbol === symbol);
  return `${money} · ${group(of?.shares ?? "0")} ${symbol}${of ? held(of.held, 8) : ""}`;
}

/** The same elements once more, with ids of their own. @param {HTMLElement} element @param {string} suffix */
function twin(element, suffix) {
  const copy = /** @type {HTMLElement} */ (element.cloneNode(true));
  for (const each of [copy, ...copy.querySelectorAll("*")]) {
    if (each.id) each.id += suffix;
    for (const name of REFERENCES) {
      const named = each.getAttribute(name);
      if (named)
        each.setAttribute(
          name,
          named
            .split(" ")
            .map((id) => id + suffix)
            .join(" "),
        );
    }
  }
  return copy;
}
