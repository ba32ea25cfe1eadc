//! How comments read. A doc comment opens with a noun or a verb: an opening like "What is told of an order." is
//! refused, and so is a comment line over 120 columns. What a crate is still allowed only shrinks.

use std::collections::BTreeMap;

use super::mutants::root;
use super::sums::rust_sources;

const COLUMNS_MAX: usize = 120;

/// Openings that make a fragment or a riddle of a sentence, and what to write in their place.
const REFUSED: [(&str, &[&str]); 6] = [
    ("name the thing: \"The maker's rate.\"", &["What", "Of", "As", "Which", "That", "Those", "These", "This", "Such"]),
    ("name the role: client, member, owner", &["Who", "Whoever", "Whose", "Whom", "Nobody", "Somebody", "Everybody"]),
    ("name the count: \"Orders that are open.\"", &["How", "None", "Nothing", "Something", "Anything", "More", "Less"]),
    (
        "begin with what acts",
        &["It", "They", "There", "Here", "So", "Also", "And", "But", "Or", "Not", "One of", "One that"],
    ),
    (
        "say the main clause first",
        &["Where", "When", "While", "If", "Because", "Since", "Until", "Unless", "By", "With", "Without"],
    ),
    ("say the main clause first", &["For", "In", "To", "On", "At", "From here"]),
];

/// Openings and long lines that a crate still has, most of them texts of `--help`. The list gets shorter, and no number
/// in it grows.
const ALLOWED: [(&str, usize, usize); 1] = [("pricetime", 31, 15)];

/// Openings that are refused, and long lines, of a crate.
#[derive(Default)]
struct Findings {
    openings: Vec<String>,
    long: Vec<String>,
}

/// The advice for a doc comment that opens like this, where it is refused.
fn advice(comment: &str) -> Option<&'static str> {
    let opens_with = |word: &str| {
        comment.strip_prefix(word).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
    };
    let (advice, _) = REFUSED.iter().find(|(_, words)| words.iter().any(|word| opens_with(word)))?;
    Some(advice)
}

/// The text of a doc comment's line.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.trim())
}

fn findings_in(name: &str, text: &str, findings: &mut Findings) {
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("//") && line.chars().count() > COLUMNS_MAX {
            findings.long.push(format!("{name}:{number}"));
        }
        let comment = doc_text(line);
        if let Some(advice) = comment.filter(|_| !goes_on).and_then(advice) {
            findings.openings.push(format!("{name}:{number}: {}: {advice}", line.trim()));
        }
        goes_on = comment.is_some();
    }
}

/// The crate of a source file: the folder above `src`, `tests` or `benches`.
fn crate_of(name: &str) -> &str {
    let folders: Vec<&str> = name.split('/').collect();
    let at = folders.iter().position(|folder| ["src", "tests", "benches", "examples"].contains(folder));
    folders[at.unwrap().saturating_sub(1)]
}

#[test]
fn comments_open_with_a_noun_or_a_verb_and_fit_their_line() {
    let mut crates: BTreeMap<String, Findings> = BTreeMap::new();
    for (name, text) in rust_sources(&root()) {
        findings_in(&name, &text, crates.entry(crate_of(&name).to_owned()).or_default());
    }
    assert!(crates.len() > 10, "{}", crates.len());
    let mut faults = Vec::new();
    for (name, findings) in crates {
        let (_, openings, long) = ALLOWED.into_iter().find(|(allowed, ..)| *allowed == name).unwrap_or_default();
        for (what, found, allowed) in
            [("openings", findings.openings, openings), ("lines over 120 columns", findings.long, long)]
        {
            if found.len() > allowed {
                faults.push(format!("{name}: {} {what}, {allowed} allowed:\n{}", found.len(), found.join("\n")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_fragment_and_a_long_line_are_found() {
    let mut findings = Findings::default();
    let long = format!("    // {}", "x".repeat(COLUMNS_MAX));
    let text = format!("/// What is told.\nfn a() {{}}\n/// Whatever is asked.\n/// Of it.\nfn b() {{}}\n{long}\n");
    findings_in("f.rs", &text, &mut findings);
    assert_eq!(findings.openings.len(), 1, "{:?}", findings.openings);
    assert_eq!(findings.long, ["f.rs:6"]);
}
