//! How far the history goes, on disk: written aside, synced and renamed, so that there is always a whole one.

use engine::{Engine, OrderId, Sequence};
use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{Put, Take};
use crate::error::HistoryError;
use crate::folder::Folder;
use crate::heads::{AccountChain, CandleChain, Heads, SymbolChain};
use crate::record::{put_candle, take_candle};

/// The file that says how far the others go.
pub const CHECKPOINT_NAME: &str = "checkpoint";
/// The last byte is the version of the format.
const MAGIC: u64 = u64::from_le_bytes(*b"pt-hist\x03");
/// Of the format before, whose checkpoint differs in nothing else.
const MAGIC_2: u64 = u64::from_le_bytes(*b"pt-hist\x02");

pub(crate) struct Checkpoint {
    pub(crate) heads: Heads,
    /// Records of each table that belong to it.
    pub(crate) orders: u64,
    pub(crate) trades: u64,
    pub(crate) candles: u64,
    /// The tables are of the format before.
    pub(crate) is_former: bool,
}

impl Checkpoint {
    /// Of a history that begins where an engine stands.
    pub(crate) fn begin(engine: &Engine) -> Checkpoint {
        let (through, first_order) = (engine.sequence(), engine.next_order());
        let heads = Heads { through, first_order, accounts: Vec::new(), symbols: Vec::new() };
        Checkpoint { heads, orders: 0, trades: 0, candles: 0, is_former: false }
    }

    /// The one in a folder, if there is one.
    pub(crate) fn read(folder: &dyn Folder) -> Result<Option<Checkpoint>, HistoryError> {
        let name = || CHECKPOINT_NAME.to_owned();
        let read = folder.read(CHECKPOINT_NAME).map_err(|source| HistoryError::Io { name: name(), source })?;
        let Some(bytes) = read else { return Ok(None) };
        let damaged = |fault: &str| HistoryError::Damaged { name: name(), fault: fault.to_owned() };
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(|| damaged("it is too short"))?;
        if xxh3_64(body) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong"));
        }
        let mut take = Take(body);
        let is_former = match take.u64() {
            Some(MAGIC) => false,
            Some(MAGIC_2) => true,
            _ => return Err(damaged("it is of another version of this program")),
        };
        let checkpoint = decode(&mut take).ok_or_else(|| damaged("it ends in the middle"))?;
        Ok(Some(Checkpoint { is_former, ..checkpoint }))
    }

    pub(crate) fn write(
        folder: &dyn Folder,
        heads: &Heads,
        through: Sequence,
        records: [u64; 3],
    ) -> Result<(), HistoryError> {
        let mut bytes = Vec::new();
        encode(&mut Put(&mut bytes), heads, through, records);
        let sum = xxh3_64(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        let name = CHECKPOINT_NAME;
        folder.replace(name, &bytes).map_err(|source| HistoryError::Io { name: name.to_owned(), source })
    }
}

fn encode(put: &mut Put<'_>, heads: &Heads, through: Sequence, records: [u64; 3]) {
    put.u64(MAGIC).u64(through.0).u64(heads.first_order.0);
    for count in records {
        put.u64(count);
    }
    put.u64(heads.accounts.len() as u64);
    for AccountChain { order, canceled, trade } in &heads.accounts {
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
}

fn decode(take: &mut Take<'_>) -> Option<Checkpoint> {
    let (through, first_order) = (Sequence(take.u64()?), OrderId(take.u64()?));
    let (orders, trades, candles) = (take.u64()?, take.u64()?, take.u64()?);
    let mut accounts = Vec::new();
    for _ in 0..take.u64()? {
        let (order, canceled) = (take.link()?.map(OrderId), take.link()?.map(OrderId));
        accounts.push(AccountChain { order, canceled, trade: take.link()? });
    }
    let mut symbols = Vec::new();
    for _ in 0..take.u64()? {
        let mut chain = SymbolChain { trade: take.link()?, ..SymbolChain::default() };
        for candles in &mut chain.candles {
            let last = take.link()?;
            let current = match take.u8()? {
                0 => None,
                _ => Some(take_candle(take)?),
            };
            *candles = CandleChain { last, current };
        }
        symbols.push(chain);
    }
    let heads = Heads { through, first_order, accounts, symbols };
    Some(Checkpoint { heads, orders, trades, candles, is_former: false })
}
