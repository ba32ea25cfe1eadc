//! Accounts as their owners see them: the money they can spend, the shares they can sell, and what open orders hold.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use slots::SpreadTable;
use terms::{AccountId, AccountIndex, AccountStatus, Money};

use crate::holdings::Holdings;
use crate::orders::List;

/// An account.
#[derive(Debug)]
pub struct Account {
    pub id: AccountId,
    /// Money that it may spend.
    pub balance: Money,
    /// Money that its open buys hold.
    pub held: Money,
    pub holdings: Holdings,
    pub open_orders: u32,
    /// The number of its transfers, and whether it is closed.
    pub status: AccountStatus,
    pub(crate) orders: List,
    /// The number of subscribers that get its news.
    pub(crate) watchers: u32,
}

impl Account {
    /// Whether any subscriber gets its news.
    pub(crate) fn is_watched(&self) -> bool {
        self.watchers > 0
    }
}

/// All accounts, by index and by id.
#[derive(Debug, Default)]
pub(crate) struct Accounts {
    all: Vec<Account>,
    by_id: SpreadTable<u32>,
    /// Clients choose ids: a seed that they do not know keeps them from choosing ids that collide.
    hasher: RandomState,
}

impl Accounts {
    pub(crate) fn all(&self) -> &[Account] {
        &self.all
    }

    pub(crate) fn get(&self, account: AccountIndex) -> &Account {
        &self.all[account.0 as usize]
    }

    /// Returns `None` for an account that does not exist yet.
    pub(crate) fn find_index(&self, account: AccountIndex) -> Option<&Account> {
        self.all.get(account.0 as usize)
    }

    pub(crate) fn get_mut(&mut self, account: AccountIndex) -> &mut Account {
        &mut self.all[account.0 as usize]
    }

    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut Account> {
        self.all.iter_mut()
    }

    pub(crate) fn find(&self, id: AccountId) -> Option<AccountIndex> {
        let same = |index: &u32| self.all[*index as usize].id == id;
        let hash = self.hasher.hash_one(id);
        self.by_id.of(hash).find(hash, same).map(|index| AccountIndex(*index))
    }

    /// Adds the account of the next index.
    pub(crate) fn add(&mut self, id: AccountId, balance: Money) {
        let index = u32::try_from(self.all.len()).expect("invariant: the engine keeps at most 2^32 - 1 accounts");
        self.all.push(Account {
            id,
            balance,
            held: Money::ZERO,
            holdings: Holdings::default(),
            open_orders: 0,
            status: AccountStatus::NEW,
            orders: List::default(),
            watchers: 0,
        });
        let (all, hasher) = (&self.all, &self.hasher);
        let hash = hasher.hash_one(id);
        self.by_id.of_mut(hash).insert_unique(hash, index, |at| hasher.hash_one(all[*at as usize].id));
    }
}
