//! Who stands in an access file, for those who may know. No secret is listed, nor a hash of one.

use std::fmt;

use crate::file::{KeyText, MemberText};

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedMember {
    pub name: String,
    pub roles: Vec<String>,
    pub accounts: Vec<String>,
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

impl From<&MemberText> for ListedMember {
    fn from(member: &MemberText) -> ListedMember {
        ListedMember {
            name: member.name.clone(),
            roles: member.roles.clone(),
            accounts: member.accounts.clone(),
            keys: member.keys.iter().map(|key| ListedKey::from(key.get_ref())).collect(),
        }
    }
}

impl From<&KeyText> for ListedKey {
    fn from(key: &KeyText) -> ListedKey {
        let fields = [&key.secret, &key.secret_hash, &key.ed25519, &key.certificate, &key.address, &key.password];
        let kind = KeyKind::ALL.into_iter().zip(fields).find(|(_, field)| field.is_some());
        ListedKey {
            id: key.id.clone(),
            kind: kind.map_or(KeyKind::Hmac, |(kind, _)| kind),
            expires: key.expires.map(|time| time.to_string()),
        }
    }
}
