//! The audit trail, read from the journal of a running server. It writes nothing, and reads on threads of the
//! lowest priority, so it delays nobody.

use std::collections::VecDeque;
use std::iter::repeat_n;

use exchange::containment::{Part, contain};
use http_gateway::{AuditPage, AuditQuestion, AuditTrail, AuditedBy, AuditedCommand, NoAudit};
use journal::{BatchView, Caller, CallerReader, Disk, JournalError, JournalPoint, VisitError};
use terms::{Command, CommandKind, Entry, Sequence};

use crate::journal_tool::describe;

/// The most commands that one question reads, in one file of the journal: older ones are on the next page.
const COMMANDS_MAX: u64 = 100_000;
/// The number of attempts when files are retired during a question.
const ATTEMPTS: usize = 3;
/// The number of batches between two offers of the core to the threads that match.
const BATCHES: u64 = 64;

/// The journal of a data folder.
pub struct JournalTrail(Disk);

impl JournalTrail {
    pub fn new(disk: Disk) -> JournalTrail {
        JournalTrail(disk)
    }
}

impl AuditTrail for JournalTrail {
    fn page(&self, question: &AuditQuestion) -> Result<AuditPage, NoAudit> {
        aside(question, || self.find(question))
    }
}

/// Answers a question on a thread of its own, which keeps the lowest priority until it ends. A panic ends this question
/// alone.
fn aside(
    question: &AuditQuestion,
    find: impl FnOnce() -> Result<AuditPage, NoAudit> + Send,
) -> Result<AuditPage, NoAudit> {
    let read = || {
        let _ = rustix::process::setpriority_process(None, 19);
        contain(Part::Question, find).unwrap_or_else(|panicked| {
            tracing::error!(?question, %panicked, "a question to the audit trail ended by a fault of the server; please report it");
            Err(NoAudit::Fault)
        })
    };
    std::thread::scope(|scope| {
        let reading = std::thread::Builder::new().name("audit".to_string()).spawn_scoped(scope, read);
        let reading = reading.map_err(|error| NoAudit::Unreadable(error.to_string()))?;
        reading.join().unwrap_or_else(|panicked| std::panic::resume_unwind(panicked))
    })
}

impl JournalTrail {
    fn find(&self, question: &AuditQuestion) -> Result<AuditPage, NoAudit> {
        let Some(last) = question.before.0.checked_sub(1).filter(|last| *last > 0) else {
            return Ok(AuditPage::default());
        };
        for _ in 1..ATTEMPTS {
            if let Ok(page) = self.read(Sequence(last), question) {
                return page.ok_or(NoAudit::NoLongerKept);
            }
        }
        let page = self.read(Sequence(last), question).map_err(|error| NoAudit::Unreadable(error.to_string()))?;
        page.ok_or(NoAudit::NoLongerKept)
    }

    /// Reads the page that ends with `last`; none if its file was retired.
    fn read(&self, last: Sequence, question: &AuditQuestion) -> Result<Option<AuditPage>, JournalError> {
        let Some(begin) = journal::file_point(&self.0, last)? else { return Ok(None) };
        let mut looked =
            Look { question, last, first: first_looked_at(begin, last), found: VecDeque::new(), more: false };
        let (mut callers, mut batches, mut ended) = (CallerReader::default(), 0u64, false);
        let read = journal::visit_batches(&self.0, begin, None, &mut |batch| {
            looked.batch(batch, &mut callers)?;
            batches = batches.wrapping_add(1);
            if batches.is_multiple_of(BATCHES) {
                std::thread::yield_now();
            }
            ended = batch.point.sequence >= last;
            if ended { Err(Enough.into()) } else { Ok(()) }
        });
        match read {
            Err(error) if !ended => Err(error),
            Ok(_) | Err(_) => Ok(Some(looked.page())),
        }
    }
}

