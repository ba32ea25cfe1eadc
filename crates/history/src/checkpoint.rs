//! The checkpoint: up to which records the files of the history count. It is written to another file, synced and
//! renamed, so that there is always a whole one.

use std::collections::HashMap;

use engine::{Engine, OrderId, Sequence};
use foldhash::fast::RandomState;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{Put, Take};
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::heads::{AccountChain, CandleChain, Heads, SymbolChain};
use crate::record::{put_candle, take_candle};
use crate::sealed::Newest;
use crate::table::{Reach, Sizes};

/// The name of the checkpoint's file.
pub const CHECKPOINT_NAME: &str = "checkpoint";
/// The magic number, whose last byte is the version of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"pt-hist\x04");
/// The format that adds the number of the file of carried orders, for another than the first one.
const MAGIC_5: u64 = u64::from_le_bytes(*b"pt-hist\x05");
/// The format that adds notes, if there ever was one.
const MAGIC_6: u64 = u64::from_le_bytes(*b"pt-hist\x06");
/// The beginning of a checkpoint that also has the number of orders that were open when the history began, if it does
/// not begin with the market.
const MAGIC_7: u64 = u64::from_le_bytes(*b"pt-hist\x07");
/// The value of that number while the files of these orders are being written.
const BEGUN_UNFINISHED: u64 = u64::MAX;
/// Format 3, which had no parts and did not link trades by order.
const MAGIC_3: u64 = u64::from_le_bytes(*b"pt-hist\x03");

pub(crate) struct Checkpoint {
    pub(crate) heads: Heads,
    pub(crate) kept: Kept,
    /// Whether the tables are of format 3.
    pub(crate) is_former: bool,
}

/// The records of the history, and their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The numbers of orders, trades, candles and notes, removed ones included.
    pub(crate) records: [u64; 4],
    /// The numbers of records in a part and in a block.
    pub(crate) part_records: u64,
    pub(crate) block_records: u64,
    /// The reach of orders, of trades and of notes.
    pub(crate) reach: [Reach; 3],
    pub(crate) carried: u64,
    /// The number of the file of carried orders.
    pub(crate) carried_file: u64,
    pub(crate) begun: Begun,
}

/// The count of the files about orders from before the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Begun {
    /// The checkpoint counts nothing: the history begins with the market, or a program wrote it that did not count
    /// these orders.
    #[default]
    Uncounted,
    /// The files are being written, and no others are: everything in the folder can be made again.
    Unfinished,
    /// The number of open orders.
    Orders(u64),
}

/// The versions of a checkpoint. The lowest one with room for everything is written, so that an older program can read
/// it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Format {
    Three,
    Four,
    Five,
    Six,
    Seven,
}

impl Checkpoint {
    /// Makes the checkpoint of a history that begins at an engine's state.
    pub(crate) fn begin(engine: &Engine, sizes: &Sizes) -> Checkpoint {
        let (through, first_order) = (engine.sequence(), engine.next_order());
        let (accounts, symbols, executed, noted) = Default::default();
        let heads = Heads { through, first_order, accounts, symbols, executed, noted };
        Checkpoint { heads, kept: Kept::of(sizes), is_former: false }
    }

    /// The checkpoint in a folder, if there is a valid one. There is none while the files about orders from before the
    /// history are being written.
    pub(crate) fn read(folder: &dyn Folder) -> Result<Option<Checkpoint>, HistoryError> {
        Ok(Checkpoint::read_any(folder)?.filter(|checkpoint| checkpoint.kept.begun != Begun::Unfinished))
    }

