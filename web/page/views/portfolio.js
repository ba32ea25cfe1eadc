// The worth of an account: its shares with their costs and proceeds, and its equity over time. Amounts are exact; the curve is drawn in Numbers.

import { exact } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { PortfolioPrices } from "../state/portfolio-prices.js";
import { costsOf, mostWorth, sumOf, valued } from "../state/portfolio.js";
import { curveView } from "./curve.js";
import { SPANS, pointsOf, spanButtons } from "./portfolio-curve.js";
import { figuresOf, isComplete, noteOf, portfolioColumns } from "./portfolio-text.js";
import { Table } from "./table.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Costs, Line, PriceOf, Sum } from "../state/portfolio.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Account, Execution } from "../types.js" */

/** Candles of so many symbols are asked for; others count at their last price. */
const SYMBOLS_MAX = 20;
/** The curve is drawn no more often. */
const PAUSE_MS = 250;

/** @typedef {ReturnType<typeof portfolioView>} Portfolio */

/**
 * @param {{holdings: Holdings, market: Market, symbols: Symbols, quote: Quote, frames: Frames, theme: Theme, api: Api, suffix?: string}} parts `suffix` ends the ids of its elements
 */
export function portfolioView({ holdings, market, symbols, quote, frames, theme, api, suffix = "" }) {
  const part = (/** @type {string} */ id) => find(id + suffix);
  const prices = new PortfolioPrices(api);
  const last = (/** @type {string} */ symbol) => lastOf(quote, symbol);
  const costs = costsAnew(prices, last);
  const table = new Table(part("portfolio-table"), {
    caption: "Portfolio",
    columns: portfolioColumns(quote, () => sum),
    key: (line) => line.symbol,
    resort: () => mark(),
  });
  const curve = curveView({ canvas: /** @type {HTMLCanvasElement} */ (part("portfolio-curve")), readout: part("portfolio-readout"), theme, frames });
  let inView = false;
  let span = "1d";
  /** @type {Line[]} */
  let lines = [];
  /** @type {Sum|null} */
  let sum = null;

  spanButtons(part("portfolio-spans"), span, (id) => {
    span = id;
    mark();
  });
  const mark = frames.view(() => {
    if (!inView) return;
    const { account, executions } = holdings;
    lines = account ? valued(costs(account, executions), last) : [];
    const wanted = mostWorth(lines, SYMBOLS_MAX);
    if (account) askFor(holdings, prices, span, wanted);
    // A part of the executions, or prices that are not here yet, would make a loss of a gain.
    const ready = account !== null && isComplete(holdings) && prices.know(wanted);
    part("portfolio").hidden = part("portfolio-table").hidden = !ready;
    setText(part("portfolio-note"), noteOf(holdings, { ready, failed: prices.failed, others: mostWorth(lines, Infinity).length - wanted.length }));
    if (!ready) lines = [];
    sum = ready ? sumOf(account, lines) : null;
    if (sum) {
      drawFigures(part("portfolio-figures"), sum);
      table.draw(lines, { empty: "No shares yet" });
    }
    markCurve();
  });
  const markCurve = frames.view(() => {
    const { id, account, executions } = holdings;
    const candles = prices.candles({ account: id, span });
    curve(inView && sum && account && candles ? pointsOf(SPANS[span], { account, executions, candles, last }, sum.equity) : []);
  }, PAUSE_MS);
  // The last price is that of the market's bar, in each frame.
  for (const each of [holdings, symbols, prices, market.tape, market, theme]) each.watch(mark);

  return {
    table,
    lines: () => lines,
    mark,
    /** @param {boolean} shows whether it is looked at */
    show(shows) {
      inView = shows;
      mark();
    },
  };
}

/** @param {Quote} quote @param {string} symbol */
function lastOf(quote, symbol) {
  const price = quote.lastOf(symbol);
  return price === null ? null : exact(price);
}

/**
 * Computes the costs of shares anew after an execution, and not with each price.
 * @param {PortfolioPrices} prices
 * @param {PriceOf} last
 */
function costsAnew(prices, last) {
  /** @type {unknown[]} */
  let before = [];
  /** @type {Costs[]} */
  let costs = [];
  return (/** @type {Account} */ account, /** @type {Execution[]} */ executions) => {
    const now = [account, executions, prices.known];
    if (now.some((part, at) => part !== before[at])) costs = costsOf(account, executions, { first: (symbol) => prices.first(symbol), last });
    before = now;
    return costs;
  };
}

/**
 * Asks for older executions until all are there, or so many; then for prices.
 * @param {Holdings} holdings
 * @param {PortfolioPrices} prices
 * @param {string} span
 * @param {string[]} symbols
 */
function askFor(holdings, prices, span, symbols) {
  const { executed } = holdings;
  if (executed.state === "unasked" || (executed.state === "here" && !isComplete(holdings))) holdings.moreExecutions();
  if (isComplete(holdings)) prices.look({ account: holdings.id, span, interval: SPANS[span].interval }, symbols);
}

/** @param {HTMLElement} figures @param {Sum} sum */
function drawFigures(figures, sum) {
  for (const [at, { name, text, exactly, way }] of figuresOf(sum).entries()) {
    const there = figures.children[at] ?? figures.appendChild(make("div", {}, make("dt", {}, name), make("dd", { class: "number" })));
    const dd = there.lastElementChild;
    if (!dd) continue;
    setText(dd, text);
    setAttribute(dd, "title", exactly);
    setAttribute(dd, "data-direction", way);
  }
}
