//! The checkpoint: up to which records the files of the history count. It is written to another file, synced and
//! renamed, so that there is always a whole one.

use foldhash::fast::RandomState;
use slots::SpreadMap;
use terms::{MarketState, OrderId, Sequence};
use xxhash_rust::xxh3::xxh3_64;

use crate::chain_heads::{AccountChain, CandleChain, Heads, SymbolChain};
use crate::codec::{Put, Take};
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::record::{put_candle, take_candle};
use crate::sealed::Newest;
use crate::table::{Reach, Sizes};

/// The name of the checkpoint's file.
pub const CHECKPOINT_NAME: &str = "checkpoint";
/// The magic number, whose last byte is the version of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"pt-past\x01");
/// The beginning of checkpoints of builds before release 0.1.0, whose formats no release reads.
const UNRELEASED: &[u8] = b"pt-hist";
/// The codes of `Begun`.
const WITH_MARKET: u8 = 0;
const UNFINISHED: u8 = 1;
const WITH_ORDERS: u8 = 2;

pub(crate) struct Checkpoint {
    pub(crate) heads: Heads,
    pub(crate) kept: KeptRecords,
}

/// The records of the history, and their files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptRecords {
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
    /// The history begins with the market, so these files do not exist.
    #[default]
    WithMarket,
    /// The files are being written, and no others are: everything in the folder can be made again.
    Unfinished,
    /// The number of open orders.
    Orders(u64),
}

impl Checkpoint {
    /// Makes the checkpoint of a history that begins at a market's state.
    pub(crate) fn begin(market: &dyn MarketState, sizes: &Sizes) -> Checkpoint {
        let (through, first_order) = (market.sequence(), market.next_order());
        let (accounts, symbols, executed, noted) = Default::default();
        let heads = Heads { through, first_order, accounts, symbols, executed, noted };
        Checkpoint { heads, kept: KeptRecords::of(sizes) }
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
        if bytes.starts_with(UNRELEASED) {
            return Err(HistoryError::Unreleased);
        }
        let damaged = |fault: &str| HistoryError::Damaged { name: name(), fault: fault.to_owned() };
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it is too short"))?;
        if xxh3_64(body) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong"));
        }
        let mut take = Take(body);
        if take.u64() != Some(MAGIC) {
            return Err(damaged("it is of a later version of this program"));
        }
        let (heads, kept) = decode(&mut take).ok_or_else(|| damaged("it ends in the middle"))?;
        Ok(Some(Checkpoint { heads, kept }))
    }

    /// Writes the checkpoint of a history that has just begun.
    pub(crate) fn write_first(&self, folder: &dyn Folder) -> Result<(), HistoryError> {
        Checkpoint::write(folder, &self.heads, self.heads.through, &self.kept)
    }

    pub(crate) fn write(
        folder: &dyn Folder,
        heads: &Heads,
        through: Sequence,
        kept: &KeptRecords,
    ) -> Result<(), HistoryError> {
        let mut bytes = Vec::new();
        encode(&mut Put(&mut bytes), heads, through, kept);
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let name = CHECKPOINT_NAME;
        folder.replace(name, &bytes).map_err(|source| HistoryError::Io { name: name.to_owned(), source })
    }
}

impl KeptRecords {
    /// Makes an empty reach.
    pub(crate) fn of(sizes: &Sizes) -> KeptRecords {
        let Sizes { part_records, block_records, .. } = *sizes;
        KeptRecords { part_records, block_records, ..KeptRecords::default() }
    }

    /// Whether it counts other parts, or another file of carried orders, than `other`.
    pub(crate) fn is_other_files(&self, other: &KeptRecords) -> bool {
        self.reach != other.reach || self.carried_file != other.carried_file
    }
}

fn encode(put: &mut Put<'_>, heads: &Heads, through: Sequence, kept: &KeptRecords) {
    put.u64(MAGIC).u64(through.0).u64(heads.first_order.0);
    for count in kept.records {
        put.u64(count);
    }
    for count in [kept.part_records, kept.block_records, kept.carried, kept.carried_file] {
        put.u64(count);
    }
    match kept.begun {
        Begun::WithMarket => put.u8(WITH_MARKET).u64(0),
        Begun::Unfinished => put.u8(UNFINISHED).u64(0),
        Begun::Orders(orders) => put.u8(WITH_ORDERS).u64(orders),
    };
    for reach in &kept.reach {
        put_reach(put, reach);
    }
    put.u64(heads.accounts.len() as u64);
    for AccountChain { order, canceled, trade, note } in &heads.accounts {
        put.link(order.map(|order| order.0)).link(canceled.map(|order| order.0)).link(*trade).link(*note);
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
    put_links(put, &heads.noted);
}

fn put_reach(put: &mut Put<'_>, Reach { gone, gone_until, sealed, unsealed }: &Reach) {
    put.u64(*gone).u64(gone_until.time.0).u64(gone_until.sequence.0).u64(*sealed).u64(unsealed.len() as u64);
    for part in unsealed {
        put.u64(*part);
    }
}

fn put_links(put: &mut Put<'_>, links: &SpreadMap<OrderId, u64, RandomState>) {
    let mut links: Vec<(OrderId, u64)> = links.iter().copied().collect();
    links.sort_unstable();
    put.u64(links.len() as u64);
    for (order, link) in links {
        put.u64(order.0).u64(link);
    }
}

fn take_links(take: &mut Take<'_>) -> Option<SpreadMap<OrderId, u64, RandomState>> {
    let mut links = SpreadMap::default();
    for _ in 0..take.u64()? {
        links.insert(OrderId(take.u64()?), take.u64()?);
    }
    Some(links)
}

fn decode(take: &mut Take<'_>) -> Option<(Heads, KeptRecords)> {
    let (through, first_order) = (Sequence(take.u64()?), OrderId(take.u64()?));
    let mut kept = KeptRecords::default();
    for count in &mut kept.records {
        *count = take.u64()?;
    }
    for count in [&mut kept.part_records, &mut kept.block_records, &mut kept.carried, &mut kept.carried_file] {
        *count = take.u64()?;
    }
    if kept.part_records == 0 || kept.block_records == 0 {
        return None;
    }
    kept.begun = match (take.u8()?, take.u64()?) {
        (WITH_MARKET, _) => Begun::WithMarket,
        (UNFINISHED, _) => Begun::Unfinished,
        (WITH_ORDERS, orders) => Begun::Orders(orders),
        _ => return None,
    };
    for reach in &mut kept.reach {
        *reach = take_reach(take)?;
    }
    let mut accounts = Vec::new();
    for _ in 0..take.u64()? {
        let (order, canceled) = (take.link()?.map(OrderId), take.link()?.map(OrderId));
        accounts.push(AccountChain { order, canceled, trade: take.link()?, note: take.link()? });
    }
    let mut symbols = Vec::new();
    for _ in 0..take.u64()? {
        symbols.push(take_symbol(take)?);
    }
    let (executed, noted) = (take_links(take)?, take_links(take)?);
    Some((Heads { through, first_order, accounts, symbols, executed, noted }, kept))
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
