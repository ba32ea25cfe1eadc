//! What can go wrong with a history.

use std::io;

use engine::Time;
use journal::ArchiveError;

use crate::folder::HISTORY_FOLDER;

/// Why the history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the history's {name}: {source}; see to the disk and start again")]
    Io { name: String, source: io::Error },
    #[error(
        "the history's {name} is damaged: {fault}; move the folder {HISTORY_FOLDER} out of the data folder: the market is \
         whole, and a new history begins with what the journal has"
    )]
    Damaged { name: String, fault: String },
    /// A record is damaged: it is not what was written.
    #[error(
        "record {record} of {HISTORY_FOLDER}/{name}, at byte {byte}, is damaged: its checksum does not hold; restore the folder \
         {HISTORY_FOLDER} from a backup, or move it out of the data folder: the market is whole, and a new history begins with what the journal has"
    )]
    Record { name: String, record: u64, byte: u64 },
    /// As `Record`, of all records of a block.
    #[error(
        "block {block} of {HISTORY_FOLDER}/{name}, at byte {byte}, is damaged: its checksum does not hold; restore the folder \
         {HISTORY_FOLDER} from a backup, or move it out of the data folder: the market is whole, and a new history begins with what the journal has"
    )]
    Block { name: String, block: u64, byte: u64 },
    /// A record says something for which this program has no word: a newer one wrote it.
    #[error(
        "record {record} of {HISTORY_FOLDER}/{name} is {what} of kind {code}, which this version of the program does not know: \
         run the version that wrote it, or a newer one"
    )]
    Unknown { name: String, record: u64, what: &'static str, code: u8 },
    /// It is no longer kept: it was removed, as the settings say. All that was removed happened up to this time.
    #[error("no longer kept: the history keeps what is newer")]
    NoLongerKept { until: Time },
    #[error("the history's {name} could not be written before; start again: it is written again from the journal")]
    Failed { name: &'static str },
    #[error("the history has ended")]
    Ended,
    /// What the version before kept of done orders cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

impl HistoryError {
    /// Whether what is asked for is lost, rather than out of reach.
    pub fn is_damage(&self) -> bool {
        match self {
            HistoryError::Damaged { .. }
            | HistoryError::Record { .. }
            | HistoryError::Block { .. }
            | HistoryError::Unknown { .. } => true,
            HistoryError::Io { .. }
            | HistoryError::Failed { .. }
            | HistoryError::NoLongerKept { .. }
            | HistoryError::Ended
            | HistoryError::Archive(_) => false,
        }
    }
}

pub(crate) fn in_folder(source: io::Error) -> HistoryError {
    HistoryError::Io { name: "folder".to_owned(), source }
}
