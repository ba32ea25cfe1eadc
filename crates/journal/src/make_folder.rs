//! Makes a folder that a power cut cannot take away, by syncing the folder above it. This file does not know what the
//! folder will hold.

use std::fs;
use std::io;
use std::path::Path;

/// Makes a folder, and those that are missing above it. Its name is durable in the folder above when this returns.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let above = match path.parent() {
        Some(above) if !above.as_os_str().is_empty() => above,
        Some(_) => Path::new("."),
        None => return Ok(()),
    };
    match fs::create_dir(path) {
        Ok(()) => sync_names(above),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(above)?;
            fs::create_dir(path)?;
            sync_names(above)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => match sync_names(above) {
            // The start that made the folder may have ended before its sync. The sync is impossible where the folder
            // above takes no folder from this user, or no sync.
            Err(error) if is_not_ours(error.kind()) => Ok(()),
            synced => synced,
        },
        Err(error) => Err(error),
    }
}

fn is_not_ours(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::InvalidInput)
}

fn sync_names(folder: &Path) -> io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn all_that_is_missing_is_made() {
        let parent = tempfile::tempdir().unwrap();
        let deep = parent.path().join("a/b/c");
        make_folder(&deep).unwrap();
        make_folder(&deep).unwrap();
        assert!(deep.is_dir());
        fs::write(deep.join("file"), "").unwrap();
        assert!(make_folder(&deep.join("file")).is_err());
        assert!(make_folder(&deep.join("file/d")).is_err());
    }
}
