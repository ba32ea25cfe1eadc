//! Writes the notes of orders and finds them again, along the chain of an order. A done order links to its last note;
//! if it has executions, too, one more note links to its trades.

use terms::{
    AccountIndex, CancelReason, Money, NewOrder, OrderId, Position, Sequence, Shares, Side, SymbolIndex, Time,
};

use crate::ending::Last;
use crate::error::HistoryError;
use crate::followed::Followed;
use crate::history::History;
use crate::note::{Amendment, NOTES_MAX, Note, NoteRecord, Noted, Reduction, Relatives, Resizing, Tells};
use crate::pages::EVER;
use crate::record::PastOrder;
use crate::table::Near;

/// The most notes of an order that a question reads when the others have used that number up.
const NOTES_OF_EACH: usize = 64;

/// The last note and the last trade of an order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lasts {
    pub(crate) note: Option<u64>,
    pub(crate) trade: Option<u64>,
}

/// The number of notes that a question may still read, over all its orders.
#[derive(Debug)]
pub struct NotesLeft(usize);

impl Default for NotesLeft {
    fn default() -> NotesLeft {
        NotesLeft(NOTES_MAX)
    }
}

/// The notes on one order while they are read, from the newest back: what befell it.
#[derive(Debug)]
pub struct OrderNotes {
    order: OrderId,
    /// Later commands do not count.
    through: Sequence,
    next: NextNote,
    /// The number of notes that are still read; none before the first one is.
    left: Option<usize>,
    near: Near,
    triggered: Option<Time>,
    relatives: Relatives,
}

/// The note of an order that is read next.
#[derive(Clone, Copy, Debug)]
enum NextNote {
    /// The last note of a done order, which may say only where its trades are; and the command that ended the order.
    Last(u64, Option<Sequence>),
    At(u64),
    None,
}

impl NextNote {
    /// The last note of an order that is done.
    fn of_done(past: &PastOrder) -> NextNote {
        match past.last {
            Some(Last::Note(number) | Last::Terms(number)) => {
                NextNote::Last(number, past.ended.map(|ended| ended.sequence))
            }
            Some(Last::Trade(_)) | None => NextNote::None,
        }
    }
}

impl OrderNotes {
    /// Whether all notes were read that there are, or that the question has left.
    pub fn are_read(&self) -> bool {
        matches!(self.next, NextNote::None)
    }

    /// The time of the order's trigger, and the related orders; none where they are unknown.
    pub fn befell(&self) -> (Option<Time>, Relatives) {
        (self.triggered, self.relatives)
    }

    /// Ends the reading without a result: notes are no longer kept.
    fn lose(&mut self) {
        (self.next, self.triggered, self.relatives) = (NextNote::None, None, Relatives::default());
    }

    /// Takes in a note that is older than those before.
    fn take(&mut self, note: &Note) {
        match note.what {
            Noted::Linked(partner) => self.relatives.linked = self.relatives.linked.or(Some(partner)),
            Noted::Pends(working) => self.relatives.pended = self.relatives.pended.or(Some(working)),
            Noted::Triggered(_) => self.triggered = Some(note.time),
            Noted::Released => {}
        }
    }
}

impl History {
    /// Notes that a waiting order is active now.
    pub(crate) fn triggered(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        placed: &NewOrder<SymbolIndex>,
    ) -> Result<(), HistoryError> {
        let trigger = placed.trigger.expect("invariant: what is triggered had a trigger");
        self.note(order, (account, placed.symbol, placed.side), Noted::Triggered(trigger))
    }

    /// Notes that two orders of an account are linked from now on.
    pub(crate) fn linked(
        &mut self,
        [one, other]: [OrderId; 2],
        of: (AccountIndex, SymbolIndex, Side),
    ) -> Result<(), HistoryError> {
        self.note(one, of, Noted::Linked(other))?;
        self.note(other, of, Noted::Linked(one))
    }

