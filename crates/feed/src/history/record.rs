//! The records: an order, a trade, a candle. Each names the one before it in every chain that it is in.

use engine::{
    AccountIndex, CLIENT_ORDER_ID_BYTES_MAX, ClientOrderId, Money, OrderId, Price, Sequence, Shares, Side, SymbolIndex,
    Time,
};

use super::codec::{Put, Take};
use crate::candle::Candle;
use crate::orders::Open;
use crate::trade::Trade;
use crate::view::Ended;

pub(super) const ORDER_BYTES: usize = 144;
pub(super) const TRADE_BYTES: usize = 88;
pub(super) const CANDLE_BYTES: usize = 88;

/// Where in an order's record its ending is: all zero while it is open. Its first byte says that it has ended, the seven
/// behind it name the order that its account had canceled before.
const ENDING_AT: usize = 56;
const ENDING_BYTES: usize = 48;
const DONE: u64 = 1;
/// What to write into an order's record that has not ended, and where.
pub(super) const NOT_ENDED: (usize, [u8; ENDING_BYTES]) = (ENDING_AT, [0; ENDING_BYTES]);
/// Where what its client calls it is: its length, and its characters.
const CLIENT_ID_AT: usize = ENDING_AT + ENDING_BYTES;
const CLIENT_ID_BYTES: usize = 1 + CLIENT_ORDER_ID_BYTES_MAX;

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

/// Of an order that was just opened.
pub(super) fn order_record(open: &Open, sequence: Sequence, before: Option<OrderId>) -> [u8; ORDER_BYTES] {
    let mut bytes = Vec::with_capacity(ORDER_BYTES);
    Put(&mut bytes)
        .u32(open.account.0)
        .u32(open.symbol.0)
        .side(open.side)
        .u8(0)
        .u8(0)
        .u8(0)
        .u32(0)
        .i64(open.limit.units())
        .i64(open.shares.units())
        .u64(open.time.0)
        .u64(sequence.0)
        .link(before.map(|order| order.0));
    fixed(bytes)
}

/// What to write into an order's record when it ends, and where.
pub(super) fn ending(ended: &Ended, canceled_before: Option<OrderId>) -> (usize, [u8; ENDING_BYTES]) {
    let mut bytes = Vec::with_capacity(ENDING_BYTES);
    Put(&mut bytes)
        .u64(DONE | canceled_before.map_or(0, |order| order.0 << 8))
        .i64(ended.canceled.units())
        .i128(ended.order.money.units())
        .u64(ended.time.0)
        .u64(ended.sequence.0);
    (ENDING_AT, fixed(bytes))
}

/// What to write into an order's record when its client calls it something, and where.
pub(super) fn client_id(id: ClientOrderId) -> (usize, [u8; CLIENT_ID_BYTES]) {
    let mut bytes = vec![id.as_bytes().len() as u8];
    bytes.extend_from_slice(id.as_bytes());
    (CLIENT_ID_AT, fixed(bytes))
}

impl PastOrder {
    /// One that a command has just placed.
    pub(crate) fn placed(open: &Open, sequence: Sequence) -> PastOrder {
        let Open { order, account, symbol, side, limit, shares, time, .. } = *open;
        let (client_id, ended, before, canceled_before) = (None, None, None, None);
        PastOrder {
            order,
            account,
            symbol,
            side,
            limit,
            shares,
            time,
            sequence,
            client_id,
            ended,
            before,
            canceled_before,
        }
    }

    pub(super) fn decode(order: OrderId, bytes: &[u8; ORDER_BYTES]) -> Option<PastOrder> {
        let mut take = Take(bytes);
        let (account, symbol) = (AccountIndex(take.u32()?), SymbolIndex(take.u32()?));
        let side = take.side()?;
        take.skip(7)?;
        let (limit, shares) = (take.price()?, take.shares()?);
        let (time, sequence) = (take.time()?, take.sequence()?);
        let before = take.link()?.map(OrderId);
        let done = take.u64()?;
        let canceled_before = (done >> 8 > 0).then_some(OrderId(done >> 8));
        let ended = match done & 0xFF {
            0 => None,
            _ => Some(Ending {
                canceled: take.shares()?,
                money: take.money()?,
                time: take.time()?,
                sequence: take.sequence()?,
            }),
        };
        let (length, text) = bytes[CLIENT_ID_AT..][..CLIENT_ID_BYTES].split_first()?;
        let client_id = match usize::from(*length) {
            0 => None,
            length => Some(ClientOrderId::parse(text.get(..length)?).ok()?),
        };
        Some(PastOrder {
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
pub(super) struct TradeRecord {
    pub(super) trade: Trade,
    pub(super) of_symbol: Option<u64>,
    pub(super) of_maker: Option<u64>,
    pub(super) of_aggressor: Option<u64>,
}

impl TradeRecord {
    pub(super) fn encode(&self) -> [u8; TRADE_BYTES] {
        let TradeRecord { trade, of_symbol, of_maker, of_aggressor } = self;
        let mut bytes = Vec::with_capacity(TRADE_BYTES);
        Put(&mut bytes)
            .u32(trade.symbol.0)
            .u32(trade.maker_account.0)
            .u32(trade.aggressor_account.0)
            .side(trade.aggressor)
            .u8(0)
            .u8(0)
            .u8(0)
            .i64(trade.price.units())
            .i64(trade.shares.units())
            .u64(trade.time.0)
            .u64(trade.sequence.0)
            .u64(trade.maker_order.0)
            .u64(trade.aggressor_order.0)
            .link(*of_symbol)
            .link(*of_maker)
            .link(*of_aggressor);
        fixed(bytes)
    }

    pub(super) fn decode(id: u64, bytes: &[u8; TRADE_BYTES]) -> Option<TradeRecord> {
        let mut take = Take(bytes);
        let symbol = SymbolIndex(take.u32()?);
        let (maker_account, aggressor_account) = (AccountIndex(take.u32()?), AccountIndex(take.u32()?));
        let aggressor = take.side()?;
        take.skip(3)?;
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
        Some(TradeRecord { trade, of_symbol: take.link()?, of_maker: take.link()?, of_aggressor: take.link()? })
    }
}

/// A candle and the one before it.
pub(super) struct CandleRecord {
    pub(super) candle: Candle,
    pub(super) before: Option<u64>,
}

impl CandleRecord {
    pub(super) fn encode(&self) -> [u8; CANDLE_BYTES] {
        let mut bytes = Vec::with_capacity(CANDLE_BYTES);
        put_candle(&mut Put(&mut bytes), &self.candle);
        Put(&mut bytes).link(self.before);
        fixed(bytes)
    }

    pub(super) fn decode(bytes: &[u8; CANDLE_BYTES]) -> Option<CandleRecord> {
        let mut take = Take(bytes);
        Some(CandleRecord { candle: take_candle(&mut take)?, before: take.link()? })
    }
}

pub(super) fn put_candle(put: &mut Put<'_>, candle: &Candle) {
    put.u64(candle.start.0);
    for price in [candle.open, candle.high, candle.low, candle.close] {
        put.i64(price.units());
    }
    put.i128(candle.volume.units()).i128(candle.money.units()).u64(candle.trades);
}

pub(super) fn take_candle(take: &mut Take<'_>) -> Option<Candle> {
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
