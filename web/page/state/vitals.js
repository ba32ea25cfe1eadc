// What the server says of itself each second, for the last five minutes.

import { Observable } from "./observable.js";

/** @import { ServerStatus, Status } from "../types.js" */

const SECONDS = 300;

export class Vitals extends Observable {
  /** Oldest first, one a second. @type {Status[]} */
  seconds = [];
  /** What was said when the page was opened. @type {ServerStatus|null} */
  server = null;

  /** @param {Status} status */
  add(status) {
    const oldest = status.time - SECONDS * 1_000_000;
    this.seconds = [...this.seconds, status].filter(({ time }) => time >= oldest);
    this.changed();
  }

  /** What the server remembers of before this page was opened, or was away. @param {Status[]} seconds oldest first */
  before(seconds) {
    const here = new Map([...seconds, ...this.seconds].map((status) => [status.time, status]));
    this.seconds = [...here.values()].sort((a, b) => a.time - b.time);
    this.changed();
  }

  /** How the venue stands, as far as it was told last. @returns {Pick<Status, "mode"|"killed">|null} */
  get now() {
    return this.seconds.at(-1) ?? this.server;
  }

  /** @param {ServerStatus} server */
  greet(server) {
    this.server = server;
    this.changed();
  }
}