    /// Reads the checkpoint of a folder, if there is one.
    pub(crate) fn read_any(folder: &dyn Folder) -> Result<Option<Checkpoint>, HistoryError> {
        let name = || CHECKPOINT_NAME.to_owned();
        let read = folder.read(CHECKPOINT_NAME).map_err(|source| HistoryError::Io { name: name(), source })?;
        let Some(bytes) = read else { return Ok(None) };
        let damaged = |fault: &str| HistoryError::Damaged { name: name(), fault: fault.to_owned() };
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it is too short"))?;
        if xxh3_64(body) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong"));
        }
        let mut take = Take(body);
        let format = match take.u64() {
            Some(MAGIC) => Format::Four,
            Some(MAGIC_5) => Format::Five,
            Some(MAGIC_6) => Format::Six,
            Some(MAGIC_7) => Format::Seven,
            Some(MAGIC_3) => Format::Three,
            _ => return Err(damaged("it is of another version of this program")),
        };
        let (heads, kept) = decode(&mut take, format).ok_or_else(|| damaged("it ends in the middle"))?;
        Ok(Some(Checkpoint { heads, kept, is_former: format == Format::Three }))
    }

    /// Writes the checkpoint of a history that has just begun.
    pub(crate) fn write_first(&self, folder: &dyn Folder) -> Result<(), HistoryError> {
        Checkpoint::write(folder, &self.heads, self.heads.through, &self.kept)
    }

    pub(crate) fn write(
        folder: &dyn Folder,
        heads: &Heads,
        through: Sequence,
        kept: &Kept,
    ) -> Result<(), HistoryError> {
        let mut bytes = Vec::new();
        encode(&mut Put(&mut bytes), heads, through, kept);
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let name = CHECKPOINT_NAME;
        folder.replace(name, &bytes).map_err(|source| HistoryError::Io { name: name.to_owned(), source })
    }
}

impl Kept {
    /// Makes an empty reach.
    pub(crate) fn of(sizes: &Sizes) -> Kept {
        let Sizes { part_records, block_records, .. } = *sizes;
        Kept { part_records, block_records, ..Kept::default() }
    }

    /// Whether it counts other parts, or another file of carried orders, than `other`.
    pub(crate) fn is_other_files(&self, other: &Kept) -> bool {
        self.reach != other.reach || self.carried_file != other.carried_file
    }
}

fn encode(put: &mut Put<'_>, heads: &Heads, through: Sequence, kept: &Kept) {
    let [orders, trades, candles, notes] = kept.records;
    let format = match (kept.begun, notes > 0, kept.carried_file > 0) {
        (Begun::Unfinished | Begun::Orders(_), ..) => Format::Seven,
        (Begun::Uncounted, true, _) => Format::Six,
        (Begun::Uncounted, false, true) => Format::Five,
        (Begun::Uncounted, false, false) => Format::Four,
    };
    put.u64(format.magic()).u64(through.0).u64(heads.first_order.0);
    for count in [orders, trades, candles, kept.part_records, kept.block_records, kept.carried] {
        put.u64(count);
    }
    if format >= Format::Five {
        put.u64(kept.carried_file);
    }
    let [of_orders, of_trades, of_notes] = &kept.reach;
    put_reach(put, of_orders);
    put_reach(put, of_trades);
    put.u64(heads.accounts.len() as u64);
    for AccountChain { order, canceled, trade, .. } in &heads.accounts {
        put.link(order.map(|order| order.0)).link(canceled.map(|order| order.0)).link(*trade);
    }
    put.u64(heads.symbols.len() as u64);
    for SymbolChain { trade, candles } in &heads.symbols {
        put.link(*trade);
        for CandleChain { last, current } in candles {
            put.link(*last).u8(u8::from(current.is_some()));
            if let Some(candle) = current {
                put_candle(put, candle);
            }
        }
    }
    put_links(put, &heads.executed);
    if format >= Format::Six {
        put.u64(notes);
        put_reach(put, of_notes);
        for chain in &heads.accounts {
            put.link(chain.note);
        }
        put_links(put, &heads.noted);
    }
    match kept.begun {
        Begun::Uncounted => {}
        Begun::Unfinished => drop(put.u64(BEGUN_UNFINISHED)),
        Begun::Orders(orders) => drop(put.u64(orders)),
    }
}

