//! The proofs that keys ask for, and the claims of clients. A claim is compared in any case: the time that it takes
//! does not say whether the key exists.

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

/// Bytes of the shortest salt of a password's hash, which nobody may guess: who has the cookie of a device could try
/// passwords on it.
const SALT_BYTES_MIN: usize = 16;

/// Bytes of the longest secret: a longer claim costs no more to compare.
pub(crate) const SECRET_BYTES_MAX: usize = 256;

/// The proof that a key asks for. Without `Debug`, so that no secret gets into a log.
#[derive(Clone)]
pub(crate) enum Proof {
    /// A secret that is sent or signs. The MAC is kept as it is after the secret went in, beside the key, and each
    /// comparison begins there.
    Secret {
        mac: Hmac<Sha256>,
        hash: [u8; 32],
    },
    /// SHA-256 of a secret that is too long to guess, so that it needs no salt and no rounds.
    SecretHash([u8; 32]),
    Ed25519(Box<VerifyingKey>),
    /// SHA-256 of a certificate.
    Certificate([u8; 32]),
    Address(Network),
    /// A password's hash by Argon2id.
    Password(Box<PasswordHash>),
}

/// The claim of a client.
pub(crate) enum Claim<'a> {
    Secret(&'a str),
    /// A text and its signature: HMAC-SHA-256 in hexadecimal digits, or Ed25519 in base64, by the kind of the key.
    Signature(&'a [&'a [u8]], &'a str),
    Password(&'a str),
    /// The token of a device from which this member has logged in by the password that it has now.
    Device {
        member: &'a str,
        token: &'a str,
    },
}

/// The beginning of what a device's token signs.
const DEVICE: &[u8] = b"pricetime device\n";

/// A secret that no member has. Comparing with it takes as long as with a member's, and never holds.
static NOBODYS_SECRET: LazyLock<Hmac<Sha256>> = LazyLock::new(|| mac_of(&NOTHING));

/// The hash of a password that no member has.
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
    /// Whether the claim proves the key. It takes as long when the key does not exist or is of another kind.
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
            // A key that does not exist takes the time of a key with a secret. The kind of an existing key is no secret
            // from those who know that it exists.
            Claim::Signature(text, signature) => match proof {
                Some(Proof::Ed25519(key)) => ed25519_is(key, text, signature),
                Some(Proof::Secret { mac, .. }) => hmac_is(mac, text, signature),
                _ => {
                    let _ = hmac_is(&NOBODYS_SECRET, text, signature);
                    false
                }
            },
            Claim::Password(password) => {
                is_of_password(proof, |hash| Argon2::default().verify_password(password.as_bytes(), hash).is_ok())
            }
            Claim::Device { member, token } => is_of_password(proof, |hash| {
                hmac_is(&mac_of(hash.to_string().as_bytes()), &[DEVICE, member.as_bytes()], token)
            }),
        }
    }
}

/// Whether a comparison with the hash of a password holds. For another kind of key it is made in vain.
fn is_of_password(proof: Option<&Proof>, compare: impl FnOnce(&PasswordHash) -> bool) -> bool {
    let hash = match proof {
        Some(Proof::Password(hash)) => Some(hash.as_ref()),
        _ => None,
    };
    let Some(compared) = hash.or(NOBODYS_PASSWORD.as_ref()) else {
        return false;
    };
    compare(compared) && hash.is_some()
}

/// Makes the token of a device from which this member has logged in by its password. `None` for another kind of key.
pub(crate) fn device_token(proof: &Proof, member: &str) -> Option<String> {
    match proof {
        Proof::Password(hash) => Some(hmac_hex(&hash.to_string(), &[DEVICE, member.as_bytes()])),
        Proof::Secret { .. } | Proof::SecretHash(_) | Proof::Ed25519(_) | Proof::Certificate(_) | Proof::Address(_) => {
            None
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

/// Hashes a secret that is sent and does not sign, as an access file holds it: `sha256:…`.
pub fn hash_of_secret(secret: &str) -> String {
    format!("sha256:{}", hex(&sha256(secret.as_bytes())))
}

/// Hashes a password as an access file holds it: `$argon2id$…`. Errors: there is no randomness for its salt.
pub fn hash_of_password(password: &str) -> Result<String, String> {
    let salt = random_bytes::<16>().map_err(|error| format!("no randomness for a salt: {error}"))?;
    let hash = Argon2::default().hash_password_with_salt(password.as_bytes(), &salt);
    hash.map(|hash| hash.to_string()).map_err(|error| format!("the password cannot be hashed: {error}"))
}

/// Signs this text with this secret: HMAC-SHA-256 in hexadecimal digits.
pub fn hmac_hex(secret: &str, text: &[&[u8]]) -> String {
    let mut mac = mac_of(secret.as_bytes());
    text.iter().for_each(|part| mac.update(part));
    hex(&mac.finalize().into_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads 32 bytes in hexadecimal digits.
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

/// The first bytes of a public key in DER that is one of Ed25519; its 32 bytes follow.
const ED25519_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Reads a public key: PEM, its 32 bytes in base64, or these behind their head.
pub(crate) fn public_key(text: &str) -> Option<VerifyingKey> {
    let body: String = text.lines().filter(|line| !line.starts_with("-----")).flat_map(str::split_whitespace).collect();
    let bytes = BASE64_STANDARD.decode(body).ok()?;
    let key = bytes.strip_prefix(&ED25519_HEAD).unwrap_or(&bytes);
    VerifyingKey::from_bytes(key.try_into().ok()?).ok().filter(|key| !key.is_weak())
}

/// Reads a password's hash. Errors: it is not of argon2id, would take more than 64 MiB or 10 rounds, or has a short
/// salt.
pub(crate) fn password_hash(text: &str) -> Result<PasswordHash, String> {
    let hash = PasswordHash::new(text)
        .map_err(|_| "is no hash like $argon2id$…; `pricetime access add --key password` makes one")?;
    let params = argon2::Params::try_from(&hash).map_err(|_| "has parameters that argon2id does not have")?;
    if hash.algorithm.as_str() != "argon2id" {
        return Err("is not one of argon2id".to_owned());
    }
    if params.m_cost() > 64 * 1024 || params.t_cost() > 10 {
        return Err("takes more than 64 MiB or 10 rounds".to_owned());
    }
    let salt = hash.salt.as_ref().map_or(0, |salt| salt.len());
    if salt < SALT_BYTES_MIN {
        return Err(format!("has a salt of {salt} bytes; at least {SALT_BYTES_MIN}, drawn at random"));
    }
    Ok(hash)
}
