//! Notes: events of an order besides its placing, its executions and its ending, as records of one size. They are
//! written once and never changed. An order has a chain of notes, newest first, and so has an account. An order without
//! notes costs no byte for them.

use terms::{
    AccountIndex, CancelReason, OrderId, OrderKind, Position, Price, Sequence, Shares, Side, SymbolIndex, Time, Trigger,
};

use crate::codec::{Put, SUM_BYTES, Take, seal, sound};
use crate::columns::{Field, How};
use crate::error::HistoryError;
use crate::sealed::Newest;
use crate::table::{Kind, Table};

/// The most notes that a question reads, so that an order with endless amendments delays nobody.
pub(crate) const NOTES_MAX: usize = 20_000;

pub(crate) const NOTE_BYTES: usize = 76;

const TIME_AT: usize = 16;
const SEQUENCE_AT: usize = 24;
const KIND_AT: usize = 68;
const SUM_AT: usize = NOTE_BYTES - SUM_BYTES;

/// The numbers of the kinds.
const TRIGGERED: u8 = 1;
/// A note without a report: shares were taken off an order.
const REDUCED: u8 = 2;
/// A link: another order cancels this one, or the other way round.
const LINKED: u8 = 3;
/// A note without a report: the trade of an order before one in which it was the aggressor, in an auction or by a later
/// command.
const AUCTION: u8 = 4;
/// An amendment: shares were taken off an order, or it got other terms, as its note before says, which is *reduced* or
/// *terms*.
const AMENDED: u8 = 5;
/// An amendment of an order for which damage hides the shares that were taken off it before.
const AMENDED_BEHIND_DAMAGE: u8 = 6;
/// A note without a report: an order has another number of shares.
const RESIZED: u8 = 7;
/// A note without a report: the terms of an order from then on. One more stands before the ending of an amended order.
const TERMS: u8 = 8;
/// A pending order, and its release after its working order executed.
const PENDS: u8 = 34;
const RELEASED: u8 = 35;
/// A note without a report: it links to the trades of a done order, whose ending links to its notes, and has the shares
/// taken off it.
const LAST_TRADE: u8 = 128;
/// A `LAST_TRADE` of an order for which damage hides the shares taken off it.
const LAST_TRADE_BEHIND_DAMAGE: u8 = 129;

/// The bits of *terms*: whether the order kept its place, whether it waits for its trigger, and whether a note
/// *resized* stands directly before.
const KEEPS_PLACE: u8 = 1;
const WAITS: u8 = 2;
const IS_RESIZED: u8 = 4;

/// The table of notes. Links are their numbers, from 1.
pub(crate) const NOTES: Kind<NOTE_BYTES> = Kind {
    stem: "notes",
    single: false,
    seed: 0x006e_6f74_6573,
    fields: &FIELDS,
    strip,
    restore: |at, record| seal(at, record),
};

const FIELDS: [Field; 13] = [
    // Order, account, symbol.
    Field(0, 8, How::Value),
    Field(8, 4, How::Value),
    Field(12, 4, How::Value),
    // Time, sequence, value, the next trade.
    Field(TIME_AT, 8, How::Value),
    Field(SEQUENCE_AT, 8, How::Value),
    Field(32, 8, How::Value),
    Field(40, 8, How::Value),
    // The links to the notes before.
    Field(48, 8, How::Link),
    Field(56, 8, How::Link),
    // The place in its command, the kind, the side, the reason or the kind of the order and the bits of its terms.
    Field(64, 4, How::Value),
    Field(KIND_AT, 1, How::Value),
    Field(69, 1, How::Value),
    Field(70, 2, How::Value),
];

/// An event of an order that neither executed nor ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    pub order: OrderId,
    pub account: AccountIndex,
    pub symbol: SymbolIndex,
    pub side: Side,
    pub what: Noted,
    pub time: Time,
    /// The command that caused it.
    pub sequence: Sequence,
    /// The number of the next trade, past or future.
    pub next_trade: u64,
    /// The number of notes that its command had made before.
    pub place: u32,
}

/// The events that are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// An execution reached the trigger: the order is active from now on.
    Triggered(Trigger),
    /// The order is linked with this one.
    Linked(OrderId),
    /// The order waits until this working order has executed completely.
    Pends(OrderId),
    /// The working order has executed, so the order was placed.
    Released,
}

/// The orders related to an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relatives {
    /// The partner: the first event of either canceled the other.
    pub linked: Option<OrderId>,
    /// The working order for which it waited.
    pub pended: Option<OrderId>,
}

