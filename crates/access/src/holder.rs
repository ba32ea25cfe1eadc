//! Whose key it is: a protocol may ask for no more than its name, where it says so.

use std::time::SystemTime;

use exchange::Principal;

use crate::Access;

impl Access {
    /// Whoever's key this is, unless it has expired. It proves nothing: whoever has seen the key's name can say it.
    pub fn holder(&self, key: &str, now: SystemTime) -> Option<Principal> {
        let table = self.table();
        table.key(key).filter(|entry| entry.valid(now.into())).map(|entry| entry.principal.clone())
    }
}
