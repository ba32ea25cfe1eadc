//! The schedule of fees: which accounts pay which. `fees/apply.rs` takes them. Followers of events keep one, too.

use std::collections::BTreeMap;

use crate::fees::{Fees, Tier};
use crate::ids::{AccountIndex, SymbolIndex};

/// The fees of symbols and tiers that have any, and the tiers of accounts that are not in the first one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeeSchedule {
    fees: BTreeMap<(SymbolIndex, Tier), Fees<AccountIndex>>,
    tiers: BTreeMap<AccountIndex, Tier>,
}

impl FeeSchedule {
    /// Makes a schedule without fees, with every account in the first tier.
    pub fn new() -> FeeSchedule {
        FeeSchedule { fees: BTreeMap::new(), tiers: BTreeMap::new() }
    }

    /// Whether no account pays fees.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.fees.is_empty()
    }

    /// The fees that accounts of a tier pay for executions in a symbol.
    pub fn get(&self, symbol: SymbolIndex, tier: Tier) -> Option<Fees<AccountIndex>> {
        self.fees.get(&(symbol, tier)).copied()
    }

    /// Replaces the fees of a symbol and tier.
    pub fn set(&mut self, symbol: SymbolIndex, tier: Tier, fees: Option<Fees<AccountIndex>>) {
        match fees {
            Some(fees) => self.fees.insert((symbol, tier), fees),
            None => self.fees.remove(&(symbol, tier)),
        };
    }

    /// The tier of an account.
    pub fn tier(&self, account: AccountIndex) -> Tier {
        self.tiers.get(&account).copied().unwrap_or(Tier::FIRST)
    }

    /// Moves an account to a tier.
    pub fn set_tier(&mut self, account: AccountIndex, tier: Tier) {
        match tier {
            Tier::FIRST => self.tiers.remove(&account),
            tier => self.tiers.insert(account, tier),
        };
    }

    /// The fees that an account pays for executions in a symbol.
    pub fn of(&self, symbol: SymbolIndex, account: AccountIndex) -> Option<Fees<AccountIndex>> {
        self.get(symbol, self.tier(account))
    }

    /// All fees, by symbol and tier.
    pub fn all(&self) -> impl Iterator<Item = (SymbolIndex, Tier, Fees<AccountIndex>)> {
        self.fees.iter().map(|(&(symbol, tier), &fees)| (symbol, tier, fees))
    }

    /// Accounts that are not in the first tier, by account.
    pub fn tiers(&self) -> impl Iterator<Item = (AccountIndex, Tier)> {
        self.tiers.iter().map(|(&account, &tier)| (account, tier))
    }
}