/// The record of a note, with the links to the notes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoteRecord {
    pub(crate) tells: Tells,
    /// The note before, of the same order.
    pub(crate) of_order: Option<u64>,
    /// The note before, of the same account.
    pub(crate) of_account: Option<u64>,
}

/// The content of a note's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tells {
    What(Note),
    /// Shares were taken off an order.
    Reduced(Reduction),
    /// An order has another number of shares.
    Resized(Resizing),
    /// The terms of an order from then on.
    Terms(TermsNote),
    /// The reduction or the terms before it are a report of its account.
    Amended(Amendment),
    /// The trade before one in which an order was the aggressor in an auction, or went on by a later command.
    Auction(AuctionLink),
    /// The last trade of a done order.
    LastTrade {
        order: OrderId,
        account: AccountIndex,
        time: Time,
        sequence: Sequence,
        trade: Option<u64>,
        /// All shares taken off the order, less those that it got; none if damage hides some of them.
        reduced: Option<Position>,
    },
}

/// Shares that were taken off an order, which stayed open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reduction {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) time: Time,
    pub(crate) sequence: Sequence,
    pub(crate) shares: Shares,
    pub(crate) why: CancelReason,
    /// The newest note of the order's terms, or another one behind which it is; none if it has them from its placing.
    pub(crate) terms: Option<u64>,
}

/// Another number of shares of an order, executed ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resizing {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) time: Time,
    pub(crate) sequence: Sequence,
    /// The shares before; none if damage hides them.
    pub(crate) before: Option<Shares>,
    pub(crate) after: Shares,
}

/// The terms of an order besides its shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TermsNote {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) time: Time,
    pub(crate) sequence: Sequence,
    pub(crate) terms: PastTerms,
    pub(crate) keeps_place: bool,
    /// Whether the note directly before has the shares.
    pub(crate) is_resized: bool,
}

/// Terms that an order had from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PastTerms {
    pub(crate) kind: OrderKind,
    pub(crate) limit: Price,
    /// The trigger for which it waits; or waited, if it kept its place since.
    pub(crate) trigger: Option<Trigger>,
    /// Whether it waits for the trigger.
    pub(crate) waits: bool,
}

/// The report of a reduction or of other terms, which are in the note before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amendment {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) time: Time,
    pub(crate) sequence: Sequence,
    /// All shares taken off the order up to then, including this reduction, less those that it got; none if damage
    /// hides some of them.
    pub(crate) all: Option<Position>,
    /// The number of the next trade, and then the place, as in a note.
    pub(crate) next_trade: u64,
    pub(crate) place: u32,
}

/// The link between trades of an order: `before` is the one before `trade`, in which it was the aggressor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AuctionLink {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) time: Time,
    pub(crate) sequence: Sequence,
    pub(crate) trade: u64,
    pub(crate) before: u64,
}

/// The reason why a note's record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    Damaged,
    /// The record is sound, but only a newer version of the program knows its kind.
    UnknownKind(u8),
}

impl Unread {
    /// The error for record `at`.
    pub(crate) fn at(self, table: &Table<NOTE_BYTES>, at: u64) -> HistoryError {
        match self {
            Unread::Damaged => table.damaged(at),
            Unread::UnknownKind(kind) => table.unknown(at, "a note", kind),
        }
    }
}

impl NoteRecord {
    pub(crate) fn order(&self) -> OrderId {
        match self.tells {
            Tells::What(Note { order, .. })
            | Tells::Reduced(Reduction { order, .. })
            | Tells::Resized(Resizing { order, .. })
            | Tells::Terms(TermsNote { order, .. })
            | Tells::Amended(Amendment { order, .. })
            | Tells::Auction(AuctionLink { order, .. })
            | Tells::LastTrade { order, .. } => order,
        }
    }

    /// The command that wrote the note.
    pub(crate) fn sequence(&self) -> Sequence {
        match self.tells {
            Tells::What(Note { sequence, .. })
            | Tells::Reduced(Reduction { sequence, .. })
            | Tells::Resized(Resizing { sequence, .. })
            | Tells::Terms(TermsNote { sequence, .. })
            | Tells::Amended(Amendment { sequence, .. })
            | Tells::Auction(AuctionLink { sequence, .. })
            | Tells::LastTrade { sequence, .. } => sequence,
        }
    }

