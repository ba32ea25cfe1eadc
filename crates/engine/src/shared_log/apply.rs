//! Takes messages of the shared log: notes those that count, and passes over the others.

use terms::{LogMessage, Reply};

use crate::engine::Engine;
use crate::shared_log::state::SharedLog;

impl Engine {
    /// The messages taken of the log that several nodes share.
    pub fn shared_log(&self) -> &SharedLog {
        &self.shared_log
    }

    #[cold]
    pub(crate) fn take_message(&mut self, message: LogMessage) -> Reply {
        if self.shared_log.accepts(&message) {
            self.shared_log.take(message);
        }
        Reply::Created
    }
}
