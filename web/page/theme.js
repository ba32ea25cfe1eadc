// Dark unless light was asked for, and remembered. Canvases ask here for colours and for news of a change.

import { Watched } from "./state/watched.js";
import { remember } from "./settings.js";

export class Theme extends Watched {
  /** @type {"dark"|"light"} */
  name = document.documentElement.dataset.theme === "light" ? "light" : "dark";

  toggle() {
    this.name = this.name === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = this.name;
    remember("theme", this.name);
    this.changed();
  }

  /** The value of a colour variable, such as "buy". @param {string} name */
  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  }
}
