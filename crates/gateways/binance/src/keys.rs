//! API keys: the account for which a key trades, and the check of signatures with its secret.

use std::collections::HashMap;
use std::fmt;

use access::random_text;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use terms::AccountId;

/// An API key. A holder of its secret trades with its account.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    pub key: String,
    pub secret: String,
    pub account: AccountId,
}

/// All keys of the key file.
#[derive(Clone, Debug, Default)]
pub struct Keys(HashMap<String, Key>);

impl Key {
    /// Makes a new key of the operating system's randomness. Errors: it has none.
    pub fn random(account: AccountId) -> std::io::Result<Key> {
        Ok(Key { key: random_text()?, secret: random_text()?, account })
    }

    /// Whether `signature`, in hexadecimal digits, is that of `text`. The time that this takes reveals nothing about
    /// the right signature.
    pub(crate) fn signed(&self, text: &[&[u8]], signature: &str) -> bool {
        let (Some(signature), Ok(mut mac)) = (bytes(signature), Hmac::<Sha256>::new_from_slice(self.secret.as_bytes()))
        else {
            return false;
        };
        text.iter().for_each(|part| mac.update(part));
        mac.verify_slice(&signature).is_ok()
    }
}

/// Shows no secret, so that none gets into a log.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("key", &self.key).field("account", &self.account).finish_non_exhaustive()
    }
}

impl Keys {
    /// Adds a key. Returns false, and changes nothing, if its name is taken.
    pub fn add(&mut self, key: Key) -> bool {
        match self.0.contains_key(&key.key) {
            true => false,
            false => self.0.insert(key.key.clone(), key).is_none(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn find(&self, key: &str) -> Option<&Key> {
        self.0.get(key)
    }
}

/// Decodes hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    pairs
        .map(|pair| match pair {
            [high, low] => {
                let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
                Some(digit(*high)? << 4 | digit(*low)?)
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account() -> AccountId {
        AccountId::parse(b"1").expect("digits")
    }

    /// The example of the documentation that these clients were written after.
    #[test]
    fn the_documented_example_is_signed() {
        let key = Key {
            key: "vmPUZE6mv9SD5VNHk4HlWFsOr6aKE2zvsw0MuIgwCIPy6utIco14y7Ju91duEh8A".to_owned(),
            secret: "NhqPtmdSJYdKjVHjA7PZj4Mge3R5YNiP1e3UZjInClVN65XAbvqqM6A7H5fATj0j".to_owned(),
            account: account(),
        };
        let text = b"symbol=LTCBTC&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0.1&recvWindow=5000&\
                     timestamp=1499827319559";
        let signature = "c8db56825ae71d6d79447849e617115f4a920fa2acdcab2b053c4b2838bd6b71";
        assert!(key.signed(&[text], signature));
        assert!(key.signed(&[&text[..20], &text[20..]], &signature.to_uppercase()));
        assert!(!key.signed(&[&text[1..]], signature), "of another text");
        for wrong in ["", "c8", "x", &signature[1..], &format!("{signature}00"), &signature.replace('c', "d")] {
            assert!(!key.signed(&[text], wrong), "{wrong}");
        }
        assert!(!format!("{key:?}").contains("Nhq"), "a secret is not shown");
    }

    #[test]
    fn random_keys_differ_and_are_found() {
        let (one, other) = (Key::random(account()).expect("randomness"), Key::random(account()).expect("randomness"));
        assert!(one.key != other.key && one.secret != other.secret && one.key != one.secret);
        assert!([&one.key, &one.secret].iter().all(|text| text.len() == access::RANDOM_TEXT_LENGTH && text.is_ascii()));
        let mut keys = Keys::default();
        assert!(keys.add(one.clone()) && !keys.add(one.clone()) && keys.add(other));
        assert_eq!(keys.find(&one.key), Some(&one));
        assert_eq!(keys.find("none"), None);
    }
}
