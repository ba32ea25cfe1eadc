//! The accounts that a member's rights cover.

use terms::AccountId;

/// Accounts in order, each once. Most members have one or two, so a search compares a few ids and computes no hash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountSet(Box<[AccountId]>);

impl AccountSet {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains(&self, account: AccountId) -> bool {
        self.0.binary_search(&account).is_ok()
    }

    /// The number of accounts.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Iterates over the accounts in order.
    pub fn iter(&self) -> impl Iterator<Item = AccountId> {
        self.0.iter().copied()
    }
}

impl FromIterator<AccountId> for AccountSet {
    fn from_iter<I: IntoIterator<Item = AccountId>>(accounts: I) -> AccountSet {
        let mut accounts: Vec<AccountId> = accounts.into_iter().collect();
        accounts.sort_unstable();
        accounts.dedup();
        AccountSet(accounts.into())
    }
}

impl<const N: usize> From<[AccountId; N]> for AccountSet {
    fn from(accounts: [AccountId; N]) -> AccountSet {
        accounts.into_iter().collect()
    }
}
