//! Records of an order, a trade and a candle as bytes. Each record links to the one before it in each of its chains.
//! Its checksum is seeded with its number, so it detects both a changed bit and another record in its place. In a
//! sealed part the blocks have the checksums: records are written without theirs, and get them back when they are read.

use exchange::Trade;
use terms::{
    AccountIndex, CLIENT_ORDER_ID_BYTES_MAX, ClientOrderId, Fee, FeeRate, NewOrder, OrderId, OrderKind, Price,
    SelfTrade, Sequence, Shares, Side, SymbolIndex, Time, Trigger,
};

use crate::candle::Candle;
use crate::codec::{Bytes, Fixed, Put, SUM_BYTES, Take, seal, sound};
use crate::columns::{Field, How};
use crate::ending::{self, Ending, Last};
use crate::note::PastTerms;
use crate::sealed::Newest;
use crate::table::Kind;

pub(crate) const ORDER_BYTES: usize = 163;
pub(crate) const TRADE_BYTES: usize = 105;
pub(crate) const CANDLE_BYTES: usize = 92;

/// The offsets of fields of an order's record. The characters of the client order id stand behind its length.
const PLACED_TIME_AT: usize = 24;
const PLACED_SEQUENCE_AT: usize = 32;
const CLIENT_ID_AT: usize = 60;
/// The offset of the checksum of the order as placed, which stands before it.
const PLACED_SUM_AT: usize = CLIENT_ID_AT + 1 + CLIENT_ORDER_ID_BYTES_MAX;
/// The offset of the ending, which is all zero while the order is open. It has a checksum of its own, because it is
/// written in place: the bytes before it may be damaged by then, and writing the ending must not make them seem sound.
const ENDING_AT: usize = PLACED_SUM_AT + SUM_BYTES;
const ENDING_BYTES: usize = ORDER_BYTES - ENDING_AT;
const ENDED_TIME_AT: usize = ENDING_AT + 34;
const ENDED_SEQUENCE_AT: usize = ENDING_AT + 42;
/// The length of the order as placed, with its checksum.
pub(crate) const PLACED_BYTES: usize = ENDING_AT;
/// The codes of a trigger's direction.
const NO_TRIGGER: u8 = 0;
const FROM_BELOW: u8 = 1;
const FROM_ABOVE: u8 = 2;
/// The codes of the kind of an ending's last link.
const LAST_TRADE: u8 = 0;
const LAST_NOTE: u8 = 1;
const LAST_TERMS: u8 = 2;
/// The offset and the bytes that make an order's record open again.
pub(crate) const NOT_ENDED: (usize, [u8; ENDING_BYTES]) = (ENDING_AT, [0; ENDING_BYTES]);
/// The offsets of fields of a trade's record.
const TRADE_TIME_AT: usize = 37;
const TRADE_SEQUENCE_AT: usize = 45;
const TRADE_SUM_AT: usize = TRADE_BYTES - SUM_BYTES;

/// The table of orders. Links are ids of orders.
pub(crate) const ORDERS: Kind<ORDER_BYTES> = Kind {
    stem: "orders",
    single: false,
    seed: 0x6f72_6465_7273,
    fields: &ORDER_FIELDS,
    strip: strip_order,
    restore: restore_order,
};
/// The table of trades. Links are numbers of trades.
pub(crate) const TRADES: Kind<TRADE_BYTES> = Kind {
    stem: "trades",
    single: false,
    seed: 0x7472_6164_6573,
    fields: &TRADE_FIELDS,
    strip: strip_trade,
    restore: |at, record| seal(at, record),
};
/// The table of candles, which are kept for ever and never sealed.
pub(crate) const CANDLES: Kind<CANDLE_BYTES> =
    Kind { stem: "candles", single: true, seed: 0, fields: &[], strip: |_, _, _| None, restore: |_, _| {} };

