// One loop for all drawing: however often state changes, a view draws at most once a frame.

export class Frames {
  /** @type {Set<() => void>} */
  #dirty = new Set();
  #asked = false;
  #ask;

  /** @param {(draw: () => void) => unknown} [ask] */
  constructor(ask = (draw) => requestAnimationFrame(draw)) {
    this.#ask = ask;
  }

  /**
   * Says that a view is to be drawn, once now and then whenever what is returned is called.
   * @param {() => void} draw
   * @returns {() => void}
   */
  view(draw) {
    const mark = () => {
      this.#dirty.add(draw);
      if (this.#asked) return;
      this.#asked = true;
      this.#ask(() => this.#draw());
    };
    mark();
    return mark;
  }

  #draw() {
    // What marks itself while it draws is drawn in the next frame, not in this one for ever.
    const dirty = this.#dirty;
    this.#dirty = new Set();
    this.#asked = false;
    for (const draw of dirty) draw();
  }
}
