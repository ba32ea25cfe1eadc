//! Kills or releases several accounts together. Commands that follow each other name one account each, and the last of
//! them changes all: a command has room for one name. Nothing can come between, because one request holds them all.

use terms::{AccountId, AccountIndex, Among, Event, KillScope, Reject, Reply};

use crate::engine::Engine;

impl Engine {
    /// Names an account that is killed or released together with others; the last one kills or releases all of them.
    #[cold]
    pub(crate) fn change_kills(
        &mut self,
        account: AccountId,
        among: Among,
        is_killed: bool,
        events: &mut impl FnMut(Event),
    ) -> Result<Reply, Reject> {
        let found = self.accounts.find(account);
        self.kills_together.add(self.sequence, found, among, is_killed);
        if among != Among::Last {
            return Ok(Reply::Created);
        }
        let scopes = std::mem::take(&mut self.kills_together.accounts).into_iter().map(KillScope::Account);
        let scopes: Vec<KillScope<AccountIndex, _>> = scopes.collect();
        if !is_killed {
            if scopes.iter().any(|&scope| self.has_open_orders(scope)) {
                return Err(Reject::KillGoesOn);
            }
            scopes.iter().for_each(|&scope| self.switch(scope, false, events));
            return Ok(Reply::Created);
        }
        scopes.iter().for_each(|&scope| self.switch(scope, true, events));
        let ended = scopes.iter().map(|&scope| self.cancel_killed(scope, events));
        let orders = ended.fold(0, usize::saturating_add);
        // The last order that a scope had left may have ended with the one that it was linked with.
        let goes_on = scopes.iter().any(|&scope| self.has_open_orders(scope));
        Ok(Reply::CanceledAll { orders, left: goes_on.then(|| self.newest_order()), sequence: self.sequence })
    }
}
