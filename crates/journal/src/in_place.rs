//! Remembers the file or folder under each path that the server opened, made or renamed, to notice when someone else
//! removes, moves or replaces it. This file does not know what they hold.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The device and inode, which tell a file from every other one, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
}

impl Identity {
    pub fn of(metadata: &Metadata) -> Identity {
        Identity { device: metadata.dev(), inode: metadata.ino() }
    }
}

/// Paths and the files under them. A folder and the folders in it share it.
#[derive(Debug, Default)]
pub(crate) struct InPlace {
    known: Mutex<BTreeMap<PathBuf, Identity>>,
}

impl InPlace {
    /// Runs `open`, which opens or makes a file, and remembers the file. No check runs in between.
    pub fn enter<T>(
        &self,
        path: &Path,
        open: impl FnOnce() -> io::Result<T>,
        metadata: impl FnOnce(&T) -> io::Result<Metadata>,
    ) -> io::Result<T> {
        let mut known = self.lock();
        let opened = open()?;
        known.insert(path.to_owned(), Identity::of(&metadata(&opened)?));
        Ok(opened)
    }

    /// Renames a file, or a folder with all that is in it.
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut known = self.lock();
        std::fs::rename(from, to)?;
        known.retain(|path, _| !path.starts_with(to));
        let moved: Vec<PathBuf> = known.keys().filter(|path| path.starts_with(from)).cloned().collect();
        for path in moved {
            if let (Some(identity), Ok(rest)) = (known.remove(&path), path.strip_prefix(from)) {
                let new = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
                known.insert(new, identity);
            }
        }
        Ok(())
    }

    /// Removes a file.
    pub fn remove(&self, path: &Path) -> io::Result<()> {
        let mut known = self.lock();
        std::fs::remove_file(path)?;
        known.remove(path);
        Ok(())
    }

    /// The first path with another file than the server put there, and what is there instead; none if all are in place.
    pub fn displaced(&self) -> Option<(PathBuf, String)> {
        // With many files the check takes time, for which the journal need not wait.
        let all = self.lock().clone();
        let suspects = all.iter().filter(|(path, identity)| found_instead(path, **identity).is_some());
        suspects.into_iter().find_map(|(path, _)| {
            let known = self.lock();
            // The server may have renamed or removed it meanwhile.
            let found = found_instead(path, *known.get(path)?)?;
            Some((path.clone(), found))
        })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Identity>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn found_instead(path: &Path, identity: Identity) -> Option<String> {
    match std::fs::metadata(path) {
        Ok(metadata) if Identity::of(&metadata) == identity => None,
        Ok(_) => Some("another one stands in its place".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}
