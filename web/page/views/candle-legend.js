// The legend of the chart: the exact figures of the candle under the pointer, or of the last one.

import { atLeast, forDrawing, group } from "../decimal.js";
import { find, make } from "../dom.js";

/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */

/**
 * @param {{market: Market, quote: Quote, frames: Frames}} parts
 * @returns {{mark: () => void, point: (time_s: number|null) => void}} to be told what is under the pointer, in seconds; null for the last candle
 */
export function candleLegend({ market, quote, frames }) {
  const legend = find("legend");
  let legendShown = "";
  /** @type {number|null} */
  let pointed = null;

  const mark = frames.view(() => {
    const all = market.candles.all;
    const found = pointed === null ? all.at(-1) : all.findLast(({ start }) => start / 1_000_000 === pointed);
    const candle = found && found === all.at(-1) ? quote.upToDate(found) : found;
    if (!candle) {
      legendShown = "";
      return legend.replaceChildren(all.length > 0 ? "No trades" : "");
    }
    const rises = forDrawing(candle.close) >= forDrawing(candle.open);
    const told = `${candle.start} ${candle.volume} ${candle.close} ${quote.decimals}`;
    if (told === legendShown) return;
    legendShown = told;
    const show = (/** @type {string} */ text) => group(atLeast(text, quote.decimals));
    legend.replaceChildren(
      ...legendPart("O", show(candle.open)),
      ...legendPart("H", show(candle.high)),
      ...legendPart("L", show(candle.low)),
      ...legendPart("C", `${show(candle.close)} ${rises ? "▲" : "▼"}`, rises ? "up" : "down"),
      ...legendPart("V", group(candle.volume)),
    );
  });

  return {
    mark,
    point(time_s) {
      pointed = time_s;
      mark();
    },
  };
}

/** @param {string} name @param {string} value @param {string|null} [direction] */
function legendPart(name, value, direction = null) {
  return [make("span", { class: "muted" }, `${name} `), make("span", { "data-direction": direction }, `${value} `)];
}
