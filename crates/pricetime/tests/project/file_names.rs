//! Comments and documents name source files that are there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::mutants::root;

/// The files below a folder whose names end in one of the given ways. Build outputs do not count.
fn files(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            if !name.starts_with('.') && name != "target" && name != "node_modules" {
                files(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// The names in backticks of a line that look like Rust files: `journal.rs`, `engine/engine.rs`.
fn names_in(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        word.len() > ".rs".len()
            && word.ends_with(".rs")
            && word
                .chars()
                .all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_/.".contains(letter))
    };
    line.split('`').skip(1).step_by(2).filter(is_name)
}

/// Whether a file of this name is there. A name may leave out `crates/` before it and `src/` within it, and begins at a
/// folder or a file.
fn is_there(name: &str, sources: &BTreeSet<String>) -> bool {
    let name = name.trim_start_matches("crates/");
    sources.iter().any(|source| *source == name || source.ends_with(&format!("/{name}")))
}

#[test]
fn every_source_file_that_a_comment_or_a_document_names_is_there() {
    let root = root();
    let mut all = Vec::new();
    files(&root, &[".rs", ".md"], &mut all);
    let relative = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_string();
    let mut sources = BTreeSet::new();
    for source in all.iter().map(relative).filter(|path| path.ends_with(".rs")) {
        let source = source.trim_start_matches("crates/").to_string();
        sources.insert(source.replace("/src/", "/"));
        sources.insert(source);
    }
    let mut missing = Vec::new();
    for path in &all {
        let text = std::fs::read_to_string(path).unwrap();
        let is_document = path.extension().is_some_and(|extension| extension == "md");
        let lines = text.lines().filter(|line| is_document || line.trim_start().starts_with("//"));
        let names = lines.flat_map(names_in).filter(|name| !is_there(name, &sources));
        missing.extend(names.map(|name| format!("{} names `{name}`", relative(path))));
    }
    assert!(missing.is_empty(), "no such files:\n{}", missing.join("\n"));
}

#[test]
fn a_name_of_a_file_that_is_gone_is_found() {
    let sources = ["engine/src/fees/apply.rs", "engine/fees/apply.rs"].map(str::to_string).into();
    let names = |line| names_in(line).filter(|name| !is_there(name, &sources)).collect::<Vec<_>>();
    assert_eq!(names("charged (`charging.rs`), see `fees/apply.rs` and `x.txt`"), ["charging.rs"]);
    assert_eq!(names("`crates/engine/src/fees/apply.rs`, `engine/fees/apply.rs`, `ees/apply.rs`"), ["ees/apply.rs"]);
}
