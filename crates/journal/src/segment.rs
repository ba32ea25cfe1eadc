//! Segment files: their names and headers. This file does not know what stands in them. Source: docs/JOURNAL.md,
//! segments.

use terms::{Sequence, Time};
use xxhash_rust::xxh3::xxh3_64;

/// The version of the layout of segments and snapshots that this program writes. It reads all versions from 1 on, which
/// began with release 0.1.0. A new command or state item raises it, so that a program that does not know them refuses
/// the file by its version.
pub const FORMAT_VERSION: u32 = 1;
/// The version of the rules: what a command does to a state. The same commands on the same state give the same state
/// and the same events under one version. Any change of this raises it, and CONTRIBUTING.md says how. A journal of
/// earlier rules is not replayed: the market goes on from a snapshot at its end.
pub const RULES_VERSION: u32 = 1;

/// The length of a segment's header.
pub const HEADER_BYTES: usize = 64;
const MAGIC: &[u8; 4] = b"PTJS";
/// The magic bytes of segments and snapshots of builds before release 0.1.0, whose formats no release reads.
const UNRELEASED_MAGIC: [&[u8; 4]; 2] = [b"PTSG", b"PTSN"];
const NAME_PREFIX: &str = "journal-";
const NAME_SUFFIX: &str = ".log";
const NAME_DIGITS: usize = 20;

/// Whether this program reads a layout.
pub(crate) fn is_known_format(format: u32) -> bool {
    (1..=FORMAT_VERSION).contains(&format)
}

/// Whether a header is that of a file from before release 0.1.0, be it sound or damaged.
pub(crate) fn is_unreleased(header: &[u8]) -> bool {
    UNRELEASED_MAGIC.into_iter().any(|magic| &header[8..12] == magic)
}

/// The header of a segment. It is written and synced before the first batch, and never changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SegmentHeader {
    /// The layout of the file.
    pub format: u32,
    /// The matching rules of its commands.
    pub rules: u32,
    /// The random number that the data folder got when it was made: it seeds the checksums of all batches.
    pub folder: u64,
    /// The sequence of the segment's first command.
    pub first: Sequence,
    /// The chain's checksum before that command.
    pub chain: u64,
    /// The length with which the file was made.
    pub file_bytes: u64,
    /// The time of the last command before the segment.
    pub time: Time,
}

impl SegmentHeader {
    pub fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[8..12].copy_from_slice(MAGIC);
        bytes[12..16].copy_from_slice(&self.format.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.rules.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.folder.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.first.0.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.chain.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.file_bytes.to_le_bytes());
        bytes[56..64].copy_from_slice(&self.time.0.to_le_bytes());
        let checksum = xxh3_64(&bytes[8..]);
        bytes[..8].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads a header; none unless the checksum holds. It does not check the versions: the caller names an unknown one.
    pub fn from_bytes(bytes: &[u8; HEADER_BYTES]) -> Option<SegmentHeader> {
        (u64_at(bytes, 0) == xxh3_64(&bytes[8..]) && &bytes[8..12] == MAGIC).then(|| SegmentHeader {
            format: u32_at(bytes, 12),
            rules: u32_at(bytes, 16),
            folder: u64_at(bytes, 24),
            first: Sequence(u64_at(bytes, 32)),
            chain: u64_at(bytes, 40),
            file_bytes: u64_at(bytes, 48),
            time: Time(u64_at(bytes, 56)),
        })
    }
}

/// The name of the segment whose first command is `first`.
pub(crate) fn segment_name(first: Sequence) -> String {
    numbered_name(NAME_PREFIX, first, NAME_SUFFIX)
}

/// The segments among the folder's files, oldest first.
pub(crate) fn segments_among(names: Vec<String>) -> Vec<(Sequence, String)> {
    numbered_among(names, NAME_PREFIX, NAME_SUFFIX)
}

/// Whether a file of this name is a segment.
pub fn is_segment(name: &str) -> bool {
    !segments_among(vec![name.to_owned()]).is_empty()
}

pub(crate) fn numbered_name(prefix: &str, sequence: Sequence, suffix: &str) -> String {
    format!("{prefix}{:0NAME_DIGITS$}{suffix}", sequence.0)
}

/// The files named `prefix`, twenty digits, `suffix`, by number.
pub(crate) fn numbered_among(names: Vec<String>, prefix: &str, suffix: &str) -> Vec<(Sequence, String)> {
    let number = |name: &str| {
        let digits = name.strip_prefix(prefix)?.strip_suffix(suffix)?;
        let plain = digits.len() == NAME_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse().ok().map(Sequence) } else { None }
    };
    let mut found: Vec<_> = names.into_iter().filter_map(|name| Some((number(&name)?, name))).collect();
    found.sort();
    found
}

/// Reads a little-endian integer. The caller has checked that the bytes are there.
pub(crate) fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("invariant: eight bytes were sliced"))
}

/// Reads a little-endian integer. The caller has checked that the bytes are there.
pub(crate) fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("invariant: four bytes were sliced"))
}