    /// Encodes the note as record `at`.
    pub(crate) fn encode(&self, at: u64) -> [u8; NOTE_BYTES] {
        let mut bytes = Vec::with_capacity(NOTE_BYTES);
        let put = &mut Put(&mut bytes);
        match self.tells {
            Tells::What(note) => {
                let (kind, value) = match note.what {
                    Noted::Triggered(trigger) => (TRIGGERED, Trigger::code(Some(trigger))),
                    Noted::Linked(partner) => (LINKED, partner.0.cast_signed()),
                    Noted::Pends(working) => (PENDS, working.0.cast_signed()),
                    Noted::Released => (RELEASED, 0),
                };
                put.u64(note.order.0).u32(note.account.0).u32(note.symbol.0).u64(note.time.0).u64(note.sequence.0);
                put.i64(value).u64(note.next_trade).link(self.of_order).link(self.of_account).u32(note.place);
                put.u8(kind).side(note.side);
            }
            Tells::Reduced(Reduction { order, account, symbol, time, sequence, shares, why, terms }) => {
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                put.i64(shares.units()).link(terms).link(self.of_order).link(self.of_account).u32(0);
                put.u8(REDUCED).u8(0).u8(why.code());
            }
            Tells::Resized(Resizing { order, account, symbol, time, sequence, before, after }) => {
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                put.i64(after.units()).i64(before.map_or(0, Shares::units));
                put.link(self.of_order).link(self.of_account).u32(0).u8(RESIZED);
            }
            Tells::Terms(TermsNote { order, account, symbol, time, sequence, terms, keeps_place, is_resized }) => {
                let PastTerms { kind, limit, trigger, waits } = terms;
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                put.i64(limit.units()).i64(Trigger::code(trigger));
                put.link(self.of_order).link(self.of_account).u32(0).u8(TERMS).u8(0).u8(kind.code());
                let bits = [(keeps_place, KEEPS_PLACE), (waits, WAITS), (is_resized, IS_RESIZED)];
                put.u8(bits.into_iter().filter(|(is_set, _)| *is_set).fold(0, |bits, (_, bit)| bits | bit));
            }
            Tells::Amended(Amendment { order, account, symbol, time, sequence, all, next_trade, place }) => {
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                let all = units(all);
                put.i64(all.unwrap_or(0)).u64(next_trade).link(self.of_order).link(self.of_account).u32(place);
                put.u8(if all.is_some() { AMENDED } else { AMENDED_BEHIND_DAMAGE });
            }
            Tells::Auction(AuctionLink { order, account, symbol, time, sequence, trade, before }) => {
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                put.u64(trade).u64(before).link(self.of_order).link(self.of_account).u32(0);
                put.u8(AUCTION);
            }
            Tells::LastTrade { order, account, time, sequence, trade, reduced } => {
                put.u64(order.0).u32(account.0).u32(0).u64(time.0).u64(sequence.0);
                let reduced = units(reduced);
                put.link(trade).i64(reduced.unwrap_or(0)).link(self.of_order).link(self.of_account).u32(0);
                put.u8(if reduced.is_some() { LAST_TRADE } else { LAST_TRADE_BEHIND_DAMAGE });
            }
        }
        let mut record = [0; NOTE_BYTES];
        record[..bytes.len()].copy_from_slice(&bytes);
        seal(at, &mut record);
        record
    }

    /// Decodes record `at`.
    pub(crate) fn decode(at: u64, record: &[u8; NOTE_BYTES]) -> Result<NoteRecord, Unread> {
        let bytes = sound(at, record).ok_or(Unread::Damaged)?;
        let kind = bytes[KIND_AT];
        match kind {
            TRIGGERED
            | REDUCED
            | LINKED
            | PENDS
            | RELEASED
            | AUCTION
            | AMENDED
            | AMENDED_BEHIND_DAMAGE
            | RESIZED
            | TERMS
            | LAST_TRADE
            | LAST_TRADE_BEHIND_DAMAGE => take(at, kind, bytes).ok_or(Unread::Damaged),
            _ => Err(Unread::UnknownKind(kind)),
        }
    }
}

/// A sum of shares as it is written; none for one that damage hides.
fn units(sum: Option<Position>) -> Option<i64> {
    sum.and_then(|sum| i64::try_from(sum.units()).ok())
}

/// Reads a sum of shares.
fn sum_of(units: u64) -> Position {
    Position::from_units(units.cast_signed().into())
}

/// Reads a number of shares.
fn shares_of(units: u64) -> Option<Shares> {
    Shares::from_units(units.cast_signed())
}

