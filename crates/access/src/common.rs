//! Members that several servers share. A log keeps each edition of the access file, and the last one counts on all
//! servers; each server has it in its own file as well. The log itself and the sealing of editions are elsewhere.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use sha2::{Digest, Sha256};

use crate::change::{Author, Change, Unchanged, record};
use crate::locked::{Locked, beside, folder_of};
use crate::table::Table;
use crate::{Access, file, text};
use Disagreement::{ForEver, ForNow};

/// Tries of a change while other servers' changes come first, at most.
const TRIES: usize = 8;
/// The ending of the file beside an access file that says which edition the access file holds.
const EDITION: &str = "edition";
/// The ending of the file that keeps a text of the access file that did not count.
const REPLACED: &str = "replaced";
/// The record of a change that somebody made with an editor.
const BY_HAND: &str = "user=file from=this-machine the file was changed by hand";

/// A log that keeps editions of an access file. They are numbered from 1.
pub trait MembersLog: Send + Sync {
    /// Returns the cluster of the log.
    fn cluster(&self) -> u64;
    /// Returns the number of the last edition: 0 where there is none yet, `None` where the log does not keep members
    /// yet. Errors: the log cannot be reached now, or has lost its members.
    fn last(&self) -> Result<Option<u64>, Disagreement>;
    /// Reads an edition. Errors: it cannot be read, now or ever.
    fn read(&self, edition: u64) -> Result<String, Disagreement>;
    /// Appends an edition behind the edition `last`, which has to be the last one, and returns its number.
    fn put(&self, edition: &str, last: u64) -> Result<u64, NotPut>;
}

/// The reason why a server does not have the members of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// The server tries again: the log or the disk is away, or the file is wrong.
    ForNow(String),
    /// The server must stop: it can never know who may do what.
    ForEver(String),
}

impl Disagreement {
    /// Returns the reason in words.
    pub(crate) fn why(self) -> String {
        match self {
            Disagreement::ForNow(why) | Disagreement::ForEver(why) => why,
        }
    }
}

/// The reason why an edition was not put into the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPut {
    /// The log has another edition meanwhile.
    Outdated,
    /// Refused because this server writes nothing into the log.
    ReadOnly,
    /// The log cannot be reached, and nothing was put.
    Away(String),
    /// The edition was sent, and it is not known whether it arrived.
    InDoubt,
    /// The log does not take such an edition; the reason.
    Refused(String),
}

/// The members of a log, and the edition that this server has.
pub(crate) struct InCommon {
    log: Arc<dyn MembersLog>,
    has: Mutex<Has>,
    /// The last edition that was taken while another program held the file's lock. A thread of this server that holds
    /// the file's lock takes this one before it replaces members.
    taken: Mutex<u64>,
    /// Whether this server's edition is known to equal the log's edition of that number. It has to be compared again
    /// after the log was away.
    is_compared: AtomicBool,
}

/// The edition that this server's file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Has {
    cluster: u64,
    edition: u64,
    /// The digest of its text.
    digest: [u8; 32],
}

impl Has {
    fn read(path: &Path) -> Option<Has> {
        let text = std::fs::read_to_string(beside(path, EDITION)).ok()?;
        let mut words = text.split_whitespace();
        let cluster = u64::from_str_radix(words.next()?, 16).ok()?;
        let edition = words.next()?.parse().ok()?;
        Some(Has { cluster, edition, digest: crate::proof::bytes_32(words.next()?)? })
    }

    fn text(&self) -> String {
        let digest: String = self.digest.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:016x} {} {digest}\n", self.cluster, self.edition)
    }
}

/// The relation of a server's file to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stands {
    /// The log does not keep members yet: the file counts.
    Apart,
    /// Neither the file nor the log has members yet.
    Nobody,
    /// The file holds the last edition.
    AtLast,
    /// The file was edited, or is being changed: the next look decides whether it holds the last edition.
    Edited,
}

impl InCommon {
    pub(crate) fn new(log: Arc<dyn MembersLog>, path: &Path) -> InCommon {
        // An edition of another cluster's log says nothing about this log.
        let has = Has::read(path).filter(|has| has.cluster == log.cluster());
        let has = has.unwrap_or(Has { cluster: log.cluster(), ..Has::default() });
        InCommon { log, has: Mutex::new(has), taken: Mutex::new(0), is_compared: AtomicBool::new(false) }
    }

