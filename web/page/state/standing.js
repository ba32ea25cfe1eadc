// Why no order would be taken now: the server is away, the venue is closed or killed, or the account or the symbol is. One place for all of it; knows no element.

import { Observable } from "./observable.js";

/** @import { AccountSeen } from "./holdings.js" */
/** @import { Market } from "./market.js" */
/** @import { Quote } from "./quote.js" */
/** @import { Symbols } from "./symbols.js" */
/** @import { Vitals } from "./vitals.js" */
/** @import { Mode, Session } from "../types.js" */

/** The reason why the connection is away: it is lost, the server is silent on it, or the venue lets no members in. @typedef {"lost"|"hung"|"maintenance"} Away */

/**
 * An obstacle: a reason why the server would take no orders.
 * @typedef {object} Obstacle
 * @property {"away"|"mode"|"killed"|"closed"|"halted"} kind
 * @property {string} title a sentence
 * @property {string} text what follows from it
 * @property {string} button the same in few words, in place of “Buy”
 */

/**
 * The obstacles to orders, the widest first.
 * @param {{away: Away|null, mode: Mode, is_operator: boolean, killed: boolean, account: string|null, closed: string|null, symbol: string|null, halted: string|null}} now
 *   `account` and `symbol` that are killed; `closed`: an account that is; `halted`: a symbol in which its rules let nobody trade
 * @returns {Obstacle[]}
 */
export function obstacles({ away, mode, is_operator, killed, account, closed, symbol, halted }) {
  /** @type {Obstacle[]} */
  const all = [];
  if (away !== null) all.push(awayObstacle(away));
  else if (mode === "maintenance" && !is_operator) all.push(awayObstacle("maintenance"));
  else if (mode === "read-only" && !is_operator)
    all.push({
      kind: "mode",
      title: "The venue is read-only.",
      text: "The server refuses orders and cancels until an operator opens the venue.",
      button: "The venue is read-only",
    });
  if (killed)
    all.push({
      kind: "killed",
      title: "Everything is killed.",
      text: "All open orders are canceled, and none is taken until an operator releases it.",
      button: "Everything is killed",
    });
  if (account !== null)
    all.push({
      kind: "killed",
      title: `Account ${account} is killed.`,
      text: "Its open orders are canceled, and it takes none until an operator releases it.",
      button: "The account is killed",
    });
  if (closed !== null)
    all.push({ kind: "closed", title: `Account ${closed} is closed.`, text: "It places no orders, and gets nothing.", button: "The account is closed" });
  if (symbol !== null)
    all.push({ kind: "killed", title: `${symbol} is killed: it takes no orders.`, text: "Its open orders are canceled.", button: `${symbol} is killed` });
  if (halted !== null)
    all.push({ kind: "halted", title: `Trading in ${halted} is halted.`, text: "Orders can be canceled, and none is placed.", button: "Trading is halted" });
  return all;
}

/** @param {Away} away @returns {Obstacle} */
function awayObstacle(away) {
  switch (away) {
    case "maintenance":
      return {
        kind: "away",
        title: "The venue is in maintenance.",
        text: "Members cannot log in until an operator opens the venue. Open orders stay.",
        button: "In maintenance",
      };
    case "hung":
      return {
        kind: "away",
        title: "The server does not answer.",
        text: "The page shows the last state, and goes on as soon as the server does.",
        button: "The server does not answer",
      };
    case "lost":
      return { kind: "away", title: "The connection is lost.", text: "The page shows the last state.", button: "No connection" };
  }
}

export class Standing extends Observable {
  /** @type {Away|null} */
  away = null;
  #is_operator = false;
  #parts;

  /** @param {{vitals: Vitals, market: Market, symbols: Symbols, quote: Quote, holdings: AccountSeen}} parts `holdings` of the account that sends */
  constructor(parts) {
    super();
    this.#parts = parts;
    for (const part of [parts.vitals, parts.market, parts.symbols, parts.holdings]) part.watch(() => this.changed());
  }

  /** @param {Session|null} session who looks at the page */
  allow(session) {
    this.#is_operator = session?.members === true && session.roles.includes("operator");
    this.changed();
  }

  /** @param {Away|null} away */
  miss(away) {
    if (away === this.away) return;
    this.away = away;
    this.changed();
  }

  /** The widest first. @returns {Obstacle[]} */
  get obstacles() {
    const { vitals, market, quote, holdings } = this.#parts;
    const now = vitals.now;
    return obstacles({
      away: this.away,
      mode: now?.mode ?? "normal",
      is_operator: this.#is_operator,
      killed: now?.killed === true,
      account: holdings.account?.killed ? holdings.id : null,
      closed: holdings.account?.closed ? holdings.id : null,
      symbol: quote.info?.killed ? market.symbol : null,
      halted: quote.rules?.trading === false ? market.symbol : null,
    });
  }
}
