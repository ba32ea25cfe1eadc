//! Listen keys: names for an account's stream that only the account knows, for an hour at a time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use access::random_text;
use terms::AccountId;

use http_gateway::current_principal::Asker;

/// Time for which a listen key is valid after it was last requested or kept.
const GOOD_FOR: Duration = Duration::from_secs(3600);

/// The listen keys by the name of the API key that asked for each. It ends with that key.
#[derive(Default)]
pub(crate) struct ListenKeys(Mutex<HashMap<String, ListenKey>>);

struct ListenKey {
    key: String,
    account: AccountId,
    /// The member that asked for it, where there are members.
    holder: Option<Asker>,
    until: Instant,
}

impl ListenKey {
    /// Whether its hour goes on, and the API key that asked for it is still valid.
    fn is_valid(&self, now: Instant) -> bool {
        self.until > now && self.holder.as_ref().is_none_or(|holder| !holder.principal.rights().roles.is_empty())
    }
}

impl ListenKeys {
    /// Returns the listen key of an API key: the present one, valid for another hour, or a new one.
    pub(crate) fn of(&self, name: &str, account: AccountId, holder: Option<Asker>) -> std::io::Result<String> {
        let now = Instant::now();
        let mut all = self.lock(now);
        if let Some(its) = all.get_mut(name).filter(|its| its.account == account) {
            its.until = now + GOOD_FOR;
            return Ok(its.key.clone());
        }
        let key = random_text()?;
        all.insert(name.to_owned(), ListenKey { key: key.clone(), account, holder, until: now + GOOD_FOR });
        Ok(key)
    }

    /// Makes a listen key valid for another hour. Returns false if the API key of this name does not have it.
    pub(crate) fn keep(&self, name: &str, key: &str) -> bool {
        let now = Instant::now();
        let mut all = self.lock(now);
        let its = all.get_mut(name).filter(|its| its.key == key);
        its.map(|its| its.until = now + GOOD_FOR).is_some()
    }

    /// Ends a listen key. Returns false if the API key of this name does not have it.
    pub(crate) fn stop(&self, name: &str, key: &str) -> bool {
        let mut all = self.lock(Instant::now());
        all.get(name).is_some_and(|its| its.key == key) && all.remove(name).is_some()
    }

    /// Returns the account of a listen key, and the member that asked for it.
    pub(crate) fn find(&self, key: &str) -> Option<(AccountId, Option<Asker>)> {
        let all = self.lock(Instant::now());
        all.values().find(|its| its.key == key).map(|its| (its.account, its.holder.clone()))
    }

    /// Returns the listen keys that are still valid.
    fn lock(&self, now: Instant) -> MutexGuard<'_, HashMap<String, ListenKey>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, its| its.is_valid(now));
        all
    }
}

#[cfg(test)]
mod tests {
    use exchange::{Principal, Rights, Role};

    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::parse(id.as_bytes()).expect("digits")
    }

    #[test]
    fn an_api_key_has_one_listen_key_until_it_stops() {
        let keys = ListenKeys::default();
        let key = keys.of("one", account("1"), None).expect("randomness");
        assert_eq!(keys.of("one", account("1"), None).expect("randomness"), key);
        assert_ne!(keys.of("two", account("1"), None).expect("randomness"), key, "another key of the account");
        assert_eq!(keys.find(&key).map(|(account, _)| account), Some(account("1")));
        assert!(keys.keep("one", &key) && !keys.keep("two", &key));
        assert!(!keys.stop("two", &key) && keys.stop("one", &key));
        assert!(keys.find(&key).is_none());
    }

    #[test]
    fn a_listen_key_ends_with_its_api_key_and_when_that_is_for_another_account() {
        let keys = ListenKeys::default();
        let holder = || {
            let rights = Rights { roles: [Role::Trader].into(), ..Rights::default() };
            Asker::of(Principal::of_key("alice", "one", rights))
        };
        let alice = holder();
        let key = keys.of("one", account("1"), Some(alice.clone())).expect("randomness");
        let moved = keys.of("one", account("2"), Some(alice.clone())).expect("randomness");
        assert!(moved != key && keys.find(&key).is_none());
        alice.principal.set_rights(Rights::default());
        assert!(keys.find(&moved).is_none() && !keys.keep("one", &moved));
        assert_ne!(keys.of("one", account("2"), Some(holder())).expect("randomness"), moved, "the key was rotated");
    }
}
