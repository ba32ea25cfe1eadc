//! Every fenced block of every document is run by a test, or named below with the reason why it is not. In blocks that
//! are not run, the commands, their options and the files that they name are checked.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::deploy::BINARY;
use super::documents::{blocks, document};

/// Documents, the kinds of their blocks that are run, and the file that runs them.
const RUN: [(&str, &str, &str); 22] = [
    ("README.md", "console", "documents.rs"),
    ("docs/FIRST_SESSION.md", "console", "documents.rs"),
    ("docs/PROTOCOL.md", "xml request", "documents.rs"),
    ("docs/PROTOCOL.md", "xml request of members", "documents.rs"),
    ("docs/PROTOCOL.md", "xml reply", "documents.rs"),
    // All pages of the folder.
    ("docs/rules/", "xml request", "documents.rs"),
    ("docs/rules/", "xml request of members", "documents.rs"),
    ("docs/rules/", "xml reply", "documents.rs"),
    ("docs/RUNNING_A_CLASS.md", "sh", "chapters.rs"),
    ("docs/API.md", "sh", "chapters.rs"),
    ("docs/API.md", "json", "chapters.rs"),
    ("docs/BINANCE.md", "sh", "chapters.rs"),
    ("docs/BINANCE.md", "toml", "chapters.rs"),
    ("docs/BINANCE.md", "json", "chapters.rs"),
    ("docs/BINANCE.md", "python", "../strangers/clients.rs"),
    ("docs/FIRST_BOT.md", "sh", "chapters.rs"),
    ("docs/SECURITY.md", "sh", "chapters.rs"),
    ("docs/SECURITY.md", "toml", "chapters.rs"),
    ("docs/SETTINGS.md", "sh", "chapters.rs"),
    ("docs/SETTINGS.md", "calendar", "chapters.rs"),
    // The programs, each in its language.
    ("docs/FIRST_BOT.md", "python js go rust", "../strangers/first_bot.rs"),
    // Queries to the database alone, which begin with psql.
    ("docs/POSTGRES.md", "sh psql", "../../../store/tests/store/rows.rs"),
];

/// Documents, the beginnings of their blocks, and the reasons why no test runs these.
const NOT_RUN: [(&str, &str, &str); 27] = [
    ("README.md", "cargo run --release", "builds for minutes; the tests run the same program, built otherwise"),
    ("README.md", "cargo build --release && cargo run", "measures for minutes"),
    ("docs/COMMANDS.md", "cargo build --release && cargo run", "measures for minutes"),
    ("docs/BENCHMARKS.md", "pricetime-bench compare", "measures for minutes"),
    ("docs/BENCHMARKS.md", "cargo bench", "measures for minutes"),
    ("docs/BENCHMARKS.md", "pricetime=target/release", "measures for minutes"),
    ("docs/BENCHMARKS.md", "deploy/cluster/local --bench", "measures for minutes"),
    ("docs/BENCHMARKS.md", "pricetime demo --rate", "measures for minutes"),
    ("docs/BENCHMARKS.md", "pricetime-bench sweep", "measures for hours"),
    ("docs/METRICS.md", "prometheus", "is another program"),
    ("docs/FIX.md", "35=D", "is sent by --test fix"),
    ("docs/FIX.md", "[DEFAULT]", "settings of another program; clients/fix has them, and a test runs it"),
    ("docs/RUNNING_A_CLASS.md", "pricetime serve --data class --xml 0.0.0.0", "listens to a whole network"),
    ("deploy/README.md", "# /etc/systemd/system/pricetime.service.d", "root puts it where systemd looks for it"),
    ("docs/CLUSTER.md", "pip install", "fetches a program; deploy/cluster/local does the same, and a test runs it"),
    (
        "docs/CLUSTER.md",
        "server_name",
        "settings of another program; deploy/cluster/log.conf has them, and a test reads it",
    ),
    ("docs/CLUSTER.md", "pricetime cluster upgrade", "asks three machines; the tests of clusters run it"),
    ("docs/CLUSTER.md", "pricetime cluster key", "asks three machines; the tests of clusters run it"),
    ("docs/CLUSTER.md", "pricetime cluster recover", "asks three machines; the tests of clusters run it"),
    ("docs/POSTGRES.md", "pricetime serve --store", "names nobody's database; the tests of databases run it"),
    ("docs/POSTGRES.md", "pricetime-bench", "measures for minutes"),
    ("docs/POSTGRES.md", "begin isolation", "what the server does by itself"),
    ("docs/POSTGRES.md", "update pricetime.command_sequence", "what the server does by itself"),
    ("docs/POSTGRES.md", "postgres://", "an address"),
    ("deploy/README.md", "pricetime-bench run --target SERVER", "loads another machine"),
    ("deploy/README.md", "sysctl", "changes the machine"),
    ("web/README.md", "npm ci", "./test runs the checks, and `strangers` the browser's"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The project's documents, in the places where a reader would look for them.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    for folder in [".", "docs", "docs/rules", "deploy", "deploy/cluster", "web", "clients", "bench", "proof"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        let names = entries.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".md"));
        found.extend(names.map(|name| format!("{folder}/{name}").trim_start_matches("./").to_owned()));
    }
    found.sort();
    found
}

