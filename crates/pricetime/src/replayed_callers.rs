//! The callers of a journal's commands that are replayed into rows.

use journal::{BatchView, Caller, CallerReader, VisitError};
use store::{AuditRows, CallerIds, CallerRow, CommandRow};
use terms::{Entry, Sequence};

use crate::journal_tool::describe;

/// The callers, along with a replay from the first command on.
#[derive(Default)]
pub struct ReplayedCallers {
    reader: CallerReader,
    ids: CallerIds<Caller>,
    said_of_last: bool,
}

impl ReplayedCallers {
    /// Whether the last batch had the callers of its commands.
    pub fn said_of_last(&self) -> bool {
        self.said_of_last
    }

    /// Adds the callers of the next batch. Errors: the journal's.
    pub fn note(&mut self, batch: &BatchView<'_>, rows: &mut AuditRows) -> Result<(), VisitError> {
        self.said_of_last = !batch.callers.is_empty();
        if !self.said_of_last {
            return Ok(());
        }
        self.ids.begin(batch.count as usize, rows);
        let (mut by, mut next) = (Vec::new(), batch.first);
        self.reader.read(batch, |asked| {
            let id = asked.by.map(|caller| self.ids.of(caller.clone(), next.0, rows, |id| row(caller, id)));
            by.extend(std::iter::repeat_n(id, asked.commands as usize));
            next = Sequence(next.0.saturating_add(u64::from(asked.commands)));
        })?;
        let mut by = by.into_iter();
        Ok(batch.entries(&mut |entry: Entry| -> Result<(), VisitError> {
            let caller = by.next().flatten();
            rows.commands.push(CommandRow { time: entry.time, caller, what: describe(&entry.command) });
            Ok(())
        })?)
    }
}

fn row(caller: &Caller, id: u64) -> CallerRow {
    let Caller { protocol, session, member, key, address } = caller.clone();
    CallerRow { id, protocol, session, member, key, address }
}
