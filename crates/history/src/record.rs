//! Records of an order, a trade and a candle as bytes. Each record links to the one before it in each of its chains.
//! Its checksum is seeded with its number, so it detects both a changed bit and another record in its place. In a
//! sealed part the blocks have the checksums: records are written without theirs, and get them back when they are read.

use engine::{
    AccountIndex, CLIENT_ORDER_ID_BYTES_MAX, ClientOrderId, Fee, FeeRate, NewOrder, OrderId, OrderKind, Price,
    SelfTrade, Sequence, Shares, Side, SymbolIndex, Time, Trigger,
};

use crate::candle::Candle;
use crate::codec::{Bytes, Fixed, Put, SUM_BYTES, Take, seal, sound, sum};
use crate::columns::{Field, How};
use crate::ending::{self, Ending, Last};
use crate::packed_id::{PACKED_BYTES, pack, unpack};
use crate::sealed::Newest;
use crate::table::Kind;
use crate::trade::Trade;

pub(crate) const ORDER_BYTES: usize = 152;
pub(crate) const TRADE_BYTES: usize = 96;
pub(crate) const CANDLE_BYTES: usize = 92;

/// The offset of the client order id in an order's record: its length, and then its characters.
const CLIENT_ID_AT: usize = 49;
/// The offset of the trigger in the record of an order with one: it stands behind the length, and then comes the packed
/// client order id.
const TRIGGER_AT: usize = CLIENT_ID_AT + 1;
const PACKED_ID_AT: usize = TRIGGER_AT + 8;
const SIDE_AT: usize = CLIENT_ID_AT - 1;
/// The offset of the self-trade mode, behind the room of the client order id.
const SELF_TRADE_AT: usize = 87;
/// The offset of the checksum of the order as placed, which stands before it.
const PLACED_SUM_AT: usize = 88;
/// The offset of the ending, which is all zero while the order is open. It has a checksum of its own, because it is
/// written in place: the bytes before it may be damaged by then, and writing the ending must not make them seem sound.
const ENDING_AT: usize = PLACED_SUM_AT + SUM_BYTES;
const ENDING_BYTES: usize = ORDER_BYTES - ENDING_AT;
/// The length of the order as placed, with its checksum.
pub(crate) const PLACED_BYTES: usize = ENDING_AT;
const _: () = assert!(CLIENT_ID_AT + 1 + CLIENT_ORDER_ID_BYTES_MAX <= PLACED_SUM_AT, "a client order id has its room");
const _: () = assert!(CLIENT_ID_AT + CLIENT_ORDER_ID_BYTES_MAX < SELF_TRADE_AT, "and it does not reach the mode");
const _: () = assert!(PACKED_ID_AT + PACKED_BYTES <= SELF_TRADE_AT, "nor does a trigger with a packed one");
/// The flag, in the first byte of an ending beside the reason, that its link is a note and not its last trade.
const LINKS_TO_NOTE: u8 = 0x80;
/// The offset and the bytes that make an order's record open again.
pub(crate) const NOT_ENDED: (usize, [u8; ENDING_BYTES]) = (ENDING_AT, [0; ENDING_BYTES]);
/// The offset, in a trade's record, of the aggressor's side, in the highest bit, with the checksum of the whole record.
const TRADE_SUM_AT: usize = 12;
const SELL: u32 = 1 << 31;
/// The offsets of times and of commands.
const PLACED_TIME_AT: usize = 24;
const PLACED_SEQUENCE_AT: usize = 32;
const ENDED_TIME_AT: usize = ENDING_AT + 32;
const ENDED_SEQUENCE_AT: usize = ENDING_AT + 40;
const TRADE_TIME_AT: usize = 32;
const TRADE_SEQUENCE_AT: usize = 40;
/// The bits of a trade's sequence, its orders and a link. The ten bits above them hold half of a fee's rate.
const NUMBER_BITS: u32 = 54;
const RATE_BITS: u32 = u64::BITS - NUMBER_BITS;
const NUMBER_MASK: u64 = (1 << NUMBER_BITS) - 1;
const _: () = assert!(FeeRate::MAX_MILLIONTHS < 1 << (2 * RATE_BITS), "a rate fits two of them");

