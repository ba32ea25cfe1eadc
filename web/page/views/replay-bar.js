// The elements of the bar that says which moment of a replay is shown, and moves it.

import { find, make } from "../dom.js";
import { SPEEDS } from "../state/replay.js";

export function replayBar() {
  const root = find("replay");
  const time = make("span", { id: "replay-time", class: "number" });
  const command = make("span", { id: "replay-sequence", class: "number" });
  const state = make("p", { id: "replay-said", role: "status" });
  const back = keyButton("replay-back", "◂|", "One command back (,)");
  const play = keyButton("replay-play", "▶", "Play (K)");
  const step = keyButton("replay-step", "|▸", "One command on (.)");
  const trade = keyButton("replay-trade", "▸▸|", "To the next trade (N)");
  const speeds = SPEEDS.map((speed) => ({
    speed,
    button: make("button", { type: "button", "data-speed": String(speed), "aria-pressed": "false" }, `${speed}×`),
  }));
  const other = make("button", { id: "replay-go", type: "button", "aria-haspopup": "dialog" }, "Go to…");
  const live = make("button", { id: "replay-live", type: "button", class: "primary" }, "Back to live");
  root.append(
    make("p", { class: "replay-where" }, make("strong", {}, "Replay: "), time, ", command ", command),
    make("div", { class: "replay-keys", role: "group", "aria-label": "Play" }, back, play, step, trade),
    make("div", { class: "segments", role: "group", "aria-label": "Speed" }, ...speeds.map(({ button }) => button)),
    other,
    live,
    state,
  );
  return { root, time, command, state, back, play, step, trade, speeds, other, live };
}

/** @param {string} id @param {string} sign @param {string} name */
function keyButton(id, sign, name) {
  return make("button", { id, type: "button", "aria-label": name, title: name }, sign);
}
