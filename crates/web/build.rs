//! Packs the files of the page and the documents, as the program carries them. In gzip they take a third of the room, and that is what
//! browsers are sent.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::{Compression, GzBuilder};

/// What is packed, by its path in the repository: files, and all that is in folders. Of `docs` itself the documents alone.
const PACKED: [&str; 7] =
    ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "deploy/README.md", "docs", "docs/pictures", "web/page"];

fn main() -> io::Result<()> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for path in PACKED {
        let from = project.join(path);
        println!("cargo::rerun-if-changed={}", from.display());
        gather(&from, path == "docs", &mut files)?;
    }
    let out = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    let (mut list, mut contents) = (String::from("&[\n"), Vec::new());
    for file in files {
        let begin = contents.len();
        // Without a time in it, so that the same files make the same program.
        let mut encoder = GzBuilder::new().write(&mut contents, Compression::best());
        encoder.write_all(&fs::read(&file)?)?;
        encoder.finish()?;
        let path = file.strip_prefix(&project).unwrap_or(&file);
        list += &format!("({path:?}, {begin}..{}),\n", contents.len());
    }
    fs::write(out.join("packed.gz"), contents)?;
    fs::write(out.join("packed.rs"), list + "]\n")
}

/// The files at a path, sorted; of a folder's own files only documents, if it says so.
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