/// The fields of an order's record besides the characters of its client order id.
const ORDER_NUMBERS: [Field; 21] = [
    // Account, symbol, limit, shares, time, sequence, the account's order before, the price of the trigger.
    Field(0, 4, How::Value),
    Field(4, 4, How::Value),
    Field(8, 8, How::Value),
    Field(16, 8, How::Value),
    Field(PLACED_TIME_AT, 8, How::Value),
    Field(PLACED_SEQUENCE_AT, 8, How::Value),
    Field(40, 8, How::Link),
    Field(48, 8, How::Value),
    // Side, kind, self-trade prevention, the direction of the trigger, the length of the client order id.
    Field(56, 1, How::Value),
    Field(57, 1, How::Value),
    Field(58, 1, How::Value),
    Field(59, 1, How::Value),
    Field(CLIENT_ID_AT, 1, How::Value),
    // The ending: reason, kind of the last link, the order canceled before, canceled shares, money, time, sequence, the
    // last trade or note.
    Field(ENDING_AT, 1, How::Value),
    Field(ENDING_AT + 1, 1, How::Value),
    Field(ENDING_AT + 2, 8, How::Link),
    Field(ENDING_AT + 10, 8, How::Value),
    Field(ENDING_AT + 18, 16, How::Value),
    Field(ENDED_TIME_AT, 8, How::From(PLACED_TIME_AT)),
    Field(ENDED_SEQUENCE_AT, 8, How::From(PLACED_SEQUENCE_AT)),
    Field(ENDED_SEQUENCE_AT + 8, 8, How::Value),
];

/// The fields of an order's record: each character of its client order id is a column, too.
const ORDER_FIELDS: [Field; ORDER_NUMBERS.len() + CLIENT_ORDER_ID_BYTES_MAX] = {
    let mut fields = [Field(0, 1, How::Value); ORDER_NUMBERS.len() + CLIENT_ORDER_ID_BYTES_MAX];
    let mut at = 0;
    while at < fields.len() {
        fields[at] = match at < ORDER_NUMBERS.len() {
            true => ORDER_NUMBERS[at],
            false => Field(CLIENT_ID_AT + 1 + at - ORDER_NUMBERS.len(), 1, How::Value),
        };
        at += 1;
    }
    fields
};

const TRADE_FIELDS: [Field; 16] = [
    // Symbol, the accounts and the rates of their fees, the aggressor's side.
    Field(0, 4, How::Value),
    Field(4, 4, How::Value),
    Field(8, 4, How::Value),
    Field(12, 4, How::Value),
    Field(16, 4, How::Value),
    Field(20, 1, How::Value),
    // Price, shares, time, sequence.
    Field(21, 8, How::Value),
    Field(29, 8, How::Value),
    Field(TRADE_TIME_AT, 8, How::Value),
    Field(TRADE_SEQUENCE_AT, 8, How::Value),
    // The aggressor's order, and the maker's, which is older.
    Field(61, 8, How::Value),
    Field(53, 8, How::From(61)),
    // The links to the trades before.
    Field(69, 8, How::Link),
    Field(77, 8, How::Link),
    Field(85, 8, How::Link),
    Field(93, 8, How::Link),
];

/// Removes the checksums from an order's record, and an ending by a command after `covered`. Returns the newest event
/// left in it, and whether it is open; none if it is damaged.
fn strip_order(at: u64, record: &mut [u8; ORDER_BYTES], covered: Sequence) -> Option<(Newest, bool)> {
    sound(at, &record[..ENDING_AT])?;
    let mut newest =
        Newest { time: Time(number(record, PLACED_TIME_AT)), sequence: Sequence(number(record, PLACED_SEQUENCE_AT)) };
    let mut open = !has_ending(record);
    if !open {
        sound(at, &record[ENDING_AT..])?;
        let ended =
            Newest { time: Time(number(record, ENDED_TIME_AT)), sequence: Sequence(number(record, ENDED_SEQUENCE_AT)) };
        open = ended.sequence > covered;
        if open {
            record[ENDING_AT..].fill(0);
        } else {
            newest = newest.or(ended);
        }
    }
    record[PLACED_SUM_AT..ENDING_AT].fill(0);
    record[ORDER_BYTES - SUM_BYTES..].fill(0);
    Some((newest, open))
}

fn restore_order(at: u64, record: &mut [u8; ORDER_BYTES]) {
    seal(at, &mut record[..ENDING_AT]);
    if has_ending(record) {
        seal(at, &mut record[ENDING_AT..]);
    }
}

/// The command that ended an order; none if it is open or its ending is damaged.
pub(crate) fn ended_by(at: u64, record: &[u8; ORDER_BYTES]) -> Option<Sequence> {
    sound(at, &record[ENDING_AT..]).filter(|_| has_ending(record))?;
    Some(Sequence(number(record, ENDED_SEQUENCE_AT)))
}

fn strip_trade(at: u64, record: &mut [u8; TRADE_BYTES], _: Sequence) -> Option<(Newest, bool)> {
    TradeRecord::decode(at, at + 1, record)?;
    record[TRADE_SUM_AT..].fill(0);
    let newest =
        Newest { time: Time(number(record, TRADE_TIME_AT)), sequence: Sequence(number(record, TRADE_SEQUENCE_AT)) };
    Some((newest, false))
}

