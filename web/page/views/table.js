// A table whose rows are kept by key: a row that is still there keeps its element, its focus and its place in the hand.

import { make, setAttribute, setText } from "../dom.js";

/**
 * @template T
 * @typedef {object} Column
 * @property {string} head
 * @property {(row: T) => string} text
 * @property {string} [kind] classes of its cells: number, wide
 * @property {(row: T) => string|null} [direction] up or down, for its colour
 */

/** More rows than these are not drawn: they are told as a number beneath. */
const ROWS = 200;

/** @template T */
export class Table {
  /** @type {Map<string, {tr: HTMLTableRowElement, cells: HTMLTableCellElement[]}>} */
  #rows = new Map();
  /** What each row shows now. @type {Map<string, T>} */
  #current = new Map();
  #body = make("tbody");
  #table;
  #note = make("p", { class: "note" });
  #more = make("button", { type: "button", class: "more" });
  #columns;
  #key;
  #action;

  /**
   * @param {HTMLElement} root
   * @param {object} parts
   * @param {string} parts.caption for those who do not see it
   * @param {Column<T>[]} parts.columns
   * @param {(row: T) => string} parts.key
   * @param {{name: (row: T) => string, label: string, run: (row: T) => void}} [parts.action] a button in each row
   * @param {() => void} [parts.more] asks for older rows
   */
  constructor(root, { caption, columns, key, action, more }) {
    this.#columns = columns;
    this.#key = key;
    this.#action = action;
    const heads = columns.map((column) => make("th", { scope: "col", class: column.kind ?? null }, column.head));
    if (action) heads.push(make("th", { scope: "col" }, make("span", { class: "unseen" }, action.label)));
    this.#table = make("table", {}, make("caption", { class: "unseen" }, caption), make("thead", {}, make("tr", {}, ...heads)), this.#body);
    root.append(this.#table, this.#note, this.#more);
    this.#more.addEventListener("click", () => more?.());
  }

  /**
   * @param {T[]} rows in the order in which they stand
   * @param {object} around
   * @param {string} around.empty what stands there without rows
   * @param {string|null} [around.more] the text of the button for older ones; null for no button
   */
  draw(rows, { empty, more = null }) {
    const shown = more === null ? rows.slice(0, ROWS) : rows;
    this.#current = new Map(shown.map((row) => [this.#key(row), row]));
    // What is gone goes first, so that what stays need not be moved: a moved element loses the focus.
    for (const [key, { tr }] of this.#rows) {
      if (this.#current.has(key)) continue;
      tr.remove();
      this.#rows.delete(key);
    }
    /** @type {Node|null} */
    let place = this.#body.firstChild;
    for (const [key, row] of this.#current) {
      const { tr, cells } = this.#rows.get(key) ?? this.#make(key);
      this.#fill(cells, row);
      if (tr === place) place = place.nextSibling;
      else this.#body.insertBefore(tr, place);
    }
    this.#table.hidden = rows.length === 0;
    const hidden = rows.length - shown.length;
    setText(this.#note, rows.length === 0 ? empty : hidden > 0 ? `and ${hidden} more` : "");
    this.#note.hidden = this.#note.textContent === "";
    this.#more.hidden = more === null;
    setText(this.#more, more ?? "");
  }

  /** @param {string} key */
  #make(key) {
    const cells = this.#columns.map((column) => make("td", { class: column.kind ?? null }));
    const tr = make("tr", { "data-key": key }, ...cells);
    if (this.#action) {
      const { label, run } = this.#action;
      const button = make("button", { type: "button", class: "row-action" }, label);
      button.addEventListener("click", () => {
        const row = this.#current.get(key);
        if (row === undefined) return;
        button.disabled = true;
        run(row);
      });
      tr.append(make("td", { class: "action" }, button));
    }
    const made = { tr, cells };
    this.#rows.set(key, made);
    return made;
  }

  /** A row whose request failed can be pressed again. @param {string} key */
  release(key) {
    const button = this.#rows.get(key)?.tr.querySelector("button");
    if (button) button.disabled = false;
  }

  /** @param {HTMLTableCellElement[]} cells @param {T} row */
  #fill(cells, row) {
    this.#columns.forEach((column, at) => {
      setText(cells[at], column.text(row));
      if (column.direction) setAttribute(cells[at], "data-direction", column.direction(row));
    });
    if (this.#action) {
      const button = cells[0].parentElement?.querySelector("button");
      if (button) setAttribute(button, "aria-label", this.#action.name(row));
    }
  }
}
