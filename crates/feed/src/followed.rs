//! The open orders whose triggers follow the market, by slot, in groups as the engine keeps them: a price that moves
//! them moves none one by one, and a trigger is computed when somebody asks. Each account's orders stand together with
//! the triggers that were told last, so that news of a move are made of watched accounts alone.

use std::collections::{BTreeMap, BTreeSet};

use slots::Following;
use terms::{AccountIndex, Price, Side, SymbolIndex, Trail, Trigger};

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Followed {
    of_side: BTreeMap<(SymbolIndex, Side), Following>,
    /// The distance and the group of each order.
    by_slot: BTreeMap<u32, (Trail, u32)>,
    /// The trigger of each order that the watchers of its account know; an older one without watchers.
    told: BTreeMap<(SymbolIndex, Side), BTreeMap<(AccountIndex, u32), Trigger>>,
    watched: BTreeSet<AccountIndex>,
}

impl Followed {
    /// Lets the trigger of an order follow the market, from this one on.
    pub(crate) fn add(
        &mut self,
        (slot, account): (u32, AccountIndex),
        (symbol, side): (SymbolIndex, Side),
        trail: Trail,
        trigger: Trigger,
    ) {
        let farthest = if side == Side::Sell { Price::MIN } else { Price::MAX };
        let best = trail.best_behind(side, trigger, farthest);
        let best = best.expect("invariant: the engine made the trigger of the distance");
        let following = self.of_side.entry((symbol, side)).or_insert_with(|| Following::new(side));
        let group = following.insert(slot, trail, best);
        self.by_slot.insert(slot, (trail, group));
        self.told.entry((symbol, side)).or_default().insert((account, slot), trigger);
    }

    /// Forgets an order, if it follows the market.
    pub(crate) fn remove(&mut self, (slot, account): (u32, AccountIndex), of: (SymbolIndex, Side)) {
        if !self.by_slot.is_empty()
            && let Some((trail, group)) = self.by_slot.remove(&slot)
            && let Some(following) = self.of_side.get_mut(&of)
        {
            following.remove(slot, trail, group);
            if following.is_empty() {
                self.of_side.remove(&of);
            }
            if let Some(told) = self.told.get_mut(&of) {
                told.remove(&(account, slot));
                if told.is_empty() {
                    self.told.remove(&of);
                }
            }
        }
    }

    /// Notes whether an account is watched.
    pub(crate) fn set_watched(&mut self, account: AccountIndex, is_watched: bool) {
        match is_watched {
            true => self.watched.insert(account),
            false => self.watched.remove(&account),
        };
    }

    /// Whether an account is watched.
    pub(crate) fn is_watched(&self, account: AccountIndex) -> bool {
        self.watched.contains(&account)
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

    /// The orders of a symbol and side whose accounts are watched: searched by these accounts or one by one, whichever
    /// are fewer.
    fn of_watched(&self, of: (SymbolIndex, Side)) -> Vec<(AccountIndex, u32)> {
        let Some(told) = self.told.get(&of) else { return Vec::new() };
        let by_account = |&account| told.range((account, 0)..=(account, u32::MAX)).map(|(&order, _)| order);
        match self.watched.len() < told.len() {
            true => self.watched.iter().flat_map(by_account).collect(),
            false => told.keys().copied().filter(|(account, _)| self.watched.contains(account)).collect(),
        }
    }

    /// The number of orders of a symbol and side whose accounts are watched.
    pub(crate) fn watched_orders(&self, of: (SymbolIndex, Side)) -> usize {
        self.of_watched(of).len()
    }

    /// The slots of the orders of a symbol and side whose accounts are watched and whose triggers are not those told
    /// last. They are told from now on.
    pub(crate) fn take_moved(&mut self, of: (SymbolIndex, Side)) -> Vec<u32> {
        let (watched, mut moved) = (self.of_watched(of), Vec::new());
        let (Some(following), Some(told)) = (self.of_side.get(&of), self.told.get_mut(&of)) else { return moved };
        for order in watched {
            let (_, slot) = order;
            let (trail, group) = self.by_slot[&slot];
            let now = following.trigger(trail, group);
            if told.insert(order, now) != Some(now) {
                moved.push(slot);
            }
        }
        moved
    }
}
