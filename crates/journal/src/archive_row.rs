//! Done orders as rows of the archive: their bytes, and batches of them. It does not know the archive's file.
//! Source: docs/JOURNAL.md, archive.
//!
//! Neighbouring orders share a row. What an insert costs is mostly the way down the database's tree, and orders that
//! were placed together are often done together.

use std::iter::Peekable;
use std::ops::Range;

use engine::{AccountId, Cancellation, DoneOrder, Execution, OrderId, Time};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::codec::{put_account, take_account, take_price, take_shares};
use crate::varint::{CodecError, put_u64, take_bytes, take_u64};

const CHECKSUM_BYTES: usize = 4;
/// Orders that share a row: 1 << NEIGHBOUR_BITS.
const NEIGHBOUR_BITS: u32 = 6;
/// An order of more bytes has a row to itself: nothing long is written again for a neighbour's sake.
pub(crate) const SHARED_BYTES_MAX: usize = 1024;

/// Done orders on their way to the archive, encoded into one buffer.
#[derive(Clone, Debug, Default)]
pub struct ArchiveBatch {
    bytes: Vec<u8>,
    orders: Vec<(OrderId, Range<usize>)>,
}

impl ArchiveBatch {
    /// An empty batch.
    pub fn new() -> ArchiveBatch {
        ArchiveBatch::default()
    }

    /// Adds an order.
    pub fn push(&mut self, done: &DoneOrder) {
        let start = self.bytes.len();
        encode_order(done, &mut self.bytes);
        self.orders.push((done.order, start..self.bytes.len()));
    }

    /// The orders' ids, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = OrderId> + '_ {
        self.orders.iter().map(|(order, _)| *order)
    }

    /// How many orders it holds.
    pub fn len(&self) -> usize {
        self.orders.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.orders.is_empty()
    }

    /// The length of its orders in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Empties it and keeps its room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.orders.clear();
    }

    /// The orders by id, with their bytes: in this order the archive takes them several times faster.
    pub(crate) fn sorted(&self) -> Vec<Entry<'_>> {
        let mut sorted: Vec<Entry<'_>> =
            self.orders.iter().map(|(order, range)| (*order, &self.bytes[range.clone()])).collect();
        sorted.sort_by_key(|(order, _)| *order);
        // The newest of several of the same id, as if they had been stored one after the other.
        sorted.reverse();
        sorted.dedup_by_key(|(order, _)| *order);
        sorted.reverse();
        sorted
    }
}

/// An order and its bytes.
pub(crate) type Entry<'a> = (OrderId, &'a [u8]);

/// The key of the row that an order shares with its neighbours.
pub(crate) fn row_of(order: OrderId) -> u64 {
    order.0 >> NEIGHBOUR_BITS
}

/// Writes a row anew: its checksum, then each order's place among its neighbours, length and bytes.
pub(crate) fn encode_row<'a>(key: u64, entries: impl Iterator<Item = Entry<'a>>, row: &mut Vec<u8>) {
    row.clear();
    row.extend_from_slice(&[0; CHECKSUM_BYTES]);
    for (order, bytes) in entries {
        assert!(row_of(order) == key, "invariant: a row holds its own orders");
        row.push((order.0 & ((1 << NEIGHBOUR_BITS) - 1)) as u8);
        put_u64(row, bytes.len() as u64);
        row.extend_from_slice(bytes);
    }
    let checksum = checksum(key, &row[CHECKSUM_BYTES..]);
    row[..CHECKSUM_BYTES].copy_from_slice(&checksum);
}

/// The orders of a row, by id. Errors: `Damaged` when its checksum does not hold; `Undecodable`.
pub(crate) fn decode_row(key: u64, row: &[u8]) -> Result<Vec<Entry<'_>>, RowError> {
    let (found, mut rest) = row.split_at_checked(CHECKSUM_BYTES).ok_or(RowError::Damaged)?;
    if found != checksum(key, rest) {
        return Err(RowError::Damaged);
    }
    let mut entries = Vec::new();
    while let Some((place, after)) = rest.split_first() {
        rest = after;
        let length = take_u64(&mut rest).map_err(RowError::Undecodable)?;
        let length = usize::try_from(length).map_err(|_| RowError::Undecodable(CodecError::OutOfBounds("length")))?;
        let bytes = take_bytes(&mut rest, length).map_err(RowError::Undecodable)?;
        entries.push((OrderId((key << NEIGHBOUR_BITS) | u64::from(*place)), bytes));
    }
    Ok(entries)
}