/// The table of orders. Links are ids of orders.
pub(crate) const ORDERS: Kind<ORDER_BYTES> = Kind {
    stem: "orders-4",
    single: false,
    seed: 0x6f72_6465_7273,
    fields: &ORDER_FIELDS,
    strip: strip_order,
    restore: restore_order,
};
/// The table of trades. Links are numbers of trades.
pub(crate) const TRADES: Kind<TRADE_BYTES> = Kind {
    stem: "trades-4",
    single: false,
    seed: 0x7472_6164_6573,
    fields: &TRADE_FIELDS,
    strip: strip_trade,
    restore: seal_trade,
};
/// The table of candles, which are kept for ever and never sealed.
pub(crate) const CANDLES: Kind<CANDLE_BYTES> =
    Kind { stem: "candles-3", single: true, seed: 0, fields: &[], strip: |_, _, _| None, restore: |_, _| {} };

const ORDER_FIELDS: [Field; 17 + CLIENT_ORDER_ID_BYTES_MAX] = order_fields();

const fn order_fields() -> [Field; 17 + CLIENT_ORDER_ID_BYTES_MAX] {
    let mut fields = [Field(0, 4, How::Value); 17 + CLIENT_ORDER_ID_BYTES_MAX];
    // Account, symbol, limit, shares, time, sequence, the account's order before, side and kind, the length of the
    // client order id.
    fields[1] = Field(4, 4, How::Value);
    fields[2] = Field(8, 8, How::Value);
    fields[3] = Field(16, 8, How::Value);
    fields[4] = Field(PLACED_TIME_AT, 8, How::Value);
    fields[5] = Field(PLACED_SEQUENCE_AT, 8, How::Value);
    fields[6] = Field(40, 8, How::Link);
    fields[7] = Field(48, 1, How::Value);
    fields[8] = Field(CLIENT_ID_AT, 1, How::Value);
    fields[9] = Field(CLIENT_ID_AT + 1 + CLIENT_ORDER_ID_BYTES_MAX, 2, How::Value);
    // The ending: done, the order canceled before, canceled shares, money, time, sequence, the last trade.
    fields[10] = Field(ENDING_AT, 1, How::Value);
    fields[11] = Field(ENDING_AT + 1, 7, How::Link);
    fields[12] = Field(ENDING_AT + 8, 8, How::Value);
    fields[13] = Field(ENDING_AT + 16, 16, How::Value);
    fields[14] = Field(ENDED_TIME_AT, 8, How::From(PLACED_TIME_AT));
    fields[15] = Field(ENDED_SEQUENCE_AT, 8, How::From(PLACED_SEQUENCE_AT));
    fields[16] = Field(ENDING_AT + 48, 8, How::Value);
    let mut at = 0;
    while at < CLIENT_ORDER_ID_BYTES_MAX {
        fields[17 + at] = Field(CLIENT_ID_AT + 1 + at, 1, How::Value);
        at += 1;
    }
    fields
}

