//! Errors of a history.

use std::io;

use terms::Time;

use crate::folder::HISTORY_FOLDER;

/// The reason why the history cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error("the history's {name}: {source}; see to the disk and start again")]
    Io { name: String, source: io::Error },
    #[error(
        "the history's {name} is damaged: {fault}; restore the folder {HISTORY_FOLDER} from a backup, or move it out of the data \
         folder: the market is whole, and a new history begins with what the journal has"
    )]
    Damaged { name: String, fault: String },
    /// A record is damaged: its checksum does not hold.
    #[error(
        "record {record} of {HISTORY_FOLDER}/{name}, at byte {byte}, is damaged: its checksum does not hold; restore the folder \
         {HISTORY_FOLDER} from a backup, or move it out of the data folder: the market is whole, and a new history begins with what the journal has"
    )]
    Record { name: String, record: u64, byte: u64 },
    /// The file of leaps is damaged.
    #[error(
        "{HISTORY_FOLDER}/{name} is damaged: its checksum does not hold. Only retention needs it, and removes nothing by age meanwhile. \
         Stop the server, and restore this file from a backup, or remove it: then all that the history has counts as no older than the next start"
    )]
    Leaps { name: &'static str },
    /// All records of a block are damaged.
    #[error(
        "block {block} of {HISTORY_FOLDER}/{name}, at byte {byte}, is damaged: its checksum does not hold; restore the folder \
         {HISTORY_FOLDER} from a backup, or move it out of the data folder: the market is whole, and a new history begins with what the journal has"
    )]
    Block { name: String, block: u64, byte: u64 },
    /// A record has a value that this program does not know: a newer one wrote it.
    #[error(
        "record {record} of {HISTORY_FOLDER}/{name} is {what} of kind {code}, which this version of the program does not know: \
         run the version that wrote it, or a newer one"
    )]
    Unknown { name: String, record: u64, what: &'static str, code: u8 },
    /// The record is no longer kept: retention removed it. All removed events happened up to this time.
    #[error("no longer kept: the history keeps what is newer")]
    NoLongerKept { until: Time },
    /// The record lies behind more records than are read for one question; those before a time may be found.
    #[error(
        "the candles of seconds at that time lie behind more trades than are read for one answer; candles of a minute are there, and \
         candles of seconds before {} may be", .since.0
    )]
    Buried { since: Time },
    #[error("the history's {name} could not be written before; start again: it is written again from the journal")]
    Failed { name: &'static str },
    #[error("the history has ended")]
    Ended,
    /// The checkpoint is of a build before release 0.1.0.
    #[error(
        "the folder {HISTORY_FOLDER} was made by a build before 0.1.0, the first release, and no release reads its format; nothing is \
         changed: keep the data folder for the build that made it, and name another folder for a new market"
    )]
    Unreleased,
}

impl HistoryError {
    /// Whether the record is lost, rather than out of reach.
    pub fn is_damage(&self) -> bool {
        match self {
            HistoryError::Damaged { .. }
            | HistoryError::Record { .. }
            | HistoryError::Leaps { .. }
            | HistoryError::Block { .. }
            | HistoryError::Unknown { .. } => true,
            HistoryError::Io { .. }
            | HistoryError::Failed { .. }
            | HistoryError::NoLongerKept { .. }
            | HistoryError::Buried { .. }
            | HistoryError::Ended
            | HistoryError::Unreleased => false,
        }
    }
}

pub(crate) fn in_folder(source: io::Error) -> HistoryError {
    HistoryError::Io { name: "folder".to_owned(), source }
}
