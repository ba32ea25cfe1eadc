// Dark or light: as was chosen here, and remembered; else as the system prefers. Canvases ask here for colours and for news of a change.

import { Observable } from "./state/observable.js";
import { remember, remembered } from "./settings.js";

export class Theme extends Observable {
  /** @type {"dark"|"light"} */
  name = document.documentElement.dataset.theme === "light" ? "light" : "dark";

  constructor() {
    super();
    matchMedia("(prefers-color-scheme: light)").addEventListener("change", ({ matches }) => {
      if (remembered("theme") === null) this.#become(matches ? "light" : "dark");
    });
  }

  toggle() {
    this.#become(this.name === "dark" ? "light" : "dark");
    remember("theme", this.name);
  }

  /** @param {"dark"|"light"} name */
  #become(name) {
    this.name = name;
    document.documentElement.dataset.theme = name;
    this.changed();
  }

  /** The value of a colour variable, such as "buy". @param {string} name */
  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }
}
