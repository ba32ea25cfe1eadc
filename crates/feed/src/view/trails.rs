//! Trailing stops: the orders whose triggers follow the market. A price moves them together, and watchers of their
//! accounts hear of it once for all moves since they got the last news.

use std::collections::BTreeSet;

use terms::{OrderId, Price, Side, SymbolIndex, Trail, Trigger};

use super::{News, View};
use crate::orders::Terms;

/// The symbols and sides in which triggers moved since the news were taken; and at least as many orders of watched
/// accounts as moved there.
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
        let Terms { account, symbol, side, .. } = self.orders.terms(slot);
        if self.moves.of.contains(&(symbol, side)) && self.orders.followed.is_watched(account) {
            self.moves.orders += 1;
        }
    }

    /// Moves the triggers of this side to follow a price.
    pub(super) fn move_trails(&mut self, symbol: SymbolIndex, side: Side, price: Price) {
        self.orders.followed.move_behind((symbol, side), price);
        // Also where nobody watches: the watched accounts are looked through once for all moves, not once for each.
        if self.moves.of.insert((symbol, side)) {
            self.moves.orders += self.orders.followed.watched_orders((symbol, side));
        }
    }

    /// Makes news of the orders of watched accounts that moved since the last news, each one piece, however often the
    /// market moved it.
    pub(crate) fn tell_moves(&mut self) {
        self.moves.orders = 0;
        while let Some(of) = self.moves.of.pop_first() {
            let moved = self.orders.followed.take_moved(of).into_iter();
            let mut moved: Vec<Terms> = moved.map(|slot| self.orders.terms(slot)).collect();
            moved.sort_unstable_by_key(|moved| moved.order);
            for Terms { account, order, .. } in moved {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feed::NoMarket;

    /// Each execution at a new price looked through all watched accounts, if orders of others alone followed there.
    #[test]
    fn moves_of_orders_that_nobody_watches_are_looked_at_once() {
        let mut view = View::new(&NoMarket, None);
        let of = (SymbolIndex(0), Side::Sell);
        (1..4).for_each(|price| view.move_trails(of.0, of.1, Price::from_units(price).expect("a price")));
        assert_eq!((view.moves.of.contains(&of), view.moves.len()), (true, 0));
        view.tell_moves();
        assert_eq!(view.moves.of.len(), 0);
    }
}
