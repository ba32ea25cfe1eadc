// Exact decimals: text to scaled BigInt and back, and the little arithmetic that a ticket needs. Knows no Number but for
// drawing.

/** Prices and shares have at most so many decimals. */
export const DECIMALS = 8;
/** Money, a price times shares, has the decimals of both. */
export const MONEY_DECIMALS = 2 * DECIMALS;

const PLAIN = /^(-?)(\d+)(?:\.(\d+))?$/;

/**
 * The scaled integer of a plain decimal; null if it is none, or has too many decimals to be exact.
 * @param {string} text
 * @param {number} [decimals]
 * @returns {bigint|null}
 */
export function parse(text, decimals = DECIMALS) {
  const parts = PLAIN.exec(text);
  if (!parts) return null;
  const fraction = parts[3] ?? "";
  if (fraction.length > decimals) return null;
  const value = BigInt(parts[2] + fraction.padEnd(decimals, "0"));
  return parts[1] ? -value : value;
}

/**
 * Parses a decimal of the server: anything but a plain decimal is a fault of the page or of the server.
 * @param {string} text
 * @param {number} [decimals]
 * @returns {bigint}
 */
export function exact(text, decimals = DECIMALS) {
  const value = parse(text, decimals);
  if (value === null) throw new RangeError(`"${text}" is not a decimal of at most ${decimals} places`);
  return value;
}

/** Thousands that are set apart; then a point and decimals, or none. */
const GROUPED = /^\d{1,3}(,\d{3})+(\.\d*)?$/;

/**
 * A typed text as a plain decimal: `1,150.5` is 1150.5, and `.5` is 0.5. Any other text stays as it is, and is none.
 * @param {string} text
 */
export function plain(text) {
  const typed = text.trim();
  const whole = GROUPED.test(typed) ? typed.replaceAll(",", "") : typed;
  if (/^\.\d+$/.test(whole)) return `0${whole}`;
  return /^\d+\.$/.test(whole) ? whole.slice(0, -1) : whole;
}

/**
 * The fault of a typed amount, in words; null if it has none.
 * @param {string} text as `plain` leaves it
 * @param {string} name of the field, as in "Limit"
 * @returns {string|null}
 */
export function fault(text, name) {
  if (text === "") return `${name} is missing`;
  const parts = PLAIN.exec(text);
  if (/^\d+,\d+$/.test(text)) return `${name} “${text}” has a comma that sets no thousands apart; write ${text.replace(",", ".")} or ${text.replace(",", "")}`;
  if (!parts || parts[1]) return `${name} “${text.slice(0, 24)}” is not a plain number, such as 145.67`;
  const places = (parts[3] ?? "").length;
  if (places > DECIMALS) return `${name} has ${places} decimal places; at most ${DECIMALS}`;
  if (parse(text) === 0n) return `${name} is zero`;
  return null;
}

/**
 * The shortest text of a scaled integer.
 * @param {bigint} value
 * @param {number} [decimals]
 * @returns {string}
 */
export function format(value, decimals = DECIMALS) {
  const digits = (value < 0n ? -value : value).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return (value < 0n ? "-" : "") + whole + (fraction ? `.${fraction}` : "");
}

/**
 * The exact cost of this many shares.
 * @param {bigint} price
 * @param {bigint} shares
 * @returns {bigint} with `MONEY_DECIMALS`
 */
export function total(price, shares) {
  return price * shares;
}

/**
 * The largest multiple of a step that is no more than this.
 * @param {bigint} value
 * @param {bigint} step above zero
 * @returns {bigint}
 */
export function roundedDown(value, step) {
  return value - (value % step);
}

/**
 * The most shares that a balance pays for, rounded down.
 * @param {bigint} balance with `MONEY_DECIMALS`
 * @param {bigint} price above zero
 * @returns {bigint}
 */
export function affordable(balance, price) {
  return balance / price;
}

/**
 * A percentage of an amount, rounded down, to whole shares where that leaves any.
 * @param {bigint} shares
 * @param {bigint} percent
 * @returns {bigint}
 */
export function part(shares, percent) {
  const some = (shares * percent) / 100n;
  const one = 10n ** BigInt(DECIMALS);
  return some >= one ? some - (some % one) : some;
}

/**
 * The number of decimals of a decimal text.
 * @param {string} text
 */
export function places(text) {
  const point = text.indexOf(".");
  return point < 0 ? 0 : text.length - point - 1;
}

/**
 * The same number with at least so many decimals, so that columns align.
 * @param {string} text
 * @param {number} decimals
 */
export function atLeast(text, decimals) {
  const missing = decimals - places(text);
  if (missing <= 0) return text;
  return (text.includes(".") ? text : `${text}.`) + "0".repeat(missing);
}

/**
 * The same number with its thousands set apart.
 * @param {string} text
 */
export function group(text) {
  const point = text.indexOf(".");
  const whole = point < 0 ? text : text.slice(0, point);
  return whole.replace(/\B(?=(\d{3})+$)/g, ",") + (point < 0 ? "" : text.slice(point));
}

/**
 * A sentence whose amounts have their thousands set apart. Numbers of orders and accounts, behind their words, stay as they are.
 * @param {string} sentence
 */
export function grouped(sentence) {
  return sentence.replace(/(\b(?:orders?|accounts?|trade|command|record) )?(?<![\w.,-])(\d{4,})(\.\d+)?(?!\w)/gi, (all, named) => (named ? all : group(all)));
}

/**
 * The nearest Number, for drawing only.
 * @param {string} text
 */
export function forDrawing(text) {
  return Number(text);
}
