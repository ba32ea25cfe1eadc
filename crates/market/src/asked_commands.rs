//! Whose the commands of a turn are, on their way to the journal.

use std::sync::Arc;

use exchange::Caller;
use journal::{CallerWriter, Journal, Storage};

/// Those of one turn, and who is known in the journal's segment.
#[derive(Default)]
pub(crate) struct AskedCommands {
    runs: Vec<(Option<Arc<Caller>>, u32)>,
    writer: CallerWriter,
}

impl AskedCommands {
    /// The next ones are a caller's, or nobody's.
    pub fn add(&mut self, caller: Option<&Arc<Caller>>, commands: u32) {
        match self.runs.last_mut() {
            Some((last, count)) if last.as_ref().map(|last| last.number()) == caller.map(|caller| caller.number()) => {
                *count = count.saturating_add(commands);
            }
            _ => self.runs.push((caller.cloned(), commands)),
        }
    }

    /// Forgets the turn.
    pub fn clear(&mut self) {
        self.runs.clear();
    }

    /// What stands before these commands where they are appended to this journal; nothing if nobody said whose they are.
    pub fn section<S: Storage>(&mut self, journal: &Journal<S>, commands: &[u8]) -> &[u8] {
        if self.runs.is_empty() {
            return &[];
        }
        self.write(false);
        // In another segment nobody is known. What is said there is longer, so that it comes to stand there all the more.
        if journal.begins_segment(self.writer.section(), commands) {
            self.write(true);
        }
        self.writer.section()
    }

    fn write(&mut self, anew: bool) {
        self.writer.begin(anew);
        for (caller, commands) in &self.runs {
            let number = caller.as_ref().map(|caller| caller.number());
            self.writer.add(*commands, number, || caller.as_deref().map(in_words).unwrap_or_default());
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
