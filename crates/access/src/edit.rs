//! Changes of an access file: all or nothing, on the disk before they count, and each on record.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{FlockOperation, flock};

use crate::listing::{KeyKind, ListedMember};
use crate::time::written;
use crate::{Access, file};

/// What a new file begins with.
const HEAD: &str = "# Members of Pricetime and their keys. Whoever reads this file may be able to act for them.\n\
    # `pricetime access add|revoke|list` changes it and shows it; a running server follows it within a second.\n";

/// A key to be added.
pub struct NewKey<'a> {
    pub member: &'a str,
    pub id: &'a str,
    pub kind: KeyKind,
    /// What the file holds of it.
    pub value: &'a str,
    /// RFC 3339.
    pub expires: Option<&'a str>,
}

/// What a member is to be who is not there yet.
pub struct NewMember<'a> {
    pub roles: &'a [String],
    pub accounts: &'a [String],
}

/// What is to go.
pub enum Revoked<'a> {
    Key(&'a str),
    /// With all its keys.
    Member(&'a str),
}

/// Who changes the file, and from where.
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
pub fn add(path: &Path, key: &NewKey<'_>, member: &NewMember<'_>, author: &Author<'_>) -> Result<(), String> {
    let NewKey { member: name, id, kind, .. } = key;
    change(path, author, &format!("add member={name} key={id} kind={kind}"), |text| {
        let there = file::members(text)?.into_iter().find(|there| there.name == *name);
        match there {
            None => Ok(with_member(text, key, member)),
            Some(_) if !member.roles.is_empty() || !member.accounts.is_empty() => {
                Err(format!("member {name:?} is there already; its roles and accounts are changed in the file"))
            }
            Some(_) => with_key(text, key),
        }
    })
}

/// Takes a key away, or a member with all of them. Errors: there is none, or the file cannot be written.
pub fn revoke(path: &Path, revoked: &Revoked<'_>, author: &Author<'_>) -> Result<(), String> {
    let what = match revoked {
        Revoked::Key(id) => format!("revoke key={id}"),
        Revoked::Member(name) => format!("revoke member={name}"),
    };
    change(path, author, &what, |text| without(text, revoked))
}

/// Puts a changed text in the place of a file's, under a lock that others who change it wait for.
fn change(
    path: &Path,
    author: &Author<'_>,
    what: &str,
    edit: impl FnOnce(&str) -> Result<String, String>,
) -> Result<(), String> {
    let at = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    let (log_path, new_path) = (beside(path, "log"), beside(path, "new"));
    let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&log_path);
    let mut log = log.map_err(|error| at(&log_path, error))?;
    flock(&log, FlockOperation::LockExclusive).map_err(|error| at(&log_path, error.into()))?;
    let text = match path.try_exists() {
        Ok(false) => HEAD.to_owned(),
        Ok(true) => file::text(path)?,
        Err(error) => return Err(at(path, error)),
    };
    let new = edit(&text).map_err(|why| format!("{}: {why}", path.display()))?;
    Access::parse(&new).map_err(|why| format!("{} would be wrong, and was not changed: {why}", path.display()))?;
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
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| at(folder, error))
}

/// The path of the file that belongs to this one.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    PathBuf::from(name)
}

fn with_member(text: &str, key: &NewKey<'_>, member: &NewMember<'_>) -> String {
    let list = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(", ");
    let (roles, accounts) = (list(member.roles), list(member.accounts));
    let name = quoted(key.member);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}\n[[member]]\nname = {name}\nroles = [{roles}]\naccounts = [{accounts}]\n{}", key_text(key))
}

fn key_text(key: &NewKey<'_>) -> String {
    let (id, field, value) = (quoted(key.id), key.kind.field(), quoted(key.value));
    let expires = key.expires.map(|time| format!("expires = {time}\n")).unwrap_or_default();
    format!("[[member.key]]\nid = {id}\n{field} = {value}\n{expires}")
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Errors: the members are not written as `[[member]]`.
fn with_key(text: &str, key: &NewKey<'_>) -> Result<String, String> {
    let tables = tables(text);
    let member = tables.iter().position(|table| table.is_member_named(key.member)).ok_or(WRITTEN_OTHERWISE)?;
    let rest = tables.iter().skip(member + 1);
    let after = rest.take_while(|table| !table.is_member()).last().unwrap_or(&tables[member]).end;
    let (before, behind) = text.split_at(after);
    let end = if before.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{before}{end}{}{behind}", key_text(key)))
}

const WRITTEN_OTHERWISE: &str =
    "members and keys are written otherwise than as [[member]] and [[member.key]]; change them by hand";

/// Errors: there is no such key or member, or the file is written otherwise.
fn without(text: &str, revoked: &Revoked<'_>) -> Result<String, String> {
    let members = file::members(text)?;
    let there = match revoked {
        Revoked::Key(id) => members.iter().any(|member| member.keys.iter().any(|key| key.id == *id)),
        Revoked::Member(name) => members.iter().any(|member| member.name == *name),
    };
    if !there {
        return Err("there is none of this name".to_owned());
    }
    let tables = tables(text);
    let is_it = |table: &Table<'_>| match revoked {
        Revoked::Key(id) => table.is_key_of(id),
        Revoked::Member(name) => table.is_member_named(name),
    };
    let first = tables.iter().position(is_it).ok_or(WRITTEN_OTHERWISE)?;
    let behind = match revoked {
        Revoked::Key(_) => first + 1,
        Revoked::Member(_) => first + 1 + tables.iter().skip(first + 1).take_while(|table| !table.is_member()).count(),
    };
    let kept = |range: &Table<'_>| text.get(range.start..range.end).unwrap_or_default();
    let head = text.get(..tables.first().map_or(text.len(), |table| table.start)).unwrap_or_default();
    let tables = tables.iter().enumerate().filter(|(index, _)| !(first..behind).contains(index));
    Ok(head.to_owned() + &tables.map(|(_, table)| kept(table)).collect::<String>())
}

/// A table of the file: from its header to the next one.
struct Table<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

impl Table<'_> {
    fn is_member(&self) -> bool {
        self.text.trim_start().starts_with("[[member]]")
    }

    fn has(&self, field: &str, value: &str) -> bool {
        #[derive(serde::Deserialize)]
        struct Any {
            member: Vec<toml::Table>,
        }
        // One table alone is a file, too: `member.key` alone stands in a member of its own.
        let Ok(Any { member }) = toml::from_str(&self.text.replacen("[[member.key]]", "[[member]]", 1)) else {
            return false;
        };
        member.first().and_then(|table| table.get(field)?.as_str()) == Some(value)
    }

    fn is_member_named(&self, name: &str) -> bool {
        self.is_member() && self.has("name", name)
    }

    fn is_key_of(&self, id: &str) -> bool {
        !self.is_member() && self.has("id", id)
    }
}

fn tables(text: &str) -> Vec<Table<'_>> {
    let lines = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let starts: Vec<usize> =
        lines.filter(|(_, line)| line.trim_start().starts_with("[[")).map(|(start, _)| start).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let range = |(start, end): (usize, usize)| Table { text: text.get(start..end).unwrap_or_default(), start, end };
    starts.iter().copied().zip(ends).map(range).collect()
}