impl Format {
    fn magic(self) -> u64 {
        match self {
            Format::Three => MAGIC_3,
            Format::Four => MAGIC,
            Format::Five => MAGIC_5,
            Format::Six => MAGIC_6,
            Format::Seven => MAGIC_7,
        }
    }
}

fn put_reach(put: &mut Put<'_>, Reach { gone, gone_until, sealed, unsealed }: &Reach) {
    put.u64(*gone).u64(gone_until.time.0).u64(gone_until.sequence.0).u64(*sealed).u64(unsealed.len() as u64);
    for part in unsealed {
        put.u64(*part);
    }
}

fn put_links(put: &mut Put<'_>, links: &HashMap<OrderId, u64, RandomState>) {
    let mut links: Vec<_> = links.iter().collect();
    links.sort_unstable();
    put.u64(links.len() as u64);
    for (order, link) in links {
        put.u64(order.0).u64(*link);
    }
}

fn take_links(take: &mut Take<'_>) -> Option<HashMap<OrderId, u64, RandomState>> {
    let mut links = HashMap::default();
    for _ in 0..take.u64()? {
        links.insert(OrderId(take.u64()?), take.u64()?);
    }
    Some(links)
}

fn decode(take: &mut Take<'_>, format: Format) -> Option<(Heads, Kept)> {
    let (through, first_order) = (Sequence(take.u64()?), OrderId(take.u64()?));
    let mut kept = Kept { records: [take.u64()?, take.u64()?, take.u64()?, 0], ..Kept::default() };
    if format >= Format::Four {
        (kept.part_records, kept.block_records, kept.carried) = (take.u64()?, take.u64()?, take.u64()?);
        kept.carried_file = if format >= Format::Five { take.u64()? } else { 0 };
        if kept.part_records == 0 || kept.block_records == 0 {
            return None;
        }
        (kept.reach[0], kept.reach[1]) = (take_reach(take)?, take_reach(take)?);
    }
    let mut accounts = Vec::new();
    for _ in 0..take.u64()? {
        let (order, canceled) = (take.link()?.map(OrderId), take.link()?.map(OrderId));
        accounts.push(AccountChain { order, canceled, trade: take.link()?, note: None });
    }
    let mut symbols = Vec::new();
    for _ in 0..take.u64()? {
        symbols.push(take_symbol(take)?);
    }
    let (executed, noted) = Default::default();
    let mut heads = Heads { through, first_order, accounts, symbols, executed, noted };
    if format >= Format::Four {
        heads.executed = take_links(take)?;
    }
    if format >= Format::Six {
        (kept.records[3], kept.reach[2]) = (take.u64()?, take_reach(take)?);
        for chain in &mut heads.accounts {
            chain.note = take.link()?;
        }
        heads.noted = take_links(take)?;
    }
    if format >= Format::Seven {
        kept.begun = match take.u64()? {
            BEGUN_UNFINISHED => Begun::Unfinished,
            orders => Begun::Orders(orders),
        };
    }
    Some((heads, kept))
}

fn take_reach(take: &mut Take<'_>) -> Option<Reach> {
    let gone = take.u64()?;
    let gone_until = Newest { time: take.time()?, sequence: take.sequence()? };
    let mut reach = Reach { gone, gone_until, sealed: take.u64()?, ..Reach::default() };
    for _ in 0..take.u64()? {
        reach.unsealed.insert(take.u64()?);
    }
    Some(reach)
}

fn take_symbol(take: &mut Take<'_>) -> Option<SymbolChain> {
    let mut chain = SymbolChain { trade: take.link()?, ..SymbolChain::default() };
    for candles in &mut chain.candles {
        let last = take.link()?;
        let current = match take.u8()? {
            0 => None,
            _ => Some(take_candle(take)?),
        };
        *candles = CandleChain { last, current };
    }
    Some(chain)
}
