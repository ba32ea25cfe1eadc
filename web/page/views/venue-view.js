// The venue, for those who run it and for its members: symbols with their phases and kills, an account with its limits, members with their
// roles and keys, and what somebody does. What may be done here is the server's to say; this only leaves out what it would refuse.

import { Refusal } from "../api.js";
import { find, setText } from "../dom.js";
import { venueAccount } from "./venue-account.js";
import { venueActivity } from "./venue-activity.js";
import { venueAudit } from "./venue-audit.js";
import { venueMembers } from "./venue-members.js";
import { venueSymbols } from "./venue-symbols.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Activity } from "../state/activity.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { Session } from "../types.js" */

/** The rights of the member that is logged in. @typedef {{operates: boolean, sees: boolean, members: boolean, accounts: string[], roles: string[], member: string|null}} Rights */
/** Does something and shows its outcome in words, or the refusal. @typedef {(action: () => Promise<string>) => Promise<boolean>} Attempt */

/** The most accounts of a member that are named. */
const ACCOUNTS_MAX = 20;

/**
 * @param {{api: Api, symbols: Symbols, vitals: Vitals, quote: Quote, activity: Activity, frames: Frames}} parts
 * @returns {{show: () => void, allow: (session: Session|null) => void}} to be told when it comes into view, and who looks at it
 */
export function venueView({ api, symbols, vitals, quote, activity, frames }) {
  let rights = rightsOf(null);
  let allowed = false;

  /** @param {{member: string}|{accounts: string[]}} of */
  const follow = (of) => activity.follow(of, vitals.seconds.at(-1)?.sequence ?? vitals.server?.sequence ?? 0);
  const parts = { api, attempt, follow, rights: () => rights };
  const views = [venueSymbols({ ...parts, symbols, quote, frames }), venueActivity({ activity, quote, frames }), venueMembers(parts), venueAccount(parts)];
  const audit = venueAudit(parts);

  function show() {
    for (const view of views) view.show();
    if (allowed) audit.show();
  }

  return {
    show,
    allow(session) {
      allowed = session !== null;
      rights = rightsOf(session);
      setText(find("control-who"), identity(session));
      show();
    },
  };
}

/** @type {Attempt} */
async function attempt(action) {
  const fault = find("control-fault");
  try {
    notice(await action());
    setText(fault, "");
    return true;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    setText(fault, error.message);
    notice(error.message, "fault");
    return false;
  }
}

/** @param {Session|null} session @returns {Rights} */
function rightsOf(session) {
  const roles = session?.roles ?? [];
  const operates = (session !== null && !session.members) || roles.includes("operator");
  return {
    operates,
    sees: operates || roles.includes("auditor"),
    members: session?.members === true,
    accounts: session?.accounts ?? [],
    roles,
    member: session?.member ?? null,
  };
}

/** The line that says who is logged in. @param {Session|null} session */
function identity(session) {
  if (session === null) return "";
  const { members, member, roles, accounts } = session;
  if (!members) return "This server has no access file: every client that reaches it may do everything";
  return `${member}: ${roles.join(", ")}${accounts.length > 0 ? `; accounts ${accounts.slice(0, ACCOUNTS_MAX).join(", ")}` : ""}`;
}
