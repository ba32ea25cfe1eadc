// The outcome of a request whose answer was lost: the page asks until it knows.

import { Refusal } from "../api.js";

/** Pauses before each question. The request itself may come later than the first ones. */
const PAUSES_MS = [300, 700, 1_500, 3_000, 6_000];

/**
 * Asks until it is as it would be once the request was done. Else the last answer, or null where there was none.
 * @template T
 * @param {() => Promise<T>} ask
 * @param {(found: T) => boolean} done
 * @param {(pause_ms: number) => Promise<unknown>} [pause]
 * @returns {Promise<T|null>}
 */
export async function foundOut(ask, done, pause = (pause_ms) => new Promise((then) => setTimeout(then, pause_ms))) {
  /** @type {T|null} */
  let last = null;
  for (const pause_ms of PAUSES_MS) {
    await pause(pause_ms);
    try {
      last = await ask();
      if (done(last)) return last;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
  return last;
}

/** Null of what the server does not have. @template T @param {Promise<T>} asked @returns {Promise<T|null>} */
export async function absentIsNull(asked) {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 404) throw error;
    return null;
  }
}
