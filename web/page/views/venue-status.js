// The state of the venue, on the system view: its mode, its kills, and for operators the switch that kills everything.

import { Refusal } from "../api.js";
import { find, setText } from "../dom.js";
import { plural } from "../format.js";
import { killOutcome, killState } from "../state/kills.js";
import { notice } from "./notices.js";

/** @import { Api } from "../api.js" */
/** @import { Kills, Mode, Session } from "../types.js" */

/** The pause between two requests while the panel is in view. */
const EVERY_MS = 3_000;
/** The most names that are listed; further ones are counted. */
const NAMED_MAX = 5;

/**
 * @param {{api: Api}} parts
 * @returns {{show: () => void, allow: (session: Session|null) => void}} to be told when it comes into view, and who looks at it
 */
export function venueStatus({ api }) {
  const root = find("venue");
  const text = find("venue-text");
  const button = /** @type {HTMLButtonElement} */ (find("kill-everything"));
  const dialog = /** @type {HTMLDialogElement} */ (find("kill"));
  const sure = /** @type {HTMLButtonElement} */ (find("kill-sure"));
  let killed = false;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let next;

  async function look() {
    clearTimeout(next);
    if (find("system").hidden) return;
    try {
      const [kills, { mode }, { open_orders }] = await Promise.all([api.kills(), api.mode(), api.status()]);
      draw(kills, mode, open_orders);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // What was shown may not be so any more.
      root.hidden = true;
    }
    next = setTimeout(look, EVERY_MS);
  }

  /** @param {Kills} kills @param {Mode} mode @param {number} open orders of everybody */
  function draw(kills, mode, open) {
    killed = kills.killed;
    const some = killedNames(kills);
    const orders = killed ? killState("Everything is killed: no orders are taken", open) : some ? `Killed: ${some}` : "Nothing is killed";
    setText(text, mode === "normal" ? orders : `Mode: ${mode} · ${orders}`);
    root.dataset.state = killed || some || mode !== "normal" ? "held" : "open";
    setText(button, killed ? "Release everything" : "Kill everything…");
    root.hidden = false;
  }

  /** @param {boolean} kill */
  async function change(kill) {
    button.disabled = sure.disabled = true;
    try {
      await killEverything(api, kill);
    } finally {
      button.disabled = sure.disabled = false;
    }
    dialog.close();
    look();
  }

  button.addEventListener("click", () => (killed ? change(false) : dialog.showModal()));
  find("kill-form").addEventListener("submit", (event) => {
    event.preventDefault();
    change(true);
  });
  find("kill-not").addEventListener("click", () => dialog.close());
  return {
    show: look,
    allow(session) {
      button.hidden = !session || (session.members && !session.roles.includes("operator"));
    },
  };
}

/** Kills everything, or releases it, and says what came of it. @param {Api} api @param {boolean} kill */
async function killEverything(api, kill) {
  try {
    const outcome = await api.killEverything(kill);
    notice(kill ? killOutcome("Everything", outcome) : "Everything is released");
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    notice(error.message, "fault");
  }
}

/** The symbols and accounts that are killed, in words. @param {Kills} kills */
function killedNames({ symbols, accounts }) {
  return [named(symbols ?? [], "symbol"), named(accounts ?? [], "account")].filter(Boolean).join(", ");
}

/** @param {string[]} names @param {string} kind */
function named(names, kind) {
  if (names.length > NAMED_MAX) return plural(names.length, kind);
  return names.length ? `${kind} ${names.join(" ")}` : "";
}
