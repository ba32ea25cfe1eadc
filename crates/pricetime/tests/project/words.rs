//! Words of comments, documents and the page. A doc comment opens with a noun or a verb: the test refuses an opening
//! like "What is told of an order.", and a comment line over 120 columns. In documents and on the page it refuses
//! sentences that open as riddles, and in documents sentences of more than 40 words.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use super::mutants::root;

const COLUMNS_MAX: usize = 120;
const WORDS_MAX: usize = 40;

/// Openings that make a fragment or a riddle of a comment, and what to write in their place.
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

/// Openings that make a riddle of any sentence, also of one within a paragraph or on the page.
const RIDDLES: [&str; 13] = [
    "What",
    "Of",
    "Which",
    "Who",
    "Whoever",
    "Whose",
    "Whom",
    "Nobody",
    "Somebody",
    "Everybody",
    "How many",
    "How much",
    "One that",
];

/// Documents that still have riddles and long sentences, with the number of each. No number in it grows, and none is
/// added: the changes of versions before this test stay as they were written.
const ALLOWED: [(&str, usize, usize); 2] = [("CHANGELOG.md", 11, 9), ("docs/JOURNAL.md", 0, 2)];

/// Folders that hold no text of the project's own, besides hidden ones.
const FOREIGN: [&str; 3] = ["target", "node_modules", "vendor"];

/// The files below a folder with this extension, with their names from the root.
fn files(extension: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                if !name.starts_with('.') && !FOREIGN.contains(&name.as_str()) {
                    walk(&path, extension, found);
                }
            } else if kind.is_file() && path.extension().is_some_and(|own| own == extension) {
                found.push(path);
            }
        }
    }
    let root = root();
    let mut found = Vec::new();
    walk(&root, extension, &mut found);
    found.sort();
    let name = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    found.iter().map(|path| (name(path), read_to_string(path).unwrap())).collect()
}

fn opens_with(text: &str, words: &str) -> bool {
    text.strip_prefix(words).is_some_and(|rest| !rest.starts_with(|next: char| next.is_alphanumeric()))
}

/// The advice for a comment that opens like this, if the opening is refused.
fn advice(comment: &str) -> Option<&'static str> {
    let (advice, _) = REFUSED.iter().find(|(_, openings)| openings.iter().any(|words| opens_with(comment, words)))?;
    Some(advice)
}

fn is_riddle(sentence: &str) -> bool {
    RIDDLES.iter().any(|words| opens_with(sentence, words))
}

/// The text of a doc comment's line.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    Some(text.trim())
}

/// The faults of the comments of a Rust file.
fn faults_of_comments(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("//") && line.chars().count() > COLUMNS_MAX {
            faults.push(format!("{name}:{number}: more than {COLUMNS_MAX} columns"));
        }
        let comment = doc_text(line);
        if let Some(advice) = comment.filter(|_| !goes_on).and_then(advice) {
            faults.push(format!("{name}:{number}: {}: {advice}", line.trim()));
        }
        goes_on = comment.is_some();
    }
    faults
}

/// The openings of a script's first line and of its doc comments that are refused.
fn faults_of_script(name: &str, text: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        let comment = match line.strip_prefix("/**") {
            Some(comment) => Some(comment),
            None if goes_on => line.strip_prefix('*'),
            None if number == 1 => line.strip_prefix("//"),
            None => None,
        };
        goes_on = line == "/**";
        if let Some(advice) = comment.map(str::trim).and_then(advice) {
            faults.push(format!("{name}:{number}: {line}: {advice}"));
        }
    }
    faults
}

/// The paragraphs and list items of a document, each with the number of its first line. Headings, tables and blocks of
/// code are left out.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut found: Vec<(usize, String)> = Vec::new();
    let (mut in_block, mut goes_on) = (false, false);
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        in_block ^= line.starts_with("```");
        if in_block || line.is_empty() || line.starts_with(['#', '|', '<', '`', '!']) && !goes_on {
            goes_on = false;
            continue;
        }
        let item = line
            .strip_prefix("- ")
            .or_else(|| line.split_once(". ").and_then(|(mark, item)| mark.parse::<u32>().is_ok().then_some(item)))
            .map(without_number);
        match found.last_mut().filter(|_| goes_on && item.is_none()) {
            Some((_, paragraph)) => {
                paragraph.push(' ');
                paragraph.push_str(line);
            }
            None => found.push((number, item.unwrap_or_else(|| without_number(line)).to_owned())),
        }
        goes_on = true;
    }
    found
}

/// A paragraph without the number of its rule.
fn without_number(paragraph: &str) -> &str {
    let number = paragraph.strip_prefix("**").and_then(|rest| rest.split_once("** "));
    number.filter(|(number, _)| number.parse::<f64>().is_ok()).map_or(paragraph, |(_, rest)| rest)
}

