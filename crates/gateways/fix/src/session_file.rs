//! The file of a session: its numbers, the messages about orders that may be sent again, and the commands up to which
//! each account's reports are among them. It is written before the bytes of a message leave, so an end of the server
//! loses nothing. Only after a power failure its tail may be missing: then numbers go on behind those that were
//! reserved, which is synced. This module knows no message and no socket.
//!
//! A record is a line with its length and its checksum, its text, and a line's end. docs/FIX.md lists the records.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use terms::{AccountId, Sequence};

use crate::frame::SOH;

/// Bytes behind which a file is written anew.
const APPENDED_MAX: usize = 1 << 20;
/// Bytes of a file that is read, at most.
const FILE_BYTES_MAX: u64 = 8 << 20;
/// Numbers that are reserved at a time.
const RESERVED: u64 = 4_096;
/// The name of this run of the machine.
const BOOT_ID: &str = "/proc/sys/kernel/random/boot_id";

/// The contents of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct SavedSession {
    pub(crate) next_in: u64,
    pub(crate) next_out: u64,
    pub(crate) kept: Vec<SavedMessage>,
    pub(crate) positions: HashMap<AccountId, Sequence>,
    /// Whether the machine has run since, so that nothing that was written is missing.
    pub(crate) is_whole: bool,
}

/// A message that may be sent again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SavedMessage {
    pub(crate) number: u64,
    pub(crate) kind: String,
    pub(crate) time: String,
    pub(crate) fields: String,
}

/// An open file, and what is still to be written.
#[derive(Debug)]
pub(crate) struct SessionFile {
    file: File,
    path: PathBuf,
    unwritten: Vec<u8>,
    appended: usize,
    boot: String,
    next_in: u64,
    next_out: u64,
    /// The first number that is not reserved.
    reserved: u64,
    positions: HashMap<AccountId, Sequence>,
    is_to_be_synced: bool,
}

impl SessionFile {
    /// Makes the file of a new session. Errors: the disk's.
    pub(crate) fn create(path: &Path) -> io::Result<SessionFile> {
        if let Some(folder) = path.parent().filter(|folder| !folder.exists()) {
            fs::create_dir_all(folder)?;
            sync_entry(folder)?;
        }
        let file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
        // A power failure leaves the file, too.
        sync_entry(path)?;
        let saved = SavedSession { next_in: 1, next_out: 1, is_whole: true, ..SavedSession::default() };
        let mut its = SessionFile::of(file, path, &saved);
        // The disk is here: the thread of the sessions does not wait for it at the first message.
        its.note_numbers(1, 1);
        its.write()?;
        Ok(its)
    }

