// The system view: what the server says of itself, second by second, over the last five minutes. Its chart library is only
// fetched when it is looked at.

import { find, make, setAttribute, setText } from "../dom.js";
import { count, duration, plural, size, uptime } from "../format.js";

/** @import { Frames } from "../frames.js" */
/** @import { Vitals } from "../state/vitals.js" */
/** @import { Theme } from "../theme.js" */
/** @import { Status } from "../types.js" */
/** @import uPlot from "uplot" */

const SPAN_S = 300;
const HEIGHT_PX = 190;
const WIDTH_MIN_PX = 200;
const NOT_MEASURED = "not measured";
/** The steps of an axis of counts, which have no halves. */
const WHOLE = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** Bytes are shown in mebibytes. */
const POWERS_OF_TWO = Array.from({ length: 30 }, (_, power) => 2 ** (power + 20));

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {(status: Status) => number|null|undefined} value
 */

/**
 * @typedef {object} ChartKind
 * @property {string} title
 * @property {(value: number) => string} show
 * @property {string} none why there may be nothing to show
 * @property {number[]} [steps] that its scale may have, unless any will do
 * @property {Line[]} lines the first one's last value is the headline
 */

/** @type {ChartKind[]} */
const CHARTS = [
  {
    title: "Per second",
    none: "Nothing was measured yet",
    show: count,
    steps: WHOLE,
    lines: [
      { name: "Commands", value: (status) => status.commands_per_second },
      { name: "Requests", value: (status) => status.requests_per_second },
      { name: "Executions", value: (status) => status.executions_per_second },
    ],
  },
  {
    title: "Latency",
    none: "No request came from outside: latency is theirs",
    show: duration,
    lines: [
      { name: "p50", value: (status) => status.latency_us?.p50 },
      { name: "p99", value: (status) => status.latency_us?.p99 },
      { name: "p99.9", value: (status) => status.latency_us?.p999 },
    ],
  },
  {
    title: "Journal sync",
    none: "Nothing was synced: no command came, or the server does not wait for its disk",
    show: duration,
    lines: [
      { name: "p50", value: (status) => status.sync_us?.p50 },
      { name: "p99", value: (status) => status.sync_us?.p99 },
    ],
  },
  {
    title: "Commands in a batch",
    none: "No commands came",
    show: count,
    steps: WHOLE,
    lines: [
      { name: "p50", value: (status) => status.batch?.p50 },
      { name: "p99", value: (status) => status.batch?.p99 },
    ],
  },
  { title: "Queue", none: "No commands came", show: count, steps: WHOLE, lines: [{ name: "Waiting", value: (status) => status.queue }] },
  {
    title: "Connections",
    none: "Nothing was measured yet",
    show: count,
    steps: WHOLE,
    lines: [
      { name: "Connections", value: (status) => status.connections },
      { name: "Subscribers", value: (status) => status.subscribers },
    ],
  },
  { title: "Open orders", none: "Nothing was measured yet", show: count, steps: WHOLE, lines: [{ name: "Open", value: (status) => status.open_orders }] },
  {
    title: "Memory",
    none: "This system does not tell",
    show: size,
    steps: POWERS_OF_TWO,
    lines: [{ name: "Resident", value: (status) => status.memory_bytes }],
  },
];

/** Colours of lines, and dashes, so that colour is not the only sign. */
const STROKES = ["line-1", "line-2", "line-3"];
const DASHES = [[], [6, 3], [2, 3]];
const MARKERS = ["solid", "dashed", "dotted"];

/** @param {{vitals: Vitals, frames: Frames, theme: Theme}} parts @returns {{show: () => void}} to be told when it comes into view */
export function systemView({ vitals, frames, theme }) {
  const root = find("system-charts");
  const note = find("system-note");
  const about = find("system-about");
  const demo = find("demo");
  /** @type {ReturnType<typeof chart>[]} */
  let charts = [];
  let asked = false;
  const visible = () => !find("system").hidden;

  const mark = frames.view(() => {
    demo.hidden = !vitals.server?.demo;
    if (!visible()) return;
    const last = vitals.seconds.at(-1);
    note.hidden = last !== undefined && charts.length > 0;
    setText(about, last ? describe(last) : "");
    setAttribute(root, "data-seconds", String(vitals.seconds.length));
    for (const each of charts) each.draw(vitals.seconds);
  });

  /** @param {Status} last */
  function describe(last) {
    const server = vitals.server;
    const parts = [
      server && `Pricetime ${server.version}`,
      server && (server.store === "journal" ? "journal on the disk" : server.store),
      last.uptime_seconds !== null && `up for ${uptime(last.uptime_seconds)}`,
      `command ${count(last.sequence)}`,
      last.accounts !== null && plural(last.accounts, "account"),
    ];
    return parts.filter(Boolean).join(" · ");
  }

  async function load() {
    const Plot = await library();
    charts = CHARTS.map((kind) => chart(Plot, root, kind, theme));
    new ResizeObserver(() => {
      for (const each of charts) each.fit();
    }).observe(root);
    mark();
  }

  theme.watch(() => {
    for (const each of charts) each.recolour();
    mark();
  });
  vitals.watch(mark);
  return {
    show() {
      if (!asked) {
        asked = true;
        load();
      }
      mark();
    },
  };
}

