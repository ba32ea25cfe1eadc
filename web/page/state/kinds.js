// The kinds of orders: those without a limit, those that rest, and those for an auction. Knows no element.

/** Whether an order of this kind has no limit. @param {string} kind */
export const isMarket = (kind) => kind === "market" || kind === "auction_market";

/** Whether an order of this kind waits for an auction, and ends with it. @param {string} kind */
export const isForAuction = (kind) => kind === "auction_limit" || kind === "auction_market";

/** Whether what does not execute at once of an order of this kind stays open. @param {string} kind */
export const rests = (kind) => ["limit", "post_only", "post_only_move"].includes(kind) || isForAuction(kind);

/** The kind in words. @param {string} kind */
export function kindName(kind) {
  return isForAuction(kind) ? `${isMarket(kind) ? "market" : "limit"}, for an auction` : kind.replaceAll("_", " ");
}
