//! The kill switch: which accounts and symbols take no orders until they are released, or that none does. What it does to orders
//! stands in `killing.rs`. Followers of events keep it, too.

use std::collections::BTreeSet;

use crate::ids::{AccountId, AccountIndex, Symbol, SymbolIndex};

/// Whose orders are killed. Accounts and symbols go by their names, and behind the engine by their indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KillScope<A = AccountId, S = Symbol> {
    /// Everybody's, in all symbols.
    Everything,
    /// Those of an account.
    Account(A),
    /// Those in a symbol.
    Symbol(S),
}

impl<A, S> KillScope<A, S> {
    /// The same without saying whose or which.
    pub fn kind(&self) -> KillScope<(), ()> {
        match self {
            KillScope::Everything => KillScope::Everything,
            KillScope::Account(_) => KillScope::Account(()),
            KillScope::Symbol(_) => KillScope::Symbol(()),
        }
    }

    /// In one word.
    pub fn name(&self) -> &'static str {
        match self {
            KillScope::Everything => "everything",
            KillScope::Account(_) => "account",
            KillScope::Symbol(_) => "symbol",
        }
    }
}

/// What is killed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kills {
    scopes: BTreeSet<KillScope<AccountIndex, SymbolIndex>>,
}

impl Kills {
    /// Nothing is.
    pub fn new() -> Kills {
        Kills::default()
    }

    /// Whether nothing is.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Whether this very scope is: an account is not because everything is.
    pub fn is_killed(&self, scope: KillScope<AccountIndex, SymbolIndex>) -> bool {
        self.scopes.contains(&scope)
    }

    /// Kills a scope, or releases it.
    pub fn set(&mut self, scope: KillScope<AccountIndex, SymbolIndex>, is_killed: bool) {
        match is_killed {
            true => self.scopes.insert(scope),
            false => self.scopes.remove(&scope),
        };
    }

    /// The widest scope that keeps an account from placing orders in a symbol.
    pub fn stops(&self, account: AccountIndex, symbol: SymbolIndex) -> Option<KillScope<AccountIndex, SymbolIndex>> {
        self.of(account, symbol).next()
    }

    /// All scopes that do, the widest first.
    pub(crate) fn of(
        &self,
        account: AccountIndex,
        symbol: SymbolIndex,
    ) -> impl Iterator<Item = KillScope<AccountIndex, SymbolIndex>> {
        let scopes = [KillScope::Everything, KillScope::Symbol(symbol), KillScope::Account(account)];
        scopes.into_iter().filter(|&scope| self.is_killed(scope))
    }

    /// Everything first, then the accounts and the symbols by their indexes.
    pub fn all(&self) -> impl Iterator<Item = KillScope<AccountIndex, SymbolIndex>> {
        self.scopes.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_stopped_by_the_widest_scope_that_it_is_in() {
        let (one, two, spy, btc) = (AccountIndex(1), AccountIndex(2), SymbolIndex(1), SymbolIndex(2));
        let mut kills = Kills::new();
        assert!(kills.is_empty() && kills.stops(one, spy).is_none());
        kills.set(KillScope::Account(one), true);
        assert_eq!(kills.stops(one, spy), Some(KillScope::Account(one)));
        assert_eq!(kills.stops(two, spy), None);
        kills.set(KillScope::Symbol(spy), true);
        assert_eq!(kills.stops(one, spy), Some(KillScope::Symbol(spy)));
        assert_eq!([kills.stops(one, btc), kills.stops(two, btc)], [Some(KillScope::Account(one)), None]);
        kills.set(KillScope::Everything, true);
        assert_eq!(kills.stops(two, btc), Some(KillScope::Everything));
        let all: Vec<_> = kills.all().collect();
        assert_eq!(all, [KillScope::Everything, KillScope::Account(one), KillScope::Symbol(spy)]);
        all.into_iter().for_each(|scope| kills.set(scope, false));
        assert!(kills.is_empty());
    }
}