    /// Opens the file of a session, and reads it. Errors: the disk's, or the file is too long to be one.
    pub(crate) fn open(path: &Path) -> io::Result<(SessionFile, SavedSession)> {
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is too long"));
        }
        let saved = read(&bytes, &boot_id());
        let file = OpenOptions::new().append(true).open(path)?;
        let mut its = SessionFile::of(file, path, &saved);
        // Records behind a torn one would not be read.
        its.rewrite(saved.kept.iter())?;
        Ok((its, saved))
    }

    fn of(file: File, path: &Path, saved: &SavedSession) -> SessionFile {
        SessionFile {
            file,
            path: path.to_owned(),
            unwritten: Vec::new(),
            appended: 0,
            // Without a name the next start counts as one behind a power failure, too.
            boot: if saved.is_whole { boot_id() } else { String::new() },
            next_in: saved.next_in,
            next_out: saved.next_out,
            reserved: 0,
            positions: saved.positions.clone(),
            is_to_be_synced: false,
        }
    }

    /// Notes a message that may be sent again.
    pub(crate) fn add(&mut self, number: u64, kind: &str, time: &str, fields: &str) {
        put(&mut self.unwritten, &message(number, kind, time, fields));
    }

    /// Notes that all reports of an account up to a command are among the messages.
    pub(crate) fn note_position(&mut self, account: AccountId, through: Sequence) {
        self.positions.insert(account, through);
        put(&mut self.unwritten, &position(account, through));
    }

    /// Notes that all reports were told that may have been sent before: nothing is missing any more.
    pub(crate) fn make_whole(&mut self) {
        self.boot = boot_id();
        put(&mut self.unwritten, &reserved(&self.boot, self.reserved));
        self.is_to_be_synced = true;
    }

    /// Notes that the numbers begin again: no message may be sent again.
    pub(crate) fn reset(&mut self) {
        put(&mut self.unwritten, "R");
        (self.next_in, self.next_out, self.reserved) = (1, 1, 0);
    }

    /// Notes the numbers that come next, where they have changed.
    pub(crate) fn note_numbers(&mut self, next_in: u64, next_out: u64) {
        if next_out > self.reserved {
            self.reserved = next_out.saturating_add(RESERVED);
            put(&mut self.unwritten, &reserved(&self.boot, self.reserved));
            self.is_to_be_synced = true;
        }
        if (next_in, next_out) != (self.next_in, self.next_out) {
            (self.next_in, self.next_out) = (next_in, next_out);
            put(&mut self.unwritten, &numbers(next_in, next_out));
        }
    }

    /// Writes everything that was noted. Returns whether the file is long, and to be written anew.
    pub(crate) fn write(&mut self) -> io::Result<bool> {
        if !self.unwritten.is_empty() {
            self.file.write_all(&self.unwritten)?;
            self.appended += self.unwritten.len();
            self.unwritten.clear();
        }
        if std::mem::take(&mut self.is_to_be_synced) {
            self.file.sync_data()?;
        }
        Ok(self.appended > APPENDED_MAX)
    }

    /// Writes the file anew, with these messages and everything that was noted.
    pub(crate) fn rewrite<'a>(&mut self, kept: impl Iterator<Item = &'a SavedMessage>) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.reserved = self.next_out.saturating_add(RESERVED);
        put(&mut bytes, &reserved(&self.boot, self.reserved));
        for SavedMessage { number, kind, time, fields } in kept {
            put(&mut bytes, &message(*number, kind, time, fields));
        }
        self.positions.iter().for_each(|(account, through)| put(&mut bytes, &position(*account, *through)));
        put(&mut bytes, &numbers(self.next_in, self.next_out));
        let new = self.path.with_extension("new");
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&new)?;
        file.write_all(&bytes)?;
        // A rename that outlives a power failure must not name a file that does not.
        file.sync_data()?;
        fs::rename(&new, &self.path)?;
        // Nor must it leave the file before, of which fewer numbers are reserved.
        sync_entry(&self.path)?;
        (self.file, self.appended, self.is_to_be_synced) = (file, 0, false);
        self.unwritten.clear();
        Ok(())
    }

    /// Removes the file: the session goes on without it, and is unknown after the server's end.
    pub(crate) fn remove(self) {
        remove(&self.path);
    }
}

/// Removes the file of a session, and one that was to take its place.
pub(crate) fn remove(path: &Path) {
    drop(fs::remove_file(path));
    drop(fs::remove_file(path.with_extension("new")));
}

/// Has the folder name a file also after a power failure.
fn sync_entry(path: &Path) -> io::Result<()> {
    path.parent().map(File::open).transpose()?.iter().try_for_each(File::sync_all)
}

fn boot_id() -> String {
    // Without a name each start counts as one behind a power failure.
    fs::read_to_string(BOOT_ID).map(|id| id.trim().to_owned()).unwrap_or_default()
}

fn message(number: u64, kind: &str, time: &str, fields: &str) -> String {
    format!("M{number}\x01{kind}\x01{time}\x01{fields}")
}

fn position(account: AccountId, through: Sequence) -> String {
    format!("P{account}\x01{}", through.0)
}

fn numbers(next_in: u64, next_out: u64) -> String {
    format!("N{next_in}\x01{next_out}")
}

fn reserved(boot: &str, reserved: u64) -> String {
    format!("B{reserved}\x01{boot}")
}

