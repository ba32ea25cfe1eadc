//! Members and their keys, and whether a client has proven to have one. `exchange::Rights` says what a member may do.
//! This crate knows no protocol: the gateways decide what is signed, and where a secret may travel.
//!
//! A try with an unknown key takes as long as one with a wrong secret, and both get the same answer, `None`.

mod budget;
mod change;
mod common;
mod edit;
mod file;
mod holder;
mod limits;
mod listing;
mod locked;
mod network;
mod proof;
mod random;
mod sealed;
mod table;
mod text;
mod time;
mod tries;
mod turned_away;
mod watch;

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use exchange::{Connections, ModeSwitch, Principal, Rights};
use terms::AccountId;

pub use crate::budget::BudgetText;
pub use crate::change::{Author, Change, NewKey, NewMember, Revoked, Unchanged};
pub use crate::common::{Disagreement, MembersLog, NotPut};
pub use crate::edit::{add, list, revoke, set_mode};
pub use crate::file::{check_name, read_secrets};
pub use crate::holder::is_random_name;
pub use crate::limits::LimitsText;
pub use crate::listing::{KeyKind, ListedKey, ListedMember};
pub use crate::proof::{hash_of_password, hash_of_secret, hmac_hex};
pub use crate::random::{RANDOM_TEXT_LENGTH, random_text};
pub use crate::sealed::{Place, SealingKeys, make_sealing_key};
pub use crate::tries::Tries;
pub use crate::turned_away::turn_away;
pub use crate::watch::{Failed, Watch};

use crate::common::InCommon;
use crate::proof::Claim;
use crate::table::{Entry, Table};
use crate::time::Seconds;

/// All members and keys at the moment. Clones share them.
#[derive(Clone)]
pub struct Access(Arc<Shared>);

struct Shared {
    table: RwLock<Arc<Table>>,
    connections: Connections,
    /// The number of times that the table was replaced, and the lock for doing so. Look-ups of keys do not wait for it.
    replaced: Mutex<u64>,
    tries: Tries,
    mode: ModeSwitch,
    /// The path of the access file.
    file: Option<PathBuf>,
    /// The log through which other servers have the same members; `None` without a cluster.
    common: Option<InCommon>,
}

impl Access {
    /// Reads the members of an access file's text. Errors: its line, member and field, and the fault; never a secret.
    pub fn parse(text: &str) -> Result<Access, String> {
        Access::of(text, None, None)
    }

    fn of(text: &str, file: Option<PathBuf>, common: Option<InCommon>) -> Result<Access, String> {
        let (table, mode) = (file::parse(text)?, ModeSwitch::default());
        mode.set(table.mode);
        let (table, replaced) = (RwLock::new(Arc::new(table)), Mutex::default());
        let (connections, tries) = (Connections::default(), Tries::default());
        Ok(Access(Arc::new(Shared { table, connections, replaced, tries, mode, file, common })))
    }

    /// Reads the members of a file that only its owner may read. Errors: it cannot be read, others may read it, or it
    /// is no access file.
    pub fn read(path: &Path) -> Result<Access, String> {
        Access::read_with(path, None)
    }

    fn read_with(path: &Path, common: Option<InCommon>) -> Result<Access, String> {
        let access = Access::of(&file::text(path)?, Some(path.to_owned()), common);
        access.map_err(|why| format!("{}, {why}", path.display()))
    }

    /// Replaces all members by those of this text; after an error nothing changes. A key that is as it was keeps its
    /// principal, which gets the member's new rights; a key that is gone, or has another secret, loses its rights.
    pub fn reload(&self, text: &str) -> Result<(), String> {
        self.replace(file::parse(text)?);
        Ok(())
    }

    fn replace(&self, new: Table) {
        self.replace_counted(&mut self.replaced(), new);
    }

    /// Replaces all members, unless they were replaced since there had been so many replacements. Returns whether it
    /// did.
    fn replace_unless_later(&self, so_many: u64, new: Table) -> bool {
        let mut replaced = self.replaced();
        let is_last = *replaced == so_many;
        if is_last {
            self.replace_counted(&mut replaced, new);
        }
        is_last
    }

