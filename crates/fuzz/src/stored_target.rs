//! Bytes that the server stores, with an engine behind: commands of the journal and items of a snapshot. Their
//! checksums are left out, so that their readers get any bytes at all.

use engine::{DoneOrders, Engine, Importer};
use terms::{Entry, Time};

use crate::stored_reading::{self, READ_MAX};

/// Decodes commands and applies them.
pub(crate) fn commands(mut input: &[u8]) {
    let mut engine = Engine::new(1, DoneOrders::Drop);
    for time in (1..).take(READ_MAX) {
        let Some(command) = stored_reading::command(&mut input) else { return };
        let entry = Entry { sequence: engine.sequence().next(), time: Time(time), command };
        engine.apply(&entry, &mut Vec::new(), &mut |_| {});
    }
}

/// Decodes items of a snapshot, and builds an engine from them.
pub(crate) fn items(mut input: &[u8]) {
    let mut importer = Importer::new(1, DoneOrders::Drop);
    for _ in 0..READ_MAX {
        let Some(item) = stored_reading::item(&mut input) else { break };
        if importer.add(item).is_err() {
            return;
        }
    }
    drop(importer.finish());
}