/// Why a row cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowError {
    Damaged,
    Undecodable(CodecError),
}

/// Both lists in one, each by id; of an order in both the one in `new`.
pub(crate) fn merge<'a>(old: &[Entry<'a>], new: &[Entry<'a>]) -> impl Iterator<Item = Entry<'a>> {
    Merge { old: old.iter().copied().peekable(), new: new.iter().copied().peekable() }
}

struct Merge<O: Iterator, N: Iterator> {
    old: Peekable<O>,
    new: Peekable<N>,
}

impl<'a, O: Iterator<Item = Entry<'a>>, N: Iterator<Item = Entry<'a>>> Iterator for Merge<O, N> {
    type Item = Entry<'a>;

    fn next(&mut self) -> Option<Entry<'a>> {
        match (self.old.peek(), self.new.peek()) {
            (Some((old, _)), Some((new, _))) if old < new => self.old.next(),
            (Some((old, _)), Some((new, _))) => {
                if old == new {
                    self.old.next();
                }
                self.new.next()
            }
            (Some(_), None) => self.old.next(),
            (None, _) => self.new.next(),
        }
    }
}

/// Appends an order's fields, but for its id.
fn encode_order(done: &DoneOrder, out: &mut Vec<u8>) {
    put_account(out, done.account);
    match done.canceled {
        None => put_u64(out, 0),
        Some(Cancellation { shares, time }) => {
            assert!(!shares.is_zero(), "invariant: a cancellation has shares");
            put_u64(out, shares.units().unsigned_abs());
            put_u64(out, time.0);
        }
    }
    put_u64(out, done.executions.len() as u64);
    let mut before = 0u64;
    for execution in &done.executions {
        put_u64(out, execution.shares.units().unsigned_abs());
        put_u64(out, execution.price.units().unsigned_abs());
        // Executions follow each other in time, so that the difference is short.
        put_u64(out, execution.time.0.wrapping_sub(before));
        before = execution.time.0;
    }
}

/// Reads an order's fields.
pub(crate) fn decode_order(order: OrderId, fields: &[u8]) -> Result<DoneOrder, CodecError> {
    decode_order_if(order, fields, |_, _| true)
}

/// Reads an order's fields, those of its executions only if they are `wanted`, who is told whose order it is and how many
/// there are.
pub(crate) fn decode_order_if(
    order: OrderId,
    mut fields: &[u8],
    wanted: impl FnOnce(AccountId, usize) -> bool,
) -> Result<DoneOrder, CodecError> {
    let bytes = &mut fields;
    let account = take_account(bytes)?;
    let canceled = if bytes.first() == Some(&0) {
        take_u64(bytes)?;
        None
    } else {
        Some(Cancellation { shares: take_shares(bytes)?, time: Time(take_u64(bytes)?) })
    };
    let count = take_u64(bytes)?;
    // A count may be anything; three bytes are the least that an execution takes.
    let count = usize::try_from(count).ok().filter(|count| *count <= bytes.len() / 3);
    let count = count.ok_or(CodecError::OutOfBounds("executions"))?;
    if !wanted(account, count) {
        return Ok(DoneOrder { order, account, canceled, executions: Vec::new() });
    }
    let mut executions = Vec::with_capacity(count);
    let mut before = 0u64;
    for _ in 0..count {
        let (shares, price) = (take_shares(bytes)?, take_price(bytes)?);
        before = before.wrapping_add(take_u64(bytes)?);
        executions.push(Execution { shares, price, time: Time(before) });
    }
    if !bytes.is_empty() {
        return Err(CodecError::TrailingBytes);
    }
    Ok(DoneOrder { order, account, canceled, executions })
}

