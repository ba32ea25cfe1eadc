//! Listen keys: a name for an account's stream that only the account knows, for an hour at a time.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use access::{RANDOM_TEXT_LENGTH, random_text};
use engine::AccountId;

use crate::asking::Asker;

/// How long a listen key is good for after it was last asked for or kept.
const GOOD_FOR: Duration = Duration::from_secs(3600);

/// The text of a listen key.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ListenKeyText([u8; RANDOM_TEXT_LENGTH]);

impl ListenKeyText {
    /// None for what cannot be one.
    pub(crate) fn of(text: &str) -> Option<ListenKeyText> {
        text.as_bytes().try_into().ok().map(ListenKeyText)
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or_default()
    }
}

/// It names an account's stream to whoever has it: it does not get into logs.
impl fmt::Debug for ListenKeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("listen key")
    }
}

/// One for each account that asked for it.
#[derive(Default)]
pub(crate) struct ListenKeys(Mutex<HashMap<AccountId, ListenKey>>);

struct ListenKey {
    key: String,
    /// Whoever asked for it last, where members are known.
    holder: Option<Asker>,
    until: Instant,
}

impl ListenKeys {
    /// The listen key of an account: the one that it has, now valid for another hour, or a new one.
    pub(crate) fn of(&self, account: AccountId, holder: Option<Asker>) -> std::io::Result<String> {
        let now = Instant::now();
        let mut all = self.lock(now);
        if let Some(its) = all.get_mut(&account) {
            its.until = now + GOOD_FOR;
            its.holder = holder;
            return Ok(its.key.clone());
        }
        let key = random_text()?;
        all.insert(account, ListenKey { key: key.clone(), holder, until: now + GOOD_FOR });
        Ok(key)
    }

    /// Makes a key valid for another hour. False if the account has no such key.
    pub(crate) fn keep(&self, account: AccountId, key: &str) -> bool {
        let now = Instant::now();
        let mut all = self.lock(now);
        let its = all.get_mut(&account).filter(|its| its.key == key);
        its.map(|its| its.until = now + GOOD_FOR).is_some()
    }

    /// False if the account has no such key.
    pub(crate) fn stop(&self, account: AccountId, key: &str) -> bool {
        let mut all = self.lock(Instant::now());
        all.get(&account).is_some_and(|its| its.key == key) && all.remove(&account).is_some()
    }

    /// The account that a key belongs to, and who asked for it.
    pub(crate) fn find(&self, key: &str) -> Option<(AccountId, Option<Asker>)> {
        let all = self.lock(Instant::now());
        all.iter().find(|(_, its)| its.key == key).map(|(account, its)| (*account, its.holder.clone()))
    }

    /// The keys that are still valid.
    fn lock(&self, now: Instant) -> MutexGuard<'_, HashMap<AccountId, ListenKey>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, its| its.until > now);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_one_listen_key_until_it_stops() {
        let account = |id: &str| AccountId::parse(id.as_bytes()).expect("digits");
        let keys = ListenKeys::default();
        let key = keys.of(account("1"), None).expect("randomness");
        assert_eq!(keys.of(account("1"), None).expect("randomness"), key);
        assert_ne!(keys.of(account("2"), None).expect("randomness"), key);
        assert_eq!(keys.find(&key).map(|(account, _)| account), Some(account("1")));
        assert!(keys.keep(account("1"), &key) && !keys.keep(account("2"), &key));
        assert!(!keys.stop(account("2"), &key) && keys.stop(account("1"), &key));
        assert!(keys.find(&key).is_none());
    }
}
