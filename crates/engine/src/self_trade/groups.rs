//! Puts accounts into groups, and decides by them which orders may not execute with each other.

use terms::{AccountId, AccountIndex, Event, Group, Reject, Reply, SelfTrade};

use crate::engine::Engine;

impl Engine {
    /// The group of an account.
    pub fn group(&self, account: AccountIndex) -> Group {
        self.groups.of(account)
    }

    /// Whether self-trade prevention keeps an order of this mode and account from executing with an order of that
    /// account. Inlined into its callers, where orders that allow self-trades skip the look-up.
    #[inline(always)]
    pub(crate) fn is_own(&self, mode: SelfTrade, account: AccountIndex, maker: AccountIndex) -> bool {
        mode != SelfTrade::Allowed && self.groups.are_one(account, maker)
    }

    /// Moves an account to another group.
    #[cold]
    pub(crate) fn change_group(
        &mut self,
        account: AccountId,
        group: Group,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if self.groups.of(account) != group {
            self.groups.set(account, group);
            events(Event::GroupChanged { account, group });
        }
        Ok(Reply::Created)
    }
}
