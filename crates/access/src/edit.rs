//! Changes of an access file: each is complete or does not happen, is on the disk before it counts, and has a record.

use std::path::Path;
use std::time::SystemTime;

use exchange::Mode;

use crate::change::{Author, Change, NewKey, NewMember, Revoked, Unchanged, record};
use crate::listing::ListedMember;
use crate::locked::Locked;
use crate::table::Table;
use crate::{Access, file, text};

/// The first lines of a new file.
const HEAD: &str = "# Members of Pricetime and their keys. Whoever reads this file may be able to act for them.\n\
    # `pricetime access add|revoke|list` changes it and shows it; a running server follows it within a second.\n";

/// Lists all members of a file. Errors: it is no access file.
pub fn list(path: &Path) -> Result<Vec<ListedMember>, String> {
    file::members(&file::text(path)?).map_err(|why| format!("{}, {why}", path.display()))
}

/// Adds a key, for an existing member or for a new one. Makes the file if it is missing. Errors: the file cannot be
/// written, the result would be no access file, or the member exists and `member` has rights for it.
pub fn add(path: &Path, key: &NewKey<'_>, member: NewMember<'_>, author: Author<'_>) -> Result<(), String> {
    let is_new = !member.roles.is_empty() || !member.accounts.is_empty();
    let name = key.member;
    let is_there = path.exists() && list(path)?.iter().any(|there| there.name == name);
    if is_there && is_new {
        return Err(format!(
            "{}: member {name:?} is there already; its roles and accounts are changed in the file",
            path.display()
        ));
    }
    let change = if is_there { Change::Key(key) } else { Change::KeyOfNew(key, member) };
    of_file(path, edit(path, &change, author))
}

/// Removes a key, or a member with all its keys. Errors: it does not exist, or the file cannot be written.
pub fn revoke(path: &Path, revoked: Revoked<'_>, author: Author<'_>) -> Result<(), String> {
    of_file(path, edit(path, &Change::Revoked(revoked), author))
}

/// Sets how far the venue is open. Errors: the file cannot be written.
pub fn set_mode(path: &Path, mode: Mode, author: Author<'_>) -> Result<(), String> {
    of_file(path, edit(path, &Change::Mode(mode), author))
}

fn of_file(path: &Path, done: Result<(), Unchanged>) -> Result<(), String> {
    done.map_err(|why| format!("{}: {why}", path.display()))
}

impl Access {
    /// Changes the file of these members; the change counts from now on. Errors: among others, no operator would be
    /// left who can change it again.
    pub fn change(&self, change: &Change<'_>, author: Author<'_>) -> Result<(), Unchanged> {
        let path = self.file().ok_or_else(|| Unchanged::Failed("the members are of no file".to_owned()))?;
        let sound = |table: &Table| match table.has_operator(SystemTime::now().into()) {
            true => Ok(()),
            false => Err(Unchanged::NoOperator),
        };
        if let Some(common) = self.common()
            && common.change(self, path, (change, author), sound)?
        {
            return Ok(());
        }
        let (table, _locked) = edit_if(path, change, author, sound)?;
        self.replace(table);
        Ok(())
    }

    /// Lists all members of the file. Errors: it cannot be read.
    pub fn listed(&self) -> Result<Vec<ListedMember>, String> {
        self.file().map_or_else(|| Ok(Vec::new()), list)
    }
}

fn edit(path: &Path, change: &Change<'_>, author: Author<'_>) -> Result<(), Unchanged> {
    edit_if(path, change, author, |_| Ok(())).map(drop)
}

/// Changes a file if the result is `sound`. Returns the new members and the lock: until it is dropped nothing else
/// changes the file. Errors: those of the change, or of `sound`.
fn edit_if(
    path: &Path,
    change: &Change<'_>,
    author: Author<'_>,
    sound: impl Fn(&Table) -> Result<(), Unchanged>,
) -> Result<(Table, Locked), Unchanged> {
    let mut locked = Locked::take(path).map_err(Unchanged::Failed)?;
    let text = locked.text().map_err(Unchanged::Failed)?.unwrap_or_else(|| HEAD.to_owned());
    let (new, table) = text::changed(&text, change)?;
    sound(&table)?;
    locked.replace(&new, &record(change, author)).map_err(Unchanged::Failed)?;
    Ok((table, locked))
}
