// Columns of prices and sizes. A price has the room that it needs and is never cut; sizes share what is left, abbreviated where they have to be.

/** The widths of a font's characters, in pixels: digits, of which all have the width of a zero, other marks, arrows, and the letter or sign of an abbreviation. @typedef {{digit: number, mark: number, wide: number, unit: number}} Widths */

/** A size of fewer characters says too little. */
const LEAST = 4;

const pen = document.createElement("canvas").getContext("2d");

/** The widths of an element's font; prices are bold where orders are one's own. @param {Element} element @param {boolean} bold @returns {Widths} */
export function widthsOf(element, bold) {
  const { fontSize, fontFamily } = getComputedStyle(element);
  const size = Number.parseFloat(fontSize);
  if (!pen) return { digit: size * 0.7, mark: size * 0.4, wide: size, unit: size };
  pen.font = `${bold ? "700 " : ""}${fontSize} ${fontFamily}`;
  const width = (/** @type {string} */ text) => pen.measureText(text.repeat(10)).width / 10;
  return {
    digit: width("0"),
    mark: Math.max(width("."), width(","), width(" ")),
    wide: Math.max(width("▲"), width("▼")),
    unit: Math.max(...["K", "M", "B", "T", "Q", "<", "…"].map(width)),
  };
}

/** @param {string} text @param {Widths} widths */
export function widthOf(text, { digit, mark, wide }) {
  let width = 0;
  for (const character of text) width += /[.,\s]/.test(character) ? mark : /[▲▼]/.test(character) ? wide : digit;
  return width;
}

/** The room of columns beside a price that is never cut. Prices that were seen keep it, so that columns do not move with each of them. */
export class Columns {
  #price_px = 0;
  /** The number of characters in each other column of the row. */
  room = 0;
  /** Whether the last column has no room, and is left out. */
  narrow = false;
  #root;
  #row;
  /** @type {{width: number, gaps: number, beside: string, bold: Widths, plain: Widths}|null} */
  #measured = null;

  /** @param {HTMLElement} root where the width is told to the style sheet @param {HTMLElement} row has the font of the rows */
  constructor(root, row) {
    this.#root = root;
    this.#row = row;
  }

  /** @param {{width: number, gaps: number, beside: string}} box its width, what of that is in no column, and the text of the last column if that is no size */
  measure(box) {
    this.#measured = { ...box, bold: widthsOf(this.#row, true), plain: widthsOf(this.#row, false) };
    this.forget();
  }

  /** Other prices come, which may be shorter. */
  forget() {
    this.#price_px = 0;
  }

  /** @param {Iterable<string>} prices those that are to be seen @returns {boolean} whether the room is another one now */
  fit(prices) {
    const measured = this.#measured;
    if (!measured) return false;
    let widest = this.#price_px;
    for (const price of prices) widest = Math.max(widest, Math.ceil(widthOf(price, measured.bold)) + 1);
    if (widest === this.#price_px) return false;
    this.#price_px = widest;
    const left = measured.width - measured.gaps - widest;
    const digit = measured.plain.digit;
    const beside = Math.ceil(widthOf(measured.beside, measured.plain));
    const in_two = beside === 0 ? left / 2 : left - beside;
    this.narrow = in_two < LEAST * digit;
    this.room = Math.max(0, Math.floor(((this.narrow ? left : in_two) - measured.plain.unit + digit) / digit));
    this.#root.style.setProperty("--price", `${widest}px`);
    this.#root.style.setProperty("--beside", beside === 0 ? "minmax(0, 1fr)" : `${beside}px`);
    this.#root.toggleAttribute("data-narrow", this.narrow);
    return true;
  }
}
