//! The accounts that a member trades for and that its session does not listen to yet: the member got them, or they were
//! created, behind its Logon.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use exchange::Rights;
use terms::AccountId;

/// Accounts that are looked for at once.
const LOOKED_FOR_AT_ONCE: usize = 256;

/// The accounts, and how far they were looked for. As long as neither the rights of the member nor the number of all
/// accounts changes, nothing is to be found.
#[derive(Default)]
pub(crate) struct ComingAccounts {
    /// The rights of which these are the accounts.
    rights: Option<Arc<Rights>>,
    missing: VecDeque<AccountId>,
    /// The number of those that are still to be looked for.
    left: usize,
    /// The number of all accounts when the search for these began.
    created: usize,
}

impl ComingAccounts {
    /// Notes the current rights of the member, of whose accounts the session listens to these. Returns whether the
    /// rights have changed. `most`: the number of accounts to which the session listens, at most.
    pub(crate) fn follow(&mut self, rights: &Arc<Rights>, listened: &HashSet<AccountId>, most: usize) -> bool {
        if self.rights.as_ref().is_some_and(|known| Arc::ptr_eq(known, rights)) {
            return false;
        }
        let missing = rights.traded().into_iter().filter(|account| !listened.contains(account));
        let missing = missing.take(most.saturating_sub(listened.len())).collect();
        *self = ComingAccounts { rights: Some(Arc::clone(rights)), missing, left: 0, created: 0 };
        true
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// Whether all of them were looked for.
    pub(crate) fn were_looked_for(&self) -> bool {
        self.left == 0
    }

    /// Begins to look for all of them where there are further accounts. `created`: the number of all accounts.
    pub(crate) fn look_again(&mut self, created: usize) {
        if created != self.created {
            (self.created, self.left) = (created, self.missing.len());
        }
    }

    /// Takes the next ones to be looked for, so many at most.
    pub(crate) fn take_some(&mut self, most: usize) -> Vec<AccountId> {
        let count = self.left.min(LOOKED_FOR_AT_ONCE).min(most);
        self.left = self.left.saturating_sub(count);
        self.missing.drain(..count).collect()
    }

    /// Puts back those that were not found.
    pub(crate) fn put_back(&mut self, missing: impl IntoIterator<Item = AccountId>) {
        self.missing.extend(missing);
    }
}

#[cfg(test)]
mod tests {
    use exchange::Role;

    use super::*;

    fn account(number: usize) -> AccountId {
        AccountId::parse(number.to_string().as_bytes()).expect("digits")
    }

    fn trader(accounts: usize) -> Arc<Rights> {
        let accounts = (1..=accounts).map(account).collect();
        Arc::new(Rights { roles: [Role::Trader].into(), accounts, ..Rights::default() })
    }

    #[test]
    fn accounts_are_looked_for_where_something_has_changed_and_some_at_a_time() {
        let (rights, mut listened) = (trader(600), HashSet::from([account(1)]));
        let mut coming = ComingAccounts::default();
        assert!(coming.follow(&rights, &listened, 1_000) && !coming.follow(&rights, &listened, 1_000));
        let mut search = |coming: &mut ComingAccounts, created: usize| {
            coming.look_again(created);
            let mut searched = Vec::new();
            while !coming.were_looked_for() {
                let some = coming.take_some(1_000);
                searched.push(some.len());
                // The market has the first accounts so far.
                let (found, missing): (Vec<_>, Vec<_>) =
                    some.into_iter().partition(|some| (1..=created).any(|number| account(number) == *some));
                listened.extend(found);
                coming.put_back(missing);
            }
            searched
        };
        assert_eq!(search(&mut coming, 10), [256, 256, 87]);
        assert!(search(&mut coming, 10).is_empty(), "nothing has changed");
        assert_eq!(search(&mut coming, 590), [256, 256, 78]);
        assert_eq!(search(&mut coming, 600), [10]);
        assert!(coming.is_empty());
        assert!(coming.follow(&trader(2_000), &listened, 1_000) && coming.missing.len() == 400);
    }
}
