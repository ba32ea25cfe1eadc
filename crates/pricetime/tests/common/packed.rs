//! Data folders that other versions of the program made, packed beside the tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::folder::Folder;

/// Unpacks one of `tests/folders` into a folder.
pub fn unpack(name: &str, folder: &Folder) -> PathBuf {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/folders/{name}.tar.gz"));
    let status = Command::new("tar").arg("-xzf").arg(packed).arg("-C").arg(folder.path()).status().unwrap();
    assert!(status.success());
    folder.path().join(name)
}
