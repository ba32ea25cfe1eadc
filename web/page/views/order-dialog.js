// The dialog about one order, or about the ticket's draft: its text in the protocols of the exchange.

import { find, make, setText } from "../dom.js";
import { duration } from "../format.js";
import { orderPanels } from "./order-panels.js";
import { orderSnippets } from "./order-snippets.js";
import { aboutOrder } from "./order-text.js";

/** @import { Journeys } from "../state/journeys.js" */
/** @import { Pair } from "../state/pair.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { Order, Session } from "../types.js" */
/** @import { Panel } from "./order-panels.js" */
/** @import { TicketOrder } from "./ticket-order.js" */

/**
 * @param {{pair: Pair, vitals: Vitals, replay: (symbol: string, time: number) => void, panels?: Panel[]}} parts `replay` shows the market of a past moment
 */
export function orderDialog({ pair, vitals, replay, panels = [] }) {
  let members = false;
  /** @type {Order|null} */
  let shown = null;
  const snippets = snippetsOn(vitals, () => members);
  /** @type {Panel} */
  const code = { id: "said", name: "In code", root: snippets.root, show: (order) => snippets.order(order) };
  const all = [...panels, code];
  const front = orderPanels(all, () => shown);
  const { dialog, title, about, then } = orderElements([front.tabList, ...all.map(({ root }) => root)]);

  /** @param {Order} order */
  function draw(order) {
    shown = order;
    setText(title, `Order ${order.order_id}`);
    setText(about, aboutOrder(order));
  }

  then.addEventListener("click", () => {
    const order = shown;
    dialog.close();
    if (order) replay(order.symbol, order.time);
  });
  pair.watch(() => {
    const newer = shown && pair.order(shown.order_id);
    if (!dialog.open || !newer || newer === shown) return;
    draw(newer);
    front.renew();
  });
  dialog.addEventListener("close", () => {
    shown = null;
    front.hide();
  });

  return {
    /** @param {Session|null} session who asks, where that counts */
    allow(session) {
      members = session?.members === true;
    },
    /** @param {Order} order @param {string} [tab] the one in front */
    open(order, tab) {
      if (tab) front.choose(tab);
      draw(order);
      front.tabList.hidden = then.hidden = false;
      front.begin();
      dialog.showModal();
      front.focus();
    },
    /** @param {TicketOrder} draft */
    openDraft(draft) {
      setText(title, draft.orders.length > 1 ? "These orders in code" : "This order in code");
      setText(about, "Nothing is sent: run it yourself");
      front.tabList.hidden = then.hidden = true;
      front.showAlone(code);
      snippets.draft(draft);
      dialog.showModal();
    },
  };
}

/**
 * The texts of orders for the server that the page comes from.
 * @param {Vitals} vitals
 * @param {() => boolean} members whether the server knows its members
 */
function snippetsOn(vitals, members) {
  return orderSnippets({
    where: () => ({
      host: location.host,
      hostname: location.hostname,
      secure: location.protocol === "https:",
      xml_port: vitals.server?.xml_port ?? null,
      fix_port: vitals.server?.fix_port ?? null,
      members: members(),
    }),
    demo: () => vitals.server?.demo === true,
  });
}

/** @param {HTMLElement[]} contents below the heads of the dialog */
function orderElements(contents) {
  const title = make("h2", { id: "order-title" });
  const about = make("p", { class: "muted order-about number" });
  const then = make("button", { id: "order-then", type: "button", class: "order-id" }, "The market when it was placed");
  const close = make("button", { type: "button", class: "quiet icon", "data-close": true, "aria-label": "Close" }, "×");
  const dialog = make(
    "dialog",
    { id: "order", class: "dialog order", "aria-labelledby": "order-title" },
    make("header", {}, make("div", {}, title, about, then), close),
    ...contents,
  );
  document.body.append(dialog);
  return { dialog, title, about, then };
}

/**
 * The time of the order that was placed last, beside the ticket's words about it.
 * @param {{pair: Pair, journeys: Journeys, open: (order: Order, tab: string) => void}} parts
 */
export function lastJourney({ pair, journeys, open }) {
  const line = find("ticket-journey");
  const button = make("button", { type: "button", class: "order-id", "aria-haspopup": "dialog" });
  line.append(button);
  journeys.watch(() => {
    const journey = journeys.last === null ? null : journeys.of(journeys.last);
    line.hidden = journey === null;
    if (journey) setText(button, `Durable in ${duration(journey.durable * 1000)}, answered in ${duration(journey.took * 1000)}`);
  });
  button.addEventListener("click", () => {
    const order = journeys.last === null ? undefined : pair.order(journeys.last);
    if (order) open(order, "way");
  });
}
