//! Copies of data folders for nodes that begin with nothing: requests and answers, over the log's servers and beside
//! the log. A reader of the log may read everything in a copy, too.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The most bytes of a file in one answer.
pub(crate) const PIECE_BYTES: u64 = 256 << 10;

/// The subject of a node's copies.
pub(crate) fn subject(name: &str, node: u16) -> String {
    format!("pricetime.{name}.copies.{node}")
}

/// A request. Each copy has a number, which stands for the node that takes it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum CopyRequest {
    /// A request to make a copy, or whether it is made. The answer is an [`CopyAnswer`].
    Make { copy: u64 },
    /// A request for a piece of a file. The answer is its bytes, or none if the copy is gone.
    Piece { copy: u64, file: usize, offset: u64 },
    /// A notice that the copy is no longer needed. There is no answer.
    Done { copy: u64 },
}

/// The state of a copy.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum CopyAnswer {
    /// The copy is being made: the node asks again.
    Making,
    Made(Vec<CopiedFile>),
    /// The copy cannot be made, for this reason.
    Refused(String),
}

/// A file of a copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CopiedFile {
    /// The name, with slashes between folders.
    pub name: String,
    pub bytes: u64,
    /// The XXH3 of all its bytes, 128 bits, in hexadecimal.
    pub hash: String,
}

/// A maker of copies of a node's data folder.
pub trait CopySource: Send + Sync {
    /// Makes a copy, and returns its folder. Errors: the reason why there is none.
    fn make(&self) -> Result<PathBuf, String>;
    /// Removes the copy, if there is one.
    fn remove(&self);
}
