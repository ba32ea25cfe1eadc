//! The log that several nodes share: the model keeps every message that it took.

use terms::LogMessage;

use crate::exchange::Model;

impl Model {
    /// The last message of each node, by node.
    pub fn last_messages(&self) -> Vec<LogMessage> {
        let is_last = |message: &&LogMessage| {
            let of_node = self.messages.iter().filter(|other| other.node == message.node);
            of_node.map(|other| (other.epoch, other.number)).max() == Some((message.epoch, message.number))
        };
        let mut last: Vec<LogMessage> = self.messages.iter().filter(is_last).copied().collect();
        last.sort_by_key(|message| message.node);
        last
    }

    /// Takes a message if its position is behind all that were taken and it continues its node's epoch without a gap. A
    /// message that starts an epoch has to start the next one.
    pub(crate) fn take_message(&mut self, message: LogMessage) {
        let is_taken = |epoch, number| {
            let mut taken = self.messages.iter();
            taken.any(|other| (other.node, other.epoch, other.number) == (message.node, epoch, number))
        };
        let of_node = self.messages.iter().filter(|other| other.node == message.node);
        let epochs = of_node.map(|other| other.epoch).max().unwrap_or(0);
        let counts = match message.number {
            0 => message.epoch == epochs + 1,
            number => {
                message.epoch == epochs && is_taken(message.epoch, number - 1) && !is_taken(message.epoch, number)
            }
        };
        if counts && message.position > 0 && self.messages.iter().all(|other| other.position < message.position) {
            self.messages.push(message);
        }
    }
}
