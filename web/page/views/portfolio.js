// The worth of an account: its shares with their costs and proceeds, and its equity over time. Amounts are exact; the curve is drawn in Numbers.

import { Refusal } from "../api.js";
import { MONEY_DECIMALS, atLeast, exact, forDrawing, format, group } from "../decimal.js";
import { find, make, setAttribute, setText } from "../dom.js";
import { dayAndTime } from "../format.js";
import { averageCost, costsOf, equityAt, percent, sumOf, valued } from "../state/portfolio.js";
import { curveView } from "./curve.js";
import { nearest } from "./forecast.js";
import { Table } from "./table.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Holdings } from "../state/holdings.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Costs, Line } from "../state/portfolio.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Symbols } from "../state/symbols.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Account, Candle, Interval } from "../types.js" */
/** @import { Column } from "./table.js" */

/** Spans of the curve: what it is called, the candles that it is made of, and how many. @type {Record<string, {name: string, interval: Interval, span_s: number, points: number}>} */
const SPANS = {
  "1h": { name: "1 hour", interval: "1m", span_s: 60, points: 60 },
  "1d": { name: "1 day", interval: "15m", span_s: 900, points: 96 },
  "1w": { name: "1 week", interval: "1h", span_s: 3_600, points: 168 },
  "1mo": { name: "1 month", interval: "1d", span_s: 86_400, points: 30 },
};

/** Candles of so many symbols are asked for; others count at their last price. */
const SYMBOLS_MAX = 20;
/** The most executions that the page asks for; shares from before them count as the account's stock. */
const EXECUTIONS_MAX = 2_000;
const CANDLES_FRESH_MS = 30_000;
/** The pause before a failed request is repeated. */
const AGAIN_MS = 3_000;
/** The curve is drawn no more often. */
const PAUSE_MS = 250;

const money = (/** @type {bigint} */ amount) => group(atLeast(nearest(amount), 2));
const signed = (/** @type {bigint} */ amount) => {
  const text = money(amount < 0n ? -amount : amount);
  return amount > 0n ? `+${text}` : amount < 0n ? `−${text}` : text;
};
const direction = (/** @type {bigint|null} */ amount) => (amount === null || amount === 0n ? null : amount > 0n ? "up" : "down");
const full = (/** @type {bigint|null} */ amount) => (amount === null ? "" : format(amount, MONEY_DECIMALS));

/**
 * @param {{holdings: Holdings, market: Market, symbols: Symbols, quote: Quote, frames: Frames, theme: Theme, api: Api, suffix?: string}} parts `suffix` ends the ids of its elements
 */
