// Measures the page's speed, in a real browser on a running server: PRICETIME_HTTP=http://127.0.0.1:8080 node tests/measure.js [SECONDS [MINUTES]]
//
// Prints how soon it paints and can be traded on, what it transfers until then, the frames of a page that is watched for SECONDS (20), and
// what its heap holds over MINUTES (0: not measured). What the server does meanwhile is said, too: `pricetime demo --rate 1000` does much.

import { launch } from "./launch.js";

const base = process.env.PRICETIME_HTTP?.replace(/\/$/, "");
if (!base) {
  console.error("PRICETIME_HTTP is not set: the address of a running server, such as http://127.0.0.1:8080");
  process.exit(2);
}
const seconds = Number(process.argv[2] ?? 20);
const minutes = Number(process.argv[3] ?? 0);
/** Openings, each in a browser profile that knows nothing. */
const OPENINGS = 11;
/** A frame that takes longer was dropped on a screen that shows 60 a second. */
const LATE_MS = 25;

/** @param {number[]} values */
const spread = (values) => {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (/** @type {number} */ part) => sorted[Math.round((sorted.length - 1) * part)]?.toFixed(0);
  return `${at(0.5)} (${at(0)} to ${at(1)})`;
};

const sequence = async () => Number((await (await fetch(`${base}/api/v1/status`)).json()).sequence);

const browser = await launch();

async function open() {
  const context = await browser.newContext({ viewport: { width: 1366, height: 768 } });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  let bytes = 0;
  await session.send("Network.enable");
  session.on("Network.loadingFinished", (loaded) => {
    bytes += loaded.encodedDataLength;
  });
  const begun = performance.now();
  await page.goto(`${base}/`, { waitUntil: "commit" });
  await page.waitForSelector("body[data-connection=open][data-market=chosen]", { state: "attached" });
  const ready = performance.now() - begun;
  const paint = await page.waitForFunction(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  return { context, page, session, ready, bytes, paint: Number(await paint.jsonValue()) };
}

/** @type {Array<{ ready: number, bytes: number, paint: number }>} */
const openings = [];
for (let opening = 0; opening < OPENINGS; opening += 1) {
  const opened = await open();
  openings.push(opened);
  await opened.context.close();
}
console.log(`first paint          ${spread(openings.map((opened) => opened.paint))} ms`);
console.log(`ready to trade       ${spread(openings.map((opened) => opened.ready))} ms`);
console.log(`transferred by then  ${spread(openings.map((opened) => opened.bytes / 1024))} KiB`);

const { page, session } = await open();
const [from, begun] = [await sequence(), performance.now()];
const gaps = await page.evaluate(
  (ms) =>
    new Promise((/** @type {(gaps: number[]) => void} */ done) => {
      /** @type {number[]} */
      const gaps = [];
      let last = performance.now();
      const end = last + ms;
      const frame = (/** @type {number} */ now) => {
        gaps.push(now - last);
        last = now;
        if (now < end) requestAnimationFrame(frame);
        else done(gaps.slice(1));
      };
      requestAnimationFrame(frame);
    }),
  seconds * 1000,
);
const commands = ((await sequence()) - from) / ((performance.now() - begun) / 1000);
const watched = gaps.reduce((sum, gap) => sum + gap, 0) / 1000;
const late = gaps.filter((gap) => gap > LATE_MS).length;
console.log(
  `frames a second      ${(gaps.length / watched).toFixed(1)}, ${((100 * late) / gaps.length).toFixed(2)}% of them late, the longest ${Math.max(...gaps).toFixed(0)} ms, at ${commands.toFixed(0)} commands/s`,
);

for (let minute = 0; minute <= minutes && minutes > 0; minute += 1) {
  if (minute > 0) await page.waitForTimeout(60_000);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  console.log(`heap after ${String(minute).padStart(2)} min    ${(usedSize / 1024 / 1024).toFixed(2)} MiB`);
}
await browser.close();
