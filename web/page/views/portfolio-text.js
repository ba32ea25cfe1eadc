// The amounts of a portfolio as they are shown: its figures, the columns of its table, and the note beneath. Knows no
// element.

import { MONEY_DECIMALS, atLeast, format, group } from "../decimal.js";
import { plural } from "../format.js";
import { averageCost, percent } from "../state/portfolio.js";
import { nearest } from "./forecast.js";

/** @import { Holdings } from "../state/holdings.js" */
/** @import { Line, Sum } from "../state/portfolio.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Column } from "./table.js" */

/** The most executions that the page asks for; shares from before them count as the account's stock. */
const EXECUTIONS_MAX = 2_000;

/** Whether all executions are here that are asked for. @param {Pick<Holdings, "executed"|"executions">} holdings */
export function isComplete({ executed, executions }) {
  return hasAll(executed) || (executed.state !== "failed" && executions.length >= EXECUTIONS_MAX);
}

/** Whether the account has no executions but those that are here. @param {Holdings["executed"]} executed */
const hasAll = ({ state, next }) => state === "here" && next === null;

/**
 * The note beneath the figures.
 * @param {Pick<Holdings, "id"|"account"|"refused"|"executed"|"executions">} holdings
 * @param {{ready: boolean, failed: boolean, others: number}} prices `failed`: they were asked for in vain; `others`: symbols whose prices are not asked for
 */
export function noteOf({ id, account, refused, executed, executions }, { ready, failed, others }) {
  if (!account) return id === null ? "Choose an account to see what it has" : (refused ?? "Loading…");
  if (executed.state === "failed") return "The executions cannot be had: the server does not answer";
  if (!ready) return failed ? "The prices cannot be had: the server does not answer" : "Loading…";
  const all = hasAll(executed) ? "" : ` Of the executions the newest ${group(String(executions.length))} count.`;
  const first = "Shares that were issued count at their symbol's first price on record";
  const beyond =
    others === 0 ? "" : `; of ${plural(others, "symbol")} of less worth at that of the oldest execution, or at the last one, and the curve has the last one`;
  return `By average cost, fees included. ${first}${beyond}.${all}`;
}

export const money = (/** @type {bigint} */ amount) => group(atLeast(nearest(amount), 2));
const signed = (/** @type {bigint} */ amount) => {
  const text = money(amount < 0n ? -amount : amount);
  return amount > 0n ? `+${text}` : amount < 0n ? `−${text}` : text;
};
const direction = (/** @type {bigint|null} */ amount) => (amount === null || amount === 0n ? null : amount > 0n ? "up" : "down");
const full = (/** @type {bigint|null} */ amount) => (amount === null ? "" : format(amount, MONEY_DECIMALS));

/**
 * The figures above the table.
 * @param {Sum} sum
 * @returns {{name: string, text: string, exactly: string, way: string|null}[]}
 */
export function figuresOf({ equity, cash, value, unrealised, realised, fees }) {
  const plain = (/** @type {string} */ name, /** @type {bigint} */ amount) => ({ name, text: money(amount), exactly: full(amount), way: null });
  const change = (/** @type {string} */ name, /** @type {bigint} */ amount) => ({ name, text: signed(amount), exactly: full(amount), way: direction(amount) });
  return [
    plain("Equity", equity),
    plain("Cash", cash),
    plain("Shares", value),
    change("Unrealised", unrealised),
    change("Realised", realised),
    plain("Fees", fees),
  ];
}

/** @param {Line} line @param {(cost: string) => string} show @param {number} [places] */
export function average(line, show, places = 4) {
  const cost = averageCost(line);
  if (cost === null) return places === 8 ? "" : "–";
  const unit = 10n ** BigInt(8 - places);
  return show(format(((cost + unit / 2n) / unit) * unit));
}

/** @param {Line} line */
export function withPercent({ unrealised, cost }) {
  const part = unrealised === null ? null : percent(unrealised, cost);
  return part === null ? "" : ` (${part.replace("-", "−")}%)`;
}

/** @param {Quote} quote @param {() => Sum|null} sum @returns {Column<Line>[]} */
export const portfolioColumns = (quote, sum) => [
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
