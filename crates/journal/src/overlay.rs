//! A file that is read and never changed: writes to it stay in memory. redb writes to a file as soon as it opens it,
//! and reading the archive must change nothing. This file does not know what it holds.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use crate::storage::File;

const PAGE_BYTES: u64 = 4096;

#[derive(Debug)]
pub(crate) struct Overlay<F> {
    file: F,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    length: u64,
    /// The number of the file's bytes that are not cut off.
    of_file: u64,
    /// The written pages, by number.
    written: BTreeMap<u64, Vec<u8>>,
}

impl<F: File> Overlay<F> {
    pub(crate) fn over(file: F) -> io::Result<Overlay<F>> {
        let length = file.len()?;
        Ok(Overlay { file, state: Mutex::new(State { length, of_file: length, written: BTreeMap::new() }) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A page of the file, with zeros beyond its end.
    fn page(&self, of_file: u64, number: u64) -> io::Result<Vec<u8>> {
        let mut page = vec![0; PAGE_BYTES as usize];
        let begins = number * PAGE_BYTES;
        let there = of_file.saturating_sub(begins).min(PAGE_BYTES) as usize;
        self.file.read_exact_at(&mut page[..there], begins)?;
        Ok(page)
    }
}

/// The pages of a range of bytes: for each its number, the offset in it, and its part of the range.
fn pages(offset: u64, length: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let inside = (at % PAGE_BYTES) as usize;
        let bytes = (length - done).min(PAGE_BYTES as usize - inside);
        let part = done..done + bytes;
        done += bytes;
        (bytes > 0).then_some((at / PAGE_BYTES, inside, part))
    })
}

impl<F: File> StorageBackend for Overlay<F> {
    fn len(&self) -> io::Result<u64> {
        Ok(self.state().length)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.state();
        if offset.saturating_add(out.len() as u64) > state.length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
        }
        for (number, inside, part) in pages(offset, out.len()) {
            let bytes = part.len();
            match state.written.get(&number) {
                Some(page) => out[part].copy_from_slice(&page[inside..][..bytes]),
                None => out[part].copy_from_slice(&self.page(state.of_file, number)?[inside..][..bytes]),
            }
        }
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.state();
        state.length = length;
        state.of_file = state.of_file.min(length);
        state.written.retain(|number, _| number * PAGE_BYTES < length);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.state();
        for (number, inside, part) in pages(offset, data.len()) {
            if !state.written.contains_key(&number) {
                let page = self.page(state.of_file, number)?;
                state.written.insert(number, page);
            }
            if let Some(page) = state.written.get_mut(&number) {
                page[inside..][..part.len()].copy_from_slice(&data[part]);
            }
        }
        state.length = state.length.max(offset + data.len() as u64);
        Ok(())
    }
}
