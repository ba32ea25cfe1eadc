//! How a node gives a copy of its data folder to one that begins with nothing: what is asked and answered, over the log's servers and
//! beside the log. Whoever may read the log reads all that is in a copy, too.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The most bytes of a file that one answer has.
pub(crate) const PIECE_BYTES: u64 = 256 << 10;

/// Where a node is asked for a copy.
pub(crate) fn subject(name: &str, node: u16) -> String {
    format!("pricetime.{name}.copies.{node}")
}

/// What is asked. Each copy has a number, by which whoever wants it is known.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Asked {
    /// To make a copy, or whether it is made. Answered by [`Answer`].
    Make { copy: u64 },
    /// For a piece of a file. Answered by its bytes; by none if there is no such copy any more.
    Piece { copy: u64, file: usize, offset: u64 },
    /// It is not needed any more. Not answered.
    Done { copy: u64 },
}

/// Whether there is a copy.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Ask again.
    Making,
    Made(Vec<CopiedFile>),
    /// There is none, for this reason.
    Refused(String),
}

/// A file of a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CopiedFile {
    /// With slashes between folders.
    pub name: String,
    pub bytes: u64,
    /// XXH3 of all its bytes, 128 bits, in hexadecimal.
    pub hash: String,
}

/// Makes copies of the data folder of a node.
pub trait CopySource: Send + Sync {
    /// Makes one, and says in which folder. Errors: why not.
    fn make(&self) -> Result<PathBuf, String>;
    /// Removes it, if there is one.
    fn remove(&self);
}
