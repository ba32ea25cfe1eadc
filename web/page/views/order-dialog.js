// The dialog about one order, or about the ticket's draft: its text in the protocols of the exchange.

import { find, make, setAttribute, setText } from "../dom.js";
import { group } from "../decimal.js";
import { duration } from "../format.js";
import { orderSnippets } from "./order-snippets.js";
import { tabs } from "./tabs.js";

/** @import { Journeys } from "../state/journeys.js" */
/** @import { Pair } from "../state/pair.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { ListKind, NewOrder, Order, Session } from "../types.js" */

/** Orders that would be placed. @typedef {{kind: ListKind, orders: NewOrder[]}} Draft */

/**
 * A panel of the dialog, which shows a part of an order from its opening until it is closed.
 * @typedef {object} Panel
 * @property {string} id
 * @property {string} name
 * @property {HTMLElement} root
 * @property {(order: Order) => void} show
 * @property {() => void} [hide]
 */

/**
 * @param {{pair: Pair, vitals: Vitals, replay: (symbol: string, time: number) => void, panels?: Panel[]}} parts `replay` shows the market of a past moment
 */
export function orderDialog({ pair, vitals, replay, panels = [] }) {
  let members = false;
  const title = make("h2", { id: "order-title" });
  const about = make("p", { class: "muted order-about number" });
  const then = make("button", { id: "order-then", type: "button", class: "order-id" }, "The market when it was placed");
  const said = orderSnippets({
    where: () => ({
      host: location.host,
      hostname: location.hostname,
      secure: location.protocol === "https:",
      xml_port: vitals.server?.xml_port ?? null,
      fix_port: vitals.server?.fix_port ?? null,
      members,
    }),
    demo: () => vitals.server?.demo === true,
  });
  /** @type {Panel[]} */
  const all = [...panels, { id: "said", name: "In code", root: said.root, show: (order) => said.order(order) }];
  const tabList = make(
    "div",
    { class: "tabs", role: "tablist", "aria-label": "Order" },
    ...all.map(({ id, name }, at) =>
      make(
        "button",
        { role: "tab", type: "button", id: `tab-${id}`, "aria-controls": `panel-${id}`, "aria-selected": String(at === 0), tabindex: at === 0 ? null : "-1" },
        name,
      ),
    ),
  );
  for (const { id, root } of all) {
    root.id = `panel-${id}`;
    setAttribute(root, "role", "tabpanel");
    setAttribute(root, "aria-labelledby", `tab-${id}`);
  }
  const close = make("button", { type: "button", class: "quiet icon", "data-close": true, "aria-label": "Close" }, "×");
  const dialog = make(
    "dialog",
    { id: "order", class: "dialog order", "aria-labelledby": "order-title" },
    make("header", {}, make("div", {}, title, about, then), close),
    tabList,
    ...all.map(({ root }) => root),
  );
  document.body.append(dialog);

  /** @type {Order|null} */
  let shown = null;
  /** The tab that was used last is in front the next time. */
  let chosen = all[0].id;
  tabs(tabList, (id) => {
    chosen = id.replace(/^tab-/, "");
    if (shown) begin(shown);
  });

  /** @param {Order} order */
  function begin(order) {
    for (const { id, root, show, hide } of all) {
      root.hidden = id !== chosen;
      if (id === chosen) show(order);
      else hide?.();
    }
  }

  /** @param {Order} order */
  function draw(order) {
    setText(title, `Order ${order.order_id}`);
    setText(
      about,
      `${order.side === "buy" ? "▲ Buy" : "▼ Sell"} ${group(order.shares)} ${order.symbol} at ${order.limit === null ? "any price" : group(order.limit)}: ${statusOf(order)}`,
    );
  }

  then.addEventListener("click", () => {
    const order = shown;
    dialog.close();
    if (order) replay(order.symbol, order.time);
  });
  pair.watch(() => {
    const newer = shown && pair.order(shown.order_id);
    if (!dialog.open || !newer || newer === shown) return;
    shown = newer;
    draw(newer);
    all.find(({ id }) => id === chosen)?.show(newer);
  });
  dialog.addEventListener("close", () => {
    shown = null;
    for (const { hide } of all) hide?.();
  });

  return {
    /** @param {Session|null} session who asks, where that counts */
    allow(session) {
      members = session?.members === true;
    },
    /** @param {Order} order @param {string} [tab] the one in front */
    open(order, tab) {
      if (tab) find(`tab-${tab}`).click();
      shown = order;
      draw(order);
      tabList.hidden = then.hidden = false;
      begin(order);
      dialog.showModal();
      find(`tab-${chosen}`).focus();
    },
    /** @param {Draft} draft */
    openDraft(draft) {
      setText(title, draft.orders.length > 1 ? "These orders in code" : "This order in code");
      setText(about, "Nothing is sent: run it yourself");
      tabList.hidden = then.hidden = true;
      for (const { root } of all) root.hidden = root !== said.root;
      said.draft(draft);
      dialog.showModal();
    },
  };
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

/** @param {Order} order */
function statusOf(order) {
  if (order.status !== "open") return order.status;
  if (order.pends_on !== undefined) return `waits for order ${order.pends_on}`;
  return order.waits ? "waits for its price" : `${group(order.open)} open`;
}
