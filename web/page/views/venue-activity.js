// The activity of accounts or of a member on the venue: their last orders, and new ones as they come.

import { find, make, setText } from "../dom.js";
import { group } from "../decimal.js";
import { timeOfDay } from "../format.js";
import { PAST } from "../state/activity.js";
import { keptRows } from "./confirm-button.js";

/** @import { Frames } from "../frames.js" */
/** @import { Activity } from "../state/activity.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { DropCopyReport } from "../types.js" */

const REPORTS_MAX = 100;
const PAUSE_MS = 250;

/**
 * @param {{activity: Activity, quote: Quote, frames: Frames}} parts
 * @returns {{show: () => void}}
 */
export function venueActivity({ activity, quote, frames }) {
  const stop = find("control-activity-stop");
  const drawRows = keptRows(find("control-activity"), {
    key: (/** @type {DropCopyReport} */ { account, report: { sequence, report, order_id, side } }) => `${sequence} ${report} ${order_id} ${side} ${account}`,
    version: () => "once",
    make: ({ account, report }) => [
      make("span", { class: "muted number" }, timeOfDay(report.time)),
      make("span", { class: "control-text" }, reportText(account, report, quote)),
    ],
  });
  const mark = frames.view(() => {
    if (find("control").hidden) return;
    drawRows(activity.reports.slice(0, REPORTS_MAX));
    stop.hidden = activity.whose === null;
    setText(find("control-activity-whose"), activity.whose === null ? "" : `of ${activity.whose}`);
    setText(find("control-activity-note"), activity.refused ?? noteOf(activity));
  }, PAUSE_MS);
  stop.addEventListener("click", () => activity.stop());
  activity.watch(mark);
  return { show: mark };
}

/** The note beneath the list. @param {Pick<Activity, "whose"|"reports"|"from">} activity */
export function noteOf({ whose, reports, from }) {
  if (whose === null) return "“Watch” beside an account or a member shows what it does: its last orders, and new ones as they come";
  if (reports.length > 0) return "";
  if (from === null) return "Nothing since you watch. What was before cannot be listed";
  return from === 0 ? "Nothing yet" : `Nothing among the ${group(String(PAST))} commands before, and nothing since`;
}

/** @param {string} account @param {DropCopyReport["report"]} report @param {Quote} quote */
function reportText(account, { report, order_id, symbol, side, shares, limit, price, why }, quote) {
  const at = price ? ` at ${quote.price(price, symbol)}` : limit ? ` at ${quote.price(limit, symbol)}` : "";
  return `${account}: order ${order_id} ${report}, ${side}${shares ? ` ${group(shares)}` : ""} ${symbol}${at}${why ? ` (${why.replaceAll("_", " ")})` : ""}`;
}
