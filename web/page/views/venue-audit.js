// Commands with their callers: the newest ones, and older ones page by page. Operators and auditors see all commands, a member its own.

import { Refusal } from "../api.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { count, dayAndTime } from "../format.js";
import { clearFaults, showFault, valueOf } from "./faults.js";
import { Table } from "./table.js";

/** @import { Api } from "../api.js" */
/** @import { AuditedCommand } from "../types.js" */
/** @import { Rights } from "./venue-view.js" */
/** @import { Column } from "./table.js" */

/** The most rows that are kept; a filter finds older ones. */
const ROWS_MAX = 2_000;

/** @param {AuditedCommand} row */
const callerOf = ({ by }) => (by === null ? "not kept" : by.protocol === null ? "the server" : (by.member ?? "–"));
/** @param {(by: NonNullable<AuditedCommand["by"]>) => string|number|null} part @returns {(row: AuditedCommand) => string} */
const callerPart =
  (part) =>
  ({ by }) =>
    String((by && part(by)) ?? "–");

/** @type {Column<AuditedCommand>[]} */
const COLUMNS = [
  { head: "Command", text: ({ sequence }) => String(sequence), kind: "id", value: ({ sequence }) => sequence },
  { head: "Time", text: ({ time }) => dayAndTime(time), kind: "number", value: ({ time }) => time },
  { head: "Member", text: callerOf },
  { head: "What", text: ({ what }) => what, kind: "what" },
  { head: "Account", text: ({ account }) => account ?? "–", kind: "number wide" },
  { head: "Protocol", text: callerPart(({ protocol }) => protocol), kind: "wide" },
  { head: "Key", text: callerPart(({ key }) => key), kind: "wide" },
  { head: "Session", text: callerPart(({ session }) => session), kind: "number wide" },
  { head: "Address", text: callerPart(({ address }) => address), kind: "wide" },
];

/** @param {{api: Api, rights: () => Rights}} parts */
export function venueAudit({ api, rights }) {
  const field = (/** @type {string} */ name, /** @type {string} */ text, /** @type {Record<string, string>} */ more) => {
    const id = `control-audit-${name}`;
    return [make("label", { class: "unseen", for: id }, text), make("input", { id, name, placeholder: text, autocomplete: "off", ...more })];
  };
  const fault = make("p", { class: "fault", "data-fault": "form", role: "alert" });
  const form = make(
    "form",
    { id: "control-audit-form", novalidate: true, autocomplete: "off" },
    ...field("member", "Member", { autocapitalize: "none", spellcheck: "false" }),
    ...field("account", "Account", { inputmode: "numeric", class: "number" }),
    make("button", { type: "submit" }, "Show"),
  );
  const whose = make("p", { class: "state", role: "status" });
  const place = make("div", { class: "table-body audit", tabindex: "0", role: "group", "aria-labelledby": "control-audit-title" });
  const panel = make(
    "section",
    { id: "control-audit", class: "panel", "aria-labelledby": "control-audit-title" },
    make("header", { class: "panel-head" }, make("h3", { id: "control-audit-title" }, "Commands and their callers"), whose, form),
    fault,
    place,
  );
  find("control").append(panel);
  const memberInput = /** @type {HTMLInputElement} */ (form.elements.namedItem("member"));

  const table = new Table(place, {
    caption: "Commands, newest first",
    columns: COLUMNS,
    key: ({ sequence }) => String(sequence),
    more: () => load(false),
    resort: () => draw(),
  });
  /** @type {AuditedCommand[]} */
  let rows = [];
  /** @type {number|null} */
  let next = null;
  let loading = false;
  let loaded = false;

  function draw() {
    const empty = loading ? "Loading…" : next !== null ? `None of the commands from ${count(next)} on` : loaded ? "No commands" : "";
    table.draw(rows, { empty, more: next === null || loading || rows.length >= ROWS_MAX ? null : "Older" });
  }

  /** @param {boolean} anew from the newest one on, or what is older */
  async function load(anew) {
    if (loading) return;
    loading = true;
    clearFaults(form);
    setText(fault, "");
    if (anew) [rows, next] = [[], null];
    draw();
    try {
      const page = await api.audit({ before: next, member: valueOf(form, "member") || null, account: valueOf(form, "account") || null });
      rows = [...rows, ...page.commands];
      next = page.next;
      loaded = true;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // What is older may be kept no more: then the list ends there.
      if (error.code === "no-longer-kept") next = null;
      setText(fault, error.message);
      if (error.field) showFault(form, error.field, "");
    } finally {
      loading = false;
      draw();
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    load(true);
  });

  return {
    show() {
      const { sees, members } = rights();
      memberInput.hidden = !sees || !members;
      setText(whose, sees ? "" : "by you");
      setAttribute(whose, "hidden", sees);
      // It is looked at: the rest is on demand, for each look reads a file of the journal.
      if (!find("control").hidden && !loaded) load(true);
    },
  };
}
