// A replay on the page: the bar that says which moment is shown and moves it, and the dialog in which one is chosen.

import { setAttribute, setText } from "../dom.js";
import { count, dayTimeOfYear } from "../format.js";
import { replayBar } from "./replay-bar.js";
import { replayDialog } from "./replay-dialog.js";

/** @import { Api } from "../api.js" */
/** @import { Frames } from "../frames.js" */
/** @import { Market } from "../state/market.js" */
/** @import { Moment, Replay } from "../state/replay.js" */

/** The age of the moment that the dialog offers at first. */
const AGO_MS = 5 * 60_000;

/**
 * @param {{replay: Replay, market: Market, frames: Frames, api: Pick<Api, "status">, go: (symbol: string, moment: Moment|null) => void}} parts `go` shows a moment, or with null the live market
 */
export function replayView({ replay, market, frames, api, go }) {
  const { root, time, command, state, back, play, step, trade, speeds, other, live } = replayBar();

  const mark = frames.view(() => {
    const on = replay.state !== "off";
    root.hidden = !on;
    document.body.toggleAttribute("data-replay", on);
    if (!on) return;
    const stands = replay.state === "still" || replay.state === "playing";
    setText(time, stands && replay.time > 0 ? dayTimeOfYear(replay.time) : "…");
    setText(command, stands ? count(replay.sequence) : "…");
    setText(state, replay.said || (replay.state === "asking" ? "Looking it up…" : ""));
    setAttribute(state, "data-fault", replay.state === "failed");
    setAttribute(root, "data-state", replay.state);
    setText(play, replay.state === "playing" ? "⏸" : "▶");
    setAttribute(play, "aria-label", replay.state === "playing" ? "Pause (K)" : "Play (K)");
    setAttribute(play, "title", replay.state === "playing" ? "Pause (K)" : "Play (K)");
    // Who presses one of them again and again keeps the focus.
    for (const each of [back, play, step, trade]) setAttribute(each, "aria-disabled", stands ? null : "true");
    for (const { speed, button } of speeds) setAttribute(button, "aria-pressed", String(speed === replay.speed));
  });
  replay.watch(mark);

  const toggle = () => (replay.state === "playing" ? replay.pause() : replay.play());
  for (const { speed, button } of speeds) button.addEventListener("click", () => replay.setSpeed(speed));
  play.addEventListener("click", toggle);
  back.addEventListener("click", () => replay.back());
  step.addEventListener("click", () => replay.step());
  trade.addEventListener("click", () => replay.toTrade());
  live.addEventListener("click", () => market.symbol && go(market.symbol, null));
  other.addEventListener("click", open);

  const openDialog = replayDialog({ api, market, go });

  async function open() {
    replay.pause();
    await openDialog(replay.time > 0 && replay.state !== "off" ? replay.time / 1_000 : Date.now() - AGO_MS);
  }

  return { open, toggle };
}