fn checksum(key: u64, entries: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (xxh3_64_with_seed(entries, key) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use engine::{Price, Shares};
    use proptest::prelude::*;

    fn done() -> impl Strategy<Value = DoneOrder> {
        let shares = || (1..=i64::MAX).prop_map(|units| Shares::from_units(units).unwrap());
        let execution = (shares(), 1..=i64::MAX, any::<u64>()).prop_map(|(shares, price, time)| Execution {
            shares,
            price: Price::from_units(price).unwrap(),
            time: Time(time),
        });
        let canceled = proptest::option::of((shares(), any::<u64>()))
            .prop_map(|canceled| canceled.map(|(shares, time)| Cancellation { shares, time: Time(time) }));
        let account = "[0-9]{1,32}".prop_map(|text| AccountId::parse(text.as_bytes()).unwrap());
        (any::<u64>(), account, canceled, proptest::collection::vec(execution, 0..9)).prop_map(
            |(order, account, canceled, executions)| DoneOrder { order: OrderId(order), account, canceled, executions },
        )
    }

    /// The row of one order, and its key.
    fn row_with(done: &DoneOrder) -> (u64, Vec<u8>) {
        let (mut bytes, mut row) = (Vec::new(), Vec::new());
        encode_order(done, &mut bytes);
        let key = row_of(done.order);
        encode_row(key, std::iter::once((done.order, bytes.as_slice())), &mut row);
        (key, row)
    }

    proptest! {
        #[test]
        fn rows_come_back(done in done()) {
            let (key, row) = row_with(&done);
            let entries = decode_row(key, &row).unwrap();
            prop_assert_eq!(entries.len(), 1);
            prop_assert_eq!(entries[0].0, done.order);
            prop_assert_eq!(decode_order(done.order, entries[0].1), Ok(done));
            prop_assert_eq!(decode_row(key ^ 1, &row), Err(RowError::Damaged));
        }

        #[test]
        fn a_changed_or_cut_row_is_noticed(done in done(), bit: proptest::sample::Index, end: proptest::sample::Index) {
            let (key, mut row) = row_with(&done);
            prop_assert_eq!(decode_row(key, &row[..end.index(row.len())]), Err(RowError::Damaged));
            let bit = bit.index(row.len() * 8);
            row[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode_row(key, &row), Err(RowError::Damaged));
        }

        #[test]
        fn fields_that_are_none_are_refused_without_a_panic(fields in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode_order(OrderId(1), &fields);
            let mut row = checksum(1, &fields).to_vec();
            row.extend_from_slice(&fields);
            let _ = decode_row(1, &row);
        }

        #[test]
        fn a_merge_has_all_of_both_and_prefers_the_new(old in ids(), new in ids()) {
            let entries = |ids: &std::collections::BTreeSet<u64>, bytes: &'static [u8]| -> Vec<Entry<'static>> {
                ids.iter().map(|id| (OrderId(*id), bytes)).collect()
            };
            let merged: Vec<_> = merge(&entries(&old, b"old"), &entries(&new, b"new")).collect();
            let expected: Vec<Entry<'static>> = old
                .union(&new)
                .map(|id| (OrderId(*id), if new.contains(id) { &b"new"[..] } else { &b"old"[..] }))
                .collect();
            prop_assert_eq!(merged, expected);
        }
    }

    fn ids() -> impl Strategy<Value = std::collections::BTreeSet<u64>> {
        proptest::collection::btree_set(0..64u64, 0..20)
    }

    #[test]
    fn a_batch_gives_its_orders_by_id_and_of_several_the_newest() {
        let account = |digit: &str| AccountId::parse(digit.as_bytes()).unwrap();
        let mut batch = ArchiveBatch::new();
        for (order, digit) in [(5, "1"), (2, "2"), (9, "3"), (2, "4")] {
            let done =
                DoneOrder { order: OrderId(order), account: account(digit), canceled: None, executions: Vec::new() };
            batch.push(&done);
        }
        assert_eq!(batch.ids().map(|id| id.0).collect::<Vec<_>>(), [5, 2, 9, 2]);
        let sorted: Vec<_> = batch.sorted().into_iter().map(|(id, bytes)| decode_order(id, bytes).unwrap()).collect();
        let found: Vec<_> = sorted.iter().map(|done| (done.order.0, done.account)).collect();
        assert_eq!(found, [(2, account("4")), (5, account("1")), (9, account("3"))]);
        batch.clear();
        assert!(batch.is_empty());
    }
}
