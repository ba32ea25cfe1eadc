// Puts the page together: feed → state → views. What is chosen (symbol, account, interval, view) passes through here.

import { write } from "./address.js";
import { Refusal, api, whenPlaced } from "./api.js";
import { chrome, showSection } from "./chrome.js";
import { find } from "./dom.js";
import { Feed } from "./feed.js";
import { Frames } from "./frames.js";
import { laterReplay, laterVenueView } from "./lazy.js";
import { router } from "./router.js";
import { beginSession, greet } from "./session.js";
import { keepRefused, recalled, remember, rememberSoon, remembered } from "./settings.js";
import { shortcuts } from "./shortcuts.js";
import { Sound } from "./sound.js";
import { Alerts } from "./state/alerts.js";
import { Fees } from "./state/fees.js";
import { Holdings } from "./state/holdings.js";
import { Layout } from "./state/layout.js";
import { Journeys } from "./state/journeys.js";
import { Market } from "./state/market.js";
import { Pair } from "./state/pair.js";
import { Quote } from "./state/quote.js";
import { RefusedOrders } from "./state/refused.js";
import { Lines, Studies } from "./state/studies.js";
import { Standing } from "./state/standing.js";
import { Symbols } from "./state/symbols.js";
import { Vitals } from "./state/vitals.js";
import { Watchlist } from "./state/watchlist.js";
import { Theme } from "./theme.js";
import { accountChooser } from "./views/accounts.js";
import { accountView } from "./views/account.js";
import { alertsView } from "./views/alerts.js";
import { compareAccounts } from "./views/compare-accounts.js";
import { candlesView } from "./views/candles.js";
import { confirmation } from "./views/confirm.js";
import { connectionView } from "./views/connection.js";
import { createDialog } from "./views/create.js";
import { depthView } from "./views/depth.js";
import { ladderView } from "./views/ladder.js";
import { layoutView } from "./views/layout.js";
import { marketBar } from "./views/market-bar.js";
import { lastJourney, orderDialog } from "./views/order-dialog.js";
import { placePanel } from "./views/place.js";
import { executionNotices } from "./views/notices.js";
import { phaseView } from "./views/phase.js";
import { orderActions } from "./views/order-actions.js";
import { portfolioView } from "./views/portfolio.js";
import { sandboxDialog } from "./views/sandbox.js";
import { systemView } from "./views/system.js";
import { venueStatus } from "./views/venue-status.js";
import { journeyPanel } from "./views/journey-panel.js";
import { tapeView } from "./views/tape.js";
import { ticketView } from "./views/ticket.js";
import { watchlistView } from "./views/watchlist.js";

/** @import { Moment } from "./state/replay.js" */
/** @import { Interval, StatusFeed, SymbolsFeed } from "./types.js" */

const INTERVALS = ["1s", "1m", "5m", "15m", "1h", "1d"];

