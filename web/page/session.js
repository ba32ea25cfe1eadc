// The user's session: who looks at the page, and with which account.

import { Refusal } from "./api.js";
import { remember } from "./settings.js";
import { signIn } from "./views/login.js";

/** @import { Api } from "./api.js" */
/** @import { Feed } from "./feed.js" */
/** @import { Holdings } from "./state/holdings.js" */
/** @import { Vitals } from "./state/vitals.js" */
/** @import { Session } from "./types.js" */
/** @import { Ticket } from "./views/ticket.js" */

/** A part that shows members what they may do. @typedef {{allow: (session: Session|null) => void}} Guarded */

/**
 * Signs the user in, and tells the parts who that is.
 * @param {{api: Api, feed: Feed, guarded: Guarded[], ticket: Ticket, holdings: Holdings, chooseAccount: (account: string) => void}} parts
 */
export async function beginSession({ api, feed, guarded, ticket, holdings, chooseAccount }) {
  const session = await signIn({ api, feed });
  for (const part of guarded) part.allow(session);
  if (session) ticket.allow(session.member ?? "");
  else allowLater(api, ticket);
  // A member's own account comes first, unless another one of its was looked at last.
  const own = session?.accounts ?? [];
  if (own.length > 0 && !own.includes(holdings.id ?? "")) chooseAccount(own[0]);
}

/** Asks the server again who looks at the page, until it says so. @param {Api} api @param {Ticket} ticket */
function allowLater(api, ticket) {
  api.session().then(
    ({ member }) => ticket.allow(member ?? ""),
    () => setTimeout(() => allowLater(api, ticket), 2_000),
  );
}

/**
 * Asks the server whether it is a demo, and whether the account that is remembered still is.
 * @param {{api: Api, vitals: Vitals, holdings: Holdings, chooseAccount: (account: string) => void}} parts
 */
export async function greet({ api, vitals, holdings, chooseAccount }) {
  try {
    const server = await api.status();
    vitals.greet(server);
    vitals.before((await api.seconds()).seconds);
    // A visitor of a demo trades at once.
    if (server.demo && holdings.id === null) chooseAccount("1");
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
