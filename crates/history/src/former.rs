//! Converts a history of format 3, which has each table in one file and does not link trades by order. The new files
//! have other names and are written beside the old ones. The checkpoint says which files count and is replaced
//! atomically, so a crash leaves either the old history or the new one.

use std::sync::Arc;

use engine::{OrderId, Sequence};
use journal::File;

use crate::checkpoint::{Checkpoint, Kept};
use crate::codec::{SUM_BYTES, sound, sum};
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::record::{self, ORDER_BYTES, ORDERS, PLACED_BYTES, TRADE_BYTES, TRADES, TradeRecord};
use crate::table::{Reach, Sizes, Table};

/// The names of its files of records. The candles' file is unchanged.
pub(crate) const NAMES: [&str; 2] = ["orders-3.tab", "trades-3.tab"];
/// The length of a link to another trade of the order, which both records lacked.
const LINK_BYTES: usize = 8;
const ORDER_BYTES_3: usize = ORDER_BYTES - LINK_BYTES;
const TRADE_BYTES_3: usize = TRADE_BYTES - LINK_BYTES;
/// The offset of an order's last trade, before the checksum of its ending.
const LAST_TRADE_AT: usize = ORDER_BYTES - SUM_BYTES - LINK_BYTES;
/// The number of records read at once.
const AT_ONCE: u64 = 4096;

/// Makes files of this format, durably, and returns the checkpoint that counts them.
pub(crate) fn convert(
    folder: &Arc<dyn Folder>,
    mut former: Checkpoint,
    sizes: &Sizes,
) -> Result<Checkpoint, HistoryError> {
    let [orders, trades, candles, _] = former.kept.records;
    let first = former.heads.first_order;
    tracing::info!(
        orders,
        trades,
        "the history is converted: its trades are linked by order, and its files have parts"
    );
    let begin = (first.0, 0, Reach::default());
    let mut new_orders = Table::open(folder, &ORDERS, begin, sizes, sizes.waiting_max[0])?;
    each::<ORDER_BYTES_3>(&**folder, NAMES[0], orders, |_, old| {
        let mut new = [0; ORDER_BYTES];
        new[..LAST_TRADE_AT].copy_from_slice(&old[..LAST_TRADE_AT]);
        new_orders.append(&new)
    })?;
    new_orders.sync()?;
    let mut new_trades = Table::open(folder, &TRADES, (1, 0, Reach::default()), sizes, sizes.waiting_max[1])?;
    each::<TRADE_BYTES_3>(&**folder, NAMES[1], trades, |at, old| {
        trade(&mut new_orders, &mut new_trades, first, at, old)
    })?;
    new_trades.sync()?;
    let through = former.heads.through;
    each::<ORDER_BYTES_3>(&**folder, NAMES[0], orders, |at, old| {
        if let Some(last) = end(&mut new_orders, at, old, through)? {
            former.heads.executed.insert(OrderId(first.0.wrapping_add(at)), last);
        }
        Ok(())
    })?;
    new_orders.sync()?;
    let kept = Kept { records: [orders, trades, candles, 0], ..Kept::of(sizes) };
    Checkpoint::write(&**folder, &former.heads, through, &kept)?;
    Ok(Checkpoint { heads: former.heads, kept, is_former: false })
}

/// Converts a trade, and links it to the one before of its maker's order. A damaged one is copied, and stays damaged.
fn trade(
    orders: &mut Table<ORDER_BYTES>,
    trades: &mut Table<TRADE_BYTES>,
    first: OrderId,
    at: u64,
    old: &[u8; TRADE_BYTES_3],
) -> Result<(), HistoryError> {
    let id = at + 1;
    let mut new = [0; TRADE_BYTES];
    new[..TRADE_BYTES_3].copy_from_slice(old);
    if !record::is_sound_trade(at, old) {
        record::seal_trade(at, &mut new);
        new[TRADE_BYTES - 1] ^= 1;
        return trades.append(&new);
    }
    record::seal_trade(at, &mut new);
    let Some(mut record) = TradeRecord::decode(at, id, &new) else { return trades.append(&new) };
    let place = |order: OrderId| order.0.checked_sub(first.0);
    for (order, is_maker) in [(record.trade.maker_order, true), (record.trade.aggressor_order, false)] {
        let Some(place) = place(order).filter(|place| *place < orders.len()) else { continue };
        if is_maker {
            record.of_maker_order = last_trade(&orders.read(place)?);
        }
        orders.patch(place, LAST_TRADE_AT, &id.to_le_bytes())?;
    }
    trades.append(&record.encode(at))
}

/// Seals an order's ending, with its last trade. Returns that trade if the order was open behind the command `through`.
fn end(
    orders: &mut Table<ORDER_BYTES>,
    at: u64,
    old: &[u8; ORDER_BYTES_3],
    through: Sequence,
) -> Result<Option<u64>, HistoryError> {
    let new = orders.read(at)?;
    let last = last_trade(&new);
    let old_ending = &old[PLACED_BYTES..];
    if old_ending.iter().all(|byte| *byte == 0) {
        if last.is_some() {
            orders.patch(at, LAST_TRADE_AT, &[0; LINK_BYTES])?;
        }
        return Ok(last);
    }
    let is_sound = sound(at, old_ending).is_some();
    let sealed = sum(at, &new[PLACED_BYTES..ORDER_BYTES - SUM_BYTES]);
    // A torn ending is written again when the journal is replayed, as before; a damaged one stays damaged.
    let sealed = if is_sound { sealed } else { !sealed };
    orders.patch(at, ORDER_BYTES - SUM_BYTES, &sealed.to_le_bytes())?;
    Ok(last.filter(|_| !is_sound || record::ended_behind(&new, through)))
}

fn last_trade(order: &[u8; ORDER_BYTES]) -> Option<u64> {
    let mut link = [0; LINK_BYTES];
    link.copy_from_slice(&order[LAST_TRADE_AT..][..LINK_BYTES]);
    Some(u64::from_le_bytes(link)).filter(|link| *link > 0)
}

/// Reads records of a file of this size, one after the other.
fn each<const OLD: usize>(
    folder: &dyn Folder,
    name: &str,
    records: u64,
    mut convert: impl FnMut(u64, &[u8; OLD]) -> Result<(), HistoryError>,
) -> Result<(), HistoryError> {
    let failed = |source| HistoryError::Io { name: name.to_owned(), source };
    let old: Box<dyn File> = folder.existing(name).map_err(failed)?;
    if old.len().map_err(failed)? < records * OLD as u64 {
        let fault = format!("it holds fewer than the {records} records that it should hold");
        return Err(HistoryError::Damaged { name: name.to_owned(), fault });
    }
    for first in (0..records).step_by(AT_ONCE as usize) {
        let mut bytes = vec![0; OLD * AT_ONCE.min(records - first) as usize];
        old.read_exact_at(&mut bytes, first * OLD as u64).map_err(failed)?;
        (first..).zip(bytes.as_chunks::<OLD>().0).try_for_each(|(at, old)| convert(at, old))?;
    }
    Ok(())
}
