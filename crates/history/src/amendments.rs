//! Amendments of an order: the shares taken off it, one reduction at a time. Reductions from before they were reported
//! are not among them.

use std::collections::VecDeque;

use terms::{OrderId, Sequence};

use crate::error::HistoryError;
use crate::history::History;
use crate::note::{Amendment, NOTES_MAX, Reduction, Tells};
use crate::record::PastOrder;
use crate::reports::Amended;
use crate::table::Near;

impl History {
    /// Finds the reductions of an order by the command `from` and later ones: the first `most`, oldest first. Errors:
    /// the order was done before the history began.
    pub fn amendments(&self, order: OrderId, from: Sequence, most: usize) -> Result<Vec<Amended>, HistoryError> {
        self.amendments_as_of((from, Sequence(u64::MAX)), order, most)
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
        Ok(Amended { order, symbol, side, before, after, why, time, sequence, next_trade, place })
    }

    /// Finds the reductions of an order by commands from `from` up to `through`, the first `most`, oldest first. Of an
    /// order with very many notes it reads only the newest.
    pub(crate) fn amendments_as_of(
        &self,
        (from, through): (Sequence, Sequence),
        order: OrderId,
        most: usize,
    ) -> Result<Vec<Amended>, HistoryError> {
        let Some(past) = self.order_as_placed(order)? else { return Ok(Vec::new()) };
        let mut at = self.last_note_of(&past);
        let (mut found, mut near) = (VecDeque::new(), Near::default());
        for _ in 0..NOTES_MAX {
            let Some(number) = at else { break };
            let record = match self.read_note_of(order, number, &mut near) {
                Err(HistoryError::NoLongerKept { .. }) => break,
                read => read?,
            };
            if let Tells::Amended(amendment) = record.tells {
                if amendment.sequence < from {
                    break;
                }
                if amendment.sequence <= through {
                    found.push_front((number, amendment));
                    found.truncate(most);
                }
            }
            at = record.of_order;
        }
        found.iter().map(|(number, amendment)| self.amended(&past, *number, amendment, &mut near)).collect()
    }
}
