//! Reads a journal that is being written: batches appended between two reads never count as damage.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::common::{append, recover};
use journal::simulated::{SimulatedDisk, SimulatedFile};
use journal::{Disk, Durability, File, Journal, JournalPoint, Options, Storage, read};
use terms::Time;

/// A disk on which a writer appends at one chosen read, before or after the bytes are taken.
#[derive(Clone)]
struct Meddled {
    disk: SimulatedDisk,
    journal: Arc<Mutex<Journal<SimulatedDisk>>>,
    reads_left: Arc<AtomicU64>,
    batches: u32,
}

impl Meddled {
    fn meddle(&self) {
        if self.reads_left.fetch_sub(1, Ordering::Relaxed) == 0 {
            let mut journal = self.journal.lock().unwrap();
            for _ in 0..self.batches {
                append(&mut *journal, 5, 9).unwrap();
                journal.mark().unwrap();
            }
        }
    }
}

#[derive(Debug)]
struct MeddledFile(SimulatedFile, Meddling);

struct Meddling(Meddled);

impl std::fmt::Debug for Meddling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Meddling")
    }
}

impl Storage for Meddled {
    type File = MeddledFile;
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn create(&self, _: &str) -> io::Result<MeddledFile> {
        unreachable!("reading creates nothing")
    }
    fn open(&self, name: &str) -> io::Result<MeddledFile> {
        Ok(MeddledFile(self.disk.open(name)?, Meddling(self.clone())))
    }
    fn folder(&self, _: &str) -> io::Result<Meddled> {
        unreachable!("the journal is in one folder")
    }
    fn rename(&self, _: &str, _: &str) -> io::Result<()> {
        unreachable!("reading renames nothing")
    }
    fn remove(&self, _: &str) -> io::Result<()> {
        unreachable!("reading removes nothing")
    }
    fn sync_directory(&self) -> io::Result<()> {
        unreachable!("reading syncs nothing")
    }
    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }
    fn displaced(&self) -> Option<String> {
        self.disk.displaced()
    }
}

impl File for MeddledFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        // The first half of the bytes is read before the writer appends, the rest after.
        let (before, after) = bytes.split_at_mut(bytes.len() / 2);
        self.0.read_exact_at(before, offset)?;
        self.1.0.meddle();
        self.0.read_exact_at(after, offset + before.len() as u64)
    }
    fn write_all_at(&self, _: &[u8], _: u64) -> io::Result<()> {
        unreachable!("reading writes nothing")
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, _: u64) -> io::Result<()> {
        unreachable!("reading cuts nothing")
    }
    fn allocate(&self, _: u64) -> io::Result<()> {
        unreachable!("reading allocates nothing")
    }
    fn sync(&self) -> io::Result<()> {
        unreachable!("reading syncs nothing")
    }
}

#[test]
fn what_is_appended_during_any_read_is_no_damage() {
    for before in 0..9 {
        for reads in 0..8 {
            for batches in [1, 2, 12] {
                let disk = SimulatedDisk::new();
                let (mut journal, ..) = recover(&disk).unwrap();
                (0..before).for_each(|time| append(&mut journal, time.min(5), 6).unwrap());
                let end = journal.point();
                let meddled = Meddled {
                    disk,
                    journal: Arc::new(Mutex::new(journal)),
                    reads_left: Arc::new(AtomicU64::new(reads)),
                    batches,
                };
                let found = read(&meddled, JournalPoint::ZERO, None, &mut |_| Ok(()));
                let found = found.unwrap_or_else(|error| panic!("{before} {reads} {batches}: {error}"));
                assert!(found.point.sequence >= end.sequence);
            }
        }
    }
}

#[test]
fn a_journal_can_be_read_while_another_thread_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::open(folder.path()).unwrap();
    let options = Options { segment_bytes: 64 << 10, durability: Durability::Written };
    let (mut journal, _) =
        Journal::recover(disk.clone(), options, JournalPoint::ZERO, Time::ZERO, &mut |_| Ok(())).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for batch in 0..2000 {
                append(&mut journal, batch, 1 + batch as u32 % 20).unwrap();
                if batch.is_multiple_of(7) {
                    journal.mark().unwrap();
                }
            }
            done.store(true, Ordering::Release);
        });
        let mut from = JournalPoint::ZERO;
        while !done.load(Ordering::Acquire) {
            from = read(&disk, from, None, &mut |_| Ok(())).unwrap().point;
            let all = read(&disk, JournalPoint::ZERO, None, &mut |_| Ok(())).unwrap();
            assert!(all.point.sequence >= from.sequence);
        }
    });
    assert_eq!(read(&disk, JournalPoint::ZERO, None, &mut |_| Ok(())).unwrap().point, journal.point());
}
