//! All keys, each found by one look into a hash table, whatever it proves itself with.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use engine::AccountId;
use exchange::{Principal, Rights};

use crate::network::Networks;
use crate::proof::Proof;
use crate::time::Seconds;

/// Somebody who has keys.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) rights: Arc<Rights>,
    pub(crate) first_account: Option<AccountId>,
}

/// A key. Its principal is who has proven to have it.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) member: Arc<Member>,
    pub(crate) proof: Proof,
    pub(crate) expires: Option<Seconds>,
    pub(crate) principal: Principal,
}

/// The keys of an access file. It never changes; another one comes in its place.
pub(crate) struct Table {
    entries: Vec<Entry>,
    ids: HashMap<String, usize>,
    passwords: HashMap<String, usize>,
    certificates: HashMap<[u8; 32], usize>,
    addresses: Networks,
    /// The keys that will expire, those that do so first at the end.
    expiring: Mutex<Vec<(Seconds, usize)>>,
}

impl Entry {
    pub(crate) fn new(id: String, member: &Arc<Member>, proof: Proof, expires: Option<Seconds>) -> Entry {
        let principal = Principal::new(&member.name, Arc::clone(&member.rights));
        Entry { id, member: Arc::clone(member), proof, expires, principal }
    }

    pub(crate) fn valid(&self, now: Seconds) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    fn is_same_as(&self, other: &Entry) -> bool {
        self.member.name == other.member.name && self.proof == other.proof
    }

    /// Keeps its principal of before, if it is the same key: whoever is logged in stays so.
    pub(crate) fn continue_from(&mut self, before: &Table) {
        if let Some(same) = before.key(&self.id).filter(|old| self.is_same_as(old)) {
            self.principal = same.principal.clone();
        }
    }
}

impl Table {
    /// Of keys with different ids, certificates and networks, and one password a member.
    pub(crate) fn new(entries: Vec<Entry>) -> Table {
        let mut table = Table {
            ids: HashMap::with_capacity(entries.len()),
            passwords: HashMap::new(),
            certificates: HashMap::new(),
            addresses: Networks::default(),
            expiring: Mutex::default(),
            entries: Vec::new(),
        };
        let mut expiring = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            table.ids.insert(entry.id.clone(), index);
            expiring.extend(entry.expires.map(|expires| (expires, index)));
            match &entry.proof {
                Proof::Password(_) => drop(table.passwords.insert(entry.member.name.clone(), index)),
                Proof::Certificate(sha256) => drop(table.certificates.insert(*sha256, index)),
                Proof::Address(network) => table.addresses.insert(*network, index),
                Proof::Secret { .. } | Proof::SecretHash(_) | Proof::Ed25519(_) => {}
            }
        }
        expiring.sort_unstable_by(|one, other| other.cmp(one));
        table.expiring = Mutex::new(expiring);
        table.entries = entries;
        table
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn key(&self, id: &str) -> Option<&Entry> {
        self.entries.get(*self.ids.get(id)?)
    }

    pub(crate) fn password_of(&self, member: &str) -> Option<&Entry> {
        self.entries.get(*self.passwords.get(member)?)
    }

    pub(crate) fn certificate(&self, sha256: &[u8; 32]) -> Option<&Entry> {
        self.entries.get(*self.certificates.get(sha256)?)
    }

    pub(crate) fn address(&self, address: IpAddr) -> Option<&Entry> {
        self.entries.get(self.addresses.find(address)?)
    }

    /// Gives all who have a key the rights that its member has now.
    pub(crate) fn give_rights(&self, now: Seconds) {
        for entry in self.entries.iter().filter(|entry| entry.valid(now)) {
            entry.principal.set_rights(Arc::clone(&entry.member.rights));
        }
        self.expire(now);
    }

    /// Takes their rights from all who have a key that `new` does not have.
    pub(crate) fn revoke_all_but(&self, new: &Table) {
        for entry in &self.entries {
            if new.key(&entry.id).is_none_or(|same| same.principal != entry.principal) {
                entry.principal.set_rights(Rights::default());
            }
        }
    }

    pub(crate) fn expire(&self, now: Seconds) {
        let mut expiring = self.expiring.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((_, index)) = expiring.pop_if(|(expires, _)| *expires <= now) {
            if let Some(entry) = self.entries.get(index) {
                entry.principal.set_rights(Rights::default());
            }
        }
    }
}