    fn has(&self) -> Has {
        *self.has.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this server has to agree with the log anew: the log has a later edition, or this server's has to be
    /// compared, or the log has none yet and this server has a file to bring. Errors: the log cannot be reached, or has
    /// lost what it had.
    pub(crate) fn is_behind(&self, path: &Path) -> Result<bool, Disagreement> {
        let Some(last) = self.last()? else { return Ok(false) };
        self.check(last)?;
        Ok(last > self.has().edition || last == 0 && path.exists() || !self.is_compared.load(Ordering::Relaxed))
    }

    /// The number of the last edition. After an answer that failed, the next comparison reads that edition again: the
    /// log may have another one by then.
    fn last(&self) -> Result<Option<u64>, Disagreement> {
        self.log.last().inspect_err(|_| self.is_compared.store(false, Ordering::Relaxed))
    }

    fn check(&self, last: u64) -> Result<(), Disagreement> {
        let Has { edition, .. } = self.has();
        match last < edition {
            false => Ok(()),
            true => Err(ForEver(format!(
                "the log has {last} editions of its members, and this server has edition {edition}: the log has lost some \
                 (docs/CLUSTER.md)"
            ))),
        }
    }

    /// Makes the file and the log agree: takes the last edition, or, if this server has that one already, puts an
    /// edited file into the log, if it `may_be_put`. `use_table` gets the members that count from now on. Errors: the
    /// members stay as they were.
    pub(crate) fn agree(
        &self,
        path: &Path,
        may_be_put: bool,
        use_table: &mut dyn FnMut(Table),
    ) -> Result<Stands, Disagreement> {
        self.agree_locked(path, may_be_put, use_table, |path| Locked::take(path).map(Some))
    }

    /// Makes them agree as above. While another change holds the file's lock it leaves that to the next look.
    pub(crate) fn agree_if_free(
        &self,
        path: &Path,
        may_be_put: bool,
        use_table: &mut dyn FnMut(Table),
    ) -> Result<Stands, Disagreement> {
        self.agree_locked(path, may_be_put, use_table, Locked::take_if_free)
    }

    fn agree_locked(
        &self,
        path: &Path,
        may_be_put: bool,
        use_table: &mut dyn FnMut(Table),
        lock: impl FnOnce(&Path) -> Result<Option<Locked>, String>,
    ) -> Result<Stands, Disagreement> {
        let Some(last) = self.last()? else { return Ok(Stands::Apart) };
        self.check(last)?;
        self.compare(last)?;
        if last == 0 && !path.exists() {
            return Ok(Stands::Nobody);
        }
        if let Some(folder) = folder_of(path) {
            std::fs::create_dir_all(folder).map_err(|error| ForNow(format!("{}: {error}", folder.display())))?;
        }
        let Some(mut locked) = lock(path).map_err(ForNow)? else {
            return self.take_without_file(path, last, use_table).map(|()| Stands::Edited);
        };
        let _changing = self.changing();
        if last > self.has().edition {
            return self.take(&mut locked, last, use_table).map(|()| Stands::AtLast);
        }
        match locked.text().map_err(ForNow)? {
            Some(text) if digest(&text) != self.has().digest && may_be_put => {
                self.put(&locked, &text, last, use_table).map_err(ForNow)
            }
            Some(_) | None => Ok(Stands::AtLast),
        }
    }

    /// Compares this server's edition with the log's. Errors: the log has another edition of the same number.
    fn compare(&self, last: u64) -> Result<(), Disagreement> {
        let has = self.has();
        if last == has.edition && last > 0 && !self.is_compared.load(Ordering::Relaxed) {
            let read = self.read(last)?;
            if read.split_once('\n').is_none_or(|(_, text)| digest(text) != has.digest) {
                return Err(ForEver(format!(
                    "the log has another edition {last} of its members than this server: it lost some, and got others (docs/CLUSTER.md)"
                )));
            }
        }
        self.is_compared.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn read(&self, edition: u64) -> Result<String, Disagreement> {
        self.log.read(edition).map_err(|why| match why {
            ForNow(why) => ForNow(why),
            ForEver(why) => ForEver(format!("edition {edition} of the members in the log: {why}")),
        })
    }

    /// Takes an edition. It counts also where the file cannot be written.
    fn take(&self, locked: &mut Locked, edition: u64, use_table: &mut dyn FnMut(Table)) -> Result<(), Disagreement> {
        let read = self.read(edition)?;
        let (table, record_and_text) = parsed(edition, &read)?;
        use_table(table);
        self.write(locked, edition, record_and_text).map_err(ForNow)
    }

    /// Takes an edition once while another program holds the lock of the file, which follows when the lock is free. A
    /// change of this server that holds it takes the edition by itself.
    fn take_without_file(
        &self,
        path: &Path,
        edition: u64,
        use_table: &mut dyn FnMut(Table),
    ) -> Result<(), Disagreement> {
        let mut taken = match self.taken.try_lock() {
            Ok(taken) => taken,
            Err(TryLockError::Poisoned(taken)) => taken.into_inner(),
            Err(TryLockError::WouldBlock) => return Ok(()),
        };
        if edition > self.has().edition.max(*taken) {
            use_table(parsed(edition, &self.read(edition)?)?.0);
            *taken = edition;
            tracing::warn!(edition, file = %path.display(), "another program locks the access file: the members of the log count, and the file follows when it is free");
        }
        Ok(())
    }

    fn changing(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes an edition into the file.
    fn write(&self, locked: &mut Locked, edition: u64, (record, text): (&str, &str)) -> Result<(), String> {
        let here = locked.text()?;
        if here.as_deref() != Some(text) {
            if let Some(here) = here.filter(|here| digest(here) != self.has().digest) {
                locked.write_beside(REPLACED, &here)?;
                tracing::error!(
                    edition,
                    "the access file was changed by hand while another node changed the members in the log: those of the log \
                     count, and what stood in the file is kept beside it, in .{REPLACED}"
                );
            }
            locked.replace(text, &format!("edition={edition} {record}"))?;
        }
        self.keep(locked, edition, text)
    }

    /// Puts the file's text into the log.
    fn put(&self, locked: &Locked, text: &str, last: u64, use_table: &mut dyn FnMut(Table)) -> Result<Stands, String> {
        // An empty file is no intention: editors empty a file before they write it, and a full disk leaves it empty.
        if text.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        let table = file::parse(text)?;
        match self.log.put(&format!("{BY_HAND}\n{text}"), last) {
            Ok(edition) => {
                use_table(table);
                self.keep(locked, edition, text).map(|()| Stands::AtLast)
            }
            Err(NotPut::Outdated) => Ok(Stands::Edited),
            Err(NotPut::InDoubt) => Err("the log went away while it was put there; it is looked at again".to_owned()),
            Err(NotPut::ReadOnly) => {
                Err("this server only follows the log: change the members at another one".to_owned())
            }
            Err(NotPut::Away(why) | NotPut::Refused(why)) => Err(why),
        }
    }

    fn keep(&self, locked: &Locked, edition: u64, text: &str) -> Result<(), String> {
        let has = Has { cluster: self.log.cluster(), edition, digest: digest(text) };
        *self.has.lock().unwrap_or_else(PoisonError::into_inner) = has;
        locked.write_beside(EDITION, &has.text())
    }

    /// Changes the members of all servers. Returns false where the log does not keep them yet.
    pub(crate) fn change(
        &self,
        access: &Access,
        path: &Path,
        (change, author): (&Change<'_>, Author<'_>),
        sound: impl Fn(&Table) -> Result<(), Unchanged>,
    ) -> Result<bool, Unchanged> {
        for _ in 0..TRIES {
            let mut locked = Locked::take(path).map_err(Unchanged::Failed)?;
            let _changing = self.changing();
            let last = self.last().map_err(|why| Unchanged::Away(why.why()))?;
            let Some(last) = last else { return Ok(false) };
            let taken =
                self.check(last).and_then(|()| self.compare(last)).and_then(|()| match last > self.has().edition {
                    true => self.take(&mut locked, last, &mut |table| access.replace(table)),
                    false => Ok(()),
                });
            taken.map_err(|why| Unchanged::Failed(why.why()))?;
            let text = locked.text().map_err(Unchanged::Failed)?.unwrap_or_default();
            let has = self.has();
            if has.edition > 0 && digest(&text) != has.digest {
                // The change would take a hand edit along that no look has checked.
                return Err(Unchanged::BeingEdited);
            }
            let (new, table) = text::changed(&text, change)?;
            sound(&table)?;
            let record = record(change, author);
            match self.log.put(&format!("{record}\n{new}"), last) {
                Ok(edition) => {
                    access.replace(table);
                    let written = locked.replace(&new, &format!("edition={edition} {record}"));
                    if let Err(why) = written.and_then(|()| self.keep(&locked, edition, &new)) {
                        // The change counts on all servers. This one writes its file when it can.
                        tracing::error!(edition, %why, "the members were changed, and the access file cannot be written");
                    }
                    return Ok(true);
                }
                Err(NotPut::Outdated) => {}
                Err(NotPut::ReadOnly) => return Err(Unchanged::ReadOnly),
                Err(NotPut::Away(why)) => return Err(Unchanged::Away(why)),
                Err(NotPut::InDoubt) => return Err(Unchanged::InDoubt),
                Err(NotPut::Refused(why)) => return Err(Unchanged::Failed(why)),
            }
        }
        Err(Unchanged::Away(format!("others changed the members {TRIES} times meanwhile")))
    }
}

/// Parses an edition that was read. Returns its table, and its record and text.
fn parsed(edition: u64, read: &str) -> Result<(Table, (&str, &str)), Disagreement> {
    let of_it = |why: &str| ForEver(format!("edition {edition} of the members in the log: {why}"));
    let (record, text) = read.split_once('\n').ok_or_else(|| of_it("it has no record"))?;
    Ok((file::parse(text).map_err(|why| of_it(&why))?, (record, text)))
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}
