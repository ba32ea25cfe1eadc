//! Bytes that the server stores: commands of the journal, items of a snapshot and blocks of the history. Their
//! checksums are left out, so that their readers get any bytes at all.

use engine::{DoneOrders, Engine, Importer};
use terms::{Entry, Time};

/// The most commands, items or records that are read of one input.
const READ_MAX: usize = 200;

/// Decodes commands, checks that each is the same after it was encoded and decoded again, and applies them.
pub(crate) fn commands(mut input: &[u8]) {
    let mut engine = Engine::new(1, DoneOrders::Drop);
    for time in (1..).take(READ_MAX) {
        let Ok(command) = journal::decode(&mut input) else { return };
        let mut again = Vec::new();
        journal::encode(&command, &mut again);
        let decoded = journal::decode(&mut &again[..]).expect("what was encoded is decoded");
        assert_eq!(decoded, command, "a command is the same when it was encoded");
        let entry = Entry { sequence: engine.sequence().next(), time: Time(time), command };
        engine.apply(&entry, &mut Vec::new(), &mut |_| {});
    }
}

/// Decodes items of a snapshot, checks that each is the same after it was encoded and decoded again, and builds an
/// engine from them.
pub(crate) fn items(mut input: &[u8]) {
    let mut importer = Importer::new(1, DoneOrders::Drop);
    for _ in 0..READ_MAX {
        let Ok(item) = journal::decode_item(&mut input) else { break };
        let mut again = Vec::new();
        journal::encode_item(&item, &mut again);
        let decoded = journal::decode_item(&mut &again[..]).expect("what was encoded is decoded");
        assert_eq!(decoded, item, "an item is the same when it was encoded");
        if importer.add(item).is_err() {
            return;
        }
    }
    drop(importer.finish());
}

/// Reads the records of a block of the history. The first byte is their number.
pub fn block(input: &[u8]) {
    if let [records, block @ ..] = input {
        history::fuzzing::read_block(usize::from(*records).min(READ_MAX), block);
    }
}
