//! The table of all keys: one look into a hash table finds a key, whatever its kind.

use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use exchange::{Mode, Principal, Rights};
use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashTable};
use terms::AccountId;

use crate::network::Networks;
use crate::proof::Proof;
use crate::time::Seconds;

/// A member that has keys.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) rights: Arc<Rights>,
    pub(crate) first_account: Option<AccountId>,
}

/// A key. Its principal is shared by all who have proven to have it.
pub(crate) struct Entry {
    pub(crate) id: Id,
    pub(crate) member: Arc<Member>,
    pub(crate) proof: Proof,
    pub(crate) expires: Option<Seconds>,
    pub(crate) principal: Principal,
}

/// Bytes of a key's id, at most.
pub(crate) const ID_BYTES_MAX: usize = 64;

/// The id of a key, filled up with zeros. The entry holds it, so that a look-up reads one place less in memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id([u8; ID_BYTES_MAX]);

impl Id {
    /// Makes an id. Returns `None` for a text that is longer than ids may be.
    pub(crate) fn new(text: &str) -> Option<Id> {
        let mut bytes = [0; ID_BYTES_MAX];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Id(bytes))
    }

    fn text(&self) -> &str {
        let end = self.0.iter().position(|&byte| byte == 0).unwrap_or(ID_BYTES_MAX);
        self.0.get(..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// The keys of an access file, in its order. Indexes refer to them.
#[derive(Default)]
pub(crate) struct Table {
    /// The mode of the venue.
    pub(crate) mode: Mode,
    entries: Vec<Entry>,
    ids: HashTable<u32>,
    /// All members by name, also those without keys.
    members: HashMap<String, Arc<Member>, RandomState>,
    passwords: HashMap<String, u32, RandomState>,
    certificates: HashMap<[u8; 32], u32, RandomState>,
    addresses: Networks,
    /// The keys that will expire; once the table is complete the next one to expire is at the end.
    expiring: Mutex<Vec<(Seconds, u32)>>,
    hasher: RandomState,
}

impl Entry {
    pub(crate) fn new(id: Id, member: &Arc<Member>, proof: Proof, expires: Option<Seconds>) -> Entry {
        let principal = Principal::of_key(&member.name, id.text(), Arc::clone(&member.rights));
        Entry { id, member: Arc::clone(member), proof, expires, principal }
    }

    pub(crate) fn valid(&self, now: Seconds) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    fn is_same_as(&self, other: &Entry) -> bool {
        self.member.name == other.member.name && self.proof.is(&other.proof)
    }
}

impl Table {
    /// Adds a key. Errors: an earlier key has something that must be unique.
    pub(crate) fn insert(&mut self, entry: Entry) -> Result<(), &'static str> {
        let index = u32::try_from(self.entries.len()).map_err(|_| "there are more than 2^32 keys")?;
        let is_new = match &entry.proof {
            Proof::Password(_) => self.passwords.insert(entry.member.name.clone(), index).is_none(),
            Proof::Certificate(sha256) => self.certificates.insert(*sha256, index).is_none(),
            Proof::Address(network) => self.addresses.insert(*network, index),
            Proof::Secret { .. } | Proof::SecretHash(_) | Proof::Ed25519(_) => true,
        };
        if !is_new {
            return Err("an earlier one has the same password's member, certificate or address");
        }
        let Table { entries, hasher, .. } = self;
        let hash_of = |index: &u32| entries.get(*index as usize).map_or(0, |entry| hasher.hash_one(entry.id));
        let hash = hasher.hash_one(entry.id);
        let same = |index: &u32| entries.get(*index as usize).is_some_and(|other| other.id == entry.id);
        match self.ids.entry(hash, same, hash_of) {
            hashbrown::hash_table::Entry::Occupied(_) => return Err("an earlier one has the same id"),
            hashbrown::hash_table::Entry::Vacant(place) => drop(place.insert(index)),
        }
        let expiring = self.expiring.get_mut().unwrap_or_else(PoisonError::into_inner);
        expiring.extend(entry.expires.map(|expires| (expires, index)));
        self.entries.push(entry);
        Ok(())
    }

    /// Adds a member. Returns false if its name is taken.
    pub(crate) fn insert_member(&mut self, member: &Arc<Member>) -> bool {
        self.members.insert(member.name.clone(), Arc::clone(member)).is_none()
    }

    pub(crate) fn member(&self, name: &str) -> Option<&Arc<Member>> {
        self.members.get(name)
    }

    /// Whether each member but the one of this name has the same rights in the other table, too.
    pub(crate) fn others_keep_their_rights(&self, after: &Table, changed: Option<&str>) -> bool {
        let mut others = self.members.values().filter(|member| changed != Some(&member.name));
        others.all(|member| after.member(&member.name).is_some_and(|there| there.rights == member.rights))
    }

    /// Sorts the keys that will expire. Called when all keys are there.
    pub(crate) fn complete(&mut self) {
        let expiring = self.expiring.get_mut().unwrap_or_else(PoisonError::into_inner);
        expiring.sort_unstable_by(|one, other| other.cmp(one));
    }

    /// Lets keys that were there before keep their principals, so that logged-in members stay logged in.
    pub(crate) fn continue_from(&mut self, before: &Table) {
        for entry in &mut self.entries {
            if let Some(same) = before.find(&entry.id).filter(|old| entry.is_same_as(old)) {
                entry.principal = same.principal.clone();
            }
        }
    }

    /// Whether a valid key of an operator is left, with which members can be changed.
    pub(crate) fn has_operator(&self, now: Seconds) -> bool {
        self.entries.iter().any(|entry| entry.valid(now) && entry.member.rights.is_operator())
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the number of members.
    pub(crate) fn members(&self) -> usize {
        self.members.len()
    }

    /// Returns the number of a member's keys.
    pub(crate) fn keys_of(&self, member: &str) -> usize {
        self.entries.iter().filter(|entry| entry.member.name == member).count()
    }

    pub(crate) fn key(&self, id: &str) -> Option<&Entry> {
        self.find(&Id::new(id)?)
    }

    fn find(&self, id: &Id) -> Option<&Entry> {
        let has_id = |index: &u32| self.at(*index).is_some_and(|entry| entry.id == *id);
        self.at(*self.ids.find(self.hasher.hash_one(id), has_id)?)
    }

    fn at(&self, index: u32) -> Option<&Entry> {
        self.entries.get(index as usize)
    }

    pub(crate) fn password_of(&self, member: &str) -> Option<&Entry> {
        self.at(*self.passwords.get(member)?)
    }

    pub(crate) fn certificate(&self, sha256: &[u8; 32]) -> Option<&Entry> {
        self.at(*self.certificates.get(sha256)?)
    }

    pub(crate) fn address(&self, address: IpAddr) -> Option<&Entry> {
        self.at(self.addresses.find(address)?)
    }

    /// Gives all holders of keys the current rights of their members.
    pub(crate) fn give_rights(&self, now: Seconds) {
        for entry in self.entries.iter().filter(|entry| entry.valid(now)) {
            entry.principal.set_rights(Arc::clone(&entry.member.rights));
        }
        self.expire(now);
    }

    /// Takes the rights from all holders of keys that `new` does not have.
    pub(crate) fn revoke_all_but(&self, new: &Table) {
        for entry in &self.entries {
            if new.find(&entry.id).is_none_or(|same| same.principal != entry.principal) {
                entry.principal.set_rights(Rights::default());
            }
        }
    }

    pub(crate) fn expire(&self, now: Seconds) {
        let mut expiring = self.expiring.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((_, index)) = expiring.pop_if(|(expires, _)| *expires <= now) {
            if let Some(entry) = self.at(index) {
                entry.principal.set_rights(Rights::default());
            }
        }
    }
}
