// An order's text in each protocol, to be copied with one press.

import { make, setAttribute, setText } from "../dom.js";
import { PROTOCOLS, termsOf, unnamed, words } from "../state/order-snippets.js";

/** @import { Order } from "../types.js" */
/** @import { SnippetRequest, Where, Snippet } from "../state/order-snippets.js" */
/** @import { TicketOrder } from "./ticket-order.js" */

const ACTS = /** @type {const} */ ({ place: "Place one like it", query: "Ask for it", cancel: "Cancel it" });

/** @param {{where: () => Where, demo: () => boolean}} parts */
export function orderSnippets({ where, demo }) {
  /** The existing order, which snippets can query, too. @type {Order|null} */
  let order = null;
  /** @type {SnippetRequest|null} */
  let said = null;
  let protocol = "xml";

  const protocols = PROTOCOLS.map(({ id, name }) => {
    const button = make("button", { type: "button", "data-protocol": id }, name);
    button.addEventListener("click", () => {
      protocol = id;
      draw();
    });
    return button;
  });
  const { root, act, text, code, copy, run, note } = snippetElements(protocols);
  act.addEventListener("change", () => {
    if (!order) return;
    const chosen = act.value;
    said = chosen === "query" || chosen === "cancel" ? { act: chosen, order } : { act: "place", kind: "oco", orders: [termsOf(order)] };
    draw();
  });
  copy.addEventListener("click", () => copyText(code, copy));

  function draw() {
    if (!said) return;
    setText(copy, "Copy");
    act.hidden = order === null;
    const place = where();
    const chosen = words(said, place).find(({ id }) => id === protocol);
    for (const button of protocols) setAttribute(button, "aria-pressed", String(button.dataset.protocol === protocol));
    if (!chosen) return;
    text.hidden = copy.hidden = chosen.text === null;
    setText(code, chosen.text ?? "");
    setText(run, chosen.text === null ? "" : `Runs ${chosen.run}`);
    setText(note, chosen.why ?? needs(chosen, said, place, demo()));
    note.hidden = note.textContent === "";
  }

  return {
    root,
    /** @param {Order} about */
    order(about) {
      if (order?.order_id !== about.order_id) act.value = "place";
      order = about;
      act.dispatchEvent(new Event("change"));
    },
    /** @param {TicketOrder} draft */
    draft({ kind, orders }) {
      order = null;
      said = { act: "place", kind, orders: orders.map(unnamed) };
      draw();
    },
  };
}

/** The elements around a snippet: what it is to do and in which protocol, its text, and what that needs. @param {HTMLElement[]} protocols */
function snippetElements(protocols) {
  const act = make("select", { id: "said-act", "aria-label": "Request" }, ...Object.entries(ACTS).map(([value, name]) => make("option", { value }, name)));
  const code = make("code", { id: "said-code" });
  const text = make("pre", { class: "said-text", tabindex: "0", role: "region", "aria-label": "The text" }, code);
  const copy = make("button", { type: "button", id: "said-copy", class: "primary" }, "Copy");
  const run = make("p", { class: "muted said-run" });
  const note = make("p", { class: "note said-note" });
  const root = make(
    "div",
    { class: "said" },
    make("div", { class: "said-choices" }, make("div", { class: "segments", role: "group", "aria-label": "Protocol" }, ...protocols), act),
    text,
    note,
    make("div", { class: "said-foot" }, run, copy),
  );
  return { root, act, text, code, copy, run, note };
}

/** Copies a text, and says so on the button. @param {HTMLElement} code @param {HTMLElement} copy */
async function copyText(code, copy) {
  try {
    await navigator.clipboard.writeText(code.textContent ?? "");
    setText(copy, "Copied");
  } catch {
    // A page that came neither over TLS nor from this machine may not copy: it is marked, for the person to do so.
    getSelection()?.selectAllChildren(code);
    setText(copy, "Press Ctrl C");
  }
}

/** The programs and settings that a snippet needs. @param {Snippet} chosen @param {SnippetRequest} said @param {Where} where @param {boolean} demo */
function needs({ id }, said, { members, secure }, demo) {
  const account = said.act === "place" ? said.orders[0].account : said.order.account;
  const files =
    id === "xml"
      ? [...(members ? ["API_KEY and API_SECRET_FILE: your key, and the file of its secret"] : []), ...(secure ? ["CA_FILE: the server's certificate"] : [])]
      : [];
  if (id === "xml") return files.join("; ");
  if (id === "fix")
    return [...(members ? ["API_KEY and API_SECRET: a key of yours, and its secret"] : []), ...(secure ? ["CA_FILE: the server's certificate"] : [])].join(
      "; ",
    );
  if (members) return "API_KEY and API_SECRET: a key of yours, and its secret";
  if (id === "curl") return "";
  const key = `API_KEY and API_SECRET: a key of account ${account}, and its secret`;
  return demo
    ? `${key}; pricetime demo prints one for account 1`
    : `${key}; “pricetime keys add keys.toml --account ${account}” makes one, for “pricetime serve --keys keys.toml”`;
}
