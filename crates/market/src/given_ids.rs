//! The client order ids of members: of all accounts that a member trades for, together. They follow from the engine's
//! state, so a restart changes none of them. The accounts of a member are looked through at intervals, and the ids that
//! it is given in between are counted. This file knows no bounds.

use std::collections::HashMap;

use exchange::Principal;
use terms::{AccountId, Time};

/// The market time for which a look at a member's accounts holds.
const LOOK_HOLDS_US: u64 = 10_000_000;

/// The ids of members that asked for some lately.
#[derive(Default)]
pub(crate) struct GivenIds {
    members: HashMap<Box<str>, MemberIds>,
}

struct MemberIds {
    looked_at: Time,
    /// The ids at the last look, and those that it was given since.
    ids: u64,
}

impl GivenIds {
    /// The ids of a member now. `of_account` counts those of an account.
    pub(crate) fn of(&mut self, member: &Principal, now: Time, of_account: impl Fn(AccountId) -> u64) -> u64 {
        let look = || MemberIds { looked_at: now, ids: member.rights().accounts.iter().map(of_account).sum() };
        match self.members.get_mut(member.member()) {
            Some(its) if now.0.saturating_sub(its.looked_at.0) < LOOK_HOLDS_US => its.ids,
            Some(its) => {
                *its = look();
                its.ids
            }
            None => self.members.entry(member.member().into()).or_insert_with(look).ids,
        }
    }

    /// Counts one more id of a member.
    pub(crate) fn give(&mut self, member: &Principal) {
        if let Some(its) = self.members.get_mut(member.member()) {
            its.ids = its.ids.saturating_add(1);
        }
    }

    /// Forgets all members.
    pub(crate) fn clear(&mut self) {
        self.members.clear();
    }
}
