// One loop for all drawing: however often state changes, a view draws at most once a frame, and a costly one less often.

/**
 * @typedef {object} View
 * @property {() => void} draw
 * @property {number} pause_ms at least so long between two draws
 * @property {number} drawn_at
 */

export class Frames {
  /** @type {Set<View>} */
  #dirty = new Set();
  #asked = false;
  #ask;

  /** @param {(draw: (now_ms: number) => void) => unknown} [ask] */
  constructor(ask = (draw) => requestAnimationFrame(draw)) {
    this.#ask = ask;
  }

  /**
   * Says that a view is to be drawn, once now and then whenever what is returned is called.
   * @param {() => void} draw
   * @param {number} [pause_ms]
   * @returns {() => void}
   */
  view(draw, pause_ms = 0) {
    /** @type {View} */
    const view = { draw, pause_ms, drawn_at: -Infinity };
    const mark = () => {
      this.#dirty.add(view);
      this.#askOnce();
    };
    mark();
    return mark;
  }

  #askOnce() {
    if (this.#asked) return;
    this.#asked = true;
    this.#ask((now_ms) => this.#draw(now_ms));
  }

  /** @param {number} now_ms */
  #draw(now_ms) {
    // What marks itself while it draws is drawn in the next frame, not in this one for ever.
    const dirty = this.#dirty;
    this.#dirty = new Set();
    this.#asked = false;
    for (const view of dirty) {
      if (now_ms - view.drawn_at < view.pause_ms) {
        this.#dirty.add(view);
        this.#askOnce();
      } else {
        view.drawn_at = now_ms;
        view.draw();
      }
    }
  }
}
