//! Throws the kill switch: cancels the open orders of a scope, and refuses new ones in it until it is released. One
//! command cancels no more than [`CANCELS_MAX`](terms::CANCELS_MAX) orders, and while there are others the kill goes
//! on: the loop gives `ExpireOrders`, which cancels the next ones, and changes nothing if a release came before it.
//! Meanwhile no order of the scope executes. It is canceled when another order meets it in the book, when its turn
//! comes, when its trigger is reached, while it is under way, or when it waited behind others. Orders that count the
//! book before they execute leave it out, and an auction cancels those in its symbol before it ends. So no order of a
//! killed scope executes or joins a book later. Each command takes time proportional to the orders that it cancels,
//! however many there are or ever were.

use std::collections::BTreeSet;

use terms::{AccountIndex, CancelReason, Event, KillScope, Kills, Reject, Reply, Side, SymbolIndex};

use crate::engine::Engine;
use crate::orders::of_account::Taken;

impl Engine {
    /// The kill switches that are on.
    pub fn kills(&self) -> &Kills {
        &self.kills
    }

    /// Whether a scope is killed already. Errors: the refusal of a command that would kill it.
    pub fn is_killed(&self, scope: KillScope) -> Result<bool, Reject> {
        Ok(self.kills.is_killed(self.scope(scope)?))
    }

    fn scope(&self, scope: KillScope) -> Result<KillScope<AccountIndex, SymbolIndex>, Reject> {
        Ok(match scope {
            KillScope::Everything => KillScope::Everything,
            KillScope::Account(id) => KillScope::Account(self.accounts.find(id).ok_or(Reject::UnknownAccount)?),
            KillScope::Symbol(name) => KillScope::Symbol(self.symbols.find(name).ok_or(Reject::UnknownSymbol)?),
        })
    }

    /// Kills or releases a scope.
    #[cold]
    pub(crate) fn change_kill(
        &mut self,
        scope: KillScope,
        is_killed: bool,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let scope = self.scope(scope)?;
        if !is_killed && self.has_open_orders(scope) {
            return Err(Reject::KillGoesOn);
        }
        self.switch(scope, is_killed, events);
        if !is_killed {
            return Ok(Reply::Created);
        }
        let orders = self.cancel_killed(scope, events);
        let left = self.kills_going_on.contains(&scope).then(|| self.newest_order());
        Ok(Reply::CanceledAll { orders, left, sequence: self.sequence })
    }

    /// Kills or releases a scope, and cancels nothing. A release of what has open orders was refused before.
    pub(crate) fn switch(
        &mut self,
        scope: KillScope<AccountIndex, SymbolIndex>,
        is_killed: bool,
        events: &mut impl FnMut(Event),
    ) {
        if !is_killed {
            self.kills_going_on.remove(&scope);
        }
        if self.kills.is_killed(scope) != is_killed {
            self.kills.set(scope, is_killed);
            events(Event::KillChanged { scope, is_killed });
            self.kills_going_on.extend(Some(scope).filter(|_| is_killed));
        }
    }

    /// Cancels the remaining orders of kills, one scope after the other, as far as the command goes.
    pub(crate) fn go_on_with_kills(&mut self, events: &mut impl FnMut(Event)) {
        while let Some(&scope) = self.kills_going_on.first().filter(|_| self.cancels_left > 0) {
            self.cancel_killed(scope, events);
        }
    }

    /// Cancels the first open orders of a scope if its kill goes on; the kill is over if there are no more. Returns the
    /// number of orders that ended.
    pub(crate) fn cancel_killed(
        &mut self,
        scope: KillScope<AccountIndex, SymbolIndex>,
        events: &mut impl FnMut(Event),
    ) -> usize {
        if !self.kills_going_on.contains(&scope) {
            return 0;
        }
        let Taken { mut orders, is_cut } = self.first_open_orders(scope, self.cancels_left);
        if !is_cut {
            self.kills_going_on.remove(&scope);
        }
        orders.sort_unstable();
        self.cancel_each(&orders, CancelReason::Asked, events)
    }

    /// Whether a kill may have orders left to cancel.
    pub fn has_kills_going_on(&self) -> bool {
        !self.kills_going_on.is_empty()
    }

    /// Whether an open order remains of a kill. Scopes without open orders leave the kills that go on, each once.
    pub(crate) fn has_killed_orders_left(&mut self) -> bool {
        while let Some(&scope) = self.kills_going_on.first() {
            if self.has_open_orders(scope) {
                return true;
            }
            self.kills_going_on.remove(&scope);
        }
        false
    }

    /// The number of killed scopes that have open orders. The others leave the kills that go on.
    pub(crate) fn count_kills_going_on(&mut self) -> u32 {
        let mut going_on = self.kills_going_on.clone();
        going_on.retain(|&scope| self.has_open_orders(scope));
        self.kills_going_on = going_on;
        u32::try_from(self.kills_going_on.len()).unwrap_or(u32::MAX)
    }

    /// Whether a kill of this scope may have orders left to cancel. Errors: the refusal of a command that would kill
    /// it.
    pub fn goes_on(&self, scope: KillScope) -> Result<bool, Reject> {
        Ok(self.kills_going_on.contains(&self.scope(scope)?))
    }

