//! Every record of a history read and checked, and nothing changed: also of one that a server is writing.

use engine::{OrderId, Sequence};
use journal::Storage;

use crate::checkpoint::Checkpoint;
use crate::error::{HistoryError, in_folder};
use crate::folder;
use crate::folder::Folder;
use crate::history::TABLE_NAMES;
use crate::record::{CANDLE_BYTES, CandleRecord, ORDER_BYTES, PastOrder, TRADE_BYTES, TradeRecord};

/// Records read at once.
const AT_ONCE: u64 = 4096;
/// A server may be writing an ending while it is read: how often one is read before it counts as damaged.
const READS: usize = 5;

/// How far a history goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// All events up to this command are in it.
    pub through: Sequence,
    /// Orders, trades and candles.
    pub records: [u64; 3],
    /// It is of the format before, without checksums: a server that starts on it converts it.
    pub is_former: bool,
}

/// Checks the history of a data folder that was opened to read, if it has one. Whatever is damaged is told to `fault`. Errors: what cannot be read at
/// all, a damaged checkpoint among it.
pub fn verify<S: Storage>(home: &S, fault: &mut dyn FnMut(HistoryError)) -> Result<Option<Found>, HistoryError> {
    let folder = match folder::look_at(home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(in_folder)?,
    };
    let Some(checkpoint) = Checkpoint::read(&*folder)? else { return Ok(None) };
    let Checkpoint { heads, orders, trades, candles, is_former } = checkpoint;
    let found = Found { through: heads.through, records: [orders, trades, candles], is_former };
    if is_former {
        return Ok(Some(found));
    }
    let first = heads.first_order;
    let check_order =
        |at, bytes: &[u8; ORDER_BYTES]| PastOrder::decode(at, OrderId(first.0.saturating_add(at)), bytes).is_some();
    table(&*folder, TABLE_NAMES[0], orders, check_order, fault)?;
    let check_trade = |at, bytes: &[u8; TRADE_BYTES]| TradeRecord::decode(at, at + 1, bytes).is_some();
    table(&*folder, TABLE_NAMES[1], trades, check_trade, fault)?;
    let check_candle = |at, bytes: &[u8; CANDLE_BYTES]| CandleRecord::decode(at, bytes).is_some();
    table(&*folder, TABLE_NAMES[2], candles, check_candle, fault)?;
    Ok(Some(found))
}

fn table<const N: usize>(
    folder: &dyn Folder,
    name: &'static str,
    records: u64,
    is_sound: impl Fn(u64, &[u8; N]) -> bool,
    fault: &mut dyn FnMut(HistoryError),
) -> Result<(), HistoryError> {
    let failed = |source| HistoryError::Io { name: name.to_owned(), source };
    let file = match folder.existing(name) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            fault(HistoryError::Damaged { name: name.to_owned(), fault: "it is missing".to_owned() });
            return Ok(());
        }
        opened => opened.map_err(failed)?,
    };
    let there = (file.len().map_err(failed)? / N as u64).min(records);
    let read = |first: u64, bytes: &mut [u8]| file.read_exact_at(bytes, first * N as u64).map_err(failed);
    for first in (0..there).step_by(AT_ONCE as usize) {
        let mut bytes = vec![0; N * AT_ONCE.min(there - first) as usize];
        read(first, &mut bytes)?;
        for (at, record) in (first..).zip(bytes.as_chunks_mut::<N>().0) {
            let mut reads = 1;
            while !is_sound(at, record) {
                if reads == READS {
                    fault(HistoryError::Record { name, record: at, byte: at * N as u64 });
                    break;
                }
                reads += 1;
                read(at, record)?;
            }
        }
    }
    if there < records {
        fault(HistoryError::Record { name, record: there, byte: there * N as u64 });
    }
    Ok(())
}
