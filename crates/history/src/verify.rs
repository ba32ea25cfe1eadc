//! Reads and checks every record of a history, also while a server writes to it. It changes nothing.

use std::sync::Arc;

use journal::Storage;
use terms::{OrderId, Sequence};

use crate::carried::Carried;
use crate::checkpoint::{Begun, Checkpoint, KeptRecords};
use crate::error::{HistoryError, in_folder};
use crate::file_names;
use crate::folder::{self, Folder};
use crate::leaps::Leaps;
use crate::note::{NOTES, NoteRecord};
use crate::parts::Form;
use crate::prehistory::Prehistory;
use crate::record::{self, CANDLES, CandleRecord, ORDERS, PastOrder, TRADES, TradeRecord, has_ending};
use crate::table::{Near, Reach, Sizes, Table};

/// The number of times that a record is read before it counts as damaged, because a server may be writing its ending.
const READS: usize = 5;
/// The number of times that the check begins again because a server seals or removes parts.
const ATTEMPTS: usize = 5;

/// The extent of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryExtent {
    /// The command up to which all events are in it.
    pub through: Sequence,
    /// The numbers of orders, trades, candles and notes that it has had.
    pub records: [u64; 4],
    /// The numbers of orders, trades and notes that are no longer kept.
    pub gone: [u64; 3],
}

/// Checks the history of a data folder that was opened to read, if it has one, and passes all damage to `fault`.
/// Errors: files that cannot be read at all, or a damaged checkpoint.
pub fn verify<S: Storage>(
    home: &S,
    fault: &mut dyn FnMut(HistoryError),
) -> Result<Option<HistoryExtent>, HistoryError> {
    let folder = match folder::look_at(home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(in_folder)?,
    };
    let mut attempt = 1;
    loop {
        let Some(checkpoint) = Checkpoint::read_any(&*folder)? else {
            return file_names::expect_none(&*folder).map(|()| None);
        };
        let Checkpoint { heads, kept } = checkpoint;
        if kept.begun == Begun::Unfinished {
            return Ok(None);
        }
        let gone = [0, 1, 2].map(|table| kept.reach[table].gone * kept.part_records);
        let found = HistoryExtent { through: heads.through, records: kept.records, gone };
        let mut faults: Vec<HistoryError> = Leaps::read(&*folder)?.damage().into_iter().collect();
        tables(&folder, &kept, heads.first_order, &mut |error| faults.push(error))?;
        let now = Checkpoint::read(&*folder)?;
        let is_still = now.is_some_and(|now| !kept.is_other_files(&now.kept));
        if faults.is_empty() || is_still || attempt == ATTEMPTS {
            faults.into_iter().for_each(fault);
            return Ok(Some(found));
        }
        attempt += 1;
    }
}

fn tables(
    folder: &Arc<dyn Folder>,
    kept: &KeptRecords,
    first: OrderId,
    fault: &mut dyn FnMut(HistoryError),
) -> Result<(), HistoryError> {
    before_records(folder, kept, fault)?;
    let sizes = Sizes { waiting_max: [0; 3], part_records: kept.part_records, block_records: kept.block_records };
    let [orders, trades, candles, notes] = kept.records;
    let [of_orders, of_trades, of_notes] = kept.reach.clone();
    let carried = Carried::unchecked(folder, (kept.carried_file, kept.carried), &sizes);
    carried_records(&carried, first.0, fault)?;
    let orders = Table::unchecked(folder, &ORDERS, (first.0, orders, of_orders), &sizes, 0);
    table(&orders, fault, &|at, record| {
        let must_be_carried = orders.is_settled(at) && !has_ending(record);
        if must_be_carried && matches!(carried.find(at), Ok(None)) {
            return Err(orders.damaged(at));
        }
        match record::unknown_end(at, record) {
            Some(code) => Err(orders.unknown(at, "an ending", code)),
            None => {
                let order = OrderId(first.0.saturating_add(at));
                sound(&orders, at, PastOrder::decode(at, order, record).is_some())
            }
        }
    })?;
    let trades = Table::unchecked(folder, &TRADES, (1, trades, of_trades), &sizes, 0);
    table(&trades, fault, &|at, record| sound(&trades, at, TradeRecord::decode(at, at + 1, record).is_some()))?;
    let notes = Table::unchecked(folder, &NOTES, (1, notes, of_notes), &sizes, 0);
    table(&notes, fault, &|at, record| {
        NoteRecord::decode(at, record).map(drop).map_err(|unread| unread.at(&notes, at))
    })?;
    let candles = Table::unchecked(folder, &CANDLES, (1, candles, Reach::default()), &sizes, 0);
    table(&candles, fault, &|at, record| sound(&candles, at, CandleRecord::decode(at, record).is_some()))
}

