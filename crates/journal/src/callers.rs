//! Callers of a batch's commands, beside the commands: a caller is written in full once in a segment, and as a number
//! from then on. This file does not know what callers are, and replays ignore them. Source: docs/JOURNAL.md, callers.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use crate::BatchView;
use crate::varint::{CodecError, put_u64, take_bytes, take_u8, take_u64};

/// A caller on a connection, in the words of the gateway. Each word keeps up to 255 bytes; an empty one is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    pub protocol: String,
    /// The number of the connection.
    pub session: u64,
    pub member: String,
    /// The key with which the member proved itself.
    pub key: String,
    pub address: String,
}

/// Consecutive commands of one caller; none for commands of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerRun<'a> {
    pub commands: u32,
    pub by: Option<&'a Caller>,
}

/// The most callers of a segment, give or take a batch; then all are written anew.
const KNOWN_MAX: usize = 1 << 16;

/// The flag in the section's first byte that makes earlier numbers invalid.
const ANEW: u8 = 1;

/// Makes the callers' sections of a segment's batches.
#[derive(Debug, Default)]
pub struct CallerWriter {
    /// The callers' numbers in the segment, by their numbers at the writer.
    known: HashMap<u64, u32, FixedState>,
    section: Vec<u8>,
}

impl CallerWriter {
    /// Begins the section of the next batch. `anew` says that it will stand in another segment than the one before.
    pub fn begin(&mut self, anew: bool) {
        if anew || self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.section.clear();
        self.section.push(if self.known.is_empty() { ANEW } else { 0 });
    }

    /// Adds the caller of the next commands. `caller` is called for a number that the segment does not know yet.
    pub fn add(&mut self, commands: u32, number: Option<u64>, caller: impl FnOnce() -> Caller) {
        let next = self.known.len() as u32 + 1;
        let known = number.map_or(0, |number| *self.known.entry(number).or_insert(next));
        put_u64(&mut self.section, u64::from(known));
        put_u64(&mut self.section, u64::from(commands));
        if known == next {
            let Caller { protocol, session, member, key, address } = caller();
            put_u64(&mut self.section, session);
            [protocol, member, key, address].iter().for_each(|word| put_word(&mut self.section, word));
        }
    }

    /// The section of the batch so far.
    pub fn section(&self) -> &[u8] {
        &self.section
    }
}

/// Reads the callers of commands, batch by batch, from the beginning of a segment on.
#[derive(Debug, Default)]
pub struct CallerReader {
    known: Vec<Caller>,
}

impl CallerReader {
    /// Passes the callers of the batch's commands to `visit`, in order; none for a batch without callers. Errors: no
    /// [`CallerWriter`] made the section, or the reading did not begin with the segment.
    pub fn read<'a>(&'a mut self, batch: &BatchView<'_>, visit: impl FnMut(CallerRun<'a>)) -> Result<(), CodecError> {
        match batch.callers {
            [] => Ok(()),
            section => self.read_section(section, batch.count, visit),
        }
    }

    /// Reads a section for this many commands.
    pub fn read_section<'a>(
        &'a mut self,
        section: &[u8],
        commands: u32,
        mut visit: impl FnMut(CallerRun<'a>),
    ) -> Result<(), CodecError> {
        let runs = self.learn(section)?;
        let count = runs.iter().try_fold(0u32, |count, (commands, _)| count.checked_add(*commands));
        if count != Some(commands) {
            return Err(CodecError::OutOfBounds("number of commands of callers"));
        }
        for (commands, known) in runs {
            visit(CallerRun { commands, by: known.checked_sub(1).and_then(|index| self.known.get(index)) });
        }
        Ok(())
    }

    /// Reads the runs of a section: numbers of commands and of callers. Callers that it introduces are known from then
    /// on.
    fn learn(&mut self, section: &[u8]) -> Result<Vec<(u32, usize)>, CodecError> {
        let mut rest = section;
        match take_u8(&mut rest)? {
            0 => {}
            ANEW => self.known.clear(),
            _ => return Err(CodecError::OutOfBounds("kind of callers")),
        }
        let mut runs = Vec::new();
        while !rest.is_empty() {
            let known = take_u64(&mut rest)? as usize;
            let commands = take_u64(&mut rest)?;
            let commands = u32::try_from(commands).map_err(|_| CodecError::OutOfBounds("commands of a caller"))?;
            if known == self.known.len() + 1 {
                self.known.push(take_caller(&mut rest)?);
            }
            if known > self.known.len() {
                return Err(CodecError::OutOfBounds("number of a caller"));
            }
            runs.push((commands, known));
        }
        Ok(runs)
    }
}

fn put_word(out: &mut Vec<u8>, word: &str) {
    let fits = |end: &usize| word.is_char_boundary(*end);
    let end = (0..=word.len().min(usize::from(u8::MAX))).rev().find(fits).unwrap_or(0);
    out.push(end as u8);
    out.extend_from_slice(&word.as_bytes()[..end]);
}

fn take_caller(rest: &mut &[u8]) -> Result<Caller, CodecError> {
    let session = take_u64(rest)?;
    let mut word = || {
        let length = take_u8(rest)?;
        let bytes = take_bytes(rest, usize::from(length))?;
        String::from_utf8(bytes.to_vec()).map_err(|_| CodecError::OutOfBounds("name of a caller"))
    };
    let (protocol, member, key, address) = (word()?, word()?, word()?, word()?);
    Ok(Caller { protocol, session, member, key, address })
}