    pub(crate) fn has_open_orders(&mut self, scope: KillScope<AccountIndex, SymbolIndex>) -> bool {
        self.kills_going_on.contains(&scope)
            && match scope {
                KillScope::Account(account) => self.has_orders_of(account, None, None),
                KillScope::Symbol(symbol) => self.has_open_orders_in(symbol),
                KillScope::Everything => {
                    (0..).map(SymbolIndex).take(self.symbols.all().len()).any(|symbol| self.has_open_orders_in(symbol))
                }
            }
    }

    /// Whether a symbol has open orders. The walk sorts those that follow its price, so it comes second.
    fn has_open_orders_in(&self, symbol: SymbolIndex) -> bool {
        self.stops.trailing(symbol) > 0 || self.open_slots(symbol).next().is_some()
    }

    /// The first open orders of a scope. Of an account these are the oldest ones. Of a symbol these are first the ones
    /// in its book, by side and best price first, then those that wait for a price, then those that wait for their turn
    /// beginning with the one under way, then those that wait for another order. Of everything it goes symbol by
    /// symbol. Takes time proportional to the result, and for everything also to the number of symbols.
    fn first_open_orders(&mut self, scope: KillScope<AccountIndex, SymbolIndex>, most: usize) -> Taken {
        match scope {
            KillScope::Account(account) => self.take_orders_of(account, None, None, most),
            KillScope::Symbol(symbol) => self.first_of(self.open_slots(symbol), most),
            KillScope::Everything => {
                let symbols = (0..).map(SymbolIndex).take(self.symbols.all().len());
                self.first_of(symbols.flat_map(|symbol| self.open_slots(symbol)), most)
            }
        }
    }

    fn first_of(&self, mut slots: impl Iterator<Item = u32>, most: usize) -> Taken {
        let orders = slots.by_ref().take(most).map(|slot| (self.orders.get(slot).id, slot)).collect();
        Taken { orders, is_cut: slots.next().is_some() }
    }

    /// The slots of the open orders of a symbol.
    fn open_slots(&self, symbol: SymbolIndex) -> impl Iterator<Item = u32> {
        let on_book = [Side::Buy, Side::Sell].into_iter().flat_map(move |side| self.books.levels(symbol, side));
        let first = on_book.map(|level| level.oldest).chain(self.stops.queues_of(&self.orders, symbol));
        let pending = self.pendings.of_symbol(symbol).map(|pending| pending.slot);
        first.flat_map(|first| self.orders.queue_from(first)).chain(pending)
    }

    /// Whether there are no open orders in killed scopes whose kill does not go on.
    pub(crate) fn are_kills_sound(&self) -> bool {
        self.killed_with_open_orders().is_subset(&self.kills_going_on)
    }

    /// Finds the kills that go on, after an import.
    pub(crate) fn find_kills_going_on(&mut self) {
        self.kills_going_on = self.killed_with_open_orders();
    }

    /// Takes time proportional to the state if anything is killed.
    fn killed_with_open_orders(&self) -> BTreeSet<KillScope<AccountIndex, SymbolIndex>> {
        let slots = if self.kills.is_empty() { 0 } else { self.orders.slots_used() };
        let open = (0..slots).filter(|&slot| !self.orders.get(slot).open.is_zero());
        open.flat_map(|slot| self.kills.of(self.orders.get(slot).account, self.standing_as(slot).symbol)).collect()
    }

    /// Whether an open order of this account and symbol remains of a kill that goes on.
    #[inline]
    pub(crate) fn is_killed_order(&self, account: AccountIndex, symbol: SymbolIndex) -> bool {
        self.has_kills_going_on() && self.kills.stops(account, symbol).is_some()
    }

    /// Cancels the orders in a symbol that remain of kills, as far as the command goes. Returns whether these were all.
    pub(crate) fn end_killed_in(&mut self, symbol: SymbolIndex, events: &mut impl FnMut(Event)) -> bool {
        let going_on: Vec<_> = self.kills_going_on.iter().copied().collect();
        going_on.into_iter().all(|scope| {
            let Taken { mut orders, is_cut } = match scope {
                KillScope::Account(account) => self.take_orders_of(account, Some(symbol), None, self.cancels_left),
                KillScope::Symbol(killed) if killed != symbol => return true,
                KillScope::Symbol(_) | KillScope::Everything => {
                    self.first_of(self.open_slots(symbol), self.cancels_left)
                }
            };
            orders.sort_unstable();
            self.cancel_each(&orders, CancelReason::Asked, events);
            !is_cut
        })
    }

    /// Checks that an account may place orders in a symbol. Errors: `AccountClosed`, `Killed`.
    #[cold]
    pub(crate) fn check_takes_orders(&self, account: AccountIndex, symbol: SymbolIndex) -> Result<(), Reject> {
        self.check_not_closed(account)?;
        match self.kills.stops(account, symbol) {
            None => Ok(()),
            Some(scope) => Err(Reject::Killed(scope.kind())),
        }
    }
}