/// The oldest command to read, in a file that begins at `begin`.
fn first_looked_at(begin: JournalPoint, last: Sequence) -> Sequence {
    begin.sequence.next().max(Sequence(last.0.saturating_sub(COMMANDS_MAX - 1)))
}

/// Ends the reading.
#[derive(Debug, thiserror::Error)]
#[error("all that was asked for is read")]
struct Enough;

/// The findings so far.
struct Look<'a> {
    question: &'a AuditQuestion,
    first: Sequence,
    last: Sequence,
    /// The newest matching commands, oldest first.
    found: VecDeque<(Entry, AuditedBy)>,
    /// Whether more commands matched than there is room for.
    more: bool,
}

impl Look<'_> {
    fn batch(&mut self, batch: &BatchView<'_>, callers: &mut CallerReader) -> Result<(), VisitError> {
        let mut by = Vec::new();
        let is_looked_at = batch.point.sequence >= self.first;
        // This also reads the callers of commands outside the page: a file introduces each caller once.
        callers.read(batch, |asked| {
            if is_looked_at {
                by.extend(repeat_n(Some(asked.by), asked.commands as usize));
            }
        })?;
        if !is_looked_at {
            return Ok(());
        }
        let mut by = by.into_iter();
        Ok(batch.entries_to_show(&mut |entry: Entry| {
            self.entry(&entry, by.next().flatten());
            Ok(())
        })?)
    }

    /// Adds a matching command. `by` is none if callers were not kept, and holds none for a command of the loop.
    fn entry(&mut self, entry: &Entry, by: Option<Option<&Caller>>) {
        if !(self.first..=self.last).contains(&entry.sequence) || !self.wants(by.flatten(), &entry.command) {
            return;
        }
        if self.found.len() == self.question.limit {
            self.found.pop_front();
            self.more = true;
        }
        let by = match by {
            None => AuditedBy::Unknown,
            Some(None) => AuditedBy::Server,
            Some(Some(Caller { protocol, session, member, key, address })) => AuditedBy::Caller {
                protocol: protocol.clone(),
                session: *session,
                member: member.clone(),
                key: key.clone(),
                address: address.clone(),
            },
        };
        self.found.push_back((*entry, by));
    }

    fn wants(&self, by: Option<&Caller>, command: &Command) -> bool {
        let AuditQuestion { member, session, account: wanted, kills, .. } = self.question;
        member.as_ref().is_none_or(|member| by.is_some_and(|by| by.member == *member))
            && session.is_none_or(|session| by.is_some_and(|by| by.session == session))
            && wanted.is_none_or(|wanted| command.account() == Some(wanted))
            && (!kills || matches!(command.kind(), CommandKind::Kill | CommandKind::Release))
    }

    fn page(self) -> AuditPage {
        let begins =
            if self.more { self.found.front().map_or(self.first, |(oldest, _)| oldest.sequence) } else { self.first };
        let next = (begins > Sequence(1)).then_some(begins);
        AuditPage { commands: self.found.into_iter().rev().map(told).collect(), next }
    }
}

fn told((Entry { sequence, time, command }, by): (Entry, AuditedBy)) -> AuditedCommand {
    AuditedCommand { sequence, time, account: command.account(), what: describe(&command), by }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::runs_here;

    /// A panic in reading the audit trail once ended the server, on a thread of its own.
    #[test]
    fn a_question_that_panics_ends_alone() {
        if !runs_here("audit_trail::tests::a_question_that_panics_ends_alone") {
            return;
        }
        let before = Sequence(1);
        let question = AuditQuestion { before, limit: 1, member: None, session: None, account: None, kills: false };
        let refused = aside(&question, || panic!("planted in a question"));
        assert!(matches!(refused, Err(NoAudit::Fault)), "{refused:?}");
        assert_eq!(Part::Question.panics(), 1, "it is counted");
        let folder = tempfile::tempdir().expect("a folder");
        let trail = JournalTrail::new(Disk::open(folder.path()).expect("a disk"));
        assert!(trail.page(&question).is_ok(), "the next question is answered");
    }
}
