//! Marks a data folder that a tool is making until all of it was checked, so that no server or backup uses an
//! incomplete market. It does not know the folder's content.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// The file in such a folder.
pub const UNFINISHED_NAME: &str = "unfinished";

/// Marks a folder durably.
pub fn mark_unfinished(folder: &Path) -> io::Result<()> {
    let mut file = fs::File::create_new(folder.join(UNFINISHED_NAME))?;
    file.write_all(b"What makes this folder has not come to its end. If nothing makes it any more, remove it.\n")?;
    file.sync_all()?;
    fs::File::open(folder)?.sync_all()
}

/// Removes the mark durably from a folder whose files are durable.
pub fn mark_finished(folder: &Path) -> io::Result<()> {
    fs::remove_file(folder.join(UNFINISHED_NAME))?;
    fs::File::open(folder)?.sync_all()
}

/// Errors: the folder is marked.
pub fn expect_finished(folder: &Path) -> Result<(), String> {
    match folder.join(UNFINISHED_NAME).exists() {
        true => Err(format!(
            "{}: this folder was never finished: a backup or an export that made it was stopped, or makes it still. Remove the folder and \
             make it again",
            folder.display()
        )),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_is_refused_as_long_as_it_is_marked() {
        let folder = tempfile::tempdir().unwrap();
        expect_finished(folder.path()).unwrap();
        mark_unfinished(folder.path()).unwrap();
        assert!(expect_finished(folder.path()).unwrap_err().contains("never finished"));
        assert!(mark_unfinished(folder.path()).is_err(), "two make it");
        mark_finished(folder.path()).unwrap();
        expect_finished(folder.path()).unwrap();
    }
}
