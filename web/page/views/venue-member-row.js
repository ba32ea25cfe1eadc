// A row of the venue's members: roles, accounts and limits of a member, its keys, and for operators the buttons that change them.

import { make } from "../dom.js";
import { killOutcome } from "../state/kills.js";
import { confirmButton } from "./confirm-button.js";

/** @import { Api } from "../api.js" */
/** @import { Member, MemberKey } from "../types.js" */

/** The most accounts of a member that are named. */
const ACCOUNTS_MAX = 10;

/** Does something and shows its outcome in words; the list is read again behind it. @typedef {(action: () => Promise<string>) => Promise<void>} Change */

/**
 * @param {Member} member
 * @param {{api: Api, operates: boolean, change: Change, follow: (of: {member: string}) => void, showSecret: (member: string, key: MemberKey) => void}} parts `showSecret` shows the secret of a new key, this once
 */
export function memberRow(member, { api, operates, change, follow, showSecret }) {
  const { name, keys } = member;
  return [
    make("span", { class: "control-text" }, make("strong", {}, name), ` ${memberText(member)}`),
    make(
      "span",
      { class: "control-buttons" },
      confirmButton("Watch", name, () => follow({ member: name })),
      ...(operates ? operatorButtons(name, { api, change, showSecret }) : []),
    ),
    make(
      "ul",
      { class: "control-keys", "aria-label": `Keys of ${name}` },
      ...keys.map((key) => make("li", {}, keyText(key), ...(operates ? [revokeButton(name, key, { api, change })] : []))),
    ),
  ];
}

/** @param {Member} member */
function memberText({ roles, accounts, limits, budget }) {
  const more = accounts.length > ACCOUNTS_MAX ? ` and ${accounts.length - ACCOUNTS_MAX} more` : "";
  return [
    roles.join(", "),
    accounts.length > 0 ? `${accounts.length === 1 ? "account" : "accounts"} ${accounts.slice(0, ACCOUNTS_MAX).join(", ")}${more}` : "",
    ...Object.entries(limits ?? {}).map(([limit, most]) => `${limit.replaceAll("_", " ")} ≤ ${most}`),
    budget?.from ? `pays from account ${budget.from}` : "",
  ]
    .filter(Boolean)
    .join(" · ");
}

/** @param {MemberKey} key */
function keyText({ id, kind, expires }) {
  return `${id} · ${kind}${expires ? ` · until ${expires}` : ""} `;
}

/** @param {string} name @param {{api: Api, change: Change, showSecret: (member: string, key: MemberKey) => void}} parts */
function operatorButtons(name, { api, change, showSecret }) {
  const kill = async () => killOutcome(name, await api.kill("members", name, true));
  const release = async () => (await api.kill("members", name, false), `${name} is released`);
  const remove = async () => (await api.removeMember(name), `${name} is no member any more`);
  const addKey = async () => {
    const key = await api.addKey(name, { kind: "hmac" });
    showSecret(name, key);
    return `${name} has the key ${key.id}`;
  };
  return [
    confirmButton("Kill", name, () => change(kill), { sure: "Sure? Kill", danger: true }),
    confirmButton("Release", name, () => change(release)),
    confirmButton("New key", name, () => change(addKey)),
    confirmButton("Remove", name, () => change(remove), { sure: "Sure? Remove", danger: true }),
  ];
}

/** @param {string} name @param {MemberKey} key @param {{api: Api, change: Change}} parts */
function revokeButton(name, { id }, { api, change }) {
  const revoke = async () => (await api.revokeKey(name, id), `The key ${id} is revoked`);
  return confirmButton("Revoke", `${id} of ${name}`, () => change(revoke), { sure: "Sure? Revoke", danger: true });
}
