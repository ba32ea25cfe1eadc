//! Messages without their log and node: fuzzing gives bytes to their readers.

use bytes::Bytes;

use crate::callers::Callers;
use crate::marks::Statement;
use crate::message::{Message, decode};

/// Reads a message, and its callers and commands or its statement. Returns whether it is the same when it is written
/// again. Panics: a reader has a fault.
pub fn read_message(bytes: &Bytes) -> bool {
    let Ok(message) = Message::read(bytes) else { return true };
    if message.number > 0 && message.count == 0 {
        drop(Statement::read(&message.commands));
    } else if let Some((callers, commands)) = message.commands.split_at_checked(message.callers_bytes as usize) {
        if !callers.is_empty() {
            drop(Callers::default().read(callers, message.count));
        }
        drop(decode(commands, message.count));
    }
    message.to_bytes() == bytes
}
