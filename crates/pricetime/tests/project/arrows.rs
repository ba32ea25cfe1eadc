//! The arrows between crates: the project's crates that each one depends on, outside of tests. docs/ARCHITECTURE.md
//! draws them.

use std::collections::{BTreeMap, BTreeSet};

use super::mutants::root;

/// Each crate and those that it depends on. A crate above another one needs no line for what that one depends on.
const ARROWS: [(&str, &[&str]); 21] = [
    ("terms", &[]),
    ("tls", &[]),
    ("slots", &["terms"]),
    ("engine", &["slots", "terms"]),
    ("exchange", &["terms"]),
    ("journal", &["terms"]),
    ("model", &["terms"]),
    ("scenarios", &["terms"]),
    ("access", &["exchange", "terms"]),
    ("history", &["exchange", "journal", "slots", "terms"]),
    ("feed", &["exchange", "history", "slots", "terms"]),
    ("xml", &["access", "exchange", "terms", "tls"]),
    ("fix", &["access", "exchange", "feed", "terms", "tls"]),
    ("http-gateway", &["access", "exchange", "feed", "terms", "tls"]),
    ("binance", &["access", "exchange", "feed", "http-gateway", "terms"]),
    ("market", &["engine", "exchange", "history", "journal", "terms"]),
    ("store", &["engine", "exchange", "market", "terms"]),
    ("cluster", &["engine", "exchange", "journal", "market", "terms"]),
    ("pricetime-bench", &["store", "tls"]),
    (
        "pricetime",
        &[
            "access",
            "binance",
            "cluster",
            "engine",
            "exchange",
            "feed",
            "fix",
            "history",
            "http-gateway",
            "journal",
            "market",
            "scenarios",
            "store",
            "terms",
            "tls",
            "xml",
        ],
    ),
    (
        "fuzz",
        &[
            "access",
            "binance",
            "cluster",
            "engine",
            "exchange",
            "feed",
            "fix",
            "history",
            "http-gateway",
            "journal",
            "market",
            "terms",
            "xml",
        ],
    ),
];

/// Crates below which no engine, ledger or running market stands.
const WITHOUT_A_MARKET: [&str; 9] =
    ["exchange", "journal", "history", "feed", "access", "xml", "fix", "http-gateway", "binance"];
const MARKETS: [&str; 4] = ["engine", "market", "store", "cluster"];

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// The names at the beginnings of a section's lines.
fn names(manifest: &str, section: &str) -> Vec<String> {
    let lines = manifest.lines().skip_while(|line| *line != section).skip(1).take_while(|line| !line.starts_with('['));
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap().to_owned();
    lines.filter(|line| line.starts_with(char::is_alphabetic)).map(name).collect()
}

/// The arrows that the manifests have.
fn manifests() -> Arrows {
    let folders = ["crates", "crates/gateways"].map(|folder| std::fs::read_dir(root().join(folder)).unwrap());
    let files = folders.into_iter().flatten().map(|entry| entry.unwrap().path().join("Cargo.toml"));
    let texts = files.filter(|file| file.is_file()).map(|file| std::fs::read_to_string(file).unwrap());
    let name = |text: &str| text.split("\nname = \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let texts: BTreeMap<String, String> = texts.map(|text| (name(&text), text)).collect();
    let own = |dependency: &String| texts.contains_key(dependency);
    texts
        .iter()
        .map(|(name, text)| (name.clone(), names(text, "[dependencies]").into_iter().filter(own).collect()))
        .collect()
}

/// The crates that one depends on, over however many others.
fn reached(arrows: &Arrows, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(name) = open.pop() {
        open.extend(arrows[&name].iter().filter(|next| reached.insert((*next).clone())).cloned());
    }
    reached
}

#[test]
fn each_crate_depends_on_those_that_the_table_says() {
    let table = ARROWS.map(|(name, below)| (name.to_owned(), below.iter().map(|name| (*name).to_owned()).collect()));
    assert_eq!(manifests(), Arrows::from(table), "say it here and in docs/ARCHITECTURE.md, if it has to be");
}

#[test]
fn no_gateway_and_no_reader_of_events_knows_an_engine() {
    let arrows = manifests();
    for name in WITHOUT_A_MARKET {
        let known = reached(&arrows, name);
        let markets: Vec<_> = MARKETS.into_iter().filter(|market| known.contains(*market)).collect();
        assert!(markets.is_empty(), "{name} depends on {markets:?}");
    }
    assert!(reached(&arrows, "pricetime").contains("engine"), "arrows are followed");
    assert_eq!(reached(&arrows, "terms"), BTreeSet::new(), "words stand for themselves");
}