fn take(at: u64, kind: u8, bytes: &[u8]) -> Option<NoteRecord> {
    let mut take = Take(bytes);
    let (order, account, symbol) = (OrderId(take.u64()?), AccountIndex(take.u32()?), SymbolIndex(take.u32()?));
    let (time, sequence, value, next_trade) = (take.time()?, take.sequence()?, take.u64()?, take.u64()?);
    let (of_order, of_account, place) = (take.link()?, take.link()?, take.u32()?);
    let tells = match kind {
        LAST_TRADE | LAST_TRADE_BEHIND_DAMAGE => {
            let reduced = (kind == LAST_TRADE).then(|| sum_of(next_trade));
            Tells::LastTrade { order, account, time, sequence, trade: (value > 0).then_some(value), reduced }
        }
        AUCTION => {
            let (trade, before) = (value, next_trade);
            let goes_back = before > 0 && before < trade;
            goes_back.then_some(())?;
            Tells::Auction(AuctionLink { order, account, symbol, time, sequence, trade, before })
        }
        AMENDED | AMENDED_BEHIND_DAMAGE => {
            let all = (kind == AMENDED).then(|| sum_of(value));
            Tells::Amended(Amendment { order, account, symbol, time, sequence, all, next_trade, place })
        }
        REDUCED => {
            let (shares, terms) = (shares_of(value)?, (next_trade > 0).then_some(next_trade));
            let why = CancelReason::from_code(*take.0.get(2)?)?;
            Tells::Reduced(Reduction { order, account, symbol, time, sequence, shares, why, terms })
        }
        RESIZED => {
            let (before, after) = (Some(shares_of(next_trade)?).filter(|before| !before.is_zero()), shares_of(value)?);
            Tells::Resized(Resizing { order, account, symbol, time, sequence, before, after })
        }
        TERMS => {
            let (kind, bits) = (OrderKind::from_code(*take.0.get(2)?)?, *take.0.get(3)?);
            let (limit, trigger) =
                (Price::from_units(value.cast_signed())?, Trigger::from_code(next_trade.cast_signed()));
            let [keeps_place, waits, is_resized] = [KEEPS_PLACE, WAITS, IS_RESIZED].map(|bit| bits & bit != 0);
            let terms = PastTerms { kind, limit, trigger, waits };
            Tells::Terms(TermsNote { order, account, symbol, time, sequence, terms, keeps_place, is_resized })
        }
        _ => {
            take.u8()?;
            let side = take.side()?;
            let what = match kind {
                LINKED => Noted::Linked(OrderId(value)),
                PENDS => Noted::Pends(OrderId(value)),
                RELEASED => Noted::Released,
                _ => Noted::Triggered(Trigger::from_code(value as i64)?),
            };
            Tells::What(Note { order, account, symbol, side, what, time, sequence, next_trade, place })
        }
    };
    // Chains go backwards from here: links count from 1.
    let goes_back = [of_order, of_account].into_iter().flatten().all(|before| before <= at);
    goes_back.then_some(NoteRecord { tells, of_order, of_account })
}

