// Pictures of every view of the page in five sizes and both themes: PRICETIME_HTTP says where the server is, and $OUT where they go, with a
// page that shows them side by side.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fill, tour } from "./views.js";
import { browser, look, out, step, visit } from "./visits.js";

const SIZES = [
  [320, 480],
  [360, 640],
  [844, 390],
  [1366, 650],
  [1920, 1080],
];

/** @type {Map<string, string[]>} */
const pictures = new Map();
try {
  await fill();
  for (const colours of /** @type {const} */ (["dark", "light"])) {
    for (const [width, height] of SIZES) {
      await step(`${width} × ${height}, ${colours}`, () =>
        visit({ viewport: { width, height }, colorScheme: colours }, (page) =>
          tour(page, async (view) => {
            const name = `${view.replaceAll(/\W+/g, "-")}-${width}-${colours}`;
            // What is asked for has come, and is drawn.
            await page.waitForTimeout(400);
            await look(page, name);
            pictures.set(view, [...(pictures.get(view) ?? []), name]);
          }),
        ),
      );
    }
  }
} finally {
  await browser.close();
}
const rows = [...pictures].map(
  ([view, names]) => `<h2>${view}</h2>\n${names.map((name) => `<img src="${name}.png" alt="${name}" title="${name}">`).join("\n")}`,
);
writeFileSync(join(out, "index.html"), `<!doctype html>\n<title>Every view</title>\n<style>img { height: 20em; margin: 0.2em }</style>\n${rows.join("\n")}\n`);
console.log(`${join(out, "index.html")} shows them`);
