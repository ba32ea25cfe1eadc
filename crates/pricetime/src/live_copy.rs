//! Copies of files that may change while they are copied: each can be brought up to date later, and then only the
//! changes are written. This file does not know what the files hold, nor when they stop changing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use xxhash_rust::xxh3::xxh3_128;

/// The length of the pieces that are compared, and written again when they changed.
const PIECE_BYTES: usize = 1 << 20;

/// The files of a folder, and their copies under the same names in another folder.
pub struct LiveCopy {
    from: PathBuf,
    to: PathBuf,
    /// The hashes of each file's pieces when they were copied.
    copied: BTreeMap<PathBuf, Vec<u128>>,
}

impl LiveCopy {
    /// Makes an empty set of copies.
    pub fn new(from: &Path, to: &Path) -> LiveCopy {
        LiveCopy { from: from.to_owned(), to: to.to_owned(), copied: BTreeMap::new() }
    }

    /// The folder of the copies.
    pub fn target(&self) -> &Path {
        &self.to
    }

    /// Brings the copy of a file up to date. Errors: for example, the file is missing.
    pub fn bring_up(&mut self, name: &Path) -> Result<(), String> {
        self.copy_start(name, u64::MAX)
    }

    /// Brings the copy of a file up to date; a missing file has no copy.
    pub fn bring_up_if_there(&mut self, name: &Path) -> Result<(), String> {
        match self.from.join(name).try_exists() {
            Ok(false) => self.remove(name).map_err(|error| format!("{}: {error}", name.display())),
            Ok(true) | Err(_) => self.bring_up(name),
        }
    }

    /// Brings up to date the copy of the first `bytes` of a file; the copy has zeros behind them.
    pub fn copy_start(&mut self, name: &Path, bytes: u64) -> Result<(), String> {
        self.bring_up_start(name, bytes).map_err(|error| format!("{}: {error}", name.display()))
    }

    fn bring_up_start(&mut self, name: &Path, bytes: u64) -> io::Result<()> {
        let source = File::open(self.from.join(name))?;
        let to = self.to.join(name);
        let pieces = match self.copied.get_mut(name) {
            Some(pieces) => pieces,
            None => {
                if let Some(folder) = to.parent() {
                    fs::create_dir_all(folder)?;
                }
                File::create_new(&to)?;
                self.copied.entry(name.to_owned()).or_default()
            }
        };
        let copy = OpenOptions::new().write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32).open(&to)?;
        copy_changed(&source, bytes, &copy, pieces)
    }

    /// Removes all copies except those to keep.
    pub fn remove_but(&mut self, keep: impl Fn(&Path) -> bool) -> io::Result<()> {
        let others: Vec<PathBuf> = self.copied.keys().filter(|name| !keep(name)).cloned().collect();
        others.iter().try_for_each(|name| self.remove(name))
    }

    fn remove(&mut self, name: &Path) -> io::Result<()> {
        match self.copied.remove(name) {
            Some(_) => fs::remove_file(self.to.join(name)),
            None => Ok(()),
        }
    }

    /// Makes all copies durable.
    pub fn sync(&self) -> io::Result<()> {
        let mut folders = BTreeSet::from([self.to.clone()]);
        for name in self.copied.keys() {
            let copy = self.to.join(name);
            File::open(&copy)?.sync_all()?;
            folders.extend(copy.parent().map(Path::to_owned));
        }
        folders.iter().try_for_each(|folder| File::open(folder)?.sync_all())
    }
}

/// Writes the pieces that changed, and makes the copy as long as the source.
fn copy_changed(source: &File, bytes: u64, copy: &File, pieces: &mut Vec<u128>) -> io::Result<()> {
    let length = source.metadata()?.len();
    let mut piece = Vec::with_capacity(PIECE_BYTES);
    let mut from = source.take(bytes.min(length));
    let mut index = 0;
    loop {
        piece.clear();
        if from.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut piece)? == 0 {
            break;
        }
        let hash = xxh3_128(&piece);
        if pieces.get(index) != Some(&hash) {
            copy.write_all_at(&piece, index as u64 * PIECE_BYTES as u64)?;
            pieces.splice(index..pieces.len().min(index + 1), [hash]);
        }
        index += 1;
    }
    pieces.truncate(index);
    copy.set_len(bytes.min(length))?;
    copy.set_len(length)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_copy_becomes_what_the_file_is_now() {
        let home = tempfile::tempdir().unwrap();
        let (from, to) = (home.path().join("from"), home.path().join("to"));
        fs::create_dir_all(from.join("in")).unwrap();
        let name = Path::new("in/file");
        let mut live_copy = LiveCopy::new(&from, &to);
        assert!(live_copy.bring_up(name).unwrap_err().contains("in/file"));
        let long = 2 * PIECE_BYTES + 300;
        let mut bytes: Vec<u8> = (0..long).map(|at| (at / 7) as u8).collect();
        for (length, changed) in [(long, 5), (long, long - 1), (PIECE_BYTES + 4, 9), (0, 0), (long, PIECE_BYTES)] {
            bytes[changed] ^= 1;
            fs::write(from.join(name), &bytes[..length]).unwrap();
            live_copy.bring_up(name).unwrap();
            assert!(fs::read(to.join(name)).unwrap() == bytes[..length], "{length} bytes, changed at {changed}");
        }
        live_copy.copy_start(name, 10).unwrap();
        live_copy.sync().unwrap();
        bytes[10..].fill(0);
        assert!(fs::read(to.join(name)).unwrap() == bytes);
        fs::remove_file(from.join(name)).unwrap();
        live_copy.bring_up_if_there(name).unwrap();
        assert!(!to.join(name).exists());
    }
}