    /// Writes a note of the current command on an open order.
    pub(crate) fn note(
        &mut self,
        order: OrderId,
        (account, symbol, side): (AccountIndex, SymbolIndex, Side),
        what: Noted,
    ) -> Result<(), HistoryError> {
        let Followed { sequence, time, notes: place, .. } = self.followed;
        self.followed.notes += 1;
        if sequence <= self.heads.through {
            return Ok(());
        }
        let next_trade = self.trades.len() + 1;
        let number = self.notes.len() + 1;
        let of_order = self.heads.noted.insert(order, number);
        let of_account = self.heads.account(account).note.replace(number);
        let note = Note { order, account, symbol, side, what, time, sequence, next_trade, place };
        self.notes.append(&NoteRecord { tells: Tells::What(note), of_order, of_account }.encode(number - 1))
    }

    /// Notes that shares were taken off an order. This note is only in the order's chain; the note behind it makes it a
    /// report of the account.
    pub(crate) fn reduced(
        &mut self,
        order: OrderId,
        (account, symbol): (AccountIndex, SymbolIndex),
        shares: Shares,
        why: CancelReason,
    ) -> Result<(), HistoryError> {
        let Followed { sequence, time, notes: place, .. } = self.followed;
        self.followed.notes += 1;
        if sequence <= self.heads.through {
            return Ok(());
        }
        self.recall_reduced(order)?;
        let terms = self.way_to_terms(order);
        let (all, next_trade) = (self.followed.reduce(order, shares), self.trades.len() + 1);
        let (reduction, number) = (self.notes.len() + 1, self.notes.len() + 2);
        let of_order = self.heads.noted.insert(order, number);
        let tells = Tells::Reduced(Reduction { order, account, symbol, time, sequence, shares, why, terms });
        self.notes.append(&NoteRecord { tells, of_order, of_account: None }.encode(reduction - 1))?;
        let tells = Tells::Amended(Amendment { order, account, symbol, time, sequence, all, next_trade, place });
        let of_account = self.heads.account(account).note.replace(number);
        self.notes.append(&NoteRecord { tells, of_order: Some(reduction), of_account }.encode(number - 1))
    }

    /// The link of an ending of an order with notes: its last note, or one more note that links to its trades and has
    /// the shares taken off it. If the order got other terms, a note of these comes before.
    pub(crate) fn noted_last(
        &mut self,
        order: OrderId,
        account: AccountIndex,
        note: u64,
        trade: Option<u64>,
    ) -> Result<Last, HistoryError> {
        self.recall_reduced(order)?;
        let reduced = self.followed.take_reduced(order);
        let (terms, terms_unknown) = (self.followed.terms.remove(order), self.followed.terms_unknown.remove(&order));
        let last = if terms.is_some() || terms_unknown { Last::Terms } else { Last::Note };
        let note = match terms {
            Some(standing) => self.note_last_terms((order, account), note, &standing)?,
            None => note,
        };
        if trade.is_none() && reduced == Some(Position::ZERO) {
            return Ok(last(note));
        }
        let Followed { sequence, time, .. } = self.followed;
        let number = self.notes.len() + 1;
        let tells = Tells::LastTrade { order, account, time, sequence, trade, reduced };
        let record = NoteRecord { tells, of_order: Some(note), of_account: None };
        self.notes.append(&record.encode(number - 1))?;
        Ok(last(number))
    }

    /// The last note and trade of a done order; none for an open one.
    pub(crate) fn lasts_of(&self, past: &PastOrder) -> Result<Lasts, HistoryError> {
        match past.last {
            None => Ok(Lasts::default()),
            Some(Last::Trade(trade)) => Ok(Lasts { note: None, trade: Some(trade) }),
            Some(Last::Note(number) | Last::Terms(number)) => {
                self.lasts_at(past.order, number, past.ended.map(|ended| ended.sequence))
            }
        }
    }

    /// The last note and trade of an order whose record links to this note, and which this command ended.
    fn lasts_at(&self, order: OrderId, number: u64, ended: Option<Sequence>) -> Result<Lasts, HistoryError> {
        let gone_until = self.notes.reach().gone_until.sequence;
        let record = match self.read_note_of(order, number, &mut Near::default()) {
            // A note that links to its trades would be as new as its ending, and so be kept. So the order has no
            // trades.
            Err(HistoryError::NoLongerKept { .. }) if ended.is_some_and(|ended| ended > gone_until) => {
                return Ok(Lasts { note: Some(number), trade: None });
            }
            read => read?,
        };
        Ok(match record.tells {
            Tells::What(_)
            | Tells::Reduced(_)
            | Tells::Resized(_)
            | Tells::Terms(_)
            | Tells::Amended(_)
            | Tells::Auction(_) => Lasts { note: Some(number), trade: None },
            Tells::LastTrade { trade, .. } => Lasts { note: record.of_order, trade },
        })
    }

