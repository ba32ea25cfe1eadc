//! Stored bytes, and those of a cluster's log, that are read and then dropped: no engine or node is behind. Checksums
//! are left out. A program that calls these functions alone reads many inputs in the time in which another one applies
//! one.

use bytes::Bytes;
use terms::{Command, StateItem};

use crate::message_target;

/// The most records of a block that are read, and the most commands or items that are given to an engine.
pub(crate) const READ_MAX: usize = 200;

/// Decodes commands.
pub fn commands(mut input: &[u8]) {
    while command(&mut input).is_some() {}
}

/// Decodes items of a snapshot.
pub fn items(mut input: &[u8]) {
    while item(&mut input).is_some() {}
}

/// Decodes a command, and checks that it is the same after it was encoded and decoded again.
pub(crate) fn command(input: &mut &[u8]) -> Option<Command> {
    let (command, mut again) = (journal::decode(input).ok()?, Vec::new());
    journal::encode(&command, &mut again);
    let decoded = journal::decode(&mut &again[..]).expect("what was encoded is decoded");
    assert_eq!(decoded, command, "a command is the same when it was encoded");
    Some(command)
}

/// Decodes an item of a snapshot, and checks that it is the same after it was encoded and decoded again.
pub(crate) fn item(input: &mut &[u8]) -> Option<StateItem> {
    let (item, mut again) = (journal::decode_item(input).ok()?, Vec::new());
    journal::encode_item(&item, &mut again);
    let decoded = journal::decode_item(&mut &again[..]).expect("what was encoded is decoded");
    assert_eq!(decoded, item, "an item is the same when it was encoded");
    Some(item)
}

/// Reads the records of a block of the history. The first byte is their number.
pub fn block(input: &[u8]) {
    if let [records, block @ ..] = input {
        history::fuzzing::read_block(usize::from(*records).min(READ_MAX), block);
    }
}

/// Reads the messages of a cluster's log.
pub fn messages(input: &[u8]) {
    let is_read = |message: Bytes| cluster::fuzzing::read_message(&message);
    assert!(message_target::texts(input).all(is_read), "a message is the same when it was written again");
}
