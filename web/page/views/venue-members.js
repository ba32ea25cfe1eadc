// Members, their roles and their keys, for operators and auditors of a venue that knows its members; and how far it is open. A secret is shown once.

import { Refusal } from "../api.js";
import { find, make, setText } from "../dom.js";
import { killOutcome } from "../state/kills.js";
import { clearFaults, showFault, valueOf } from "./faults.js";
import { keptRows, confirmButton } from "./confirm-button.js";

/** @import { Api } from "../api.js" */
/** @import { Member, Mode } from "../types.js" */
/** @import { May } from "./venue-view.js" */

const ROLES = ["operator", "issuer", "trader", "viewer", "auditor"];
/** The most members that are listed. */
const MEMBERS_MAX = 500;
const EVERY_MS = 5_000;

/** @param {{api: Api, attempt: (what: () => Promise<string>) => Promise<boolean>, follow: (of: {member: string}) => void, may: () => May}} parts */
export function venueMembers({ api, attempt, follow, may }) {
  const panel = find("control-members-panel");
  const form = /** @type {HTMLFormElement} */ (find("control-add"));
  const mode = /** @type {HTMLSelectElement} */ (find("control-mode"));
  const secret = find("control-secret");
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  let next;

  find("control-add-roles").append(
    ...ROLES.map((role) => make("label", { class: "pick" }, make("input", { type: "checkbox", name: "role", value: role }), make("span", {}, role))),
  );

  const draw = keptRows(find("control-members"), {
    key: (/** @type {Member} */ { name }) => name,
    version: (member) => JSON.stringify([member, may().operates]),
    make: row,
  });

  /** @param {Member} member */
  function row({ name, roles, accounts, limits, keys, budget }) {
    const bounds = Object.entries(limits ?? {}).map(([what, most]) => `${what.replaceAll("_", " ")} ≤ ${most}`);
    const text = [
      roles.join(", "),
      accounts.length > 0
        ? `${accounts.length === 1 ? "account" : "accounts"} ${accounts.slice(0, 10).join(", ")}${accounts.length > 10 ? ` and ${accounts.length - 10} more` : ""}`
        : "",
      ...bounds,
      budget?.from ? `pays from account ${budget.from}` : "",
    ]
      .filter(Boolean)
      .join(" · ");
    const operates = may().operates;
    const change = (/** @type {() => Promise<string>} */ what) => async () => {
      await attempt(what);
      await look();
    };
    return [
      make("span", { class: "control-text" }, make("strong", {}, name), ` ${text}`),
      make(
        "span",
        { class: "control-buttons" },
        confirmButton("Watch", name, () => follow({ member: name })),
        ...(operates
          ? [
              confirmButton(
                "Kill",
                name,
                change(async () => killOutcome(name, await api.kill("members", name, true))),
                { sure: "Sure? Kill", danger: true },
              ),
              confirmButton(
                "Release",
                name,
                change(async () => (await api.kill("members", name, false), `${name} is released`)),
              ),
              confirmButton(
                "New key",
                name,
                change(async () => {
                  const key = await api.addKey(name, { kind: "hmac" });
                  setText(secret, `Key ${key.id} of ${name}, secret ${key.secret}: it is told this once`);
                  secret.hidden = false;
                  return `${name} has the key ${key.id}`;
                }),
              ),
              confirmButton(
                "Remove",
                name,
                change(async () => (await api.removeMember(name), `${name} is no member any more`)),
                { sure: "Sure? Remove", danger: true },
              ),
            ]
          : []),
      ),
      make(
        "ul",
        { class: "control-keys", "aria-label": `Keys of ${name}` },
        ...keys.map(({ id, kind, expires }) =>
          make(
            "li",
            {},
            `${id} · ${kind}${expires ? ` · until ${expires}` : ""} `,
            ...(operates
              ? [
                  confirmButton(
                    "Revoke",
                    `${id} of ${name}`,
                    change(async () => (await api.revokeKey(name, id), `The key ${id} is revoked`)),
                    { sure: "Sure? Revoke", danger: true },
                  ),
                ]
              : []),
          ),
        ),
      ),
    ];
  }

  async function look() {
    clearTimeout(next);
    panel.hidden = !may().members || !may().sees;
    if (panel.hidden || find("control").hidden) return;
    form.hidden = find("control-mode-field").hidden = !may().operates;
    try {
      /** @type {Member[]} */
      const all = [];
      /** @type {string|null} */
      let after = null;
      do {
        const page = await api.members(after);
        all.push(...page.members);
        after = page.next;
      } while (after !== null && all.length < MEMBERS_MAX);
      draw(all);
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
  form.addEventListener("input", () => clearFaults(form));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearFaults(form);
    const roles = [...form.querySelectorAll("input[name=role]:checked")].map((box) => /** @type {HTMLInputElement} */ (box).value);
    const accounts = valueOf(form, "accounts")
      .split(/[\s,]+/)
      .filter(Boolean);
    if (valueOf(form, "name") === "") return showFault(form, "name", "A member needs a name");
    if (roles.length === 0) return showFault(form, null, "Choose one role or more");
    try {
      await api.addMember({ name: valueOf(form, "name"), roles, accounts });
      form.reset();
      await look();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      showFault(form, error.field, error.message);
    }
  });
  return { show: look };
}
