// Draws the sandbox's dialog: the state of its traders, their fields, and the table of its accounts.

import { setText } from "../dom.js";
import { count } from "../format.js";
import { accountRow, strategyBox } from "./sandbox-elements.js";

/** @import { Sandbox } from "../types.js" */
/** @import { SandboxElements } from "./sandbox-elements.js" */

/** Whether the traders keep their pace and strategies as they are. @param {Sandbox} sandbox */
export const isLocked = ({ running, stopping }) => running || stopping;

/** @param {Sandbox} sandbox */
export function stateText({ stopping, running, commands, why }) {
  if (stopping) return "The traders cancel their orders…";
  return running ? `The traders trade: ${count(commands)} orders and cancels so far` : (why ?? "No simulated trader trades now");
}

/**
 * @param {SandboxElements} elements
 * @param {Sandbox} sandbox
 * @param {boolean} may whether the user may start traders
 */
export function drawState({ opener, offer, about, run, form }, sandbox, may) {
  const { possible, stopping } = sandbox;
  const locked = isLocked(sandbox);
  opener.hidden = offer.hidden = !may || !possible;
  setText(about, stateText(sandbox));
  setText(run, locked ? "Stop" : "Start");
  run.disabled = stopping || !possible;
  for (const input of form.querySelectorAll("input")) input.disabled = locked;
}

/**
 * @param {SandboxElements} elements
 * @param {Sandbox} sandbox
 * @param {(account: string) => void} look is called with the account of a row
 */
export function fillLists({ strategies, list }, { accounts }, look) {
  for (const name of new Set(accounts.flatMap(({ strategy }) => strategy ?? []))) strategies.append(strategyBox(name));
  list.append(...accounts.map((each) => accountRow(each, () => look(each.account))));
}

/** @param {SandboxElements} elements @param {Sandbox} sandbox */
export function fillFields({ rate, seed, strategies }, sandbox) {
  rate.value = String(sandbox.rate);
  seed.value = String(sandbox.seed);
  for (const input of strategies.querySelectorAll("input")) input.checked = sandbox.strategies.includes(input.value);
}

/** The pace and strategies that the fields ask for. @param {SandboxElements} elements */
export function fieldsOf({ rate, seed, strategies }) {
  const chosen = [...strategies.querySelectorAll("input")].filter((input) => input.checked).map((input) => input.value);
  return { rate: Number(rate.value), seed: Number(seed.value), strategies: chosen };
}
