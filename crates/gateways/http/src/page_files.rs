//! The files of the page and the documents, as the build packed them into the program (`build.rs`): each in gzip.

use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::sync::LazyLock;

use flate2::read::GzDecoder;

static CONTENTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/packed.gz"));
/// The place of each file in the contents.
static PLACES: &[(&str, Range<usize>)] = include!(concat!(env!("OUT_DIR"), "/packed.rs"));

static FILES: LazyLock<HashMap<&str, Packed>> =
    LazyLock::new(|| PLACES.iter().map(|(path, place)| (*path, Packed(&CONTENTS[place.clone()]))).collect());

/// A file, packed.
#[derive(Clone, Copy)]
pub(crate) struct Packed(&'static [u8]);

impl Packed {
    /// Finds a file by its path in the repository.
    pub fn find(path: &str) -> Option<Packed> {
        FILES.get(path).copied()
    }

    /// Finds a file of the page by its path in it.
    pub fn of_page(path: &str) -> Option<Packed> {
        Packed::find(&format!("web/page/{path}"))
    }

    pub fn gzip(self) -> &'static [u8] {
        self.0
    }

    pub fn plain(self) -> Vec<u8> {
        let mut plain = Vec::new();
        GzDecoder::new(self.0).read_to_end(&mut plain).expect("invariant: what the build packed can be unpacked");
        plain
    }

    /// Returns the CRC-32 of the plain contents: gzip has it in front of their length, at its end.
    pub fn checksum(self) -> u32 {
        let [.., a, b, c, d, _, _, _, _] = *self.0 else {
            unreachable!("invariant: gzip ends with a checksum and a length");
        };
        u32::from_le_bytes([a, b, c, d])
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_packed_file_is_what_it_was_and_has_its_checksum() {
        assert!(PLACES.len() > 100);
        for (path, _) in PLACES {
            let packed = Packed::find(path).expect("it is there");
            assert!(path.ends_with(".html") || packed.plain() == file(path), "{path}");
            assert_eq!(packed.checksum(), crc32fast::hash(&packed.plain()), "{path}");
        }
    }

    #[test]
    fn a_page_has_its_sheets_in_their_order_and_its_first_script_in_it() {
        let text = |path: &str| String::from_utf8(file(path)).expect("it is text");
        let whole = String::from_utf8(Packed::of_page("index.html").expect("it is there").plain()).expect("it is text");
        assert!(!whole.contains("rel=\"stylesheet\"") && !whole.contains("<script src="));
        assert!(whole.contains(&format!("<script>{}</script>", text("web/page/early.js"))));
        let page = text("web/page/index.html");
        let names = page.lines().filter_map(|line| line.trim().strip_prefix("<link rel=\"stylesheet\" href=\""));
        let sheets = names.map(|name| text(&format!("web/page/{}", name.trim_end_matches("\">")))).collect::<String>();
        assert!(sheets.len() > 10_000 && whole.contains(&format!("<style>{sheets}</style>")));
    }

    fn file(path: &str) -> Vec<u8> {
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(path)).expect("it can be read")
    }
}
