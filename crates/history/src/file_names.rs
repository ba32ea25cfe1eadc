//! The files of a history.

use std::collections::HashSet;

use journal::Storage;
use terms::Sequence;

use crate::carried::Carried;
use crate::checkpoint::{Begun, CHECKPOINT_NAME, Checkpoint, KeptRecords};
use crate::error::{HistoryError, in_folder};
use crate::folder::{self, Folder, HISTORY_FOLDER, MAKING_SUFFIX};
use crate::leaps::LEAPS_NAME;
use crate::note::NOTES;
use crate::prehistory::{BEGUN_NAME, OLD_NAME};
use crate::record::{CANDLES, ORDERS, TRADES};
use crate::table::{Reach, Table};

/// The prefixes of files of records.
const OURS: [&str; 5] = ["orders-", "trades-", "candles", "carried", "notes-"];
/// The most names in an error.
const NAMED_MAX: usize = 3;

/// The command of the checkpoint in a data folder's history; none without a history.
pub fn through<S: Storage>(home: &S) -> Result<Option<Sequence>, HistoryError> {
    let folder = match folder::look_at(home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(in_folder)?,
    };
    Ok(Checkpoint::read(&*folder)?.map(|checkpoint| checkpoint.heads.through))
}

/// Whether the history in a data folder has any file.
pub fn is_there<S: Storage>(home: &S) -> Result<bool, HistoryError> {
    let folder = match folder::look_at(home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
        opened => opened.map_err(in_folder)?,
    };
    Ok(!folder.list().map_err(in_folder)?.is_empty())
}

/// Moves the history of a data folder that has lost its market aside, and leaves an empty folder in its place. Returns
/// the name that it has now; none if there was no history.
pub fn set_aside<S: Storage>(home: &S) -> Result<Option<String>, HistoryError> {
    if !is_there(home)? {
        return Ok(None);
    }
    // The number only tells folders apart, so a checkpoint that cannot be read does not matter.
    let through = through(home).ok().flatten().unwrap_or(Sequence::ZERO);
    let folder = folder::look_at(home).map_err(in_folder)?;
    let (_, name) = folder.set_aside(&format!("{}{through}", folder::SET_ASIDE)).map_err(in_folder)?;
    Ok(Some(name))
}

/// The files of records that the checkpoint of a data folder's history counts; none without a history.
pub fn file_names<S: Storage>(home: &S) -> Result<Vec<String>, HistoryError> {
    let folder = match folder::look_at(home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(in_folder)?,
    };
    Ok(Checkpoint::read(&*folder)?.map(|checkpoint| checkpoint.names()).unwrap_or_default())
}

/// Whether a history may have a file of this name.
pub fn is_file_name(name: &str) -> bool {
    let is_of_records = |name: &str| {
        let (stem, ending) = name.split_once('.')?;
        let begin = stem.trim_end_matches(|letter: char| letter.is_ascii_digit());
        Some((OURS.contains(&begin) || begin == "carried-") && ["tab", "sealed"].contains(&ending))
    };
    [CHECKPOINT_NAME, LEAPS_NAME, BEGUN_NAME, OLD_NAME].contains(&name) || is_of_records(name) == Some(true)
}

impl Checkpoint {
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = self.kept.names();
        if self.kept.begun != Begun::WithMarket {
            names.extend([BEGUN_NAME, OLD_NAME].map(str::to_owned));
        }
        names
    }
}

impl KeptRecords {
    /// The names of all files of records that it counts.
    pub(crate) fn names(&self) -> Vec<String> {
        let [orders, trades, _, notes] = self.records;
        let mut names = Table::names(&ORDERS, self.part_records, orders, &self.reach[0]);
        names.extend(Table::names(&TRADES, self.part_records, trades, &self.reach[1]));
        names.extend(Table::names(&NOTES, self.part_records, notes, &self.reach[2]));
        names.extend(Table::names(&CANDLES, 0, self.records[2], &Reach::default()));
        names.extend(Carried::names(self.carried_file, self.carried));
        names
    }
}

/// Errors: there are files of records in a folder without a checkpoint. The checkpoint is written before any of these
/// files is made, so it was lost.
pub(crate) fn expect_none(folder: &dyn Folder) -> Result<(), HistoryError> {
    let mut found = folder.list().map_err(in_folder)?;
    let is_being_made = |name: &str| name.ends_with(MAKING_SUFFIX);
    found.retain(|name| !is_being_made(name) && (is_ours(name) || [BEGUN_NAME, OLD_NAME].contains(&name.as_str())));
    if found.is_empty() {
        return Ok(());
    }
    found.sort();
    let others = if found.len() > NAMED_MAX { " and others" } else { "" };
    found.truncate(NAMED_MAX);
    let fault = format!("it is missing, and only it says what counts of {}{others}", found.join(", "));
    Err(HistoryError::Damaged { name: CHECKPOINT_NAME.to_owned(), fault })
}

/// Removes the files of records that are not in `names`: a crash has left them, and no checkpoint counts them. A
/// missing sealed part is logged by name, and everything else is answered without it.
pub(crate) fn remove_others(folder: &dyn Folder, names: &[String]) -> Result<(), HistoryError> {
    let found = folder.list().map_err(in_folder)?;
    let names: HashSet<&String> = names.iter().collect();
    for missing in names.iter().filter(|name| !found.contains(name)) {
        tracing::error!(
            "{HISTORY_FOLDER}/{missing} is missing: what it holds cannot be told; restore it from a backup"
        );
    }
    for name in found.iter().filter(|name| is_ours(name) && !names.contains(name)) {
        folder.remove(name).map_err(|source| HistoryError::Io { name: name.clone(), source })?;
    }
    Ok(())
}

fn is_ours(name: &str) -> bool {
    OURS.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_a_history_are_its_names() {
        for name in [
            "checkpoint",
            LEAPS_NAME,
            "orders-000000.tab",
            "orders-1000000.sealed",
            "trades-000001.tab",
            "notes-000002.sealed",
            "candles.tab",
            "carried.tab",
            "carried-000003.tab",
            BEGUN_NAME,
            OLD_NAME,
        ] {
            assert!(is_file_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "access.toml",
            "orders-/../x.tab",
            "orders-000000.tab/x",
            "orders-1.sealed.new",
            "orders",
            "x-1.tab",
        ] {
            assert!(!is_file_name(name), "{name}");
        }
    }
}