fn put(bytes: &mut Vec<u8>, record: &str) {
    let mut head = String::new();
    let _ = writeln!(head, "{} {:016x}", record.len(), sum(record.as_bytes()));
    bytes.extend_from_slice(head.as_bytes());
    bytes.extend_from_slice(record.as_bytes());
    bytes.push(b'\n');
}

/// FNV-1a: it finds torn records, and nobody else writes the file.
fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Reads the records up to the first one that is torn.
fn read(mut bytes: &[u8], boot: &str) -> SavedSession {
    let mut saved = SavedSession { next_in: 1, next_out: 1, is_whole: !boot.is_empty(), ..SavedSession::default() };
    let mut reserved_max = 0;
    while let Some((record, rest)) = first_record(bytes) {
        let Some(kind) = record.chars().next() else { break };
        let fields = &record[kind.len_utf8()..];
        let is_read = match kind {
            'B' => split(fields).map(|(reserved, its)| {
                reserved_max = reserved;
                saved.is_whole = its == boot && !boot.is_empty();
            }),
            'N' => split(fields).and_then(|(next_in, next_out)| {
                saved.next_out = next_out.parse().ok()?;
                saved.next_in = next_in;
                Some(())
            }),
            'P' => fields.split_once(char::from(SOH)).and_then(|(account, through)| {
                let account = AccountId::parse(account.as_bytes()).ok()?;
                saved.positions.insert(account, Sequence(through.parse().ok()?));
                Some(())
            }),
            'M' => read_message(fields).map(|message| {
                saved.next_out = saved.next_out.max(message.number.saturating_add(1));
                saved.kept.push(message);
            }),
            'R' => {
                saved.kept.clear();
                (saved.next_in, saved.next_out) = (1, 1);
                Some(())
            }
            _ => None,
        };
        if is_read.is_none() {
            break;
        }
        bytes = rest;
    }
    // More than the last record may be missing.
    saved.is_whole &= bytes.is_empty();
    if !saved.is_whole {
        saved.next_out = saved.next_out.max(reserved_max);
    }
    saved
}

/// A number, and the text behind it.
fn split(fields: &str) -> Option<(u64, &str)> {
    let (number, text) = fields.split_once(char::from(SOH))?;
    Some((number.parse().ok()?, text))
}

fn read_message(fields: &str) -> Option<SavedMessage> {
    let (number, rest) = split(fields)?;
    let (kind, rest) = rest.split_once(char::from(SOH))?;
    let (time, fields) = rest.split_once(char::from(SOH))?;
    let number = Some(number).filter(|number| *number < u64::MAX)?;
    Some(SavedMessage { number, kind: kind.to_owned(), time: time.to_owned(), fields: fields.to_owned() })
}

