//! The sums, differences and products of the crates that read clients' bytes, or keep, share and follow what they did:
//! `+`, `-`, `*` and `<<`, which panic when they overflow. `proof/additions.tsv` says how many each file has, and why
//! they cannot overflow whatever a client sends, and whatever stands in a file or in a message of the log.

use std::collections::BTreeMap;

use super::mutants::root;
use super::sums::rust_sources;

/// The crates that read what clients send, that decide, keep and share it, and that follow what came of it; and the
/// program with its tools.
const DOORS: [&str; 13] = [
    "crates/access/",
    "crates/exchange/",
    "crates/gateways/binance/",
    "crates/gateways/fix/",
    "crates/gateways/xml/",
    "crates/gateways/http/",
    "crates/feed/",
    "crates/history/",
    "crates/store/",
    "crates/market/",
    "crates/journal/",
    "crates/cluster/",
    "crates/pricetime/",
];
/// The parts of paths to code for tests alone: simulations, the simulated disk and the simulated log, tests, benches.
const FOR_TESTS: [&str; 4] = ["/simulation", "/simulated", "/tests", "/benches/"];
const OPERATORS: [&str; 8] = [" + ", " - ", " * ", " << ", " += ", " -= ", " *= ", " <<= "];

/// Code without its texts, its comments, and bounds of types (`+ Send`, `+ 'static`).
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let behind = &rest[next.len_utf8()..];
        let raw = rest.strip_prefix('r').map(|raw| (raw, raw.trim_start_matches('#'))).filter(|_| !ends_a_name(&code));
        rest = if rest.starts_with("//") {
            rest.find('\n').map_or("", |end| &rest[end..])
        } else if let Some((raw, begun)) = raw.filter(|(_, begun)| begun.starts_with('"')) {
            let end = format!("\"{}", "#".repeat(raw.len() - begun.len()));
            begun[1..].split_once(end.as_str()).map_or("", |(_, behind)| behind)
        } else if next == '"' {
            behind_escaped(behind, '"')
        } else if next == '\'' && is_character(behind) {
            behind_escaped(behind, '\'')
        } else {
            code.push(next);
            behind
        };
    }
    let is_bound = |rest: &str| {
        let word: String = rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '\'').collect();
        let is_type = word.starts_with(char::is_uppercase) && word.contains(char::is_lowercase);
        // A sum may begin with a type, too: `+ Duration::from_secs(1)`.
        word.starts_with('\'') || is_type && !rest[word.len()..].starts_with("::")
    };
    let mut parts = code.split(" + ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |code, rest| code + if is_bound(rest) { " " } else { " + " } + rest)
}

fn ends_a_name(code: &str) -> bool {
    code.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
}

/// Whether a quote begins a character, and no lifetime.
fn is_character(behind: &str) -> bool {
    behind.starts_with('\\') || behind.chars().nth(1) == Some('\'')
}

/// The code behind a text or a character that ends with this quote.
fn behind_escaped(text: &str, quote: char) -> &str {
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            _ if letter == quote => return &text[at + 1..],
            _ => {}
        }
    }
    ""
}

fn operators_in(text: &str) -> usize {
    let code = code_of(text.split("\nmod tests {").next().unwrap_or_default());
    let is_constant = |line: &&str| line.split('=').next().is_some_and(|name| name.contains("const "));
    let lines = code.lines().filter(|line| !is_constant(line));
    lines.map(|line| OPERATORS.iter().map(|operator| line.matches(operator).count()).sum::<usize>()).sum()
}

#[test]
fn every_unchecked_addition_where_clients_come_in_is_listed_with_why_it_has_room() {
    let root = root();
    let text = std::fs::read_to_string(root.join("proof/additions.tsv")).unwrap();
    let mut listed = BTreeMap::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let [file, times, why] = cells[..] else { panic!("three cells: {line}") };
        assert!(why.len() > 10, "say why they have room: {line}");
        assert_eq!(listed.insert(file.to_owned(), times.parse::<usize>().unwrap()), None, "{file} stands there twice");
    }
    let is_door = |name: &str| {
        DOORS.iter().any(|door| name.starts_with(door)) && !FOR_TESTS.iter().any(|part| name.contains(part))
    };
    let sources = rust_sources(&root).into_iter().filter(|(name, _)| is_door(name));
    let counted = sources.map(|(name, text)| (name, operators_in(&text))).filter(|(_, times)| *times > 0);
    let counted: BTreeMap<String, usize> = counted.collect();
    assert!(counted.len() > 220, "{}", counted.len());
    let changed: Vec<_> = counted.iter().filter(|(file, times)| listed.get(*file) != Some(times)).collect();
    assert!(
        changed.is_empty(),
        "think of a client, a file or a message that makes it overflow, and say in proof/additions.tsv (file, how many, why they have room): {changed:#?}"
    );
    let gone: Vec<_> = listed.keys().filter(|file| !counted.contains_key(*file)).collect();
    assert!(gone.is_empty(), "these stand in proof/additions.tsv alone: {gone:#?}");
}

#[test]
fn operators_are_counted_in_code_alone() {
    assert_eq!(operators_in("a += b - 1; // c + d\n"), 2);
    assert_eq!(operators_in("fn f(g: impl Fn() + Send + 'static) -> usize { \"a - b\".len() * SIZE }\n"), 1);
    assert_eq!(operators_in("#[cfg(test)]\nfn f() {}\nfn g() { now() + Duration::from_secs(1) }\n"), 1);
    // Texts of several lines, as SQL has, and characters that are quotes.
    assert_eq!(operators_in("let sql = \"SELECT a + b\n  - c\";\nlet raw = r#\"a \"+\" b - c\"#; a - b"), 1);
    assert_eq!(operators_in("fn f<'a>(it: &'a str) { it.find('\"').map(|at| at + 1) + it.find('\\'') }"), 2);
    assert_eq!(
        operators_in("let sum = long\n    + longer;\nconst MAX: usize = 1 << 20;\n#[cfg(test)]\nmod tests { a + b }"),
        1
    );
}
