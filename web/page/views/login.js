// The login, where the server knows its members: the dialog that signs in, and the button that signs out. What proves it is a
// cookie that no script reads; nothing of it is kept here.

import { Refusal, UNPROVEN } from "../api.js";
import { find, setAttribute, setText, within } from "../dom.js";
import { keepRefused, keepSending } from "../settings.js";
import { clearFaults, showFault, valueOf } from "./faults.js";

/** @import { Api } from "../api.js" */
/** @import { Feed } from "../feed.js" */
/** @import { Session } from "../types.js" */

/** The things that a member of these roles may create. */
const CREATES = ["operator", "issuer"];

/**
 * Asks who is signed in, and has somebody sign in if nobody is and it is needed.
 * @param {{api: Api, feed: Feed}} parts
 * @returns {Promise<Session|null>} when there is somebody, or nobody is needed; null when the server does not say
 */
export async function signIn({ api, feed }) {
  const out = signOutButton(api);
  const ask = loginDialog(api);

  /** @param {Session} now who is signed in by now */
  const look = ({ roles, member }) => {
    if (roles.length === 0) ask();
    // Somebody else has signed in, in another tab: whatever this page shows is not theirs.
    else if (member !== session.member) location.reload();
  };

  /** @type {Session} */
  let session;
  try {
    session = await api.session();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return null;
  }
  if (!session.members) return session;
  if (session.roles.length === 0) {
    ask();
    return new Promise(() => {});
  }
  addEventListener(UNPROVEN, ask);
  // The server has ended the connection: perhaps because the session is over.
  feed.watch(() => {
    if (feed.state === "lost") api.session().then(look, () => {});
  });
  out.hidden = false;
  setText(find("signed-in"), session.member ?? "");
  setAttribute(out, "aria-label", `Sign out ${session.member ?? ""}`);
  find("create-open").hidden = !session.roles.some((role) => CREATES.includes(role));
  return session;
}

/** The dialog that asks for member and password. @param {Api} api @returns {() => void} opens it */
function loginDialog(api) {
  const dialog = /** @type {HTMLDialogElement} */ (find("login"));
  const form = /** @type {HTMLFormElement} */ (find("login-form"));
  const ask = () => {
    if (!dialog.open) dialog.showModal();
  };

  // Only signing in closes it.
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  // A browser lets nobody be held by a dialog: a second Escape closes it. There is nothing to see behind it.
  dialog.addEventListener("close", ask);
  form.addEventListener("input", () => clearFaults(form));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    logIn(api, form);
  });
  return ask;
}

/** Signs in with what the form says. @param {Api} api @param {HTMLFormElement} form */
async function logIn(api, form) {
  clearFaults(form);
  const [member, password] = [valueOf(form, "member"), /** @type {HTMLInputElement} */ (find("login-password")).value];
  const missing = member === "" ? "member" : password === "" ? "password" : null;
  if (missing) {
    showFault(form, missing, missing === "member" ? "The member is missing" : "The password is missing");
    return;
  }
  const button = within(form, "button", "[type=submit]");
  button.disabled = true;
  try {
    await api.logIn(member, password);
    // Whatever another member looked at goes with the page.
    location.reload();
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    showFault(form, null, error.status === 401 ? "Member or password is wrong" : error.message);
  } finally {
    button.disabled = false;
  }
}

/** The button that signs out. @param {Api} api */
function signOutButton(api) {
  const out = /** @type {HTMLButtonElement} */ (find("sign-out"));
  out.addEventListener("click", async () => {
    try {
      await api.logOut();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
    // The next member to sign in is told nothing of another member's order.
    keepSending(null);
    keepRefused(null);
    location.reload();
  });
  return out;
}
