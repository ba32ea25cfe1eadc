// Whether what is shown is live, as a sign in the corner; and above all else a strip that says what keeps orders from being taken.

import { Refusal } from "../api.js";
import { find, setAttribute, setText } from "../dom.js";

/** @import { Api } from "../api.js" */
/** @import { Feed } from "../feed.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Standing } from "../state/standing.js" */

/** A loss that is mended within this time gets no banner. */
const PATIENCE_MS = 400;

/** @param {{feed: Feed, standing: Standing, api: Api, frames: Frames}} parts */
export function connectionView({ feed, standing, api, frames }) {
  const sign = find("connection-text");
  let was_open = false;
  let is_closed = false;
  /** @type {number|null} */
  let lost_at = null;
  /** @type {ReturnType<typeof setInterval>|undefined} */
  let ticking;

  const mark = frames.view(() => {
    const now = performance.now();
    if (feed.state === "open") {
      was_open = true;
      lost_at = null;
      is_closed = false;
    } else if (feed.state === "lost" || was_open) {
      lost_at ??= now;
    }
    const hung = feed.state === "open" && feed.hung;
    const lost = lost_at !== null && now - lost_at >= PATIENCE_MS;
    const away = hung ? "hung" : lost ? (is_closed ? "maintenance" : "lost") : null;
    standing.miss(away);
    document.body.dataset.connection = away ? "lost" : feed.state === "open" ? "open" : "connecting";
    setText(sign, hung ? "No answer" : is_closed ? "In maintenance" : lost ? "Disconnected" : feed.state === "open" ? "Live" : "Connecting");
    drawStrip({ feed, standing, was_open, now });
    clearInterval(ticking);
    if (feed.state !== "open") ticking = setInterval(mark, 250);
  });

  /** A socket that is not opened does not say why; a request does. */
  async function askWhy() {
    try {
      await api.status();
      is_closed = false;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      is_closed = error.code === "maintenance";
    }
    mark();
  }

  let before = feed.state;
  feed.watch(() => {
    if (feed.state === "lost" && before !== "lost") askWhy();
    before = feed.state;
    mark();
  });
  standing.watch(mark);
  find("banner-retry").addEventListener("click", () => feed.connect());
  addEventListener("online", () => feed.connect());
}

/** Draws the strip, which names all obstacles and explains the first. @param {{feed: Feed, standing: Standing, was_open: boolean, now: number}} parts `was_open`: whether the page ever had a connection */
function drawStrip({ feed, standing, was_open, now }) {
  const all = standing.obstacles;
  const [first] = all;
  const banner = find("banner");
  banner.hidden = all.length === 0;
  setAttribute(banner, "data-kind", first?.kind ?? null);
  find("banner-retry").hidden = standing.away === null || standing.away === "hung";
  if (!first) return;
  const titles = all.map(({ title }) => title);
  if (standing.away === "lost" && !was_open) titles[0] = "The server cannot be reached.";
  setText(find("banner-title"), titles.join(" "));
  const seconds = feed.retry_at === null ? 0 : Math.max(0, Math.ceil((feed.retry_at - now) / 1000));
  const next = find("banner-retry").hidden ? "" : seconds > 0 ? ` Next attempt in ${seconds} s.` : " Connecting…";
  setText(find("banner-text"), `${standing.away === "lost" && !was_open ? "" : first.text}${next}`.trim());
}
