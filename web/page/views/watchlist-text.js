// The texts of the watchlist, and the line of a symbol's day. Knows no element.

export const LINE_WIDTH = 64;
export const LINE_HEIGHT = 20;

/**
 * The note beneath the list; empty if there is nothing to say.
 * @param {object} list
 * @param {number} list.found
 * @param {number} list.rows the most rows that are listed
 * @param {boolean} list.waiting
 * @param {string} list.text is searched for
 * @param {boolean} list.favourites
 */
export function noteOf({ found, rows, waiting, text, favourites }) {
  if (waiting) return "Loading symbols…";
  if (found > rows) return `and ${found - rows} more: type a part of their name`;
  if (found > 0) return "";
  if (text.trim() !== "") return `No symbol's name holds “${text.trim()}”`;
  return favourites ? "No favourites yet: a star makes a symbol one" : "No symbols yet";
}

/**
 * The change of a day: its text with two decimals, and its way.
 * @param {string|null} percent
 * @returns {{text: string, way: "up"|"down"|null}}
 */
export function changeOf(percent) {
  if (percent === null) return { text: "–", way: null };
  const still = /^-?[0.]+$/.test(percent);
  const way = still ? null : percent.startsWith("-") ? "down" : "up";
  const size = percent
    .replace(/^-/, "")
    .replace(/^(\d+)$/, "$1.00")
    .replace(/(\.\d)$/, "$10");
  return { text: `${way === null ? "" : way === "down" ? "▼" : "▲"}${size}%`, way };
}

/** A line as high as there is room for. @param {number[]} points */
export function drawn(points) {
  if (points.length < 2) return "";
  const low = Math.min(...points);
  const range = Math.max(...points) - low;
  const x = (/** @type {number} */ at) => ((at / (points.length - 1)) * LINE_WIDTH).toFixed(1);
  const y = (/** @type {number} */ point) => (range === 0 ? LINE_HEIGHT / 2 : 1 + (1 - (point - low) / range) * (LINE_HEIGHT - 2)).toFixed(1);
  return points.map((point, at) => `${at === 0 ? "M" : "L"}${x(at)} ${y(point)}`).join("");
}
