//! One file of the simulated disk: its present bytes, its durable bytes, and the changes in between. This file does not
//! know names or planned faults.

use std::io;

use super::SECTOR_BYTES;
use super::power_cut::{PowerCut, SplitMix};

#[derive(Clone, Debug, Default)]
pub(super) struct FileState {
    /// The present bytes.
    pub bytes: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    SetLen(usize),
}

impl FileState {
    pub fn durable(bytes: Vec<u8>) -> FileState {
        FileState { durable: bytes.clone(), bytes, unsynced: Vec::new() }
    }

    pub fn read(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        let offset = offset as usize;
        let found = self.bytes.get(offset..offset.saturating_add(bytes.len()));
        bytes.copy_from_slice(found.ok_or(io::Error::from(io::ErrorKind::UnexpectedEof))?);
        Ok(())
    }

    pub fn write(&mut self, bytes: &[u8], offset: u64) {
        let change = Change::Write { offset: offset as usize, bytes: bytes.to_owned() };
        change.apply(&mut self.bytes);
        self.unsynced.push(change);
    }

    pub fn set_len(&mut self, length: usize) {
        if length != self.bytes.len() {
            let change = Change::SetLen(length);
            change.apply(&mut self.bytes);
            self.unsynced.push(change);
        }
    }

    pub fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            change.apply(&mut self.durable);
        }
    }

    /// Drops the unsynced changes: they will never be durable unless they are written again.
    pub fn forget_unsynced(&mut self) {
        self.unsynced.clear();
    }

    /// The bytes after a power cut.
    pub fn after_crash(&self, random: &mut SplitMix, how: PowerCut) -> Vec<u8> {
        let mut found = self.durable.clone();
        let pieces: Vec<Change> = self.unsynced.iter().flat_map(Change::pieces).collect();
        let reached = match how {
            PowerCut::LosesAll => 0,
            PowerCut::LosesNothing => return self.bytes.clone(),
            PowerCut::Tears => random.below(pieces.len() + 1),
            PowerCut::Reorders => pieces.len(),
        };
        for piece in &pieces[..reached] {
            if how == PowerCut::Tears || random.below(2) == 0 {
                piece.apply(&mut found);
            }
        }
        found
    }
}

impl Change {
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Change::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if file.len() < end {
                    file.resize(end, 0);
                }
                file[*offset..end].copy_from_slice(bytes);
            }
            Change::SetLen(length) => file.resize(*length, 0),
        }
    }

    /// The parts that reach the disk whole or not at all.
    fn pieces(&self) -> Vec<Change> {
        match self {
            Change::SetLen(length) => vec![Change::SetLen(*length)],
            Change::Write { offset, bytes } => {
                let mut pieces = Vec::new();
                let mut start = 0;
                while start < bytes.len() {
                    let to_boundary = SECTOR_BYTES - (offset + start) % SECTOR_BYTES;
                    let end = bytes.len().min(start + to_boundary);
                    pieces.push(Change::Write { offset: offset + start, bytes: bytes[start..end].to_vec() });
                    start = end;
                }
                pieces
            }
        }
    }
}
