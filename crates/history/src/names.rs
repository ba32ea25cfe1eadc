//! Which files a history has.

use std::collections::HashSet;

use engine::{OrderId, Sequence};
use journal::Storage;

use crate::before::{BEGUN_NAME, OLD_NAME};
use crate::carried::Carried;
use crate::checkpoint::{Checkpoint, Kept};
use crate::error::{HistoryError, in_folder};
use crate::folder::{self, Folder};
use crate::former;
use crate::note::NOTES;
use crate::record::{CANDLES, ORDERS, TRADES};
use crate::table::{Reach, Table};

/// What names of files of records begin with.
const OURS: [&str; 5] = ["orders-", "trades-", "candles-", "carried-", "notes-"];

/// How far the checkpoint of a data folder's history goes; none without a history.
pub fn through<S: Storage>(home: &S) -> Result<Option<Sequence>, HistoryError> {
    let folder = match folder::look_at(home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(in_folder)?,
    };
    Ok(Checkpoint::read(&*folder)?.map(|checkpoint| checkpoint.heads.through))
}

/// The files of records that the checkpoint of a data folder's history counts; none without a history.
pub fn file_names<S: Storage>(home: &S) -> Result<Vec<String>, HistoryError> {
    let folder = match folder::look_at(home) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        opened => opened.map_err(in_folder)?,
    };
    Ok(Checkpoint::read(&*folder)?.map(|checkpoint| checkpoint.names()).unwrap_or_default())
}

impl Checkpoint {
    pub(crate) fn names(&self) -> Vec<String> {
        match self.is_former {
            true => former::NAMES.into_iter().map(str::to_owned).chain(candles(&self.kept)).collect(),
            false if self.heads.first_order > OrderId(1) => {
                let before = [BEGUN_NAME, OLD_NAME].map(str::to_owned);
                self.kept.names().into_iter().chain(before).collect()
            }
            false => self.kept.names(),
        }
    }
}

impl Kept {
    /// All files of records that it counts.
    pub(crate) fn names(&self) -> Vec<String> {
        let [orders, trades, _, notes] = self.records;
        let mut names = Table::names(&ORDERS, self.part_records, orders, &self.reach[0]);
        names.extend(Table::names(&TRADES, self.part_records, trades, &self.reach[1]));
        names.extend(Table::names(&NOTES, self.part_records, notes, &self.reach[2]));
        names.extend(candles(self));
        names.extend(Carried::names(self.carried_file, self.carried));
        names
    }
}

fn candles(kept: &Kept) -> Vec<String> {
    Table::names(&CANDLES, 0, kept.records[2], &Reach::default())
}

/// Removes files of records that are not among these: what a crash left of work that no checkpoint counts.
pub(crate) fn remove_others(folder: &dyn Folder, names: &[String]) -> Result<(), HistoryError> {
    let found = folder.list().map_err(in_folder)?;
    let names: HashSet<&String> = names.iter().collect();
    let is_ours = |name: &&String| OURS.iter().any(|begin| name.starts_with(begin));
    for name in found.iter().filter(is_ours).filter(|name| !names.contains(name)) {
        folder.remove(name).map_err(|source| HistoryError::Io { name: name.clone(), source })?;
    }
    Ok(())
}
