//! A file of records of one size, numbered from 0. What is appended waits in memory until there is enough to write, or while it
//! is likely to be changed: a change there costs no call of the system.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::HistoryError;

/// Bytes of one write. The system keeps a larger write in larger pieces of memory, and a change of a record then takes it
/// longer than the whole write did.
const WRITTEN_AT_ONCE: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    path: PathBuf,
    file: File,
    /// Records in the file.
    written: u64,
    /// Those behind them.
    waiting: Vec<u8>,
    /// Bytes that wait at most; with so many, the older half is written.
    waiting_max: usize,
}

impl<const N: usize> Table<N> {
    /// Of the first `len` records of a file; what lies behind them will be written again.
    pub(super) fn open(path: PathBuf, len: u64, waiting_max: usize) -> Result<Table<N>, HistoryError> {
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(|source| HistoryError::Io { path: path.clone(), source })?;
        let bytes = file.metadata().map_err(|source| HistoryError::Io { path: path.clone(), source })?.len();
        if bytes < len * N as u64 {
            let fault = format!("it holds {bytes} bytes and should hold {}", len * N as u64);
            return Err(HistoryError::Damaged { path, fault });
        }
        Ok(Table { path, file, written: len, waiting: Vec::new(), waiting_max })
    }

    pub(super) fn len(&self) -> u64 {
        self.written + (self.waiting.len() / N) as u64
    }

    pub(super) fn append(&mut self, record: &[u8; N]) -> Result<(), HistoryError> {
        self.waiting.extend_from_slice(record);
        match self.waiting.len() >= self.waiting_max {
            true => self.write(self.waiting.len() / N / 2),
            false => Ok(()),
        }
    }

    pub(super) fn read(&self, at: u64) -> Result<[u8; N], HistoryError> {
        let mut record = [0; N];
        match at.checked_sub(self.written) {
            Some(waiting) => record.copy_from_slice(&self.waiting[waiting as usize * N..][..N]),
            None => self.file.read_exact_at(&mut record, at * N as u64).map_err(|error| self.error(error))?,
        }
        Ok(record)
    }

    /// Changes bytes of a record, from its byte `from` on.
    pub(super) fn patch(&mut self, at: u64, from: usize, bytes: &[u8]) -> Result<(), HistoryError> {
        match at.checked_sub(self.written) {
            Some(waiting) => {
                self.waiting[waiting as usize * N + from..][..bytes.len()].copy_from_slice(bytes);
                Ok(())
            }
            None => {
                let position = at * N as u64 + from as u64;
                self.file.write_all_at(bytes, position).map_err(|error| self.error(error))
            }
        }
    }

    /// Makes all of it durable.
    pub(super) fn sync(&mut self) -> Result<(), HistoryError> {
        self.write(self.waiting.len() / N)?;
        self.file.sync_data().map_err(|error| self.error(error))
    }

    /// Writes the first of those that wait.
    fn write(&mut self, records: usize) -> Result<(), HistoryError> {
        let mut position = self.written * N as u64;
        for bytes in self.waiting[..records * N].chunks(WRITTEN_AT_ONCE) {
            self.file.write_all_at(bytes, position).map_err(|error| self.error(error))?;
            position += bytes.len() as u64;
        }
        self.written += records as u64;
        self.waiting.drain(..records * N);
        Ok(())
    }

    fn error(&self, source: io::Error) -> HistoryError {
        HistoryError::Io { path: self.path.clone(), source }
    }
}
