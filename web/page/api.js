// Requests and what they answer. A refusal is an exception with its facts; so is no answer at all.

/** @import { Account, AccountLine, AccountsPage, AmendOrder, AuditPage, CandlesPage, Cursor, ExecutionsPage, Interval, KillGiven, Kills, Limits, ListKind, Member, MemberKey, MembersPage, Mode, NewOrder, Order, OrderPlace, OrdersPage, PastBook, PastEvents, Placed, Problem, Sandbox, ServerStatus, Session, StatusSeconds, SymbolFees, SymbolInfo, SymbolsPage, TradesPage, VenueMode } from "./types.js" */

import { grouped } from "./decimal.js";

/** A request that was not done, and why. */
export class Refusal extends Error {
  /** @param {Partial<Problem> & {code: string, detail: string}} problem */
  constructor(problem) {
    super(grouped(problem.detail));
    this.name = "Refusal";
    this.code = problem.code;
    this.status = problem.status ?? 0;
    /** The field of the request that it is about. @type {string|null} */
    this.field = problem.field ?? null;
  }

  /** Whether nobody knows if it was done: there was no answer, or one that says so. */
  get unknown() {
    return ["no-answer", "outcome-unknown", "internal-fault"].includes(this.code);
  }
}

/** The time that the answer to a request took, as the browser measured it, and the server's own account of it. @typedef {{took_ms: number, told: string}} Timing */

/** Is told how long it took to place orders. @type {(orders: {order_id: number}[], timing: Timing) => void} */
let placedIn = () => {};

/** @param {typeof placedIn} told */
export function whenPlaced(told) {
  placedIn = told;
}

/** The window's event when the server no longer knows the member. */
export const UNPROVEN = "pricetime-unproven";

const NO_ANSWER = "The server does not answer";

/**
 * @param {"GET"|"POST"|"PUT"|"PATCH"|"DELETE"} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
async function request(method, path, body) {
  const timeout = AbortSignal.timeout(10_000);
  /** @type {RequestInit} */
  const options = { method, signal: timeout, cache: "no-store", headers: { accept: "application/json" } };
  if (body) {
    options.headers = { accept: "application/json", "content-type": "application/json" };
    options.body = JSON.stringify(body);
  }
  // What is placed says how long each part of its way took.
  const places = method === "POST" && /^\/order/.test(path);
  if (places) options.headers = { ...options.headers, "pricetime-timing": "1" };
  const sent = performance.now();
  let response, text;
  try {
    response = await fetch(`/api/v1${path}`, options);
    text = await response.text();
  } catch {
    throw new Refusal({ code: "no-answer", detail: NO_ANSWER });
  }
  let answer;
  try {
    answer = JSON.parse(text);
  } catch {
    throw unreadable(response.status);
  }
  // Somebody between here and the server answers in its place, and does not know either.
  if (typeof answer !== "object" || answer === null || (!response.ok && typeof answer.code !== "string")) throw unreadable(response.status);
  // Signing in is told by itself what is wrong.
  if (response.status === 401 && path !== "/sessions") globalThis.dispatchEvent?.(new Event(UNPROVEN));
  if (!response.ok) throw new Refusal({ detail: answer.title ?? "Refused", ...answer, status: response.status });
  const told = response.headers.get("server-timing");
  if (places && told) placedIn(answer.orders ?? [answer], { took_ms: performance.now() - sent, told });
  return answer;
}

/** @param {number} status */
function unreadable(status) {
  return new Refusal({ code: "no-answer", status, detail: `The server answers ${status}, and nothing that can be read` });
}

/**
 * The query of an address, without what is not given.
 * @param {Record<string, string|number|null|undefined>} values
 */
function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined);
  return given.length ? `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}` : "";
}

const at = encodeURIComponent;

