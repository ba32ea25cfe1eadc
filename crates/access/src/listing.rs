//! The members of an access file, as operators may list them, without secrets and without their hashes.

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

/// A key of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedKey {
    pub id: String,
    pub kind: KeyKind,
    /// The expiry as it is written; `None` for a key that is valid for ever.
    pub expires: Option<String>,
}

/// The proof that a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// A secret that signs.
    Hmac,
    /// A secret that is sent.
    Secret,
    Ed25519,
    Certificate,
    Address,
    Password,
}

impl KeyKind {
    pub const ALL: [KeyKind; 6] =
        [KeyKind::Hmac, KeyKind::Secret, KeyKind::Ed25519, KeyKind::Certificate, KeyKind::Address, KeyKind::Password];

    /// Returns the name of the kind.
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

    /// Returns the field of a key in an access file.
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
