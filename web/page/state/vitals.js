// The server's figures of each second, for the last five minutes.

import { Observable } from "./observable.js";

/** @import { ServerStatus, Status } from "../types.js" */

const SECONDS = 300;

export class Vitals extends Observable {
  /** Oldest first, one a second. @type {Status[]} */
  seconds = [];
  /** The status when the page was opened. @type {ServerStatus|null} */
  server = null;

  /** @param {Status} status */
  add(status) {
    const oldest = status.time - SECONDS * 1_000_000;
    this.seconds = [...this.seconds, status].filter(({ time }) => time >= oldest);
    this.changed();
  }

  /** Adds the seconds that the server remembers from before this page was opened, or while it was away. @param {Status[]} seconds oldest first */
  before(seconds) {
    const here = new Map([...seconds, ...this.seconds].map((status) => [status.time, status]));
    this.seconds = [...here.values()].sort((a, b) => a.time - b.time);
    this.changed();
  }

  /** The mode and the kill of the venue, from the last message. @returns {Pick<Status, "mode"|"killed">|null} */
  get now() {
    return this.seconds.at(-1) ?? this.server;
  }

  /** @param {ServerStatus} server */
  greet(server) {
    this.server = server;
    this.changed();
  }
}
