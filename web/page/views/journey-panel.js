// One order is followed through the server: what each room did with it, and how long that took.

import { duration } from "../format.js";
import { make, setAttribute, setText } from "../dom.js";
import { takenText } from "./order-text.js";

/** @import { Journeys, Part } from "../state/journeys.js" */
/** @import { Pair } from "../state/pair.js" */
/** @import { Order } from "../types.js" */
/** @import { Panel } from "./order-panels.js" */

/** @type {[Part, string, string][]} */
const ROOMS = [
  ["wire", "Wire", "From this browser to the server, and the answer's way back"],
  ["read", "Gateway", "Reads the request, checks who asks and what, and hands it in, together with what came at the same moment"],
  ["wait", "Inbox", "Waits until the turn before is over: one thread does all commands, one turn after the other"],
  ["write", "Journal", "Everything that waited gets its number and one time, and is written to the end of the journal"],
  ["sync", "Disk", "The disk confirms that it has it. From here on the order is durable, and only now anybody may act on it"],
  ["apply", "Engine", ""],
  ["commit", "Database", "Commits the order and all that came of it as one transaction. From here on it is durable"],
  ["reply", "Reply", "The market's subscribers get the news, and the server writes the answer"],
];

const ms = (/** @type {number} */ time) => duration(Math.max(time, 0.001) * 1000);

/** @param {{pair: Pair, journeys: Journeys}} parts @returns {Panel} */
export function journeyPanel({ pair, journeys }) {
  const sum = make("p", { id: "way-sum", class: "way-sum" });
  const list = make("ol", { id: "way-rooms", class: "way", "aria-label": "The rooms that the order went through" });
  const note = make("p", { class: "note said-note" });
  const root = make("div", { class: "way-panel" }, sum, list, note);
  const rooms = ROOMS.map(([part, name, what]) => {
    const bar = make("i", { class: "way-bar", "data-part": part });
    const time = make("span", { class: "way-time number" });
    const text = make("span", { class: "way-what muted" }, what);
    const item = make("li", {}, make("b", {}, name), time, make("span", { class: "way-track", "aria-hidden": "true" }, bar), text);
    list.append(item);
    return { part, item, bar, time, text };
  });

  /** @param {Order} order */
  function show(order) {
    const journey = journeys.of(order.order_id);
    list.hidden = sum.hidden = journey === null;
    setText(note, journey ? "" : "Times are known for the last orders that the ticket has placed since the page was opened");
    note.hidden = journey !== null;
    if (!journey) return;
    setText(sum, `Durable ${ms(journey.durable)} after the server had it; the answer was here ${ms(journey.took)} after it was sent`);
    let begun = 0;
    for (const { part, item, bar, time, text } of rooms) {
      const took = journey.parts[part];
      item.hidden = took === undefined;
      if (took === undefined) continue;
      setText(time, ms(took));
      if (part === "apply") setText(text, engineOf(order));
      // Half of the wire is the way there: which half nobody can tell.
      const share = (/** @type {number} */ of) => (of / journey.took) * 100;
      bar.style.marginLeft = `${part === "wire" ? 0 : share(begun)}%`;
      bar.style.width = `${Math.max(share(took), 0.5)}%`;
      if (part === "wire") begun = took / 2;
      else begun += took;
      setAttribute(bar, "data-durable", part === "sync" || part === "commit");
    }
  }

  /** The engine's part of the order's way. @param {Order} order */
  function engineOf(order) {
    const there = order.waits || order.pends_on !== undefined ? "and lets it wait" : "and matches it with the other side of the book";
    return `Holds what the order may cost ${there}. ${takenText(order, pair.executionsOf(order.order_id))}`;
  }

  return { id: "way", name: "Its way", root, show };
}
