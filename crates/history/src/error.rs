//! What can be wrong with a history.

use std::io;

use engine::Time;

use crate::folder::HISTORY_FOLDER;

/// Why the history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the history's {name}: {source}; see to the disk and start again")]
    Io { name: String, source: io::Error },
    #[error(
        "the history's {name} is damaged: {fault}; move the folder {HISTORY_FOLDER} out of the data folder: the market is \
         whole, and a new history begins"
    )]
    Damaged { name: String, fault: String },
    /// What was written is not what is there.
    #[error(
        "record {record} of {HISTORY_FOLDER}/{name}, at byte {byte}, is damaged: its checksum does not hold; restore the folder \
         {HISTORY_FOLDER} from a backup, or move it out of the data folder: the market is whole, and a new history begins"
    )]
    Record { name: String, record: u64, byte: u64 },
    /// As `Record`, of all records of a block.
    #[error(
        "block {block} of {HISTORY_FOLDER}/{name}, at byte {byte}, is damaged: its checksum does not hold; restore the folder \
         {HISTORY_FOLDER} from a backup, or move it out of the data folder: the market is whole, and a new history begins"
    )]
    Block { name: String, block: u64, byte: u64 },
    /// It was there, and was removed as it was to be. All that was removed happened up to this time.
    #[error("no longer kept: the history keeps what is newer")]
    NoLongerKept { until: Time },
    #[error("the history's {name} could not be written before; start again: it is written again from the journal")]
    Failed { name: &'static str },
    #[error("the history has ended")]
    Ended,
}

impl HistoryError {
    /// Whether what is asked for is lost, rather than out of reach.
    pub fn is_damage(&self) -> bool {
        match self {
            HistoryError::Damaged { .. } | HistoryError::Record { .. } | HistoryError::Block { .. } => true,
            HistoryError::Io { .. }
            | HistoryError::Failed { .. }
            | HistoryError::NoLongerKept { .. }
            | HistoryError::Ended => false,
        }
    }
}

pub(crate) fn in_folder(source: io::Error) -> HistoryError {
    HistoryError::Io { name: "folder".to_owned(), source }
}
