//! Follows the executions of an auction, whose orders both rested, and finds the earlier trades of such an order, and
//! of one that went on by a later command.
//!
//! The trades of an order are found from the last one back. A trade in which it was the maker links to the one before,
//! and those in which it was the aggressor follow each other, except in auctions, and where one command did not
//! complete the order: there the trade before may have any number, so a note has it.

use exchange::Trade;
use terms::{Event, OrderId};

use crate::error::HistoryError;
use crate::followed::Followed;
use crate::history::History;
use crate::note::{AuctionLink, NoteRecord, Tells};
use crate::table::Near;

/// The most notes that are read before others use the history.
const NOTES_AT_ONCE: usize = 4_096;

/// The notes of an order that are still to be read, newest first: a note may say where its trades go on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NotesAhead {
    pub(crate) next: Option<u64>,
    /// The number of notes that were read and led to no trade.
    pub(crate) in_vain: usize,
}

impl NotesAhead {
    pub(crate) fn from(next: Option<u64>) -> NotesAhead {
        NotesAhead { next, in_vain: 0 }
    }
}

impl History {
    pub(crate) fn follow_uncross(
        &mut self,
        event: &Event,
        maker_done: bool,
        aggressor_done: bool,
    ) -> Result<(), HistoryError> {
        let Followed { sequence, time, .. } = self.followed;
        let trade = self.followed.trade_reader.trade(event, self.trades.len() + 1, (sequence, time), None);
        if sequence > self.heads.through {
            self.link_auction(&trade)?;
            self.traded(&trade)?;
        }
        self.executed_at_rest((trade.maker_order, trade.maker_account), &trade, maker_done)?;
        self.executed_at_rest((trade.aggressor_order, trade.aggressor_account), &trade, aggressor_done)
    }

    /// Notes the trade before of the aggressor of an auction's next trade, unless it has the number before.
    fn link_auction(&mut self, trade: &Trade) -> Result<(), HistoryError> {
        let Trade { id, aggressor_order: order, .. } = *trade;
        let last = self.followed.uncrossed.replace((id, order));
        let Some(before) = self.heads.executed.get(order) else { return Ok(()) };
        if last == Some((id - 1, order)) && before == id - 1 {
            return Ok(());
        }
        self.link_to(trade, before)
    }

    /// Notes the trade before of an order that goes on, unless it is the aggressor in the one with the number before.
    pub(crate) fn link_resumed(&mut self, trade: &Trade) -> Result<(), HistoryError> {
        let order = trade.aggressor_order;
        let Some(before) = self.heads.executed.get(order) else { return Ok(()) };
        if before == trade.id - 1 && self.was_aggressor(order, before)? {
            return Ok(());
        }
        self.link_to(trade, before)
    }

    /// Whether an order is the aggressor in a trade, as far as that can be read.
    fn was_aggressor(&self, order: OrderId, trade: u64) -> Result<bool, HistoryError> {
        match self.read_trade(trade) {
            Ok(record) => Ok(record.trade.aggressor_order == order),
            Err(HistoryError::NoLongerKept { .. }) => Ok(false),
            Err(error) if error.is_damage() => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn link_to(&mut self, trade: &Trade, before: u64) -> Result<(), HistoryError> {
        let Trade { id, symbol, time, sequence, aggressor_order: order, aggressor_account: account, .. } = *trade;
        let number = self.notes.len() + 1;
        let of_order = self.heads.noted.insert(order, number);
        let link = AuctionLink { order, account, symbol, time, sequence, trade: id, before };
        let record = NoteRecord { tells: Tells::Auction(link), of_order, of_account: None };
        self.notes.append(&record.encode(number - 1))
    }

    /// The trade of an order before one in which it was the aggressor, if it does not have the number before. None if
    /// that is not known after many notes: another call goes on behind them.
    pub(crate) fn trade_before_auction(
        &self,
        order: OrderId,
        trade: u64,
        notes: &mut NotesAhead,
    ) -> Result<Option<Option<u64>>, HistoryError> {
        let mut near = Near::default();
        for _ in 0..NOTES_AT_ONCE {
            let Some(number) = notes.next else { return Ok(Some(None)) };
            let record = match self.read_note_of(order, number, &mut near) {
                Err(HistoryError::NoLongerKept { .. }) => {
                    notes.next = None;
                    return Ok(Some(None));
                }
                read => read?,
            };
            match record.tells {
                Tells::Auction(link) if link.trade < trade => return Ok(Some(None)),
                Tells::Auction(link) if link.trade == trade => {
                    notes.next = record.of_order;
                    return Ok(Some(Some(link.before)));
                }
                Tells::Auction(_)
                | Tells::What(_)
                | Tells::Reduced(_)
                | Tells::Resized(_)
                | Tells::Terms(_)
                | Tells::Amended(_)
                | Tells::LastTrade { .. } => {
                    *notes = NotesAhead { next: record.of_order, in_vain: notes.in_vain + 1 };
                }
            }
        }
        Ok(None)
    }
}
