//! Turns of accounts: work in a turn goes on once at a time for each account, and beside that of other accounts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use terms::AccountId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The accounts for which someone has a turn, or waits for one.
#[derive(Clone, Default)]
pub(crate) struct AccountTurns(Arc<Mutex<HashMap<AccountId, Users>>>);

/// The requests that have or await the turn of one account.
struct Users {
    permit: Arc<Semaphore>,
    count: usize,
}

/// The turn of an account, until it is dropped.
pub(crate) struct AccountTurn {
    _permit: Option<OwnedSemaphorePermit>,
    _use: Use,
}

/// A use of the permit of an account, which is forgotten with the last one.
struct Use {
    turns: AccountTurns,
    account: AccountId,
}

impl AccountTurns {
    /// Waits for the turn of this account; who came first comes first.
    pub(crate) async fn take(&self, account: AccountId) -> AccountTurn {
        let (permit, used) = self.enter(account);
        // The semaphore is never closed.
        AccountTurn { _permit: permit.acquire_owned().await.ok(), _use: used }
    }

    fn enter(&self, account: AccountId) -> (Arc<Semaphore>, Use) {
        let mut accounts = self.lock();
        let users = accounts.entry(account).or_insert_with(|| Users { permit: Arc::new(Semaphore::new(1)), count: 0 });
        users.count += 1;
        (Arc::clone(&users.permit), Use { turns: self.clone(), account })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AccountId, Users>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut accounts = self.turns.lock();
        if let Some(users) = accounts.get_mut(&self.account) {
            users.count -= 1;
            if users.count == 0 {
                accounts.remove(&self.account);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    type Asking = Pin<Box<dyn Future<Output = AccountTurn>>>;

    fn ask(turns: &AccountTurns, account: &str) -> Asking {
        let (turns, account) = (turns.clone(), AccountId::parse(account.as_bytes()).expect("digits"));
        Box::pin(async move { turns.take(account).await })
    }

    fn begun(asking: &mut Asking) -> Option<AccountTurn> {
        match asking.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(turn) => Some(turn),
            Poll::Pending => None,
        }
    }

    /// Each request to cancel all orders once listed them for itself, however many there were.
    #[test]
    fn an_account_has_one_turn_at_a_time_and_others_have_theirs() {
        let turns = AccountTurns::default();
        let first = begun(&mut ask(&turns, "1")).expect("it is free");
        let [mut gone, mut second] = [ask(&turns, "1"), ask(&turns, "1")];
        assert!(begun(&mut gone).is_none() && begun(&mut second).is_none());
        assert!(begun(&mut ask(&turns, "2")).is_some());
        drop(gone);
        drop(first);
        assert!(begun(&mut second).is_some());
        drop(second);
        assert!(turns.lock().is_empty(), "nothing is kept of an account that nobody asks about");
    }
}
