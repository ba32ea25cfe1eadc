// The activity of some accounts, from the server's drop copy: placed, executed, canceled, newest first. Bounded.

import { Observable } from "./observable.js";

/** @import { Feed } from "../feed.js" */
/** @import { DropCopyFeed, DropCopyReport, Topic } from "../types.js" */

const KEPT = 300;
/** The number of earlier commands whose reports are listed, too. */
export const PAST = 5_000;

export class Activity extends Observable {
  /** Newest first. @type {DropCopyReport[]} */
  reports = [];
  /** The accounts' owner, in words; null without any. @type {string|null} */
  whose = null;
  /** The command from which on it is told; null for those alone that come. @type {number|null} */
  from = null;
  /** Why it is not told. @type {string|null} */
  refused = null;
  #feed;
  /** @type {Topic|null} */
  #topic = null;

  /** @param {Feed} feed */
  constructor(feed) {
    super();
    this.#feed = feed;
  }

  /** @param {{member: string}|{accounts: string[]}} of @param {number} sequence the server's last command */
  follow(of, sequence) {
    this.stop();
    this.whose = "member" in of ? of.member : of.accounts.join(", ");
    const from = (this.from = Math.max(0, sequence - PAST));
    this.#subscribe({ channel: "drop-copy", ...of, from }, { channel: "drop-copy", ...of });
    this.changed();
  }

  stop() {
    if (this.#topic) this.#feed.unsubscribe(this.#topic);
    this.#topic = null;
    this.reports = [];
    this.whose = this.refused = null;
    this.changed();
  }

  /** @param {Topic} topic @param {Topic|null} without what is asked for where the past cannot be had */
  #subscribe(topic, without) {
    this.#topic = topic;
    this.#feed.subscribe(topic, {
      message: (/** @type {DropCopyFeed} */ message) => {
        this.reports = [...message.reports.toReversed(), ...this.reports].slice(0, KEPT);
        this.changed();
      },
      failed: (error) => {
        if (this.#topic !== topic) return;
        if (without) {
          this.from = null;
          return this.#subscribe(without, null);
        }
        this.refused = error.detail ?? error.code;
        this.#topic = null;
        this.changed();
      },
      // It is told again from the same command on.
      lost: () => {
        this.reports = [];
        this.changed();
      },
    });
  }
}
