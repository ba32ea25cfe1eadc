//! Listen keys: names for an account's stream that only the account knows, for an hour at a time.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use access::random_text;
use terms::AccountId;

use http_gateway::current_principal::Asker;

/// Time for which a listen key is valid after it was last requested or kept.
const GOOD_FOR: Duration = Duration::from_secs(3600);

/// The pause between two searches for listen keys that are valid no more.
const PURGE_PAUSE: Duration = Duration::from_secs(1);

/// The listen keys. Each ends with the API key that asked for it.
#[derive(Default)]
pub(crate) struct ListenKeys(Mutex<KeyTable>);

/// The listen keys that were valid at the last search, so that one request looks at one of them.
#[derive(Default)]
struct KeyTable {
    /// The listen keys by the name of the API key that asked for each.
    by_name: HashMap<String, ListenKey>,
    /// The name of the API key of each listen key.
    names: HashMap<String, String>,
    /// The time of the last search for keys that are valid no more. `None` before the first one.
    purged: Option<Instant>,
}

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
        let mut table = self.lock(now);
        if let Some(its) = table.valid(name, now).filter(|its| its.account == account) {
            its.until = now + GOOD_FOR;
            return Ok(its.key.clone());
        }
        let key = random_text()?;
        table.remove(name);
        table.names.insert(key.clone(), name.to_owned());
        table.by_name.insert(name.to_owned(), ListenKey { key: key.clone(), account, holder, until: now + GOOD_FOR });
        Ok(key)
    }

    /// Makes a listen key valid for another hour. Returns false if the API key of this name does not have it.
    pub(crate) fn keep(&self, name: &str, key: &str) -> bool {
        let now = Instant::now();
        let mut table = self.lock(now);
        let its = table.valid(name, now).filter(|its| its.key == key);
        its.map(|its| its.until = now + GOOD_FOR).is_some()
    }

    /// Ends a listen key. Returns false if the API key of this name does not have it.
    pub(crate) fn stop(&self, name: &str, key: &str) -> bool {
        let now = Instant::now();
        let mut table = self.lock(now);
        let has = table.valid(name, now).is_some_and(|its| its.key == key);
        if has {
            table.remove(name);
        }
        has
    }

    /// Returns the account of a listen key, and the member that asked for it.
    pub(crate) fn find(&self, key: &str) -> Option<(AccountId, Option<Asker>)> {
        let now = Instant::now();
        let mut table = self.lock(now);
        let name = table.names.get(key)?.clone();
        table.valid(&name, now).map(|its| (its.account, its.holder.clone()))
    }

    /// Returns the listen keys. A few of them may be valid no more.
    fn lock(&self, now: Instant) -> MutexGuard<'_, KeyTable> {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if table.purged.is_none_or(|purged| now.saturating_duration_since(purged) >= PURGE_PAUSE) {
            table.purge(now);
        }
        table
    }
}

impl KeyTable {
    /// Returns the listen key of an API key, if it is still valid.
    fn valid(&mut self, name: &str, now: Instant) -> Option<&mut ListenKey> {
        self.by_name.get_mut(name).filter(|its| its.is_valid(now))
    }

    /// Removes the listen key of an API key, if there is one.
    fn remove(&mut self, name: &str) {
        if let Some(its) = self.by_name.remove(name) {
            self.names.remove(&its.key);
        }
    }

    /// Removes the listen keys that are valid no more.
    fn purge(&mut self, now: Instant) {
        self.purged = Some(now);
        self.by_name.retain(|_, its| its.is_valid(now));
        let by_name = &self.by_name;
        self.names.retain(|_, name| by_name.contains_key(name));
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

    /// Each stream of a request once looked at all listen keys twice, and a request may name 200 streams.
    #[test]
    fn a_request_looks_at_one_key_and_all_are_searched_once_a_second() {
        let keys = ListenKeys::default();
        let key = keys.of("one", account("1"), None).expect("randomness");
        let kept = |now| {
            let table = keys.lock(now);
            assert_eq!(table.by_name.len(), table.names.len());
            table.names.len()
        };
        // The next search is a minute off, however slow the machine is.
        let now = Instant::now();
        let searched = now + Duration::from_secs(60);
        keys.lock(searched).valid("one", now).expect("it is valid").until = now;
        assert!(keys.find(&key).is_none() && !keys.keep("one", &key) && !keys.stop("one", &key));
        assert_eq!([searched, searched + PURGE_PAUSE].map(kept), [1, 0]);
        assert_ne!(keys.of("one", account("1"), None).expect("randomness"), key);
    }
}
