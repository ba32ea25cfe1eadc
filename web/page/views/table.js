// A table whose rows are kept by key: a row that is still there keeps its element, its focus and its place in the hand. Its heads sort, what
// is searched for leaves the rows that have it, and all of them can be taken away as CSV.

import { make, setAttribute, setText } from "../dom.js";

/**
 * @template T
 * @typedef {object} Column
 * @property {string} head
 * @property {(row: T) => string} text
 * @property {string} [kind] classes of its cells: number, and wide, wider or widest where it is left out of a table that has less room
 * @property {(row: T) => string|null} [direction] up or down, for its colour
 * @property {(row: T) => string|number|bigint|null} [value] what it is sorted by, and what CSV holds; its text without it
 * @property {(row: T) => string} [csv] what CSV holds, where that is another thing
 * @property {(row: T) => string|null} [title] its text in full, where it is pointed at
 * @property {(row: T) => void} [press] its text is a button, where there is one
 * @property {string} [hint] what pressing it does, where its text does not say it
 */

/** The order of two values; null comes last. @param {string|number|bigint|null} a @param {string|number|bigint|null} b */
export function compared(a, b) {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? 1 : -1;
  if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b), "en", { numeric: true });
  return a < b ? -1 : 1;
}

/**
 * Rows as comma-separated values, RFC 4180.
 * @template T
 * @param {Column<T>[]} columns @param {T[]} rows
 */
export function csvOf(columns, rows) {
  const line = (/** @type {string[]} */ cells) => `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(",")}\r\n`;
  const cell = (/** @type {Column<T>} */ column, /** @type {T} */ row) =>
    column.csv?.(row) ?? String((column.value ? column.value(row) : column.text(row)) ?? "");
  return line(columns.map(({ head }) => head)) + rows.map((row) => line(columns.map((column) => cell(column, row)))).join("");
}

/** The most rows that are drawn; the number of the others stands beneath. */
const ROWS = 200;

/** @template T */
export class Table {
  /** @type {Map<string, {tr: HTMLTableRowElement, cells: HTMLTableCellElement[]}>} */
  #rows = new Map();
  /** The rows' values now, by key. @type {Map<string, T>} */
  #current = new Map();
  #body = make("tbody");
  #table;
  #note = make("p", { class: "note" });
  #more = make("button", { type: "button", class: "more" });
  #columns;
  #key;
  #action;
  #edit;
  #heads;
  /** The column and direction of the order; null for the order in which rows come. @type {{column: number, way: 1|-1}|null} */
  #sorted = null;
  #sought = "";
  #resort;

