// The depth of the book: how many shares up to each price, on both sides. Drawn on a canvas, so in Numbers.

import { atLeast, format, forDrawing, group } from "../decimal.js";
import { find, setAttribute, setText } from "../dom.js";
import { count } from "../format.js";

/** @import { Frames } from "../frames.js" */
/** @import { Level } from "../state/book.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Theme } from "../theme.js" */

/** Levels a side that are drawn. */
const LEVELS = 60;
/** Room beneath for prices. */
const FOOT_PX = 18;
const PADDING_PX = 6;
const LABEL_PX = 12;
/** Lines of the axis of shares are no closer. */
const LINES_PX = 34;

/** A canvas is costly, and a curve is no faster understood. */
const PAUSE_MS = 100;

/** @typedef {{price: number, total: number, level: Level, exact: bigint}} Step */

/** @param {{market: Market, quote: Quote, frames: Frames, theme: Theme}} parts */
export function depthView({ market, quote, frames, theme }) {
  const canvas = /** @type {HTMLCanvasElement} */ (find("depth"));
  const context = canvas.getContext("2d");
  const legend = find("depth-legend");
  const note = find("depth-note");
  if (!context) return;
  let colours = paint();
  let width = 0;
  let height = 0;
  /** @type {number|null} */
  let pointed = null;
  let described_at = -Infinity;

  function paint() {
    return {
      buy: theme.colour("buy"),
      sell: theme.colour("sell"),
      buyArea: theme.colour("buy-area"),
      sellArea: theme.colour("sell-area"),
      text: theme.colour("muted"),
      grid: theme.colour("line"),
      font: theme.colour("font"),
    };
  }

  const mark = frames.view(() => {
    const bids = steps(market.book.bids);
    const asks = steps(market.book.asks);
    const empty = bids.length + asks.length === 0;
    note.hidden = !empty;
    setText(note, market.book.state === "waiting" ? "Loading…" : "No open orders");
    context.clearRect(0, 0, canvas.width, canvas.height);
    if (empty || width === 0) return legend.replaceChildren();
    const { decimals } = quote;
    const scale = scaleOf(bids, asks, width, height);
    steepness();
    area(bids, colours.buy, colours.buyArea, 0);
    area(asks, colours.sell, colours.sellArea, width);
    axis();
    point();
    describe();

    /** @param {Step[]} side @param {string} line @param {string} fill @param {number} edge where it ends */
    function area(side, line, fill, edge) {
      if (!context || side.length === 0) return;
      const floor = height - FOOT_PX;
      context.beginPath();
      context.moveTo(scale.x(side[0].price), floor);
      let y = floor;
      for (const step of side) {
        context.lineTo(scale.x(step.price), y);
        y = scale.y(step.total);
        context.lineTo(scale.x(step.price), y);
      }
      context.lineTo(edge, y);
      context.strokeStyle = line;
      context.lineWidth = 1.5;
      context.stroke();
      context.lineTo(edge, floor);
      context.closePath();
      context.fillStyle = fill;
      context.fill();
    }

    /** Lines at round numbers of shares, with what they are. */
    function steepness() {
      if (!context) return;
      context.font = `11px ${colours.font}`;
      context.textBaseline = "bottom";
      context.textAlign = "left";
      context.lineWidth = 1;
      context.strokeStyle = colours.grid;
      context.fillStyle = colours.text;
      for (const shares of roundSteps(scale.most, Math.max(1, Math.floor((height - FOOT_PX) / LINES_PX)))) {
        const y = Math.round(scale.y(shares)) + 0.5;
        context.beginPath();
        context.moveTo(0, y);
        context.lineTo(width, y);
        context.stroke();
        // One at the very top would be cut.
        if (y > LABEL_PX) context.fillText(count(shares), PADDING_PX, y - 1);
      }
    }

    function axis() {
      if (!context) return;
      context.fillStyle = colours.text;
      context.font = `11px ${colours.font}`;
      context.textBaseline = "bottom";
      const label = (/** @type {number} */ price, /** @type {CanvasTextAlign} */ align, /** @type {number} */ x) => {
        context.textAlign = align;
        context.fillText(price.toFixed(decimals), x, height - 3);
      };
      label(scale.low, "left", PADDING_PX);
      label((scale.low + scale.high) / 2, "center", width / 2);
      label(scale.high, "right", width - PADDING_PX);
    }

    function point() {
      if (pointed === null) return legend.replaceChildren();
      const price = scale.price(pointed);
      const side = bids.length > 0 && (asks.length === 0 || price <= (bids[0].price + asks[0].price) / 2) ? bids : asks;
      const step = side.findLast((each) => (side === bids ? each.price >= price : each.price <= price)) ?? side[0];
      if (!context || !step) return;
      const x = scale.x(step.price);
      context.strokeStyle = colours.text;
      context.lineWidth = 1;
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height - FOOT_PX);
      context.stroke();
      context.setLineDash([]);
      setText(legend, `${group(format(step.exact))} to ${group(atLeast(step.level.limit, decimals))}`);
    }

    /** The chart in words for screen readers, every few seconds, because more could not be listened to. */
    function describe() {
      if (performance.now() - described_at < 3_000) return;
      described_at = performance.now();
      const words = (/** @type {Step|undefined} */ step) => (step ? `${format(step.exact)} shares to ${step.level.limit}` : "none");
      setAttribute(canvas, "aria-label", `Depth of the book: buy orders ${words(bids.at(-1))}, sell orders ${words(asks.at(-1))}`);
    }
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
    colours = paint();
    mark();
  });
  market.book.watch(mark);
}

/** @param {Level[]} levels best first @returns {Step[]} */
function steps(levels) {
  let exact = 0n;
  return levels.slice(0, LEVELS).map((level) => {
    exact += level.amount;
    return { price: forDrawing(level.limit), total: forDrawing(format(exact)), level, exact };
  });
}

/** Round numbers up to the most: 1, 2 or 5 times a power of ten apart. @param {number} most @param {number} lines at most */
function roundSteps(most, lines) {
  const power = 10 ** Math.floor(Math.log10(most / lines));
  const step = power * ([1, 2, 5, 10].find((each) => most / (power * each) <= lines) ?? 10);
  return Array.from({ length: Math.floor(most / step) }, (_, at) => (at + 1) * step);
}

/** @param {Step[]} bids @param {Step[]} asks @param {number} width @param {number} height */
function scaleOf(bids, asks, width, height) {
  const middle = bids.length > 0 && asks.length > 0 ? (bids[0].price + asks[0].price) / 2 : (bids[0] ?? asks[0]).price;
  // As far to both sides as most of the shares reach: a few small orders far away do not squeeze all others into a line.
  const far = [bids, asks]
    .filter((side) => side.length > 0)
    .map((side) => {
      const most = (side.at(-1)?.total ?? 0) * 0.95;
      return Math.abs((side.find(({ total }) => total >= most) ?? side[0]).price - middle);
    });
  const reach = Math.max(...far, middle * 0.0005) * 1.05;
  const low = middle - reach;
  const high = middle + reach;
  const seen = [...bids, ...asks].filter(({ price }) => price >= low && price <= high);
  const most = Math.max(...seen.map(({ total }) => total), 1e-8) * 1.1;
  const floor = height - FOOT_PX;
  return {
    low,
    high,
    most,
    x: (/** @type {number} */ price) => ((price - low) / (high - low)) * width,
    y: (/** @type {number} */ total) => floor - (total / most) * (floor - PADDING_PX),
    price: (/** @type {number} */ x) => low + (x / width) * (high - low),
  };
}
