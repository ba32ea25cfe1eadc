//! Who is there for the accounts that are protected, and whose orders are canceled because nobody is: the surroundings that decide which
//! commands are given. So a replay, which sees only the commands, decides the same. Nothing of this is kept: after a start nobody is
//! there for any account, and each has its grace from then on.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use engine::{AccountId, Engine, Grace};
use exchange::{PROTECTED_ACCOUNTS_MAX, Principal, ProtectorId, Rights};

/// Accounts of which a turn finds that nobody came back, at most: of each it cancels many orders, and others wait
/// meanwhile.
const LOST_AT_ONCE: usize = 16;
/// How often it is looked at whether those who are there may still be.
const REVIEWED_EVERY: Duration = Duration::from_millis(250);

/// The connections that protect accounts.
#[derive(Default)]
pub(crate) struct Presence {
    accounts: HashMap<AccountId, Present>,
    protectors: HashMap<ProtectorId, Protector>,
    /// Accounts that nobody is there for, and when their orders are canceled.
    due: BTreeSet<(Duration, AccountId)>,
    /// Accounts that this turn protects otherwise, or not any more.
    pub(crate) changed: HashMap<AccountId, Option<Grace>>,
    /// What has passed when the turn began.
    now: Duration,
    reviewed: Duration,
}

/// Who is there for an account.
struct Present {
    grace: Grace,
    protectors: HashSet<ProtectorId>,
    /// If nobody is: when its orders are canceled.
    due: Option<Duration>,
}

/// A connection that protects accounts.
#[derive(Default)]
struct Protector {
    accounts: HashSet<AccountId>,
    /// Who asked last over it, as far as that is known.
    asker: Option<Principal>,
    /// The rights by which all its accounts were found to be the asker's; none while that is still to be looked at.
    reviewed: Option<Arc<Rights>>,
}

/// What is left when a connection protects an account no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Others are still there for the account.
    Others,
    /// Nobody is.
    Nobody,
}

impl Presence {
    /// Of a market that starts: whoever was protected has its grace to come back.
    pub(crate) fn at_start(engine: &Engine, now: Duration) -> Presence {
        let mut presence = Presence { now, reviewed: now, ..Presence::default() };
        for (account, grace) in engine.protected() {
            presence.join(account, grace, None, None);
        }
        presence
    }

    /// A turn begins when so much has passed. Gives the accounts that nobody came back for, some at a time; they are no longer there.
    pub(crate) fn begin_turn(&mut self, now: Duration) -> Vec<AccountId> {
        self.changed.clear();
        if !self.is_due(now) {
            return Vec::new();
        }
        let due = self.due.iter().take_while(|(due, _)| *due <= now).take(LOST_AT_ONCE);
        let lost: Vec<AccountId> = due.map(|(_, account)| *account).collect();
        lost.iter().for_each(|account| self.forget(*account));
        lost
    }

    /// Whether nobody came back for an account when so much has passed.
    pub(crate) fn is_due(&mut self, now: Duration) -> bool {
        self.now = now;
        if self.next_review().is_some_and(|next| now >= next) {
            self.review();
        }
        self.due.first().is_some_and(|(due, _)| *due <= now)
    }

    /// When there is something to do here, if nothing comes.
    pub(crate) fn next(&self) -> Option<Duration> {
        let due = self.due.first().map(|(due, _)| *due);
        [due, self.next_review()].into_iter().flatten().min()
    }

    /// Whether a connection may protect one more account.
    pub(crate) fn has_room(&self, protector: ProtectorId, account: AccountId) -> bool {
        let its = self.protectors.get(&protector).map(|protector| &protector.accounts);
        its.is_none_or(|its| its.len() < PROTECTED_ACCOUNTS_MAX || its.contains(&account))
    }

    /// An account is protected with this grace, by a connection if one asks.
    pub(crate) fn join(
        &mut self,
        account: AccountId,
        grace: Grace,
        protector: Option<ProtectorId>,
        principal: Option<&Principal>,
    ) {
        let new = || Present { grace, protectors: HashSet::new(), due: None };
        let present = self.accounts.entry(account).or_insert_with(new);
        present.grace = grace;
        if let Some(protector) = protector {
            present.protectors.insert(protector);
            let its = self.protectors.entry(protector).or_default();
            let is_new = its.accounts.insert(account);
            // A new one may have been asked for by rights that changed meanwhile.
            if is_new || its.asker.as_ref() != principal {
                (its.asker, its.reviewed) = (principal.cloned(), None);
            }
        }
        self.look_after(account);
    }

    /// Nobody came back for an account, and some of its orders are left: the next turn goes on, unless somebody is
    /// there by now.
    pub(crate) fn goes_on(&mut self, account: AccountId, grace: Grace) {
        if !self.accounts.contains_key(&account) {
            self.join(account, grace, None, None);
        }
        let Some(present) = self.accounts.get_mut(&account).filter(|present| present.protectors.is_empty()) else {
            return;
        };
        if let Some(due) = present.due.replace(self.now) {
            self.due.remove(&(due, account));
        }
        self.due.insert((self.now, account));
    }

    /// A connection protects an account no longer; none: nobody does.
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

    /// A connection has ended: of the accounts that nobody else protects the grace begins.
    pub(crate) fn depart(&mut self, protector: ProtectorId) {
        for account in self.protectors.remove(&protector).into_iter().flat_map(|its| its.accounts) {
            if let Some(present) = self.accounts.get_mut(&account) {
                present.protectors.remove(&protector);
                self.look_after(account);
            }
        }
    }

    /// The same, outside of a turn.
    pub(crate) fn depart_at(&mut self, protector: ProtectorId, now: Duration) {
        self.now = now;
        self.depart(protector);
    }

    /// Nobody protects this account.
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

    /// Begins an account's grace when nobody is there, and ends it when somebody is. A grace that has begun goes on.
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

    /// When it is to be looked at whether those who are there may still be; none while it is not known who they are.
    fn next_review(&self) -> Option<Duration> {
        (!self.protectors.is_empty()).then_some(self.reviewed + REVIEWED_EVERY)
    }

    /// Whoever may not protect an account any more, because its key is gone, is not there. As long as their rights are the same nobody's
    /// accounts are looked at again: there may be many, and all others wait meanwhile.
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
