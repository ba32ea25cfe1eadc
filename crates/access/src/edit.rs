//! Changes of an access file: all or nothing, on the disk before they count, and each on record.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use exchange::Mode;
use rustix::fs::{FlockOperation, flock};

use crate::change::{Change, NewKey, NewMember, Revoked, Unchanged};
use crate::listing::ListedMember;
use crate::table::Table;
use crate::time::written;
use crate::{Access, file, text};

/// What a new file begins with.
const HEAD: &str = "# Members of Pricetime and their keys. Whoever reads this file may be able to act for them.\n\
    # `pricetime access add|revoke|list` changes it and shows it; a running server follows it within a second.\n";

/// Who changes the file, and from where.
#[derive(Clone, Copy)]
pub struct Author<'a> {
    pub name: &'a str,
    pub from: &'a str,
}

/// All who stand in a file. Errors: it is no access file.
pub fn list(path: &Path) -> Result<Vec<ListedMember>, String> {
    file::members(&file::text(path)?).map_err(|why| format!("{}, {why}", path.display()))
}

/// Adds a key, for a member that is there or for a new one. The file is made if it is missing. Errors: it cannot be written, it would be
/// no access file any more, or the member is there and is to be something else.
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

/// Takes a key away, or a member with all of them. Errors: there is none, or the file cannot be written.
pub fn revoke(path: &Path, revoked: Revoked<'_>, author: Author<'_>) -> Result<(), String> {
    of_file(path, edit(path, &Change::Revoked(revoked), author))
}

/// Says how far the venue is open. Errors: the file cannot be written.
pub fn set_mode(path: &Path, mode: Mode, author: Author<'_>) -> Result<(), String> {
    of_file(path, edit(path, &Change::Mode(mode), author))
}

fn of_file(path: &Path, done: Result<(), Unchanged>) -> Result<(), String> {
    done.map_err(|why| format!("{}: {why}", path.display()))
}

impl Access {
    /// Changes the file that these members are of, which counts from now on. An operator stays who can change it again.
    pub fn change(&self, change: &Change<'_>, author: Author<'_>) -> Result<(), Unchanged> {
        let path = self.file().ok_or_else(|| Unchanged::Failed("the members are of no file".to_owned()))?;
        let sound = |table: &Table| match table.has_operator(SystemTime::now().into()) {
            true => Ok(()),
            false => Err(Unchanged::NoOperator),
        };
        let (table, _locked) = edit_if(path, change, author, sound)?;
        self.replace(table);
        Ok(())
    }

    /// All who stand in the file that these members are of. Errors: it cannot be read.
    pub fn listed(&self) -> Result<Vec<ListedMember>, String> {
        self.file().map_or_else(|| Ok(Vec::new()), list)
    }
}

fn edit(path: &Path, change: &Change<'_>, author: Author<'_>) -> Result<(), Unchanged> {
    edit_if(path, change, author, |_| Ok(())).map(drop)
}

/// What is there now, and the lock: until it is dropped nobody changes the file again. Errors: as told, or what is to be is not sound.
fn edit_if(
    path: &Path,
    change: &Change<'_>,
    author: Author<'_>,
    sound: impl Fn(&Table) -> Result<(), Unchanged>,
) -> Result<(Table, File), Unchanged> {
    replace(path, author, &record(change), sound, |text| text::changed(text, change))
}

/// What the record says of a change: never a secret.
fn record(change: &Change<'_>) -> String {
    let of_member = |name: &str, NewMember { roles, accounts, limits, budget }: &NewMember<'_>| {
        let limits = limits.map(|limits| format!(" limits={limits}")).unwrap_or_default();
        let budget = budget.map(|budget| format!(" budget={budget}")).unwrap_or_default();
        format!("member={name} roles={} accounts={}{limits}{budget}", roles.join(","), accounts.join(","))
    };
    let of_key = |NewKey { member, id, kind, .. }: &NewKey<'_>| format!("add member={member} key={id} kind={kind}");
    match change {
        Change::Member(name, member) => format!("add {}", of_member(name, member)),
        Change::Rights(name, member) => format!("set {}", of_member(name, member)),
        Change::Key(key) | Change::KeyOfNew(key, _) => of_key(key),
        Change::Mode(mode) => format!("mode {}", mode.name()),
        Change::Revoked(Revoked::Key(id)) => format!("revoke key={id}"),
        Change::Revoked(Revoked::Member(name)) => format!("revoke member={name}"),
    }
}

/// Puts a changed text in the place of a file's, under a lock that others who change it wait for.
fn replace(
    path: &Path,
    author: Author<'_>,
    what: &str,
    sound: impl Fn(&Table) -> Result<(), Unchanged>,
    change: impl FnOnce(&str) -> Result<String, Unchanged>,
) -> Result<(Table, File), Unchanged> {
    let at = |path: &Path, error: std::io::Error| Unchanged::Failed(format!("{}: {error}", path.display()));
    let (log_path, new_path) = (beside(path, "log"), beside(path, "new"));
    if let Some(folder) = folder_of(path).filter(|folder| !folder.exists()) {
        return Err(Unchanged::Failed(format!("there is no folder {}: make it first", folder.display())));
    }
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&log_path);
    let mut log = log.map_err(|error| at(&log_path, error))?;
    flock(&log, FlockOperation::LockExclusive).map_err(|error| at(&log_path, error.into()))?;
    let text = match path.try_exists() {
        Ok(false) => HEAD.to_owned(),
        Ok(true) => file::text(path).map_err(Unchanged::Failed)?,
        Err(error) => return Err(at(path, error)),
    };
    let new = change(&text)?;
    let table = file::parse(&new).map_err(Unchanged::Wrong)?;
    sound(&table)?;
    match fs::remove_file(&new_path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(at(&new_path, error)),
        Ok(()) | Err(_) => {}
    }
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new_path);
    let written_out = file.and_then(|mut file| file.write_all(new.as_bytes()).and_then(|()| file.sync_all()));
    written_out.map_err(|error| at(&new_path, error))?;
    let Author { name, from } = author;
    // It is on record before it counts: nothing is changed that nobody knows of.
    let line = format!("{} user={name} from={from} {what}\n", written(SystemTime::now().into()));
    log.write_all(line.as_bytes()).and_then(|()| log.sync_all()).map_err(|error| at(&log_path, error))?;
    fs::rename(&new_path, path).map_err(|error| at(path, error))?;
    let folder = folder_of(path).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| at(folder, error))?;
    Ok((table, log))
}

/// The folder that a path names; none for a file of the current one.
fn folder_of(path: &Path) -> Option<&Path> {
    path.parent().filter(|folder| !folder.as_os_str().is_empty())
}

/// The path of the file that belongs to this one.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}
