//! The history's folder in the data folder, on any disk. This file does not know what the files hold.

use std::fmt;
use std::io;
use std::sync::Arc;

use journal::{File, Storage};

/// The name of the history's folder in the data folder.
pub const HISTORY_FOLDER: &str = "history";

/// The beginning of the name of a folder with a history that did not fit the market.
pub const SET_ASIDE: &str = "history-through-";

/// The end of the name of a file that is being made. The next start removes it.
pub(crate) const MAKING_SUFFIX: &str = ".new";

/// The folder as the tables and the checkpoint need it.
pub(crate) trait Folder: fmt::Debug + Send + Sync {
    /// Opens a file, and makes it if it is missing.
    fn open(&self, name: &str) -> io::Result<Box<dyn File>>;
    /// Opens a file. Errors: `NotFound`.
    fn existing(&self, name: &str) -> io::Result<Box<dyn File>>;
    /// Reads all of a file; none if there is no such file.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Writes a file aside, syncs it, renames it and syncs the folder, so that there is a whole one at any time.
    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()>;
    /// The names of all files.
    fn list(&self) -> io::Result<Vec<String>>;
    /// Renames a file, replacing another one.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Removes a file, if it is there.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes new and removed names durable.
    fn sync(&self) -> io::Result<()>;
    /// Moves the files to a folder with this name, or the next free one, beside this folder. Returns an empty folder in
    /// its place, and the name.
    fn set_aside(&self, name: &str) -> io::Result<(Arc<dyn Folder>, String)>;
}

/// Opens the history's folder in a data folder, and makes it if it is missing.
pub(crate) fn open<S: Storage>(home: &S) -> io::Result<Arc<dyn Folder>> {
    let files = home.folder(HISTORY_FOLDER)?;
    // Files that are durable in a folder are worth nothing if the folder is not.
    home.sync_directory()?;
    // A killed process may have renamed a checkpoint without syncing the folder. This process goes by that checkpoint,
    // so it must not be lost.
    files.sync_directory()?;
    Ok(Arc::new(InHome { home: home.clone(), files }))
}

/// Opens the history's folder in a data folder that has one, only to read.
pub(crate) fn look_at<S: Storage>(home: &S) -> io::Result<Arc<dyn Folder>> {
    Ok(Arc::new(InHome { home: home.clone(), files: home.folder(HISTORY_FOLDER)? }))
}

struct InHome<S> {
    home: S,
    files: S,
}

impl<S> fmt::Debug for InHome<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the folder of the history")
    }
}

impl<S: Storage> Folder for InHome<S> {
    fn open(&self, name: &str) -> io::Result<Box<dyn File>> {
        let file = match self.files.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.files.create(name)?,
            opened => opened?,
        };
        Ok(Box::new(file))
    }

    fn existing(&self, name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(self.files.open(name)?))
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match self.files.open(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        let mut bytes = vec![0; usize::try_from(file.len()?).map_err(io::Error::other)?];
        file.read_exact_at(&mut bytes, 0)?;
        Ok(Some(bytes))
    }

    fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let aside = format!("{name}{MAKING_SUFFIX}");
        // A crash may have left a file with any content.
        self.remove(&aside)?;
        let file = self.files.create(&aside)?;
        file.write_all_at(bytes, 0)?;
        file.sync()?;
        self.files.rename(&aside, name)?;
        self.files.sync_directory()
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.files.list()
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.files.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match self.files.remove(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    fn sync(&self) -> io::Result<()> {
        self.files.sync_directory()
    }

    fn set_aside(&self, name: &str) -> io::Result<(Arc<dyn Folder>, String)> {
        let mut free = name.to_owned();
        let mut number = 1;
        // Another history may have been set aside that ends at the same command.
        while !self.home.folder(&free)?.list()?.is_empty() {
            number += 1;
            free = format!("{name}-{number}");
        }
        self.home.rename(HISTORY_FOLDER, &free)?;
        let files = self.home.folder(HISTORY_FOLDER)?;
        self.home.sync_directory()?;
        Ok((Arc::new(InHome { home: self.home.clone(), files }), free))
    }
}