/// Whether a block is run.
fn is_run(name: &str, kind: &str, text: &str) -> bool {
    RUN.iter().any(|(document, kinds, _)| {
        (*document == name || document.ends_with('/') && name.starts_with(document))
            && match *kinds {
                "sh psql" => kind == "sh" && text.lines().all(|line| line.starts_with("psql ")),
                "python js go rust" => kinds.split(' ').any(|one| one == kind),
                one => kind == one,
            }
    })
}

#[test]
fn every_block_of_every_document_is_run_or_named_with_the_reason_why_not() {
    let mut used = BTreeSet::new();
    for name in documents() {
        for (kind, text) in blocks(&document(&name)) {
            let listed =
                NOT_RUN.iter().position(|(document, begins, _)| *document == name && text.trim().starts_with(begins));
            used.extend(listed);
            // Drawings, output and forms of messages, which nobody would enter.
            let is_shown = kind == "text";
            let first = text.lines().next().unwrap_or_default();
            assert!(
                is_shown || listed.is_some() || is_run(&name, &kind, &text),
                "{name} has a block `{kind}` that no test runs: {first:?}. Let one run it, or name it above with the reason"
            );
            let looks_entered = ["pricetime", "$ ", "curl ", "cargo ", "psql ", "echo ", "docker ", "npm ", "pip "];
            // Output of a server begins with its name.
            let is_entered = looks_entered.iter().any(|begins| first.starts_with(begins)) && !first.ends_with("0.1.0");
            assert!(!is_shown || !is_entered, "{name} calls a command text: {first:?}");
        }
    }
    let unused: Vec<_> = (0..NOT_RUN.len()).filter(|place| !used.contains(place)).map(|place| NOT_RUN[place]).collect();
    assert!(unused.is_empty(), "no block begins so any more: {unused:?}");
    for (document, _, test) in RUN {
        let file = root().join("crates/pricetime/tests/project").join(test);
        let text = std::fs::read_to_string(&file).unwrap();
        let short = document.trim_end_matches('/').rsplit('/').next().unwrap();
        assert!(text.contains(short), "{test} does not name {document}");
    }
}

/// The help of each command.
#[derive(Default)]
struct Helps(BTreeMap<String, Option<String>>);

impl Helps {
    /// The help of a command. None if there is no such command.
    fn of(&mut self, program: &str, words: &[&str]) -> Option<String> {
        let path = Path::new(BINARY).with_file_name(program);
        let asked = || Command::new(path).args(words).arg("--help").output().unwrap();
        let help = self.0.entry(format!("{program} {}", words.join(" "))).or_insert_with(|| {
            let told = asked();
            told.status.success().then(|| String::from_utf8(told.stdout).unwrap())
        });
        help.clone()
    }
}

#[test]
fn what_the_documents_enter_is_there() {
    crate::common::bench::binary();
    let mut helps = Helps::default();
    let mut looked_up = 0;
    for name in documents() {
        let commands =
            blocks(&document(&name)).into_iter().filter(|(kind, _)| kind.starts_with("sh") || kind == "console");
        let text: String = commands.map(|(_, text)| text.replace("\\\n", " ")).collect();
        for line in text.lines().flat_map(|line| line.split(['|', ';', '&'])) {
            let words: Vec<&str> =
                line.split_whitespace().map(|word| word.trim_matches(['"', '\'', '`', '(', ')'])).collect();
            for file in words.iter().filter(|word| word.starts_with("deploy/")) {
                assert!(root().join(file).exists(), "{name}: {file}");
            }
            if let [.., "-p", crate_name, "--bench", bench] =
                &words[..words.iter().position(|word| *word == "--").unwrap_or(words.len())]
            {
                let at = root().join(format!("crates/{crate_name}/benches/{bench}"));
                assert!(at.is_dir() || at.with_extension("rs").exists(), "{name}: {line}");
            }
            let Some(place) = words.iter().position(|word| ["pricetime", "pricetime-bench"].contains(word)) else {
                continue;
            };
            // Except if it is the name of a package.
            if place > 0 && words[place - 1] == "-p" || words.len() == place + 1 {
                continue;
            }
            let (program, words) = (words[place], &words[place + 1..]);
            let is_group = ["journal", "store", "cluster", "keys", "access", "tls"].contains(&words[0]);
            let help = helps.of(program, &words[..if is_group { 2 } else { 1 }]);
            let help = help.unwrap_or_else(|| panic!("{name}: no such command: {line}"));
            for option in words.iter().filter(|word| word.starts_with("--")) {
                let option = option.split('=').next().unwrap();
                let mut known = help.split(|letter: char| letter.is_whitespace() || "[]<>,=`".contains(letter));
                assert!(known.any(|word| word == option), "{name}: {option} in {line}");
                looked_up += 1;
            }
        }
    }
    assert!(looked_up > 40, "{looked_up}");
}
