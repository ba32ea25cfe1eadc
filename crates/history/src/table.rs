//! A file of records of one size, numbered from 0. What is appended waits in memory until there is enough to write, or while it
//! is likely to be changed: a change there costs no call of the system.

use std::io;

use journal::File;

use crate::error::HistoryError;
use crate::folder::Folder;

/// Bytes of one write. The system keeps a larger write in larger pieces of memory, and a change of a record then takes it
/// longer than the whole write did.
const WRITTEN_AT_ONCE: usize = 16 * 1024;

/// With so many bytes written the file is synced. Were all left to the checkpoint, a disk busy with hundreds of megabytes would
/// keep the journal waiting, and with it everybody's replies.
const SYNCED_AT_ONCE: usize = 1024 * 1024;

/// Bytes that are read at once for whoever reads many records near each other: a page of the system. More would cost those
/// whose records lie far apart.
const READ_AT_ONCE: usize = 4096;

/// Records as they were read, for others near them.
#[derive(Debug, Default)]
pub(crate) struct Near {
    first: u64,
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    name: &'static str,
    file: Box<dyn File>,
    /// Records in the file.
    written: u64,
    /// Those behind them.
    waiting: Vec<u8>,
    /// Bytes that wait at most; with so many, the older half is written.
    waiting_max: usize,
    /// Bytes written since the last sync.
    unsynced: usize,
    /// A write or a sync failed: what the file holds is not known, and a later sync that succeeds would say nothing.
    failed: bool,
}

