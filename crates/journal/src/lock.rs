//! Lets one process at a time use a data folder: an OS lock on the folder itself, held until it is dropped. A lock on a
//! file in the folder would not suffice: if someone removed the file, a second server could make and lock a new one.
//! This file knows nothing of the other files.

use std::fs::{self, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::make_folder::make_folder;

/// The file in the data folder that names the process using it.
pub const LOCK_NAME: &str = "lock";

/// A lock: while it lives, no other process can lock the data folder.
#[derive(Debug)]
pub struct DataLock {
    folder: fs::File,
}

/// The reason why the data folder could not be locked.
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
        /// The words "process 812", or "another process" where its id could not be read.
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
        /// The words of the system.
        source: io::Error,
    },
}

impl DataLock {
    /// Makes the folder if it is missing and locks it. Never waits.
    pub fn take(path: &Path) -> Result<DataLock, LockError> {
        let failed = |source| LockError::Io { folder: path.to_owned(), source };
        make_folder(path).map_err(failed)?;
        let folder = fs::File::open(path).map_err(failed)?;
        try_lock(&folder, path)?;
        let mut file = open_lock_file(path).map_err(failed)?;
        write_pid(&mut file).map_err(failed)?;
        Ok(DataLock { folder })
    }
}

/// Unlocks the folder explicitly, because closing it is not enough: a program that is being started holds copies of all
/// open files until it runs, and would keep the folder locked that long.
impl Drop for DataLock {
    fn drop(&mut self) {
        if let Err(error) = self.folder.unlock() {
            tracing::warn!("the data folder was not unlocked, and is when this process ends: {error}");
        }
    }
}

fn try_lock(file: &fs::File, folder: &Path) -> Result<(), LockError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(LockError::Held { folder: folder.to_owned(), holder: holder(folder) }),
        Err(TryLockError::Error(source)) => Err(LockError::Io { folder: folder.to_owned(), source }),
    }
}

/// Does not follow a link: one of this name could lead to any file of this user, which would be overwritten.
fn open_lock_file(folder: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    options.open(folder.join(LOCK_NAME)).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => io::Error::other(format!("{LOCK_NAME} is a symbolic link; remove it")),
        _ => error,
    })
}

fn write_pid(file: &mut fs::File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

fn holder(folder: &Path) -> String {
    let mut text = String::new();
    let read = fs::File::open(folder.join(LOCK_NAME)).and_then(|mut file| file.read_to_string(&mut text));
    match read {
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

    /// Holds a copy of the open folder, like a program that this one is starting.
    #[test]
    fn a_copy_of_the_open_folder_does_not_keep_the_folder_locked() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataLock::take(folder.path()).unwrap();
        let _copy = first.folder.try_clone().unwrap();
        drop(first);
        DataLock::take(folder.path()).unwrap();
    }

    /// A regression: a second server came in when the locked file was removed.
    #[test]
    fn who_removes_the_file_does_not_open_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = DataLock::take(folder.path()).unwrap();
        fs::remove_file(folder.path().join(LOCK_NAME)).unwrap();
        let refused = DataLock::take(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("in use by another process"), "{refused}");
        drop(first);
        DataLock::take(folder.path()).unwrap();
    }

    /// A regression: the process id was written over the file to which a link of this name led.
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let precious = folder.path().join("precious");
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, folder.path().join(LOCK_NAME)).unwrap();
        let refused = DataLock::take(folder.path()).unwrap_err().to_string();
        assert!(refused.contains("lock is a symbolic link"), "{refused}");
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
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
