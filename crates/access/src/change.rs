//! What may be changed of an access file, and why it may stay as it was.

use exchange::Mode;

use crate::budget::BudgetText;
use crate::limits::LimitsText;
use crate::listing::KeyKind;

/// A key to be added.
pub struct NewKey<'a> {
    pub member: &'a str,
    pub id: &'a str,
    pub kind: KeyKind,
    /// What the file holds of it.
    pub value: &'a str,
    /// RFC 3339.
    pub expires: Option<&'a str>,
}

/// What a member is to be.
pub struct NewMember<'a> {
    pub roles: &'a [String],
    pub accounts: &'a [String],
    pub limits: Option<&'a LimitsText>,
    pub budget: Option<&'a BudgetText>,
}

/// What is to go.
pub enum Revoked<'a> {
    Key(&'a str),
    /// With all its keys.
    Member(&'a str),
}

/// A change of what stands in a file.
pub enum Change<'a> {
    /// A member that is not there yet, of this name.
    Member(&'a str, NewMember<'a>),
    /// What a member is from now on that is there. Its keys stay.
    Rights(&'a str, NewMember<'a>),
    /// A key of a member that is there.
    Key(&'a NewKey<'a>),
    /// A key of a member that is not there yet.
    KeyOfNew(&'a NewKey<'a>, NewMember<'a>),
    Revoked(Revoked<'a>),
    /// How far the venue is open from now on.
    Mode(Mode),
}

/// Why a file stays as it was.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unchanged {
    #[error("there is none of this name")]
    Unknown,
    #[error("there is one of this name already")]
    IsThere,
    /// It would be no access file any more: why.
    #[error("it would be wrong, and was not changed: {0}")]
    Wrong(String),
    #[error("nobody could change it any more: it would have no operator with a key that counts")]
    NoOperator,
    #[error("members and keys are written otherwise than as [[member]] and [[member.key]]; change them by hand")]
    WrittenOtherwise,
    /// It cannot be read, or written: where, and why.
    #[error("{0}")]
    Failed(String),
}