    fn replaced(&self) -> MutexGuard<'_, u64> {
        self.0.replaced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace_counted(&self, replaced: &mut u64, mut new: Table) {
        *replaced += 1;
        let old = self.table();
        new.continue_from(&old);
        let new = Arc::new(new);
        self.0.mode.set(new.mode);
        *self.0.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&new);
        old.revoke_all_but(&new);
        new.give_rights(SystemTime::now().into());
    }

    /// Takes the rights from keys that have expired by now, also where their members are logged in.
    pub fn expire(&self, now: SystemTime) {
        self.table().expire(now.into());
    }

    /// Finds the member by a key and its secret. The caller makes sure that nobody listens to the connection.
    pub fn by_secret(&self, key: &str, secret: &str, now: SystemTime) -> Option<Principal> {
        self.prove(key, &Claim::Secret(secret), now)
    }

    /// Finds the member by a signature over this text: HMAC-SHA-256 with the key's secret in hexadecimal digits, or
    /// Ed25519 with its private key in base64, by the kind of the key.
    pub fn by_signature(&self, key: &str, text: &[&[u8]], signature: &str, now: SystemTime) -> Option<Principal> {
        self.prove(key, &Claim::Signature(text, signature), now)
    }

    /// Finds a member by its password. This takes tens of milliseconds and 19 MiB: callers bound how many run at once,
    /// and run them where no other client waits for them.
    pub fn by_password(&self, member: &str, password: &str, now: SystemTime) -> Option<Principal> {
        let table = self.table();
        judge(table.password_of(member), &Claim::Password(password), now)
    }

    /// Makes the token by which a device shows that this member has logged in from it. It is signed with the hash of
    /// the member's password, so it ends with the password, outlives restarts, and is the same on every server that has
    /// the same members. `None` for a member without a password.
    pub fn device_token(&self, member: &str) -> Option<String> {
        proof::device_token(&self.table().password_of(member)?.proof, member)
    }

    /// Whether this is the token of a device from which the member has logged in by the password that it has now.
    pub fn knows_device(&self, member: &str, token: &str, now: SystemTime) -> bool {
        let table = self.table();
        judge(table.password_of(member), &Claim::Device { member, token }, now).is_some()
    }

    /// Finds the member by the fingerprint (SHA-256) of a certificate whose private key the client has, which the
    /// gateway has checked.
    pub fn by_certificate(&self, sha256: &[u8; 32], now: SystemTime) -> Option<Principal> {
        self.table().certificate(sha256).filter(|entry| entry.valid(now.into())).map(|entry| entry.principal.clone())
    }

    /// Finds the member by the client's address: the narrowest network that contains it decides.
    pub fn by_address(&self, address: IpAddr, now: SystemTime) -> Option<Principal> {
        self.table().address(address).filter(|entry| entry.valid(now.into())).map(|entry| entry.principal.clone())
    }

    /// Returns the counts of members' connections.
    pub fn connections(&self) -> &Connections {
        &self.0.connections
    }

    /// Returns a member's rights.
    pub fn rights_of(&self, member: &str) -> Option<Arc<Rights>> {
        self.table().member(member).map(|member| Arc::clone(&member.rights))
    }

    /// Returns the switch that holds the mode of the venue, now and later.
    pub fn mode(&self) -> &ModeSwitch {
        &self.0.mode
    }

    /// Returns the counts of wrong proofs, over all gateways.
    pub fn tries(&self) -> &Tries {
        &self.0.tries
    }

    fn file(&self) -> Option<&Path> {
        self.0.file.as_deref()
    }

    fn common(&self) -> Option<&InCommon> {
        self.0.common.as_ref()
    }

    /// Returns the number of keys.
    pub fn keys(&self) -> usize {
        self.table().len()
    }

    /// Returns the account that a key trades for where a protocol names none: the first one of its member.
    pub fn account_of(&self, key: &str) -> Option<AccountId> {
        self.table().key(key)?.member.first_account
    }

    fn prove(&self, key: &str, claim: &Claim<'_>, now: SystemTime) -> Option<Principal> {
        judge(self.table().key(key), claim, now)
    }

    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.0.table.read().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Returns the key's principal, if the claim holds and the key has not expired. Checks both in any case.
fn judge(entry: Option<&Entry>, claim: &Claim<'_>, now: SystemTime) -> Option<Principal> {
    let holds = claim.holds(entry.map(|entry| &entry.proof));
    let entry = entry.filter(|entry| entry.valid(Seconds::from(now)))?;
    holds.then(|| entry.principal.clone())
}

/// Shows the number of keys only, so that no secret gets into a log.
impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access").field("keys", &self.keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
