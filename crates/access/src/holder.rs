//! Finds a key's member by the key's name alone: a protocol may accept that where the name cannot be guessed.

use std::time::SystemTime;

use exchange::Principal;

use crate::Access;
use crate::proof::Proof;
use crate::random::RANDOM_TEXT_LENGTH;

/// Different characters that a random name has, at least. One of a million million random names has fewer.
const DIFFERENT_MIN: usize = 24;

impl Access {
    /// Finds the member of a valid key that signs. The name alone proves the key only where it cannot be guessed.
    pub fn holder(&self, key: &str, now: SystemTime) -> Option<Principal> {
        let table = self.table();
        let signs = |proof: &Proof| matches!(proof, Proof::Secret { .. } | Proof::Ed25519(_));
        let entry = table.key(key).filter(|entry| signs(&entry.proof) && entry.valid(now.into()));
        entry.map(|entry| entry.principal.clone())
    }
}

/// Whether a key's name is random and cannot be guessed: 64 letters and digits, as `pricetime access add` and
/// `pricetime keys add` make them.
pub fn is_random_name(key: &str) -> bool {
    let mut bytes: Vec<u8> = key.bytes().filter(u8::is_ascii_alphanumeric).collect();
    let is_whole = key.len() == RANDOM_TEXT_LENGTH && bytes.len() == RANDOM_TEXT_LENGTH;
    bytes.sort_unstable();
    bytes.dedup();
    is_whole && bytes.len() >= DIFFERENT_MIN
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_text;

    #[test]
    fn a_name_is_random_that_was_made_so() {
        assert!((0..1000).all(|_| is_random_name(&random_text().expect("randomness"))));
        let random = random_text().expect("randomness");
        for chosen in ["", "student-8", &"a1".repeat(32), &"student8".repeat(8), &random[1..], &format!("{random}x")] {
            assert!(!is_random_name(chosen), "{chosen}");
        }
        assert!(!is_random_name(&format!("-{}", &random[1..])));
    }
}
