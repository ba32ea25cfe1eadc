//! Cancel on disconnect: protects an account, or ends its protection. The market's loop decides whether an account
//! still has a connection, before a command gets its number. So a replay decides the same, and accounts that were
//! protected before a restart are protected after it.

use terms::{AccountId, CancelReason, Event, Grace, OrderId, Protections, Reject, Reply};

use crate::engine::Engine;
use crate::orders::of_account::Taken;

impl Engine {
    /// The protected accounts.
    pub fn protections(&self) -> &Protections {
        &self.protections
    }

    /// The grace of an account; none if it is not protected or does not exist.
    pub fn grace(&self, account: AccountId) -> Option<Grace> {
        self.protections.of(self.accounts.find(account)?)
    }

    /// The protected accounts by their ids, with their graces.
    pub fn protected(&self) -> impl Iterator<Item = (AccountId, Grace)> {
        self.protections.all().map(|(account, grace)| (self.accounts.get(account).id, grace))
    }

    /// Protects an account, or gives it another grace.
    #[cold]
    pub(crate) fn protect(
        &mut self,
        account: AccountId,
        grace: Grace,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        if self.protections.of(account) != Some(grace) {
            self.protections.set(account, Some(grace));
            events(Event::ProtectionChanged { account, grace: Some(grace) });
        }
        Ok(Reply::Created)
    }

    /// Removes the protection of an account. If nobody came back for it, its open orders are canceled, oldest first, up
    /// to the newest one that is lost. It stays protected while there are more of these than one command cancels, so
    /// that another command goes on.
    #[cold]
    pub(crate) fn unprotect(
        &mut self,
        account: AccountId,
        (is_lost, through): (bool, Option<OrderId>),
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let account = self.accounts.find(account).ok_or(Reject::UnknownAccount)?;
        let is_protected = self.protections.of(account).is_some();
        let taken = match is_protected && is_lost {
            true => self.take_orders_of(account, None, through, self.cancels_left),
            false => Taken { orders: Vec::new(), is_cut: false },
        };
        if is_protected && !taken.is_cut {
            self.protections.set(account, None);
            events(Event::ProtectionChanged { account, grace: None });
        }
        if !is_lost {
            return Ok(Reply::Created);
        }
        Ok(self.cancel_taken(&taken, through, CancelReason::Disconnected, events))
    }
}
