// Whether what is shown is live: a sign in the corner, and a banner when it is not.

import { find, setText } from "../dom.js";

/** @import { Feed } from "../feed.js" */
/** @import { Frames } from "../frames.js" */

/** A loss that is mended within this time gets no banner. */
const PATIENCE_MS = 400;

/** @param {{feed: Feed, frames: Frames}} parts */
export function connectionView({ feed, frames }) {
  const text = find("connection-text");
  const banner = find("banner");
  const retry = find("banner-retry");
  const title = find("banner-title");
  const detail = find("banner-text");
  let was_open = false;
  /** @type {number|null} */
  let lost_at = null;
  /** @type {ReturnType<typeof setInterval>|undefined} */
  let ticking;

  const mark = frames.view(() => {
    const now = performance.now();
    if (feed.state === "open") {
      was_open = true;
      lost_at = null;
    } else if (feed.state === "lost" || was_open) {
      lost_at ??= now;
    }
    const hung = feed.state === "open" && feed.hung;
    const away = hung || (lost_at !== null && now - lost_at >= PATIENCE_MS);
    document.body.dataset.connection = away ? "lost" : feed.state === "open" ? "open" : "connecting";
    setText(text, hung ? "No answer" : away ? "Disconnected" : feed.state === "open" ? "Live" : "Connecting");
    banner.hidden = !away;
    retry.hidden = hung;
    setText(title, hung ? "The server does not answer." : was_open ? "The connection is lost." : "The server cannot be reached.");
    const seconds = feed.retry_at === null ? 0 : Math.max(0, Math.ceil((feed.retry_at - now) / 1000));
    setText(detail, hung ? "What is shown is as it was. It goes on as soon as the server does." : `${was_open ? "What is shown is as it was. " : ""}${seconds > 0 ? `Next attempt in ${seconds} s.` : "Connecting…"}`);
    clearInterval(ticking);
    if (feed.state !== "open") ticking = setInterval(mark, 250);
  });
  feed.watch(mark);
  retry.addEventListener("click", () => feed.connect());
  addEventListener("online", () => feed.connect());
}
