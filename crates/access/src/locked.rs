//! The access file on the disk, locked while it is changed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::file;
use crate::time::written;

/// The lock of a file that is being changed. A second change waits until it is dropped.
pub(crate) struct Locked {
    path: PathBuf,
    log: File,
}

impl Locked {
    /// Locks the file. Errors: the path and the reason.
    pub(crate) fn take(path: &Path) -> Result<Locked, String> {
        Locked::take_by(path, FlockOperation::LockExclusive)?.ok_or_else(|| format!("{}: it is locked", path.display()))
    }

    /// Locks the file; `None` while another change holds the lock. Errors: as above.
    pub(crate) fn take_if_free(path: &Path) -> Result<Option<Locked>, String> {
        Locked::take_by(path, FlockOperation::NonBlockingLockExclusive)
    }

    fn take_by(path: &Path, operation: FlockOperation) -> Result<Option<Locked>, String> {
        let log_path = beside(path, "log");
        if let Some(folder) = folder_of(path).filter(|folder| !folder.exists()) {
            return Err(format!("there is no folder {}: make it first", folder.display()));
        }
        let log = open_log(&log_path, path).map_err(|error| at(&log_path, &error))?;
        match flock(&log, operation) {
            Ok(()) => Ok(Some(Locked { path: path.to_owned(), log })),
            Err(Errno::WOULDBLOCK) => Ok(None),
            Err(error) => Err(at(&log_path, &error.into())),
        }
    }

    /// Reads the file's text; `None` where the file is missing. Errors: it cannot be read, or others may read it.
    pub(crate) fn text(&self) -> Result<Option<String>, String> {
        match self.path.try_exists() {
            Ok(false) => Ok(None),
            Ok(true) => file::text(&self.path).map(Some),
            Err(error) => Err(at(&self.path, &error)),
        }
    }

    /// Replaces the file's text, completely and on the disk, or not at all. The record is written first, so that no
    /// change goes unrecorded.
    pub(crate) fn replace(&mut self, text: &str, record: &str) -> Result<(), String> {
        let new_path = write_new(&self.path, text)?;
        let line = format!("{} {record}\n", written(SystemTime::now().into()));
        let noted = self.log.write_all(line.as_bytes()).and_then(|()| self.log.sync_all());
        noted.map_err(|error| at(&beside(&self.path, "log"), &error))?;
        rename(&new_path, &self.path)
    }

    /// Writes the file beside it that has this ending.
    pub(crate) fn write_beside(&self, ending: &str, text: &str) -> Result<(), String> {
        let path = beside(&self.path, ending);
        rename(&write_new(&path, text)?, &path)
    }
}

/// Opens the record of changes, or makes it and gives it to the owner of the access file. Errors: it is not a plain
/// file of this one name. The folder's owner may have put a link in its place to make root write to any file, or give
/// it away.
fn open_log(log_path: &Path, path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // A pipe in its place would wait for a reader.
    options.append(true).mode(0o600).custom_flags((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32);
    match options.clone().create_new(true).open(log_path) {
        Ok(log) => {
            give_to_owner(&log, path);
            return Ok(log);
        }
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Err(_) => {}
    }
    let not_plain = || io::Error::other("it is a link or no plain file; remove it");
    let log = options.open(log_path).map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => not_plain(),
        _ => error,
    })?;
    let found = log.metadata()?;
    if found.is_file() && found.nlink() == 1 { Ok(log) } else { Err(not_plain()) }
}

/// Writes the text that is to replace a file. Returns the path of the new file.
fn write_new(path: &Path, text: &str) -> Result<PathBuf, String> {
    let new_path = beside(path, "new");
    match fs::remove_file(&new_path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(at(&new_path, &error)),
        Ok(()) | Err(_) => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new_path);
    let file = file.inspect(|file| give_to_owner(file, path));
    let written_out = file.and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()));
    written_out.map_err(|error| at(&new_path, &error))?;
    Ok(new_path)
}

/// Gives a file that was just made to the owner of the access file or, while there is none, of its folder: root may
/// edit the file of a server that runs as a user of its own, and that reads and changes it. Nobody else can give files
/// away.
fn give_to_owner(file: &File, path: &Path) {
    let folder = folder_of(path).unwrap_or(Path::new("."));
    let Ok(owner) = fs::symlink_metadata(path).or_else(|_| fs::metadata(folder)) else { return };
    if file.metadata().is_ok_and(|here| here.uid() != owner.uid())
        && let Err(error) = fchown(file, Some(owner.uid()), Some(owner.gid()))
    {
        tracing::debug!(%error, "an access file stays whose it is");
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), String> {
    fs::rename(from, to).map_err(|error| at(to, &error))?;
    let folder = folder_of(to).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| at(folder, &error))
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Returns the folder that a path names; `None` for a file of the current folder.
pub(crate) fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

/// Returns the path of the file with this ending that belongs to a file.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
