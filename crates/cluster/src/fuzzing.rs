//! Messages without their log and node: fuzzing gives bytes to their readers.

use bytes::Bytes;

use crate::callers::Callers;
use crate::message::{Message, decode};

/// Reads a message, its callers and its commands. Panics: a reader has a fault, or a message that was read is another
/// one when it is written again.
pub fn read_message(bytes: &Bytes) {
    let Ok(message) = Message::read(bytes) else { return };
    assert_eq!(message.to_bytes(), bytes, "a message is the same when it was written again");
    let (callers, commands) = match message.commands.split_at_checked(message.callers_bytes as usize) {
        Some(both) => both,
        None => return,
    };
    drop(Callers::default().read(callers, message.count));
    drop(decode(commands, message.count));
}