/// A check of a record.
type Fault<'a, const N: usize> = &'a dyn Fn(u64, &[u8; N]) -> Result<(), HistoryError>;

fn sound<const N: usize>(table: &Table<N>, at: u64, is_sound: bool) -> Result<(), HistoryError> {
    if is_sound { Ok(()) } else { Err(table.damaged(at)) }
}

/// Checks the facts from before the history began.
fn before_records(
    folder: &Arc<dyn Folder>,
    kept: &KeptRecords,
    fault: &mut dyn FnMut(HistoryError),
) -> Result<(), HistoryError> {
    let sizes = Sizes { waiting_max: [0; 3], part_records: kept.part_records, block_records: kept.block_records };
    match Prehistory::open(folder, kept.begun, &sizes) {
        Ok(None) => Ok(()),
        Ok(Some(prehistory)) => {
            prehistory.old.verify(fault)?;
            carried_records(&prehistory.begun, 0, fault)
        }
        Err(error) if error.is_damage() => {
            fault(error);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Checks carried orders. `first` is the order of record 0.
fn carried_records(carried: &Carried, first: u64, fault: &mut dyn FnMut(HistoryError)) -> Result<(), HistoryError> {
    for slot in 0..carried.len() {
        let mut reads = 1;
        loop {
            let read = carried.read_near(slot, &mut Near::default());
            let sound = read.map(|(at, record)| PastOrder::decode(at, OrderId(first.saturating_add(at)), &record));
            match sound {
                Ok(Some(_)) => break,
                Ok(None) if reads < READS => reads += 1,
                Ok(None) => {
                    fault(carried.damaged(slot));
                    break;
                }
                Err(error) if error.is_damage() => {
                    fault(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

fn table<const N: usize>(
    table: &Table<N>,
    fault: &mut dyn FnMut(HistoryError),
    sound: Fault<'_, N>,
) -> Result<(), HistoryError> {
    let mut near = Near::default();
    for part in table.reach().gone..table.part_count() {
        let form = if table.reach().is_sealed(part) { Form::Sealed } else { Form::Plain };
        match form {
            Form::Sealed => match table.head_of(part) {
                Ok(Some(_)) => {}
                Ok(None) => fault(table.damaged_head(part)),
                Err(error) if error.is_damage() => {
                    fault(error);
                    continue;
                }
                Err(error) => return Err(error),
            },
            Form::Plain | Form::Unfinished => {
                if let Err(error) = table.check_length(part) {
                    fault(error);
                    continue;
                }
            }
        }
        let first = part * table.part_records();
        let mut at = first;
        while at < first + table.records_of(part) {
            at += check(table, at, &mut near, fault, sound)?;
        }
    }
    Ok(())
}

/// Checks a record. Returns the number of records done with it: for a damaged block all of them.
fn check<const N: usize>(
    table: &Table<N>,
    at: u64,
    near: &mut Near,
    fault: &mut dyn FnMut(HistoryError),
    sound: Fault<'_, N>,
) -> Result<u64, HistoryError> {
    let mut read = table.read_near(at, near);
    for _ in 1..READS {
        if matches!(&read, Ok(record) if sound(at, record).is_err()) {
            read = table.read(at);
        }
    }
    match read {
        Ok(record) => {
            if let Err(error) = sound(at, &record) {
                fault(error);
            }
            Ok(1)
        }
        Err(error @ HistoryError::Block { .. }) => {
            fault(error);
            Ok(table.block_records() - at % table.part_records() % table.block_records())
        }
        Err(error) if error.is_damage() => {
            fault(error);
            Ok(1)
        }
        Err(error) => Err(error),
    }
}
