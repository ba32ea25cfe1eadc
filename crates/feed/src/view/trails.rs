//! Trailing stops: the orders whose triggers follow the market. A price moves them together, and watchers of their
//! accounts hear of it once for all moves since they got the last news.

use std::collections::BTreeSet;

use terms::{OrderId, Price, Side, SymbolIndex, Trail, Trigger};

use super::{News, View};
use crate::orders::Terms;

/// The symbols and sides whose triggers moved since the news were taken, and at least as many orders as moved there.
#[derive(Debug, Default)]
pub(super) struct Moves {
    of: BTreeSet<(SymbolIndex, Side)>,
    orders: usize,
}

impl Moves {
    /// The number of pieces of news that the moves make at most.
    pub(super) fn len(&self) -> usize {
        self.orders
    }
}

impl View {
    /// Lets the trigger of an order that waits follow the market.
    pub(super) fn give_trail(&mut self, order: OrderId, trail: Trail) {
        let slot = self.find(order);
        self.orders.follow_market(slot, trail);
        let Terms { symbol, side, .. } = self.orders.terms(slot);
        if self.moves.of.contains(&(symbol, side)) {
            self.moves.orders += 1;
        }
    }

    /// Moves the triggers of this side to follow a price.
    pub(super) fn move_trails(&mut self, symbol: SymbolIndex, side: Side, price: Price) {
        self.orders.followed.move_behind((symbol, side), price);
        if self.moves.of.insert((symbol, side)) {
            self.moves.orders += self.orders.followed.len((symbol, side));
        }
    }

    /// Makes news of the orders of watched accounts that moved since the last news, each one piece, however often the
    /// market moved it.
    pub(crate) fn tell_moves(&mut self) {
        self.moves.orders = 0;
        while let Some(of) = self.moves.of.pop_first() {
            let mut moved: Vec<(OrderId, u32)> = Vec::new();
            for (slot, trigger) in self.orders.followed.all(of) {
                if self.orders.set_trigger(slot, trigger) {
                    moved.push((self.orders.terms(slot).order, slot));
                }
            }
            moved.sort_unstable();
            for (order, slot) in moved {
                let account = self.orders.terms(slot).account;
                self.tell(account, News::Order(account, order));
            }
        }
    }

    /// Notes that an order follows the market no more: its trigger, which is this one, was reached.
    pub(super) fn reach_trail(&mut self, order: OrderId, trigger: Trigger) {
        let slot = self.find(order);
        self.orders.follow_no_more(slot);
        self.orders.set_trigger(slot, trigger);
        let account = self.orders.terms(slot).account;
        self.tell(account, News::Order(account, order));
    }
}
