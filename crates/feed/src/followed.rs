//! The open orders whose triggers follow the market, by slot, in groups as the engine keeps them: a price that moves
//! them moves none one by one, and a trigger is computed when somebody asks. This file knows no accounts.

use std::collections::BTreeMap;

use slots::Following;
use terms::{Price, Side, SymbolIndex, Trail, Trigger};

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    of_side: BTreeMap<(SymbolIndex, Side), Following>,
    /// The distance and the group of each order.
    by_slot: BTreeMap<u32, (Trail, u32)>,
}

impl Followed {
    /// Lets the trigger of an order follow the market, from this one on.
    pub(crate) fn add(&mut self, slot: u32, (symbol, side): (SymbolIndex, Side), trail: Trail, trigger: Trigger) {
        let farthest = if side == Side::Sell { Price::MIN } else { Price::MAX };
        let best = trail.best_behind(side, trigger, farthest);
        let best = best.expect("invariant: the engine made the trigger of the distance");
        let following = self.of_side.entry((symbol, side)).or_insert_with(|| Following::new(side));
        let group = following.insert(slot, trail, best);
        self.by_slot.insert(slot, (trail, group));
    }

    /// Forgets an order, if it follows the market.
    pub(crate) fn remove(&mut self, slot: u32, of: (SymbolIndex, Side)) {
        if !self.by_slot.is_empty()
            && let Some((trail, group)) = self.by_slot.remove(&slot)
            && let Some(following) = self.of_side.get_mut(&of)
        {
            following.remove(slot, trail, group);
            if following.is_empty() {
                self.of_side.remove(&of);
            }
        }
    }

    /// Moves the triggers of a symbol and side behind a price.
    pub(crate) fn move_behind(&mut self, of: (SymbolIndex, Side), price: Price) {
        if let Some(following) = self.of_side.get_mut(&of) {
            following.follow(price, |slot, group| {
                self.by_slot.entry(slot).and_modify(|(_, its)| *its = group);
            });
        }
    }

    /// The distance and the present trigger of an order; none if it does not follow the market.
    pub(crate) fn get(&self, slot: u32, of: (SymbolIndex, Side)) -> Option<(Trail, Trigger)> {
        if self.by_slot.is_empty() {
            return None;
        }
        let &(trail, group) = self.by_slot.get(&slot)?;
        self.of_side.get(&of).map(|following| (trail, following.trigger(trail, group)))
    }

    /// The number of orders of a symbol and side.
    pub(crate) fn len(&self, of: (SymbolIndex, Side)) -> usize {
        self.of_side.get(&of).map_or(0, Following::len)
    }

    /// The slots of the orders of a symbol and side, with their triggers, in no order that means anything.
    pub(crate) fn all(&self, of: (SymbolIndex, Side)) -> Vec<(u32, Trigger)> {
        let mut all = Vec::new();
        if let Some(following) = self.of_side.get(&of) {
            following.visit(&mut |slot, trigger| all.push((slot, trigger)));
        }
        all
    }
}
