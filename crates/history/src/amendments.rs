//! Amendments of an order: the shares taken off it, one reduction at a time. Reductions from before they were reported
//! are not among them.

use std::collections::VecDeque;

use terms::{OrderId, Sequence};

use crate::error::HistoryError;
use crate::history::History;
use crate::note::{Amendment, NOTES_MAX, NoteRecord, Reduction, Tells};
use crate::pages::EVER;
use crate::record::PastOrder;
use crate::reports::Amended;
use crate::table::Near;

/// The reductions of an order while they are read: first its notes, from the newest back, and then those that count.
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
    /// The reductions that count, by the numbers of their notes, oldest first.
    found: VecDeque<(u64, Amendment)>,
    read: Vec<Amended>,
}

impl Amendments {
    /// The reductions, oldest first, after all were read.
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
    /// Finds the reductions of an order by the command `from` and later ones: the first `most`, oldest first. Errors:
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
        let Amendment { order, symbol, time, sequence, all, next_trade, place, .. } = *amendment;
        // The two notes were written together.
        let (shares, why) = match self.read_note_of(order, number - 1, near)?.tells {
            Tells::Reduced(Reduction { shares, why, .. }) => (shares, why),
            Tells::Amended(_) | Tells::What(_) | Tells::Auction(_) | Tells::LastTrade { .. } => {
                return Err(self.lost_note(number));
            }
        };
        let all = all.map_or_else(|| self.reductions(order, number, sequence), Ok)?;
        if all > past.shares || shares > all {
            return Err(self.lost_note(number));
        }
        let after = past.shares.less(all);
        let (before, side) = (after.plus(shares), past.side);
        Ok(Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place, terms: None })
    }

    /// Begins to read the reductions of an order by commands from `from` up to `through`, the first `most`. Of an order
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
