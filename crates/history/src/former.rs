//! A history of format 2, whose records had no checksums: it is converted when it is opened, into files of other names beside. The
//! checkpoint says which files count, and is replaced at once: so a crash leaves either the one history or the other.

use crate::codec::{SUM_BYTES, seal, sum};
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::history::TABLE_NAMES;
use crate::record::{CANDLE_BYTES, ORDER_BYTES, TRADE_BYTES};

/// Its files of records.
const NAMES: [&str; 3] = ["orders.tab", "trades.tab", "candles.tab"];
const CANDLE_BYTES_2: usize = CANDLE_BYTES - SUM_BYTES;
/// Records converted with one read and one write.
const AT_ONCE: u64 = 4096;

/// Makes files of this format of so many records of each, durably.
pub(crate) fn convert(folder: &dyn Folder, records: [u64; 3]) -> Result<(), HistoryError> {
    table(folder, 0, records[0], order)?;
    table(folder, 1, records[1], trade)?;
    table(folder, 2, records[2], candle)?;
    let [orders, trades, candles] = records;
    tracing::info!(orders, trades, candles, "the history had no checksums: it is converted to a format that has");
    folder.sync().map_err(|source| HistoryError::Io { name: "folder".to_owned(), source })
}

/// Removes what was converted.
pub(crate) fn remove(folder: &dyn Folder) -> Result<(), HistoryError> {
    NAMES.into_iter().try_for_each(|name| folder.remove(name).map_err(|source| failed(name, source)))
}

fn table<const OLD: usize, const NEW: usize>(
    folder: &dyn Folder,
    which: usize,
    records: u64,
    convert: impl Fn(u64, &[u8; OLD]) -> [u8; NEW],
) -> Result<(), HistoryError> {
    let (from, to) = (NAMES[which], TABLE_NAMES[which]);
    let old = folder.existing(from).map_err(|source| failed(from, source))?;
    if old.len().map_err(|source| failed(from, source))? < records * OLD as u64 {
        let fault = format!("it holds fewer than the {records} records that it should hold");
        return Err(HistoryError::Damaged { name: from.to_owned(), fault });
    }
    // A conversion that a crash ended may have left anything.
    folder.remove(to).map_err(|source| failed(to, source))?;
    let new = folder.open(to).map_err(|source| failed(to, source))?;
    for first in (0..records).step_by(AT_ONCE as usize) {
        let mut bytes = vec![0; OLD * AT_ONCE.min(records - first) as usize];
        old.read_exact_at(&mut bytes, first * OLD as u64).map_err(|source| failed(from, source))?;
        let (olds, _) = bytes.as_chunks::<OLD>();
        let news: Vec<u8> = (first..).zip(olds).flat_map(|(at, old)| convert(at, old)).collect();
        new.write_all_at(&news, first * NEW as u64).map_err(|source| failed(to, source))?;
    }
    new.sync().map_err(|source| failed(to, source))
}

fn failed(name: &str, source: std::io::Error) -> HistoryError {
    HistoryError::Io { name: name.to_owned(), source }
}

/// As they were written then: an ending that a crash has torn is written again by the replay, here as there.
fn order(at: u64, old: &[u8; ORDER_BYTES]) -> [u8; ORDER_BYTES] {
    let mut new = [0; ORDER_BYTES];
    // Account and symbol; limit, shares, time, sequence, the order before; side; client order id.
    for (to, from) in [(0, 0..8), (8, 16..56), (48, 8..9), (49, 104..141)] {
        new[to..][..from.len()].copy_from_slice(&old[from]);
    }
    let (placed, ending) = new.split_at_mut(ORDER_BYTES - 48 - SUM_BYTES);
    seal(at, placed);
    if old[56..104] != [0; 48] {
        ending[..48].copy_from_slice(&old[56..104]);
        seal(at, ending);
    }
    new
}

fn trade(at: u64, old: &[u8; TRADE_BYTES]) -> [u8; TRADE_BYTES] {
    let mut new = *old;
    // Sides were 1 and 2.
    let side = u32::from(old[12] == 2) << 31;
    new[12..16].copy_from_slice(&side.to_le_bytes());
    let sealed = side | (sum(at, &new) & !(1 << 31));
    new[12..16].copy_from_slice(&sealed.to_le_bytes());
    new
}

fn candle(at: u64, old: &[u8; CANDLE_BYTES_2]) -> [u8; CANDLE_BYTES] {
    let mut new = [0; CANDLE_BYTES];
    new[..CANDLE_BYTES_2].copy_from_slice(old);
    seal(at, &mut new);
    new
}
