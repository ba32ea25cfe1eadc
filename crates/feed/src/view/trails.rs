//! Trailing stops: the orders whose triggers follow the market, each moved as the events say.

use std::collections::{BTreeMap, HashSet};

use foldhash::fast::RandomState;
use terms::{OrderId, Price, Side, SymbolIndex, Trail};

use super::{News, View};
use crate::orders::Terms;

/// The orders that follow their symbol's price, by symbol. The engine allows few.
#[derive(Debug, Default)]
pub(super) struct Trails {
    of_symbol: BTreeMap<SymbolIndex, BTreeMap<OrderId, Trail>>,
    /// Orders of watched accounts that moved since the news were taken. Each makes one piece of news, however often the
    /// market moves it: one execution may move a thousand orders.
    moved: HashSet<OrderId, RandomState>,
}

impl Trails {
    /// Notes that the news were taken.
    pub(super) fn forget_moves(&mut self) {
        self.moved.clear();
    }
}

impl View {
    /// Lets the trigger of an order that waits follow the market.
    pub(super) fn give_trail(&mut self, order: OrderId, trail: Trail) {
        let slot = self.find(order);
        let symbol = self.orders.terms(slot).symbol;
        self.orders.set_trail(slot, Some(trail));
        self.trails.of_symbol.entry(symbol).or_default().insert(order, trail);
    }

    /// Moves the triggers of this side to follow a price.
    pub(super) fn move_trails(&mut self, symbol: SymbolIndex, side: Side, price: Price) {
        let follow = self.trails.of_symbol.get(&symbol).into_iter().flatten();
        let follow: Vec<(OrderId, Trail)> = follow.map(|(&order, &trail)| (order, trail)).collect();
        for (order, trail) in follow {
            let slot = self.find(order);
            let Terms { side: its, account, .. } = self.orders.terms(slot);
            let now = self.orders.trigger(slot).filter(|_| its == side);
            if let Some(to) = now.and_then(|now| trail.moved(side, now, price)) {
                self.orders.move_trigger(slot, to);
                if self.accounts.get(account).is_watched() && self.trails.moved.insert(order) {
                    self.news.push(News::Order(account, order));
                }
            }
        }
    }

    /// Forgets the trail of an order that ends or whose trigger is reached, if it has one.
    pub(super) fn forget_trail(&mut self, order: OrderId) {
        if self.trails.of_symbol.is_empty() {
            return;
        }
        let slot = self.find(order);
        let symbol = self.orders.terms(slot).symbol;
        let Some(follow) = self.trails.of_symbol.get_mut(&symbol) else { return };
        if follow.remove(&order).is_some() {
            self.orders.set_trail(slot, None);
        }
        if follow.is_empty() {
            self.trails.of_symbol.remove(&symbol);
        }
    }
}