const TRADE_FIELDS: [Field; 14] = [
    // Symbol, the accounts, the side without its checksum.
    Field(0, 4, How::Value),
    Field(4, 4, How::Value),
    Field(8, 4, How::Value),
    Field(TRADE_SUM_AT, 4, How::Value),
    // Price, shares, time, sequence.
    Field(16, 8, How::Value),
    Field(24, 8, How::Value),
    Field(TRADE_TIME_AT, 8, How::Value),
    Field(TRADE_SEQUENCE_AT, 8, How::Value),
    // The aggressor's order, and the maker's, which is older.
    Field(56, 8, How::Value),
    Field(48, 8, How::From(56)),
    // The links to the trades before.
    Field(64, 8, How::Link),
    Field(72, 8, How::Link),
    Field(80, 8, How::Link),
    Field(88, 8, How::Link),
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

/// Whether the record of a trade, of this format or the one before, is sound.
pub(crate) fn is_sound_trade(at: u64, record: &[u8]) -> bool {
    let mut unsealed = record.to_vec();
    let sealed = number(record, TRADE_SUM_AT) as u32;
    unsealed[TRADE_SUM_AT..][..SUM_BYTES].copy_from_slice(&(sealed & SELL).to_le_bytes());
    sum(at, &unsealed) & !SELL == sealed & !SELL
}

/// Writes the checksum of a trade's record.
pub(crate) fn seal_trade(at: u64, record: &mut [u8; TRADE_BYTES]) {
    let side = number(record, TRADE_SUM_AT) as u32 & SELL;
    record[TRADE_SUM_AT..][..SUM_BYTES].copy_from_slice(&side.to_le_bytes());
    let sealed = side | (sum(at, record) & !SELL);
    record[TRADE_SUM_AT..][..SUM_BYTES].copy_from_slice(&sealed.to_le_bytes());
}

/// The command that ended an order; none if it is open or its ending is damaged.
pub(crate) fn ended_by(at: u64, record: &[u8; ORDER_BYTES]) -> Option<Sequence> {
    sound(at, &record[ENDING_AT..]).filter(|_| has_ending(record))?;
    Some(Sequence(number(record, ENDED_SEQUENCE_AT)))
}

/// Whether an ended order ended behind this command.
pub(crate) fn ended_behind(record: &[u8; ORDER_BYTES], through: Sequence) -> bool {
    number(record, ENDED_SEQUENCE_AT) > through.0
}

fn strip_trade(at: u64, record: &mut [u8; TRADE_BYTES], _: Sequence) -> Option<(Newest, bool)> {
    TradeRecord::decode(at, at + 1, record)?;
    let side = number(record, TRADE_SUM_AT) as u32 & SELL;
    record[TRADE_SUM_AT..][..SUM_BYTES].copy_from_slice(&side.to_le_bytes());
    let newest = Newest {
        time: Time(number(record, TRADE_TIME_AT)),
        sequence: Sequence(number(record, TRADE_SEQUENCE_AT) & NUMBER_MASK),
    };
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
    pub shares: Shares,
    pub kind: OrderKind,
    /// The trigger for which it waited.
    pub trigger: Option<Trigger>,
    /// The shares taken off it since it was placed. Its record does not have them.
    pub reduced: Shares,
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
        .side_and_kind(placed.side, placed.kind, placed.trigger.is_some());
    if placed.trigger.is_some() {
        Put(&mut bytes).u8(0).i64(Trigger::code(placed.trigger));
    }
    let mut record = bytes.record();
    record[SELF_TRADE_AT] = placed.self_trade.code();
    seal(at, &mut record[..ENDING_AT]);
    record
}

/// Writes the client order id into the record of an order that was just placed.
pub(crate) fn name(at: u64, record: &mut [u8; ORDER_BYTES], id: ClientOrderId) {
    let text = id.as_bytes();
    record[CLIENT_ID_AT] = text.len() as u8;
    match Take(&record[SIDE_AT..]).side_and_kind() {
        Some((_, _, true)) => record[PACKED_ID_AT..][..PACKED_BYTES].copy_from_slice(&pack(id)),
        Some((_, _, false)) | None => record[CLIENT_ID_AT + 1..][..text.len()].copy_from_slice(text),
    }
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
    let (links_to_note, last) = match last {
        None => (0, None),
        Some(Last::Trade(number)) => (0, Some(number)),
        Some(Last::Note(number)) => (LINKS_TO_NOTE, Some(number)),
    };
    let mut bytes = Fixed::<ENDING_BYTES>::new();
    Put(&mut bytes)
        .u64(u64::from(ending::code_of(ended.why) | links_to_note) | canceled_before.map_or(0, |order| order.0 << 8))
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
    let code = sound(at, &record[ENDING_AT..]).filter(|_| has_ending(record))?[0] & !LINKS_TO_NOTE;
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
            reduced: Shares::ZERO,
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

    /// The present shares of the order, without those taken off.
    pub fn shares_now(&self) -> Shares {
        self.shares.less(self.reduced)
    }

    /// The terms of the order as placed.
    pub fn as_placed(&self) -> NewOrder<SymbolIndex> {
        let PastOrder { symbol, side, limit, shares, kind, trigger, self_trade, .. } = *self;
        NewOrder { symbol, side, limit, shares, kind, trigger, self_trade }
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
        let (side, kind, has_trigger) = take.side_and_kind()?;
        let length = usize::from(take.u8()?);
        let trigger = if has_trigger { Some(Trigger::from_code(take.u64()? as i64)?) } else { None };
        let client_id = match (length, has_trigger) {
            (0, _) => None,
            (length, false) => Some(ClientOrderId::parse(take.0.get(..length)?).ok()?),
            (length, true) => Some(unpack(length, take.0.first_chunk()?)?),
        };
        let (ended, canceled_before, last) = if has_ending(bytes) {
            let mut take = Take(sound(at, ending)?);
            let done = take.u64()?;
            let (canceled, money) = (take.shares()?, take.money()?);
            let (time, sequence) = (take.time()?, take.sequence()?);
            let why = ending::from_code(done as u8 & !LINKS_TO_NOTE)?;
            let last = if done as u8 & LINKS_TO_NOTE == 0 { Last::Trade } else { Last::Note };
            let ended = Ending { canceled, money, time, sequence, why };
            (Some(ended), (done >> 8 > 0).then_some(OrderId(done >> 8)), take.link()?.map(last))
        } else {
            (None, None, None)
        };
        let self_trade = SelfTrade::from_code(bytes[SELF_TRADE_AT])?;
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
        let side = match trade.aggressor {
            Side::Buy => 0,
            Side::Sell => SELL,
        };
        let (maker_high, maker_low) = halves(trade.maker_fee);
        let (aggressor_high, aggressor_low) = halves(trade.aggressor_fee);
        let mut bytes = Fixed::<TRADE_BYTES>::new();
        Put(&mut bytes)
            .u32(trade.symbol.0)
            .u32(trade.maker_account.0)
            .u32(trade.aggressor_account.0)
            .u32(side)
            .i64(trade.price.units())
            .i64(trade.shares.units())
            .u64(trade.time.0)
            .u64(with_high(trade.sequence.0, maker_high))
            .u64(with_high(trade.maker_order.0, maker_low))
            .u64(with_high(trade.aggressor_order.0, aggressor_high))
            .link(*of_symbol)
            .link(*of_maker)
            .link(*of_aggressor)
            .u64(with_high(of_maker_order.unwrap_or(0), aggressor_low));
        let mut record = bytes.record();
        let sealed = side | (sum(at, &record) & !SELL);
        record[TRADE_SUM_AT..][..SUM_BYTES].copy_from_slice(&sealed.to_le_bytes());
        record
    }

    /// Decodes the trade in record `at`; none if it is damaged.
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
        let (price, shares, time) = (take.price()?, take.shares()?, take.time()?);
        let [(sequence, maker_high), (maker_order, maker_low), (aggressor_order, aggressor_high)] =
            [take.u64()?, take.u64()?, take.u64()?].map(without_high);
        let (of_symbol, of_maker, of_aggressor) = (take.link()?, take.link()?, take.link()?);
        let (of_maker_order, aggressor_low) = without_high(take.u64()?);
        let of_maker_order = (of_maker_order > 0).then_some(of_maker_order);
        let trade = Trade {
            id,
            symbol,
            price,
            shares,
            time,
            sequence: Sequence(sequence),
            aggressor,
            maker_order: OrderId(maker_order),
            aggressor_order: OrderId(aggressor_order),
            maker_account,
            aggressor_account,
            maker_fee: fee(aggressor.opposite(), maker_high, maker_low)?,
            aggressor_fee: fee(aggressor, aggressor_high, aggressor_low)?,
        };
        // Chains go backwards from here.
        let links = [of_symbol, of_maker, of_aggressor, of_maker_order];
        let goes_back = links.into_iter().flatten().all(|before| before < id);
        goes_back.then_some(TradeRecord { trade, of_symbol, of_maker, of_aggressor, of_maker_order })
    }
}

/// The higher and the lower half of a fee's rate.
fn halves(fee: Fee) -> (u64, u64) {
    let rate = u64::from(fee.rate().millionths());
    (rate >> RATE_BITS, rate & ((1 << RATE_BITS) - 1))
}

fn fee(side: Side, high: u64, low: u64) -> Option<Fee> {
    let millionths = u32::try_from((high << RATE_BITS) | low).ok()?;
    Some(Fee::on(side, FeeRate::from_millionths(millionths)?))
}

/// Puts half of a rate above a number.
fn with_high(number: u64, half: u64) -> u64 {
    assert!(number <= NUMBER_MASK, "invariant: there are fewer than 2^54 commands");
    number | (half << NUMBER_BITS)
}

fn without_high(number: u64) -> (u64, u64) {
    (number & NUMBER_MASK, number >> NUMBER_BITS)
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