/**
 * The chart library. Of its modules only one is small, and that is none: a script that leaves its name with the window.
 * @returns {Promise<typeof uPlot>}
 */
function library() {
  return new Promise((loaded, failed) => {
    const script = make("script", { src: "vendor/uPlot.iife.min.js" });
    script.addEventListener("load", () => loaded(/** @type {any} */ (window).uPlot));
    script.addEventListener("error", () => failed(new Error("the chart library cannot be loaded")));
    // Its styles go first, so that ours come after them and count more.
    document.head.prepend(make("link", { rel: "stylesheet", href: "vendor/uPlot.min.css" }), script);
  });
}

/**
 * One panel: a headline and its lines.
 * @param {typeof uPlot} Plot
 * @param {HTMLElement} root
 * @param {ChartKind} kind
 * @param {Theme} theme
 */
function chart(Plot, root, kind, theme) {
  const value = make("p", { class: "headline number" }, "–");
  const none = make("p", { class: "note", hidden: true }, kind.none);
  const canvas = make("div", { class: "system-canvas" }, none);
  root.append(
    make("section", { class: "panel", "aria-label": kind.title }, make("header", { class: "panel-head" }, make("h3", {}, kind.title), value), canvas),
  );

  const build = () => new Plot(plotOptions(kind, theme, canvas.clientWidth), data, canvas);
  /** @type {uPlot.AlignedData} */
  let data = [[], ...kind.lines.map(() => [])];
  let plot = build();

  return {
    /** @param {Status[]} seconds */
    draw(seconds) {
      const last = seconds.at(-1);
      if (!last) return;
      const latest = kind.lines[0].value(last);
      const measured = latest !== null && latest !== undefined;
      setText(value, measured ? kind.show(latest) : NOT_MEASURED);
      value.classList.toggle("none", !measured);
      data = [seconds.map(({ time }) => time / 1_000_000), ...kind.lines.map((line) => seconds.map((status) => line.value(status) ?? null))];
      none.hidden = data.slice(1).some((line) => line.some((amount) => amount !== null));
      plot.setData(data, false);
      const end = last.time / 1_000_000;
      plot.setScale("x", { min: end - SPAN_S, max: end });
      // Where nobody points, the legend tells of now.
      if ((plot.cursor.left ?? -1) < 0) plot.setLegend({ idx: seconds.length - 1 });
    },
    fit() {
      if (canvas.clientWidth > 0) plot.setSize({ width: canvas.clientWidth, height: HEIGHT_PX });
    },
    /** The library keeps the colours that it began with. */
    recolour() {
      plot.destroy();
      plot = build();
    },
  };
}

/** The library's options for a chart. @param {ChartKind} kind @param {Theme} theme @param {number} width_px @returns {uPlot.Options} */
function plotOptions(kind, theme, width_px) {
  const axis = {
    stroke: theme.colour("muted"),
    font: "11px system-ui, sans-serif",
    grid: { stroke: theme.colour("grid"), width: 1 },
    ticks: { show: false },
  };
  return {
    width: Math.max(WIDTH_MIN_PX, width_px),
    height: HEIGHT_PX,
    legend: { markers: { dash: (_plot, at) => MARKERS[at - 1] ?? "solid" } },
    cursor: { sync: { key: "system" }, drag: { x: false, y: false }, points: { size: 5 } },
    scales: {
      x: { time: true },
      // From zero, so that a calm line looks calm.
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.15 : 1] },
    },
    axes: [
      { ...axis, size: 26, space: 40, values: (_plot, times) => times.map((time) => minute.format(time * 1000)) },
      { ...axis, size: 66, space: 28, ...(kind.steps && { incrs: kind.steps }), values: (_plot, values) => values.map(kind.show) },
    ],
    series: [
      { label: "Time", value: (_plot, time) => (time === null ? "–" : clock.format(time * 1000)) },
      ...kind.lines.map((line, at) => ({
        label: line.name,
        stroke: theme.colour(STROKES[at]),
        width: 1.5,
        dash: DASHES[at],
        points: { show: false },
        value: (/** @type {uPlot} */ _plot, /** @type {number|null} */ amount) => (amount === null || amount === undefined ? "–" : kind.show(amount)),
      })),
    ],
  };
}

const minute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