/// Removes the checksum. An unknown kind is sealed as it is.
fn strip(at: u64, record: &mut [u8; NOTE_BYTES], _: Sequence) -> Option<(Newest, bool)> {
    let bytes = sound(at, record)?;
    let (time, sequence) = (Take(&bytes[TIME_AT..]).time()?, Take(&bytes[SEQUENCE_AT..]).sequence()?);
    record[SUM_AT..].fill(0);
    Some((Newest { time, sequence }, false))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use terms::Price;

    use super::*;

    fn triggered() -> NoteRecord {
        let note = Note {
            order: OrderId(7),
            account: AccountIndex(3),
            symbol: SymbolIndex(2),
            side: Side::Sell,
            what: Noted::Triggered(Trigger::from_above(Price::from_units(5).unwrap())),
            time: Time(11),
            sequence: Sequence(9),
            next_trade: 4,
            place: 1,
        };
        NoteRecord { tells: Tells::What(note), of_order: Some(1), of_account: Some(2) }
    }

    /// Notes of the terms and of the number of shares of an order.
    fn of_terms() -> Vec<NoteRecord> {
        let (order, account, symbol) = (OrderId(7), AccountIndex(3), SymbolIndex(2));
        let (time, sequence, limit) = (Time(12), Sequence(10), Price::from_units(5).unwrap());
        let mut tells = Vec::new();
        for before in [None, Shares::from_units(3)] {
            let after = Shares::from_units(9).unwrap();
            tells.push(Tells::Resized(Resizing { order, account, symbol, time, sequence, before, after }));
        }
        for (kind, trigger) in
            OrderKind::ALL.into_iter().zip([None, Some(Trigger::from_above(limit))].into_iter().cycle())
        {
            for bits in 0..8 {
                let [keeps_place, waits, is_resized] = [1, 2, 4].map(|bit| bits & bit != 0);
                let terms = PastTerms { kind, limit, trigger, waits };
                let note = TermsNote { order, account, symbol, time, sequence, terms, keeps_place, is_resized };
                tells.push(Tells::Terms(note));
            }
        }
        tells.into_iter().map(|tells| NoteRecord { tells, of_order: Some(2), of_account: None }).collect()
    }

    #[test]
    fn a_note_is_read_as_it_was_written_in_its_own_place_alone() {
        let (order, account, time, sequence) = (OrderId(7), AccountIndex(3), Time(12), Sequence(10));
        let last_trade = NoteRecord {
            tells: Tells::LastTrade {
                order,
                account,
                time,
                sequence,
                trade: Some(5),
                reduced: Some(Position::from_units(8)),
            },
            of_order: Some(2),
            of_account: None,
        };
        let reduction = Reduction {
            order,
            account,
            symbol: SymbolIndex(2),
            time,
            sequence,
            shares: Shares::from_units(9).unwrap(),
            why: CancelReason::SelfTrade,
            terms: None,
        };
        let behind_terms = Tells::Reduced(Reduction { terms: Some(1), ..reduction });
        let behind_terms = NoteRecord { tells: behind_terms, of_order: Some(2), of_account: None };
        let reduced = NoteRecord { tells: Tells::Reduced(reduction), of_order: Some(2), of_account: None };
        let mut linked = triggered();
        if let Tells::What(note) = &mut linked.tells {
            note.what = Noted::Linked(OrderId(8));
        }
        let [mut pends, mut released] = [triggered(), triggered()];
        for (record, what) in [(&mut pends, Noted::Pends(OrderId(6))), (&mut released, Noted::Released)] {
            if let Tells::What(note) = &mut record.tells {
                note.what = what;
            }
        }
        let link = AuctionLink { order, account, symbol: SymbolIndex(2), time, sequence, trade: 9, before: 4 };
        let auction = NoteRecord { tells: Tells::Auction(link), of_order: Some(2), of_account: None };
        let all = Some(Position::from_units(9));
        let symbol = SymbolIndex(2);
        let amendment = Amendment { order, account, symbol, time, sequence, all, next_trade: 4, place: 1 };
        let amended = NoteRecord { tells: Tells::Amended(amendment), of_order: Some(2), of_account: Some(1) };
        let hidden = Tells::LastTrade { order, account, time, sequence, trade: None, reduced: None };
        let last_behind_damage = NoteRecord { tells: hidden, ..last_trade };
        let hidden = Tells::Amended(Amendment { all: None, ..amendment });
        let behind_damage = [last_behind_damage, NoteRecord { tells: hidden, ..amended }];
        let more = Tells::Amended(Amendment { all: Some(Position::from_units(-9)), ..amendment });
        let more = NoteRecord { tells: more, ..amended };
        let others = [triggered(), last_trade, reduced, linked, pends, released, auction, amended, more, behind_terms];
        for written in others.into_iter().chain(behind_damage).chain(of_terms()) {
            let record = written.encode(2);
            assert_eq!(NoteRecord::decode(2, &record), Ok(written));
            assert_eq!(NoteRecord::decode(3, &record), Err(Unread::Damaged));
            for bit in 0..NOTE_BYTES * 8 {
                let mut flipped = record;
                flipped[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(NoteRecord::decode(2, &flipped), Err(Unread::Damaged), "bit {bit}");
            }
        }
    }

    #[test]
    fn a_kind_that_is_not_known_is_named_and_sealed_as_it_is() {
        let mut record = triggered().encode(2);
        record[KIND_AT] = 77;
        seal(2, &mut record);
        assert_eq!(NoteRecord::decode(2, &record), Err(Unread::UnknownKind(77)));
        let mut stripped = record;
        let newest = Newest { time: Time(11), sequence: Sequence(9) };
        assert_eq!(strip(2, &mut stripped, Sequence(0)), Some((newest, false)));
        (NOTES.restore)(2, &mut stripped);
        assert_eq!(stripped, record);
    }
}
