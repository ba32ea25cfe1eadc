//! Throws the kill switch: cancels what is open in a scope with one command, and has new orders there refused until it is released. So
//! nothing of a killed scope is open, waits, or comes to a book later. One that is to wait for another order is of its account and
//! symbol. To kill an account takes as long as to cancel all its orders. To kill a symbol or everything looks at all open orders, some
//! 20 ns each; that it is killed already is answered at once.

use crate::command::CancelReason;
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

    /// The ids and slots of the open orders of a scope, the oldest first.
    fn open_orders_of(&mut self, scope: KillScope<AccountIndex, SymbolIndex>) -> Vec<(OrderId, u32)> {
        let is_meant = |slot: u32| match scope {
            KillScope::Everything => true,
            KillScope::Symbol(symbol) => self.standing_as(slot).symbol == symbol,
            KillScope::Account(_) => unreachable!("invariant: these are found by their account"),
        };
        if let KillScope::Account(account) = scope {
            return self.take_orders_of(account, None);
        }
        let open = (0..self.orders.slots_used()).filter(|&slot| !self.orders.get(slot).open.is_zero());
        let mut found: Vec<(OrderId, u32)> =
            open.filter(|&slot| is_meant(slot)).map(|slot| (self.orders.get(slot).id, slot)).collect();
        found.sort_unstable();
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
