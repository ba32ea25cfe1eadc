//! Who pays which fees. What is done with them stands in `charging.rs`. Followers of events keep one, too.

use std::collections::BTreeMap;

use crate::fees::{Fees, Tier};
use crate::ids::{AccountIndex, SymbolIndex};

/// The fees of the symbols and tiers that have any, and the tiers of the accounts that are of another than the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeeSchedule {
    fees: BTreeMap<(SymbolIndex, Tier), Fees<AccountIndex>>,
    tiers: BTreeMap<AccountIndex, Tier>,
}

impl FeeSchedule {
    /// Nobody pays anything, and everybody is of the first tier.
    pub fn new() -> FeeSchedule {
        FeeSchedule { fees: BTreeMap::new(), tiers: BTreeMap::new() }
    }

    /// Whether nobody pays anything.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.fees.is_empty()
    }

    /// What the accounts of a tier pay for executions in a symbol.
    pub fn get(&self, symbol: SymbolIndex, tier: Tier) -> Option<Fees<AccountIndex>> {
        self.fees.get(&(symbol, tier)).copied()
    }

    /// Has them pay something else.
    pub fn set(&mut self, symbol: SymbolIndex, tier: Tier, fees: Option<Fees<AccountIndex>>) {
        match fees {
            Some(fees) => self.fees.insert((symbol, tier), fees),
            None => self.fees.remove(&(symbol, tier)),
        };
    }

    /// Which one an account is of.
    pub fn tier(&self, account: AccountIndex) -> Tier {
        self.tiers.get(&account).copied().unwrap_or(Tier::FIRST)
    }

    /// Puts an account into another one.
    pub fn set_tier(&mut self, account: AccountIndex, tier: Tier) {
        match tier {
            Tier::FIRST => self.tiers.remove(&account),
            tier => self.tiers.insert(account, tier),
        };
    }

    /// What an account pays for executions in a symbol.
    pub fn of(&self, symbol: SymbolIndex, account: AccountIndex) -> Option<Fees<AccountIndex>> {
        self.get(symbol, self.tier(account))
    }

    /// By symbol and tier.
    pub fn all(&self) -> impl Iterator<Item = (SymbolIndex, Tier, Fees<AccountIndex>)> {
        self.fees.iter().map(|(&(symbol, tier), &fees)| (symbol, tier, fees))
    }

    /// By account.
    pub fn tiers(&self) -> impl Iterator<Item = (AccountIndex, Tier)> {
        self.tiers.iter().map(|(&account, &tier)| (account, tier))
    }
}
