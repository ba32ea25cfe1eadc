//! The server's program: `pricetime` beside this one, or the one that `--server` names; and this program's own command
//! line. It starts nothing.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use store::StoreUrl;

const NAME: &str = "pricetime";

static GIVEN: OnceLock<PathBuf> = OnceLock::new();

/// Chooses this program as the server. Called once, when the command line is read.
pub fn choose(server: PathBuf) {
    GIVEN.get_or_init(|| server);
}

/// Returns the program that was chosen, if one was.
pub fn given() -> Option<&'static Path> {
    GIVEN.get().map(PathBuf::as_path)
}

/// Returns the server's program. Errors: it does not exist, with what to build.
pub fn server() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    found(given().map_or_else(|| own.with_file_name(NAME), Path::to_path_buf))
}

/// Returns a command of the server's program that sees the command line and no settings of the environment.
pub fn server_command() -> Result<Command, String> {
    let mut command = Command::new(server()?);
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("PRICETIME_")) {
        command.env_remove(name);
    }
    Ok(command)
}

/// Returns the command line that repeats what this program does: as it was given, without the folder of the results,
/// which is taken now, and without a database's password; with one preset's name where `all` was given.
pub fn command_line(preset: Option<&str>) -> String {
    repeating(&std::env::args().collect::<Vec<_>>(), preset)
}

fn repeating(words: &[String], preset: Option<&str>) -> String {
    let mut line = "pricetime-bench".to_string();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        if word == "--out" {
            words.next();
        } else if !word.starts_with("--out=") {
            let word = match preset {
                Some(name) if word == "all" => name.to_string(),
                Some(name) if word == "--preset=all" => format!("--preset={name}"),
                _ => without_password(word),
            };
            line.push(' ');
            line += &quoted(&word);
        }
    }
    line
}

/// Removes the password from a database's URL; other words stay as they are.
fn without_password(word: &str) -> String {
    let (flag, value) = match word.strip_prefix("--store=") {
        Some(value) => ("--store=", value),
        None => ("", word),
    };
    value.parse::<StoreUrl>().map_or_else(|_| word.to_string(), |url| format!("{flag}{url}"))
}

fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=,./:+@".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_string()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
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

    #[test]
    fn the_command_that_repeats_it_names_a_new_folder_and_one_preset() {
        let words = |line: &str| line.split(' ').map(str::to_string).collect::<Vec<_>>();
        let line = repeating(&words("/bin/x sweep --preset all --out d --runs 2"), Some("one-shot"));
        assert_eq!(line, "pricetime-bench sweep --preset one-shot --runs 2");
        let line =
            repeating(&words("x sweep --preset all --store postgres://me:s3cret@db/x?connect_timeout=2 --quick"), None);
        assert_eq!(line, "pricetime-bench sweep --preset all --store postgres://me@db:5432/x --quick");
        let line = repeating(&words("x sweep --preset all --store=postgres://me:s3cret@db/x"), None);
        assert_eq!(line, "pricetime-bench sweep --preset all --store=postgres://me@db:5432/x");
        let line = repeating(&words("x sweep --out=d --axis cores --values 1,2 --client-cores $1"), None);
        assert_eq!(line, "pricetime-bench sweep --axis cores --values 1,2 --client-cores '$1'");
    }
}
