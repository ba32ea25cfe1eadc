// Parts of the page that are fetched when a user first wants them: the venue's view, and replays.

import { find, make, setAttribute } from "./dom.js";

/** @import { Api } from "./api.js" */
/** @import { Feed } from "./feed.js" */
/** @import { Frames } from "./frames.js" */
/** @import { Holdings } from "./state/holdings.js" */
/** @import { Market } from "./state/market.js" */
/** @import { Quote } from "./state/quote.js" */
/** @import { Moment, Replay } from "./state/replay.js" */
/** @import { Symbols } from "./state/symbols.js" */
/** @import { Vitals } from "./state/vitals.js" */
/** @import { Session } from "./types.js" */

/** Makes the venue's view, with its styles, when it is first looked at: nobody needs it to trade. @param {{api: Api, feed: Feed, symbols: Symbols, vitals: Vitals, quote: Quote, frames: Frames}} parts */
export function laterVenueView({ api, feed, symbols, vitals, quote, frames }) {
  /** @type {Session|null} */
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
    /** @param {Session|null} who */
    allow(who) {
      session = who;
      view?.allow(who);
    },
  };
}

/** @typedef {ReturnType<typeof laterReplay>} LaterReplay */

/**
 * Makes a replay when a user first wants one.
 * @param {{market: Market, api: Api, holdings: Holdings, frames: Frames, go: (symbol: string, moment: Moment|null) => void, signedIn: Promise<void>}} parts `go` shows a moment of the past; `signedIn` is kept when it is known who looks at the page
 */
export function laterReplay({ market, api, holdings, frames, go, signedIn }) {
  /** @type {Promise<{state: Replay, view: ReturnType<typeof import("./views/replay.js").replayView>}>|null} */
  let asked = null;
  /** @type {Replay|null} */
  let state = null;
  /** The moment to show once the modules are here. @type {{symbol: string, moment: Moment}|null} */
  let wanted = null;
  const fetchIt = () => {
    asked ??= Promise.all([import("./state/replay.js"), import("./views/replay.js")]).then(([{ Replay }, { replayView }]) => {
      const made = new Replay(market, api);
      state = made;
      holdings.watch(() => made.look(holdings.id));
      return { state: made, view: replayView({ replay: made, market, frames, api, go }) };
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
      const [fetched] = await Promise.all([fetchIt(), signedIn]);
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
