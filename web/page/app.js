// Puts the page together: feed → state → views. What is chosen (symbol, account, interval, view) passes through here.

import { read, write } from "./address.js";
import { Refusal, api, whenPlaced } from "./api.js";
import { find, make, setAttribute, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { Frames } from "./frames.js";
import { listen } from "./keys.js";
import { recalled, remember, remembered } from "./settings.js";
import { Sound } from "./sound.js";
import { Alerts } from "./state/alerts.js";
import { Fees } from "./state/fees.js";
import { Holdings } from "./state/holdings.js";
import { Layout } from "./state/layout.js";
import { Journeys } from "./state/journeys.js";
import { Market } from "./state/market.js";
import { Pair } from "./state/pair.js";
import { Quote } from "./state/quote.js";
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
import { signIn } from "./views/login.js";
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

const sections = [...document.querySelectorAll("nav.sections button")].filter((button) => button instanceof HTMLButtonElement);

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
  keep: soon((kept) => remember("layout", JSON.stringify(kept))),
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
const somebody = new Promise((then) => (known = then));
const replay = laterReplay();
const replayAt = (/** @type {string} */ symbol, /** @type {number} */ time) => choices.moment(symbol, { time });
const confirm = confirmation();
const actions = orderActions({ api, market, quote, confirm });

const symbolChooser = marketBar({ market, symbols, quote, frames, choose: choices.symbol });
const accounts = accountChooser({ root: find("account-chooser"), holdings, vitals, frames, api, choose: choices.account });
const studies = new Studies(recalled("studies"), (chosen) => remember("studies", JSON.stringify(chosen)));
const lines = new Lines(recalled("lines"), (all) => remember("lines", JSON.stringify(all)));
const ticket = ticketView({ market, symbols, quote, holdings: pair, fees, vitals, standing, frames, api, confirm, chooseAccount: () => accounts.open() });
candlesView({ market, quote, holdings: pair, alerts, studies, lines, frames, theme, actions, chooseInterval: choices.interval });
ladderView({ market, quote, holdings: pair, frames, take: (limit) => {
  ticket.take(limit);
  showSection("ticket");
} });
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
  layout, market, pair, frames,
  chooser: (root, choose) => accountChooser({ root, name: "second account", holdings: pair.second, vitals, frames, api, choose }),
  fill: showAccount,
});
showAccount(holdings, "");
connectionView({ feed, standing, api, frames });
const system = systemView({ vitals, frames, theme });
const venueMode = venueStatus({ api });
const venue = laterVenueView();
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
  accountView({ market, quote, holdings: of, frames, api, actions, portfolio, openOrder: orders.open, replay: replayAt, suffix });
}

chrome();
follow();
feed.subscribe({ channel: "symbols" }, {
  message: (/** @type {SymbolsFeed} */ message) => {
    if (message.type === "snapshot") symbols.snapshot(message.symbols);
    else symbols.put(message.symbols);
    alerts.seeAll(message.symbols);
    if (message.next) fetchSymbols(message.next);
    // A symbol that was refused, or none at all: now there may be one.
    if (!market.symbol || (market.refused && symbols.all.has(market.symbol))) follow();
  },
});
feed.subscribe({ channel: "status" }, { message: (/** @type {StatusFeed} */ message) => vitals.add(message) });
feed.watch(() => {
  if (feed.state === "open") greet();
});
begin();

/** Begins to follow the market, once it is known who looks at it. */
async function begin() {
  const session = await signIn({ api, feed });
  venueMode.allow(session);
  standing.allow(session);
  venue.allow(session);
  orders.allow(session);
  comparison.allow(session);
  sandbox.allow(session);
  if (session) ticket.allow(session.member ?? "");
  else allowLater();
  // A member's own account comes first, unless another one of its was looked at last.
  const own = session?.accounts ?? [];
  if (own.length > 0 && !own.includes(holdings.id ?? "")) choices.account(own[0]);
  known();
  feed.connect();
}

/** The server did not say who looks at the page: it is asked again until it does. */
function allowLater() {
  api.session().then(({ member }) => ticket.allow(member ?? ""), () => setTimeout(allowLater, 2_000));
}

/** The venue's view, with its styles, is fetched when it is looked at: nobody needs it to trade. */
function laterVenueView() {
  /** @type {import("./types.js").Session|null} */
  let session = null;
  /** @type {ReturnType<typeof import("./views/venue-view.js").venueView>|null} */
  let view = null;
  let asked = false;
  const fetchIt = async () => {
    asked = true;
    document.head.append(make("link", { rel: "stylesheet", href: "style/venue.css" }));
    const [{ venueView }, { Activity }] = await Promise.all([import("./views/venue-view.js"), import("./state/activity.js")]);
    view = venueView({ api, symbols, vitals, quote, activity: new Activity(feed), frames });
    view.allow(session);
    setAttribute(find("control"), "data-ready", true);
  };
  return {
    show() {
      if (view) view.show();
      else if (!asked) fetchIt();
    },
    /** @param {import("./types.js").Session|null} who */
    allow(who) {
      session = who;
      view?.allow(who);
    },
  };
}

