//! A fresh folder on the real disk, kept when the test fails so that it can be looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A test's folder; the data folder is in it.
pub struct Folder(tempfile::TempDir);

impl Folder {
    /// Makes a folder named after its purpose.
    pub fn new(purpose: &str) -> Folder {
        let prefix = format!("{purpose}-");
        Folder(tempfile::Builder::new().prefix(&prefix).tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of the data folder, which the server makes.
    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.disable_cleanup(true);
            eprintln!("the folder of this test is kept: {}", self.path().display());
        }
    }
}

/// All files of a folder and of those in it, by their path in it, with their contents.
pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => found
                .extend(contents(&entry.path()).into_iter().map(|(inside, bytes)| (format!("{name}/{inside}"), bytes))),
            false => drop(found.insert(name, std::fs::read(entry.path()).unwrap())),
        }
    }
    found
}
