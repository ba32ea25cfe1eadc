// The label of an order's line on the chart, dragged to another price. While it is in the hand, a note says what the order would do there.

import { exact, forDrawing, format, parse } from "../decimal.js";
import { setAttribute, setText } from "../dom.js";

/** @import { IPriceLine, ISeriesApi } from "lightweight-charts" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Theme } from "../theme.js" */
/** @import { OrderLine } from "./chart-orders.js" */
/** @import { OrderActions } from "./order-actions.js" */

/** The pointer has a label when it is no farther from the middle of it, up or down; a finger also beside it. */
const REACH_PX = 9;
const REACH_TOUCH_PX = 14;
/** The width of a label beside its text. */
const LABEL_PADDING_PX = 12;
/** The size of a label's text. */
const LABEL_FONT_PX = 11;
/** A press that moves no farther is none. */
const MOVED_PX = 3;

/** `dropped` has the lines drawn where their orders are. @typedef {{quote: Quote, theme: Theme, container: HTMLElement, note: HTMLElement, actions: Pick<OrderActions, "move"|"foretell">, dropped: () => void}} DragParts */

const pen = document.createElement("canvas").getContext("2d");

/**
 * @param {ISeriesApi<"Candlestick">} series
 * @param {Map<number, OrderLine>} lines by order
 * @param {DragParts} parts
 * @returns {() => number|null} the order whose line is in the hand
 */
export function dragLines(series, lines, parts) {
  const { container } = parts;
  const labels = lineLabels(series, lines, parts);
  const drag = new LineDrag(series, lines, parts);
  /** Whether a line is being drawn: then a press is a place of that. */
  const draws = () => container.hasAttribute("data-drawing");

  container.addEventListener(
    "pointerdown",
    (event) => {
      const id = event.button === 0 && !draws() ? labels.at(event) : null;
      if (id !== null) drag.take(id, event);
    },
    { capture: true },
  );
  container.addEventListener(
    "pointermove",
    (event) => {
      if (drag.id === null) setAttribute(container, "data-grab", !draws() && labels.at(event) !== null);
      else drag.move(event);
    },
    { capture: true },
  );
  container.addEventListener("pointerup", () => drag.release());
  container.addEventListener("pointercancel", () => drag.drop());
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") drag.drop();
  });
  stillWhile(container, () => drag.id !== null);

  return () => drag.id;
}

/** The line in the hand, and the price to which it is dragged. */
class LineDrag {
  #series;
  #lines;
  #parts;
  /** The line in the hand, where it was pressed, and where it is. @type {{id: number, from_px: number, to: string|null}|null} */
  #held = null;

  /** @param {ISeriesApi<"Candlestick">} series @param {Map<number, OrderLine>} lines @param {DragParts} parts */
  constructor(series, lines, parts) {
    this.#series = series;
    this.#lines = lines;
    this.#parts = parts;
  }

  /** The order whose line is in the hand. */
  get id() {
    return this.#held?.id ?? null;
  }

  /** @param {number} id @param {PointerEvent} event */
  take(id, event) {
    const { container } = this.#parts;
    this.#held = { id, from_px: this.#height(event), to: null };
    setAttribute(container, "data-held", true);
    container.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  move(event) {
    const held = this.#held;
    if (held === null) return;
    const line = this.#lines.get(held.id);
    // It was executed or canceled meanwhile.
    if (!line) return this.drop();
    event.stopPropagation();
    const y = this.#height(event);
    if (held.to === null && Math.abs(y - held.from_px) < MOVED_PX) return;
    held.to = this.#priceAt(y);
    if (held.to === null) return;
    line.line.applyOptions({ price: forDrawing(held.to), title: `→ ${this.#parts.quote.price(held.to, line.order.symbol)}` });
    this.#showEffect(line, held.to);
  }

  /** Moves the order to where its line is now. */
  async release() {
    const { container, actions } = this.#parts;
    const line = this.#held === null ? undefined : this.#lines.get(this.#held.id);
    const to = this.#held?.to ?? null;
    if (!line || to === null || to === line.order[line.which]) return this.drop();
    this.#held = null;
    setAttribute(container, "data-held", null);
    await actions.move(line.order, line.which, to);
    this.#clear();
  }

  /** Lets go of the line, whose order stays where it is. */
  drop() {
    if (this.#held) this.#clear();
  }

  #clear() {
    const { container, note, dropped } = this.#parts;
    this.#held = null;
    setText(note, "");
    setAttribute(container, "data-held", null);
    dropped();
  }

  /** @param {PointerEvent} event */
  #height(event) {
    return event.clientY - this.#parts.container.getBoundingClientRect().top;
  }

