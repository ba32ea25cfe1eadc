// The tape: trades, newest first, coloured and signed by their aggressor. Rows keep their elements.

import { atLeast, group, places } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { timeOfDay } from "../format.js";

/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */

const ROWS = 60;

/** @param {{market: Market, frames: Frames}} parts */
export function tapeView({ market, frames }) {
  const list = find("tape");
  const note = find("tape-note");
  const rows = Array.from({ length: ROWS }, () => {
    const price = make("span", { class: "level-price" });
    const shares = make("span");
    const time = make("span", { class: "muted" });
    const item = make("li", { hidden: true }, price, shares, time);
    return { item, price, shares, time, shown: "" };
  });
  list.append(...rows.map(({ item }) => item));

  const mark = frames.view(() => {
    const { trades, state } = market.tape;
    const decimals = trades.slice(0, ROWS).reduce((most, { price }) => Math.max(most, places(price)), 2);
    rows.forEach((row, at) => {
      const trade = trades[at];
      row.item.hidden = !trade;
      if (!trade) return;
      const shown = `${trade.trade_id} ${decimals}`;
      if (shown === row.shown) return;
      row.shown = shown;
      setAttribute(row.item, "data-direction", trade.aggressor === "buy" ? "up" : "down");
      setText(row.price, `${trade.aggressor === "buy" ? "▲" : "▼"} ${group(atLeast(trade.price, decimals))}`);
      setText(row.shares, group(trade.shares));
      setText(row.time, timeOfDay(trade.time));
    });
    note.hidden = trades.length > 0;
    setText(note, state === "waiting" ? "Loading trades…" : "No trades yet");
    setAttribute(list, "data-last", String(trades[0]?.trade_id ?? ""));
  });
  market.tape.watch(mark);
}