export const api = {
  /** @returns {Promise<ServerStatus>} */
  status: () => request("GET", "/status"),

  /** The measurements of the last minutes, oldest first. @returns {Promise<StatusSeconds>} */
  seconds: () => request("GET", "/status/seconds"),

  /** The member that is logged in. @returns {Promise<Session>} */
  session: () => request("GET", "/sessions"),

  /** @param {string} member @param {string} password @returns {Promise<Session>} */
  logIn: (member, password) => request("POST", "/sessions", { member, password, cookie: true }),

  /** @returns {Promise<Session>} */
  logOut: () => request("DELETE", "/sessions"),

  /** The kills in force. @returns {Promise<Kills>} */
  kills: () => request("GET", "/kill"),

  /** Kills everything, or releases it. @param {boolean} killed @returns {Promise<KillGiven>} */
  killEverything: (killed) => request("PUT", "/kill", { killed }),

  /** @returns {Promise<Sandbox>} */
  sandbox: () => request("GET", "/sandbox"),

  /** @param {{running: boolean, rate?: number, seed?: number, strategies?: string[]}} how @returns {Promise<Sandbox>} */
  runSandbox: (how) => request("PUT", "/sandbox", how),

  /** @returns {Promise<VenueMode>} */
  mode: () => request("GET", "/mode"),

  /** @param {Mode} mode @returns {Promise<VenueMode>} */
  setMode: (mode) => request("PUT", "/mode", { mode }),

  /** Kills a symbol, an account or a member, or releases it. @param {"symbols"|"accounts"|"members"} of @param {string} name @param {boolean} killed @returns {Promise<KillGiven>} */
  kill: (of, name, killed) => request("PUT", `/${of}/${at(name)}/kill`, { killed }),

  /** @param {string} symbol @param {"open"|"halted"|"auction"} phase @returns {Promise<{phase: string}>} */
  setPhase: (symbol, phase) => request("PUT", `/symbols/${at(symbol)}/phase`, { phase }),

  /** @param {string} account @param {Limits} limits in place of all that it has @returns {Promise<Limits>} */
  setLimits: (account, limits) => request("PUT", `/accounts/${at(account)}/limits`, limits),

  /** @param {string|null} after @returns {Promise<MembersPage>} */
  members: (after) => request("GET", `/members${query({ after, limit: 100 })}`),

  /** @param {{name: string, roles: string[], accounts: string[]}} member @returns {Promise<Member>} */
  addMember: (member) => request("POST", "/members", member),

  /** @param {string} name @returns {Promise<Member>} */
  removeMember: (name) => request("DELETE", `/members/${at(name)}`),

  /** @param {string} name @param {{kind: string, value?: string}} key @returns {Promise<MemberKey>} */
  addKey: (name, key) => request("POST", `/members/${at(name)}/keys`, key),

  /** @param {string} name @param {string} key @returns {Promise<MemberKey>} */
  revokeKey: (name, key) => request("DELETE", `/members/${at(name)}/keys/${at(key)}`),

  /** Commands with their callers, newest first. @param {{before: number|null, member: string|null, account: string|null}} of @returns {Promise<AuditPage>} */
  audit: (of) => request("GET", `/audit${query({ ...of, limit: 100 })}`),

  /** Symbols created after this one. @param {string} after @returns {Promise<SymbolsPage>} */
  symbols: (after) => request("GET", `/symbols${query({ after })}`),

  /** @param {string} symbol @returns {Promise<SymbolInfo>} */
  symbol: (symbol) => request("GET", `/symbols/${at(symbol)}`),

  /** The fees of each tier. @param {string} symbol @returns {Promise<SymbolFees>} */
  fees: (symbol) => request("GET", `/symbols/${at(symbol)}/fees`),

  /**
   * @param {string} symbol
   * @param {Interval} interval
   * @param {number|null} before microseconds; null for the last ones
   * @param {number} [limit]
   * @returns {Promise<CandlesPage>}
   */
  candles: (symbol, interval, before, limit = 500) => request("GET", `/symbols/${at(symbol)}/candles${query({ interval, limit, before })}`),

  /** Trades before this one, newest first. @param {string} symbol @param {number} before @param {number} limit @returns {Promise<TradesPage>} */
  trades: (symbol, before, limit) => request("GET", `/symbols/${at(symbol)}/trades${query({ before, limit })}`),

  /** A symbol's market at a moment of the past, with what an account had in it. @param {string} symbol @param {{at?: number, time?: number}} moment @param {string|null} account @returns {Promise<PastBook>} */
  pastBook: (symbol, { at: command, time }, account) =>
    request("GET", `/symbols/${at(symbol)}/past/book${query({ at: command, time, depth: 1_000, account })}`),

  /** The events behind a command. @param {string} symbol @param {number} from @param {string|null} account @returns {Promise<PastEvents>} */
  pastEvents: (symbol, from, account) => request("GET", `/symbols/${at(symbol)}/past/events${query({ from, account })}`),

  /**
   * @param {string} symbol
   * @param {string} account
   * @param {string} shares
   * @param {string|null} expected the shares of the symbol that must be issued so far; null for any number
   * @returns {Promise<{symbol: string, account: string, shares: string, issued?: string}>}
   */
  issue: (symbol, account, shares, expected) =>
    request("POST", `/symbols/${at(symbol)}/shares`, { account, shares, ...(expected !== null && { expected_issued: expected }) }),

  /** @param {string|null} after @returns {Promise<AccountsPage>} */
  accounts: (after) => request("GET", `/accounts${query({ after, limit: 100 })}`),

  /** @param {string} account @returns {Promise<Account>} */
  account: (account) => request("GET", `/accounts/${at(account)}`),

  /** @param {string} account @param {string} balance @returns {Promise<AccountLine>} */
  createAccount: (account, balance) => request("POST", "/accounts", { account, balance }),

  /** @param {NewOrder} order @returns {Promise<Placed>} */
  place: (order) => request("POST", "/orders", order),

  /** Places orders that belong together. @param {ListKind} kind @param {NewOrder[]} orders @returns {Promise<{order_list_id: number, orders: Placed[]}>} */
  placeList: (kind, orders) => request("POST", "/order-lists", { kind, orders }),

  /** The queue before an open order. @param {number} order @param {string} account @returns {Promise<OrderPlace>} */
  placeOf: (order, account) => request("GET", `/orders/${order}/place${query({ account })}`),

  /** @param {number} order @param {string} account @returns {Promise<Order>} */
  order: (order, account) => request("GET", `/orders/${order}${query({ account })}`),

  /** The order that a client order id stands for. @param {string} id @param {string} account @returns {Promise<Order>} */
  orderOf: (id, account) => request("GET", `/orders/by-client-id/${at(id)}${query({ account })}`),

  /** @param {number} order @param {string} account @returns {Promise<Order>} */
  cancel: (order, account) => request("DELETE", `/orders/${order}${query({ account })}`),

  /** Gives an open order other terms, or changes nothing and refuses. @param {number} order @param {string} account @param {AmendOrder} terms @returns {Promise<Order>} */
  amend: (order, account, terms) => request("PATCH", `/orders/${order}`, { account, ...terms }),

  /** @param {string} account @param {string|null} symbol @returns {Promise<{canceled: Order[]}>} */
  cancelAll: (account, symbol) => request("DELETE", `/accounts/${at(account)}/orders${query({ symbol })}`),

  /**
   * All orders, newest first.
   * @param {string} account
   * @param {Cursor} before
   * @param {number} [limit]
   * @returns {Promise<OrdersPage>}
   */
  orders: (account, before, limit = 100) => request("GET", `/accounts/${at(account)}/orders${query({ status: "all", limit, before })}`),

  /** Some of the orders that are open, newest first. @param {string} account @param {string|null} symbol @returns {Promise<OrdersPage>} */
  openOrders: (account, symbol) => request("GET", `/accounts/${at(account)}/orders${query({ status: "open", symbol, limit: 1 })}`),

  /**
   * Newest first.
   * @param {string} account
   * @param {Cursor} before
   * @param {number} [limit]
   * @returns {Promise<ExecutionsPage>}
   */
  executions: (account, before, limit = 100) => request("GET", `/accounts/${at(account)}/executions${query({ limit, before })}`),
};

/** @typedef {typeof api} Api */
