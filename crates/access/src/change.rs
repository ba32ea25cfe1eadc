//! Changes of an access file, and the reasons why a file may stay as it was.

use exchange::Mode;

use crate::budget::BudgetText;
use crate::limits::LimitsText;
use crate::listing::KeyKind;

/// The author of a change, and the address it came from.
#[derive(Clone, Copy)]
pub struct Author<'a> {
    pub name: &'a str,
    pub from: &'a str,
}

/// A key to add.
pub struct NewKey<'a> {
    pub member: &'a str,
    pub id: &'a str,
    pub kind: KeyKind,
    /// The proof as the file holds it.
    pub value: &'a str,
    /// The expiry in RFC 3339.
    pub expires: Option<&'a str>,
}

/// The rights that a member is to have.
pub struct NewMember<'a> {
    pub roles: &'a [String],
    pub accounts: &'a [String],
    pub limits: Option<&'a LimitsText>,
    pub budget: Option<&'a BudgetText>,
}

/// A key or a member to remove.
pub enum Revoked<'a> {
    Key(&'a str),
    /// A member with all its keys.
    Member(&'a str),
}

/// A change of a file.
pub enum Change<'a> {
    /// Adds a member of this name, which must not exist.
    Member(&'a str, NewMember<'a>),
    /// Replaces the rights of an existing member. Its keys stay.
    Rights(&'a str, NewMember<'a>),
    /// Adds a key of an existing member.
    Key(&'a NewKey<'a>),
    /// Adds a new member with a key.
    KeyOfNew(&'a NewKey<'a>, NewMember<'a>),
    Revoked(Revoked<'a>),
    /// Sets how far the venue is open.
    Mode(Mode),
}

/// The reason why a file stays as it was.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unchanged {
    #[error("there is none of this name")]
    Unknown,
    #[error("there is one of this name already")]
    IsThere,
    /// The result would be no valid access file; the reason.
    #[error("it would be wrong, and was not changed: {0}")]
    Wrong(String),
    #[error("no member could change it any more: it would have no operator with a key that counts")]
    NoOperator,
    #[error("members and keys are written otherwise than as [[member]] and [[member.key]]; change them by hand")]
    WrittenOtherwise,
    #[error("the access file was changed by hand, and that does not count yet: try again in a second")]
    BeingEdited,
    /// The file cannot be read or written; the path and the reason.
    #[error("{0}")]
    Failed(String),
    /// The log that has the members of all nodes cannot be reached, and nothing was changed; the reason.
    #[error("nothing was changed: {0}")]
    Away(String),
    #[error("it is not known whether it was changed, because the log went away meanwhile: look at it later")]
    InDoubt,
    #[error("this server is read-only: nothing was changed; send it to a server of the cluster that is not")]
    ReadOnly,
}

/// Writes the record of a change, without any secret.
pub(crate) fn record(change: &Change<'_>, author: Author<'_>) -> String {
    let of_member = |name: &str, NewMember { roles, accounts, limits, budget }: &NewMember<'_>| {
        let limits = limits.map(|limits| format!(" limits={limits}")).unwrap_or_default();
        let budget = budget.map(|budget| format!(" budget={budget}")).unwrap_or_default();
        format!("member={name} roles={} accounts={}{limits}{budget}", roles.join(","), accounts.join(","))
    };
    let of_key = |NewKey { member, id, kind, .. }: &NewKey<'_>| format!("add member={member} key={id} kind={kind}");
    let what = match change {
        Change::Member(name, member) => format!("add {}", of_member(name, member)),
        Change::Rights(name, member) => format!("set {}", of_member(name, member)),
        Change::Key(key) | Change::KeyOfNew(key, _) => of_key(key),
        Change::Mode(mode) => format!("mode {}", mode.name()),
        Change::Revoked(Revoked::Key(id)) => format!("revoke key={id}"),
        Change::Revoked(Revoked::Member(name)) => format!("revoke member={name}"),
    };
    format!("user={} from={} {what}", author.name, author.from)
}
