//! Phases of symbols, and the executions at an auction's end, between two orders that both rested.

use history::Trade;
use terms::{Event, Fee, Money, OrderId, Price, Shares, Side, SymbolIndex, SymbolPhase};

use super::{News, View};

impl View {
    pub(super) fn change_phase(&mut self, symbol: SymbolIndex, phase: SymbolPhase, last: Option<Price>) {
        let listing = &mut self.listings[symbol.0 as usize];
        (listing.phase, listing.reference) = (phase, last);
        // Watchers of the book get an update when a level changes, so one is touched that did not.
        let best = listing.book.best(Side::Buy).unwrap_or(Price::MIN);
        listing.touch(Side::Buy, best);
        self.symbol_news(symbol);
    }

    pub(super) fn uncrossed(&mut self, event: &Event) {
        let Event::Uncrossed {
            symbol,
            maker,
            maker_account,
            aggressor,
            aggressor_account,
            aggressor_side,
            price,
            shares,
            ..
        } = *event
        else {
            unreachable!("invariant: only executions of auctions come here")
        };
        let [maker_fee, aggressor_fee] = std::mem::replace(&mut self.due, [Fee::NONE; 2]);
        let trade = Trade {
            id: self.next_trade,
            symbol,
            price,
            shares,
            time: self.time,
            sequence: self.sequence,
            aggressor: aggressor_side,
            maker_order: maker,
            aggressor_order: aggressor,
            maker_account,
            aggressor_account,
            maker_fee,
            aggressor_fee,
        };
        let paid = [maker, aggressor].map(|order| self.take_at_rest(order, shares, trade.money()));
        if self.sequence > self.trades_known {
            self.next_trade += 1;
            self.share_memory(symbol);
            self.listings[symbol.0 as usize].traded(&trade, &mut self.remembered);
            self.symbol_news(symbol);
        }
        self.tell(maker_account, News::Traded(maker_account, trade, aggressor_side.opposite()));
        self.tell(aggressor_account, News::Traded(aggressor_account, trade, aggressor_side));
        for ((order, account), paid) in [(maker, maker_account), (aggressor, aggressor_account)].into_iter().zip(paid) {
            let slot = self.find(order);
            match self.orders.terms(slot).open.is_zero() {
                true => self.end(slot, Shares::ZERO, None, paid),
                false => self.tell(account, News::Order(account, order)),
            }
        }
    }

    /// Executes shares of a resting order. Returns the money paid for it so far.
    fn take_at_rest(&mut self, order: OrderId, shares: Shares, money: Money) -> Money {
        let slot = self.find(order);
        let paid = self.take_shares(slot, shares, money);
        let is_done = self.orders.terms(slot).open.is_zero();
        self.leave_book(slot, shares, is_done);
        self.take_shown(slot, shares);
        paid
    }
}
