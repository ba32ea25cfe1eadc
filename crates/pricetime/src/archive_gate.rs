//! Keeps the archive's writer out while a backup copies its file, but not for longer than anybody can bear: a lock between
//! processes that the writer may break. A backup that was stopped or is slow holds up nobody; it learns that the writer did
//! not wait for it, and copies again.
//!
//! The lock is on a file. The writer breaks it by putting another file in its place: whoever has locked the old one has locked
//! nothing, and sees so by looking at what stands there.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use journal::{Disk, DiskFile, Storage};
use rustix::fs::OFlags;

/// The file whose lock it is, and its name until it is locked.
pub const GATE_NAME: &str = "archive.gate";
const ASIDE: &str = "archive.gate.tmp";

/// How long the writer waits for backups. What is done meanwhile waits in memory.
const LEASE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// The writer's side, of one data folder.
#[derive(Debug)]
pub struct ArchiveGate {
    folder: Disk,
    file: DiskFile,
}

impl ArchiveGate {
    /// Makes a new gate, which is closed until `open` is called: whoever copied the folder of a stopped server begins again.
    pub fn make(folder: &Disk) -> io::Result<ArchiveGate> {
        Ok(ArchiveGate { folder: folder.clone(), file: replace(folder)? })
    }

    /// Lets backups copy.
    pub fn open(&self) -> io::Result<()> {
        self.file.system().unlock()
    }

    /// Closes it for a write. Waits for backups that copy, unless and until it is `urgent`, and not for long. A gate that is
    /// dropped is open.
    pub fn close(&mut self, urgent: impl Fn() -> bool) -> io::Result<()> {
        let deadline = Instant::now() + LEASE;
        loop {
            match self.file.system().try_lock() {
                Ok(()) => return Ok(()),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if urgent() || Instant::now() >= deadline => break,
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOOK_EVERY),
            }
        }
        tracing::info!("the archive is written while a backup copies it, which then has to copy it again");
        self.file = replace(&self.folder)?;
        Ok(())
    }
}

/// Puts a new file in place that is locked already, so that nobody comes before.
fn replace(folder: &Disk) -> io::Result<DiskFile> {
    match folder.remove(ASIDE) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let file = folder.create(ASIDE)?;
    file.system().lock()?;
    folder.rename(ASIDE, GATE_NAME)?;
    Ok(file)
}

/// A backup's side: keeps the writer out, as long as it waits.
#[derive(Debug)]
pub struct KeptOut {
    path: PathBuf,
    /// None in a folder that no server has run on.
    gate: Option<File>,
}

impl KeptOut {
    /// Waits until the writer is not writing. Writes nothing.
    pub fn of(folder: &Path) -> io::Result<KeptOut> {
        let path = folder.join(GATE_NAME);
        let mut options = OpenOptions::new();
        let gate = match options.read(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        if let Some(gate) = &gate {
            gate.lock_shared()?;
        }
        Ok(KeptOut { path, gate })
    }

    /// Whether the writer was kept out all the time until now.
    pub fn still(&self) -> io::Result<bool> {
        let there = match std::fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        match (&self.gate, there) {
            (None, None) => Ok(true),
            (None, Some(_)) | (Some(_), None) => Ok(false),
            (Some(gate), Some(there)) => {
                let ours = gate.metadata()?;
                Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino()))
            }
        }
    }
}