/** The modules of a replay, fetched when a user first wants one. */
function laterReplay() {
  /** @type {Promise<{state: import("./state/replay.js").Replay, view: ReturnType<typeof import("./views/replay.js").replayView>}>|null} */
  let asked = null;
  /** @type {import("./state/replay.js").Replay|null} */
  let state = null;
  /** The moment to show once the modules are here. @type {{symbol: string, moment: Moment}|null} */
  let wanted = null;
  const fetchIt = () => {
    asked ??= Promise.all([import("./state/replay.js"), import("./views/replay.js")]).then(([{ Replay }, { replayView }]) => {
      const made = new Replay(market, api);
      state = made;
      holdings.watch(() => made.look(holdings.id));
      return { state: made, view: replayView({ replay: made, market, frames, api, go: choices.moment }) };
    });
    return asked;
  };
  return {
    /** @param {string} symbol @param {Moment|null} moment null for the live market @param {boolean} [again] also where it is shown already */
    async show(symbol, moment, again = false) {
      wanted = moment && { symbol, moment };
      if (!moment) {
        state?.close();
        market.choose(symbol);
        return;
      }
      // Nobody is shown the past before they are signed in.
      const [fetched] = await Promise.all([fetchIt(), somebody]);
      if (wanted?.moment === moment && (again || !fetched.state.isAt(symbol, moment))) fetched.state.open(symbol, moment, holdings.id);
    },
    /** The moment that is shown; null while the market is live. @returns {Moment|null} */
    moment: () => (market.past && state ? state.moment : null),
    choose: async () => (await fetchIt()).view.open(),
    /** @param {"toggle"|"step"|"back"|"toTrade"} what nothing of it is done while the market is live */
    async act(what) {
      if (!market.past) return;
      const fetched = await fetchIt();
      if (what === "toggle") fetched.view.toggle();
      else fetched.state[what]();
    },
  };
}

/** Shows what the address says; without a symbol in it, the one looked at last, or the first there is. */
function follow() {
  const place = read(location.hash);
  document.body.dataset.view = place.view;
  for (const [view, main] of [["trade", "trade"], ["system", "system"], ["venue", "control"]]) {
    find(main).hidden = place.view !== view;
    setAttribute(find(`view-${view}`), "aria-current", place.view === view ? "page" : null);
  }
  if (place.view === "system") {
    system.show();
    venueMode.show();
    sandbox.look();
  }
  if (place.view === "venue") venue.show();

  const last = remembered("symbol");
  const symbol = place.symbol ?? market.symbol ?? (last && symbols.all.has(last) ? last : symbols.first());
  if (symbol && place.moment) replay.show(symbol, place.moment);
  // Who looks elsewhere for a while finds a replay again.
  else if (place.view === "trade" || !market.past) symbol ? replay.show(symbol, null) : market.choose(null);
  if (place.view === "trade") setAttribute(find("view-trade"), "href", write({ view: "trade", symbol, moment: place.moment }));
}

/** Asks who is there: whether it is a demo, and whether the account that is remembered still is. */
async function greet() {
  try {
    const server = await api.status();
    vitals.greet(server);
    vitals.before((await api.seconds()).seconds);
    // Whoever opens a demo trades at once.
    if (server.demo && holdings.id === null) choices.account("1");
    if (holdings.id === null) return;
    await api.account(holdings.id);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "unknown-account") {
      remember("account", null);
      holdings.choose(null);
    }
  }
}

/** Shows one section at a time, on a telephone. @param {string|undefined} name */
function showSection(name) {
  document.body.dataset.section = name;
  for (const button of sections) setAttribute(button, "aria-current", button.dataset.section === name ? "true" : null);
}

