//! The records: an order, a trade, a candle. Each names the one before it in every chain that it is in, and has a checksum that
//! is seeded with its number: neither a changed bit nor another record in its place passes for it.

use engine::{
    AccountIndex, CLIENT_ORDER_ID_BYTES_MAX, ClientOrderId, Money, OrderId, Price, Sequence, Shares, Side, SymbolIndex,
    Time,
};

use crate::candle::Candle;
use crate::codec::{Put, SUM_BYTES, Take, seal, sound, sum};
use crate::trade::Trade;

pub(crate) const ORDER_BYTES: usize = 144;
pub(crate) const TRADE_BYTES: usize = 88;
pub(crate) const CANDLE_BYTES: usize = 92;

/// Where in an order's record the length of what its client calls it is, and the characters.
const CLIENT_ID_AT: usize = 49;
/// The checksum of what an order was placed with, which stands before it.
const PLACED_SUM_AT: usize = 88;
/// Where its ending is: all zero while it is open. It has a checksum of its own at its end, for it is written in place: what
/// stands before it may be damaged by then, and must not seem sound because of the writing.
const ENDING_AT: usize = PLACED_SUM_AT + SUM_BYTES;
const ENDING_BYTES: usize = ORDER_BYTES - ENDING_AT;
const _: () = assert!(CLIENT_ID_AT + 1 + CLIENT_ORDER_ID_BYTES_MAX <= PLACED_SUM_AT, "a client order id has its room");
const DONE: u64 = 1;
/// What to write into an order's record that has not ended, and where.
pub(crate) const NOT_ENDED: (usize, [u8; ENDING_BYTES]) = (ENDING_AT, [0; ENDING_BYTES]);
/// Where in a trade's record the aggressor's side is, in the highest bit, with the checksum of all of the record.
const TRADE_SUM_AT: usize = 12;
const SELL: u32 = 1 << 31;

/// An order of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastOrder {
    pub order: OrderId,
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub side: Side,
    pub limit: Price,
    pub shares: Shares,
    pub time: Time,
    /// The command that placed it.
    pub sequence: Sequence,
    /// What its client calls it.
    pub client_id: Option<ClientOrderId>,
    /// How it ended; none while it is open.
    pub ended: Option<Ending>,
    /// The order that its account placed before it; none too where the history is no chain of files, as below.
    pub before: Option<OrderId>,
    /// Of one that was canceled, wholly or in part: the order of its account that was so before it.
    pub canceled_before: Option<OrderId>,
}

/// How an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What was canceled of it.
    pub canceled: Shares,
    /// What was paid for the rest.
    pub money: Money,
    pub time: Time,
    /// The command that ended it.
    pub sequence: Sequence,
}

/// Of an order that was just placed, as record `at`.
pub(crate) fn order_record(at: u64, placed: &PastOrder, before: Option<OrderId>) -> [u8; ORDER_BYTES] {
    let mut bytes = Vec::with_capacity(ORDER_BYTES);
    Put(&mut bytes)
        .u32(placed.account.0)
        .u32(placed.symbol.0)
        .i64(placed.limit.units())
        .i64(placed.shares.units())
        .u64(placed.time.0)
        .u64(placed.sequence.0)
        .link(before.map(|order| order.0))
        .side(placed.side);
    let mut record = fixed(bytes);
    seal(at, &mut record[..ENDING_AT]);
    record
}

/// Writes what its client calls it into the record of an order that was just placed.
pub(crate) fn name(at: u64, record: &mut [u8; ORDER_BYTES], id: ClientOrderId) {
    let text = id.as_bytes();
    record[CLIENT_ID_AT] = text.len() as u8;
    record[CLIENT_ID_AT + 1..][..text.len()].copy_from_slice(text);
    seal(at, &mut record[..ENDING_AT]);
}

/// What to write into record `at` of an order when it ends, and where.
pub(crate) fn ending(at: u64, ended: &Ending, canceled_before: Option<OrderId>) -> (usize, [u8; ENDING_BYTES]) {
    let mut bytes = Vec::with_capacity(ENDING_BYTES);
    Put(&mut bytes)
        .u64(DONE | canceled_before.map_or(0, |order| order.0 << 8))
        .i64(ended.canceled.units())
        .i128(ended.money.units())
        .u64(ended.time.0)
        .u64(ended.sequence.0);
    let mut ending = fixed(bytes);
    seal(at, &mut ending);
    (ENDING_AT, ending)
}

/// Whether there is anything where a record's ending is: whole, torn or damaged.
pub(crate) fn has_ending(record: &[u8; ORDER_BYTES]) -> bool {
    record[ENDING_AT..] != NOT_ENDED.1
}

impl PastOrder {
    /// What record `at` says of an order; none if it is damaged.
    pub(crate) fn decode(at: u64, order: OrderId, bytes: &[u8; ORDER_BYTES]) -> Option<PastOrder> {
        let (placed, ending) = bytes.split_at(ENDING_AT);
        let mut take = Take(sound(at, placed)?);
        let (account, symbol) = (AccountIndex(take.u32()?), SymbolIndex(take.u32()?));
        let (limit, shares) = (take.price()?, take.shares()?);
        let (time, sequence) = (take.time()?, take.sequence()?);
        let before = take.link()?.map(OrderId);
        let side = take.side()?;
        let client_id = match usize::from(take.u8()?) {
            0 => None,
            length => Some(ClientOrderId::parse(take.0.get(..length)?).ok()?),
        };
        let (ended, canceled_before) = if has_ending(bytes) {
            let mut take = Take(sound(at, ending)?);
            let done = take.u64()?;
            let (canceled, money) = (take.shares()?, take.money()?);
            let ended = Ending { canceled, money, time: take.time()?, sequence: take.sequence()? };
            (Some(ended), (done >> 8 > 0).then_some(OrderId(done >> 8)))
        } else {
            (None, None)
        };
        // A chain that goes on from here goes back.
        before.is_none_or(|before| before < order).then_some(PastOrder {
            client_id,
            order,
            account,
            symbol,
            side,
            limit,
            shares,
            time,
            sequence,
            ended,
            before,
            canceled_before,
        })
    }
}

