//! A node that begins with nothing reads the log from its beginning, or takes a copy of another node's data folder, if
//! the log does not reach back so far; and it gives such copies to others.
//!
//! A copy is taken into a folder within the data folder, checked, and renamed; only then its files become the node's. A
//! start that finds the folder under its first name removes it, and under its second name goes on moving its files.
//! Each step is on the disk before the next one, so a power cut leaves the folder under one of its names, and no file
//! without a name.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use cluster::node_copy::Fetched;
use cluster::{CopySource, LogUrl, jetstream};
use history::HISTORY_FOLDER;
use journal::{Disk, Options, Storage, make_folder};
use market::recovery;
use terms::LogMessage;

use crate::backup::{copy_folder, fetch_from, verify};
use crate::unjoined::{TAKEN, WHOLE};

/// The folder of a copy for another node.
const GIVEN: &str = "copy-for-a-node";

/// Makes an empty data folder a copy of another node's if the log does not reach back to its beginning; returns a note
/// that names the node. A folder without a journal may have the history of a market that was there: it is set aside,
/// and the note names it. Errors: the log cannot be asked, or no node gives a copy.
pub fn join(url: &LogUrl, data: &Path, options: Options) -> Result<Option<String>, String> {
    let at = |error: io::Error| format!("{}: {error}", data.display());
    let (taken, whole) = (data.join(TAKEN), data.join(WHOLE));
    remove(&taken).and_then(|()| remove(&data.join(GIVEN))).map_err(at)?;
    move_up(&whole, data).map_err(at)?;
    let disk = Disk::open(data).map_err(at)?;
    let is_empty = journal::oldest_point(&disk).map_err(|error| error.to_string())?.is_none();
    let is_empty = is_empty && journal::snapshot::list(&disk).map_err(|error| error.to_string())?.is_empty();
    if !is_empty {
        return Ok(None);
    }
    let log = jetstream::find(url).map_err(|error| error.to_string())?;
    let nothing: Option<LogMessage> = None;
    let reaches_back = log.reaches_back_to(nothing);
    if reaches_back && !log.is_begun() {
        // A history of a market that this log knows nothing of is refused like any other.
        return Ok(None);
    }
    let set_aside = history::set_aside(&disk).map_err(|error| error.to_string())?;
    let kept = set_aside.map(|name| format!("the history that lay here without a journal is kept as {name}"));
    if reaches_back {
        recovery::begin(&disk, options).map_err(|error| error.to_string())?;
        return Ok(kept.map(|kept| format!("note       began with the log; {kept}")));
    }
    make_folder(&taken).map_err(at)?;
    let Fetched { node, files, bytes } = fetch_from(url, &taken)?;
    tracing::info!(node, files, bytes, "a copy of another node's data folder was taken");
    let what = verify(&taken)?;
    fs::rename(&taken, &whole).and_then(|()| sync(data)).and_then(|()| move_up(&whole, data)).map_err(at)?;
    let what = what.split_once(": ").map_or(what.as_str(), |(_, what)| what);
    let kept = kept.map_or_else(String::new, |kept| format!("; {kept}"));
    Ok(Some(format!("note       began with a copy of node {node}'s data folder: {what}{kept}")))
}

fn sync(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Moves the content of a folder into its parent, and removes it.
fn move_up(folder: &Path, to: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    // Both ends of the moves are synced before the folder is removed which says that they are not done.
    sync(folder).and_then(|()| sync(to))?;
    fs::remove_dir(folder).and_then(|()| sync(to))
}

/// The data folder of a node that gives copies.
pub struct DataFolder {
    data: PathBuf,
    /// The bytes of the disk that a copy leaves free.
    leaves_free: u64,
}

impl DataFolder {
    pub fn new(data: &Path, leaves_free: u64) -> DataFolder {
        DataFolder { data: data.to_owned(), leaves_free }
    }

    fn has_room(&self) -> io::Result<bool> {
        let needed = bytes_in(&self.data)? + bytes_in(&self.data.join(HISTORY_FOLDER)).unwrap_or(0);
        Ok(Disk::open_to_read(&self.data)?.free_bytes()? >= needed.saturating_add(self.leaves_free))
    }
}

/// The bytes of the files in a folder, without those in its folders.
fn bytes_in(folder: &Path) -> io::Result<u64> {
    let bytes = |entry: io::Result<fs::DirEntry>| {
        let metadata = entry?.metadata()?;
        Ok(if metadata.is_file() { metadata.len() } else { 0 })
    };
    fs::read_dir(folder)?.map(bytes).sum()
}

impl CopySource for DataFolder {
    fn make(&self) -> Result<PathBuf, String> {
        if !self.has_room().map_err(|error| error.to_string())? {
            return Err("its disk has no room for a copy".to_owned());
        }
        let copy = self.data.join(GIVEN);
        remove(&copy).and_then(|()| make_folder(&copy)).map_err(|error| error.to_string())?;
        copy_folder(&self.data, &copy)?;
        Ok(copy)
    }

    fn remove(&self) {
        if let Err(error) = remove(&self.data.join(GIVEN)) {
            tracing::warn!(%error, "a copy for another node was not removed");
        }
    }
}
