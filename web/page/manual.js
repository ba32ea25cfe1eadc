// The search of the documents: over the headings of all chapters.

/** @typedef {{chapter: string, heading: string, at: string}} Part */

const SHOWN_MAX = 30;

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
    const fits = all.filter(({ chapter, heading }) => words.every((word) => `${chapter} ${heading}`.toLowerCase().includes(word)));
    count.textContent = fits.length > SHOWN_MAX ? `${fits.length} found; the first ${SHOWN_MAX}` : `${fits.length} found`;
    found.replaceChildren(...fits.slice(0, SHOWN_MAX).map(shown));
  } catch (error) {
    parts = null;
    count.textContent = `Search does not work: ${error instanceof Error ? error.message : error}`;
  }
}

/** @param {Part} part */
function shown({ chapter, heading, at }) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.href = at;
  link.textContent = heading === chapter ? heading : `${heading} (${chapter})`;
  item.append(link);
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
