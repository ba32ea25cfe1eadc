//! Syncs the batches that another thread has appended to the journal and not synced.

use std::io;

use crate::segment::segments_among;
use crate::storage::{File, Storage};

/// The most segments with unsynced bytes: the one before the last is synced when the last one is begun, and not
/// earlier.
const UNSYNCED_MAX: usize = 2;

/// Makes everything durable that was appended to a journal before the call, whatever its durability setting.
pub fn sync_newest<S: Storage>(storage: &S) -> io::Result<()> {
    let segments = segments_among(storage.list()?);
    segments.iter().rev().take(UNSYNCED_MAX).try_for_each(|(_, name)| storage.open(name)?.sync())
}
