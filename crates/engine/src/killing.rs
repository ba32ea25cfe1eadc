//! Throws the kill switch: cancels what is open in a scope with one command, and has new orders there refused until it
//! is released. So nothing of a killed scope is open, waits, or comes to a book later. One that is to wait for another
//! order is of its account and symbol. To kill takes as long as to cancel all orders of the scope, however many there
//! once were; that it is killed already is answered at once.

use crate::command::{CancelReason, Side};
use crate::engine::Engine;
use crate::event::Event;
use crate::ids::{AccountIndex, OrderId, SymbolIndex};
use crate::kills::{KillScope, Kills};
use crate::reject::Reject;
use crate::reply::Reply;

impl Engine {
    /// What is killed.
    pub fn kills(&self) -> &Kills {
        &self.kills
    }

    /// Whether a scope is killed already. Errors: what a command is told that kills it.
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

    /// Kills a scope, or releases it.
    #[cold]
    pub(crate) fn change_kill(
        &mut self,
        scope: KillScope,
        is_killed: bool,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let scope = self.scope(scope)?;
        let changes = self.kills.is_killed(scope) != is_killed;
        if changes {
            self.kills.set(scope, is_killed);
            events(Event::KillChanged { scope, is_killed });
        }
        if !is_killed {
            return Ok(Reply::Created);
        }
        let found = if changes { self.open_orders_of(scope) } else { Vec::new() };
        self.cancel_each(&found, CancelReason::Asked, events);
        Ok(Reply::CanceledAll { orders: found.len(), sequence: self.sequence })
    }

    /// The ids and slots of the open orders of a scope, the oldest first. Takes time proportional to what is open
    /// there, and for everything to the symbols.
    fn open_orders_of(&mut self, scope: KillScope<AccountIndex, SymbolIndex>) -> Vec<(OrderId, u32)> {
        let mut found = match scope {
            KillScope::Account(account) => return self.take_orders_of(account, None),
            KillScope::Symbol(symbol) => self.open_orders_of_symbol(symbol),
            KillScope::Everything if self.open_order_count() == 0 => Vec::new(),
            KillScope::Everything => {
                self.symbol_indexes().flat_map(|symbol| self.open_orders_of_symbol(symbol)).collect()
            }
        };
        found.sort_unstable();
        found
    }

    fn symbol_indexes(&self) -> impl Iterator<Item = SymbolIndex> + use<> {
        (0..).map(SymbolIndex).take(self.symbols.all().len())
    }

    /// The ids and slots of the open orders of a symbol, in no order that means anything.
    fn open_orders_of_symbol(&self, symbol: SymbolIndex) -> Vec<(OrderId, u32)> {
        let mut found = Vec::new();
        for side in [Side::Buy, Side::Sell] {
            self.books.walk(symbol, side, &self.orders, &mut |_, slot| found.push((self.orders.get(slot).id, slot)));
        }
        self.stops.walk_symbol(&self.orders, symbol, &mut |slot| found.push((self.orders.get(slot).id, slot)));
        found.extend(self.pendings.of_symbol(symbol).map(|pending| (pending.order, pending.slot)));
        found
    }

    /// Whether nothing is open where orders are killed.
    pub(crate) fn are_kills_sound(&self) -> bool {
        let is_stopped = |slot: u32| {
            let order = self.orders.get(slot);
            !order.open.is_zero() && self.kills.stops(order.account, self.standing_as(slot).symbol).is_some()
        };
        self.kills.is_empty() || !(0..self.orders.slots_used()).any(is_stopped)
    }

    /// Errors: `Killed`.
    #[cold]
    pub(crate) fn check_not_killed(&self, account: AccountIndex, symbol: SymbolIndex) -> Result<(), Reject> {
        match self.kills.stops(account, symbol) {
            None => Ok(()),
            Some(scope) => Err(Reject::Killed(scope.kind())),
        }
    }
}
