//! Blocks of a sealed part: records of one size, packed field by field. The smallest value of a field in the block is
//! subtracted, common factors are divided out, and the rest takes as many bits as the largest needs. All codes of a
//! field have the same width, so one record can be read without those before it. This file does not know what the
//! fields mean.

/// The encoding of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// The value itself.
    Value,
    /// A link to another record: the distance from the record's own number.
    Link,
    /// The distance from an earlier field of 8 bytes, which begins at this byte.
    From(usize),
}

/// A field: its first byte, its length in bytes (16 at most), and its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field(pub(crate) usize, pub(crate) usize, pub(crate) How);

/// The most bits of a column's code.
const BITS_MAX: u32 = 127;
/// The tag of a column whose values are all zero. No bytes follow it.
const ALL_ZERO: u8 = 1;

/// The head of a column.
#[derive(Clone, Copy, Debug)]
struct Head {
    bits: u32,
    /// Whether code 0 stands for the value 0. Then the codes of the other values are one higher.
    escaped: bool,
    base: u128,
    unit: u128,
}

/// Packs records of `size` bytes, which have these fields and zeros between them. `own` is the number of the first one,
/// as links count. None if a field is too wide, which does not happen with our records.
pub(crate) fn pack(fields: &[Field], size: usize, own: u64, records: &[u8]) -> Option<Vec<u8>> {
    let mut block = Vec::new();
    let mut values = Vec::with_capacity(records.len() / size);
    for field in fields {
        values.clear();
        let numbered = (0..).zip(records.chunks_exact(size));
        values.extend(numbered.map(|(index, record)| coded(field, own.wrapping_add(index), record)));
        put_column(&mut block, &values)?;
    }
    Some(block)
}

/// A packed block, with the begin of each column.
#[derive(Debug)]
pub(crate) struct Packed<'a> {
    block: &'a [u8],
    columns: Vec<(Head, usize)>,
}

