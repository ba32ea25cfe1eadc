// The search of the documents: over the words of all chapters.

/** @typedef {{chapter: string, heading: string, at: string, words: string}} Part */

const SHOWN_MAX = 30;
// Letters that are shown before and behind what was found in a text.
const AROUND = 48;

const field = /** @type {HTMLInputElement} */ (document.getElementById("search"));
const found = /** @type {HTMLElement} */ (document.getElementById("found"));
const count = /** @type {HTMLElement} */ (document.getElementById("count"));
const chapters = /** @type {HTMLElement} */ (document.getElementById("chapters"));
const contents = /** @type {HTMLDetailsElement} */ (document.getElementById("contents"));

/** @type {Promise<Part[]>|null} */
let parts = null;

/** @returns {Promise<Part[]>} */
async function read() {
  const answer = await fetch("search.json");
  if (!answer.ok) throw new Error(`search.json: ${answer.status}`);
  return answer.json();
}

async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  chapters.hidden = words.length > 0;
  if (words.length === 0) {
    found.replaceChildren();
    count.textContent = "";
    return;
  }
  try {
    parts ??= read();
    const all = await parts;
    /** @param {string} text */
    const has = (text) => words.every((word) => text.toLowerCase().includes(word));
    // What a part is called counts before what is said in it.
    const called = all.filter(({ chapter, heading }) => has(`${chapter} ${heading}`));
    const fits = [...called, ...all.filter((part) => !called.includes(part) && has(`${part.chapter} ${part.heading} ${part.words}`))];
    count.textContent = fits.length > SHOWN_MAX ? `${fits.length} found; the first ${SHOWN_MAX}` : `${fits.length} found`;
    found.replaceChildren(...fits.slice(0, SHOWN_MAX).map((part) => shown(part, words)));
  } catch (error) {
    parts = null;
    count.textContent = `Search does not work: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * @param {Part} part
 * @param {string[]} sought
 */
function shown({ chapter, heading, at, words }, sought) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = at;
  link.textContent = heading === chapter ? heading : `${heading} (${chapter})`;
  item.append(link);
  const place = sought.map((word) => words.toLowerCase().indexOf(word)).find((place) => place >= 0);
  if (place !== undefined) {
    const [from, to] = [Math.max(0, place - AROUND), place + AROUND];
    const line = document.createElement("p");
    line.className = "muted";
    line.textContent = `${from > 0 ? "…" : ""}${words.slice(from, to)}${to < words.length ? "…" : ""}`;
    item.append(line);
  }
  return item;
}

field.addEventListener("input", search);
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.target instanceof HTMLInputElement) return;
  event.preventDefault();
  contents.open = true;
  field.focus();
});
// On a telephone the chapters stand above the text, and are folded.
if (matchMedia("(max-width: 800px)").matches) contents.open = false;
search();

export {};
