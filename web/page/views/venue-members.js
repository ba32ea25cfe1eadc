// Members, their roles and their keys, for operators and auditors of a venue that knows its members; and how far it is open. A secret is shown once.

import { Refusal } from "../api.js";
import { find, setText } from "../dom.js";
import { keptRows } from "./confirm-button.js";
import { memberForm } from "./venue-member-form.js";
import { memberRow } from "./venue-member-row.js";

/** @import { Api } from "../api.js" */
/** @import { Member, MemberKey, Mode } from "../types.js" */
/** @import { Change } from "./venue-member-row.js" */
/** @import { Attempt, Rights } from "./venue-view.js" */

/** The most members that are listed. */
const MEMBERS_MAX = 500;
const EVERY_MS = 5_000;

/** @param {{api: Api, attempt: Attempt, follow: (of: {member: string}) => void, rights: () => Rights}} parts */
export function venueMembers({ api, attempt, follow, rights }) {
  const panel = find("control-members-panel");
  const mode = /** @type {HTMLSelectElement} */ (find("control-mode"));
  const note = find("control-members-note");
  const form = memberForm({ api, added: look });
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let next;

  const draw = keptRows(find("control-members"), {
    key: (/** @type {Member} */ { name }) => name,
    version: (member) => JSON.stringify([member, rights().operates]),
    make: (member) => memberRow(member, { api, operates: rights().operates, change, follow, showSecret }),
  });

  /** @type {Change} */
  async function change(action) {
    await attempt(action);
    await look();
  }

  async function look() {
    clearTimeout(next);
    panel.hidden = !rights().members || !rights().sees;
    if (panel.hidden || find("control").hidden) return;
    form.hidden = find("control-mode-field").hidden = !rights().operates;
    try {
      const { members, all } = await allMembers(api);
      draw(members);
      note.hidden = all;
      setText(note, `There are more members: the first ${members.length} are listed`);
      if (document.activeElement !== mode) mode.value = (await api.mode()).mode;
    } catch (error) {
      // What is shown stays; the next look may be answered.
      if (!(error instanceof Refusal)) throw error;
    }
    next = setTimeout(look, EVERY_MS);
  }

  mode.addEventListener("change", async () => {
    await attempt(async () => `The venue is ${(await api.setMode(/** @type {Mode} */ (mode.value))).mode} now`);
    mode.value = (await api.mode()).mode;
  });
  return { show: look };
}

/** Page after page of members, up to the most that are listed, and whether these are all. @param {Api} api */
async function allMembers(api) {
  /** @type {Member[]} */
  const members = [];
  /** @type {string|null} */
  let after = null;
  do {
    const page = await api.members(after);
    members.push(...page.members);
    after = page.next;
  } while (after !== null && members.length < MEMBERS_MAX);
  return { members, all: after === null };
}

/** @param {string} member @param {MemberKey} key */
function showSecret(member, { id, secret }) {
  const text = find("control-secret");
  setText(text, `Key ${id} of ${member}, secret ${secret}: it is told this once`);
  text.hidden = false;
}
