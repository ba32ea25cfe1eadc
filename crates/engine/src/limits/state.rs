//! Accounts with limits, and their counts: the open orders of each, and the shares of each symbol that these may bring
//! or hold. Other accounts are not counted. This file knows neither books nor prices.

use std::collections::BTreeMap;

use terms::{AccountIndex, AccountLimits, Position, Shares, SymbolIndex};

/// An account with limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limited {
    pub(crate) limits: AccountLimits,
    /// The number of open orders.
    pub(crate) open: u64,
    /// The shares that its open orders buy and sell, those of a pair once. Symbols without any have no entry.
    in_orders: BTreeMap<SymbolIndex, Position>,
}

impl Limited {
    fn new(limits: AccountLimits) -> Limited {
        Limited { limits, open: 0, in_orders: BTreeMap::new() }
    }

    /// The shares of a symbol that its open orders buy and sell.
    pub(crate) fn in_orders(&self, symbol: SymbolIndex) -> Position {
        self.in_orders.get(&symbol).copied().unwrap_or(Position::ZERO)
    }
}

/// All accounts with limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitedAccounts {
    of_account: BTreeMap<AccountIndex, Limited>,
}

impl LimitedAccounts {
    /// Whether no account has limits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.of_account.is_empty()
    }

    pub(crate) fn get(&self, account: AccountIndex) -> Option<&Limited> {
        self.of_account.get(&account)
    }

    /// Replaces the limits of an account. Returns whether it had none before, so that its orders are not counted yet.
    pub(crate) fn set(&mut self, account: AccountIndex, limits: AccountLimits) -> bool {
        if limits == AccountLimits::NONE {
            self.of_account.remove(&account);
            return false;
        }
        match self.of_account.get_mut(&account) {
            Some(limited) => {
                limited.limits = limits;
                false
            }
            None => {
                self.of_account.insert(account, Limited::new(limits));
                true
            }
        }
    }

    /// Counts one open order more, or one fewer.
    pub(crate) fn count_order(&mut self, account: AccountIndex, opens: bool) {
        let Some(limited) = self.of_account.get_mut(&account) else { return };
        let counted = if opens { limited.open.checked_add(1) } else { limited.open.checked_sub(1) };
        limited.open = counted.expect("invariant: an order that is done was open");
    }

    /// Adds shares that open orders buy or sell.
    pub(crate) fn add(&mut self, account: AccountIndex, symbol: SymbolIndex, shares: Shares) {
        let Some(limited) = self.of_account.get_mut(&account) else { return };
        let counted = limited.in_orders.entry(symbol).or_insert(Position::ZERO);
        *counted = counted.plus(shares.position());
    }

    /// Takes off shares that open orders no longer buy or sell.
    pub(crate) fn take(&mut self, account: AccountIndex, symbol: SymbolIndex, shares: Shares) {
        let Some(limited) = self.of_account.get_mut(&account).filter(|_| !shares.is_zero()) else { return };
        let left = limited.in_orders(symbol).minus(shares.position());
        assert!(!left.is_negative(), "invariant: shares of orders that are open were counted");
        match left == Position::ZERO {
            true => limited.in_orders.remove(&symbol),
            false => limited.in_orders.insert(symbol, left),
        };
    }

    /// All accounts with their limits, by index.
    pub(crate) fn all(&self) -> impl Iterator<Item = (AccountIndex, AccountLimits)> {
        self.of_account.iter().map(|(&account, limited)| (account, limited.limits))
    }

    /// The limits with nothing counted.
    pub(crate) fn uncounted(&self) -> LimitedAccounts {
        let of_account = self.of_account.iter().map(|(&account, limited)| (account, Limited::new(limited.limits)));
        LimitedAccounts { of_account: of_account.collect() }
    }
}
