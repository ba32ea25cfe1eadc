//! What a key proves itself with, and what somebody claims. A claim is compared with something in any case: what it takes does not tell
//! whether there is such a key.

use std::sync::LazyLock;

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::network::Network;
use crate::random::random_bytes;

/// No secret is longer: what is sent for one costs no more to compare.
pub(crate) const SECRET_BYTES_MAX: usize = 256;

/// What is known of a key. Without `Debug`, so that no secret gets into a log.
#[derive(Clone)]
pub(crate) enum Proof {
    /// A secret that is sent or signed with. What signs is kept as it is when the secret has gone in: it stands beside the key, and a
    /// comparison begins there.
    Secret {
        mac: Hmac<Sha256>,
        hash: [u8; 32],
    },
    /// SHA-256 of a secret that nobody can guess, so that it needs no salt and no rounds.
    SecretHash([u8; 32]),
    Ed25519(Box<VerifyingKey>),
    /// SHA-256 of a certificate.
    Certificate([u8; 32]),
    Address(Network),
    /// Argon2id.
    Password(Box<PasswordHash>),
}

/// What somebody shows.
pub(crate) enum Claim<'a> {
    Secret(&'a str),
    /// Of a text, as the key's kind has it: HMAC-SHA-256 in hexadecimal digits, or Ed25519 in base64.
    Signature(&'a [&'a [u8]], &'a str),
    Password(&'a str),
}

/// A secret that is no member's. What it signed counts for nothing; comparing with it takes as long.
static NOBODYS_SECRET: LazyLock<Hmac<Sha256>> = LazyLock::new(|| mac_of(&NOTHING));

/// The hash of a password that nobody has.
static NOBODYS_PASSWORD: LazyLock<Option<PasswordHash>> =
    LazyLock::new(|| Argon2::default().hash_password_with_salt(b"", b"nobody's salt").ok());

const NOTHING: [u8; 32] = [0; 32];

impl Proof {
    pub(crate) fn secret(secret: &str) -> Proof {
        Proof::Secret { mac: mac_of(secret.as_bytes()), hash: sha256(secret.as_bytes()) }
    }

    /// Whether both are of the same secret, public key, certificate, network or password.
    pub(crate) fn is(&self, other: &Proof) -> bool {
        match (self, other) {
            (Proof::Secret { hash, .. }, Proof::Secret { hash: other, .. }) => hash == other,
            (Proof::SecretHash(hash), Proof::SecretHash(other)) => hash == other,
            (Proof::Ed25519(key), Proof::Ed25519(other)) => key == other,
            (Proof::Certificate(sha256), Proof::Certificate(other)) => sha256 == other,
            (Proof::Address(network), Proof::Address(other)) => network == other,
            (Proof::Password(hash), Proof::Password(other)) => hash == other,
            _ => false,
        }
    }

    fn secret_hash(&self) -> Option<&[u8; 32]> {
        match self {
            Proof::Secret { hash, .. } | Proof::SecretHash(hash) => Some(hash),
            Proof::Ed25519(_) | Proof::Certificate(_) | Proof::Address(_) | Proof::Password(_) => None,
        }
    }
}

impl Claim<'_> {
    /// Whether it proves to have the key. It takes as long when there is no such key, or one of another kind.
    pub(crate) fn holds(&self, proof: Option<&Proof>) -> bool {
        match self {
            Claim::Secret(secret) => {
                if secret.len() > SECRET_BYTES_MAX {
                    return false;
                }
                let known = proof.and_then(Proof::secret_hash);
                let same = bool::from(sha256(secret.as_bytes()).ct_eq(known.unwrap_or(&NOTHING)));
                same && known.is_some()
            }
            // A key that there is not looks like one with a secret. Of which kind one is nobody keeps from those who know that it is there.
            Claim::Signature(text, signature) => match proof {
                Some(Proof::Ed25519(key)) => ed25519_is(key, text, signature),
                Some(Proof::Secret { mac, .. }) => hmac_is(mac, text, signature),
                _ => {
                    let _ = hmac_is(&NOBODYS_SECRET, text, signature);
                    false
                }
            },
            Claim::Password(password) => {
                let hash = match proof {
                    Some(Proof::Password(hash)) => Some(hash.as_ref()),
                    _ => None,
                };
                let Some(compared) = hash.or(NOBODYS_PASSWORD.as_ref()) else {
                    return false;
                };
                let same = Argon2::default().verify_password(password.as_bytes(), compared).is_ok();
                same && hash.is_some()
            }
        }
    }
}