impl<const N: usize> Table<N> {
    /// Of the first `len` records of a file; what lies behind them will be written again.
    pub(crate) fn open(
        folder: &dyn Folder,
        name: &'static str,
        len: u64,
        waiting_max: usize,
    ) -> Result<Table<N>, HistoryError> {
        let at = |source| HistoryError::Io { name: name.to_owned(), source };
        let file = folder.open(name).map_err(at)?;
        let bytes = file.len().map_err(at)?;
        if bytes < len * N as u64 {
            let fault = format!("it holds {bytes} bytes and should hold {}", len * N as u64);
            return Err(HistoryError::Damaged { name: name.to_owned(), fault });
        }
        Ok(Table { name, file, written: len, waiting: Vec::new(), waiting_max, unsynced: 0, failed: false })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn len(&self) -> u64 {
        self.written + (self.waiting.len() / N) as u64
    }

    pub(crate) fn append(&mut self, record: &[u8; N]) -> Result<(), HistoryError> {
        self.waiting.extend_from_slice(record);
        if self.waiting.len() >= self.waiting_max {
            self.write(self.waiting.len() / N / 2)?;
        }
        match self.unsynced >= SYNCED_AT_ONCE {
            true => self.sync_written(),
            false => Ok(()),
        }
    }

    pub(crate) fn read(&self, at: u64) -> Result<[u8; N], HistoryError> {
        if at >= self.len() {
            return Err(self.damaged(at));
        }
        let mut record = [0; N];
        match at.checked_sub(self.written) {
            Some(waiting) => record.copy_from_slice(&self.waiting[waiting as usize * N..][..N]),
            None => self.read_file(&mut record, at)?,
        }
        Ok(record)
    }

    /// As `read`, and with it some of the records around it. What is in `near` already is as it was when that was read.
    pub(crate) fn read_near(&self, at: u64, near: &mut Near) -> Result<[u8; N], HistoryError> {
        if at >= self.written {
            return self.read(at);
        }
        let held = near.first..near.first + (near.bytes.len() / N) as u64;
        if !held.contains(&at) {
            let together = (READ_AT_ONCE / N) as u64;
            near.first = at - at % together;
            let records = together.min(self.written - near.first) as usize;
            near.bytes.resize(records * N, 0);
            if self.read_file(&mut near.bytes, near.first).is_err() {
                near.bytes.clear();
                // Of those together it may be another one that cannot be read.
                return self.read(at);
            }
        }
        let mut record = [0; N];
        record.copy_from_slice(&near.bytes[(at - near.first) as usize * N..][..N]);
        Ok(record)
    }

    fn read_file(&self, bytes: &mut [u8], first: u64) -> Result<(), HistoryError> {
        self.file.read_exact_at(bytes, first * N as u64).map_err(|error| match error.kind() {
            // It was longer when it was opened.
            io::ErrorKind::UnexpectedEof => self.damaged(first),
            _ => self.error(error),
        })
    }

    /// That a record is not what was written.
    pub(crate) fn damaged(&self, at: u64) -> HistoryError {
        HistoryError::Record { name: self.name, record: at, byte: at.saturating_mul(N as u64) }
    }

    /// Changes the record that was appended last, which always waits.
    pub(crate) fn change_last(&mut self, change: impl FnOnce(u64, &mut [u8; N])) {
        let at = self.len().saturating_sub(1);
        let last = self.waiting.last_chunk_mut().expect("invariant: of what waits the older half is written at most");
        change(at, last);
    }

    /// Changes bytes of a record, from its byte `from` on.
    pub(crate) fn patch(&mut self, at: u64, from: usize, bytes: &[u8]) -> Result<(), HistoryError> {
        match at.checked_sub(self.written) {
            Some(waiting) => {
                self.waiting[waiting as usize * N + from..][..bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            None => {
                let position = at * N as u64 + from as u64;
                self.unsynced += bytes.len();
                self.change(|file| file.write_all_at(bytes, position))
            }
        }
    }

    /// Makes all of it durable.
    pub(crate) fn sync(&mut self) -> Result<(), HistoryError> {
        self.write(self.waiting.len() / N)?;
        self.sync_written()
    }

    fn sync_written(&mut self) -> Result<(), HistoryError> {
        self.unsynced = 0;
        self.change(|file| file.sync())
    }

    /// Writes the first of those that wait.
    fn write(&mut self, records: usize) -> Result<(), HistoryError> {
        let mut position = self.written * N as u64;
        let waiting = std::mem::take(&mut self.waiting);
        let written = waiting[..records * N].chunks(WRITTEN_AT_ONCE).try_for_each(|bytes| {
            self.change(|file| file.write_all_at(bytes, position))?;
            position += bytes.len() as u64;
            Ok(())
        });
        self.waiting = waiting;
        written?;
        self.unsynced += records * N;
        self.written += records as u64;
        self.waiting.drain(..records * N);
        Ok(())
    }

    /// Whether it can still be made durable.
    pub(crate) fn check(&self) -> Result<(), HistoryError> {
        if self.failed { Err(HistoryError::Failed { name: self.name }) } else { Ok(()) }
    }

    /// Has the file changed or synced, unless that failed before.
    fn change(&mut self, change: impl FnOnce(&dyn File) -> io::Result<()>) -> Result<(), HistoryError> {
        self.check()?;
        change(&*self.file).map_err(|error| {
            self.failed = true;
            self.error(error)
        })
    }

    fn error(&self, source: io::Error) -> HistoryError {
        HistoryError::Io { name: self.name.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// A file that only counts.
    #[derive(Clone, Debug, Default)]
    struct Counting {
        len: Arc<AtomicU64>,
        unsynced: Arc<AtomicU64>,
        most: Arc<AtomicU64>,
    }

    impl File for Counting {
        fn read_exact_at(&self, bytes: &mut [u8], _offset: u64) -> io::Result<()> {
            bytes.fill(0);
            Ok(())
        }

        fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
            let len = bytes.len() as u64;
            let unsynced = self.unsynced.fetch_add(len, Ordering::Relaxed) + len;
            self.most.fetch_max(unsynced, Ordering::Relaxed);
            self.len.fetch_max(offset + len, Ordering::Relaxed);
            Ok(())
        }

        fn len(&self) -> io::Result<u64> {
            Ok(self.len.load(Ordering::Relaxed))
        }

        fn set_len(&self, length: u64) -> io::Result<()> {
            self.len.store(length, Ordering::Relaxed);
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

    #[test]
    fn a_checkpoint_is_left_little_to_sync() {
        for waiting_max in [64 * 1024, 4 * SYNCED_AT_ONCE] {
            let file = Counting::default();
            let mut table = Table::<16> {
                name: "records",
                file: Box::new(file.clone()),
                written: 0,
                waiting: Vec::new(),
                waiting_max,
                unsynced: 0,
                failed: false,
            };
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
}
