//! Stored bytes, and those of a cluster's log, that are read and then dropped: no engine or node is behind. A program
//! that calls these functions alone reads many inputs in the time in which another one applies one.

use bytes::Bytes;

use crate::message_target;
pub use crate::stored_target::block;

/// Decodes commands, and checks that each is the same after it was encoded and decoded again.
pub fn commands(mut input: &[u8]) {
    let mut again = Vec::new();
    while let Ok(command) = journal::decode(&mut input) {
        again.clear();
        journal::encode(&command, &mut again);
        let decoded = journal::decode(&mut &again[..]).expect("what was encoded is decoded");
        assert_eq!(decoded, command, "a command is the same when it was encoded");
    }
}

/// Decodes items of a snapshot, and checks that each is the same after it was encoded and decoded again.
pub fn items(mut input: &[u8]) {
    let mut again = Vec::new();
    while let Ok(item) = journal::decode_item(&mut input) {
        again.clear();
        journal::encode_item(&item, &mut again);
        let decoded = journal::decode_item(&mut &again[..]).expect("what was encoded is decoded");
        assert_eq!(decoded, item, "an item is the same when it was encoded");
    }
}

/// Reads the messages of a cluster's log.
pub fn messages(input: &[u8]) {
    let is_read = |message: Bytes| cluster::fuzzing::read_message(&message);
    assert!(message_target::texts(input).all(is_read), "a message is the same when it was written again");
}
