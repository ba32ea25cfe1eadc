//! Whose the commands of messages are, on their way from the log into a node's journal.

use std::collections::HashMap;
use std::sync::Arc;

use journal::{Caller, CallerReader};

/// Callers that are remembered at most; then all are forgotten, and written into the journal anew.
const REMEMBERED: usize = 1 << 16;

/// Callers, and the numbers by which the journal tells them from each other.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    numbers: HashMap<Arc<Caller>, u64>,
    last: u64,
}

/// Whose the next commands of a message are; nobody's where there is none.
pub(crate) type Run = (Option<(u64, Arc<Caller>)>, u32);

impl Callers {
    /// Whose the commands of a message are, of which there are so many. Errors: what is wrong with what it says.
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
