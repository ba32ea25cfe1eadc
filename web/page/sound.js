// A sound of two notes, made here: no file is loaded, and nobody is asked. A browser lets a page sound only after it was used.

import { remember, remembered } from "./settings.js";

const NOTES_HZ = [660, 880];
const NOTE_S = 0.16;
const LOUDNESS = 0.18;

export class Sound {
  /** Whether alerts may be heard. */
  on = remembered("sound") !== "off";
  /** @type {AudioContext|null} */
  #context = null;

  constructor() {
    // With the first press it may sound; before, it would be silent until then and sound too late.
    for (const event of ["pointerdown", "keydown"]) addEventListener(event, () => this.#wake(), { capture: true, passive: true });
  }

  /** @param {boolean} on */
  turn(on) {
    this.on = on;
    remember("sound", on ? null : "off");
    if (on) this.play();
  }

  /** @returns {boolean} whether it can be heard */
  play() {
    const context = this.#context;
    if (!this.on || !context || context.state !== "running") return false;
    NOTES_HZ.forEach((hertz, at) => {
      const begins = context.currentTime + at * NOTE_S;
      const tone = new OscillatorNode(context, { type: "sine", frequency: hertz });
      const gain = new GainNode(context, { gain: 0 });
      // It swells and fades, so that it does not crack.
      gain.gain.setValueAtTime(0, begins);
      gain.gain.linearRampToValueAtTime(LOUDNESS, begins + 0.02);
      gain.gain.linearRampToValueAtTime(0, begins + NOTE_S);
      tone.connect(gain).connect(context.destination);
      tone.start(begins);
      tone.stop(begins + NOTE_S);
    });
    return true;
  }

  #wake() {
    if (!this.on || typeof AudioContext === "undefined") return;
    this.#context ??= new AudioContext();
    if (this.#context.state === "suspended") this.#context.resume().catch(() => {});
  }
}
