//! Kill switches: the accounts and symbols that take no orders until they are released, or the whole venue.
//! `kill_switch/apply.rs` applies them to orders. Followers of events keep them, too.

use std::collections::BTreeSet;

use crate::ids::{AccountId, AccountIndex, Symbol, SymbolIndex};

/// The scope of a kill switch. It names accounts and symbols by their names, and inside the engine by their indexes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum KillScope<A = AccountId, S = Symbol> {
    /// All orders, in all symbols.
    Everything,
    /// The orders of an account.
    Account(A),
    /// The orders in a symbol.
    Symbol(S),
}

impl<A, S> KillScope<A, S> {
    /// The scope without its account or symbol.
    pub fn kind(&self) -> KillScope<(), ()> {
        match self {
            KillScope::Everything => KillScope::Everything,
            KillScope::Account(_) => KillScope::Account(()),
            KillScope::Symbol(_) => KillScope::Symbol(()),
        }
    }

    /// The scope in one word.
    pub fn name(&self) -> &'static str {
        match self {
            KillScope::Everything => "everything",
            KillScope::Account(_) => "account",
            KillScope::Symbol(_) => "symbol",
        }
    }
}

/// The place of an account among those that are killed or released together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Among {
    First,
    Between,
    Last,
}

impl Among {
    /// The place of the account with this index in a list of at least two.
    pub fn of(index: usize, accounts: usize) -> Among {
        match index {
            0 => Among::First,
            _ if index.saturating_add(1) == accounts => Among::Last,
            _ => Among::Between,
        }
    }
}

/// The kill switches that are on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kills {
    scopes: BTreeSet<KillScope<AccountIndex, SymbolIndex>>,
}

impl Kills {
    /// No kill switch is on.
    pub fn new() -> Kills {
        Kills::default()
    }

    /// Whether no kill switch is on.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    /// Whether this very scope is killed: an account's switch is not on because the one for everything is.
    pub fn is_killed(&self, scope: KillScope<AccountIndex, SymbolIndex>) -> bool {
        self.scopes.contains(&scope)
    }

    /// Kills or releases a scope.
    pub fn set(&mut self, scope: KillScope<AccountIndex, SymbolIndex>, is_killed: bool) {
        match is_killed {
            true => self.scopes.insert(scope),
            false => self.scopes.remove(&scope),
        };
    }

    /// The widest killed scope that keeps an account from placing orders in a symbol.
    pub fn stops(&self, account: AccountIndex, symbol: SymbolIndex) -> Option<KillScope<AccountIndex, SymbolIndex>> {
        self.of(account, symbol).next()
    }

    /// All killed scopes that an order of this account and symbol is in, the widest first.
    pub fn of(
        &self,
        account: AccountIndex,
        symbol: SymbolIndex,
    ) -> impl Iterator<Item = KillScope<AccountIndex, SymbolIndex>> {
        let scopes = [KillScope::Everything, KillScope::Symbol(symbol), KillScope::Account(account)];
        scopes.into_iter().filter(|&scope| self.is_killed(scope))
    }

    /// All killed scopes: everything first, then accounts and symbols by their indexes.
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
