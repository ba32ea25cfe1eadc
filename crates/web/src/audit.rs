//! Who asked for which command: what may be asked of whoever keeps it, and what is told. How it is kept, the program says.

use engine::{AccountId, Sequence, Time};

/// Commands of a page, at most.
pub const AUDIT_PAGE_MAX: usize = 1000;

/// A page that is asked for: the newest commands before one.
#[derive(Clone, Debug)]
pub struct AuditQuestion {
    pub before: Sequence,
    /// How many at most.
    pub limit: usize,
    /// Only what this member asked for.
    pub member: Option<String>,
    /// Only what was asked for on this connection.
    pub session: Option<u64>,
    /// Only what names this account.
    pub account: Option<AccountId>,
}

/// Commands, newest first, and before which one the next page is; none if there is nothing older.
#[derive(Debug, Default)]
pub struct AuditPage {
    pub commands: Vec<AuditedCommand>,
    pub next: Option<Sequence>,
}

#[derive(Debug)]
pub struct AuditedCommand {
    pub sequence: Sequence,
    pub time: Time,
    /// The account that it names first.
    pub account: Option<AccountId>,
    /// The command in words.
    pub what: String,
    pub by: AuditedBy,
}

/// Who asked for a command. A word that is empty is not known.
#[derive(Debug)]
pub enum AuditedBy {
    /// That was not kept.
    Unknown,
    /// Nobody on a connection.
    Server,
    Caller {
        protocol: String,
        session: u64,
        member: String,
        key: String,
        address: String,
    },
}

/// Why there is no page.
#[derive(Debug)]
pub enum NoAudit {
    /// All of it is older than what is kept.
    NoLongerKept,
    /// For whoever runs the server.
    Unreadable(String),
}

/// Who keeps it.
pub trait AuditTrail: Send + Sync + 'static {
    /// Reads so long as that takes: it is asked on a thread that nobody waits for but who asks. A page may have fewer commands than were
    /// asked for, also none, and older ones behind it all the same: a question reads so much at most. Errors: there is no such page.
    fn page(&self, question: &AuditQuestion) -> Result<AuditPage, NoAudit>;
}
