// Lines that somebody draws on the chart: through two points that are pressed, or at a price that is typed. They are the symbol's, in every interval.

import { atLeast, group } from "../decimal.js";
import { find, setAttribute, setText } from "../dom.js";
import { lineList } from "./line-list.js";
import { linePlaces } from "./line-places.js";
import { notice } from "./notices.js";

/** @import { IChartApi, ISeriesApi } from "lightweight-charts" */
/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Drawn, Lines, Point } from "../state/studies.js" */
/** @import { Theme } from "../theme.js" */
/** @import { LinePlaces } from "./line-places.js" */

const WIDTH_PX = 1.5;
/** A press that moves further is none. */
const STILL_PX = 5;

/** @param {{chart: IChartApi, prices: ISeriesApi<"Candlestick">, times: () => number[], market: Market, quote: Quote, lines: Lines, frames: Frames, theme: Theme}} parts `times`: seconds of all places on the axis */
export function linesView({ chart, prices, times, market, quote, lines, frames, theme }) {
  const container = find("candles");
  const places = linePlaces({ chart, prices, times, market, container });
  const priceText = (/** @type {number} */ price) => group(atLeast(price.toFixed(quote.decimals), quote.decimals));
  const update = attachDrawing(prices, (context, { width }) => {
    context.strokeStyle = context.fillStyle = theme.colour("study-4");
    context.lineWidth = WIDTH_PX;
    context.font = `11px ${theme.colour("font")}`;
    for (const line of lines.of(market.symbol)) {
      if ("level" in line) drawLevel(context, width, places.height(line.level), priceText(line.level));
      else drawThrough(context, places, line.from, line.to);
    }
    const begun = pen.begun();
    if (begun) drawThrough(context, places, ...begun);
  });

  /** @param {Drawn} line */
  function add(line) {
    if (market.symbol && !lines.add(market.symbol, line)) notice("There is no room for another line: remove one first", "fault");
  }

  const pen = linePen({ container, places, add, update });
  const list = lineList({ add, remove: (line) => market.symbol && lines.remove(market.symbol, line), priceText });
  const mark = frames.view(() => {
    const here = lines.of(market.symbol);
    setAttribute(container, "data-drawn", String(here.length));
    list.draw(here);
    update();
  });
  let { symbol } = market;
  market.watch(() => {
    if (symbol !== market.symbol) {
      pen.stop();
      list.clear();
    }
    symbol = market.symbol;
    mark();
  });
  for (const watched of [lines, theme]) watched.watch(mark);
}

/**
 * The pointer that draws: the first press is where a line begins, the second where it ends.
 * @param {{container: HTMLElement, places: LinePlaces, add: (line: Drawn) => void, update: () => void}} parts
 */
function linePen({ container, places, add, update }) {
  const button = find("chart-line");
  /** The points that were pressed so far; null while nothing is drawn. @type {Point[]|null} */
  let points = null;
  /** The place of the pointer while a line is drawn. @type {Point|null} */
  let pointed = null;
  /** The place where a press began. @type {{x: number, y: number}|null} */
  let pressed = null;

  /** @param {Point[]|null} now */
  function become(now) {
    points = now;
    pointed = null;
    setAttribute(button, "aria-pressed", String(now !== null));
    setAttribute(container, "data-drawing", now === null ? null : String(now.length));
    setText(find("chart-line-note"), now === null ? "" : now.length === 0 ? "Press where the line begins; Esc ends it" : "Press where it ends");
    update();
  }

  // A press that moves pans the chart, also while a line is drawn.
  container.addEventListener("pointerdown", ({ clientX, clientY }) => (pressed = { x: clientX, y: clientY }));
  container.addEventListener("pointerup", (event) => {
    const moved = pressed ? Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) : Infinity;
    pressed = null;
    const point = points && moved <= STILL_PX ? places.point(event) : null;
    if (!points || !point) return;
    if (points.length === 0) return become([point]);
    add({ from: points[0], to: point });
    become(null);
  });
  container.addEventListener("pointermove", (event) => {
    if (points?.length !== 1) return;
    pointed = places.point(event);
    update();
  });
  button.addEventListener("click", () => become(points ? null : []));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && points) become(null);
  });

  return {
    stop: () => become(null),
    /** The ends of the line that is begun, the second where the pointer is. @returns {[Point, Point]|null} */
    begun: () => (points?.length === 1 && pointed ? [points[0], pointed] : null),
  };
}

/**
 * Draws over the candles whenever they are drawn.
 * @param {ISeriesApi<"Candlestick">} prices
 * @param {(context: CanvasRenderingContext2D, size: {width: number, height: number}) => void} paint
 * @returns {() => void} has it drawn anew
 */
function attachDrawing(prices, paint) {
  let update = () => {};
  const views = [
    {
      zOrder: () => /** @type {const} */ ("top"),
      renderer: () => ({
        draw: (/** @type {import("fancy-canvas").CanvasRenderingTarget2D} */ target) =>
          target.useMediaCoordinateSpace(({ context, mediaSize }) => paint(context, mediaSize)),
      }),
    },
  ];
  prices.attachPrimitive({ attached: ({ requestUpdate }) => (update = requestUpdate), paneViews: () => views });
  return () => update();
}

/** @param {CanvasRenderingContext2D} context @param {number} width @param {number|null} y @param {string} text */
function drawLevel(context, width, y, text) {
  if (y === null) return;
  stroke(context, 0, y, width, y);
  context.fillText(text, 6, y - 4);
}

/** @param {CanvasRenderingContext2D} context @param {LinePlaces} places @param {Point} from @param {Point} to */
function drawThrough(context, places, from, to) {
  const begin = places.pixels(from);
  const end = places.pixels(to);
  if (!begin || !end) return;
  stroke(context, ...begin, ...end);
  for (const [x, y] of [begin, end]) context.fillRect(x - 2.5, y - 2.5, 5, 5);
}

/** @param {CanvasRenderingContext2D} context @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function stroke(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
