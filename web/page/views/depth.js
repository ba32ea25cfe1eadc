// The depth of the book: how many shares up to each price, on both sides. Drawn on a canvas, so in Numbers.

import { atLeast, format, group } from "../decimal.js";
import { find, setAttribute, setText } from "../dom.js";
import { depthColours, drawPointer, drawPrices, drawShares, drawSide } from "./depth-drawing.js";
import { scaleOf, stepAt, stepsOf } from "./depth-scale.js";

/** @import { Frames } from "../frames.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Step } from "./depth-scale.js" */

/** A canvas is costly, and a curve is no faster understood. */
const PAUSE_MS = 100;

/** The chart is put into words no more often: more could not be listened to. */
const WORDS_PAUSE_MS = 3_000;

/** @param {{market: Market, quote: Quote, frames: Frames, theme: Theme}} parts */
export function depthView({ market, quote, frames, theme }) {
  const canvas = /** @type {HTMLCanvasElement} */ (find("depth"));
  const context = canvas.getContext("2d");
  const legend = find("depth-legend");
  const note = find("depth-note");
  if (!context) return;
  let colours = depthColours(theme);
  let width = 0;
  let height = 0;
  /** @type {number|null} */
  let pointed = null;
  let described_at = -Infinity;

  const mark = frames.view(() => {
    const bids = stepsOf(market.book.bids);
    const asks = stepsOf(market.book.asks);
    const empty = bids.length + asks.length === 0;
    note.hidden = !empty;
    setText(note, market.book.state === "waiting" ? "Loading…" : "No open orders");
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (empty || width === 0) return legend.replaceChildren();
    const drawing = { context, scale: scaleOf(bids, asks, width, height), colours, width, height };
    drawShares(drawing);
    drawSide(drawing, bids, colours.buy, colours.buyArea, 0);
    drawSide(drawing, asks, colours.sell, colours.sellArea, width);
    drawPrices(drawing, quote.decimals);
    const step = pointed === null ? undefined : stepAt(bids, asks, drawing.scale.price(pointed));
    if (step) {
      drawPointer(drawing, step);
      setText(legend, `${group(format(step.exact))} to ${group(atLeast(step.level.limit, quote.decimals))}`);
    } else legend.replaceChildren();
    if (performance.now() - described_at < WORDS_PAUSE_MS) return;
    described_at = performance.now();
    setAttribute(canvas, "aria-label", inWords(bids, asks));
  }, PAUSE_MS);

  new ResizeObserver(([entry]) => {
    ({ width, height } = entry.contentRect);
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    mark();
  }).observe(canvas);
  canvas.addEventListener("pointermove", (event) => {
    pointed = event.offsetX;
    mark();
  });
  canvas.addEventListener("pointerleave", () => {
    pointed = null;
    mark();
  });
  theme.watch(() => {
    colours = depthColours(theme);
    mark();
  });
  market.book.watch(mark);
}

/** The chart in words, for screen readers. @param {Step[]} bids @param {Step[]} asks */
function inWords(bids, asks) {
  const words = (/** @type {Step|undefined} */ step) => (step ? `${format(step.exact)} shares to ${step.level.limit}` : "none");
  return `Depth of the book: buy orders ${words(bids.at(-1))}, sell orders ${words(asks.at(-1))}`;
}