    /// Begins to read the notes on an order, which is as the command `through` left it.
    pub(crate) fn notes_as_of(&self, through: Sequence, past: &PastOrder) -> Result<OrderNotes, HistoryError> {
        let is_done = past.ended.is_some_and(|ended| ended.sequence <= through);
        let next = match (past.last, self.heads.noted.get(past.order)) {
            (None, _) if is_done => NextNote::None,
            (Some(_), _) => NextNote::of_done(past),
            (None, Some(note)) => NextNote::At(note),
            // The order may have ended since: then its record has the link.
            (None, None) if through < self.followed.sequence => {
                self.order_as_placed(past.order)?.as_ref().map_or(NextNote::None, NextNote::of_done)
            }
            (None, None) => NextNote::None,
        };
        let (near, relatives) = (Near::default(), Relatives::default());
        Ok(OrderNotes { order: past.order, through, next, left: None, near, triggered: None, relatives })
    }

    /// Reads more notes of an order, `most` of them at most, which it reduces by those that it read. Of an order with
    /// more notes than are left to the question, the oldest are not read.
    pub(crate) fn read_notes(
        &self,
        notes: &mut OrderNotes,
        left: &mut NotesLeft,
        most: &mut usize,
    ) -> Result<(), HistoryError> {
        match self.read_some_notes(notes, left, most) {
            Err(HistoryError::NoLongerKept { .. }) => {
                notes.lose();
                Ok(())
            }
            read => read,
        }
    }

    fn read_some_notes(
        &self,
        notes: &mut OrderNotes,
        left: &mut NotesLeft,
        most: &mut usize,
    ) -> Result<(), HistoryError> {
        let mut of_order = notes.left.unwrap_or(left.0.max(NOTES_OF_EACH));
        while *most > 0 {
            *most -= 1;
            let number = match notes.next {
                NextNote::Last(number, ended) => {
                    let Lasts { note, .. } = self.lasts_at(notes.order, number, ended)?;
                    notes.next = note.map_or(NextNote::None, NextNote::At);
                    continue;
                }
                NextNote::At(number) if of_order > 0 => number,
                NextNote::At(_) | NextNote::None => {
                    notes.next = NextNote::None;
                    return Ok(());
                }
            };
            (of_order, left.0) = (of_order - 1, left.0.saturating_sub(1));
            let record = self.read_note_of(notes.order, number, &mut notes.near)?;
            match record.tells {
                Tells::What(note) if note.sequence <= notes.through => notes.take(&note),
                // The question is about the order as it was while it was open.
                Tells::What(_)
                | Tells::Reduced(_)
                | Tells::Resized(_)
                | Tells::Terms(_)
                | Tells::Amended(_)
                | Tells::Auction(_)
                | Tells::LastTrade { .. } => {}
            }
            notes.next = record.of_order.map_or(NextNote::None, NextNote::At);
        }
        notes.left = Some(of_order);
        Ok(())
    }

    /// The order with the shares and the terms that it had after the command `through`. `past` is its record of today.
    pub(crate) fn with_amendments(&self, through: Sequence, past: PastOrder) -> Result<PastOrder, HistoryError> {
        let Some(last) = self.last_note_of(&past) else { return Ok(past) };
        let left = |reduced| shares_left(past.shares, reduced).ok_or_else(|| self.lost_note(last));
        let shares_now = match self.followed.shares_of.get(&past.order) {
            Some(shares) => *shares,
            None if self.followed.reduced_unknown.contains(&past.order) => {
                left(self.reductions(&past, last, through)?)?
            }
            None => left(self.reductions_but_newer(&past, last, through)?)?,
        };
        let terms = self.terms_as_of(&past, last, through)?;
        Ok(PastOrder { shares_now, ..past.with_terms(terms) })
    }

