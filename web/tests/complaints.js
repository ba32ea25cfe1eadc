// The complaints of a page while a test uses it: exceptions, and errors and warnings in the console.

/** @import { Page } from "playwright-core" */

/** Before a picture the driver gives a page in Firefox the empty style “body {}”, which the policy of ours forbids. */
const OF_THE_DRIVER = "sha256-YjaKGiklmzC6wjXA513HAMmzus8VE61XCOT+SmwNZWA=";
/** Firefox's words for a socket that does not open, or that a reload ends: the page says it itself, or connects again. */
const NOT_CONNECTED = /^(Firefox can’t establish a connection to the server at|The connection to) ws:/;

export class Complaints {
  /** @type {string[]} */
  heard = [];
  /** Ignores failed attempts to connect while a page is cut off on purpose. */
  cut_off = false;

  /** @param {Page} page */
  listen(page) {
    page.on("console", (message) => {
      if (message.type() !== "error" && message.type() !== "warning") return;
      const connecting = /WebSocket connection to|ERR_INTERNET_DISCONNECTED|Failed to load resource/.test(message.text());
      // A refusal of the interface is an answer: the browser logs it, the page shows it.
      const refusal = /Failed to load resource/.test(message.text()) && message.location().url.includes("/api/v1/");
      if (refusal || (this.cut_off && connecting)) return;
      this.heard.push(`${message.type()}: ${message.text()} (${message.location().url})`);
    });
    page.on("pageerror", (error) => {
      if (error.message.includes(OF_THE_DRIVER) || NOT_CONNECTED.test(error.message)) return;
      this.heard.push(`exception: ${error.message} ${error.stack ?? ""}`);
    });
  }
}
