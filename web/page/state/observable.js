// A piece of state that tells its watchers when it has changed; they ask it what it is now.

export class Observable {
  /** @type {Set<() => void>} */
  #watchers = new Set();

  /** @param {() => void} changed called after every change, also many times a frame */
  watch(changed) {
    this.#watchers.add(changed);
  }

  changed() {
    for (const watcher of this.#watchers) watcher();
  }
}
