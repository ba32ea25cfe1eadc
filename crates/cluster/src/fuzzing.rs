//! Messages without their log and node: fuzzing gives bytes to their readers.

use bytes::Bytes;

use crate::callers::Callers;
use crate::message::{Message, decode};

/// Reads a message, its callers and its commands. Returns whether it is the same when it is written again. Panics: a
/// reader has a fault.
pub fn read_message(bytes: &Bytes) -> bool {
    let Ok(message) = Message::read(bytes) else { return true };
    if let Some((callers, commands)) = message.commands.split_at_checked(message.callers_bytes as usize) {
        drop(Callers::default().read(callers, message.count));
        drop(decode(commands, message.count));
    }
    message.to_bytes() == bytes
}
