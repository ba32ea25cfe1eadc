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
  let width = 0;
  let height = 0;
  /** @type {number|null} */
  let pointed = null;

  const mark = frames.view(() => {
    if (!context) return;
    context.clearRect(0, 0, canvas.width, canvas.height);
    const [first, last] = [points[0], points.at(-1)];
    if (!first || !last || width === 0) return setText(readout, "");
    const values = points.map(({ y }) => y);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = high - low || Math.max(Math.abs(high) * 0.001, 1);
    const x = (/** @type {number} */ time) => ((time - first.x) / (last.x - first.x || 1)) * (width - 2) + 1;
    const y = (/** @type {number} */ value) => HEAD_PX + (1 - (value - low) / room) * (height - FOOT_PX - HEAD_PX - 3);
    const colour = theme.colour(last.y >= first.y ? "buy" : "sell");
    context.beginPath();
    for (const point of points) context.lineTo(x(point.x), y(point.y));
    context.strokeStyle = colour;
    context.lineWidth = 1.5;
    context.stroke();
    context.lineTo(x(last.x), height - FOOT_PX);
    context.lineTo(x(first.x), height - FOOT_PX);
    context.fillStyle = theme.colour(last.y >= first.y ? "buy-area" : "sell-area");
    context.fill();
    context.fillStyle = theme.colour("muted");
    context.font = `11px ${theme.colour("font")}`;
    const label = (/** @type {string} */ text, /** @type {CanvasTextAlign} */ align, /** @type {number} */ left, /** @type {number} */ top) => {
      if (!context) return;
      context.textAlign = align;
      context.textBaseline = "top";
      context.fillText(text, left, top);
    };
    const of = (/** @type {number} */ value) => points[values.indexOf(value)].told.split(" · ")[0];
    label(of(high), "left", 2, 0);
    if (low !== high) label(`low ${of(low)}`, "right", width - 2, 0);
    label(dayAndTime(first.x), "left", 2, height - FOOT_PX + 3);
    label("now", "right", width - 2, height - FOOT_PX + 3);
    const found =
      pointed === null ? last : points.reduce((best, point) => (Math.abs(x(point.x) - (pointed ?? 0)) < Math.abs(x(best.x) - (pointed ?? 0)) ? point : best));
    if (pointed !== null) {
      context.fillStyle = colour;
      context.beginPath();
      context.arc(x(found.x), y(found.y), 3, 0, 2 * Math.PI);
      context.fill();
    }
    setText(readout, pointed === null ? "" : found.told);
    setAttribute(canvas, "aria-label", `Equity: ${first.told} at first, ${last.told} now`);
    setAttribute(canvas, "data-points", String(points.length));
  });

  new ResizeObserver(([entry]) => {
    ({ width, height } = entry.contentRect);
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
