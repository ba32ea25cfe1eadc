// Issues of shares: each says how many are issued so far, so that one whose answer was lost can be sent again.

import { Refusal } from "../api.js";
import { group } from "../decimal.js";
import { absentIsNull, foundOut } from "./found-out.js";

/** @import { Api } from "../api.js" */

/** The promise under which shares are issued: that it is done once, or the reason why there is none. @typedef {"once"|"not-in-a-cluster"|"given-from-budget"} Way */
/**
 * The end of an issue: why it was refused, or null, and how many shares are issued now, or null where that cannot be had. Where it is done,
 * the shares that it issued; where it may still be done, that.
 * @typedef {{refusal: Refusal|null, issued: string|null, shares?: string, isUnsure?: boolean}} Issued
 */

/** The shares of a symbol that are issued; none of one that does not exist. @param {Pick<Api, "symbol">} api @param {string} symbol */
export async function issuedOf(api, symbol) {
  return (await absentIsNull(api.symbol(symbol)))?.issued ?? "0";
}

/**
 * Issues shares if as many are issued as the page shows. A cluster takes no such condition, nor does the server from a member with a budget:
 * there the shares are issued, or given, without it. `isAgain` says that an issue for the same number had no answer.
 * @param {Pick<Api, "symbol" | "issue">} api
 * @param {{symbol: string, account: string, shares: string}} what
 * @param {{number: string, isAgain?: boolean|undefined}} shown
 * @param {(pause_ms: number) => Promise<unknown>} [pause]
 * @returns {Promise<Issued>}
 */
export async function issueShares(api, { symbol, account, shares }, { number: shown, isAgain = false }, pause) {
  const now = () => issuedOf(api, symbol);
  let way = /** @type {Way} */ ("once");
  try {
    const made = await api.issue(symbol, account, shares, shown).catch((error) => {
      if (!(error instanceof Refusal) || (error.code !== "not-in-a-cluster" && error.code !== "given-from-budget")) throw error;
      way = error.code;
      return api.issue(symbol, account, shares, null);
    });
    return { refusal: null, issued: made.issued ?? (await orNull(now())), shares: made.shares };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    if (error.code === "issued-otherwise") {
      const issued = await orNull(now());
      const isGrown = isAgain && issued !== null && issued !== shown;
      return { refusal: isGrown ? new Refusal({ code: error.code, detail: probablyDone(symbol, shown, issued) }) : error, issued };
    }
    if (!error.unknown) return { refusal: error, issued: shown };
    const found = way === "given-from-budget" ? null : await foundOut(now, (issued) => issued !== shown, pause);
    const detail = `${error.message}. ${told(way, symbol, shown, found)}`;
    // What stays as it is shown is what the issue is meant for when it is sent again.
    const isUnsure = way === "once" && (found === null || found === shown);
    return { refusal: new Refusal({ code: error.code, detail }), issued: found ?? shown, isUnsure };
  }
}

/** @param {string} symbol @param {string} before @param {string} now */
function probablyDone(symbol, before, now) {
  return `The shares were probably issued by the press that had no answer: ${group(before)} ${symbol} were issued before, and ${group(now)} are now. Pressing again issues them again`;
}

/** @param {Way} way @param {string} symbol @param {string} shown @param {string|null} found */
function told(way, symbol, shown, found) {
  if (way === "given-from-budget") return "Whether the shares were given is not known: look at the accounts. Pressing again gives them again";
  const [number, isKnown] =
    found === null
      ? ["how many there are now cannot be had", false]
      : found === shown
        ? [`${group(shown)} ${symbol} are issued, as before`, false]
        : [`${group(shown)} ${symbol} were issued before, and ${group(found)} are now`, true];
  const again = way === "once" && !isKnown ? "is safe: they are issued once" : "issues them again";
  return `Whether the shares were issued is not known: ${number}. Pressing again ${again}`;
}

/** @template T @param {Promise<T>} asked @returns {Promise<T|null>} */
async function orNull(asked) {
  try {
    return await asked;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return null;
  }
}
