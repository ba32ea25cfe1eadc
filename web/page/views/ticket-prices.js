// Clears what stands in the ticket and means something else by now: prices of another symbol, and a price that is a
// distance. Knows no element.

import { triggerUnit } from "./ticket-order.js";

/** @typedef {{value: string}} Field */

/** @param {Record<"limit"|"trigger"|"profit"|"display"|"waits", Field>} fields */
export function ticketPrices({ limit, trigger, profit, display, waits }) {
  let unit = triggerUnit(waits.value);
  return {
    /** A price of another symbol is worse than none; and nobody shows as many shares of it. */
    forgetSymbol() {
      for (const field of [limit, trigger, profit, display]) field.value = "";
    },
    /** Dollars that an order stays behind the market are no price, and no per cent. */
    heedUnit() {
      const now = triggerUnit(waits.value);
      if (now === null) return;
      if (unit !== null && unit !== now) trigger.value = "";
      unit = now;
    },
  };
}
