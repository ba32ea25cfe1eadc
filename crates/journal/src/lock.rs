//! One process a data folder: an OS lock on the file `lock`, held until dropped. It knows nothing of the other files.

use std::fs::{self, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// The name of the locked file in the data folder.
pub const LOCK_NAME: &str = "lock";

/// The data folder is this process's alone while this lives.
#[derive(Debug)]
pub struct DataLock {
    _file: fs::File,
}

/// Why the data folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process has it.
    #[error(
        "the data folder {} is in use by {holder}: one server a folder; stop that one, or use another \
         folder",
        folder.display()
    )]
    Held {
        /// The data folder.
        folder: PathBuf,
        /// "process 812", or "another process" where its id could not be read.
        holder: String,
    },
    /// The folder could not be made, or its lock file not opened.
    #[error(
        "cannot lock the data folder {}: {source}; check that the folder may be written by this \
         user",
        folder.display()
    )]
    Io {
        /// The data folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl DataLock {
    /// Makes the folder if it is missing and locks it. Never waits.
    pub fn take(folder: &Path) -> Result<DataLock, LockError> {
        let failed = |source| LockError::Io { folder: folder.to_owned(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let mut file = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.join(LOCK_NAME))
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::Held { folder: folder.to_owned(), holder: holder(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        write_pid(&mut file).map_err(failed)?;
        Ok(DataLock { _file: file })
    }
}

fn write_pid(file: &mut fs::File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder(file: &mut fs::File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => format!("process {}", text.trim()),
        Ok(_) | Err(_) => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_second_to_lock_a_folder_is_told_who_has_it() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("data");
        let first = DataLock::take(&folder).unwrap();
        let refused = DataLock::take(&folder).unwrap_err().to_string();
        assert!(refused.contains(&format!("process {}", std::process::id())), "{refused}");
        drop(first);
        DataLock::take(&folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let parent = tempfile::tempdir().unwrap();
        let file = parent.path().join("file");
        fs::write(&file, "").unwrap();
        let refused = DataLock::take(&file.join("data")).unwrap_err().to_string();
        assert!(refused.contains("file/data"), "{refused}");
    }
}
