// The panels of the order's dialog, one in front of the others. Each shows a part of the order.

import { find, make, setAttribute } from "../dom.js";
import { tabs } from "./tabs.js";

/** @import { Order } from "../types.js" */

/**
 * A panel of the dialog, which shows a part of an order from its opening until it is closed.
 * @typedef {object} Panel
 * @property {string} id
 * @property {string} name
 * @property {HTMLElement} root
 * @property {(order: Order) => void} show
 * @property {() => void} [hide]
 */

/** The tabs above the panels. @param {Panel[]} panels */
function tabListOf(panels) {
  const buttons = panels.map(({ id, name, root }, at) => {
    root.id = `panel-${id}`;
    setAttribute(root, "role", "tabpanel");
    setAttribute(root, "aria-labelledby", `tab-${id}`);
    return make(
      "button",
      { role: "tab", type: "button", id: `tab-${id}`, "aria-controls": root.id, "aria-selected": String(at === 0), tabindex: at === 0 ? null : "-1" },
      name,
    );
  });
  return make("div", { class: "tabs", role: "tablist", "aria-label": "Order" }, ...buttons);
}

/** @param {Panel[]} panels @param {() => Order|null} shown the order that they show */
export function orderPanels(panels, shown) {
  const tabList = tabListOf(panels);
  /** The tab that was used last is in front the next time. */
  let chosen = panels[0].id;
  tabs(tabList, (id) => {
    chosen = id.replace(/^tab-/, "");
    begin();
  });

  function begin() {
    const order = shown();
    if (!order) return;
    for (const { id, root, show, hide } of panels) {
      root.hidden = id !== chosen;
      if (id === chosen) show(order);
      else hide?.();
    }
  }

  return {
    tabList,
    /** Shows the order from its opening. */
    begin,
    /** Shows the order as it is now. */
    renew() {
      const order = shown();
      if (order) panels.find(({ id }) => id === chosen)?.show(order);
    },
    hide() {
      for (const { hide } of panels) hide?.();
    },
    /** @param {Panel} panel */
    showAlone(panel) {
      for (const { root } of panels) root.hidden = root !== panel.root;
    },
    /** @param {string} id of the panel that comes to the front */
    choose(id) {
      find(`tab-${id}`).click();
    },
    focus() {
      find(`tab-${chosen}`).focus();
    },
  };
}
