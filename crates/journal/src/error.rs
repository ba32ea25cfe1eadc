//! Errors of the journal, for operators: what failed, why, and what to do. This file does not know how the faults are
//! found.

use std::error::Error;
use std::io;

use terms::{Sequence, Time};

use crate::segment::{FORMAT_VERSION, RULES_VERSION};
use crate::varint::CodecError;

/// The error of a visitor of entries.
pub type VisitError = Box<dyn Error + Send + Sync>;

/// The reason why the journal cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk refused an operation.
    #[error("cannot {action}: {source}; nothing more is acknowledged: see to the disk, then start again to recover")]
    Io {
        /// The operation that was refused, with the file's name.
        action: String,
        /// The words of the system.
        source: io::Error,
    },
    /// An earlier operation failed, so only a recovery can tell what is on the disk.
    #[error("the journal takes nothing more after an earlier failure: start again to recover from what is on disk")]
    Poisoned,
    /// A part of a segment fails its checks though it was durable once.
    #[error(
        "{segment} is damaged at byte {offset} ({found}): commands from {first} on cannot be read; restore this file \
         from a backup (docs/JOURNAL.md, recovering by hand)"
    )]
    Damaged {
        /// The file.
        segment: String,
        /// The offset in the file.
        offset: u64,
        /// The first command that cannot be read.
        first: Sequence,
        /// The fault that was found there.
        found: String,
    },
    /// Commands are in no segment.
    #[error(
        "commands {first} to {last} are missing {place}: a segment was removed or overwritten; restore the missing \
         files from a backup (docs/JOURNAL.md, recovering by hand)"
    )]
    Missing {
        /// The first missing command.
        first: Sequence,
        /// The last missing command.
        last: Sequence,
        /// The files between which they are missing.
        place: String,
    },
    /// A segment that must exist does not.
    #[error(
        "the segment behind {after}, with the commands from {first} on, is missing: it was there once; restore it from a \
         backup (docs/JOURNAL.md, recovering by hand)"
    )]
    NextMissing {
        /// The first command of the segment.
        first: Sequence,
        /// The segment before it.
        after: String,
    },
    /// A segment of a build before release 0.1.0.
    #[error(
        "{segment} was made by a build before 0.1.0, the first release, and no release reads its format; nothing is changed: keep this \
         folder for the build that made it, and name another folder for a new market"
    )]
    Unreleased {
        /// The file.
        segment: String,
    },
    /// A segment of a format that this program does not know.
    #[error(
        "{segment} has format version {found}, and this program reads versions up to {FORMAT_VERSION}: start the program \
         that wrote it"
    )]
    UnknownFormat {
        /// The file.
        segment: String,
        /// The version of the segment.
        found: u32,
    },
    /// A segment whose commands were decided under matching rules that this program does not know.
    #[error(
        "{segment} was written under matching rules {found}, and this program knows rules up to {RULES_VERSION}: start the \
         program that wrote it"
    )]
    UnknownRules {
        /// The file.
        segment: String,
        /// The version of the rules.
        found: u32,
    },
    /// Commands that would have to be replayed were decided under earlier rules.
    #[error(
        "{segment}: the commands from {first} on were decided under matching rules {rules}, and this program has rules \
         {RULES_VERSION}: it does not replay them, because it might decide otherwise. Start the program that wrote them on this folder \
         once and stop it: that leaves a snapshot at the journal's end, from which this program goes on. If newer segments of rules \
         {RULES_VERSION} follow, that program refuses them: restore a snapshot from behind these commands out of a backup"
    )]
    EarlierRules {
        /// The file.
        segment: String,
        /// The first command that would have to be replayed.
        first: Sequence,
        /// The version of the rules.
        rules: u32,
    },
    /// A segment of another data folder.
    #[error("{segment} belongs to another data folder: a file was copied over; restore the one of this folder")]
    OtherFolder {
        /// The file.
        segment: String,
    },
    /// The journal ends before the point from which it should be replayed.
    #[error(
        "the journal ends at command {end}, before command {from} that the snapshot stands at: the journal's newest \
         files are missing or older than the snapshot; restore them from a backup, or start from an older snapshot"
    )]
    EndsBefore {
        /// The command of that point.
        from: Sequence,
        /// The journal's last command.
        end: Sequence,
    },
    /// The journal's commands up to the point differ from those of the point's history.
    #[error(
        "the journal and the snapshot at command {from} are not of one history ({segment} differs there): restore both \
         from the same backup"
    )]
    OtherHistory {
        /// The command of that point.
        from: Sequence,
        /// The file with that command.
        segment: String,
    },
    /// A batch has an earlier time than the batch before.
    #[error(
        "{segment}: command {first} is of time {found:?}, before {before:?} of the command before it; restore this file from a backup"
    )]
    TimeRunsBack {
        /// The file.
        segment: String,
        /// The first command of the batch.
        first: Sequence,
        /// The time of the batch.
        found: Time,
        /// The time of the batch before.
        before: Time,
    },
    /// A journal exists where one is to begin.
    #[error("the data folder has a journal ({segment}): recover it, or move its segments away to begin another")]
    NotEmpty {
        /// The segment's name.
        segment: String,
    },
    /// A whole batch holds bytes that are no commands.
    #[error(
        "{segment}: command {sequence} cannot be read ({source}) though its checksum is right: it was written by \
         another version of the program or by a fault in it; start the program that wrote it"
    )]
    Undecodable {
        /// The file.
        segment: String,
        /// The command.
        sequence: Sequence,
        /// The reason.
        source: CodecError,
    },
    /// The visitor of the entries failed.
    #[error("replay stopped: {0}")]
    Visit(VisitError),
}

impl JournalError {
    /// Makes an error of the system's words and the operation.
    pub(crate) fn io(action: impl Into<String>) -> impl FnOnce(io::Error) -> JournalError {
        let action = action.into();
        move |source| JournalError::Io { action, source }
    }

    /// Whether a file is damaged, missing or of another history, so that a backup is needed.
    pub fn is_damage(&self) -> bool {
        match self {
            JournalError::Damaged { .. }
            | JournalError::Missing { .. }
            | JournalError::NextMissing { .. }
            | JournalError::OtherFolder { .. }
            | JournalError::EndsBefore { .. }
            | JournalError::OtherHistory { .. }
            | JournalError::TimeRunsBack { .. } => true,
            JournalError::Io { .. }
            | JournalError::Poisoned
            | JournalError::Unreleased { .. }
            | JournalError::UnknownFormat { .. }
            | JournalError::UnknownRules { .. }
            | JournalError::EarlierRules { .. }
            | JournalError::Undecodable { .. }
            | JournalError::NotEmpty { .. }
            | JournalError::Visit(_) => false,
        }
    }
}