export function portfolioView({ holdings, market, symbols, quote, frames, theme, api, suffix = "" }) {
  const part = (/** @type {string} */ id) => find(id + suffix);
  const figures = part("portfolio-figures");
  const note = part("portfolio-note");
  const table = new Table(part("portfolio-table"), {
    caption: "Portfolio",
    columns: columns(quote, () => sum),
    key: (line) => line.symbol,
    resort: () => mark(),
  });
  const curve = curveView({ canvas: /** @type {HTMLCanvasElement} */ (part("portfolio-curve")), readout: part("portfolio-readout"), theme, frames });
  let inView = false;
  let span = "1d";
  /** @type {Line[]} */
  let lines = [];
  /** @type {ReturnType<typeof sumOf>|null} */
  let sum = null;
  /** First prices on record, by symbol; null while they are asked for, or where there is none. @type {Map<string, bigint|null>} */
  const first = new Map();
  /** @type {{account: string|null, span: string, at_ms: number, candles: Map<string, Candle[]>}} */
  let past = { account: null, span, at_ms: -Infinity, candles: new Map() };
  let asking = false;
  let asked_in_vain = false;

  /** @type {{of: unknown[], all: Costs[]}} */
  let costs = { of: [], all: [] };

  const last = (/** @type {string} */ symbol) => {
    const price = quote.lastOf(symbol);
    return price === null ? null : exact(price);
  };

  spanButtons(part("portfolio-spans"), span, (id) => {
    span = id;
    mark();
  });
  const mark = frames.view(() => {
    if (!inView) return;
    const { account } = holdings;
    if (account) {
      complete(holdings);
      lines = valued(costsNow(account), last);
      ask();
    }
    // A part of the executions, or prices that are not here yet, would make a loss of a gain.
    const ready = account !== null && isComplete(holdings) && most(lines).every(({ symbol }) => first.has(symbol));
    part("portfolio").hidden = part("portfolio-table").hidden = !ready;
    setText(
      note,
      account ? noteOf(holdings, ready, asked_in_vain) : holdings.id === null ? "Choose an account to see what it has" : (holdings.refused ?? "Loading…"),
    );
    if (!ready) {
      lines = [];
      sum = null;
      return markCurve();
    }
    sum = sumOf(account, lines);
    drawFigures(figures, sum);
    table.draw(lines, { empty: "No shares yet" });
    markCurve();
  });
  const markCurve = frames.view(
    () => curve(inView && sum && past.account === holdings.id && past.span === span ? pointsOf(holdings, past, last, sum.equity) : []),
    PAUSE_MS,
  );

  /** Computes the costs of shares anew after an execution, and not with each price. @param {Account} account */
  function costsNow(account) {
    const of = [account, holdings.executions, first.size];
    if (of.some((part, at) => part !== costs.of[at]))
      costs = { of, all: costsOf(account, holdings.executions, { first: (symbol) => first.get(symbol) ?? null, last }) };
    return costs.all;
  }

  /** Asks for the candles of what the account has, unless they are here. */
  async function ask() {
    const account = holdings.id;
    const now_ms = performance.now();
    const wanting = most(lines);
    const fresh_ms = wanting.every(({ symbol }) => first.has(symbol)) ? CANDLES_FRESH_MS : asked_in_vain ? AGAIN_MS : 0;
    if (asking || !isComplete(holdings) || (past.account === account && past.span === span && now_ms - past.at_ms < fresh_ms)) return;
    asking = true;
    const { interval } = SPANS[span];
    const wanted = { account, span, at_ms: now_ms, candles: new Map() };
    const after = (Date.now() + 1_000) * 1_000;
    try {
      await Promise.all(
        wanting.map(async ({ symbol }) => {
          wanted.candles.set(symbol, (await api.candles(symbol, interval, after)).candles);
          if (first.has(symbol)) return;
          const [oldest] = (await api.candles(symbol, "1d", after)).candles;
          first.set(symbol, oldest ? exact(oldest.open) : null);
        }),
      );
      past = wanted;
      asked_in_vain = false;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      // What is there stays, and is asked for again in a while.
      past = { ...past, account, span, at_ms: now_ms };
      asked_in_vain = true;
      setTimeout(mark, AGAIN_MS);
    } finally {
      asking = false;
    }
    mark();
  }

  holdings.watch(mark);
  symbols.watch(mark);
  // The last price is that of the market's bar, in each frame.
  market.tape.watch(mark);
  market.watch(mark);
  theme.watch(mark);

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

/** The buttons that choose the span of the curve. @param {HTMLElement} spans @param {string} chosen at first @param {(id: string) => void} choose */
function spanButtons(spans, chosen, choose) {
  const buttons = Object.entries(SPANS).map(([id, { name }]) => {
    const button = make("button", { type: "button", "aria-label": `${id}: ${name}`, "aria-pressed": String(id === chosen) }, id);
    button.addEventListener("click", () => {
      for (const [other, each] of buttons) setAttribute(each, "aria-pressed", String(other === id));
      choose(id);
    });
    spans.append(button);
    return /** @type {const} */ ([id, button]);
  });
}

/** Whether all executions are here that are asked for. @param {Holdings} holdings */
function isComplete({ executed, executions }) {
  return (executed.state === "here" && executed.next === null) || (executed.state !== "failed" && executions.length >= EXECUTIONS_MAX);
}

/** Asks for older executions until all are there, or so many. @param {Holdings} holdings */
function complete(holdings) {
  const { executed, executions } = holdings;
  if (executed.state === "unasked" || (executed.state === "here" && executed.next !== null && executions.length < EXECUTIONS_MAX)) holdings.moreExecutions();
}

/** Lines whose symbols' prices the page asks for: those of most worth. @param {Line[]} lines */
function most(lines) {
  return lines
    .filter(({ shares, realised }) => shares > 0n || realised !== 0n)
    .sort((a, b) => ((b.value ?? 0n) > (a.value ?? 0n) ? 1 : -1))
    .slice(0, SYMBOLS_MAX);
}

/** The note beneath the figures. @param {Holdings} holdings @param {boolean} ready @param {boolean} in_vain whether the prices were asked for in vain */
function noteOf({ executed, executions }, ready, in_vain) {
  if (executed.state === "failed") return "The executions cannot be had: the server does not answer";
  if (!ready) return in_vain ? "The prices cannot be had: the server does not answer" : "Loading…";
  const all = executed.state === "here" && executed.next === null ? "" : ` Of the executions the newest ${group(String(executions.length))} count.`;
  return `By average cost, fees included. Shares that were issued count at their symbol's first price on record.${all}`;
}

/** @param {HTMLElement} figures @param {ReturnType<typeof sumOf>} of */
function drawFigures(figures, { equity, cash, value, unrealised, realised, fees }) {
  /** @type {[name: string, text: string, exactly: string, direction: string|null][]} */
  const told = [
    ["Equity", money(equity), full(equity), null],
    ["Cash", money(cash), full(cash), null],
    ["Shares", money(value), full(value), null],
    ["Unrealised", signed(unrealised), full(unrealised), direction(unrealised)],
    ["Realised", signed(realised), full(realised), direction(realised)],
    ["Fees", money(fees), full(fees), null],
  ];
  for (const [at, [name, text, exactly, way]] of told.entries()) {
    const there = figures.children[at] ?? figures.appendChild(make("div", {}, make("dt", {}, name), make("dd", { class: "number" })));
    const dd = there.lastElementChild;
    if (!dd) continue;
    setText(dd, text);
    setAttribute(dd, "title", exactly);
    setAttribute(dd, "data-direction", way);
  }
}

/**
 * The points of the curve: the equity at the end of each span, and now.
 * @param {Holdings} holdings
 * @param {{span: string, candles: Map<string, Candle[]>}} past
 * @param {(symbol: string) => bigint|null} last
 * @param {bigint} equity now
 */
function pointsOf({ account, executions }, { span, candles }, last, equity) {
  if (!account) return [];
  const { span_s, points } = SPANS[span];
  const now_us = Date.now() * 1_000;
  const step_us = span_s * 1_000_000;
  const end = Math.floor(now_us / step_us) * step_us;
  const times = Array.from({ length: points }, (_, at) => end - (points - 1 - at) * step_us);
  const before = equityAt(
    account,
    executions,
    candles,
    last,
    times.map((time) => time - 1),
  );
  const all = [...before.map((worth, at) => ({ time: times[at], worth })), { time: now_us, worth: equity }];
  return all.map(({ time, worth }) => ({ x: time, y: forDrawing(format(worth, MONEY_DECIMALS)), told: `${money(worth)} · ${dayAndTime(time)}` }));
}

/** @param {Quote} quote @param {() => ReturnType<typeof sumOf>|null} sum @returns {Column<Line>[]} */
const columns = (quote, sum) => [
  { head: "Symbol", text: (line) => line.symbol },
  { head: "Shares", text: (line) => group(format(line.shares)), value: (line) => line.shares, csv: (line) => format(line.shares), kind: "number" },
  {
    head: "Average cost",
    text: (line) => average(line, (cost) => quote.price(cost, line.symbol)),
    value: averageCost,
    csv: (line) => average(line, (cost) => cost, 8),
    kind: "number wide",
  },
  {
    head: "Last",
    text: (line) => (line.last === null ? "–" : quote.price(format(line.last), line.symbol)),
    value: (line) => line.last,
    csv: (line) => (line.last === null ? "" : format(line.last)),
    kind: "number wider",
  },
  {
    head: "Value",
    text: (line) => (line.value === null ? "–" : money(line.value)),
    value: (line) => line.value,
    csv: (line) => full(line.value),
    kind: "number",
  },
  {
    head: "Unrealised",
    text: (line) => (line.unrealised === null ? "–" : `${signed(line.unrealised)}${withPercent(line)}`),
    value: (line) => line.unrealised,
    csv: (line) => full(line.unrealised),
    kind: "number",
    direction: (line) => direction(line.unrealised),
  },
  {
    head: "Realised",
    text: (line) => signed(line.realised),
    value: (line) => line.realised,
    csv: (line) => full(line.realised),
    kind: "number",
    direction: (line) => direction(line.realised),
  },
  { head: "Fees", text: (line) => money(line.fees), value: (line) => line.fees, csv: (line) => full(line.fees), kind: "number widest" },
  {
    head: "Part",
    text: (line) => `${percent(line.value ?? 0n, sum()?.equity ?? 0n) ?? "–"}%`,
    value: (line) => line.value,
    csv: (line) => percent(line.value ?? 0n, sum()?.equity ?? 0n) ?? "",
    kind: "number widest",
  },
];

/** @param {Line} line @param {(cost: string) => string} show @param {number} [places] */
function average(line, show, places = 4) {
  const cost = averageCost(line);
  if (cost === null) return places === 8 ? "" : "–";
  const unit = 10n ** BigInt(8 - places);
  return show(format(((cost + unit / 2n) / unit) * unit));
}

/** @param {Line} line */
function withPercent({ unrealised, cost }) {
  const part = unrealised === null ? null : percent(unrealised, cost);
  return part === null ? "" : ` (${part.replace("-", "−")}%)`;
}
