// The checksum of a book: CRC-32 (IEEE) of its best levels as text.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** Levels a side that the checksum covers. */
const LEVELS = 10;

/**
 * @param {string} text ASCII
 * @returns {number} unsigned
 */
export function crc32(text) {
  let crc = 0xffffffff;
  for (let at = 0; at < text.length; at += 1) crc = TABLE[(crc ^ text.charCodeAt(at)) & 0xff] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

/**
 * Best bid, best ask, second bid, second ask …, a side that has fewer passed over.
 * @param {{limit: string, shares: string}[]} bids best first
 * @param {{limit: string, shares: string}[]} asks best first
 * @returns {number}
 */
export function bookChecksum(bids, asks) {
  const parts = [];
  for (let at = 0; at < LEVELS; at += 1) {
    if (at < bids.length) parts.push(`${bids[at].limit}:${bids[at].shares}`);
    if (at < asks.length) parts.push(`${asks[at].limit}:${asks[at].shares}`);
  }
  return crc32(parts.join(":"));
}