/// Reads the 8 bytes from `at` on.
fn number(record: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&record[at..][..8]);
    u64::from_le_bytes(bytes)
}

/// An order of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PastOrder {
    pub order: OrderId,
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub side: Side,
    pub limit: Price,
    /// The shares with which it was placed.
    pub shares: Shares,
    pub kind: OrderKind,
    /// The trigger for which it waits or waited; none where it waited no longer and was placed again with other terms.
    pub trigger: Option<Trigger>,
    /// The shares that it has, executed ones included. Its record does not have them, nor the other terms that
    /// amendments gave it.
    pub shares_now: Shares,
    /// Self-trade prevention.
    pub self_trade: SelfTrade,
    pub time: Time,
    /// The command that placed it.
    pub sequence: Sequence,
    /// The client order id.
    pub client_id: Option<ClientOrderId>,
    /// The ending; none while it is open.
    pub ended: Option<Ending>,
    /// The order that its account placed before it. In a database this and the two links below are none.
    pub before: Option<OrderId>,
    /// The order of its account that was canceled before, if any shares of this one were canceled.
    pub canceled_before: Option<OrderId>,
    /// The last trade of a done order, or its last note if it has any.
    pub last: Option<Last>,
}

fn direction(trigger: Option<Trigger>) -> u8 {
    match trigger.map(|trigger| trigger.is_from_below()) {
        None => NO_TRIGGER,
        Some(true) => FROM_BELOW,
        Some(false) => FROM_ABOVE,
    }
}

/// Makes record `at`, of an order that was just placed.
pub(crate) fn order_record(at: u64, placed: &PastOrder, before: Option<OrderId>) -> [u8; ORDER_BYTES] {
    let mut bytes = Fixed::<ORDER_BYTES>::new();
    Put(&mut bytes)
        .u32(placed.account.0)
        .u32(placed.symbol.0)
        .i64(placed.limit.units())
        .i64(placed.shares.units())
        .u64(placed.time.0)
        .u64(placed.sequence.0)
        .link(before.map(|order| order.0))
        .i64(placed.trigger.map_or(0, |trigger| trigger.price().units()))
        .side(placed.side)
        .u8(placed.kind.code())
        .u8(placed.self_trade.code())
        .u8(direction(placed.trigger));
    let mut record = bytes.record();
    seal(at, &mut record[..ENDING_AT]);
    record
}

/// Writes the client order id into the record of an order that was just placed.
pub(crate) fn name(at: u64, record: &mut [u8; ORDER_BYTES], id: ClientOrderId) {
    let text = id.as_bytes();
    record[CLIENT_ID_AT] = text.len() as u8;
    record[CLIENT_ID_AT + 1..][..text.len()].copy_from_slice(text);
    seal(at, &mut record[..ENDING_AT]);
}

/// The offset and the bytes that end an order in record `at`: with its last trade or note, and with the order of its
/// account that was canceled before.
pub(crate) fn ending(
    at: u64,
    ended: &Ending,
    last: Option<Last>,
    canceled_before: Option<OrderId>,
) -> (usize, [u8; ENDING_BYTES]) {
    let (kind, last) = match last {
        None => (LAST_TRADE, None),
        Some(Last::Trade(number)) => (LAST_TRADE, Some(number)),
        Some(Last::Note(number)) => (LAST_NOTE, Some(number)),
        Some(Last::Terms(number)) => (LAST_TERMS, Some(number)),
    };
    let mut bytes = Fixed::<ENDING_BYTES>::new();
    Put(&mut bytes)
        .u8(ending::code_of(ended.why))
        .u8(kind)
        .link(canceled_before.map(|order| order.0))
        .i64(ended.canceled.units())
        .i128(ended.money.units())
        .u64(ended.time.0)
        .u64(ended.sequence.0)
        .link(last);
    let mut ending = bytes.record();
    seal(at, &mut ending);
    (ENDING_AT, ending)
}

/// The reason's number in a sound ending, if this program does not know it.
pub(crate) fn unknown_end(at: u64, record: &[u8; ORDER_BYTES]) -> Option<u8> {
    let code = sound(at, &record[ENDING_AT..]).filter(|_| has_ending(record))?[0];
    ending::from_code(code).is_none().then_some(code)
}

/// Whether a record has an ending, be it whole, torn or damaged.
pub(crate) fn has_ending(record: &[u8; ORDER_BYTES]) -> bool {
    record[ENDING_AT..] != NOT_ENDED.1
}

