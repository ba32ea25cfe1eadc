//! Presence: the connections that protect accounts, and the accounts whose orders are canceled because none is left.
//! The loop makes commands of it, and a replay, which sees only the commands, decides the same. Nothing of it is
//! stored: after a start no account has a connection, and each protected one has its grace from then on.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine::Engine;
use exchange::{PROTECTED_ACCOUNTS_MAX, Principal, ProtectorId, Rights};
use terms::{AccountId, Grace, OrderId};

/// The most accounts of which a turn cancels the orders because nobody came back: each may have many, and other
/// requests wait meanwhile.
const LOST_AT_ONCE: usize = 16;
/// The interval at which the rights of connected callers are reviewed.
const REVIEWED_EVERY: Duration = Duration::from_millis(250);

/// The connections that protect accounts.
#[derive(Default)]
pub(crate) struct Presence {
    accounts: HashMap<AccountId, Present>,
    protectors: HashMap<ProtectorId, Protector>,
    /// Accounts without a connection, and the times at which their orders are canceled.
    due: BTreeSet<(Duration, AccountId)>,
    /// Accounts whose protection this turn changes.
    pub(crate) changed: HashMap<AccountId, Changed>,
    /// The passed time at the begin of the turn.
    now: Duration,
    reviewed: Duration,
}

/// A change of an account's protection in a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changed {
    /// The grace that the account has now; none if it is not protected.
    To(Option<Grace>),
    /// The account is lost: no connection came back in time. It stays protected if it has more orders than the turn
    /// cancels.
    Lost,
}

/// The connections of an account.
struct Present {
    grace: Grace,
    protectors: HashSet<ProtectorId>,
    /// The newest order that is lost, once some are canceled and until a connection comes.
    lost_through: Option<OrderId>,
    /// The time at which its orders are canceled, if no connection is left.
    due: Option<Duration>,
}

/// A connection that protects accounts.
#[derive(Default)]
struct Protector {
    accounts: HashSet<AccountId>,
    /// The last caller over it, as far as that is known.
    asker: Option<Principal>,
    /// The rights under which all its accounts were found to be the caller's; none until the next review.
    reviewed: Option<Arc<Rights>>,
}

/// The result when a connection no longer protects an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Other connections still protect the account.
    Others,
    /// No connection protects the account.
    Nobody,
}

impl Presence {
    /// Makes the presence of a market that starts: accounts that were protected have their grace to return.
    pub(crate) fn at_start(engine: &Engine, now: Duration) -> Presence {
        let mut presence = Presence { now, reviewed: now, ..Presence::default() };
        for (account, grace) in engine.protected() {
            presence.join(account, grace, None, None);
        }
        presence
    }

    /// Begins a turn after this time has passed. Takes out and returns accounts whose grace has ended, some at a time,
    /// and the newest order of each that is lost, if not all are.
    pub(crate) fn begin_turn(&mut self, now: Duration) -> Vec<(AccountId, Option<OrderId>)> {
        self.changed.clear();
        if !self.is_due(now) {
            return Vec::new();
        }
        let due = self.due.iter().take_while(|(due, _)| *due <= now).take(LOST_AT_ONCE);
        let lost: Vec<AccountId> = due.map(|(_, account)| *account).collect();
        let through = |account: &AccountId| self.accounts.get(account).and_then(|present| present.lost_through);
        let lost: Vec<_> = lost.into_iter().map(|account| (account, through(&account))).collect();
        lost.iter().for_each(|(account, _)| self.forget(*account));
        lost
    }

    /// Whether an account's grace has ended after this time has passed.
    pub(crate) fn is_due(&mut self, now: Duration) -> bool {
        self.now = now;
        if self.next_review().is_some_and(|next| now >= next) {
            self.review();
        }
        self.due.first().is_some_and(|(due, _)| *due <= now)
    }

    /// The time of the next work here, if no request comes.
    pub(crate) fn next(&self) -> Option<Duration> {
        let due = self.due.first().map(|(due, _)| *due);
        [due, self.next_review()].into_iter().flatten().min()
    }

    /// Whether a connection may protect one more account.
    pub(crate) fn has_room(&self, protector: ProtectorId, account: AccountId) -> bool {
        let its = self.protectors.get(&protector).map(|protector| &protector.accounts);
        its.is_none_or(|its| its.len() < PROTECTED_ACCOUNTS_MAX || its.contains(&account))
    }

