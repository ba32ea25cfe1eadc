//! Who is there for the accounts that are protected, and whose orders are canceled because nobody is: the surroundings that decide which
//! commands are given. So a replay, which sees only the commands, decides the same. Nothing of this is kept: after a start nobody is
//! there for any account, and each has its grace from then on.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::time::Duration;

use engine::{AccountId, Command, Engine, Grace, Op};
use exchange::{PROTECTED_ACCOUNTS_MAX, Principal, ProtectorId};

/// Accounts of which a turn finds that nobody came back, at most: each may have many orders, and others wait meanwhile.
const LOST_AT_ONCE: usize = 16;
/// How often it is looked at whether those who are there may still be.
const REVIEWED_EVERY: Duration = Duration::from_millis(250);

/// The protectors that protect accounts.
#[derive(Default)]
pub(crate) struct Presence {
    accounts: HashMap<AccountId, Present>,
    /// The accounts that each protector protects.
    protectors: HashMap<ProtectorId, HashSet<AccountId>>,
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
    /// With who asked on each protector, as far as that is known.
    protectors: HashMap<ProtectorId, Option<Principal>>,
    /// If nobody is: when its orders are canceled.
    due: Option<Duration>,
}

/// What the end of a protector's protection leaves.
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

    /// Whether a protector may protect one more account.
    pub(crate) fn has_room(&self, protector: ProtectorId, account: AccountId) -> bool {
        let its = self.protectors.get(&protector);
        its.is_none_or(|its| its.len() < PROTECTED_ACCOUNTS_MAX || its.contains(&account))
    }

    /// An account is protected with this grace, by a protector if one asks.
    pub(crate) fn join(
        &mut self,
        account: AccountId,
        grace: Grace,
        protector: Option<ProtectorId>,
        principal: Option<&Principal>,
    ) {
        let new = || Present { grace, protectors: HashMap::new(), due: None };
        let present = self.accounts.entry(account).or_insert_with(new);
        present.grace = grace;
        if let Some(protector) = protector {
            present.protectors.insert(protector, principal.cloned());
            self.protectors.entry(protector).or_default().insert(account);
        }
        self.look_after(account);
    }

    /// A protector protects an account no longer; no protector, nobody does.
    pub(crate) fn part(&mut self, account: AccountId, protector: Option<ProtectorId>) -> Left {
        let Some(present) = self.accounts.get_mut(&account) else { return Left::Nobody };
        let has_others = protector.is_some_and(|protector| present.protectors.keys().any(|other| *other != protector));
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

    /// A protector has ended: of the accounts that nobody else protects the grace begins.
    pub(crate) fn depart(&mut self, protector: ProtectorId) {
        for account in self.protectors.remove(&protector).into_iter().flatten() {
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
        for protector in present.protectors.keys() {
            self.unlink(*protector, account);
        }
    }

    fn unlink(&mut self, protector: ProtectorId, account: AccountId) {
        if let Some(its) = self.protectors.get_mut(&protector) {
            its.remove(&account);
            if its.is_empty() {
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

    /// Whoever may not protect an account any more, because its key is gone, is not there.
    fn review(&mut self) {
        self.reviewed = self.now;
        let mut gone = Vec::new();
        for (account, present) in &self.accounts {
            let command = Command::Protect { account: *account, grace: present.grace };
            let may = |principal: &Principal| principal.rights().check(&Op::Command(command)).is_ok();
            let denied = present.protectors.iter().filter(|(_, principal)| !principal.as_ref().is_none_or(may));
            gone.extend(denied.map(|(protector, _)| (*account, *protector)));
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
