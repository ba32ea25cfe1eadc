//! The disk as the journal and the history need it: a flat folder of files, written at offsets and synced explicitly.
//! This file does not know what the files hold. [`crate::Disk`] is the real one, [`crate::simulated`] the one for
//! tests.

use std::fmt::Debug;
use std::io;

/// The suffix of an unfinished file. The next start removes it, because its maker did not finish.
pub(crate) const TEMPORARY_SUFFIX: &str = ".tmp";

/// A flat folder of files, and of folders of files. Clones share the folder.
pub trait Storage: Clone + Send + Sync + 'static {
    /// An open file of this folder.
    type File: File;

    /// The names of all files, in no particular order.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Makes a new, empty file. Errors: `AlreadyExists`. Its name is durable only after [`Storage::sync_directory`].
    fn create(&self, name: &str) -> io::Result<Self::File>;
    /// Opens a file to read and write. Errors: `NotFound`.
    fn open(&self, name: &str) -> io::Result<Self::File>;
    /// Opens a folder in this one, and makes it if it is missing. Its name is durable only after
    /// [`Storage::sync_directory`] here.
    fn folder(&self, name: &str) -> io::Result<Self>;
    /// Renames a file, replacing another one, or a folder, replacing an empty one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file. Errors: `NotFound`.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes creations, renames and removals durable.
    fn sync_directory(&self) -> io::Result<()>;
    /// Bytes that may still be written to this disk.
    fn free_bytes(&self) -> io::Result<u64>;
    /// The folder or file that someone else removed, moved or replaced, if it was opened or made through this folder,
    /// and what is there instead.
    fn displaced(&self) -> Option<String>;
}

/// An open file. All methods take `&self`: reads may run beside a write.
pub trait File: Debug + Send + Sync + 'static {
    /// Fills `bytes` from `offset`. Errors: `UnexpectedEof` if the file ends before.
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()>;
    /// Writes all of `bytes` at `offset`, and makes the file longer if necessary.
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
    /// Cuts the file to `length`, or makes it longer with zeros that need no room until they are written.
    fn set_len(&self, length: u64) -> io::Result<()>;
    /// Makes the file at least `length` bytes long and reserves the room on disk; new bytes are zero.
    fn allocate(&self, length: u64) -> io::Result<()>;
    /// Makes the bytes written so far durable, with everything that a read after a power cut needs.
    fn sync(&self) -> io::Result<()>;
}
