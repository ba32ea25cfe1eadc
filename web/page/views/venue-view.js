// The venue, for those who run it and for its members: symbols with their phases and kills, an account with its limits, members with their
// roles and keys, and what somebody does. What may be done here is the server's to say; this only leaves out what it would refuse.

import { Refusal } from "../api.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { group } from "../decimal.js";
import { timeOfDay } from "../format.js";
import { killOutcome } from "../state/kills.js";
import { venueAccount } from "./venue-account.js";
import { venueAudit } from "./venue-audit.js";
import { venueMembers } from "./venue-members.js";
import { notice } from "./notices.js";
import { phaseText } from "./phase.js";
import { keptRows, confirmButton } from "./confirm-button.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Activity } from "../state/activity.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { DropCopyReport, Session, SymbolInfo } from "../types.js" */

/** The most symbols that are listed; a filter finds others by their name. */
const SYMBOLS_MAX = 50;
const REPORTS_MAX = 100;
const PAUSE_MS = 250;

/** The rights of the member that is logged in. @typedef {{operates: boolean, sees: boolean, members: boolean, accounts: string[], roles: string[], member: string|null}} May */

/**
 * @param {{api: Api, symbols: Symbols, vitals: Vitals, quote: Quote, activity: Activity, frames: Frames}} parts
 * @returns {{show: () => void, allow: (session: Session|null) => void}} to be told when it comes into view, and who looks at it
 */