  /**
   * @param {HTMLElement} root
   * @param {object} parts
   * @param {string} parts.caption for those who do not see it
   * @param {Column<T>[]} parts.columns
   * @param {(row: T) => string} parts.key
   * @param {{name: (row: T) => string, label: string, run: (row: T) => void}} [parts.action] a button in each row
   * @param {{name: (row: T) => string, label: string, value: (row: T) => string, run: (row: T, text: string) => void}} [parts.edit] a text in each row that can be changed
   * @param {() => void} [parts.more] asks for older rows
   * @param {() => void} [parts.resort] has it drawn again: another order was chosen
   */
  constructor(root, { caption, columns, key, action, edit, more, resort = () => {} }) {
    this.#resort = resort;
    this.#columns = columns;
    this.#key = key;
    this.#action = action;
    this.#edit = edit;
    this.#heads = columns.map((column, at) => {
      const button = make("button", { type: "button", class: "sort" }, column.head, make("span", { class: "way", "aria-hidden": "true" }));
      button.addEventListener("click", () => this.#sort(at));
      return make("th", { scope: "col", class: column.kind ?? null }, button);
    });
    const heads = [...this.#heads];
    if (action) heads.push(make("th", { scope: "col" }, make("span", { class: "unseen" }, action.label)));
    this.#table = make("table", {}, make("caption", { class: "unseen" }, caption), make("thead", {}, make("tr", {}, ...heads)), this.#body);
    root.append(this.#table, this.#note, this.#more);
    // Until it is drawn there is nothing to press.
    this.#table.hidden = this.#more.hidden = true;
    this.#more.addEventListener("click", () => more?.());
  }

  /** The rows that have what is searched for, in the order that was chosen. @param {T[]} rows @returns {T[]} */
  arranged(rows) {
    const words = this.#sought
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    const found =
      words.length === 0
        ? rows
        : rows.filter((row) => {
            const text = this.#columns
              .map((column) => column.text(row))
              .join(" ")
              .toLowerCase();
            return words.every((word) => text.includes(word));
          });
    if (this.#sorted === null) return found;
    const { column, way } = this.#sorted;
    const { value, text } = this.#columns[column];
    const keyed = found.map((row) => ({ row, by: (value ?? text)(row) }));
    // What is not known comes last, whichever way.
    return keyed.sort((a, b) => (a.by === null || b.by === null ? compared(a.by, b.by) : way * compared(a.by, b.by))).map(({ row }) => row);
  }

  /** @param {string} text */
  seek(text) {
    this.#sought = text;
  }

  get csv() {
    return (/** @type {T[]} */ rows) => csvOf(this.#columns, this.arranged(rows));
  }

  /** Up, down, and as they come. @param {number} column */
  #sort(column) {
    const { kind = "" } = this.#columns[column];
    // The most is looked for more often than the least, and the newest than the oldest.
    const first = /number|id/.test(kind) ? -1 : 1;
    const now = this.#sorted;
    if (now?.column !== column) this.#sorted = { column, way: first };
    else this.#sorted = now.way === first ? { column, way: first === 1 ? -1 : 1 } : null;
    this.#heads.forEach((head, at) => {
      const way = this.#sorted?.column === at ? this.#sorted.way : 0;
      setAttribute(head, "aria-sort", way === 0 ? null : way > 0 ? "ascending" : "descending");
      const mark = head.querySelector(".way");
      if (mark) setText(mark, way === 0 ? "" : way > 0 ? " ▲" : " ▼");
    });
    this.#resort();
  }

