// The form that adds a member to the venue.

import { Refusal } from "../api.js";
import { find, make } from "../dom.js";
import { clearFaults, showFault, valueOf } from "./faults.js";

/** @import { Api } from "../api.js" */

const ROLES = ["operator", "issuer", "trader", "viewer", "auditor"];

/** @param {{api: Api, added: () => Promise<void>}} parts `added` reads the members again */
export function memberForm({ api, added }) {
  const form = /** @type {HTMLFormElement} */ (find("control-add"));
  find("control-add-roles").append(
    ...ROLES.map((role) => make("label", { class: "pick" }, make("input", { type: "checkbox", name: "role", value: role }), make("span", {}, role))),
  );
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
      await added();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      showFault(form, error.field, error.message);
    }
  });
  return form;
}
