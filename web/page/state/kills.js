// A kill in words: how many orders it canceled, and how many are left. One place for all of it; knows no element.

import { plural } from "../format.js";

/** The outcome of a kill. @param {string} name the killed account, symbol or member, or “Everything” @param {{canceled: number, goes_on?: boolean}} kill */
export function killOutcome(name, { canceled, goes_on = false }) {
  const outcome = `${name} is killed; ${plural(canceled, "order")} canceled`;
  return goes_on ? `${outcome} so far. The server cancels the others now, and none of them executes` : outcome;
}

/** The state of what is killed. @param {string} state @param {number} open its open orders */
export function killState(state, open) {
  return open > 0 ? `${state}. ${plural(open, "order")} still to be canceled: none of them executes` : state;
}