    /// The shares that were taken off an order up to the command `through`: all of them, less those of newer notes. An
    /// order may have a million notes, and few of them are newer.
    fn reductions_but_newer(&self, past: &PastOrder, last: u64, through: Sequence) -> Result<Position, HistoryError> {
        let (mut at, mut near) = (Some(last), Near::default());
        let mut reduced = self.followed.reduced.get(past.order).unwrap_or(Position::ZERO);
        while let Some(number) = at {
            let record = match self.read_note_of(past.order, number, &mut near) {
                Err(HistoryError::NoLongerKept { .. }) => {
                    // All that an order had when it ended was canceled, if nothing was executed.
                    let unexecuted = past.ended.filter(|ended| ended.money == Money::ZERO && ended.sequence <= through);
                    return Ok(match unexecuted.filter(|_| number == last) {
                        Some(ended) => past.shares.position().minus(ended.canceled.position()),
                        None => reduced,
                    });
                }
                read => read?,
            };
            match record.tells {
                Tells::LastTrade { reduced: Some(all), .. } => reduced = all,
                // Its notes name what is damaged.
                Tells::LastTrade { reduced: None, .. } => return self.reductions(past, number, through),
                Tells::Reduced(Reduction { sequence, shares, .. }) if sequence > through => {
                    reduced = reduced.minus(shares.position());
                }
                Tells::Resized(Resizing { sequence, before, .. }) if sequence > through => match before {
                    Some(before) => reduced = past.shares.position().minus(before.position()),
                    None => return self.reductions(past, number, through),
                },
                Tells::Reduced(_)
                | Tells::Resized(_)
                | Tells::Terms(_)
                | Tells::Amended(_)
                | Tells::Auction(_)
                | Tells::What(_) => {}
            }
            at = record.of_order.filter(|_| record.sequence() > through);
        }
        Ok(reduced)
    }

    /// The shares that were taken off an order up to the command `through`, by its notes alone, from its last one.
    /// Errors: a note is damaged without whose shares there is no sum, or is no longer kept.
    pub(crate) fn reductions(&self, past: &PastOrder, last: u64, through: Sequence) -> Result<Position, HistoryError> {
        let found = self.reductions_behind(past.order, last, through)?;
        Ok(match found {
            Counted::FromPlacing(reduced) | Counted::Gone(reduced) => reduced,
            Counted::From { shares, reduced } => past.shares.position().minus(shares.position()).plus(reduced),
        })
    }

    /// Counts the shares that were taken off an order, like `reductions`, without its record.
    pub(crate) fn reductions_behind(
        &self,
        order: OrderId,
        last: u64,
        through: Sequence,
    ) -> Result<Counted, HistoryError> {
        let (mut at, mut near, mut reduced) = (Some(last), Near::default(), Position::ZERO);
        let mut is_behind_damage = false;
        while let Some(number) = at {
            let record = match self.read_note_of(order, number, &mut near) {
                // The newer notes were read, and a note with all reductions is as new as the ending.
                Err(HistoryError::NoLongerKept { .. }) if !is_behind_damage => return Ok(Counted::Gone(reduced)),
                read => read?,
            };
            match record.tells {
                // The damage is further back, unless it was repaired: then the single reductions make the sum.
                Tells::LastTrade { reduced: None, .. } | Tells::Amended(Amendment { all: None, .. }) => {
                    is_behind_damage = true;
                }
                Tells::LastTrade { sequence, reduced: Some(all), .. } if sequence <= through => {
                    return Ok(Counted::FromPlacing(all));
                }
                // Older reductions have no such note behind them.
                Tells::Amended(Amendment { sequence, all: Some(all), .. }) if sequence <= through => {
                    return Ok(Counted::FromPlacing(reduced.plus(all)));
                }
                Tells::Reduced(Reduction { sequence, shares, .. }) if sequence <= through => {
                    reduced = reduced.plus(shares.position());
                }
                Tells::Resized(Resizing { sequence, after: shares, .. }) if sequence <= through => {
                    return Ok(Counted::From { shares, reduced });
                }
                Tells::LastTrade { .. }
                | Tells::Reduced(_)
                | Tells::Resized(_)
                | Tells::Terms(_)
                | Tells::Amended(_)
                | Tells::Auction(_)
                | Tells::What(_) => {}
            }
            at = record.of_order;
        }
        Ok(Counted::FromPlacing(reduced))
    }

