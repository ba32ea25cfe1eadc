//! Cancel on disconnect: protected accounts, and the end of the orders of members who did not come back.

use terms::{AccountId, AccountIndex, CancelReason, Event, Grace, OrderId, Reject, Reply};

use crate::exchange::Model;

impl Model {
    /// The protected accounts, sorted.
    pub fn protections(&self) -> Vec<(AccountIndex, Grace)> {
        let all = (0..self.accounts.len() as u32).map(AccountIndex);
        all.filter_map(|account| Some((account, self.grace(account)?))).collect()
    }

    /// An account's grace, if the account is protected.
    pub fn grace(&self, account: AccountIndex) -> Option<Grace> {
        self.protected.iter().find(|(protected, _)| *protected == account).map(|(_, grace)| *grace)
    }

    pub(crate) fn protect(
        &mut self,
        account: AccountId,
        grace: Grace,
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        if self.grace(account) != Some(grace) {
            self.protected.retain(|(protected, _)| *protected != account);
            self.protected.push((account, grace));
            events.push(Event::ProtectionChanged { account, grace: Some(grace) });
        }
        Ok(Reply::Created)
    }

    pub(crate) fn unprotect(
        &mut self,
        account: AccountId,
        (is_lost, through): (bool, Option<OrderId>),
        events: &mut Vec<Event>,
    ) -> Result<Reply, Reject> {
        let account = self.account_named(account)?;
        let mut meant: Vec<OrderId> = Vec::new();
        if self.grace(account).is_some() {
            let open = self.open_orders().filter(|order| is_lost && order.account == account);
            let is_old = |order: &OrderId| through.is_none_or(|through| *order <= through);
            meant = open.map(|order| order.id).filter(is_old).collect();
            meant.sort();
            // It is protected until a command finds no more than it cancels.
            if meant.len() <= self.cancels_left {
                self.protected.retain(|(protected, _)| *protected != account);
                events.push(Event::ProtectionChanged { account, grace: None });
            }
        }
        let canceled = self.cancel_first(meant, through, CancelReason::Disconnected, events);
        Ok(if is_lost { canceled } else { Reply::Created })
    }
}
