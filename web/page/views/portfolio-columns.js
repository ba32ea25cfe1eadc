// The columns of a portfolio's table.

import { format, group } from "../decimal.js";
import { averageCost, percent } from "../state/portfolio.js";
import { average, direction, full, money, signed, withPercent } from "./portfolio-text.js";

/** @import { Line, Sum } from "../state/portfolio.js" */
/** @import { Quote } from "../state/quote.js" */
/** @import { Column } from "./table.js" */

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
