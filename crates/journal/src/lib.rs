//! Bytes at rest: the journal of commands, and snapshots of the market.
//!
//! Everything lies in one flat data folder, which the crate reaches through [`Storage`], so that tests can run it on a
//! disk that fails, lies and loses power. docs/JOURNAL.md specifies the bytes. The crate knows nothing of sockets or
//! protocols, and of the market only its vocabulary: the engine decides what a command does.

mod amendment_codec;
mod batch;
mod batch_view;
mod callers;
mod codec;
mod cut;
mod damages;
mod disk;
mod done_order_codec;
mod error;
mod field;
mod in_place;
mod journal;
mod kill_codec;
mod limits_codec;
mod lock;
mod make_folder;
mod oldest;
mod order_fields;
mod pending_codec;
mod place_codec;
mod point;
mod read;
mod records;
mod recover;
mod rules_codec;
mod segment;
mod segment_reader;
pub mod simulated;
pub mod snapshot;
mod state_codec;
mod storage;
mod sync_newest;
mod unfinished;
mod values;
mod varint;
mod walk;

pub use batch_view::BatchView;
pub use callers::{Caller, CallerReader, CallerRun, CallerWriter};
pub use codec::{decode, encode};
pub use cut::Cut;
pub use damages::Damages;
pub use disk::{Disk, DiskFile};
pub use done_order_codec::{decode_order, encode_order};
pub use error::{JournalError, VisitError};
pub use journal::{Durability, Journal, Options, SegmentInfo};
pub use lock::{DataLock, LOCK_NAME, LockError};
pub use make_folder::make_folder;
pub use oldest::{file_point, newest_segment, oldest_point, replays_behind, replays_from_start};
pub use point::JournalPoint;
pub use read::{ReadEnd, check, faults, read, visit_batches};
pub use recover::Recovery;
pub use segment::{FORMAT_VERSION, HEADER_BYTES, RULES_VERSION, is_segment};
pub use snapshot::{SnapshotError, SnapshotHead, SnapshotInfo};
#[cfg(feature = "fuzz")]
pub use state_codec::{decode_item, encode_item};
pub use storage::{File, Storage};
pub use sync_newest::sync_newest;
pub use unfinished::{UNFINISHED_NAME, expect_finished, mark_finished, mark_unfinished};
pub use varint::CodecError;