    /// The newest note of an order, given its record of today.
    pub(crate) fn last_note_of(&self, past: &PastOrder) -> Option<u64> {
        match past.last {
            Some(Last::Note(number) | Last::Terms(number)) => Some(number),
            Some(Last::Trade(_)) => None,
            None => self.heads.noted.get(past.order),
        }
    }

    /// The time at which a waiting order was triggered; none while it waits, and where it is unknown, because it was
    /// before notes were kept, or they are no longer kept.
    pub fn triggered_at(&self, past: &PastOrder) -> Result<Option<Time>, HistoryError> {
        Ok(self.befell_as_of(EVER, past, &mut NotesLeft::default())?.0)
    }

    /// The orders related to this one; none where notes are no longer kept.
    pub fn relatives_of(&self, past: &PastOrder) -> Result<Relatives, HistoryError> {
        Ok(self.befell_as_of(EVER, past, &mut NotesLeft::default())?.1)
    }

    /// The time of the trigger and the related orders, as known after the command `through`; none where they are
    /// unknown.
    pub(crate) fn befell_as_of(
        &self,
        through: Sequence,
        past: &PastOrder,
        left: &mut NotesLeft,
    ) -> Result<(Option<Time>, Relatives), HistoryError> {
        let (mut notes, mut most) = (self.notes_as_of(through, past)?, usize::MAX);
        while !notes.are_read() {
            self.read_notes(&mut notes, left, &mut most)?;
        }
        Ok(notes.befell())
    }

    /// The notes on each open order.
    pub fn notes_of_open(&self) -> Result<Vec<Note>, HistoryError> {
        let mut open: Vec<(OrderId, u64)> = self.heads.noted.iter().copied().collect();
        open.sort_unstable_by_key(|(_, number)| *number);
        let (mut found, mut near) = (Vec::new(), Near::default());
        for (order, last) in open {
            let mut at = Some(last);
            for _ in 0..NOTES_MAX {
                let Some(number) = at else { break };
                match self.read_note_of(order, number, &mut near) {
                    Ok(record) => {
                        if let Tells::What(note) = record.tells {
                            found.push(note);
                        }
                        at = record.of_order;
                    }
                    // A query for the order gets the error; the market goes on.
                    Err(error) if error.is_damage() => at = None,
                    Err(HistoryError::NoLongerKept { .. }) => at = None,
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(found)
    }

    /// Reads a note, which must be of this order.
    pub(crate) fn read_note_of(
        &self,
        order: OrderId,
        number: u64,
        near: &mut Near,
    ) -> Result<NoteRecord, HistoryError> {
        let record = self.read_note_near(number, near)?;
        if record.order() == order { Ok(record) } else { Err(self.lost_note(number)) }
    }

    pub(crate) fn read_note_near(&self, number: u64, near: &mut Near) -> Result<NoteRecord, HistoryError> {
        let at = number - 1;
        let record = self.notes.read_near(at, near).inspect_err(|error| self.list(error))?;
        NoteRecord::decode(at, &record).map_err(|unread| {
            let error = unread.at(&self.notes, at);
            self.list(&error);
            error
        })
    }

    pub(crate) fn lost_note(&self, number: u64) -> HistoryError {
        self.lost(&self.notes, number - 1)
    }
}

/// The shares taken off an order, less those that it got.
pub(crate) enum Counted {
    /// The sum since its placing.
    FromPlacing(Position),
    /// The sum of the notes that are still kept.
    Gone(Position),
    /// The sum since it had this number of shares.
    From { shares: Shares, reduced: Position },
}

/// The shares that an order has if these were taken off it; none if there is no such number of shares.
pub(crate) fn shares_left(placed: Shares, reduced: Position) -> Option<Shares> {
    i64::try_from(placed.position().minus(reduced).units()).ok().and_then(Shares::from_units)
}
