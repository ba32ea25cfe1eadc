//! What can be wrong with a history.

use std::io;

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
    Record { name: &'static str, record: u64, byte: u64 },
    #[error("the history's {name} could not be written before; start again: it is written again from the journal")]
    Failed { name: &'static str },
    #[error("the history has ended")]
    Ended,
}

impl HistoryError {
    /// Whether what is asked for is lost, rather than out of reach.
    pub fn is_damage(&self) -> bool {
        match self {
            HistoryError::Damaged { .. } | HistoryError::Record { .. } => true,
            HistoryError::Io { .. } | HistoryError::Failed { .. } | HistoryError::Ended => false,
        }
    }
}

pub(crate) fn in_folder(source: io::Error) -> HistoryError {
    HistoryError::Io { name: "folder".to_owned(), source }
}
