// One's own orders on the chart: a line for each that is open, whose label can be dragged to another price, and a marker where one was executed.

import { exact, forDrawing, format, group, parse } from "../decimal.js";
import { setAttribute, setText } from "../dom.js";
import { SECONDS_OF } from "../state/quote.js";
import { LineStyle } from "../vendor/lightweight-charts.standalone.production.mjs";

/** @import { IPriceLine, ISeriesApi, ISeriesMarkersPluginApi, SeriesMarker, Time, UTCTimestamp } from "lightweight-charts" */
/** @import { AccountSeen } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Order, Side } from "../types.js" */
/** @import { Which } from "./moving.js" */
/** @import { OrderActions } from "./order-actions.js" */

/** The most lines, because more would hide the candles. */
const LINES_MAX = 30;

/** The pointer has a label when it is no farther from the middle of it, up or down; a finger also beside it. */
const REACH_PX = 9;
const REACH_TOUCH_PX = 14;
/** The width of a label beside its text. */
const LABEL_PADDING_PX = 12;
/** The size of a label's text. */
const LABEL_FONT_PX = 11;
/** A press that moves no farther is none. */
const MOVED_PX = 3;

const pen = document.createElement("canvas").getContext("2d");

/** @typedef {{line: IPriceLine, told: string, order: Order, which: Which}} Drawn */

/** The price of an order that is to be seen: the one that it waits for, else its limit. @param {Order} order @returns {Which|null} */
function whichOf({ limit, stop, take_profit, waits, pends_on }) {
  if (waits && pends_on === undefined && stop !== null) return "stop";
  if (waits && pends_on === undefined && take_profit !== null) return "take_profit";
  return limit === null ? null : "limit";
}

/**
 * @param {ISeriesApi<"Candlestick">} series
 * @param {{market: Market, holdings: AccountSeen, quote: Quote, theme: Theme, container: HTMLElement, note: HTMLElement, mark: () => void, actions: Pick<OrderActions, "move"|"foretell">}} parts `note` says what an order would do that is being dragged; `mark` has the lines drawn again
 * @returns {() => number} draws the lines, and says how many
 */
