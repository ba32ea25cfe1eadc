// A curve over time on a canvas, with the highest and lowest of it, and what is under the pointer. Drawn in Numbers; what is told is text.

import { setAttribute, setText } from "../dom.js";
import { dayAndTime } from "../format.js";

/** @import { Frames } from "../frames.js" */
/** @import { Theme } from "../theme.js" */

/** A place of the curve, in microseconds. @typedef {{x: number, y: number, told: string}} Point */

const FOOT_PX = 16;
const HEAD_PX = 14;

/**
 * @param {{canvas: HTMLCanvasElement, readout: HTMLElement, theme: Theme, frames: Frames}} parts
 * @returns {(points: Point[]) => void} draws these
 */
export function curveView({ canvas, readout, theme, frames }) {
  const context = canvas.getContext("2d");
  /** @type {Point[]} */
  let points = [];
  let size = { width: 0, height: 0 };
  /** @type {number|null} */
  let pointed = null;

  const mark = frames.view(() => {
    if (!context) return;
    context.clearRect(0, 0, canvas.width, canvas.height);
    const curve = curveOf(points, size);
    if (!curve) return setText(readout, "");
    const { first, last } = curve;
    drawLine(context, curve, theme);
    drawLabels(context, curve, theme);
    const found = pointed === null ? null : nearest(curve, pointed);
    if (found) drawDot(context, curve, found, theme);
    setText(readout, found?.told ?? "");
    setAttribute(canvas, "aria-label", `Equity: ${first.told} at first, ${last.told} now`);
    setAttribute(canvas, "data-points", String(points.length));
  });

  new ResizeObserver(([entry]) => {
    const { width, height } = entry.contentRect;
    size = { width, height };
    canvas.width = Math.round(width * devicePixelRatio);
    canvas.height = Math.round(height * devicePixelRatio);
    context?.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
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
  theme.watch(mark);

  return (next) => {
    points = next;
    mark();
  };
}

/** @typedef {NonNullable<ReturnType<typeof curveOf>>} Curve */

/**
 * The curve on the canvas: its points, its ends, its highest and lowest, and the pixels of a time and a value.
 * Null without points or room.
 * @param {Point[]} points @param {{width: number, height: number}} size
 */
function curveOf(points, { width, height }) {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last || width === 0) return null;
  const values = points.map(({ y }) => y);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = high - low || Math.max(Math.abs(high) * 0.001, 1);
  const at = (/** @type {number} */ value) => points[values.indexOf(value)];
  return {
    points,
    first,
    last,
    lowest: at(low),
    highest: at(high),
    rises: last.y >= first.y,
    width,
    height,
    x: (/** @type {number} */ time) => ((time - first.x) / (last.x - first.x || 1)) * (width - 2) + 1,
    y: (/** @type {number} */ value) => HEAD_PX + (1 - (value - low) / room) * (height - FOOT_PX - HEAD_PX - 3),
  };
}

/** The point that is nearest to the pointer. @param {Curve} curve @param {number} pointed */
function nearest({ points, x }, pointed) {
  const distance = (/** @type {Point} */ point) => Math.abs(x(point.x) - pointed);
  return points.reduce((best, point) => (distance(point) < distance(best) ? point : best));
}

/** Draws the line, and the area beneath it. @param {CanvasRenderingContext2D} context @param {Curve} curve @param {Theme} theme */
function drawLine(context, { points, first, last, rises, height, x, y }, theme) {
  context.beginPath();
  for (const point of points) context.lineTo(x(point.x), y(point.y));
  context.strokeStyle = theme.colour(rises ? "buy" : "sell");
  context.lineWidth = 1.5;
  context.stroke();
  context.lineTo(x(last.x), height - FOOT_PX);
  context.lineTo(x(first.x), height - FOOT_PX);
  context.fillStyle = theme.colour(rises ? "buy-area" : "sell-area");
  context.fill();
}

/** Names the highest and lowest value, and both ends of the time. @param {CanvasRenderingContext2D} context @param {Curve} curve @param {Theme} theme */
function drawLabels(context, { first, lowest, highest, width, height }, theme) {
  context.fillStyle = theme.colour("muted");
  context.font = `11px ${theme.colour("font")}`;
  const label = (/** @type {string} */ text, /** @type {CanvasTextAlign} */ align, /** @type {number} */ left, /** @type {number} */ top) => {
    context.textAlign = align;
    context.textBaseline = "top";
    context.fillText(text, left, top);
  };
  const worth = (/** @type {Point} */ { told }) => told.split(" · ")[0];
  label(worth(highest), "left", 2, 0);
  if (lowest.y !== highest.y) label(`low ${worth(lowest)}`, "right", width - 2, 0);
  label(dayAndTime(first.x), "left", 2, height - FOOT_PX + 3);
  label("now", "right", width - 2, height - FOOT_PX + 3);
}

/** @param {CanvasRenderingContext2D} context @param {Curve} curve @param {Point} point @param {Theme} theme */
function drawDot(context, { rises, x, y }, point, theme) {
  context.fillStyle = theme.colour(rises ? "buy" : "sell");
  context.beginPath();
  context.arc(x(point.x), y(point.y), 3, 0, 2 * Math.PI);
  context.fill();
}
