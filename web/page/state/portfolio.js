// The cost, worth and proceeds of an account's shares, from its executions; and its worth before. Money has `MONEY_DECIMALS`, and
// nothing is rounded but the part of a cost that goes with the shares that are sold, down to the least unit.

import { MONEY_DECIMALS, exact, total } from "../decimal.js";

/** @import { Account, Candle, Execution } from "../types.js" */

/**
 * A symbol that an account has, or had.
 * @typedef {object} Line
 * @property {string} symbol
 * @property {bigint} shares those that orders hold, too
 * @property {bigint} cost of these shares
 * @property {bigint|null} last price
 * @property {bigint|null} value
 * @property {bigint|null} unrealised
 * @property {bigint} realised
 * @property {bigint} fees in dollars; of a buy what its shares cost
 */

/** A line before it is known what its shares are worth. @typedef {Omit<Line, "last"|"value"|"unrealised">} Costs */

/** The change by an execution: shares, money, and the part of it that was a fee. @typedef {{shares: bigint, money: bigint, fee: bigint}} Flow */

/** Finds a price of a symbol; null where there is none. @typedef {(symbol: string) => bigint|null} PriceOf */

/** All lines of an account together, and its money. @typedef {ReturnType<typeof sumOf>} Sum */

/** An execution never changes. @type {WeakMap<Execution, Flow>} */
const known = new WeakMap();

/** @param {Execution} execution @returns {Flow} */
function flows(execution) {
  const there = known.get(execution);
  if (there) return there;
  const flow = flowOf(execution);
  known.set(execution, flow);
  return flow;
}

/** @param {Execution} execution @returns {Flow} */
function flowOf({ side, price, shares, fee, fee_of }) {
  const [each, count] = [exact(price), exact(shares)];
  const money = total(each, count);
  if (side === "buy") {
    const taken = fee !== undefined && fee_of === "shares" ? exact(fee) : 0n;
    return { shares: count - taken, money: -money, fee: total(each, taken) };
  }
  const taken = fee !== undefined && fee_of === "dollars" ? exact(fee, MONEY_DECIMALS) : 0n;
  return { shares: -count, money: money - taken, fee: taken };
}

/**
 * The costs of `costsOf`, with the worth of the shares.
 * @param {Account} account
 * @param {Execution[]} executions newest first
 * @param {{first: PriceOf, last: PriceOf}} prices
 * @returns {Line[]}
 */
export function linesOf(account, executions, prices) {
  return valued(costsOf(account, executions, prices), prices.last);
}

/** @param {Costs[]} costs @param {PriceOf} last @returns {Line[]} */
export function valued(costs, last) {
  return costs.map((line) => {
    const price = last(line.symbol);
    const value = price === null ? null : total(price, line.shares);
    return { ...line, last: price, value, unrealised: value === null ? null : value - line.cost };
  });
}

/**
 * The cost by averages. Shares from before the oldest known execution, by issue or otherwise, count at a first price.
 * @param {Account} account
 * @param {Execution[]} executions newest first
 * @param {{first: PriceOf, last: PriceOf}} prices
 * @returns {Costs[]} in the order of symbols
 */
export function costsOf(account, executions, { first, last }) {
  /** @type {Map<string, {now: bigint, of: Execution[]}>} */
  const symbols = new Map(account.positions.map(({ symbol, shares, held }) => [symbol, { now: exact(shares) + exact(held), of: [] }]));
  for (const execution of executions) {
    const there = symbols.get(execution.symbol);
    if (there) there.of.push(execution);
    else symbols.set(execution.symbol, { now: 0n, of: [execution] });
  }
  return [...symbols]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([symbol, { now, of }]) => {
      const changes = of.toReversed().map(flows);
      const before = changes.reduce((shares, change) => shares - change.shares, now);
      const oldest = of.at(-1);
      const start = first(symbol) ?? (oldest ? exact(oldest.price) : last(symbol)) ?? 0n;
      let shares = before > 0n ? before : 0n;
      let cost = total(start, shares);
      let realised = 0n;
      let fees = 0n;
      for (const change of changes) {
        fees += change.fee;
        if (change.shares >= 0n) {
          shares += change.shares;
          cost -= change.money;
          continue;
        }
        const sold = -change.shares;
        const part = sold >= shares ? cost : (cost * sold) / shares;
        realised += change.money - part;
        cost -= part;
        shares = sold >= shares ? 0n : shares - sold;
      }
      return { symbol, shares: now, cost, realised, fees };
    });
}

