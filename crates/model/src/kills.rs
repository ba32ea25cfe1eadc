//! The kill switch: a killed scope has no open orders, and takes none.

use engine::{AccountIndex, CancelReason, Event, KillScope, OrderId, Reject, Reply, SymbolIndex};

use crate::exchange::{Model, Order};

impl Model {
    /// The killed scopes, sorted.
    pub fn kills(&self) -> &[KillScope<AccountIndex, SymbolIndex>] {
        &self.kills
    }

    /// Whether a scope is killed.
    pub fn is_killed(&self, scope: KillScope) -> Result<bool, Reject> {
        self.scope(scope).map(|scope| self.kills.contains(&scope))
    }

    fn scope(&self, scope: KillScope) -> Result<KillScope<AccountIndex, SymbolIndex>, Reject> {
        Ok(match scope {
            KillScope::Everything => KillScope::Everything,
            KillScope::Account(id) => KillScope::Account(self.account_named(id)?),
            KillScope::Symbol(name) => KillScope::Symbol(self.symbol_named(name)?),
        })
    }

    pub(crate) fn kill(&mut self, scope: KillScope, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        let scope = self.scope(scope)?;
        if self.kills.contains(&scope) {
            return Ok(Reply::CanceledAll { orders: 0, sequence: self.sequence });
        }
        self.kills.push(scope);
        self.kills.sort();
        events.push(Event::KillChanged { scope, is_killed: true });
        let is_meant = |order: &Order| match scope {
            KillScope::Everything => true,
            KillScope::Account(account) => order.account == account,
            KillScope::Symbol(symbol) => order.symbol == symbol,
        };
        let meant: Vec<OrderId> = self.open_orders().filter(|order| is_meant(order)).map(|order| order.id).collect();
        Ok(self.cancel_each(meant, CancelReason::Asked, events))
    }

    pub(crate) fn release_killed(&mut self, scope: KillScope, events: &mut Vec<Event>) -> Result<Reply, Reject> {
        let scope = self.scope(scope)?;
        if self.kills.contains(&scope) {
            self.kills.retain(|&killed| killed != scope);
            events.push(Event::KillChanged { scope, is_killed: false });
        }
        Ok(Reply::Created)
    }

    /// Checks that an order of this account in this symbol may be placed. Errors: a scope that covers it is killed.
    pub(crate) fn check_not_killed(&self, account: AccountIndex, symbol: SymbolIndex) -> Result<(), Reject> {
        for scope in [KillScope::Everything, KillScope::Symbol(symbol), KillScope::Account(account)] {
            if self.kills.contains(&scope) {
                return Err(Reject::Killed(scope.kind()));
            }
        }
        Ok(())
    }
}
