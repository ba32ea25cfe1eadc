// The pause before the next attempt: twice as long each time, up to a bound, and never in step with other pages.

export class Pauses {
  #tries = 0;
  #first;
  #longest;
  #random;

  /**
   * @param {{first_ms: number, longest_ms: number}} bounds
   * @param {() => number} [random] from 0 up to 1
   */
  constructor({ first_ms, longest_ms }, random = Math.random) {
    this.#first = first_ms;
    this.#longest = longest_ms;
    this.#random = random;
  }

  /** The next pause in milliseconds, between half and all of what it has grown to. */
  next() {
    const whole = Math.min(this.#first * 2 ** this.#tries, this.#longest);
    this.#tries = Math.min(this.#tries + 1, 30);
    return whole / 2 + (whole / 2) * this.#random();
  }

  /** Notes a success: the next pause is a short one again. */
  reset() {
    this.#tries = 0;
  }
}
