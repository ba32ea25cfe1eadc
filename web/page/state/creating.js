// The creation of an account. Where its answer was lost, an account that is there may have been there before.

import { Refusal } from "../api.js";
import { absentIsNull, foundOut } from "./found-out.js";

/** @import { Api } from "../api.js" */

/** An account that is there; `isSure`: this request created it. @typedef {{account: string, balance: string, isSure: boolean}} Created */

/**
 * Creates an account; where the answer was lost, finds out whether it is there.
 * @param {Pick<Api, "createAccount"|"account">} api
 * @param {string} account
 * @param {string} balance
 * @param {(pause_ms: number) => Promise<unknown>} [pause]
 * @returns {Promise<Created>}
 */
export async function createAccount(api, account, balance, pause) {
  try {
    return { ...(await api.createAccount(account, balance)), isSure: true };
  } catch (error) {
    if (!(error instanceof Refusal) || !error.unknown) throw error;
    const found = await foundOut(
      () => absentIsNull(api.account(account)),
      (there) => there !== null,
      pause,
    );
    if (found) return { account: found.account, balance: found.balance, isSure: false };
    const detail = `${error.message}. Whether the account was created is not known. It can be created once, so pressing again is safe`;
    throw new Refusal({ code: error.code, detail });
  }
}
