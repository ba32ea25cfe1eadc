//! The callers of a turn's commands, on their way to the journal.

use std::sync::Arc;

use exchange::Caller;
use journal::{CallerWriter, Journal, Storage};

/// A caller.
#[derive(Clone)]
enum By {
    Here(Arc<Caller>),
    /// A caller of another server, with its number there.
    Elsewhere(u64, Arc<journal::Caller>),
}

/// The callers of one turn, and those that the journal's segment knows. All called here, or all elsewhere.
#[derive(Default)]
pub struct CallerRuns {
    runs: Vec<(Option<By>, u32)>,
    writer: CallerWriter,
}

impl CallerRuns {
    /// Gives the caller of the next commands, or none.
    pub fn add(&mut self, caller: Option<&Arc<Caller>>, commands: u32) {
        self.add_by(caller.map(|caller| caller.number()), commands, || caller.cloned().map(By::Here));
    }

    /// Gives the caller of the next commands at another server, with its number there.
    pub fn add_elsewhere(&mut self, caller: Option<(u64, Arc<journal::Caller>)>, commands: u32) {
        let number = caller.as_ref().map(|(number, _)| *number);
        self.add_by(number, commands, || caller.map(|(number, caller)| By::Elsewhere(number, caller)));
    }

    fn add_by(&mut self, number: Option<u64>, commands: u32, by: impl FnOnce() -> Option<By>) {
        match self.runs.last_mut() {
            Some((last, count)) if last.as_ref().map(By::number) == number => *count = count.saturating_add(commands),
            _ => self.runs.push((by(), commands)),
        }
    }

    /// Forgets the turn.
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// The callers' section before these commands in this journal; empty if no callers were given.
    pub fn section<S: Storage>(&mut self, journal: &Journal<S>, commands: &[u8]) -> &[u8] {
        if self.runs.is_empty() {
            return &[];
        }
        self.write(false);
        // Another segment knows no callers. The section is longer there, so the batch surely still begins that segment.
        if journal.begins_segment(self.writer.section(), commands) {
            self.write(true);
        }
        self.writer.section()
    }

    /// The section for a reader that knows no callers.
    pub fn whole(&mut self) -> &[u8] {
        if self.runs.is_empty() {
            return &[];
        }
        self.write(true);
        self.writer.section()
    }

    fn write(&mut self, anew: bool) {
        self.writer.begin(anew);
        for (caller, commands) in &self.runs {
            let number = caller.as_ref().map(By::number);
            self.writer.add(*commands, number, || caller.as_ref().map(By::in_words).unwrap_or_default());
        }
    }
}

impl By {
    fn number(&self) -> u64 {
        match self {
            By::Here(caller) => caller.number(),
            By::Elsewhere(number, _) => *number,
        }
    }

    fn in_words(&self) -> journal::Caller {
        match self {
            By::Here(caller) => in_words(caller),
            By::Elsewhere(_, caller) => journal::Caller::clone(caller),
        }
    }
}

fn in_words(caller: &Caller) -> journal::Caller {
    journal::Caller {
        protocol: caller.protocol().name().to_owned(),
        session: caller.session(),
        member: caller.member().to_owned(),
        key: caller.key().to_owned(),
        address: caller.address().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use exchange::{Protocol, Session};
    use journal::simulated::SimulatedDisk;
    use journal::{CallerReader, JournalPoint, Options};
    use terms::{Command, Sequence, Time};

    use super::*;

    #[test]
    fn whoever_asks_is_known_in_each_file_of_the_journal() {
        let (disk, options) = (SimulatedDisk::new(), Options { segment_bytes: 1024, ..Options::default() });
        let journal = Journal::recover(disk.clone(), options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(()));
        let (mut journal, mut asked) = (journal.expect("an empty folder").0, CallerRuns::default());
        let caller = |last| Session::begin(IpAddr::from([192, 0, 2, last])).caller(Protocol::Rest, None);
        let callers = [caller(1), caller(2)];
        let mut commands = Vec::new();
        journal::encode(&Command::ActivateReached, &mut commands);
        let of = |command: u64| &callers[usize::from(command.is_multiple_of(3))];
        for command in 1..=100 {
            asked.add(Some(of(command)), 1);
            let callers = asked.section(&journal, &commands);
            let appended = journal.append_asked(Sequence(command), Time(command), 1, (callers, &commands));
            appended.expect("the disk has no faults");
            asked.clear();
        }
        assert!(journal.segments().len() > 3);
        // Read from the first file on, and from one in the middle, as after a retirement.
        let middle = journal.segments()[2].first;
        for retired in [Sequence::ZERO, Sequence(middle.0 - 1)] {
            journal.retire(retired).expect("the disk has no faults");
            let (mut reader, mut read) = (CallerReader::default(), 0);
            let from = journal::oldest_point(&disk).expect("it can be read").expect("there is a file");
            let end = journal::visit_batches(&disk, from, None, &mut |batch| {
                let mut sessions = Vec::new();
                reader.read(batch, |asked| sessions.extend(asked.by.map(|by| by.session)))?;
                assert_eq!(sessions, [of(batch.first.0).session()], "{}", batch.first);
                read += 1;
                Ok(())
            });
            assert_eq!((end.expect("it is whole").commands, read), (100 - retired.0, 100 - retired.0));
        }
    }
}
