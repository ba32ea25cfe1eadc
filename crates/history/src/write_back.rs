//! Changes of records that are already written. They wait here, so that neighbouring ones are written together. This
//! file knows no file, and not what the bytes mean.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The size of a page of the system. Changes in one page or in the next are written together, so that hardly more pages
/// are written than have changes.
const PAGE_BYTES: usize = 4096;

/// The waiting changes of records of this size.
#[derive(Debug)]
pub(crate) struct WriteBack<const N: usize> {
    part_records: u64,
    /// The changes by page, older ones first.
    pages: BTreeMap<Page, Vec<Change>>,
    /// The number of their bytes.
    bytes: usize,
    /// The page behind which writing goes on: in the order of the file, and from its beginning again.
    written: Page,
}

/// A page of records: the number of its part, and its number in the part.
pub(crate) type Page = (u64, u64);

/// The new bytes of a record, from one byte on.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) at: u64,
    pub(crate) from: usize,
    pub(crate) bytes: Box<[u8]>,
}

impl<const N: usize> WriteBack<N> {
    const PAGE_RECORDS: u64 = PAGE_BYTES.div_ceil(N) as u64;

    /// Makes an empty list for a table with this many records in a part.
    pub(crate) fn new(part_records: u64) -> WriteBack<N> {
        WriteBack { part_records, pages: BTreeMap::new(), bytes: 0, written: (0, 0) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn add(&mut self, at: u64, from: usize, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.pages.entry(self.page(at)).or_default().push(Change { at, from, bytes: bytes.into() });
    }

    /// Applies the changes to these records of one part, whose first is `first`.
    pub(crate) fn apply(&self, first: u64, records: &mut [u8]) {
        let Some(last) = (first + (records.len() / N) as u64).checked_sub(1).filter(|_| self.bytes > 0) else { return };
        for Change { at, from, bytes } in self.of(&(self.page(first)..=self.page(last))) {
            if (first..=last).contains(at) {
                records[(at - first) as usize * N + from..][..bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    /// The pages to write next: neighbours in one part, with at most this many bytes. None if no change waits.
    pub(crate) fn next(&self, bytes: usize) -> Option<RangeInclusive<Page>> {
        let (first, _) = self.pages.range(self.written..).next().or_else(|| self.pages.iter().next())?;
        let pages = (bytes / PAGE_BYTES) as u64;
        let neighbours = (0..pages).zip(self.pages.range(first..));
        let is_next = |(away, (page, _)): &(u64, (&Page, &Vec<Change>))| **page == (first.0, first.1 + away);
        let (_, (last, _)) = neighbours.take_while(is_next).last()?;
        Some(*first..=*last)
    }

    /// The changes in these pages, older ones of a record first.
    pub(crate) fn of(&self, pages: &RangeInclusive<Page>) -> impl Iterator<Item = &Change> {
        self.pages.range(pages.clone()).flat_map(|(_, changes)| changes)
    }

    /// Drops the changes in these pages, which are written.
    pub(crate) fn forget(&mut self, pages: &RangeInclusive<Page>) {
        self.written = (pages.end().0, pages.end().1 + 1);
        while let Some((&page, _)) = self.pages.range(pages.clone()).next() {
            let changes = self.pages.remove(&page).unwrap_or_default();
            self.bytes -= changes.iter().map(|change| change.bytes.len()).sum::<usize>();
        }
    }

    /// Drops the changes of all records but these.
    pub(crate) fn keep(&mut self, is_kept: impl Fn(u64) -> bool) {
        self.pages.retain(|_, changes| {
            changes.retain(|change| is_kept(change.at));
            !changes.is_empty()
        });
        self.bytes = self.pages.values().flatten().map(|change| change.bytes.len()).sum();
    }

    fn page(&self, at: u64) -> Page {
        (at / self.part_records, at % self.part_records / Self::PAGE_RECORDS)
    }
}
