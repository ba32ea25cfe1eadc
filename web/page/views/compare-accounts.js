// A second account beside the first: the same panel once more, with an account of its own; and the switch that says from which of both the ticket sends.

import { find, make, setAttribute, setText } from "../dom.js";
import { remember } from "../settings.js";
import { SideBySide } from "../state/side-by-side.js";
import { sumText } from "./account-lines.js";
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
  const opener = find("beside-open");
  const box = /** @type {HTMLInputElement} */ (find("layout-two"));
  const sum = accountSum("");
  const sides = new SideBySide({ layout, pair, keep: (account) => remember("account", account) });
  const panel = secondPanel({ chooser: (root) => chooser(root, choose), fill: () => fill(second, SUFFIX) });
  const drawSender = senderChoice(pair);

  const mark = frames.view(() => {
    setAttribute(opener, "aria-pressed", String(layout.two));
    box.checked = layout.two;
    drawSender();
    if (!layout.two) return;
    drawSum(sum, first, market.symbol);
    setAttribute(sum.root, "data-acts", second.id !== null && pair.acting === first);
    if (!panel.sum) return;
    drawSum(panel.sum, second, market.symbol);
    setAttribute(panel.sum.root, "data-acts", second.id !== null && pair.acting === second);
  });

  function follow() {
    // At once: what opens in the second panel takes the focus.
    panel.show(layout.two);
    sides.follow();
    mark();
  }

  /** @param {string} account */
  function choose(account) {
    const fault = sides.chooseSecond(account);
    if (fault !== null) notice(fault, "fault");
  }

  function toggle() {
    sides.toggle();
    if (layout.two && second.id === null) panel.openChooser();
  }

  layout.watch(follow);
  for (const each of [first, pair, market]) each.watch(mark);
  box.addEventListener("change", () => layout.showTwo(box.checked));
  opener.addEventListener("click", toggle);
  follow();

  return {
    toggle,
    choose,
    first(account) {
      sides.chooseFirst(account);
      follow();
    },
    allow(session) {
      sides.own = session?.accounts ?? [];
    },
  };
}

/**
 * The panel of the second account, which is made when it is wanted first.
 * @param {{chooser: (root: HTMLElement) => Chooser, fill: () => void}} parts
 */
function secondPanel({ chooser, fill }) {
  const trade = find("trade");
  const panel = find("account");
  // As it is before anything was put into it.
  const pattern = /** @type {HTMLElement} */ (panel.cloneNode(true));
  /** @type {{root: HTMLElement, choosing: Chooser, sum: ReturnType<typeof accountSum>}|null} */
  let made = null;

  function complete() {
    const root = twin(pattern, SUFFIX);
    root.classList.add("beside");
    panel.after(root);
    setText(find(`account-title${SUFFIX}`), "Second account");
    setAttribute(find(`account-tabs${SUFFIX}`), "aria-label", "Second account");
    const sum = accountSum(SUFFIX);
    const place = make("div", { id: "second-chooser", class: "chooser" });
    sum.name.replaceWith(place);
    made = { root, sum, choosing: chooser(place) };
    fill();
  }

  return {
    /** @param {boolean} shown */
    show(shown) {
      if (shown && !made) complete();
      setAttribute(trade, "data-two", shown);
      if (made) made.root.hidden = !shown;
    },
    openChooser: () => made?.choosing.open(),
    get sum() {
      return made?.sum ?? null;
    },
  };
}

/** The line above the tables. @param {string} suffix of the panel's ids */
function accountSum(suffix) {
  return { root: find(`account-sum${suffix}`), name: find(`account-sum-name${suffix}`), text: find(`account-sum-text${suffix}`) };
}

/** @param {ReturnType<typeof accountSum>} sum @param {AccountSeen} seen @param {string|null} symbol */
function drawSum({ name, text }, seen, symbol) {
  // A chooser may stand in the place of the name.
  if (name.isConnected) setText(name, seen.id === null ? "No account" : `Account ${seen.id}`);
  setText(text, sumText(seen, symbol));
}

/** The choice from which account the ticket sends. @param {Pair} pair @returns {() => void} draws it */
function senderChoice(pair) {
  const from = find("ticket-from");
  const radios = [pair.first, pair.second].map((account, at) => {
    const input = make("input", { type: "radio", name: "from", value: at === 0 ? "first" : "second" });
    const text = make("span");
    input.addEventListener("change", () => pair.turnTo(account));
    from.append(make("label", {}, input, text));
    return { account, input, text };
  });
  return () => {
    from.hidden = pair.second.id === null;
    for (const { account, input, text } of radios) {
      input.checked = pair.acting === account;
      setText(text, `From ${shortened(account.id ?? "–")}`);
      setAttribute(text, "title", account.id);
    }
  };
}

/** The end of a long number tells accounts apart. @param {string} id */
function shortened(id) {
  return id.length > 8 ? `…${id.slice(-5)}` : id;
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