/// A trade and the ones before it.
pub(crate) struct TradeRecord {
    pub(crate) trade: Trade,
    pub(crate) of_symbol: Option<u64>,
    pub(crate) of_maker: Option<u64>,
    pub(crate) of_aggressor: Option<u64>,
}

impl TradeRecord {
    /// As record `at`.
    pub(crate) fn encode(&self, at: u64) -> [u8; TRADE_BYTES] {
        let TradeRecord { trade, of_symbol, of_maker, of_aggressor } = self;
        let side = match trade.aggressor {
            Side::Buy => 0,
            Side::Sell => SELL,
        };
        let mut bytes = Vec::with_capacity(TRADE_BYTES);
        Put(&mut bytes)
            .u32(trade.symbol.0)
            .u32(trade.maker_account.0)
            .u32(trade.aggressor_account.0)
            .u32(side)
            .i64(trade.price.units())
            .i64(trade.shares.units())
            .u64(trade.time.0)
            .u64(trade.sequence.0)
            .u64(trade.maker_order.0)
            .u64(trade.aggressor_order.0)
            .link(*of_symbol)
            .link(*of_maker)
            .link(*of_aggressor);
        let sealed = side | (sum(at, &bytes) & !SELL);
        bytes[TRADE_SUM_AT..][..SUM_BYTES].copy_from_slice(&sealed.to_le_bytes());
        fixed(bytes)
    }

    /// What record `at` says of a trade; none if it is damaged.
    pub(crate) fn decode(at: u64, id: u64, bytes: &[u8; TRADE_BYTES]) -> Option<TradeRecord> {
        let mut unsealed = *bytes;
        let sealed = Take(bytes.get(TRADE_SUM_AT..)?).u32()?;
        unsealed[TRADE_SUM_AT..][..SUM_BYTES].copy_from_slice(&(sealed & SELL).to_le_bytes());
        if sum(at, &unsealed) & !SELL != sealed & !SELL {
            return None;
        }
        let mut take = Take(&unsealed);
        let symbol = SymbolIndex(take.u32()?);
        let (maker_account, aggressor_account) = (AccountIndex(take.u32()?), AccountIndex(take.u32()?));
        let aggressor = if take.u32()? == SELL { Side::Sell } else { Side::Buy };
        let (price, shares, time, sequence) = (take.price()?, take.shares()?, take.time()?, take.sequence()?);
        let (maker_order, aggressor_order) = (OrderId(take.u64()?), OrderId(take.u64()?));
        let trade = Trade {
            id,
            symbol,
            price,
            shares,
            time,
            sequence,
            aggressor,
            maker_order,
            aggressor_order,
            maker_account,
            aggressor_account,
        };
        let (of_symbol, of_maker, of_aggressor) = (take.link()?, take.link()?, take.link()?);
        // Chains that go on from here go back.
        let goes_back = [of_symbol, of_maker, of_aggressor].into_iter().flatten().all(|before| before < id);
        goes_back.then_some(TradeRecord { trade, of_symbol, of_maker, of_aggressor })
    }
}

/// A candle and the one before it.
pub(crate) struct CandleRecord {
    pub(crate) candle: Candle,
    pub(crate) before: Option<u64>,
}

impl CandleRecord {
    /// As record `at`.
    pub(crate) fn encode(&self, at: u64) -> [u8; CANDLE_BYTES] {
        let mut bytes = Vec::with_capacity(CANDLE_BYTES);
        put_candle(&mut Put(&mut bytes), &self.candle);
        Put(&mut bytes).link(self.before);
        let mut record = fixed(bytes);
        seal(at, &mut record);
        record
    }

    /// What record `at` says of a candle; none if it is damaged.
    pub(crate) fn decode(at: u64, bytes: &[u8; CANDLE_BYTES]) -> Option<CandleRecord> {
        let mut take = Take(sound(at, bytes)?);
        let (candle, before) = (take_candle(&mut take)?, take.link()?);
        // A chain that goes on from here goes back: links count from 1.
        before.is_none_or(|before| before <= at).then_some(CandleRecord { candle, before })
    }
}

pub(crate) fn put_candle(put: &mut Put<'_>, candle: &Candle) {
    put.u64(candle.start.0);
    for price in [candle.open, candle.high, candle.low, candle.close] {
        put.i64(price.units());
    }
    put.i128(candle.volume.units()).i128(candle.money.units()).u64(candle.trades);
}

pub(crate) fn take_candle(take: &mut Take<'_>) -> Option<Candle> {
    let start = take.time()?;
    let (open, high, low, close) = (take.price()?, take.price()?, take.price()?, take.price()?);
    Some(Candle { start, open, high, low, close, volume: take.position()?, money: take.money()?, trades: take.u64()? })
}

/// As an array, with zeros behind what was written.
fn fixed<const N: usize>(bytes: Vec<u8>) -> [u8; N] {
    let mut fixed = [0; N];
    fixed[..bytes.len()].copy_from_slice(&bytes);
    fixed
}