  /** The price at a height, on the tick. @param {number} y */
  #priceAt(y) {
    const price = parse(this.#series.coordinateToPrice(y)?.toFixed(8) ?? "");
    const step = exact(this.#parts.quote.step);
    const rounded = price === null ? 0n : ((price + step / 2n) / step) * step;
    return rounded > 0n ? format(rounded) : null;
  }

  /** Shows the effect of the order at the price to which it is dragged. @param {OrderLine} line @param {string} to */
  #showEffect({ order, which }, to) {
    const { quote, note, actions } = this.#parts;
    const would = actions.foretell(order, which, to);
    const effects = would?.refused ? [`stays: ${would.refused}`] : [would?.text ?? "", would?.loses_place ? "its place in the queue is lost" : ""];
    const effect = effects.filter((text) => text !== "").join("; ");
    setText(note, `Order ${order.order_id} to ${quote.price(to, order.symbol)}${effect === "" ? "" : `: ${effect}`}`);
    setAttribute(note, "data-warns", would !== null && (would.crosses || would.refused !== null));
  }
}

/** The labels of lines, which end at the axis of prices. @param {ISeriesApi<"Candlestick">} series @param {Map<number, OrderLine>} lines @param {{theme: Theme, container: HTMLElement}} parts */
function lineLabels(series, lines, { theme, container }) {
  const axisFrom = () => container.clientWidth - series.priceScale().width();

  /** The left edge of a line's label. @param {IPriceLine} line */
  function labelFrom(line) {
    if (pen) pen.font = `${LABEL_FONT_PX}px ${theme.colour("font")}`;
    return axisFrom() - LABEL_PADDING_PX - (pen?.measureText(line.options().title).width ?? 0);
  }

  return {
    /** The order whose label is at the pointer. @param {PointerEvent} event @returns {number|null} */
    at(event) {
      const [beside, reach] = event.pointerType === "touch" ? [REACH_TOUCH_PX, REACH_TOUCH_PX] : [0, REACH_PX];
      const { left, top } = container.getBoundingClientRect();
      const x = event.clientX - left;
      const y = event.clientY - top;
      // To drag the axis is to change its scale.
      if (x > axisFrom()) return null;
      /** @type {number|null} */
      let best = null;
      let nearest = reach;
      for (const [id, { line, order }] of lines) {
        const distance = Math.abs((series.priceToCoordinate(line.options().price) ?? Infinity) - y);
        // A stop that follows the market is not put anywhere.
        if (distance <= nearest && x >= labelFrom(line) - beside && order.trail === undefined && order.trail_bips === undefined)
          [best, nearest] = [id, distance];
      }
      return best;
    },
  };
}

/** Keeps the chart itself from moving with a line. @param {HTMLElement} container @param {() => boolean} holds */
function stillWhile(container, holds) {
  for (const name of ["mousedown", "touchstart", "touchmove"]) {
    container.addEventListener(
      name,
      (event) => {
        if (!holds()) return;
        event.stopPropagation();
        if (event.cancelable) event.preventDefault();
      },
      { capture: true, passive: false },
    );
  }
}
