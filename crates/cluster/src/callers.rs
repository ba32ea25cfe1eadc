//! Callers of messages' commands, on their way from the log into a node's journal.

use std::collections::HashMap;
use std::sync::Arc;

use journal::{Caller, CallerReader};

/// The most callers that are remembered; then all are forgotten, and the journal gets them anew.
const REMEMBERED: usize = 1 << 16;

/// The callers, and their numbers in the journal.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    numbers: HashMap<Arc<Caller>, u64>,
    last: u64,
}

/// The caller of the next commands of a message; none for commands without one.
pub(crate) type Run = (Option<(u64, Arc<Caller>)>, u32);

impl Callers {
    /// Reads the callers of a message with this many commands. Errors: the fault in the section.
    pub fn read(&mut self, said: &[u8], count: u32) -> Result<Vec<Run>, String> {
        let (mut reader, mut runs) = (CallerReader::default(), Vec::new());
        let read = reader.read_section(said, count, |asked| runs.push((asked.by.cloned(), asked.commands)));
        read.map_err(|error| format!("does not say whose its commands are: {error}"))?;
        Ok(runs.into_iter().map(|(by, commands)| (by.map(|caller| self.known(caller)), commands)).collect())
    }

    fn known(&mut self, caller: Caller) -> (u64, Arc<Caller>) {
        if let Some((known, number)) = self.numbers.get_key_value(&caller) {
            return (*number, known.clone());
        }
        if self.numbers.len() >= REMEMBERED {
            self.numbers.clear();
        }
        self.last = self.last.saturating_add(1);
        let known = Arc::new(caller);
        self.numbers.insert(known.clone(), self.last);
        (self.last, known)
    }
}
