//! A table over a file in memory that counts.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;
use std::sync::atomic::AtomicU64;

use super::*;

/// A file in memory that counts.
#[derive(Clone, Debug, Default)]
struct Counting {
    bytes: Arc<Mutex<Vec<u8>>>,
    writes: Arc<AtomicU64>,
    unsynced: Arc<AtomicU64>,
    most: Arc<AtomicU64>,
    unreadable: Arc<AtomicBool>,
}

impl File for Counting {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        if self.unreadable.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let from = usize::try_from(offset).unwrap();
        let held = self.bytes.lock().unwrap();
        bytes.copy_from_slice(held.get(from..from + bytes.len()).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let len = bytes.len() as u64;
        let unsynced = self.unsynced.fetch_add(len, Ordering::Relaxed) + len;
        self.most.fetch_max(unsynced, Ordering::Relaxed);
        self.writes.fetch_add(1, Ordering::Relaxed);
        let (from, mut held) = (usize::try_from(offset).unwrap(), self.bytes.lock().unwrap());
        let end = held.len().max(from + bytes.len());
        held.resize(end, 0);
        held[from..][..bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().resize(usize::try_from(length).unwrap(), 0);
        Ok(())
    }

    fn allocate(&self, _length: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.unsynced.store(0, Ordering::Relaxed);
        Ok(())
    }
}

const KIND: Kind<16> =
    Kind { stem: "records", single: true, seed: 0, fields: &[], strip: |_, _, _| None, restore: |_, _| {} };

#[derive(Debug)]
struct OneFile(Counting);

impl Folder for OneFile {
    fn open(&self, _name: &str) -> io::Result<Box<dyn File>> {
        Ok(Box::new(self.0.clone()))
    }

    fn existing(&self, name: &str) -> io::Result<Box<dyn File>> {
        self.open(name)
    }

    fn read(&self, _name: &str) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn replace(&self, _name: &str, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _name: &str) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    fn set_aside(&self, name: &str) -> io::Result<(Arc<dyn Folder>, String)> {
        Ok((Arc::new(OneFile(self.0.clone())), name.to_owned()))
    }
}

#[test]
fn a_checkpoint_is_left_little_to_sync() {
    for waiting_max in [64 * 1024, 4 * SYNCED_AT_ONCE] {
        let file = Counting::default();
        let folder: Arc<dyn Folder> = Arc::new(OneFile(file.clone()));
        let sizes = Sizes { waiting_max: [0; 3], part_records: 1, block_records: 1 };
        let mut table = Table::open(&folder, &KIND, (1, 0, Reach::default()), &sizes, waiting_max).unwrap();
        for _ in 0..20 * SYNCED_AT_ONCE / 16 {
            table.append(&[7; 16]).unwrap();
        }
        let at_once = SYNCED_AT_ONCE.max(waiting_max / 2) as u64 + 64 * 1024;
        let most = file.most.load(Ordering::Relaxed);
        assert!((1..=at_once).contains(&most), "{most} bytes were left unsynced");
        table.sync().unwrap();
        assert_eq!((file.unsynced.load(Ordering::Relaxed), table.len()), (0, 20 * SYNCED_AT_ONCE as u64 / 16));
    }
}

/// Makes a table with this many records of zeros, all of them in the file, in parts of this size.
fn table_of(records: u64, part_records: u64, file: &Counting) -> Table<16> {
    const IN_PARTS: Kind<16> = Kind { single: false, ..KIND };
    let folder: Arc<dyn Folder> = Arc::new(OneFile(file.clone()));
    let sizes = Sizes { waiting_max: [0; 3], part_records, block_records: 1 };
    let mut table = Table::open(&folder, &IN_PARTS, (1, 0, Reach::default()), &sizes, 64 * 1024).unwrap();
    (0..records).for_each(|_| table.append(&[0; 16]).unwrap());
    table.sync().unwrap();
    table
}

/// A regression: each change was a write of its own, 280,000 of them for 300,000 orders that were canceled long after
/// they were placed.
#[test]
fn changes_of_old_records_are_written_together() {
    const RECORDS: u64 = 100_000;
    const CHANGES: u64 = 50_000;
    // The three orders: one after the other, far from each other, and two records many times.
    let orders: [fn(u64) -> u64; 3] =
        [|change| 7 + change, |change| change * 61_417 % RECORDS, |change| 90_000 * (change % 2)];
    for place in orders {
        let file = Counting::default();
        let mut table = table_of(RECORDS, RECORDS, &file);
        let mut expected = vec![[0; 16]; RECORDS as usize];
        let written = file.writes.load(Ordering::Relaxed);
        for change in 1..=CHANGES {
            let at = place(change);
            table.patch(at, 5, &change.to_le_bytes()).unwrap();
            expected[at as usize][5..13].copy_from_slice(&change.to_le_bytes());
            if change % 97 == 0 {
                let looked_at = change * 31 % RECORDS;
                for at in [at, looked_at] {
                    assert_eq!(table.read(at).unwrap(), expected[at as usize]);
                    assert_eq!(table.read_near(at, &mut Near::default()).unwrap(), expected[at as usize]);
                }
            }
        }
        table.sync().unwrap();
        let writes = file.writes.load(Ordering::Relaxed) - written;
        assert!((1..CHANGES / 20).contains(&writes), "{CHANGES} changes were {writes} writes");
        assert!(*file.bytes.lock().unwrap() == expected.as_flattened());
    }
}

#[test]
fn a_change_needs_nothing_of_records_that_cannot_be_read() {
    let file = Counting::default();
    let mut table = table_of(1000, 1000, &file);
    file.unreadable.store(true, Ordering::Relaxed);
    (0..1000).step_by(2).for_each(|at| table.patch(at, 3, &[7]).unwrap());
    table.sync().unwrap();
    let bytes = file.bytes.lock().unwrap();
    assert!((0..).zip(&*bytes).all(|(at, byte)| *byte == if at % 32 == 3 { 7 } else { 0 }));
}

#[test]
fn nothing_is_written_into_records_that_were_cut_off_or_are_sealed() {
    let file = Counting::default();
    let mut table = table_of(30, 10, &file);
    // All parts are in one file here.
    for at in [3, 7, 25] {
        table.patch(at, 0, &[1]).unwrap();
    }
    table.set_reach(Reach { sealed: 1, ..Reach::default() });
    table.cut(25);
    table.append(&[2; 16]).unwrap();
    table.sync().unwrap();
    let bytes = file.bytes.lock().unwrap();
    assert!(!bytes.contains(&1) && bytes[5 * 16..6 * 16] == [2; 16]);
}