fn first_record(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().take(64).position(|byte| *byte == b'\n')?;
    let (length, its_sum) = std::str::from_utf8(&bytes[..end]).ok()?.split_once(' ')?;
    let (begin, length) = (end + 1, length.parse::<usize>().ok()?);
    let record = bytes.get(begin..begin.checked_add(length)?)?;
    let is_whole = u64::from_str_radix(its_sum, 16) == Ok(sum(record)) && bytes.get(begin + length) == Some(&b'\n');
    Some((std::str::from_utf8(record).ok().filter(|_| is_whole)?, &bytes[begin + length + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("pricetime-fix-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        folder
    }

    fn account() -> AccountId {
        AccountId::parse(b"7").expect("digits")
    }

    fn saved_message(number: u64) -> SavedMessage {
        let (kind, time) = ("8".to_owned(), "20260101-00:00:00.000".to_owned());
        SavedMessage { number, kind, time, fields: format!("37={number}\x0158=a\nb\x01") }
    }

    fn add(file: &mut SessionFile, number: u64) {
        let message = saved_message(number);
        file.add(number, &message.kind, &message.time, &message.fields);
        file.note_numbers(number, number + 1);
    }

    #[test]
    fn what_was_written_is_read_and_a_torn_record_is_not() {
        let folder = folder("file");
        let path = folder.join("a");
        let mut file = SessionFile::create(&path).expect("a file");
        for number in [1, 2] {
            add(&mut file, number);
        }
        file.note_position(account(), Sequence(9));
        file.write().expect("room");
        add(&mut file, 3);
        assert_eq!(SessionFile::open(&path).expect("it is there").1.next_out, 3, "the third one is not written");
        let (mut file, saved) = SessionFile::open(&path).expect("it is there");
        let kept = vec![saved_message(1), saved_message(2)];
        let positions = HashMap::from([(account(), Sequence(9))]);
        assert_eq!(saved, SavedSession { next_in: 2, next_out: 3, kept, positions, is_whole: true });
        add(&mut file, 3);
        file.write().expect("room");
        let bytes = fs::read(&path).expect("it is there");
        for end in 0..bytes.len() {
            let saved = read(&bytes[..end], &boot_id());
            assert!(saved.kept.len() < 4 && (saved.next_out <= 4 || !saved.is_whole));
        }
        // The file was damaged, and the numbers behind the fault were used again.
        let mut damaged = bytes.clone();
        let at = damaged.windows(3).position(|some| some == b"M2\x01").expect("the second message");
        damaged[at] = b'X';
        let saved = read(&damaged, &boot_id());
        assert!(!saved.is_whole && saved.next_out > 4, "{}", saved.next_out);
        file.reset();
        add(&mut file, 1);
        file.write().expect("room");
        let (file, saved) = SessionFile::open(&path).expect("it is there");
        assert_eq!((saved.next_in, saved.next_out, saved.kept), (1, 2, vec![saved_message(1)]));
        file.remove();
        assert!(SessionFile::open(&path).is_err());
        drop(fs::remove_dir_all(folder));
    }

    /// Numbers whose records a power failure took would have been used again, for something else.
    #[test]
    fn after_a_power_failure_numbers_go_on_behind_those_that_were_reserved() {
        let mut bytes = Vec::new();
        put(&mut bytes, &reserved("one", 4_100));
        put(&mut bytes, &numbers(5, 17));
        let read_after = |boot: &str| {
            let saved = read(&bytes, boot);
            (saved.next_in, saved.next_out, saved.is_whole)
        };
        assert_eq!(read_after("one"), (5, 17, true));
        assert_eq!(read_after("two"), (5, 4_100, false));
        assert_eq!(read_after(""), (5, 4_100, false), "a machine that tells nothing");
    }

    /// A second end of the server had the reports that a power failure left in doubt told again without a word of it.
    #[test]
    fn a_session_stays_in_doubt_until_all_is_told_again() {
        let folder = folder("doubt");
        let path = folder.join("a");
        fs::create_dir_all(&folder).expect("room");
        let mut bytes = Vec::new();
        put(&mut bytes, &reserved("another", 4_100));
        fs::write(&path, bytes).expect("room");
        let open = || SessionFile::open(&path).expect("it is there");
        assert!(!open().1.is_whole);
        let (mut file, saved) = open();
        assert!(!saved.is_whole, "nothing was told meanwhile");
        file.make_whole();
        file.write().expect("room");
        assert!(open().1.is_whole && open().1.is_whole);
        drop(fs::remove_dir_all(folder));
    }

    #[test]
    fn a_long_file_is_written_anew() {
        let folder = folder("long");
        let path = folder.join("a");
        let mut file = SessionFile::create(&path).expect("a file");
        let mut number = 0;
        loop {
            number += 1;
            add(&mut file, number);
            if file.write().expect("room") {
                break;
            }
        }
        let length = || fs::metadata(&path).expect("it is there").len();
        assert!(length() > APPENDED_MAX as u64);
        file.rewrite([saved_message(number)].iter()).expect("room");
        assert!(length() < 1_000);
        let (_, saved) = SessionFile::open(&path).expect("it is there");
        assert_eq!((saved.next_out, saved.kept), (number + 1, vec![saved_message(number)]));
        drop(fs::remove_dir_all(folder));
    }
}
