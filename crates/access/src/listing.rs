//! Who stands in an access file, for those who may know. No secret is listed, nor a hash of one.

use std::fmt;

use crate::budget::BudgetText;
use crate::limits::LimitsText;

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMember {
    pub name: String,
    pub roles: Vec<String>,
    pub accounts: Vec<String>,
    pub limits: Option<LimitsText>,
    pub budget: Option<BudgetText>,
    pub keys: Vec<ListedKey>,
}

/// One of its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    pub id: String,
    pub kind: KeyKind,
    /// As it is written; none for one that is valid for ever.
    pub expires: Option<String>,
}

/// What a key proves itself with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A secret to sign with.
    Hmac,
    /// A secret to send.
    Secret,
    Ed25519,
    Certificate,
    Address,
    Password,
}

impl KeyKind {
    pub const ALL: [KeyKind; 6] =
        [KeyKind::Hmac, KeyKind::Secret, KeyKind::Ed25519, KeyKind::Certificate, KeyKind::Address, KeyKind::Password];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            KeyKind::Hmac => "hmac",
            KeyKind::Secret => "secret",
            KeyKind::Ed25519 => "ed25519",
            KeyKind::Certificate => "certificate",
            KeyKind::Address => "address",
            KeyKind::Password => "password",
        }
    }

    /// The field of a key in an access file.
    pub(crate) fn field(self) -> &'static str {
        match self {
            KeyKind::Hmac => "secret",
            KeyKind::Secret => "secret_hash",
            KeyKind::Ed25519 | KeyKind::Certificate | KeyKind::Address | KeyKind::Password => self.name(),
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
