//! Packs the files of the page and the documents into the program. In gzip they take a third of the room, and browsers
//! get them in this form. A page includes its style sheets and its first script: its first paint waits for no other
//! file.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

/// The packed paths in the repository: files, and folders with everything in them. Of `docs` itself only the documents
/// are packed.
const PACKED: [&str; 8] = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "deploy/README.md",
    "docs",
    "docs/rules",
    "docs/pictures",
    "web/page",
];

/// The styles and scripts that pages include, by the hashes in a policy.
#[derive(Default)]
struct Inlined {
    styles: BTreeSet<String>,
    scripts: BTreeSet<String>,
}

fn main() -> io::Result<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let mut files = Vec::new();
    for path in PACKED {
        let from = project.join(path);
        println!("cargo::rerun-if-changed={}", from.display());
        gather(&from, path == "docs", &mut files)?;
    }
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    let (mut list, mut contents, mut inlined) = (String::from("&[\n"), Vec::new(), Inlined::default());
    for file in files {
        let begin = contents.len();
        // The archive has no time in it, so that the same files make the same program.
        let mut encoder = GzBuilder::new().write(&mut contents, Compression::best());
        let is_page = file.extension().is_some_and(|extension| extension == "html");
        encoder.write_all(&if is_page { inlined.page(&file)? } else { fs::read(&file)? })?;
        encoder.finish()?;
        let path = file.strip_prefix(&project).unwrap_or(&file);
        list += &format!("({path:?}, {begin}..{}),\n", contents.len());
    }
    let named = |hashes: &BTreeSet<String>| hashes.iter().cloned().collect::<Vec<String>>().join(" ");
    fs::write(out.join("styles.txt"), named(&inlined.styles))?;
    fs::write(out.join("scripts.txt"), named(&inlined.scripts))?;
    fs::write(out.join("packed.gz"), contents)?;
    fs::write(out.join("packed.rs"), list + "]\n")
}

/// Collects the files at a path, sorted; only the documents of a folder itself, if `documents_alone`.
fn gather(path: &Path, documents_alone: bool, into: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        into.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    entries.retain(|entry| !documents_alone || entry.extension().is_some_and(|extension| extension == "md"));
    entries.sort();
    entries.iter().try_for_each(|entry| gather(entry, documents_alone, into))
}

impl Inlined {
    /// Returns a page with the sheets and the classic scripts of its head in their places; consecutive sheets become
    /// one.
    fn page(&mut self, page: &Path) -> io::Result<Vec<u8>> {
        let read = |name: &str| fs::read_to_string(page.with_file_name(name));
        let (mut whole, mut sheets) = (String::new(), String::new());
        for line in fs::read_to_string(page)?.lines() {
            if let Some(name) = named(line, "<link rel=\"stylesheet\" href=\"", "\">") {
                sheets += &read(name)?;
                continue;
            }
            if !sheets.is_empty() {
                self.styles.insert(hash(&sheets));
                whole += &format!("<style>{}</style>\n", std::mem::take(&mut sheets));
            }
            if let Some(name) = named(line, "<script src=\"", "\"></script>") {
                let script = read(name)?;
                self.scripts.insert(hash(&script));
                whole += &format!("<script>{script}</script>\n");
            } else {
                whole += line;
                whole.push('\n');
            }
        }
        Ok(whole.into_bytes())
    }
}

/// Returns the file that a line names between these.
fn named<'a>(line: &'a str, before: &str, behind: &str) -> Option<&'a str> {
    line.trim().strip_prefix(before)?.strip_suffix(behind)
}

/// Returns the hash in the form of a policy.
fn hash(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}
