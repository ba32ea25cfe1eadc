// Draws the curve of depth on its canvas.

import { count } from "../format.js";
import { FOOT_PX, PADDING_PX, roundSteps } from "./depth-scale.js";

/** @import { Theme } from "../theme.js" */
/** @import { Scale, Step } from "./depth-scale.js" */

const LABEL_PX = 12;
/** Lines of the axis of shares are no closer. */
const LINES_PX = 34;

/** @typedef {ReturnType<typeof depthColours>} Colours */
/** The canvas, with its scale and colours now. @typedef {{context: CanvasRenderingContext2D, scale: Scale, colours: Colours, width: number, height: number}} Canvas */

/** @param {Theme} theme */
export function depthColours(theme) {
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

/** The curve of a side, and the area beneath it. @param {Canvas} canvas @param {Step[]} side @param {string} line @param {string} fill @param {number} edge where it ends */
export function drawSide({ context, scale, height }, side, line, fill, edge) {
  if (side.length === 0) return;
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

/** Lines at round numbers of shares, with what they are. @param {Canvas} canvas */
export function drawShares({ context, scale, colours, width, height }) {
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

/** The prices at the foot. @param {Canvas} canvas @param {number} decimals */
export function drawPrices({ context, scale, colours, width, height }, decimals) {
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

/** The line of the step that is pointed at. @param {Canvas} canvas @param {Step} step */
export function drawPointer({ context, scale, colours, height }, step) {
  const x = scale.x(step.price);
  context.strokeStyle = colours.text;
  context.lineWidth = 1;
  context.setLineDash([3, 3]);
  context.beginPath();
  context.moveTo(x, 0);
  context.lineTo(x, height - FOOT_PX);
  context.stroke();
  context.setLineDash([]);
}
