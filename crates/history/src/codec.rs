//! Numbers as bytes and back, little-endian, one after the other, and the checksum of such bytes.

use terms::{Money, Position, Price, Sequence, Shares, Side, Time, Turnover};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The length of a checksum.
pub(crate) const SUM_BYTES: usize = 4;

/// The checksum of the bytes of record `at`.
pub(crate) fn sum(at: u64, bytes: &[u8]) -> u32 {
    xxh3_64_with_seed(bytes, at) as u32
}

/// Writes the checksum into the last bytes of a record, or of a part of it.
pub(crate) fn seal(at: u64, part: &mut [u8]) {
    if let Some((bytes, last)) = part.split_last_chunk_mut::<SUM_BYTES>() {
        *last = sum(at, bytes).to_le_bytes();
    }
}

/// The bytes without their checksum; none if the checksum is wrong.
pub(crate) fn sound(at: u64, part: &[u8]) -> Option<&[u8]> {
    let (bytes, last) = part.split_last_chunk::<SUM_BYTES>()?;
    (*last == sum(at, bytes).to_le_bytes()).then_some(bytes)
}

/// A place to which values are written one behind the other.
pub(crate) trait Bytes {
    fn append<const N: usize>(&mut self, bytes: [u8; N]);
}

impl Bytes for Vec<u8> {
    fn append<const N: usize>(&mut self, bytes: [u8; N]) {
        self.extend_from_slice(&bytes);
    }
}

/// A record that is written in place, because a vector would need memory each time. Its unwritten bytes are zero.
pub(crate) struct Fixed<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Fixed<N> {
    pub(crate) fn new() -> Fixed<N> {
        Fixed { bytes: [0; N], at: 0 }
    }

    /// The whole record.
    #[inline]
    pub(crate) fn record(self) -> [u8; N] {
        self.bytes
    }
}

impl<const RECORD: usize> Bytes for Fixed<RECORD> {
    #[inline(always)]
    fn append<const N: usize>(&mut self, bytes: [u8; N]) {
        self.bytes[self.at..][..N].copy_from_slice(&bytes);
        self.at += N;
    }
}

/// Writes values.
pub(crate) struct Put<'a, B: Bytes = Vec<u8>>(pub(crate) &'a mut B);

impl<B: Bytes> Put<'_, B> {
    #[inline]
    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.0.append(value.to_le_bytes());
        self
    }

    #[inline]
    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.0.append(value.to_le_bytes());
        self
    }

    #[inline]
    pub(crate) fn i64(&mut self, value: i64) -> &mut Self {
        self.0.append(value.to_le_bytes());
        self
    }

    #[inline]
    pub(crate) fn i128(&mut self, value: i128) -> &mut Self {
        self.0.append(value.to_le_bytes());
        self
    }

    #[inline]
    pub(crate) fn u8(&mut self, value: u8) -> &mut Self {
        self.0.append([value]);
        self
    }

    #[inline]
    pub(crate) fn side(&mut self, side: Side) -> &mut Self {
        self.u8(match side {
            Side::Buy => 1,
            Side::Sell => 2,
        })
    }

    /// Puts a link: a number from 1, or none.
    #[inline]
    pub(crate) fn link(&mut self, number: Option<u64>) -> &mut Self {
        self.u64(number.unwrap_or(0))
    }
}

/// Reads what `Put` wrote; none if `Put` cannot have written it.
pub(crate) struct Take<'a>(pub(crate) &'a [u8]);

impl Take<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.bytes().map(i64::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.bytes().map(u8::from_le_bytes)
    }

    pub(crate) fn price(&mut self) -> Option<Price> {
        self.bytes().map(i64::from_le_bytes).and_then(Price::from_units)
    }

    pub(crate) fn shares(&mut self) -> Option<Shares> {
        self.bytes().map(i64::from_le_bytes).and_then(Shares::from_units)
    }

    pub(crate) fn money(&mut self) -> Option<Money> {
        self.bytes().map(i128::from_le_bytes).map(Money::from_units)
    }

    pub(crate) fn turnover(&mut self) -> Option<Turnover> {
        self.bytes().map(i128::from_le_bytes).and_then(Turnover::from_units)
    }

    pub(crate) fn position(&mut self) -> Option<Position> {
        self.bytes().map(i128::from_le_bytes).map(Position::from_units)
    }

    pub(crate) fn time(&mut self) -> Option<Time> {
        self.u64().map(Time)
    }

    pub(crate) fn sequence(&mut self) -> Option<Sequence> {
        self.u64().map(Sequence)
    }

    pub(crate) fn side(&mut self) -> Option<Side> {
        match self.u8()? {
            1 => Some(Side::Buy),
            2 => Some(Side::Sell),
            _ => None,
        }
    }

    pub(crate) fn link(&mut self) -> Option<Option<u64>> {
        self.u64().map(|number| (number > 0).then_some(number))
    }
}
