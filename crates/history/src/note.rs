//! Notes: events of an order besides its placing, its executions and its ending, as records of one size. They are
//! written once and never changed. An order has a chain of notes, newest first, and so has an account. An order without
//! notes costs no byte for them.

use terms::{AccountIndex, CancelReason, OrderId, Sequence, Shares, Side, SymbolIndex, Time, Trigger};

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
/// An amendment: shares were taken off an order, as its note before says, which is *reduced*.
const AMENDED: u8 = 5;
/// An amendment of an order for which damage hides the shares that were taken off it before.
const AMENDED_BEHIND_DAMAGE: u8 = 6;
/// A pending order, and its release after its working order executed.
const PENDS: u8 = 34;
const RELEASED: u8 = 35;
/// A note without a report: it links to the trades of a done order, whose ending links to its notes, and has the shares
/// taken off it.
const LAST_TRADE: u8 = 128;
/// A `LAST_TRADE` of an order for which damage hides the shares taken off it.
const LAST_TRADE_BEHIND_DAMAGE: u8 = 129;

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
    // The place in its command, the kind, the side, the reason.
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
    /// The reduction before it is a report of its account.
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
        /// All shares taken off the order; none if damage hides some of them.
        reduced: Option<Shares>,
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
}

/// The report of a reduction. The note before it has the shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Amendment {
    pub(crate) order: OrderId,
    pub(crate) account: AccountIndex,
    pub(crate) symbol: SymbolIndex,
    pub(crate) time: Time,
    pub(crate) sequence: Sequence,
    /// All shares taken off the order up to then, including this reduction; none if damage hides some of them.
    pub(crate) all: Option<Shares>,
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
            Tells::Reduced(Reduction { order, account, symbol, time, sequence, shares, why }) => {
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                put.i64(shares.units()).u64(0).link(self.of_order).link(self.of_account).u32(0);
                put.u8(REDUCED).u8(0).u8(why.code());
            }
            Tells::Amended(Amendment { order, account, symbol, time, sequence, all, next_trade, place }) => {
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                put.i64(units(all)).u64(next_trade).link(self.of_order).link(self.of_account).u32(place);
                put.u8(if all.is_some() { AMENDED } else { AMENDED_BEHIND_DAMAGE });
            }
            Tells::Auction(AuctionLink { order, account, symbol, time, sequence, trade, before }) => {
                put.u64(order.0).u32(account.0).u32(symbol.0).u64(time.0).u64(sequence.0);
                put.u64(trade).u64(before).link(self.of_order).link(self.of_account).u32(0);
                put.u8(AUCTION);
            }
            Tells::LastTrade { order, account, time, sequence, trade, reduced } => {
                put.u64(order.0).u32(account.0).u32(0).u64(time.0).u64(sequence.0);
                put.link(trade).i64(units(reduced)).link(self.of_order).link(self.of_account).u32(0);
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
            | LAST_TRADE
            | LAST_TRADE_BEHIND_DAMAGE => take(at, kind, bytes).ok_or(Unread::Damaged),
            _ => Err(Unread::UnknownKind(kind)),
        }
    }
}

/// A sum of shares as it is written: 0 for one that damage hides.
fn units(sum: Option<Shares>) -> i64 {
    sum.map_or(0, Shares::units)
}

/// Reads a sum of shares.
fn sum_of(units: u64) -> Option<Shares> {
    Shares::from_units(i64::try_from(units).ok()?)
}

fn take(at: u64, kind: u8, bytes: &[u8]) -> Option<NoteRecord> {
    let mut take = Take(bytes);
    let (order, account, symbol) = (OrderId(take.u64()?), AccountIndex(take.u32()?), SymbolIndex(take.u32()?));
    let (time, sequence, value, next_trade) = (take.time()?, take.sequence()?, take.u64()?, take.u64()?);
    let (of_order, of_account, place) = (take.link()?, take.link()?, take.u32()?);
    let tells = match kind {
        LAST_TRADE | LAST_TRADE_BEHIND_DAMAGE => {
            let reduced = if kind == LAST_TRADE { Some(sum_of(next_trade)?) } else { None };
            Tells::LastTrade { order, account, time, sequence, trade: (value > 0).then_some(value), reduced }
        }
        AUCTION => {
            let (trade, before) = (value, next_trade);
            let goes_back = before > 0 && before < trade;
            goes_back.then_some(())?;
            Tells::Auction(AuctionLink { order, account, symbol, time, sequence, trade, before })
        }
        AMENDED | AMENDED_BEHIND_DAMAGE => {
            let all = if kind == AMENDED { Some(sum_of(value)?) } else { None };
            Tells::Amended(Amendment { order, account, symbol, time, sequence, all, next_trade, place })
        }
        REDUCED => {
            let shares = sum_of(value)?;
            let why = CancelReason::from_code(*take.0.get(2)?)?;
            Tells::Reduced(Reduction { order, account, symbol, time, sequence, shares, why })
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

    #[test]
    fn a_note_is_read_as_it_was_written_in_its_own_place_alone() {
        let (order, account, time, sequence) = (OrderId(7), AccountIndex(3), Time(12), Sequence(10));
        let last_trade = NoteRecord {
            tells: Tells::LastTrade { order, account, time, sequence, trade: Some(5), reduced: Shares::from_units(8) },
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
        };
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
        let all = Shares::from_units(9);
        let symbol = SymbolIndex(2);
        let amendment = Amendment { order, account, symbol, time, sequence, all, next_trade: 4, place: 1 };
        let amended = NoteRecord { tells: Tells::Amended(amendment), of_order: Some(2), of_account: Some(1) };
        let hidden = Tells::LastTrade { order, account, time, sequence, trade: None, reduced: None };
        let last_behind_damage = NoteRecord { tells: hidden, ..last_trade };
        let hidden = Tells::Amended(Amendment { all: None, ..amendment });
        let behind_damage = [last_behind_damage, NoteRecord { tells: hidden, ..amended }];
        let others = [triggered(), last_trade, reduced, linked, pends, released, auction, amended];
        for written in others.into_iter().chain(behind_damage) {
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
