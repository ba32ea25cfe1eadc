// A button that opens a list with a field to filter it: for symbols and accounts. Knows neither.

import { make, setAttribute, setText } from "../dom.js";

/**
 * @typedef {object} Option
 * @property {string} id
 * @property {string} note beside it
 */

/** The most options that are shown at once; typing filters them. */
const SHOWN = 100;

export class Chooser {
  /** @type {Option[]} */
  #options = [];
  /** @type {Option[]} */
  #shown = [];
  #active = 0;
  /** @type {string|null} */
  #current = null;
  #opened = () => {};
  #button;
  #label;
  #popover;
  #input;
  #list;
  #note;
  #choose;
  #typed;
  #name;

  /**
   * @param {HTMLElement} root
   * @param {object} parts
   * @param {string} parts.name of what is chosen, as in "account"
   * @param {(id: string) => void} parts.choose
   * @param {(text: string) => void} [parts.typed] Enter, and nothing in the list is so called
   * @param {() => void} [parts.opened]
   */
  constructor(root, { name, choose, typed, opened }) {
    const id = `${root.id}-list`;
    this.#name = name;
    this.#choose = choose;
    this.#typed = typed;
    if (opened) this.#opened = opened;
    this.#label = make("span", { class: "chooser-label" }, "–");
    this.#button = make(
      "button",
      { type: "button", class: "chooser-button", "aria-haspopup": "listbox", "aria-expanded": "false" },
      make("span", { class: "unseen" }, `${name[0].toUpperCase()}${name.slice(1)}: `),
      this.#label,
      make("span", { class: "chooser-arrow", "aria-hidden": "true" }, "▾"),
    );
    this.#input = make("input", {
      type: "text",
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": id,
      "aria-label": `Find ${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`,
      placeholder: `Find ${/^[aeiou]/.test(name) ? "an" : "a"} ${name}`,
      autocomplete: "off",
      spellcheck: "false",
      autocapitalize: "off",
    });
    this.#list = make("ul", { id, role: "listbox", class: "chooser-list", "aria-label": `${name}s` });
    this.#note = make("p", { class: "chooser-note", role: "status" });
    this.#popover = make("div", { class: "chooser-popover", hidden: true }, this.#input, this.#list, this.#note);
    root.append(this.#button, this.#popover);

    this.#button.addEventListener("click", () => (this.#popover.hidden ? this.open() : this.close()));
    this.#input.addEventListener("input", () => {
      this.#active = 0;
      this.#draw();
    });
    this.#input.addEventListener("keydown", (event) => this.#key(event));
    this.#list.addEventListener("click", (event) => {
      const option = event.target instanceof Element ? event.target.closest("li") : null;
      if (option?.dataset.id) this.#take(option.dataset.id);
    });
    root.addEventListener("focusout", (event) => {
      if (!(event.relatedTarget instanceof Node) || !root.contains(event.relatedTarget)) this.#hide();
    });
    // A press within must not take the focus from the field, or the list would be gone before the click.
    this.#popover.addEventListener("mousedown", (event) => {
      if (event.target !== this.#input && !(event.target instanceof Element && event.target.closest("label"))) event.preventDefault();
    });
  }

  /** @param {string|null} id @param {string} none what stands there without one */
  show(id, none) {
    this.#current = id;
    setText(this.#label, id ?? none);
    setAttribute(this.#button, "data-none", id === null);
  }

  /** @param {Option[]} options @param {string} [note] beneath them */
  offer(options, note = "") {
    this.#options = options;
    setText(this.#note, note);
    if (!this.#popover.hidden) this.#draw();
  }

  /** Adds an element beneath the list. @param {HTMLElement} part */
  extend(part) {
    this.#popover.append(part);
  }

  open() {
    this.#opened();
    this.#popover.hidden = false;
    this.#button.setAttribute("aria-expanded", "true");
    this.#input.value = "";
    this.#active = Math.max(
      0,
      this.#options.findIndex(({ id }) => id === this.#current),
    );
    this.#draw();
    this.#input.focus();
  }

  close() {
    if (this.#popover.hidden) return;
    this.#hide();
    this.#button.focus();
  }

  #hide() {
    this.#popover.hidden = true;
    this.#button.setAttribute("aria-expanded", "false");
  }

  /** @param {string} id */
  #take(id) {
    this.close();
    this.#choose(id);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    const last = this.#shown.length - 1;
    if (event.key === "ArrowDown") this.#active = Math.min(this.#active + 1, last);
    else if (event.key === "ArrowUp") this.#active = Math.max(this.#active - 1, 0);
    else if (event.key === "Escape") this.close();
    else if (event.key === "Enter") this.#enter();
    else return;
    event.preventDefault();
    event.stopPropagation();
    this.#draw();
  }

  #enter() {
    const text = this.#input.value.trim();
    const exactly = this.#options.find(({ id }) => id === text) ?? this.#shown[this.#active];
    if (exactly) {
      this.#take(exactly.id);
    } else if (text !== "" && this.#typed) {
      this.close();
      this.#typed(text);
    }
  }

  #draw() {
    const wanted = this.#input.value.trim().toLowerCase();
    const fits = this.#options.filter(({ id }) => id.toLowerCase().includes(wanted));
    // What begins so stands before what merely contains it.
    fits.sort((a, b) => Number(b.id.toLowerCase().startsWith(wanted)) - Number(a.id.toLowerCase().startsWith(wanted)));
    this.#shown = fits.slice(0, Math.max(SHOWN, this.#active + 1));
    this.#active = Math.min(this.#active, Math.max(0, this.#shown.length - 1));
    this.#list.replaceChildren(
      ...this.#shown.map((option, index) =>
        make(
          "li",
          {
            role: "option",
            id: `${this.#list.id}-${index}`,
            "data-id": option.id,
            "aria-selected": String(index === this.#active),
            "data-current": option.id === this.#current,
          },
          make("span", {}, option.id),
          make("span", { class: "number muted" }, option.note),
        ),
      ),
    );
    const active = this.#list.children[this.#active];
    setAttribute(this.#input, "aria-activedescendant", active?.id ?? null);
    active?.scrollIntoView({ block: "nearest" });
    if (this.#shown.length === 0) {
      const typed = wanted !== "" && this.#typed ? `; Enter looks for ${this.#name} ${this.#input.value.trim()}` : "";
      this.#list.replaceChildren(make("li", { class: "chooser-none", role: "presentation" }, `None here${typed}`));
    }
  }
}