impl PastOrder {
    /// Makes an order that the command of this number has just placed.
    pub fn placed(
        order: OrderId,
        account: AccountIndex,
        placed: NewOrder<SymbolIndex>,
        time: Time,
        sequence: Sequence,
    ) -> PastOrder {
        let NewOrder { symbol, side, limit, shares, kind, trigger, self_trade } = placed;
        let (client_id, ended, before, canceled_before, last) = (None, None, None, None, None);
        PastOrder {
            order,
            account,
            symbol,
            side,
            limit,
            shares,
            kind,
            trigger,
            shares_now: shares,
            self_trade,
            time,
            sequence,
            client_id,
            ended,
            before,
            canceled_before,
            last,
        }
    }

    /// The shares that the order has, executed ones included.
    pub fn shares_now(&self) -> Shares {
        self.shares_now
    }

    /// The terms of the order, with the shares with which it was placed.
    pub fn as_placed(&self) -> NewOrder<SymbolIndex> {
        let PastOrder { symbol, side, limit, shares, kind, trigger, self_trade, .. } = *self;
        NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }
    }

    /// The order with other terms, if it got any.
    pub(crate) fn with_terms(self, terms: Option<PastTerms>) -> PastOrder {
        match terms {
            Some(PastTerms { kind, limit, trigger, .. }) => PastOrder { kind, limit, trigger, ..self },
            None => self,
        }
    }

    /// The order as it was after the command `through`, which placed it or came later.
    pub(crate) fn as_of(self, through: Sequence) -> PastOrder {
        match self.ended {
            Some(ended) if ended.sequence > through => {
                PastOrder { ended: None, canceled_before: None, last: None, ..self }
            }
            _ => self,
        }
    }

    /// Decodes the order in record `at`; none if it is damaged.
    pub(crate) fn decode(at: u64, order: OrderId, bytes: &[u8; ORDER_BYTES]) -> Option<PastOrder> {
        let (placed, ending) = bytes.split_at(ENDING_AT);
        let mut take = Take(sound(at, placed)?);
        let (account, symbol) = (AccountIndex(take.u32()?), SymbolIndex(take.u32()?));
        let (limit, shares) = (take.price()?, take.shares()?);
        let (time, sequence) = (take.time()?, take.sequence()?);
        let before = take.link()?.map(OrderId);
        let trigger_price = take.i64()?;
        let (side, kind) = (take.side()?, OrderKind::from_code(take.u8()?)?);
        let (self_trade, direction) = (SelfTrade::from_code(take.u8()?)?, take.u8()?);
        let trigger = match direction {
            NO_TRIGGER => None,
            FROM_BELOW => Some(Trigger::from_below(Price::from_units(trigger_price)?)),
            FROM_ABOVE => Some(Trigger::from_above(Price::from_units(trigger_price)?)),
            _ => return None,
        };
        let client_id = match usize::from(take.u8()?) {
            0 => None,
            length => Some(ClientOrderId::parse(take.0.get(..length)?).ok()?),
        };
        let (ended, canceled_before, last) = if has_ending(bytes) {
            let mut take = Take(sound(at, ending)?);
            let (why, kind) = (ending::from_code(take.u8()?)?, take.u8()?);
            let canceled_before = take.link()?.map(OrderId);
            let (canceled, money) = (take.shares()?, take.money()?);
            let (time, sequence) = (take.time()?, take.sequence()?);
            let last = match kind {
                LAST_TRADE => Last::Trade,
                LAST_NOTE => Last::Note,
                LAST_TERMS => Last::Terms,
                _ => return None,
            };
            let ended = Ending { canceled, money, time, sequence, why };
            (Some(ended), canceled_before, take.link()?.map(last))
        } else {
            (None, None, None)
        };
        let placed = NewOrder { symbol, side, limit, shares, kind, trigger, self_trade };
        let placed = PastOrder::placed(order, account, placed, time, sequence);
        // Chains go backwards from here.
        before.is_none_or(|before| before < order).then_some(PastOrder {
            client_id,
            ended,
            before,
            canceled_before,
            last,
            ..placed
        })
    }
}

/// A trade, with the links to the ones before it.
pub(crate) struct TradeRecord {
    pub(crate) trade: Trade,
    pub(crate) of_symbol: Option<u64>,
    pub(crate) of_maker: Option<u64>,
    pub(crate) of_aggressor: Option<u64>,
    /// The trade before in which the maker's order was the maker. The trades of the aggressor's order have the numbers
    /// before this one.
    pub(crate) of_maker_order: Option<u64>,
}

