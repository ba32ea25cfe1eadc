//! Amendments of an order: the shares taken off it, one reduction at a time, and its other terms. Reductions from
//! before they were reported are not among them.

use std::collections::VecDeque;

use terms::{CancelReason, OrderId, Sequence, Shares};

use crate::error::HistoryError;
use crate::history::History;
use crate::note::{Amendment, NOTES_MAX, NoteRecord, PastTerms, Reduction, Resizing, Tells, TermsNote};
use crate::notes::shares_left;
use crate::pages::EVER;
use crate::record::PastOrder;
use crate::reports::{Amended, AmendedTerms};
use crate::table::Near;

/// The amendments of an order while they are read: first its notes, from the newest back, and then those that count.
#[derive(Debug)]
pub struct Amendments {
    /// The order's record; none if it was never placed.
    past: Option<PastOrder>,
    /// The commands that count.
    from: Sequence,
    through: Sequence,
    most: usize,
    /// The next note to read.
    at: Option<u64>,
    /// The number of notes that may still be read.
    left: usize,
    near: Near,
    /// The amendments that count, by the numbers of their notes, oldest first.
    found: VecDeque<(u64, Amendment)>,
    read: Vec<Amended>,
}

impl Amendments {
    /// The amendments, oldest first, after all were read.
    pub fn finish(self) -> Vec<Amended> {
        self.read
    }

    /// Takes in a note. Returns the one to read next.
    fn take(&mut self, number: u64, record: &NoteRecord) -> Option<u64> {
        if let Tells::Amended(amendment) = record.tells {
            if amendment.sequence < self.from {
                return None;
            }
            if amendment.sequence <= self.through {
                self.found.push_front((number, amendment));
                self.found.truncate(self.most);
            }
        }
        record.of_order
    }
}

impl History {
    /// Finds the amendments of an order by the command `from` and later ones: the first `most`, oldest first. Errors:
    /// the order was done before the history began.
    pub fn amendments(&self, order: OrderId, from: Sequence, most: usize) -> Result<Vec<Amended>, HistoryError> {
        let mut amendments = self.amendments_as_of((from, EVER), order, most)?;
        while self.read_amendments(&mut amendments, usize::MAX)? {}
        Ok(amendments.finish())
    }

    /// Reads the amendment in the note of this number, of an order whose record is `past`.
    pub(crate) fn amended(
        &self,
        past: &PastOrder,
        number: u64,
        amendment: &Amendment,
        near: &mut Near,
    ) -> Result<Amended, HistoryError> {
        let Amendment { order, time, sequence, all, next_trade, place, .. } = *amendment;
        let lost = || self.lost_note(number);
        // The two notes were written together.
        let NoteRecord { tells, of_order, .. } = self.read_note_of(order, number - 1, near)?;
        if let Tells::Terms(note) = tells
            && note.is_resized
        {
            let (before, after) = self.resized(past, of_order.ok_or_else(lost)?, near)?;
            return Ok(of_terms(past, &note, amendment, (before, after)));
        }
        let all = all.map_or_else(|| self.reductions(past, number, sequence), Ok)?;
        let after = shares_left(past.shares, all).ok_or_else(lost)?;
        let (shares, why) = match tells {
            Tells::Terms(note) => return Ok(of_terms(past, &note, amendment, (after, after))),
            Tells::Reduced(Reduction { shares, why, .. }) => (shares, why),
            Tells::Amended(_) | Tells::Resized(_) | Tells::What(_) | Tells::Auction(_) | Tells::LastTrade { .. } => {
                return Err(lost());
            }
        };
        let before = after.units().checked_add(shares.units()).and_then(Shares::from_units).ok_or_else(lost)?;
        let PastOrder { symbol, side, .. } = *past;
        Ok(Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place, terms: None })
    }

    /// The shares of an order before and after the note of this number, which has them.
    fn resized(&self, past: &PastOrder, number: u64, near: &mut Near) -> Result<(Shares, Shares), HistoryError> {
        let record = self.read_note_of(past.order, number, near)?;
        let Tells::Resized(Resizing { before, after, sequence, .. }) = record.tells else {
            return Err(self.lost_note(number));
        };
        let before = match (before, record.of_order) {
            (Some(before), _) => before,
            (None, None) => past.shares,
            // Damage hid them. It is named here, unless it was repaired.
            (None, Some(older)) => {
                let reduced = self.reductions(past, older, sequence)?;
                shares_left(past.shares, reduced).ok_or_else(|| self.lost_note(number))?
            }
        };
        Ok((before, after))
    }

    /// Begins to read the amendments of an order by commands from `from` up to `through`, the first `most`. Of an order
    /// with very many notes only the newest are read. Errors: those of `amendments`.
    pub(crate) fn amendments_as_of(
        &self,
        (from, through): (Sequence, Sequence),
        order: OrderId,
        most: usize,
    ) -> Result<Amendments, HistoryError> {
        let past = self.order_as_placed(order)?;
        let at = past.as_ref().and_then(|past| self.last_note_of(past));
        let (near, found, read) = (Near::default(), VecDeque::new(), Vec::new());
        Ok(Amendments { past, from, through, most, at, left: NOTES_MAX, near, found, read })
    }

    /// Reads this many more notes, or fewer. Returns false when all were read.
    pub(crate) fn read_amendments(&self, amendments: &mut Amendments, notes: usize) -> Result<bool, HistoryError> {
        let Some(past) = amendments.past else { return Ok(false) };
        for _ in 0..notes {
            if let Some(number) = amendments.at.filter(|_| amendments.left > 0) {
                amendments.left -= 1;
                amendments.at = match self.read_note_of(past.order, number, &mut amendments.near) {
                    Err(HistoryError::NoLongerKept { .. }) => None,
                    read => amendments.take(number, &read?),
                };
                continue;
            }
            let Some((number, amendment)) = amendments.found.pop_front() else { return Ok(false) };
            amendments.read.push(self.amended(&past, number, &amendment, &mut amendments.near)?);
        }
        Ok(true)
    }
}

/// The report of other terms of an order.
fn of_terms(past: &PastOrder, note: &TermsNote, amendment: &Amendment, (before, after): (Shares, Shares)) -> Amended {
    let PastTerms { kind, limit, trigger, waits } = note.terms;
    let terms = AmendedTerms { kind, limit, trigger: trigger.filter(|_| waits), keeps_place: note.keeps_place };
    Amended {
        order: past.order,
        symbol: past.symbol,
        side: past.side,
        // An order that keeps its place has the shares that it had.
        before: if note.keeps_place { after } else { before },
        after,
        why: CancelReason::Asked,
        time: amendment.time,
        sequence: amendment.sequence,
        next_trade: amendment.next_trade,
        place: amendment.place,
        terms: Some(terms),
    }
}
