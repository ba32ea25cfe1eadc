//! Changes of records that are written already. They wait here, so that those near each other are written together. It
//! knows no file, and not what the bytes mean.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// Changes in one page of the system or in the next are written together: hardly more pages are written than have some.
const PAGE_BYTES: usize = 4096;

/// Of records of this size.
#[derive(Debug)]
pub(crate) struct Changes<const N: usize> {
    part_records: u64,
    /// By page, the older ones first.
    pages: BTreeMap<Page, Vec<Change>>,
    /// How many bytes they have.
    bytes: usize,
    /// They are written in the order of the file, and from its beginning again: behind these pages.
    written: Page,
}

/// Records that take a page: which part they are of, and which page of this part.
pub(crate) type Page = (u64, u64);

/// What a record gets, from one of its bytes on.
#[derive(Debug)]
pub(crate) struct Change {
    pub(crate) at: u64,
    pub(crate) from: usize,
    pub(crate) bytes: Box<[u8]>,
}

impl<const N: usize> Changes<N> {
    const PAGE_RECORDS: u64 = PAGE_BYTES.div_ceil(N) as u64;

    /// Of a table with so many records in a part.
    pub(crate) fn new(part_records: u64) -> Changes<N> {
        Changes { part_records, pages: BTreeMap::new(), bytes: 0, written: (0, 0) }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn add(&mut self, at: u64, from: usize, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.pages.entry(self.page(at)).or_default().push(Change { at, from, bytes: bytes.into() });
    }

    /// Changes these records of one part, of which `first` is the first one.
    pub(crate) fn apply(&self, first: u64, records: &mut [u8]) {
        let Some(last) = (first + (records.len() / N) as u64).checked_sub(1).filter(|_| self.bytes > 0) else { return };
        for Change { at, from, bytes } in self.of(&(self.page(first)..=self.page(last))) {
            if (first..=last).contains(at) {
                records[(at - first) as usize * N + from..][..bytes.len()].copy_from_slice(bytes);
            }
        }
    }

    /// The pages whose changes are to be written next: neighbours in one part, with so many bytes at most. None if
    /// nothing waits.
    pub(crate) fn next(&self, bytes: usize) -> Option<RangeInclusive<Page>> {
        let (first, _) = self.pages.range(self.written..).next().or_else(|| self.pages.iter().next())?;
        let pages = (bytes / PAGE_BYTES) as u64;
        let neighbours = (0..pages).zip(self.pages.range(first..));
        let is_next = |(away, (page, _)): &(u64, (&Page, &Vec<Change>))| **page == (first.0, first.1 + away);
        let (_, (last, _)) = neighbours.take_while(is_next).last()?;
        Some(*first..=*last)
    }

    /// The changes in these pages, the older ones of a record first.
    pub(crate) fn of(&self, pages: &RangeInclusive<Page>) -> impl Iterator<Item = &Change> {
        self.pages.range(pages.clone()).flat_map(|(_, changes)| changes)
    }

    /// The changes in these pages are written.
    pub(crate) fn forget(&mut self, pages: &RangeInclusive<Page>) {
        self.written = (pages.end().0, pages.end().1 + 1);
        while let Some((&page, _)) = self.pages.range(pages.clone()).next() {
            let changes = self.pages.remove(&page).unwrap_or_default();
            self.bytes -= changes.iter().map(|change| change.bytes.len()).sum::<usize>();
        }
    }

    /// Forgets changes of all records but these.
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
