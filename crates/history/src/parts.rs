//! The files of a table: parts with a fixed number of records, plain while they may change and sealed afterwards. Few
//! of them are open at a time. This file does not know what the records hold.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use journal::File;

use crate::error::HistoryError;
use crate::folder::Folder;

/// The most files of one table that are open at a time.
const OPEN_MAX: usize = 16;
/// The most of these that may have changed since their sync.
const UNSYNCED_MAX: usize = OPEN_MAX / 2;

/// The form of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Form {
    Plain,
    Sealed,
    /// A part that is being sealed, which nobody reads.
    Unfinished,
}

#[derive(Debug)]
pub(crate) struct Parts {
    folder: Arc<dyn Folder>,
    stem: &'static str,
    /// Whether all records are in one file.
    single: bool,
    /// The number of such a file.
    number: u64,
    /// The open files, the one used last in front.
    open: Mutex<VecDeque<Open>>,
    /// Whether files were made since the folder was synced.
    made: AtomicBool,
}

#[derive(Debug)]
struct Open {
    form: Form,
    part: u64,
    file: Arc<dyn File>,
    unsynced: bool,
}

impl Parts {
    pub(crate) fn new(folder: Arc<dyn Folder>, stem: &'static str, single: bool) -> Parts {
        Parts { folder, stem, single, number: 0, open: Mutex::default(), made: AtomicBool::new(false) }
    }

    /// The parts in the single file with this number.
    pub(crate) fn numbered(self, number: u64) -> Parts {
        Parts { number, ..self }
    }

    /// The name of a file.
    pub(crate) fn name(&self, form: Form, part: u64) -> String {
        name(self.stem, self.single, form, if self.single { self.number } else { part })
    }

    /// Opens an existing file.
    pub(crate) fn file(&self, form: Form, part: u64) -> Result<Arc<dyn File>, HistoryError> {
        if let Some(file) = self.find(form, part, false) {
            return Ok(file);
        }
        let name = self.name(form, part);
        let file = self.folder.existing(&name).map_err(|source| {
            if source.kind() == io::ErrorKind::NotFound {
                return HistoryError::Damaged { name, fault: "it is missing".to_owned() };
            }
            HistoryError::Io { name, source }
        })?;
        Ok(self.keep(Open { form, part, file: file.into(), unsynced: false }))
    }

    /// Opens a plain file to change it, and makes it if it is missing.
    pub(crate) fn changing(&mut self, part: u64) -> Result<Arc<dyn File>, HistoryError> {
        if let Some(file) = self.find(Form::Plain, part, true) {
            return Ok(file);
        }
        if self.lock().iter().filter(|open| open.unsynced).count() >= UNSYNCED_MAX {
            self.sync()?;
        }
        let name = self.name(Form::Plain, part);
        let file = self.folder.open(&name).map_err(|source| HistoryError::Io { name, source })?;
        *self.made.get_mut() = true;
        Ok(self.keep(Open { form: Form::Plain, part, file: file.into(), unsynced: true }))
    }

    /// Makes changes durable. Others may read files meanwhile.
    pub(crate) fn sync(&self) -> Result<(), HistoryError> {
        let changed: Vec<(Form, u64, Arc<dyn File>)> = self
            .lock()
            .iter()
            .filter(|open| open.unsynced)
            .map(|open| (open.form, open.part, open.file.clone()))
            .collect();
        for (form, part, file) in changed {
            file.sync().map_err(|source| HistoryError::Io { name: self.name(form, part), source })?;
            if let Some(open) = self.lock().iter_mut().find(|open| (open.form, open.part) == (form, part)) {
                open.unsynced = false;
            }
        }
        if self.made.swap(false, Ordering::Relaxed) {
            self.folder.sync().map_err(crate::error::in_folder)?;
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes a file before its removal.
    pub(crate) fn close(&self, form: Form, part: u64) {
        self.lock().retain(|open| (open.form, open.part) != (form, part));
    }

    fn find(&self, form: Form, part: u64, to_change: bool) -> Option<Arc<dyn File>> {
        let mut all = self.lock();
        let at = all.iter().position(|open| (open.form, open.part) == (form, part))?;
        let mut open = all.remove(at)?;
        open.unsynced |= to_change;
        let file = open.file.clone();
        all.push_front(open);
        Some(file)
    }

    fn keep(&self, open: Open) -> Arc<dyn File> {
        let mut all = self.lock();
        if all.len() >= OPEN_MAX
            && let Some(last) = all.iter().rposition(|open| !open.unsynced)
        {
            all.remove(last);
        }
        let file = open.file.clone();
        all.push_front(open);
        file
    }
}

pub(crate) fn name(stem: &str, single: bool, form: Form, part: u64) -> String {
    let number = if single && part == 0 { String::new() } else { format!("-{part:06}") };
    let ending = match form {
        Form::Plain => "tab",
        Form::Sealed => "sealed",
        Form::Unfinished => "sealed.new",
    };
    format!("{stem}{number}.{ending}")
}
