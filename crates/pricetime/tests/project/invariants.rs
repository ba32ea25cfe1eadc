//! The invariants whose breach ends the server, or a part of it: `expect("invariant: …")` and its kin. Each stands in
//! `proof/invariants.tsv` with why it holds whatever clients send, so that a new one is thought about.

use std::collections::BTreeMap;
use std::path::Path;

use super::sums::rust_sources;

/// Crates that serve no clients: measurements, fuzzing, the model, scenarios, simulations and tests.
const NOT_LOOKED_AT: [&str; 7] =
    ["crates/bench/", "crates/fuzz/", "crates/model/", "crates/scenarios/", "/simulation", "/tests/", "/tests.rs"];
/// Files whose `expect`s say something else, with how often: the check of a backup, and constants, which are computed
/// when the program is compiled.
const EXPECTS_WITHOUT: [(&str, usize); 4] = [
    ("crates/engine/src/invariants.rs", 3),
    ("crates/terms/src/amount.rs", 1),
    ("crates/terms/src/distance.rs", 2),
    ("crates/terms/src/phase.rs", 1),
];
/// The beginning of an invariant in the code.
const BEGIN: &str = "\"invariant: ";

/// The number of times that an invariant is in a file, by file and text.
type Found = BTreeMap<(String, String), usize>;

/// Words that end something, and the files that use them without an invariant, with how often: asserts of tests and of
/// backups, and ends that are not faults of ours.
const ENDS: [&str; 7] =
    ["unreachable!(", "panic!(", "todo!(", "unimplemented!(", "assert!(", "assert_eq!(", "assert_ne!("];
const WITHOUT: [(&str, usize); 4] = [
    // `check_invariants`, which checks a backup.
    ("crates/engine/src/invariants.rs", 59),
    // A slab that tests declare full, and a vector that was made with as many values as its array has.
    ("crates/slots/src/slab.rs", 2),
    // A part's thread that has ended also ends the threads that wait for it.
    ("crates/exchange/src/containment.rs", 1),
    ("crates/gateways/xml/src/worker.rs", 1),
];

/// The code of a file before its tests, which are at its end.
fn before_tests(text: &str) -> &str {
    text.split("\nmod tests {").next().unwrap_or_default()
}

fn in_code(root: &Path) -> Found {
    let mut found = Found::new();
    for (name, text) in rust_sources(root) {
        if NOT_LOOKED_AT.iter().any(|part| name.contains(part)) {
            continue;
        }
        let code = before_tests(&text);
        for (_, rest) in code.match_indices(BEGIN).map(|(at, begin)| code.split_at(at + begin.len())) {
            let (invariant, _) = rest.split_once('"').unwrap();
            *found.entry((name.clone(), invariant.to_owned())).or_default() += 1;
        }
    }
    found
}

/// The list. Each line has a file, the number of times that an invariant is in it, the text, and the reason why it
/// holds.
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

#[test]
fn whatever_ends_something_says_which_invariant_was_broken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeMap::new();
    for (name, text) in rust_sources(&root) {
        if NOT_LOOKED_AT.iter().any(|part| name.contains(part)) {
            continue;
        }
        let lines: Vec<&str> = before_tests(&text).lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let begin = ENDS.iter().filter_map(|word| line.find(word)).min();
            // Constants are checked when the program is compiled.
            let Some((before, _)) = begin.map(|begin| line.split_at(begin)) else { continue };
            let is_no_code = before.contains("//") || before.contains("const ") || before.contains("debug_");
            if !is_no_code && !lines[at..].iter().take(5).any(|line| line.contains(BEGIN)) {
                *found.entry(name.clone()).or_insert(0_usize) += 1;
            }
        }
    }
    let known: BTreeMap<String, usize> = WITHOUT.iter().map(|(file, times)| ((*file).to_owned(), *times)).collect();
    assert_eq!(found, known, "say \"invariant: …\", and why it holds in proof/invariants.tsv; or return an error");
}

/// An `expect` of another kind: its text says no invariant, and stands alone between its parentheses.
fn is_without_invariant(behind: &str) -> bool {
    let Some((said, rest)) = behind.trim_start().strip_prefix('"').and_then(|text| text.split_once('"')) else {
        return false;
    };
    !said.starts_with("invariant: ") && rest.trim_start_matches(',').trim_start().starts_with(')')
}

#[test]
fn every_expect_says_the_invariant_that_it_relies_on() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let is_ours = |name: &str| name.contains("/src/") && !NOT_LOOKED_AT.iter().any(|part| name.contains(part));
    let mut found = BTreeMap::new();
    for (name, text) in rust_sources(&root).into_iter().filter(|(name, _)| is_ours(name)) {
        let code = text.split("\n#[cfg(test)]\n").next().unwrap_or_default();
        let count = code.split(".expect(").skip(1).filter(|behind| is_without_invariant(behind)).count();
        if count > 0 {
            found.insert(name, count);
        }
    }
    let known: BTreeMap<String, usize> =
        EXPECTS_WITHOUT.iter().map(|(file, times)| ((*file).to_owned(), *times)).collect();
    assert_eq!(
        found, known,
        "say expect(\"invariant: …\"), and why it holds in proof/invariants.tsv; or return an error"
    );
    assert!(is_without_invariant("\"above zero\")") && is_without_invariant("\n    \"above zero\",\n)"));
    assert!(!is_without_invariant("\"invariant: it is open\")") && !is_without_invariant("\"<error/>\", &told)"));
}
