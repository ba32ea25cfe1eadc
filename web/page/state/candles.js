// The candles of one symbol and interval, oldest first: what came over the feed, and older ones that were asked for.

import { Observable } from "./observable.js";

/** @import { Candle } from "../types.js" */

/** A page that stays open for days keeps no more than these; older ones are asked for again. */
const KEPT = 20_000;

export class Candles extends Observable {
  /** Oldest first. @type {Candle[]} */
  all = [];
  /** @type {"waiting"|"live"} */
  state = "waiting";
  /** Counts the times that more than the last candle changed: all are to be drawn again. */
  redrawn = 0;
  /** Whether there may be older ones to ask for. */
  older = false;

  clear() {
    this.#replace([], "waiting", false);
  }

  /** @param {Candle[]} candles */
  snapshot(candles) {
    // After a loss, what was asked for before stays in front of what the snapshot holds, unless there is a hole between.
    const first = candles[0]?.start ?? Infinity;
    const joins = (this.all.at(-1)?.start ?? -1) >= first;
    // A snapshot holds 500, and fewer of seconds with many trades: whether there are older ones, asking shows.
    const before = joins ? this.all.filter((candle) => candle.start < first) : [];
    this.#replace([...before, ...candles], "live", before.length > 0 ? this.older : candles.length > 0);
  }

  /** @param {Candle} candle the current one, or the first of a new span */
  put(candle) {
    if (this.state === "waiting") return;
    const last = this.all.at(-1);
    if (!last || candle.start > last.start) {
      this.all.push(candle);
      if (this.all.length > KEPT) this.#replace(this.all.slice(-KEPT / 2), "live", true);
    } else if (candle.start === last.start) {
      this.all[this.all.length - 1] = candle;
    } else {
      const at = this.all.findIndex(({ start }) => start === candle.start);
      if (at >= 0) this.all[at] = candle;
      this.redrawn += 1;
    }
    this.changed();
  }

  /** @param {Candle[]} candles older than all that are here; none: there are no more */
  putOlder(candles) {
    const first = this.all[0]?.start ?? Infinity;
    const older = candles.filter(({ start }) => start < first);
    this.#replace([...older, ...this.all], this.state, older.length > 0);
  }

  /** @param {Candle[]} all @param {"waiting"|"live"} state @param {boolean} older */
  #replace(all, state, older) {
    this.all = all;
    this.state = state;
    this.older = older;
    this.redrawn += 1;
    this.changed();
  }
}