/** Buttons, keys and states of the page as a whole. */
function chrome() {
  addEventListener("hashchange", follow);
  const themeButton = find("theme");
  const drawTheme = () => setAttribute(themeButton, "aria-label", theme.name === "dark" ? "Light theme" : "Dark theme");
  themeButton.addEventListener("click", () => theme.toggle());
  theme.watch(drawTheme);
  drawTheme();

  const keysDialog = /** @type {HTMLDialogElement} */ (find("keys-dialog"));
  const keys = () => keysDialog.showModal();
  find("keys").addEventListener("click", keys);
  find("layout-open").addEventListener("click", openLayout);
  find("replay-open").addEventListener("click", replay.choose);
  find("create-open").addEventListener("click", create);
  find("welcome-create").addEventListener("click", create);
  find("unknown-choose").addEventListener("click", () => symbolChooser.open());
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.querySelector("[data-close]")?.addEventListener("click", () => dialog.close());
    // A press beside a dialog closes it: its own area begins at its children.
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog && dialog.querySelector("[data-close]")) dialog.close();
    });
  }
  find("welcome-copy").addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(find("welcome-line").textContent ?? "");
      setText(find("welcome-copy"), "Copied");
    } catch {
      getSelection()?.selectAllChildren(find("welcome-line"));
    }
  });

  for (const button of sections) button.addEventListener("click", () => showSection(button.dataset.section));

  const trade = (/** @type {() => void} */ then) => () => {
    if (document.body.dataset.view !== "trade") {
      location.hash = write({ view: "trade", symbol: market.symbol });
      // The view changes with the next event; a hidden field takes no focus.
      setTimeout(then);
    } else then();
  };
  const order = (/** @type {"buy"|"sell"} */ side) => trade(() => {
    showSection("ticket");
    ticket.begin(side);
  });
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    trade(() => {
      showSection("ticket");
      find("ticket-limit").focus();
    })();
  });
  const account = (/** @type {string} */ tab) => trade(() => {
    showSection("account");
    find(tab).click();
    find(tab).focus();
  });
  listen([
    { key: "b", group: "Trading", text: "Buy: to the ticket", run: order("buy") },
    { key: "s", group: "Trading", text: "Sell: to the ticket", run: order("sell") },
    ...[1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => ({
      key: String(number), group: "Trading", text: number === 1 ? "Fill the ticket in as a preset says" : "", shown: ["1", "–", "9"],
      run: trade(() => {
        if (ticket.apply(number)) showSection("ticket");
      }),
    })),
    { key: "x", group: "Trading", text: "Cancel all orders that are listed: pressed twice", run: trade(() => {
      showSection("account");
      find("tab-open").click();
      const button = find("cancel-all");
      if (button.hidden) return;
      button.focus();
      button.click();
    }) },
    { key: "/", group: "Where to look", text: "Choose a symbol", run: trade(() => symbolChooser.open()) },
    { key: "a", group: "Where to look", text: "Choose an account", run: () => accounts.open() },
    { key: "o", group: "Where to look", text: "Open orders", run: account("tab-open") },
    { key: "h", group: "Where to look", text: "History", run: account("tab-history") },
    { key: "e", group: "Where to look", text: "Executions", run: account("tab-executions") },
    { key: "p", group: "Where to look", text: "Portfolio", run: account("tab-portfolio") },
    { key: "f", group: "Where to look", text: "Filter the rows of the account", run: trade(() => {
      showSection("account");
      find("account-filter").focus();
    }) },
    { key: "v", group: "Where to look", text: "The system view, and back", run: () => find(document.body.dataset.view === "trade" ? "view-system" : "view-trade").click() },
    { key: "d", group: "Where to look", text: "Two accounts side by side, or one", run: trade(() => {
      showSection("account");
      comparison.toggle();
    }) },
    { key: "y", group: "Trading", text: "Have the ticket send from the other account", run: () => pair.turn() },
    { key: "w", group: "Where to look", text: "Show the watchlist, or hide it", run: () => layout.show("watch", layout.hides("watch")) },
    { key: "r", group: "Replay", text: "Choose a moment of the past", run: trade(replay.choose) },
    { key: "k", group: "Replay", text: "Play it, or pause", run: () => replay.act("toggle") },
    { key: ",", group: "Replay", text: "One command back", run: () => replay.act("back") },
    { key: ".", group: "Replay", text: "One command on", run: () => replay.act("step") },
    { key: "n", group: "Replay", text: "To the next trade", run: () => replay.act("toTrade") },
    { key: "l", group: "Where to look", text: "Layout: density, panels, layouts of your own", run: openLayout },
    { key: "t", group: "Where to look", text: "Light or dark", run: () => theme.toggle() },
    { key: "?", group: "Where to look", text: "These keys", run: keys },
  ]);

  const state = frames.view(() => {
    const none = symbols.state === "live" && symbols.all.size === 0 && !market.symbol;
    document.body.dataset.market = none ? "none" : market.refused ? "refused" : market.symbol ? "chosen" : "loading";
    find("welcome").hidden = !none;
    find("unknown").hidden = none || !market.refused;
    setText(find("unknown-text"), market.refused ? `${market.symbol}: ${market.refused}` : "");
  });
  symbols.watch(state);
  market.watch(state);
}

/**
 * Calls once for many calls that come quickly, with what the last one was given.
 * @template T
 * @param {(value: T) => void} then
 * @returns {(value: T) => void}
 */
function soon(then) {
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let timer;
  /** @type {(() => void)|null} */
  let waits = null;
  addEventListener("pagehide", () => waits?.());
  return (value) => {
    clearTimeout(timer);
    waits = () => {
      clearTimeout(timer);
      waits = null;
      then(value);
    };
    timer = setTimeout(waits, 200);
  };
}

/** @returns {Interval} */
function rememberedInterval() {
  const interval = remembered("interval");
  return INTERVALS.includes(interval ?? "") ? /** @type {Interval} */ (interval) : "1m";
}