export function orderLines(series, { market, holdings, quote, theme, container, note, mark, actions }) {
  /** Lines by order; an unchanged one stays. @type {Map<number, Drawn>} */
  const lines = new Map();
  /** The line in the hand, where it was pressed, and where it is. @type {{id: number, from_px: number, to: string|null}|null} */
  let held = null;

  /** The left edge of a line's label, which ends at the axis of prices. @param {IPriceLine} line */
  function labelFrom(line) {
    if (pen) pen.font = `${LABEL_FONT_PX}px ${theme.colour("font")}`;
    return axisFrom() - LABEL_PADDING_PX - (pen?.measureText(line.options().title).width ?? 0);
  }
  const axisFrom = () => container.clientWidth - series.priceScale().width();

  /** The line whose label is at a point of the chart. @param {PointerEvent} event @returns {[number, Drawn]|null} */
  function at(event) {
    const [beside, reach] = event.pointerType === "touch" ? [REACH_TOUCH_PX, REACH_TOUCH_PX] : [0, REACH_PX];
    const x = event.clientX - container.getBoundingClientRect().left;
    const y = height(event);
    // To drag the axis is to change its scale.
    if (x > axisFrom()) return null;
    /** @type {[number, Drawn]|null} */
    let best = null;
    let nearest = reach;
    for (const [id, drawn] of lines) {
      const distance = Math.abs((series.priceToCoordinate(drawn.line.options().price) ?? Infinity) - y);
      // A stop that follows the market is not put anywhere.
      if (distance <= nearest && x >= labelFrom(drawn.line) - beside && drawn.order.trail === undefined && drawn.order.trail_bips === undefined)
        [best, nearest] = [[id, drawn], distance];
    }
    return best;
  }

  /** @param {PointerEvent} event */
  const height = (event) => event.clientY - container.getBoundingClientRect().top;

  /** Whether a line is being drawn: then a press is a place of that. */
  const draws = () => container.hasAttribute("data-drawing");

  /** The price at a height, on the tick. @param {number} y */
  function priceAt(y) {
    const price = parse(series.coordinateToPrice(y)?.toFixed(8) ?? "");
    const step = exact(quote.step);
    const rounded = price === null ? 0n : ((price + step / 2n) / step) * step;
    return rounded > 0n ? format(rounded) : null;
  }

  /** The effect of the order at the price to which it is dragged. @param {Drawn} drawn @param {string} to */
  function tell({ order, which }, to) {
    const would = actions.foretell(order, which, to);
    const does = would?.refused ? `stays: ${would.refused}` : (would?.text ?? "");
    setText(note, `Order ${order.order_id} to ${quote.price(to, order.symbol)}${does === "" ? "" : `: ${does}`}`);
    setAttribute(note, "data-warns", would !== null && (would.crosses || would.refused !== null));
  }

  function drop() {
    held = null;
    setText(note, "");
    setAttribute(container, "data-held", null);
    for (const drawn of lines.values()) drawn.told = "";
    mark();
  }

  container.addEventListener(
    "pointerdown",
    (event) => {
      const found = event.button === 0 && !draws() ? at(event) : null;
      if (!found) return;
      held = { id: found[0], from_px: height(event), to: null };
      setAttribute(container, "data-held", true);
      container.setPointerCapture(event.pointerId);
    },
    { capture: true },
  );
  // The chart itself must not move with it.
  for (const name of ["mousedown", "touchstart", "touchmove"]) {
    container.addEventListener(
      name,
      (event) => {
        if (held === null) return;
        event.stopPropagation();
        if (event.cancelable) event.preventDefault();
      },
      { capture: true, passive: false },
    );
  }
  container.addEventListener(
    "pointermove",
    (event) => {
      const y = height(event);
      if (held === null) return setAttribute(container, "data-grab", !draws() && at(event) !== null);
      const drawn = lines.get(held.id);
      // It was executed or canceled meanwhile.
      if (!drawn) return drop();
      event.stopPropagation();
      if (held.to === null && Math.abs(y - held.from_px) < MOVED_PX) return;
      held.to = priceAt(y);
      if (held.to === null) return;
      drawn.line.applyOptions({ price: forDrawing(held.to), title: `→ ${quote.price(held.to, drawn.order.symbol)}` });
      tell(drawn, held.to);
    },
    { capture: true },
  );
  container.addEventListener("pointerup", async () => {
    const drawn = held === null ? undefined : lines.get(held.id);
    const to = held?.to ?? null;
    if (!drawn || to === null || to === drawn.order[drawn.which]) return held && drop();
    held = null;
    setAttribute(container, "data-held", null);
    await actions.move(drawn.order, drawn.which, to);
    drop();
  });
  container.addEventListener("pointercancel", () => held && drop());
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && held) drop();
  });

  return () => {
    // What is past is not moved.
    const open = market.past
      ? []
      : [...holdings.open.values()].filter((order) => order.symbol === market.symbol && whichOf(order) !== null).slice(0, LINES_MAX);
    const wanted = new Set(open.map(({ order_id }) => order_id));
    for (const [id, { line }] of lines) {
      if (wanted.has(id)) continue;
      series.removePriceLine(line);
      lines.delete(id);
    }
    for (const order of open) {
      const { order_id, side, open: shares } = order;
      const which = whichOf(order) ?? "limit";
      const price = order[which] ?? "";
      const told = `${side} ${which} ${price} ${shares} ${theme.name}`;
      const there = lines.get(order_id);
      if (there?.told === told || held?.id === order_id) {
        if (there) there.order = order;
        continue;
      }
      const name = which === "limit" ? "" : which === "stop" ? " stop" : " profit";
      const options = {
        price: forDrawing(price),
        color: theme.colour(side),
        lineWidth: /** @type {const} */ (1),
        lineStyle: which === "limit" ? LineStyle.Dashed : LineStyle.Dotted,
        axisLabelVisible: true,
        title: `${side}${name} ${group(shares)}`,
      };
      if (there) there.line.applyOptions(options);
      lines.set(order_id, { line: there?.line ?? series.createPriceLine(options), told, order, which });
    }
    return lines.size;
  };
}

/**
 * @param {ISeriesMarkersPluginApi<Time>} markers
 * @param {{market: Market, holdings: AccountSeen, theme: Theme}} parts
 * @returns {() => number} draws the markers, and says how many
 */
export function fillMarkers(markers, { market, holdings, theme }) {
  let told = "";
  return () => {
    const first = market.candles.all[0]?.start ?? Infinity;
    const span = SECONDS_OF[market.interval] * 1_000_000;
    /** One for each side of a candle. @type {Map<string, {time: number, side: Side}>} */
    const places = new Map();
    const fills = market.past?.fills ?? holdings.executions.filter(({ symbol }) => symbol === market.symbol);
    for (const { side, time } of fills) {
      if (time < first) continue;
      const start = Math.floor(time / span) * span;
      places.set(`${start} ${side}`, { time: start / 1_000_000, side });
    }
    const now = `${theme.name} ${market.symbol} ${market.interval} ${[...places.keys()].join()}`;
    if (now === told) return places.size;
    told = now;
    const sorted = [...places.values()].sort((a, b) => a.time - b.time);
    markers.setMarkers(
      sorted.map(
        ({ time, side }) =>
          /** @type {SeriesMarker<Time>} */ ({
            time: /** @type {UTCTimestamp} */ (time),
            position: side === "buy" ? "belowBar" : "aboveBar",
            shape: side === "buy" ? "arrowUp" : "arrowDown",
            color: theme.colour(side),
          }),
      ),
    );
    return places.size;
  };
}