/** All lines together, and the money. @param {Account} account @param {Line[]} lines */
export function sumOf(account, lines) {
  const cash = exact(account.balance, MONEY_DECIMALS) + exact(account.held, MONEY_DECIMALS);
  const sum = { cash, value: 0n, unrealised: 0n, realised: 0n, fees: 0n, equity: cash };
  for (const { value, unrealised, realised, fees } of lines) {
    sum.value += value ?? 0n;
    sum.unrealised += unrealised ?? 0n;
    sum.realised += realised;
    sum.fees += fees;
  }
  sum.equity += sum.value;
  return sum;
}

/**
 * The symbols of most worth, those that bring nothing left out.
 * @param {Line[]} lines
 * @param {number} most so many at most
 */
export function mostWorth(lines, most) {
  return lines
    .filter(({ shares, realised }) => shares > 0n || realised !== 0n)
    .sort((a, b) => ((b.value ?? 0n) > (a.value ?? 0n) ? 1 : -1))
    .slice(0, most)
    .map(({ symbol }) => symbol);
}

/** The average cost of a share, with the decimals of a price. @param {Line} line @returns {bigint|null} */
export function averageCost({ shares, cost }) {
  return shares > 0n ? cost / shares : null;
}

/**
 * The worth of the account at each of these times, from its worth now: executions that came later are taken back, and shares
 * count at what they cost then.
 * @param {Account} account
 * @param {Execution[]} executions newest first
 * @param {Map<string, Candle[]>} candles of each symbol, oldest first; one without any counts at its last price
 * @param {PriceOf} last
 * @param {number[]} times ascending, in microseconds
 * @returns {bigint[]}
 */
export function equityAt(account, executions, candles, last, times) {
  let cash = exact(account.balance, MONEY_DECIMALS) + exact(account.held, MONEY_DECIMALS);
  const shares = new Map(account.positions.map(({ symbol, shares: free, held }) => [symbol, exact(free) + exact(held)]));
  /** The place to which the candles of each symbol were walked back. @type {Map<string, number>} */
  const at = new Map();
  let undone = 0;
  /** @type {bigint[]} */
  const equity = [];
  for (const time of times.toReversed()) {
    for (; undone < executions.length && executions[undone].time > time; undone += 1) {
      const change = flows(executions[undone]);
      const { symbol } = executions[undone];
      cash -= change.money;
      shares.set(symbol, (shares.get(symbol) ?? 0n) - change.shares);
    }
    let sum = cash;
    for (const [symbol, count] of shares) {
      const all = candles.get(symbol) ?? [];
      let index = at.get(symbol) ?? all.length - 1;
      while (index >= 0 && all[index].start > time) index -= 1;
      at.set(symbol, index);
      const price = index >= 0 ? exact(all[index].close) : all.length > 0 ? exact(all[0].open) : (last(symbol) ?? 0n);
      sum += total(price, count);
    }
    equity.push(sum);
  }
  return equity.reverse();
}

/** One amount in per cent of the other, with two decimals; null if the other is zero. @param {bigint} part @param {bigint} whole */
export function percent(part, whole) {
  if (whole <= 0n) return null;
  const size = part < 0n ? -part : part;
  const hundredths = (size * 20_000n + whole) / (2n * whole);
  const digits = hundredths.toString().padStart(3, "0");
  return `${part < 0n && hundredths > 0n ? "-" : ""}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}