impl TradeRecord {
    /// Encodes the trade as record `at`.
    pub(crate) fn encode(&self, at: u64) -> [u8; TRADE_BYTES] {
        let TradeRecord { trade, of_symbol, of_maker, of_aggressor, of_maker_order } = self;
        let mut bytes = Fixed::<TRADE_BYTES>::new();
        Put(&mut bytes)
            .u32(trade.symbol.0)
            .u32(trade.maker_account.0)
            .u32(trade.aggressor_account.0)
            .u32(trade.maker_fee.rate().millionths())
            .u32(trade.aggressor_fee.rate().millionths())
            .side(trade.aggressor)
            .i64(trade.price.units())
            .i64(trade.shares.units())
            .u64(trade.time.0)
            .u64(trade.sequence.0)
            .u64(trade.maker_order.0)
            .u64(trade.aggressor_order.0)
            .link(*of_symbol)
            .link(*of_maker)
            .link(*of_aggressor)
            .link(*of_maker_order);
        let mut record = bytes.record();
        seal(at, &mut record);
        record
    }

    /// Decodes the trade in record `at`; none if it is damaged.
    pub(crate) fn decode(at: u64, id: u64, bytes: &[u8; TRADE_BYTES]) -> Option<TradeRecord> {
        let mut take = Take(sound(at, bytes)?);
        let symbol = SymbolIndex(take.u32()?);
        let (maker_account, aggressor_account) = (AccountIndex(take.u32()?), AccountIndex(take.u32()?));
        let (maker_rate, aggressor_rate) = (take_rate(&mut take)?, take_rate(&mut take)?);
        let aggressor = take.side()?;
        let (price, shares, time, sequence) = (take.price()?, take.shares()?, take.time()?, take.sequence()?);
        let (maker_order, aggressor_order) = (OrderId(take.u64()?), OrderId(take.u64()?));
        let (of_symbol, of_maker, of_aggressor, of_maker_order) =
            (take.link()?, take.link()?, take.link()?, take.link()?);
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
            maker_fee: Fee::on(aggressor.opposite(), maker_rate),
            aggressor_fee: Fee::on(aggressor, aggressor_rate),
        };
        // Chains go backwards from here.
        let links = [of_symbol, of_maker, of_aggressor, of_maker_order];
        let goes_back = links.into_iter().flatten().all(|before| before < id);
        goes_back.then_some(TradeRecord { trade, of_symbol, of_maker, of_aggressor, of_maker_order })
    }
}

fn take_rate(take: &mut Take<'_>) -> Option<FeeRate> {
    FeeRate::from_millionths(take.u32()?)
}

/// A candle, with the link to the one before it.
pub(crate) struct CandleRecord {
    pub(crate) candle: Candle,
    pub(crate) before: Option<u64>,
}

impl CandleRecord {
    /// Encodes the candle as record `at`.
    pub(crate) fn encode(&self, at: u64) -> [u8; CANDLE_BYTES] {
        let mut bytes = Fixed::<CANDLE_BYTES>::new();
        put_candle(&mut Put(&mut bytes), &self.candle);
        Put(&mut bytes).link(self.before);
        let mut record = bytes.record();
        seal(at, &mut record);
        record
    }

    /// Decodes the candle in record `at`; none if it is damaged.
    pub(crate) fn decode(at: u64, bytes: &[u8; CANDLE_BYTES]) -> Option<CandleRecord> {
        let mut take = Take(sound(at, bytes)?);
        let (candle, before) = (take_candle(&mut take)?, take.link()?);
        // The chain goes backwards from here: links count from 1.
        before.is_none_or(|before| before <= at).then_some(CandleRecord { candle, before })
    }
}

pub(crate) fn put_candle<B: Bytes>(put: &mut Put<'_, B>, candle: &Candle) {
    put.u64(candle.start.0);
    for price in [candle.open, candle.high, candle.low, candle.close] {
        put.i64(price.units());
    }
    put.i128(candle.volume.units()).i128(candle.money.units()).u64(candle.trades);
}

pub(crate) fn take_candle(take: &mut Take<'_>) -> Option<Candle> {
    let start = take.time()?;
    let (open, high, low, close) = (take.price()?, take.price()?, take.price()?, take.price()?);
    Some(Candle {
        start,
        open,
        high,
        low,
        close,
        volume: take.position()?,
        money: take.turnover()?,
        trades: take.u64()?,
    })
}