/// The sentences of a paragraph: each ends with a mark before a blank and a capital or a mark that opens.
fn sentences(paragraph: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = paragraph;
    let mut from = 0;
    while let Some(blank) = rest[from..].find(' ').map(|blank| from + blank) {
        let ended = rest[..blank].trim_end_matches([')', '"', '*', '”']).ends_with(['.', '?', '!']);
        let next = &rest[blank + 1..];
        from = blank + 1;
        if ended && next.starts_with(|first: char| first.is_uppercase() || "`*[(\"“".contains(first)) {
            found.push(&rest[..blank]);
            (rest, from) = (&rest[blank + 1..], 0);
        }
    }
    found.push(rest);
    found
}

/// The sentences of a document that open as riddles, and those that are too long.
fn faults_of_document(name: &str, text: &str) -> (Vec<String>, Vec<String>) {
    let (mut riddles, mut long) = (Vec::new(), Vec::new());
    for (number, paragraph) in paragraphs(text) {
        for sentence in sentences(&paragraph) {
            if is_riddle(sentence) {
                riddles.push(format!("{name}:{number}: {sentence}"));
            }
            let words = sentence.split(' ').count();
            if words > WORDS_MAX {
                long.push(format!("{name}:{number}: {words} words: {sentence}"));
            }
        }
    }
    (riddles, long)
}

/// Texts of the page in this line that open as riddles: in quotation marks, or between tags.
fn riddles_of_page(line: &str) -> Vec<&str> {
    let begins = line.char_indices().filter(|(_, mark)| ['"', '\'', '`', '>'].contains(mark));
    let texts = begins.map(|(at, mark)| &line[at + mark.len_utf8()..]);
    texts
        .filter(|text| RIDDLES.iter().any(|words| text.strip_prefix(words).is_some_and(|rest| rest.starts_with(' '))))
        .collect()
}

#[test]
fn comments_open_with_a_noun_or_a_verb_and_fit_their_line() {
    let sources = files("rs");
    assert!(sources.len() > 700, "{}", sources.len());
    let mut faults: Vec<String> = sources.iter().flat_map(|(name, text)| faults_of_comments(name, text)).collect();
    let scripts = files("js").into_iter().filter(|(name, _)| name.starts_with("web/"));
    faults.extend(scripts.flat_map(|(name, text)| faults_of_script(&name, &text)));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn sentences_of_documents_open_with_what_acts_and_are_short() {
    let documents = files("md");
    assert!(documents.len() > 20, "{}", documents.len());
    let mut faults = Vec::new();
    for (name, text) in documents {
        let (riddles, long) = faults_of_document(&name, &text);
        let (_, riddles_allowed, long_allowed) =
            ALLOWED.into_iter().find(|(allowed, ..)| *allowed == name).unwrap_or_default();
        for (found, allowed) in [(riddles, riddles_allowed), (long, long_allowed)] {
            if found.len() > allowed {
                faults.push(format!("{name}: {}, {allowed} allowed:\n{}", found.len(), found.join("\n")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn texts_of_the_page_open_with_what_acts() {
    let mut faults = Vec::new();
    for (name, text) in files("js").into_iter().chain(files("html")) {
        for (number, line) in (1..).zip(text.lines()).filter(|_| name.starts_with("web/page/")) {
            faults.extend(riddles_of_page(line).iter().map(|text| format!("{name}:{number}: {text}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn fragments_riddles_and_long_lines_are_found() {
    let long = format!("    // {}", "x".repeat(COLUMNS_MAX));
    let text = format!("/// What is told.\nfn a() {{}}\n/// Whatever is asked.\n/// Of it.\nfn b() {{}}\n{long}\n");
    let faults = faults_of_comments("f.rs", &text);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].starts_with("f.rs:1: ") && faults[1].starts_with("f.rs:6: "), "{faults:?}");

    let script = "// Of orders.\n\n/** What it is. */\n/**\n * Whoever asks.\n * Of it.\n */\n// So it is.\n";
    let lines: Vec<String> = faults_of_script("s.js", script).iter().map(|fault| fault[..7].to_owned()).collect();
    assert_eq!(lines, ["s.js:1:", "s.js:3:", "s.js:5:"]);

    let long = format!("It is {}.", "very ".repeat(WORDS_MAX));
    let text = format!(
        "# What is a heading\n\nAn order (`a.b`) rests.\nOf it\nnothing is said.\n\n- **7.12** Whoever asks. {long}\n\n```\nWho\n```\n"
    );
    let (riddles, long) = faults_of_document("d.md", &text);
    assert_eq!(riddles, ["d.md:3: Of it nothing is said.", "d.md:7: Whoever asks."]);
    assert!(long[0].starts_with("d.md:7: ") && long.len() == 1, "{long:?}");

    assert_eq!(
        riddles_of_page("say(\"Nobody trades\", `Whatever ${a}`, 'Of it')"),
        ["Nobody trades\", `Whatever ${a}`, 'Of it')", "Of it')"]
    );
}
