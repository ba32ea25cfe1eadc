//! The invariants whose breach ends the server, or a part of it: `expect("invariant: …")` and its kin. Each stands in
//! `proof/invariants.tsv` with why it holds whatever clients send, so that a new one is thought about.

use std::collections::BTreeMap;
use std::path::Path;

use super::sums::rust_sources;

/// What serves nobody: measuring, fuzzing, the model, simulations and tests.
const NOT_LOOKED_AT: [&str; 6] =
    ["crates/bench/", "crates/fuzz/", "crates/model/", "/simulation", "/tests/", "/tests.rs"];
/// How an invariant begins in the code.
const BEGIN: &str = "\"invariant: ";

/// A file, an invariant in it, and how often that stands there.
type Found = BTreeMap<(String, String), usize>;

fn in_code(root: &Path) -> Found {
    let mut found = Found::new();
    for (name, text) in rust_sources(root) {
        if NOT_LOOKED_AT.iter().any(|part| name.contains(part)) {
            continue;
        }
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for (_, rest) in code.match_indices(BEGIN).map(|(at, begin)| code.split_at(at + begin.len())) {
            let (invariant, _) = rest.split_once('"').unwrap();
            *found.entry((name.clone(), invariant.to_owned())).or_default() += 1;
        }
    }
    found
}

/// The list: a line for each with its file, how often it stands there, its text, and why it holds.
fn listed(root: &Path) -> Found {
    let text = std::fs::read_to_string(root.join("proof/invariants.tsv")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let mut sorted = lines.clone();
    sorted.sort_unstable();
    assert_eq!(lines, sorted, "proof/invariants.tsv is sorted, by file and text");
    let read = |line: &&str| {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, invariant, times, why] = cells[..] else { panic!("four cells: {line}") };
        assert!(why.len() > 10, "say why it holds: {line}");
        ((file.to_owned(), invariant.to_owned()), times.parse().unwrap())
    };
    lines.iter().map(read).collect()
}

#[test]
fn every_invariant_that_ends_something_is_listed_with_why_it_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (code, list) = (in_code(&root), listed(&root));
    assert!(code.len() > 150, "{}", code.len());
    let unknown: Vec<_> = code.iter().filter(|(place, times)| list.get(*place) != Some(times)).collect();
    assert!(
        unknown.is_empty(),
        "think of a client that breaks it, and say in proof/invariants.tsv (file, text, how often, why it holds): {unknown:#?}"
    );
    let gone: Vec<_> = list.keys().filter(|place| !code.contains_key(*place)).collect();
    assert!(gone.is_empty(), "these stand in proof/invariants.tsv alone: {gone:#?}");
}
