//! Reads one segment in large chunks, one batch at a time, and judges the bytes behind its last whole batch. This file
//! does not know the other segments.

use crate::JournalError;
use crate::batch::{ALIGN_BYTES, BATCH_HEADER_BYTES, BatchHeader, PlaceContent, checksum_of, has_magic, read_header};
use crate::segment::{HEADER_BYTES, RULES_VERSION, SegmentHeader, is_known_format, is_unreleased};
use crate::storage::{File, Storage};
use terms::Sequence;

const CHUNK_BYTES: usize = 1 << 20;

/// An open segment with a valid header of known versions.
#[derive(Debug)]
pub(crate) struct SegmentReader<F> {
    pub name: String,
    pub header: SegmentHeader,
    pub file: F,
    window: Vec<u8>,
    window_start: u64,
}

/// The content of a place of a segment.
#[derive(Debug)]
pub(crate) enum Step<'a> {
    /// A batch whose checksum holds.
    Batch { header: BatchHeader, checksum: u64, payload: &'a [u8], batch_bytes: u64 },
    /// The end: zeros, or no more room in the file.
    End,
    /// Bytes that are no whole batch.
    Bad(&'static str),
}

/// The bytes behind the last whole batch of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tail {
    /// A whole batch further on, with its offset, which proves that everything before it was durable.
    pub whole_batch: Option<(u64, BatchHeader)>,
    /// The offset behind the last byte that is not zero; the tail's begin if there is none.
    pub written_end: u64,
}

impl<F: File> SegmentReader<F> {
    /// Opens a segment and checks its header, its length and its name.
    pub fn open<S: Storage<File = F>>(storage: &S, name: &str, first: Sequence) -> Result<Self, JournalError> {
        let failed = |source| JournalError::Io { action: format!("read {name}"), source };
        let damaged = |found: String| JournalError::Damaged { segment: name.to_owned(), offset: 0, first, found };
        let file = storage.open(name).map_err(failed)?;
        let file_bytes = file.len().map_err(failed)?;
        if file_bytes < HEADER_BYTES as u64 {
            return Err(damaged(format!("the file has {file_bytes} bytes, fewer than its header")));
        }
        let mut bytes = [0; HEADER_BYTES];
        file.read_exact_at(&mut bytes, 0).map_err(failed)?;
        if is_unreleased(&bytes) {
            return Err(JournalError::Unreleased { segment: name.to_owned() });
        }
        let header =
            SegmentHeader::from_bytes(&bytes).ok_or_else(|| damaged("the header fails its checksum".into()))?;
        if !is_known_format(header.format) {
            return Err(JournalError::UnknownFormat { segment: name.to_owned(), found: header.format });
        }
        if header.rules > RULES_VERSION {
            return Err(JournalError::UnknownRules { segment: name.to_owned(), found: header.rules });
        }
        if header.first != first {
            return Err(damaged(format!("its name and its header, which begins at {}, disagree", header.first)));
        }
        if file_bytes < header.file_bytes {
            return Err(JournalError::Damaged {
                segment: name.to_owned(),
                offset: file_bytes,
                first,
                found: format!("the file was made {} bytes long and ends here", header.file_bytes),
            });
        }
        Ok(SegmentReader { name: name.to_owned(), header, file, window: Vec::new(), window_start: 0 })
    }

    /// The content at `offset`.
    pub fn step(&mut self, offset: u64) -> Result<Step<'_>, JournalError> {
        let folder = self.header.folder;
        let header = match self.bytes_at(offset, BATCH_HEADER_BYTES)? {
            None => return Ok(Step::End),
            Some(bytes) => match read_header(bytes) {
                PlaceContent::Header(header) => header,
                PlaceContent::Nothing => return Ok(Step::End),
                PlaceContent::Bad(why) => return Ok(Step::Bad(why)),
            },
        };
        let batch_bytes = header.batch_bytes();
        let Some(batch) = self.bytes_at(offset, batch_bytes)? else {
            return Ok(Step::Bad("a batch that reaches past the file's end"));
        };
        let Some(checksum) = checksum_of(batch, folder) else {
            return Ok(Step::Bad("a batch that fails its checksum"));
        };
        let payload = &batch[BATCH_HEADER_BYTES..BATCH_HEADER_BYTES + header.payload_bytes as usize];
        Ok(Step::Batch { header, checksum, payload, batch_bytes: batch_bytes as u64 })
    }

    /// Searches everything from `from` on.
    pub fn tail(&mut self, from: u64) -> Result<Tail, JournalError> {
        let mut tail = Tail { whole_batch: None, written_end: from };
        let mut offset = from;
        while offset < self.header.file_bytes {
            let length = CHUNK_BYTES.min((self.header.file_bytes - offset) as usize);
            let chunk = self.bytes_at(offset, length)?.unwrap_or_default();
            if let Some(last) = last_nonzero(chunk) {
                tail.written_end = offset + last as u64 + 1;
            }
            // Chunks overlap by a header less one step, so that every place is looked at whole.
            let places = (length + ALIGN_BYTES).saturating_sub(BATCH_HEADER_BYTES);
            let candidates: Vec<u64> = (0..places)
                .step_by(ALIGN_BYTES)
                .filter(|&place| has_magic(&chunk[place..]))
                .map(|place| offset + place as u64)
                .collect();
            for candidate in candidates {
                if tail.whole_batch.is_none()
                    && let Step::Batch { header, .. } = self.step(candidate)?
                    && !header.behind_unsynced
                {
                    tail.whole_batch = Some((candidate, header));
                }
            }
            if places == 0 || offset + length as u64 == self.header.file_bytes {
                break;
            }
            offset += places.next_multiple_of(ALIGN_BYTES) as u64;
        }
        Ok(tail)
    }

    /// Drops the bytes read so far, so that the next step reads the file again.
    pub fn forget_read(&mut self) {
        self.window.clear();
    }

    /// The bytes from `offset` on, read in chunks; none if the segment ends before.
    pub fn bytes_at(&mut self, offset: u64, count: usize) -> Result<Option<&[u8]>, JournalError> {
        let file_end = self.header.file_bytes;
        if offset.saturating_add(count as u64) > file_end {
            return Ok(None);
        }
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || offset + count as u64 > window_end {
            let bytes = (file_end - offset).min(count.max(CHUNK_BYTES) as u64);
            self.window.resize(bytes as usize, 0);
            self.window_start = offset;
            if let Err(source) = self.file.read_exact_at(&mut self.window, offset) {
                self.window.clear();
                return Err(JournalError::Io { action: format!("read {}", self.name), source });
            }
        }
        let start = (offset - self.window_start) as usize;
        Ok(Some(&self.window[start..start + count]))
    }
}

fn last_nonzero(bytes: &[u8]) -> Option<usize> {
    const STRIDE: usize = 256;
    let mut end = bytes.len();
    while end >= STRIDE && bytes[end - STRIDE..end] == [0; STRIDE] {
        end -= STRIDE;
    }
    bytes[..end].iter().rposition(|&byte| byte != 0)
}
