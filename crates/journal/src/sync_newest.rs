//! Syncs what another thread has appended to the journal and not synced.

use std::io;

use crate::segment::segments_among;
use crate::storage::{File, Storage};

/// A segment is synced when the next one is begun: before that, two may hold what is not.
const UNSYNCED_MAX: usize = 2;

/// Makes durable all that was appended to a journal before this is called, whatever its durability is.
pub fn sync_newest<S: Storage>(storage: &S) -> io::Result<()> {
    let segments = segments_among(storage.list()?);
    segments.iter().rev().take(UNSYNCED_MAX).try_for_each(|(_, name)| storage.open(name)?.sync())
}
