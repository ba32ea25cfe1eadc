//! Which server is started: the program `pricetime` beside this one, or the one that `--server` names. It starts nothing.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const NAME: &str = "pricetime";

static GIVEN: OnceLock<PathBuf> = OnceLock::new();

/// From now on this program is the server. Said once, when the command line is read.
pub fn choose(server: PathBuf) {
    GIVEN.get_or_init(|| server);
}

/// The one that was chosen, if one was.
pub fn given() -> Option<&'static Path> {
    GIVEN.get().map(PathBuf::as_path)
}

/// The server's program. Errors: it is not there, with what to build.
pub fn server() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    found(given().map_or_else(|| own.with_file_name(NAME), Path::to_path_buf))
}

fn found(server: PathBuf) -> Result<PathBuf, String> {
    if server.is_file() {
        // A child may have another working directory.
        return server.canonicalize().map_err(|error| format!("{}: {error}", server.display()));
    }
    Err(format!(
        "the server's program is not at {}: build it (cargo build --release -p pricetime), or name it with --server PATH",
        server.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_is_not_there_is_named_with_what_to_build() {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().join(NAME);
        let why = found(place.clone()).expect_err("nothing is there");
        assert!(why.contains(&place.display().to_string()), "{why}");
        assert!(why.contains("cargo build --release -p pricetime") && why.contains("--server"), "{why}");
        std::fs::write(&place, "").expect("a file");
        assert_eq!(found(place.clone()), Ok(place.canonicalize().expect("a path")));
    }
}
