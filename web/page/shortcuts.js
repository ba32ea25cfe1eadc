// The keys of the page, and what each does.

import { write } from "./address.js";
import { showKeys, showSection } from "./chrome.js";
import { find } from "./dom.js";
import { listen } from "./keys.js";

/** @import { Key } from "./keys.js" */
/** @import { LaterReplay } from "./lazy.js" */
/** @import { Layout } from "./state/layout.js" */
/** @import { Market } from "./state/market.js" */
/** @import { Pair } from "./state/pair.js" */
/** @import { Theme } from "./theme.js" */
/** @import { Ticket } from "./views/ticket.js" */

/** @typedef {{market: Market, pair: Pair, layout: Layout, theme: Theme, ticket: Ticket, replay: LaterReplay, chooseSymbol: () => void, chooseAccount: () => void, compare: () => void, openLayout: () => void}} Parts `compare` shows two accounts side by side, or one */
/** Has something done in the trading view, which is shown first. @typedef {(then: () => void) => () => void} InTrade */

/** @param {Parts} parts */
export function shortcuts(parts) {
  /** @type {InTrade} */
  const inTrade = (then) => () => {
    if (document.body.dataset.view !== "trade") {
      location.hash = write({ view: "trade", symbol: parts.market.symbol });
      // The view changes with the next event; a hidden field takes no focus.
      setTimeout(then);
    } else then();
  };
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    inTrade(() => {
      showSection("ticket");
      find("ticket-limit").focus();
    })();
  });
  listen([...tradingKeys(parts, inTrade), ...lookingKeys(parts, inTrade), ...replayKeys(parts, inTrade)]);
}

/** @param {Parts} parts @param {InTrade} inTrade @returns {Key[]} */
function tradingKeys({ ticket, pair }, inTrade) {
  const order = (/** @type {"buy"|"sell"} */ side) =>
    inTrade(() => {
      showSection("ticket");
      ticket.begin(side);
    });
  const preset = (/** @type {number} */ number) =>
    inTrade(() => {
      if (ticket.apply(number)) showSection("ticket");
    });
  const cancelAll = inTrade(() => {
    showSection("account");
    find("tab-open").click();
    const button = find("cancel-all");
    if (button.hidden) return;
    button.focus();
    button.click();
  });
  const group = "Trading";
  return [
    { key: "b", group, text: "Buy: to the ticket", run: order("buy") },
    { key: "s", group, text: "Sell: to the ticket", run: order("sell") },
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => ({
      key: String(number),
      group,
      text: number === 1 ? "Fill the ticket in as a preset says" : "",
      shown: ["1", "–", "9"],
      run: preset(number),
    })),
    { key: "x", group, text: "Cancel all orders that are listed: pressed twice", run: cancelAll },
    { key: "y", group, text: "Have the ticket send from the other account", run: () => pair.turn() },
  ];
}

/** @param {Parts} parts @param {InTrade} inTrade @returns {Key[]} */
function lookingKeys({ layout, theme, chooseSymbol, chooseAccount, compare, openLayout }, inTrade) {
  const account = (/** @type {() => void} */ then) =>
    inTrade(() => {
      showSection("account");
      then();
    });
  const tab = (/** @type {string} */ id) =>
    account(() => {
      find(id).click();
      find(id).focus();
    });
  const otherView = () => find(document.body.dataset.view === "trade" ? "view-system" : "view-trade").click();
  const group = "Where to look";
  return [
    { key: "/", group, text: "Choose a symbol", run: inTrade(chooseSymbol) },
    { key: "a", group, text: "Choose an account", run: chooseAccount },
    { key: "o", group, text: "Open orders", run: tab("tab-open") },
    { key: "h", group, text: "History", run: tab("tab-history") },
    { key: "e", group, text: "Executions", run: tab("tab-executions") },
    { key: "p", group, text: "Portfolio", run: tab("tab-portfolio") },
    { key: "f", group, text: "Filter the rows of the account", run: account(() => find("account-filter").focus()) },
    { key: "v", group, text: "The system view, and back", run: otherView },
    { key: "d", group, text: "Two accounts side by side, or one", run: account(compare) },
    { key: "w", group, text: "Show the watchlist, or hide it", run: () => layout.show("watch", layout.hides("watch")) },
    { key: "l", group, text: "Layout: density, panels, layouts of your own", run: openLayout },
    { key: "t", group, text: "Light or dark", run: () => theme.toggle() },
    { key: "?", group, text: "These keys", run: showKeys },
  ];
}

/** @param {Parts} parts @param {InTrade} inTrade @returns {Key[]} */
function replayKeys({ replay }, inTrade) {
  const group = "Replay";
  return [
    { key: "r", group, text: "Choose a moment of the past", run: inTrade(replay.choose) },
    { key: "k", group, text: "Play it, or pause", run: () => replay.act("toggle") },
    { key: ",", group, text: "One command back", run: () => replay.act("back") },
    { key: ".", group, text: "One command on", run: () => replay.act("step") },
    { key: "n", group, text: "To the next trade", run: () => replay.act("toTrade") },
  ];
}