impl<'a> Packed<'a> {
    /// Opens a block of this many records. None if `pack` did not make it.
    pub(crate) fn open(fields: &[Field], records: usize, block: &'a [u8]) -> Option<Packed<'a>> {
        let mut at = 0;
        let mut columns = Vec::with_capacity(fields.len());
        for _ in fields {
            let head = take_head(block, &mut at)?;
            columns.push((head, at));
            at = at.checked_add((records * head.bits as usize).div_ceil(8))?;
        }
        (at == block.len()).then_some(Packed { block, columns })
    }

    /// Writes record `index` of the block, whose own number is `own`, over zeros.
    pub(crate) fn record(&self, fields: &[Field], index: usize, own: u64, record: &mut [u8]) {
        for (field, (head, at)) in fields.iter().zip(&self.columns) {
            let code = bits(&self.block[*at..], index * head.bits as usize, head.bits);
            let value = match (head.escaped, code) {
                (true, 0) => 0,
                (true, code) => (code - 1).wrapping_mul(head.unit).wrapping_add(head.base),
                (false, code) => code.wrapping_mul(head.unit).wrapping_add(head.base),
            };
            let Field(first, bytes, how) = *field;
            let value = match how {
                How::Value => value,
                How::Link | How::From(_) if value == 0 => 0,
                How::Link => near(own, value),
                How::From(other) => near(number(&record[other..][..8]) as u64, value),
            };
            record[first..][..bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        }
    }
}

/// The code of a field before packing. Zero stays zero, because it stands for none.
fn coded(field: &Field, own: u64, record: &[u8]) -> u128 {
    let Field(first, bytes, how) = *field;
    let value = number(&record[first..][..bytes]);
    let from = match how {
        _ if value == 0 => return 0,
        How::Value => return value,
        How::Link => own,
        How::From(other) => number(&record[other..][..8]) as u64,
    };
    // The distance on either side becomes a small number above zero.
    let apart = from.wrapping_sub(value as u64) as i64;
    u128::from(((apart << 1) ^ (apart >> 63)) as u64) + 1
}

/// Inverts `coded`.
fn near(from: u64, code: u128) -> u128 {
    let folded = (code - 1) as u64;
    let apart = ((folded >> 1) as i64) ^ -((folded & 1) as i64);
    u128::from(from.wrapping_sub(apart as u64))
}

fn number(bytes: &[u8]) -> u128 {
    let mut all = [0; 16];
    all[..bytes.len()].copy_from_slice(bytes);
    u128::from_le_bytes(all)
}

fn put_column(block: &mut Vec<u8>, values: &[u128]) -> Option<()> {
    let there = || values.iter().copied().filter(|value| *value > 0);
    let Some(base) = there().min() else {
        block.push(ALL_ZERO);
        return Some(());
    };
    let escaped = there().count() < values.len();
    let unit = unit(there().map(|value| value - base));
    let code = |value: u128| match (escaped, value) {
        (true, 0) => 0,
        (_, value) => (value - base) / unit + u128::from(escaped),
    };
    let widest = there().map(code).max().unwrap_or(0);
    let bits = u128::BITS - widest.leading_zeros();
    if bits > BITS_MAX {
        return None;
    }
    block.push((bits as u8) << 1 | u8::from(escaped));
    put_number(block, base);
    put_number(block, unit);
    let begun = block.len();
    block.resize(begun + (values.len() * bits as usize).div_ceil(8), 0);
    let mut at = 0;
    for value in values {
        put_bits(&mut block[begun..], at, bits, code(*value));
        at += bits as usize;
    }
    Some(())
}

fn take_head(block: &[u8], at: &mut usize) -> Option<Head> {
    let tag = *block.get(*at)?;
    *at += 1;
    if tag == ALL_ZERO {
        return Some(Head { bits: 0, escaped: false, base: 0, unit: 1 });
    }
    let (base, unit) = (take_number(block, at)?, take_number(block, at)?);
    Some(Head { bits: u32::from(tag >> 1), escaped: tag & 1 == 1, base, unit })
}

/// The largest number that divides all of these; 1 if they are all zero.
fn unit(mut values: impl Iterator<Item = u128>) -> u128 {
    let mut unit = 0;
    // Most values are small, and the search ends early at small divisors.
    while unit != 1
        && let Some(value) = values.next()
    {
        unit = match (u64::try_from(unit), u64::try_from(value)) {
            (Ok(unit), Ok(value)) => common(unit, value).into(),
            _ => common_of_large(unit, value),
        };
    }
    unit.max(1)
}

fn common(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn common_of_large(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Puts the length of a number in one byte, and its bytes.
fn put_number(block: &mut Vec<u8>, value: u128) {
    let bytes = (u128::BITS - value.leading_zeros()).div_ceil(8) as usize;
    block.push(bytes as u8);
    block.extend_from_slice(&value.to_le_bytes()[..bytes]);
}

fn take_number(block: &[u8], at: &mut usize) -> Option<u128> {
    let bytes = usize::from(*block.get(*at)?);
    let value = block.get(*at + 1..)?.get(..bytes).filter(|_| bytes <= 16)?;
    *at += 1 + bytes;
    Some(number(value))
}

fn put_bits(into: &mut [u8], at: usize, bits: u32, code: u128) {
    let (mut at, mut left, mut code) = (at, bits as usize, code);
    while left > 0 {
        let (byte, from) = (at / 8, at % 8);
        let now = left.min(8 - from);
        into[byte] |= ((code & ((1 << now) - 1)) as u8) << from;
        code >>= now;
        (at, left) = (at + now, left - now);
    }
}

fn bits(from: &[u8], at: usize, bits: u32) -> u128 {
    let (mut at, mut left, mut code) = (at, bits as usize, 0);
    while left > 0 {
        let (byte, first) = (at / 8, at % 8);
        let now = left.min(8 - first);
        code |= u128::from((from[byte] >> first) & (((1_u16 << now) - 1) as u8)) << (bits as usize - left);
        (at, left) = (at + now, left - now);
    }
    code
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const FIELDS: [Field; 5] = [
        Field(0, 8, How::Value),
        Field(8, 8, How::Link),
        Field(16, 8, How::From(0)),
        Field(24, 1, How::Value),
        Field(32, 16, How::Value),
    ];

    fn check(own: u64, records: &[[u8; 48]]) -> usize {
        let all: Vec<u8> = records.iter().flatten().copied().collect();
        let block = pack(&FIELDS, 48, own, &all).unwrap();
        let packed = Packed::open(&FIELDS, records.len(), &block).unwrap();
        for (index, record) in records.iter().enumerate() {
            let mut found = [0; 48];
            packed.record(&FIELDS, index, own.wrapping_add(index as u64), &mut found);
            assert_eq!(&found, record, "record {index} of {}", records.len());
        }
        assert!(Packed::open(&FIELDS, records.len(), &block[..block.len() - 1]).is_none());
        block.len()
    }

    fn record(first: u64, link: u64, from: u64, byte: u8, large: u128) -> [u8; 48] {
        let mut record = [0; 48];
        record[..8].copy_from_slice(&first.to_le_bytes());
        record[8..16].copy_from_slice(&link.to_le_bytes());
        record[16..24].copy_from_slice(&from.to_le_bytes());
        record[24] = byte;
        record[32..].copy_from_slice(&large.to_le_bytes());
        record
    }

    #[test]
    fn what_is_packed_is_found_again_bit_by_bit() {
        check(1, &[[0; 48]]);
        check(u64::MAX - 1, &[record(u64::MAX, 1, 0, 255, i128::MAX as u128), record(1, u64::MAX, u64::MAX, 0, 0)]);
        let mut random = 7_u64;
        let mut next = move || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            random >> 8
        };
        for records in [1, 2, 7, 128] {
            let wild: Vec<_> = (0..records)
                .map(|_| record(next(), next() % 3 * next(), next(), next() as u8, u128::from(next()) << (next() % 60)))
                .collect();
            check(next(), &wild);
        }
    }

    #[test]
    fn what_is_alike_takes_little() {
        let alike: Vec<_> = (0..128_u64)
            .map(|at| record(10_000_000_000 + at * 100, 900 + at, 10_000_000_500 + at * 100, 7, 5 * 10_u128.pow(17)))
            .collect();
        let bytes = check(1000, &alike);
        assert!(bytes < 128 + 60, "{bytes} bytes");
    }
}
