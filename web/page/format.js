// Times, counts and sizes as people read them. Exact amounts are formatted in decimal.js.

import { group } from "./decimal.js";

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short" });
const dayOfYear = new Intl.DateTimeFormat("en-GB", { day: "2-digit", month: "short", year: "numeric" });
const counts = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const precise = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });

/** @param {number} time_us */
export function timeOfDay(time_us) {
  return clock.format(time_us / 1000);
}

/** The time, and the day before it unless that is today, with the year unless it is this one. @param {number} time_us */
export function dayAndTime(time_us) {
  const date = new Date(time_us / 1000);
  const now = new Date();
  if (date.toDateString() === now.toDateString()) return clock.format(date);
  const shown = date.getFullYear() === now.getFullYear() ? day : dayOfYear;
  return `${shown.format(date)} ${clock.format(date)}`;
}

/** The day and the time, as 2026-11-24 10:32:05 in this browser's time. @param {number} time_us */
export function dayTimeOfYear(time_us) {
  const date = new Date(time_us / 1000);
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const day = [String(date.getFullYear()).padStart(4, "0"), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${[date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":")}`;
}

/** @param {number} value */
export function count(value) {
  return Math.abs(value) < 10 && value % 1 !== 0 ? precise.format(value) : counts.format(value);
}

/** @param {number} us */
export function duration(us) {
  if (us < 1_000) return `${precise.format(us)} µs`;
  if (us < 1_000_000) return `${precise.format(us / 1_000)} ms`;
  return `${precise.format(us / 1_000_000)} s`;
}

/** @param {number} bytes */
export function size(bytes) {
  const mebibytes = bytes / 1_048_576;
  return mebibytes < 1024 ? `${precise.format(mebibytes)} MiB` : `${precise.format(mebibytes / 1024)} GiB`;
}

/** @param {number} seconds */
export function uptime(seconds) {
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  if (hours > 0) return `${hours} h ${minutes % 60} min`;
  return minutes > 0 ? `${minutes} min ${Math.floor(seconds % 60)} s` : `${Math.floor(seconds)} s`;
}

/** A number with its noun in the singular or the plural. @param {number} amount @param {string} one @param {string} [many] */
export function plural(amount, one, many = `${one}s`) {
  return `${counts.format(amount)} ${amount === 1 ? one : many}`;
}

/** Units of thousands. */
const UNITS = ["", "K", "M", "B", "T", "Q"];

/**
 * A plain decimal in so many characters: with fewer decimals, or in thousands, millions and so on; rounded down, so that it never tells more than there is.
 * @param {string} text
 * @param {number} room
 */
export function abbreviated(text, room) {
  const [whole, decimals = ""] = text.split(".");
  const full = group(text);
  if (full.length <= room) return full;
  if (room < 2) return "…";
  // Of less than one the decimals are what counts.
  if (whole === "0" && /^0*$/.test(decimals.slice(0, Math.max(0, room - 2)))) return room > 3 ? `<0.${"0".repeat(room - 4)}1` : "<1";
  for (const [power, unit] of UNITS.entries()) {
    const digits = whole.length - 3 * power;
    if (digits < 1) break;
    const before = group(whole.slice(0, digits));
    const left = room - before.length - unit.length;
    if (left < 0) continue;
    const behind = (whole.slice(digits) + decimals).slice(0, Math.max(0, Math.min(left - 1, unit === "" ? Infinity : 3))).replace(/0+$/, "");
    return behind === "" ? `${before}${unit}` : `${before}.${behind}${unit}`;
  }
  return "…";
}
