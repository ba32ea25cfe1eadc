// Lines that somebody draws on the chart: through two points that are pressed, or at a price that is typed. They are the symbol's, in every interval.

import { atLeast, fault, forDrawing, group, plain } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { SECONDS_OF } from "../state/quote.js";
import { notice } from "./notices.js";

/** @import { IChartApi, ISeriesApi, Logical } from "lightweight-charts" */
/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Drawn, Lines, Point } from "../state/studies.js" */
/** @import { Theme } from "../theme.js" */

const WIDTH_PX = 1.5;
/** A press that moves further is none. */
const STILL_PX = 5;

/** @param {{chart: IChartApi, prices: ISeriesApi<"Candlestick">, times: () => number[], market: Market, quote: Quote, lines: Lines, frames: Frames, theme: Theme}} parts `times`: seconds of all places on the axis */
export function linesView({ chart, prices, times, market, quote, lines, frames, theme }) {
  const container = find("candles");
  const button = find("chart-line");
  /** Pressing it draws: the points that were pressed so far; null when it does not. @type {Point[]|null} */
  let drawing = null;
  /** The place of the pointer while a line is drawn. @type {Point|null} */
  let pointed = null;
  /** The place where a press began. @type {{x: number, y: number}|null} */
  let pressed = null;
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

  /** @param {CanvasRenderingContext2D} context @param {{width: number, height: number}} size */
  function paint(context, { width }) {
    context.strokeStyle = context.fillStyle = theme.colour("study-4");
    context.lineWidth = WIDTH_PX;
    context.font = `11px ${theme.colour("font")}`;
    for (const line of lines.of(market.symbol)) {
      if ("level" in line) {
        const y = prices.priceToCoordinate(line.level);
        if (y === null) continue;
        stroke(context, 0, y, width, y);
        context.fillText(textOf(line.level), 6, y - 4);
      } else through(context, line.from, line.to);
    }
    if (drawing?.length === 1 && pointed) through(context, drawing[0], pointed);
  }

  /** @param {CanvasRenderingContext2D} context @param {Point} from @param {Point} to */
  function through(context, from, to) {
    const [x1, y1, x2, y2] = [xOf(from.time), prices.priceToCoordinate(from.price), xOf(to.time), prices.priceToCoordinate(to.price)];
    if (x1 === null || y1 === null || x2 === null || y2 === null) return;
    stroke(context, x1, y1, x2, y2);
    for (const [x, y] of [
      [x1, y1],
      [x2, y2],
    ])
      context.fillRect(x - 2.5, y - 2.5, 5, 5);
  }

  /** The place of a moment on the axis, also between two candles and beyond the last. @param {number} time */
  function xOf(time) {
    const all = times();
    if (all.length === 0) return null;
    const span = SECONDS_OF[market.interval];
    let low = 0;
    let high = all.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (all[middle] <= time) low = middle + 1;
      else high = middle;
    }
    const [before, after] = [all[low - 1], all[low]];
    const logical =
      before === undefined ? (time - all[0]) / span : after === undefined ? low - 1 + (time - before) / span : low - 1 + (time - before) / (after - before);
    return chart.timeScale().logicalToCoordinate(/** @type {Logical} */ (logical));
  }

  /** @param {PointerEvent} event @returns {Point|null} */
  function pointOf({ clientX, clientY }) {
    const all = times();
    const { left, top } = container.getBoundingClientRect();
    const price = prices.coordinateToPrice(clientY - top);
    const logical = chart.timeScale().coordinateToLogical(clientX - left);
    if (logical === null || price === null || all.length === 0 || clientX - left > chart.timeScale().width()) return null;
    const span = SECONDS_OF[market.interval];
    const last = all.length - 1;
    const at = Math.round(logical);
    const time = at < 0 ? all[0] + at * span : at > last ? all[last] + (at - last) * span : all[at];
    return { time, price };
  }

  /** @param {Point[]|null} points */
  function become(points) {
    drawing = points;
    pointed = null;
    setAttribute(button, "aria-pressed", String(points !== null));
    setAttribute(container, "data-drawing", points === null ? null : String(points.length));
    setText(find("chart-line-note"), points === null ? "" : points.length === 0 ? "Press where the line begins; Esc ends it" : "Press where it ends");
    update();
  }

  /** @param {Drawn} line */
  function add(line) {
    if (market.symbol && !lines.add(market.symbol, line)) notice("There is no room for another line: remove one first", "fault");
  }

  // A press that moves pans the chart, also while a line is drawn.
  container.addEventListener("pointerdown", ({ clientX, clientY }) => (pressed = { x: clientX, y: clientY }));
  container.addEventListener("pointerup", (event) => {
    const moved = pressed ? Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) : Infinity;
    pressed = null;
    const point = drawing && moved <= STILL_PX ? pointOf(event) : null;
    if (!drawing || !point) return;
    if (drawing.length === 0) return become([point]);
    add({ from: drawing[0], to: point });
    become(null);
  });
  container.addEventListener("pointermove", (event) => {
    if (drawing?.length !== 1) return;
    pointed = pointOf(event);
    update();
  });
  button.addEventListener("click", () => become(drawing ? null : []));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && drawing) become(null);
  });

  const form = /** @type {HTMLFormElement} */ (find("level-form"));
  const input = /** @type {HTMLInputElement} */ (find("level-price"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const price = plain(input.value);
    const wrong = fault(price, "Price");
    setText(find("level-price-fault"), wrong ?? "");
    setAttribute(input, "aria-invalid", wrong === null ? null : "true");
    if (wrong !== null) return;
    add({ level: forDrawing(price) });
    input.value = "";
  });

  const list = find("line-list");
  const textOf = (/** @type {number} */ price) => group(atLeast(price.toFixed(quote.decimals), quote.decimals));
  const mark = frames.view(() => {
    const here = lines.of(market.symbol);
    setAttribute(container, "data-drawn", String(here.length));
    list.replaceChildren(
      ...here.map((line) => {
        const text = "level" in line ? `at ${textOf(line.level)}` : `${textOf(line.from.price)} to ${textOf(line.to.price)}`;
        const remove = make("button", { type: "button", class: "quiet icon", "aria-label": `Remove the line ${text}` }, "×");
        remove.addEventListener("click", () => {
          if (market.symbol) lines.remove(market.symbol, line);
          input.focus();
        });
        return make("li", {}, make("span", { class: "number" }, text), remove);
      }),
    );
    update();
  });
  let symbol = market.symbol;
  market.watch(() => {
    if (symbol !== market.symbol) become(null);
    symbol = market.symbol;
    mark();
  });
  for (const watched of [lines, theme]) watched.watch(mark);
}

/** @param {CanvasRenderingContext2D} context @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 */
function stroke(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}
