//! Groups of accounts. See docs/rules/GROUPS.md.

use terms::{AccountId, AccountIndex, Event, Group, OrderId, Reject, Reply, StateItem};

use crate::exchange::Model;

impl Model {
    pub(crate) fn change_group(
        &mut self,
        account: AccountId,
        group: Group,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        let its = &mut self.accounts[account.0 as usize].group;
        if *its != group {
            *its = group;
            events.push(Event::GroupChanged { account, group });
        }
        Ok(Reply::Created)
    }

    /// The group of an account.
    pub fn group(&self, account: AccountIndex) -> Group {
        self.accounts[account.0 as usize].group
    }

    /// Whether an open order belongs to this account or to another account of its group.
    pub fn is_own(&self, account: AccountIndex, order: OrderId) -> bool {
        let other = self.order(order).account;
        let (group, of_other) = (self.group(account), self.group(other));
        account == other || (group == of_other && group != Group::NONE)
    }

    pub(crate) fn group_items(&self) -> Vec<StateItem> {
        let accounts = (0..self.accounts.len() as u32).map(AccountIndex);
        let grouped = accounts.filter(|&account| self.group(account) != Group::NONE);
        grouped.map(|account| StateItem::Group { account, group: self.group(account) }).collect()
    }
}