fn mac_of(secret: &[u8]) -> Hmac<Sha256> {
    let Ok(mac) = Hmac::new_from_slice(secret) else {
        unreachable!("invariant: a secret of any length is taken");
    };
    mac
}

fn hmac_is(mac: &Hmac<Sha256>, text: &[&[u8]], signature_hex: &str) -> bool {
    let Some(signature) = bytes_32(signature_hex) else {
        return false;
    };
    let mut mac = mac.clone();
    text.iter().for_each(|part| mac.update(part));
    mac.verify_slice(&signature).is_ok()
}

fn ed25519_is(key: &VerifyingKey, text: &[&[u8]], signature_base64: &str) -> bool {
    let signature = BASE64_STANDARD.decode(signature_base64).ok();
    let signature = signature.and_then(|bytes| Signature::from_slice(&bytes).ok());
    signature.is_some_and(|signature| key.verify_strict(&text.concat(), &signature).is_ok())
}

fn sha256(text: &[u8]) -> [u8; 32] {
    Sha256::digest(text).into()
}

/// What an access file holds of a secret that is sent, and not signed with: `sha256:…`.
pub fn hash_of_secret(secret: &str) -> String {
    format!("sha256:{}", hex(&sha256(secret.as_bytes())))
}

/// What an access file holds of a password: `$argon2id$…`. Errors: there is no randomness for its salt.
pub fn hash_of_password(password: &str) -> Result<String, String> {
    let salt = random_bytes::<16>().map_err(|error| format!("no randomness for a salt: {error}"))?;
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|error| format!("the password cannot be hashed: {error}"))
}

/// What signs this text with this secret: HMAC-SHA-256 in hexadecimal digits.
pub fn hmac_hex(secret: &str, text: &[&[u8]]) -> String {
    let mut mac = mac_of(secret.as_bytes());
    text.iter().for_each(|part| mac.update(part));
    hex(&mac.finalize().into_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 bytes in hexadecimal digits.
pub(crate) fn bytes_32(digits: &str) -> Option<[u8; 32]> {
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    let mut bytes = [0; 32];
    if pairs.len() != bytes.len() || !rest.is_empty() {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = value(*high)? << 4 | value(*low)?;
    }
    Some(bytes)
}

/// How a public key begins where it says that it is one of Ed25519, before its 32 bytes.
const ED25519_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// A public key: PEM, or its 32 bytes, or these behind their head, in base64.
pub(crate) fn public_key(text: &str) -> Option<VerifyingKey> {
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).flat_map(str::split_whitespace).collect();
    let bytes = BASE64_STANDARD.decode(body).ok()?;
    let key = bytes.strip_prefix(&ED25519_HEAD).unwrap_or(&bytes);
    VerifyingKey::from_bytes(key.try_into().ok()?).ok().filter(|key| !key.is_weak())
}

/// A password's hash. Errors: it is none of argon2id's, or would take more than 64 MiB or 10 rounds.
pub(crate) fn password_hash(text: &str) -> Result<PasswordHash, &'static str> {
    let hash = PasswordHash::new(text)
        .map_err(|_| "is no hash like $argon2id$…; `pricetime access add --key password` makes one")?;
    let params = argon2::Params::try_from(&hash).map_err(|_| "has parameters that argon2id does not have")?;
    if hash.algorithm.as_str() != "argon2id" {
        return Err("is not one of argon2id");
    }
    if params.m_cost() > 64 * 1024 || params.t_cost() > 10 {
        return Err("takes more than 64 MiB or 10 rounds");
    }
    Ok(hash)
}
