//! Packed blocks without their files: fuzzing gives bytes to the readers of all tables, without a checksum.

use terms::OrderId;

use crate::columns::Packed;
use crate::note::{NOTES, NoteRecord};
use crate::record::{ORDERS, PastOrder, TRADES, TradeRecord};
use crate::table::Kind;

/// Reads all records of a block of orders, of trades and of notes. Panics if a reader has a fault.
pub fn read_block(records: usize, block: &[u8]) {
    each(&ORDERS, records, block, |at, record| _ = PastOrder::decode(at, OrderId(at), &record));
    each(&TRADES, records, block, |at, record| _ = TradeRecord::decode(at, at, &record));
    each(&NOTES, records, block, |at, record| _ = NoteRecord::decode(at, &record));
}

fn each<const N: usize>(kind: &Kind<N>, records: usize, block: &[u8], decode: impl Fn(u64, [u8; N])) {
    let Some(packed) = Packed::open(kind.fields, records, block) else { return };
    for (index, at) in (0..records).zip(0..) {
        let mut record = [0; N];
        packed.record(kind.fields, index, at, &mut record);
        (kind.restore)(at, &mut record);
        decode(at, record);
    }
}