export function venueView({ api, symbols, vitals, quote, activity, frames }) {
  const search = /** @type {HTMLInputElement} */ (find("control-symbols-find"));
  const note = find("control-symbols-note");
  const wrong = find("control-fault");
  /** @type {May} */
  let may = { operates: false, sees: false, members: false, accounts: [], roles: [], member: null };
  let allowed = false;
  const visible = () => !find("control").hidden;

  /** Does something and says what came of it. @param {() => Promise<string>} what @returns {Promise<boolean>} */
  async function attempt(what) {
    try {
      notice(await what());
      setText(wrong, "");
      return true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      setText(wrong, error.message);
      notice(error.message, "fault");
      return false;
    }
  }

  /** @param {{member: string}|{accounts: string[]}} of */
  const follow = (of) => activity.follow(of, vitals.seconds.at(-1)?.sequence ?? vitals.server?.sequence ?? 0);
  const account = venueAccount({ api, attempt, follow, may: () => may });
  const members = venueMembers({ api, attempt, follow, may: () => may });

  const audit = venueAudit({ api, may: () => may });

  const drawSymbols = keptRows(find("control-symbols"), {
    key: (/** @type {SymbolInfo} */ { symbol }) => symbol,
    version: (info) =>
      JSON.stringify([info.phase, info.killed, info.rules?.tick, info.rules?.lot, may.operates, info.phase?.until ? Math.floor(Date.now() / 1_000) : 0]),
    make: symbolRow,
  });

  /** @param {SymbolInfo} info */
  function symbolRow({ symbol, phase, killed, rules }) {
    const told = [killed ? "Killed: takes no orders" : "", phase ? phaseText(phase, (price) => quote.price(price, symbol)) : "Open"]
      .filter(Boolean)
      .join(" · ");
    const ruled = [rules?.tick && `tick ${group(rules.tick)}`, rules?.lot && `lot ${group(rules.lot)}`].filter(Boolean).join(", ");
    const text = make(
      "span",
      { class: "control-text" },
      make("strong", {}, symbol),
      " ",
      make("span", { "data-state": killed || phase ? "held" : null }, told),
      ruled ? make("span", { class: "muted" }, ` · ${ruled}`) : "",
    );
    if (!may.operates) return [text];
    const now = phase?.name ?? "open";
    const to = (/** @type {string} */ name, /** @type {"open"|"halted"|"auction"} */ wanted) => {
      const button = confirmButton(
        name,
        symbol,
        async () => {
          await attempt(async () => {
            await api.setPhase(symbol, wanted);
            return `${symbol} is ${wanted === "open" ? "open" : wanted === "halted" ? "halted" : "in an auction"}`;
          });
        },
        { sure: wanted === "halted" ? "Sure? Halt" : null },
      );
      setAttribute(button, "aria-pressed", String(now === wanted));
      return button;
    };
    return [
      text,
      make(
        "span",
        { class: "control-buttons" },
        to("Open", "open"),
        to("Auction", "auction"),
        to("Halt", "halted"),
        killButton("symbols", symbol, killed === true),
      ),
    ];
  }

  /** @param {"symbols"|"accounts"|"members"} of @param {string} name @param {boolean} killed */
  function killButton(of, name, killed) {
    return confirmButton(
      killed ? "Release" : "Kill",
      name,
      async () => {
        await attempt(async () => {
          const outcome = await api.kill(of, name, !killed);
          return killed ? `${name} is released` : killOutcome(name, outcome);
        });
      },
      { sure: killed ? null : "Sure? Kill", danger: !killed },
    );
  }

  const mark = frames.view(() => {
    if (!visible()) return;
    const wanted = search.value.trim().toLowerCase();
    const found = [...symbols.all.values()]
      .filter(({ symbol }) => symbol.toLowerCase().includes(wanted))
      .sort((a, b) => Number(Boolean(b.phase || b.killed)) - Number(Boolean(a.phase || a.killed)) || (a.symbol < b.symbol ? -1 : 1));
    drawSymbols(found.slice(0, SYMBOLS_MAX));
    const rest = found.length - SYMBOLS_MAX;
    setText(
      note,
      found.length === 0 ? (wanted === "" ? "No symbols yet" : "No symbol has such a name") : rest > 0 ? `and ${rest} more: type a part of their name` : "",
    );
    note.hidden = note.textContent === "";
  }, PAUSE_MS);

  const stop = find("control-activity-stop");
  const drawReports = keptRows(find("control-activity"), {
    key: (/** @type {DropCopyReport} */ { account: id, report: { sequence, report, order_id, side } }) => `${sequence} ${report} ${order_id} ${side} ${id}`,
    version: () => "once",
    make: ({ account: id, report }) => [
      make("span", { class: "muted number" }, timeOfDay(report.time)),
      make("span", { class: "control-text" }, reportText(id, report)),
    ],
  });
  const markReports = frames.view(() => {
    if (!visible()) return;
    drawReports(activity.reports.slice(0, REPORTS_MAX));
    stop.hidden = activity.whose === null;
    setText(find("control-activity-whose"), activity.whose === null ? "" : `of ${activity.whose}`);
    setText(
      find("control-activity-note"),
      activity.refused ??
        (activity.whose === null
          ? "“Watch” beside an account or a member shows what it does: its last orders, and new ones as they come"
          : activity.reports.length === 0
            ? "Nothing yet"
            : ""),
    );
  }, PAUSE_MS);

  /** @param {string} id @param {DropCopyReport["report"]} report */
  function reportText(id, { report, order_id, symbol, side, shares, limit, price, why }) {
    const at = price ? ` at ${quote.price(price, symbol)}` : limit ? ` at ${quote.price(limit, symbol)}` : "";
    return `${id}: order ${order_id} ${report}, ${side}${shares ? ` ${group(shares)}` : ""} ${symbol}${at}${why ? ` (${why.replaceAll("_", " ")})` : ""}`;
  }

  stop.addEventListener("click", () => activity.stop());
  search.addEventListener("input", mark);
  symbols.watch(mark);
  activity.watch(markReports);
  return {
    show() {
      mark();
      markReports();
      members.show();
      account.show();
      if (allowed) audit.show();
    },
    allow(session) {
      allowed = session !== null;
      const open = session !== null && !session.members;
      const roles = session?.roles ?? [];
      const operates = open || roles.includes("operator");
      may = {
        operates,
        sees: operates || roles.includes("auditor"),
        members: session?.members === true,
        accounts: session?.accounts ?? [],
        roles,
        member: session?.member ?? null,
      };
      setText(
        find("control-who"),
        open
          ? "This server has no access file: every client that reaches it may do everything"
          : session
            ? `${session.member}: ${roles.join(", ")}${may.accounts.length > 0 ? `; accounts ${may.accounts.slice(0, 20).join(", ")}` : ""}`
            : "",
      );
      this.show();
    },
  };
}
