//! The port to the audit trail: the questions about who asked for which command, and their answers. The program
//! implements it.

use terms::{AccountId, Sequence, Time};

/// Commands of a page, at most.
pub const AUDIT_PAGE_MAX: usize = 1000;

/// A question for a page: the newest commands before one.
#[derive(Clone, Debug)]
pub struct AuditQuestion {
    pub before: Sequence,
    /// The number of commands, at most.
    pub limit: usize,
    /// Only commands of this member.
    pub member: Option<String>,
    /// Only commands of this connection.
    pub session: Option<u64>,
    /// Only commands that name this account.
    pub account: Option<AccountId>,
    /// Only commands of the kill switch.
    pub kills: bool,
}

/// A page of commands, newest first. `next`: the command before which the next page begins; `None` if there is nothing
/// older.
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

/// The caller of a command. An empty word is not known.
#[derive(Debug)]
pub enum AuditedBy {
    /// The caller was not kept.
    Unknown,
    /// The server itself gave the command, without a connection.
    Server,
    Caller {
        protocol: String,
        session: u64,
        member: String,
        key: String,
        address: String,
    },
}

/// The reason why there is no page.
#[derive(Debug)]
pub enum NoAudit {
    /// All of it is older than what is kept.
    NoLongerKept,
    /// The reason for the operator's log.
    Unreadable(String),
    /// A fault of the server ended the question.
    Fault,
}

/// The audit trail.
pub trait AuditTrail: Send + Sync + 'static {
    /// Reads a page. Blocks: the caller runs it on a thread where nothing else waits. A question reads a bounded
    /// amount, so a page may have fewer commands than were asked for, or none, although older ones follow. Errors:
    /// there is no such page.
    fn page(&self, question: &AuditQuestion) -> Result<AuditPage, NoAudit>;
}
