//! The patches of `proof/mutants` remain what they claim to be: each applies to this tree and names tests that exist.
//! Whether those tests notice the planted bugs is checked by `proof/mutants/run`, which builds each of them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Fewer patches than this would prove little.
const PATCHES_MIN: usize = 40;

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn patches() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root().join("proof/mutants")).unwrap();
    let all = entries.map(|entry| entry.unwrap().path());
    all.filter(|path| path.extension().is_some_and(|extension| extension == "patch")).collect()
}

/// The values of this header's lines.
fn header<'a>(patch: &'a str, name: &str) -> Vec<&'a str> {
    let start = format!("# {name}: ");
    patch.lines().take_while(|line| line.starts_with('#')).filter_map(|line| line.strip_prefix(&start)).collect()
}

#[test]
fn every_mutant_applies_to_this_tree_and_changes_the_product() {
    let patches = patches();
    assert!(patches.len() >= PATCHES_MIN, "only {} patches", patches.len());
    for path in patches {
        let name = path.display();
        let output = Command::new("git").current_dir(root()).args(["apply", "--check"]).arg(&path).output().unwrap();
        assert!(output.status.success(), "{name} does not apply: {}", String::from_utf8_lossy(&output.stderr));
        let patch = std::fs::read_to_string(&path).unwrap();
        let files: Vec<&str> = patch.lines().filter_map(|line| line.strip_prefix("+++ b/")).collect();
        assert!(!files.is_empty(), "{name} changes nothing");
        let is_the_product = |file: &&str| {
            let is_code = file.contains("/src/") || file.contains("/migrations/");
            file.starts_with("crates/") && is_code || file.starts_with("web/")
        };
        assert!(files.iter().all(is_the_product), "{name} changes more than the server and its page: {files:?}");
        let own = path.file_name().unwrap().to_str().unwrap();
        let begins = |room: &str| own.strip_prefix(room).is_some_and(|rest| rest.starts_with('-'));
        assert!(files.iter().map(|file| room(file)).any(begins), "{name} is not named after a room: {files:?}");
    }
}

/// The room of a file: its crate, or the page.
fn room(file: &str) -> &str {
    if file.starts_with("web/") {
        return "page";
    }
    let folders = file.strip_prefix("crates/").unwrap_or_default();
    let folders = folders.strip_prefix("gateways/").unwrap_or(folders);
    folders.split('/').next().unwrap()
}

#[test]
fn every_mutant_says_what_it_is_and_names_tests_that_exist() {
    for path in patches() {
        let (name, patch) = (path.display(), std::fs::read_to_string(&path).unwrap());
        assert_eq!(header(&patch, "What").len(), 1, "{name} does not say in one line what it is");
        let tests = header(&patch, "Test");
        assert!(!tests.is_empty(), "{name} names no test");
        for test in tests {
            assert!(exists(test), "{name} names a test that is not there: {test}");
        }
    }
}

/// Whether `-p CRATE --test TARGET -- name::of::it` or `-p CRATE --lib -- name::of::it` names a test.
fn exists(test: &str) -> bool {
    let Some((words, name)) = test.split_once(" -- ") else { return false };
    let mut modules: Vec<&str> = name.split("::").collect();
    let function = format!("fn {}(", modules.pop().unwrap());
    let root = match words.split(' ').collect::<Vec<_>>()[..] {
        ["-p", package, "--test", target] => folder(package).join("tests").join(target),
        ["-p", package, "--lib"] => folder(package).join("src").join("lib"),
        _ => return false,
    };
    files(&root, &modules).iter().any(|file| std::fs::read_to_string(file).is_ok_and(|file| file.contains(&function)))
}

/// The files that may contain a module's code, in a crate whose first file is `ROOT.rs` or, for tests, `ROOT/main.rs`.
fn files(root: &Path, modules: &[&str]) -> Vec<PathBuf> {
    let Some((last, before)) = modules.split_last() else {
        return vec![root.with_extension("rs"), root.join("main.rs")];
    };
    let folders = [root.to_owned(), root.parent().unwrap().to_owned()].map(|folder| folder.join(before.join("/")));
    let own = folders.iter().flat_map(|folder| [folder.join(format!("{last}.rs")), folder.join(last).join("mod.rs")]);
    // Unit tests are in the file of the code that they test.
    let above = if *last == "tests" { files(root, before) } else { Vec::new() };
    own.chain(above).collect()
}

/// The folder of a package of this workspace.
fn folder(package: &str) -> PathBuf {
    let (crates, name) = (root().join("crates"), package.strip_prefix("pricetime-").unwrap_or(package));
    let name = name.strip_suffix("-gateway").unwrap_or(name);
    let gateway = crates.join("gateways").join(name);
    if gateway.is_dir() { gateway } else { crates.join(name) }
}