    /// Protects an account with this grace, by a connection if one asks.
    pub(crate) fn join(
        &mut self,
        account: AccountId,
        grace: Grace,
        protector: Option<ProtectorId>,
        principal: Option<&Principal>,
    ) {
        let new = || Present { grace, protectors: HashSet::new(), lost_through: None, due: None };
        let present = self.accounts.entry(account).or_insert_with(new);
        present.grace = grace;
        if let Some(protector) = protector {
            present.lost_through = None;
            present.protectors.insert(protector);
            let its = self.protectors.entry(protector).or_default();
            let is_new = its.accounts.insert(account);
            // Rights that changed meanwhile may have allowed a new account.
            if is_new || its.asker.as_ref() != principal {
                (its.asker, its.reviewed) = (principal.cloned(), None);
            }
        }
        self.look_after(account);
    }

    /// Continues in the next turn with an account for which nobody came back and some of whose lost orders are left, up
    /// to this one, unless somebody has come back by then.
    pub(crate) fn goes_on(&mut self, account: AccountId, grace: Grace, through: OrderId) {
        if !self.accounts.contains_key(&account) {
            self.join(account, grace, None, None);
        }
        let Some(present) = self.accounts.get_mut(&account).filter(|present| present.protectors.is_empty()) else {
            return;
        };
        present.lost_through = Some(through);
        if let Some(due) = present.due.replace(self.now) {
            self.due.remove(&(due, account));
        }
        self.due.insert((self.now, account));
    }

    /// Ends a connection's protection of an account; with none, all protection of it.
    pub(crate) fn part(&mut self, account: AccountId, protector: Option<ProtectorId>) -> Left {
        let Some(present) = self.accounts.get_mut(&account) else { return Left::Nobody };
        let has_others = protector.is_some_and(|protector| present.protectors.iter().any(|other| *other != protector));
        match protector.filter(|_| has_others) {
            Some(protector) => {
                present.protectors.remove(&protector);
                self.unlink(protector, account);
                Left::Others
            }
            None => {
                self.forget(account);
                Left::Nobody
            }
        }
    }

    /// Ends a connection: the grace begins for accounts that no other connection protects.
    pub(crate) fn depart(&mut self, protector: ProtectorId) {
        for account in self.protectors.remove(&protector).into_iter().flat_map(|its| its.accounts) {
            if let Some(present) = self.accounts.get_mut(&account) {
                present.protectors.remove(&protector);
                self.look_after(account);
            }
        }
    }

    /// Ends a connection outside of a turn.
    pub(crate) fn depart_at(&mut self, protector: ProtectorId, now: Duration) {
        self.now = now;
        self.depart(protector);
    }

    /// Drops all connections of an account.
    fn forget(&mut self, account: AccountId) {
        let Some(present) = self.accounts.remove(&account) else { return };
        if let Some(due) = present.due {
            self.due.remove(&(due, account));
        }
        for protector in &present.protectors {
            self.unlink(*protector, account);
        }
    }

    fn unlink(&mut self, protector: ProtectorId, account: AccountId) {
        if let Some(its) = self.protectors.get_mut(&protector) {
            its.accounts.remove(&account);
            if its.accounts.is_empty() {
                self.protectors.remove(&protector);
            }
        }
    }

    /// Begins an account's grace when no connection is left, and ends it when one has come. A grace that has begun goes
    /// on.
    fn look_after(&mut self, account: AccountId) {
        let Some(present) = self.accounts.get_mut(&account) else { return };
        match (present.protectors.is_empty(), present.due) {
            (true, None) => {
                let due = self.now + Duration::from_micros(present.grace.micros());
                present.due = Some(due);
                self.due.insert((due, account));
            }
            (false, Some(due)) => {
                present.due = None;
                self.due.remove(&(due, account));
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// The time of the next review of rights; none while there is no connection.
    fn next_review(&self) -> Option<Duration> {
        (!self.protectors.is_empty()).then_some(self.reviewed + REVIEWED_EVERY)
    }

    /// Drops protections that the caller's rights no longer allow, because its key is gone. Accounts are not looked at
    /// again as long as the rights are the same: there may be many, and all other requests wait meanwhile.
    fn review(&mut self) {
        self.reviewed = self.now;
        let mut gone = Vec::new();
        for (id, protector) in &mut self.protectors {
            let Some(rights) = protector.asker.as_ref().map(Principal::rights) else { continue };
            if protector.reviewed.as_ref().is_some_and(|reviewed| Arc::ptr_eq(reviewed, &rights)) {
                continue;
            }
            let denied = protector.accounts.iter().filter(|account| !rights.may_trade(**account));
            gone.extend(denied.map(|account| (*account, *id)));
            protector.reviewed = Some(rights);
        }
        for (account, protector) in gone {
            if let Some(present) = self.accounts.get_mut(&account) {
                present.protectors.remove(&protector);
            }
            self.unlink(protector, account);
            self.look_after(account);
        }
    }
}

#[cfg(test)]
#[path = "presence/tests.rs"]
mod tests;