  /**
   * @param {T[]} rows in the order in which they stand
   * @param {object} around
   * @param {string} around.empty what stands there without rows
   * @param {string|null} [around.more] the text of the button for older ones; null for no button
   */
  draw(rows, { empty, more = null }) {
    const all = this.arranged(rows);
    const shown = more === null ? all.slice(0, ROWS) : all;
    this.#current = new Map(shown.map((row) => [this.#key(row), row]));
    // What is gone goes first, so that what stays need not be moved: a moved element loses the focus.
    for (const [key, { tr }] of this.#rows) {
      if (this.#current.has(key)) continue;
      if (tr.contains(document.activeElement)) this.#leave(tr);
      tr.remove();
      this.#rows.delete(key);
    }
    const focus = document.activeElement;
    /** @type {Node|null} */
    let place = this.#body.firstChild;
    for (const [key, row] of this.#current) {
      const { tr, cells } = this.#rows.get(key) ?? this.#make(key);
      this.#fill(cells, row);
      if (tr === place) place = place.nextSibling;
      else this.#body.insertBefore(tr, place);
    }
    // A row that was moved lost it.
    if (focus instanceof HTMLElement && focus !== document.activeElement && this.#body.contains(focus)) focus.focus({ preventScroll: true });
    this.#table.hidden = rows.length === 0;
    const hidden = all.length - shown.length;
    setText(
      this.#note,
      rows.length === 0 ? empty : all.length === 0 ? `Nothing of ${rows.length} has “${this.#sought.trim()}”` : hidden > 0 ? `and ${hidden} more` : "",
    );
    this.#note.hidden = this.#note.textContent === "";
    this.#more.hidden = more === null;
    setText(this.#more, more ?? "");
  }

  /** A row that goes hands its focus on: to the same button of the next row, of the one before, or to the table. @param {HTMLTableRowElement} tr */
  #leave(tr) {
    const button = document.activeElement instanceof HTMLButtonElement && document.activeElement.matches(".edit") ? ".edit" : ".cancel";
    const beside = [tr.nextElementSibling, tr.previousElementSibling].find((row) => row instanceof HTMLElement && this.#current.has(row.dataset.key ?? ""));
    const next = beside?.querySelector(`${button}`) ?? this.#table.parentElement;
    if (next instanceof HTMLElement) next.focus({ preventScroll: true });
  }

  /** @param {string} key */
  #make(key) {
    // Where a row is made of lines, an amount stands behind its name.
    const named = (/** @type {Column<T>} */ { head, kind = "" }) => (/number|wide/.test(kind) ? head : null);
    const cells = this.#columns.map((column) => make("td", { class: column.kind ?? null, "data-head": named(column) }, ...this.#pressed(column, key)));
    const tr = make("tr", { "data-key": key }, ...cells);
    if (this.#action) {
      const { label, run } = this.#action;
      const button = make("button", { type: "button", class: "row-action cancel" }, label);
      button.addEventListener("click", () => {
        const row = this.#current.get(key);
        if (row === undefined) return;
        // It keeps the focus while the answer is on its way; a disabled button would lose it.
        if (button.getAttribute("aria-disabled")) return;
        button.setAttribute("aria-disabled", "true");
        run(row);
      });
      tr.append(make("td", { class: "action" }, ...this.#editor(key), button));
    }
    const made = { tr, cells };
    this.#rows.set(key, made);
    return made;
  }

  /** @param {Column<T>} column @param {string} key */
  #pressed({ head, press, hint }, key) {
    if (!press) return [];
    const button = make("button", {
      type: "button",
      class: "order-id",
      "aria-haspopup": hint ? null : "dialog",
      title: hint ?? `More of this ${head.toLowerCase()}`,
    });
    button.addEventListener("click", () => {
      const row = this.#current.get(key);
      if (row !== undefined) press(row);
    });
    return [button];
  }

  /**
   * A button that becomes a field until Enter is pressed, Escape, or something else is chosen.
   * @param {string} key
   */
  #editor(key) {
    const edit = this.#edit;
    if (!edit) return [];
    const button = make("button", { type: "button", class: "row-action edit" }, edit.label);
    const input = make("input", { class: "row-edit number", autocomplete: "off" });
    input.hidden = true;
    const show = (/** @type {boolean} */ editing) => {
      input.hidden = !editing;
      button.hidden = editing;
      // A narrow screen has no room for it beside the field.
      const action = input.parentElement?.querySelector("button.cancel");
      if (action instanceof HTMLElement) action.hidden = editing;
    };
    button.addEventListener("click", () => {
      const row = this.#current.get(key);
      if (row === undefined) return;
      input.value = edit.value(row);
      setAttribute(input, "aria-label", edit.name(row));
      show(true);
      input.select();
    });
    input.addEventListener("blur", () => show(false));
    input.addEventListener("keydown", (event) => {
      // The page has keys of its own.
      event.stopPropagation();
      if (event.key !== "Enter" && event.key !== "Escape") return;
      // Else Enter would press the button that gets the focus.
      event.preventDefault();
      const row = this.#current.get(key);
      show(false);
      button.focus();
      if (event.key === "Enter" && row !== undefined) edit.run(row, input.value.trim());
    });
    return [input, button];
  }

  /** A row whose request failed can be pressed again. @param {string} key */
  release(key) {
    const button = this.#rows.get(key)?.tr.querySelector("button.cancel");
    button?.removeAttribute("aria-disabled");
  }

  /** @param {HTMLTableCellElement[]} cells @param {T} row */
  #fill(cells, row) {
    this.#columns.forEach((column, at) => {
      const text = column.text(row);
      const button = column.press ? cells[at].firstElementChild : null;
      if (button instanceof HTMLElement) button.hidden = text === "";
      setText(button ?? cells[at], text);
      if (column.title) setAttribute(cells[at], "title", column.title(row));
      if (column.direction) setAttribute(cells[at], "data-direction", column.direction(row));
    });
    if (this.#action) {
      const button = cells[0].parentElement?.querySelector("button.cancel");
      if (button) setAttribute(button, "aria-label", this.#action.name(row));
    }
  }
}
