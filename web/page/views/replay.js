// A replay on the page: the bar that says which moment is shown and moves it, and the dialog in which one is chosen.

import { find, make, setAttribute, setText } from "../dom.js";
import { count, dayTimeOfYear } from "../format.js";
import { Refusal } from "../api.js";
import { SPEEDS } from "../state/replay.js";

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
  const root = find("replay");
  const time = make("span", { id: "replay-time", class: "number" });
  const command = make("span", { id: "replay-sequence", class: "number" });
  const said = make("p", { id: "replay-said", role: "status" });
  const button = (/** @type {string} */ id, /** @type {string} */ sign, /** @type {string} */ name) =>
    make("button", { id, type: "button", "aria-label": name, title: name }, sign);
  const back = button("replay-back", "◂|", "One command back (,)");
  const play = button("replay-play", "▶", "Play (K)");
  const step = button("replay-step", "|▸", "One command on (.)");
  const trade = button("replay-trade", "▸▸|", "To the next trade (N)");
  const speeds = SPEEDS.map((speed) => {
    const made = make("button", { type: "button", "data-speed": String(speed), "aria-pressed": "false" }, `${speed}×`);
    made.addEventListener("click", () => replay.setSpeed(speed));
    return made;
  });
  const other = make("button", { id: "replay-go", type: "button", "aria-haspopup": "dialog" }, "Go to…");
  const live = make("button", { id: "replay-live", type: "button", class: "primary" }, "Back to live");
  root.append(
    make("p", { class: "replay-where" }, make("strong", {}, "Replay: "), time, ", command ", command),
    make("div", { class: "replay-keys", role: "group", "aria-label": "Play" }, back, play, step, trade),
    make("div", { class: "segments", role: "group", "aria-label": "Speed" }, ...speeds),
    other,
    live,
    said,
  );

  const when = make("input", { id: "replay-when", type: "datetime-local", step: "1", autofocus: true });
  const number = make("input", { id: "replay-command", class: "number", inputmode: "numeric", autocomplete: "off", "aria-describedby": "replay-last" });
  const last = make("p", { id: "replay-last", class: "muted" });
  const fault = make("p", { id: "replay-fault", class: "fault", role: "alert" });
  const form = make(
    "form",
    { novalidate: true },
    make("p", {}, "The market as it was: its book, trades and chart, played on from there. Orders that are open now stay open."),
    make("div", { class: "field" }, make("label", { for: "replay-when" }, "At a time"), when),
    make("div", { class: "field" }, make("label", { for: "replay-command" }, "or behind a command"), number),
    last,
    fault,
    make("p", { class: "actions" }, make("button", { type: "submit", class: "primary" }, "Show it")),
  );
  const close = make("button", { type: "button", class: "quiet icon", "aria-label": "Close" }, "×");
  const dialog = make(
    "dialog",
    { id: "replay-dialog", class: "dialog narrow", "aria-labelledby": "replay-title" },
    make("header", {}, make("h2", { id: "replay-title" }, "Replay"), close),
    form,
  );
  document.body.append(dialog);

  const mark = frames.view(() => {
    const on = replay.state !== "off";
    root.hidden = !on;
    document.body.toggleAttribute("data-replay", on);
    if (!on) return;
    const stands = replay.state === "still" || replay.state === "playing";
    setText(time, stands && replay.time > 0 ? dayTimeOfYear(replay.time) : "…");
    setText(command, stands ? count(replay.sequence) : "…");
    setText(said, replay.said || (replay.state === "asking" ? "Looking it up…" : ""));
    setAttribute(said, "data-fault", replay.state === "failed");
    setAttribute(root, "data-state", replay.state);
    setText(play, replay.state === "playing" ? "⏸" : "▶");
    setAttribute(play, "aria-label", replay.state === "playing" ? "Pause (K)" : "Play (K)");
    setAttribute(play, "title", replay.state === "playing" ? "Pause (K)" : "Play (K)");
    // Who presses one of them again and again keeps the focus.
    for (const each of [back, play, step, trade]) setAttribute(each, "aria-disabled", stands ? null : "true");
    for (const each of speeds) setAttribute(each, "aria-pressed", String(each.dataset.speed === String(replay.speed)));
  });
  replay.watch(mark);

  const toggle = () => (replay.state === "playing" ? replay.pause() : replay.play());
  play.addEventListener("click", toggle);
  back.addEventListener("click", () => replay.back());
  step.addEventListener("click", () => replay.step());
  trade.addEventListener("click", () => replay.toTrade());
  live.addEventListener("click", () => market.symbol && go(market.symbol, null));
  other.addEventListener("click", open);
  close.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const moment = asked();
    setText(fault, moment ? "" : number.value.trim() === "" ? "The time is missing" : "A command is a whole number, such as 1042");
    if (!moment || !market.symbol) return;
    dialog.close();
    go(market.symbol, moment);
  });

  /** @returns {Moment|null} */
  function asked() {
    const typed = number.value.replaceAll(",", "").trim();
    if (typed !== "") return /^\d{1,15}$/.test(typed) ? { at: Number(typed) } : null;
    const chosen = new Date(when.value).getTime();
    // Behind all that happened in that second.
    return Number.isNaN(chosen) ? null : { time: chosen * 1_000 + 999_999 };
  }

  async function open() {
    replay.pause();
    const shown = replay.time > 0 && replay.state !== "off" ? replay.time / 1_000 : Date.now() - AGO_MS;
    when.value = dayTimeOfYear(shown * 1_000).replace(" ", "T");
    number.value = "";
    setText(fault, "");
    setText(last, "");
    if (!dialog.open) dialog.showModal();
    try {
      setText(last, `The last command is ${count((await api.status()).sequence)}`);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  return { open, toggle };
}
