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
  const { form, whose, fault, place } = auditPanel();
  const memberInput = /** @type {HTMLInputElement} */ (form.elements.namedItem("member"));
  const table = new Table(place, {
    caption: "Commands, newest first",
    columns: COLUMNS,
    key: ({ sequence }) => String(sequence),
    more: () => load(false),
    resort: () => draw(),
  });
  const list = new AuditList();

  function draw() {
    table.draw(list.rows, list);
  }

  /** @param {boolean} anew from the newest one on, or what is older */
  async function load(anew) {
    if (list.loading) return;
    list.begin(anew);
    clearFaults(form);
    setText(fault, "");
    draw();
    try {
      list.add(await api.audit({ before: list.next, member: valueOf(form, "member") || null, account: valueOf(form, "account") || null }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // What is older may be kept no more: then the list ends there.
      if (error.code === "no-longer-kept") list.next = null;
      setText(fault, error.message);
      if (error.field) showFault(form, error.field, "");
    } finally {
      list.loading = false;
      if (list.isFull) setText(fault, `The list ends with ${count(list.rows.length)} commands, and there are older ones: name a member or an account`);
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
      if (!find("control").hidden && !list.loaded) load(true);
    },
  };
}

/** The commands that were fetched, newest first, and where older ones begin. */
class AuditList {
  /** @type {AuditedCommand[]} */
  rows = [];
  /** The command before which older ones are asked for; null without any. @type {number|null} */
  next = null;
  loading = false;
  loaded = false;

  /** @param {boolean} anew from the newest one on, or what is older */
  begin(anew) {
    this.loading = true;
    if (anew) [this.rows, this.next] = [[], null];
  }

  /** @param {{commands: AuditedCommand[], next: number|null}} page */
  add({ commands, next }) {
    this.rows = [...this.rows, ...commands];
    this.next = next;
    this.loaded = true;
  }

  /** Whether older ones are not listed any more. */
  get isFull() {
    return this.next !== null && this.rows.length >= ROWS_MAX;
  }

  /** The text of an empty table. */
  get empty() {
    if (this.loading) return "Loading…";
    if (this.next !== null) return `None of the commands from ${count(this.next)} on`;
    return this.loaded ? "No commands" : "";
  }

  /** The text of the button that fetches older ones; null where there is none. */
  get more() {
    return this.next === null || this.loading || this.isFull ? null : "Older";
  }
}

/** Adds the panel to the venue's view: the filter, whose commands are shown, the fault, and the place of the table. */
function auditPanel() {
  const fault = make("p", { class: "fault", "data-fault": "form", role: "alert" });
  const form = make(
    "form",
    { id: "control-audit-form", novalidate: true, autocomplete: "off" },
    ...filterField("member", "Member", { autocapitalize: "none", spellcheck: "false" }),
    ...filterField("account", "Account", { inputmode: "numeric", class: "number" }),
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
  return { form, whose, fault, place };
}

/** A field of the filter, with its label. @param {string} name @param {string} text @param {Record<string, string>} more attributes */
function filterField(name, text, more) {
  const id = `control-audit-${name}`;
  return [make("label", { class: "unseen", for: id }, text), make("input", { id, name, placeholder: text, autocomplete: "off", ...more })];
}
