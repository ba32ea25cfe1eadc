//! Done orders as rows of the archive: their bytes, and batches of them. It does not know the archive's file.
//! Source: docs/JOURNAL.md, archive.

use std::ops::Range;

use engine::{Cancellation, DoneOrder, Execution, OrderId, Time};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::codec::{put_account, take_account, take_price, take_shares};
use crate::varint::{CodecError, put_u64, take_u64};

const CHECKSUM_BYTES: usize = 4;

/// Done orders on their way to the archive, encoded into one buffer.
#[derive(Clone, Debug, Default)]
pub struct ArchiveBatch {
    bytes: Vec<u8>,
    rows: Vec<(OrderId, Range<usize>)>,
}

impl ArchiveBatch {
    /// An empty batch.
    pub fn new() -> ArchiveBatch {
        ArchiveBatch::default()
    }

    /// Adds an order.
    pub fn push(&mut self, done: &DoneOrder) {
        let start = self.bytes.len();
        encode_row(done, &mut self.bytes);
        self.rows.push((done.order, start..self.bytes.len()));
    }

    /// The orders' ids, in the order in which they were added.
    pub fn ids(&self) -> impl Iterator<Item = OrderId> + '_ {
        self.rows.iter().map(|(order, _)| *order)
    }

    /// How many orders it holds.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it holds none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The length of its rows.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Empties it and keeps its room.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.rows.clear();
    }

    /// The rows by id: in this order the archive takes them several times faster.
    pub(crate) fn sorted(&self) -> impl Iterator<Item = (OrderId, &[u8])> {
        let mut rows = self.rows.clone();
        rows.sort_by_key(|(order, _)| *order);
        rows.into_iter().map(|(order, range)| (order, &self.bytes[range]))
    }
}

/// Appends a row: its checksum, then the fields. The id is the row's key, and part of the checksum.
pub(crate) fn encode_row(done: &DoneOrder, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&[0; CHECKSUM_BYTES]);
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
    let checksum = checksum(done.order, &out[start + CHECKSUM_BYTES..]);
    out[start..start + CHECKSUM_BYTES].copy_from_slice(&checksum);
}

/// Reads a row. None if its checksum does not hold.
pub(crate) fn decode_row(order: OrderId, row: &[u8]) -> Option<Result<DoneOrder, CodecError>> {
    let (found, fields) = row.split_at_checked(CHECKSUM_BYTES)?;
    (found == checksum(order, fields)).then(|| decode_fields(order, fields))
}

fn decode_fields(order: OrderId, mut fields: &[u8]) -> Result<DoneOrder, CodecError> {
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
    let mut executions = Vec::with_capacity(count.min(bytes.len() as u64 / 3) as usize);
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

fn checksum(order: OrderId, fields: &[u8]) -> [u8; CHECKSUM_BYTES] {
    (xxh3_64_with_seed(fields, order.0) as u32).to_le_bytes()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use engine::{AccountId, Price, Shares};
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

    proptest! {
        #[test]
        fn rows_come_back(done in done()) {
            let mut row = Vec::new();
            encode_row(&done, &mut row);
            prop_assert_eq!(decode_row(done.order, &row), Some(Ok(done.clone())));
            prop_assert_eq!(decode_row(OrderId(done.order.0 ^ 1), &row), None);
        }

        #[test]
        fn a_changed_or_cut_row_is_noticed(done in done(), bit: proptest::sample::Index, end: proptest::sample::Index) {
            let mut row = Vec::new();
            encode_row(&done, &mut row);
            prop_assert_eq!(decode_row(done.order, &row[..end.index(row.len())]), None);
            let bit = bit.index(row.len() * 8);
            row[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(decode_row(done.order, &row), None);
        }

        #[test]
        fn fields_that_are_none_are_refused_without_a_panic(fields in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode_fields(OrderId(1), &fields);
        }
    }

    #[test]
    fn a_batch_gives_its_rows_by_id() {
        let account = AccountId::parse(b"1").unwrap();
        let mut batch = ArchiveBatch::new();
        for order in [5, 2, 9] {
            batch.push(&DoneOrder { order: OrderId(order), account, canceled: None, executions: Vec::new() });
        }
        assert_eq!(batch.ids().map(|id| id.0).collect::<Vec<_>>(), [5, 2, 9]);
        for ((id, row), expected) in batch.sorted().zip([2, 5, 9]) {
            assert_eq!(id.0, expected);
            assert!(decode_row(id, row).is_some());
        }
        batch.clear();
        assert!(batch.is_empty());
    }
}