const frames = new Frames();
const theme = new Theme();
const feed = new Feed(() => new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws/v1`));
const symbols = new Symbols();
const vitals = new Vitals();
const holdings = new Holdings(feed, api);
const pair = new Pair(holdings, new Holdings(feed, api));
const market = new Market(feed, api, rememberedInterval());
const quote = new Quote(market, symbols);
const standing = new Standing({ vitals, market, symbols, quote, holdings: pair });
const refused = new RefusedOrders(keepRefused);
const fees = new Fees({ market, holdings: pair, api });
const alerts = new Alerts(recalled("alerts"), (all) => remember("alerts", JSON.stringify(all)));
const watchlist = new Watchlist(recalled("favourites"), {
  symbols,
  keep: (favourites) => remember("favourites", JSON.stringify(favourites)),
  ask: async (symbol, points) => {
    try {
      return (await api.candles(symbol, "15m", null, points)).candles;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return null;
    }
  },
});
const layout = new Layout(recalled("layout"), {
  // A wide window has room for the watchlist beside all else.
  hidden: matchMedia("(min-width: 1600px)").matches ? [] : ["watch"],
  keep: rememberSoon("layout"),
});

const choices = {
  /** @param {string} symbol */
  symbol(symbol) {
    remember("symbol", symbol);
    // In a replay it is the same moment of another symbol.
    location.hash = write({ view: "trade", symbol, moment: replay.moment() });
  },
  /** Shows a moment of the past, or with null the live market. @param {string} symbol @param {Moment|null} moment */
  moment(symbol, moment) {
    const hash = write({ view: "trade", symbol, moment });
    if (location.hash === hash) replay.show(symbol, moment, true);
    else location.hash = hash;
  },
  /** @param {string} account */
  account(account) {
    comparison.first(account);
  },
  /** @param {Interval} interval */
  interval(interval) {
    remember("interval", interval);
    market.chooseInterval(interval);
  },
};

let known = () => {};
/** Kept when it is known who looks at the page, and with which account. @type {Promise<void>} */
const signedIn = new Promise((then) => (known = then));
const replay = laterReplay({ market, api, holdings, frames, go: choices.moment, signedIn });
const replayAt = (/** @type {string} */ symbol, /** @type {number} */ time) => choices.moment(symbol, { time });
const confirm = confirmation();
const actions = orderActions({ api, market, quote, confirm });

const symbolChooser = marketBar({ market, symbols, quote, frames, choose: choices.symbol });
const chooseSymbol = () => symbolChooser.open();
const accounts = accountChooser({ root: find("account-chooser"), holdings, vitals, frames, api, choose: choices.account });
const studies = new Studies(recalled("studies"), (chosen) => remember("studies", JSON.stringify(chosen)));
const lines = new Lines(recalled("lines"), (all) => remember("lines", JSON.stringify(all)));
const ticket = ticketView({
  market,
  symbols,
  quote,
  holdings: pair,
  fees,
  vitals,
  standing,
  refused,
  frames,
  api,
  confirm,
  chooseAccount: () => accounts.open(),
});
candlesView({ market, quote, holdings: pair, alerts, studies, lines, frames, theme, actions, chooseInterval: choices.interval });
ladderView({
  market,
  quote,
  holdings: pair,
  frames,
  take: (limit) => {
    ticket.take(limit);
    showSection("ticket");
  },
});
depthView({ market, quote, frames, theme });
tapeView({ market, quote, holdings: pair, frames });
watchlistView({ watchlist, market, quote, symbols, frames, choose: choices.symbol });
alertsView({ alerts, market, quote, sound: new Sound(), frames });
const openLayout = layoutView({ layout, frames });
const journeys = new Journeys();
whenPlaced((placed, timing) => journeys.note(placed, timing));
const orders = orderDialog({ pair, vitals, replay: replayAt, panels: [placePanel({ api }), journeyPanel({ pair, journeys })] });
lastJourney({ pair, journeys, open: orders.open });
find("ticket-code").addEventListener("click", () => {
  const draft = ticket.draft();
  if (draft) orders.openDraft(draft);
});
holdings.choose(remembered("account"));
const comparison = compareAccounts({
  layout,
  market,
  pair,
  frames,
  chooser: (root, choose) => accountChooser({ root, name: "second account", holdings: pair.second, vitals, frames, api, choose }),
  fill: showAccount,
});
showAccount(holdings, "");
connectionView({ feed, standing, api, frames });
const system = systemView({ vitals, frames, theme });
const venueMode = venueStatus({ api });
const venue = laterVenueView({ api, feed, symbols, vitals, quote, frames });
phaseView({ market, quote, symbols, frames });
const sandbox = sandboxDialog({
  api,
  choose: (account, symbol) => {
    choices.account(account);
    choices.symbol(symbol);
  },
});
const create = createDialog({
  api,
  created: (account) => {
    if (!holdings.id) choices.account(account);
  },
  issued: (symbol, account) => {
    if (!holdings.id) choices.account(account);
    if (!market.symbol) choices.symbol(symbol);
  },
});

// Of the symbol that is looked at each trade counts, not only the last of a quarter of a second.
market.tape.watch(() => {
  if (!market.past) alerts.seeTape(market.tape.trades);
});

// One's own trades are marked on the tape and the chart.
for (const each of [pair.first, pair.second]) {
  each.watch(() => {
    if (each.account && each.executed.state === "unasked") each.moreExecutions();
  });
  each.onExecution = executionNotices({ holdings: each, quote, filled: ticket.filled, whose: () => (pair.second.id === null ? "" : `Account ${each.id}: `) });
}

/**
 * The symbols that a snapshot has no room for. Where a page of them cannot be had, the feed tells of those that change.
 * @param {string|null} after
 */
async function fetchSymbols(after) {
  try {
    while (after) {
      const page = await api.symbols(after);
      symbols.put(page.symbols);
      after = page.next;
    }
  } catch (refusal) {
    console.warn(refusal);
  }
}

/** The tables of an account, in the panel whose ids end so. @param {Holdings} of @param {string} suffix */
function showAccount(of, suffix) {
  const portfolio = portfolioView({ holdings: of, market, symbols, quote, frames, theme, api, suffix });
  accountView({ market, quote, holdings: of, refused, frames, api, actions, portfolio, openOrder: orders.open, replay: replayAt, suffix });
}

const follow = router({
  market,
  symbols,
  replay,
  showSystem() {
    system.show();
    venueMode.show();
    sandbox.look();
  },
  showVenue: () => venue.show(),
});
chrome({ market, symbols, frames, theme, openLayout, create, chooseMoment: replay.choose, chooseSymbol });
shortcuts({ market, pair, layout, theme, ticket, replay, openLayout, chooseSymbol, chooseAccount: () => accounts.open(), compare: () => comparison.toggle() });
follow();
feed.subscribe(
  { channel: "symbols" },
  {
    message: (/** @type {SymbolsFeed} */ message) => {
      if (message.type === "snapshot") symbols.snapshot(message.symbols);
      else symbols.put(message.symbols);
      alerts.seeAll(message.symbols);
      if (message.next) fetchSymbols(message.next);
      // A symbol that was refused, or none at all: now there may be one.
      if (!market.symbol || (market.refused && symbols.all.has(market.symbol))) follow();
    },
  },
);
feed.subscribe({ channel: "status" }, { message: (/** @type {StatusFeed} */ message) => vitals.add(message) });
feed.watch(() => {
  if (feed.state === "open") greet({ api, vitals, holdings, chooseAccount: choices.account });
});
beginSession({ api, feed, guarded: [venueMode, standing, venue, orders, comparison, sandbox], ticket, holdings, chooseAccount: choices.account }).then(() => {
  known();
  feed.connect();
});

/** @returns {Interval} */
function rememberedInterval() {
  const interval = remembered("interval");
  return INTERVALS.includes(interval ?? "") ? /** @type {Interval} */ (interval) : "1m";
}
