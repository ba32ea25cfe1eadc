//! Changes the text of an access file: the rest stays as somebody wrote it, with its comments.

use exchange::Mode;

use crate::change::{Change, NewKey, NewMember, Revoked, Unchanged};
use crate::file;
use crate::table::Table;

/// Returns the changed text, and what it says. Errors: the member or key does not exist, or exists already, or the file
/// is written otherwise, or it would be wrong.
pub(crate) fn changed(text: &str, change: &Change<'_>) -> Result<(String, Table), Unchanged> {
    let before = match (file::parse(text), change) {
        (Ok(before), _) => before,
        // A mode that there is not can be set right.
        (Err(_), Change::Mode(_)) => Table::default(),
        (Err(why), _) => return Err(Unchanged::Failed(why)),
    };
    let new = changed_text(text, &before, change)?;
    let table = file::parse(&new).map_err(Unchanged::Wrong)?;
    // A file can be written in more ways than are changed here, and a wrong line would be changed without a word.
    if is_done(&before, &table, change) { Ok((new, table)) } else { Err(Unchanged::WrittenOtherwise) }
}

/// Whether the file says what was asked for, and has the other members and keys that it had, with their rights.
fn is_done(before: &Table, after: &Table, change: &Change<'_>) -> bool {
    let has_key = |key: &NewKey<'_>| after.key(key.id).is_some_and(|there| there.member.name == key.member);
    let has_member = |name: &str, member: &NewMember<'_>| {
        let alone = file::parse(&member_text(name, member)).ok();
        let asked = alone.as_ref().and_then(|alone| alone.member(name));
        asked.zip(after.member(name)).is_some_and(|(asked, there)| asked.rights == there.rights)
    };
    let changed = match change {
        Change::Rights(name, _) | Change::Revoked(Revoked::Member(name)) => Some(*name),
        Change::Member(..)
        | Change::KeyOfNew(..)
        | Change::Key(_)
        | Change::Revoked(Revoked::Key(_))
        | Change::Mode(_) => None,
    };
    if !before.others_keep_their_rights(after, changed) {
        return false;
    }
    let (is_it, members, keys) = match change {
        Change::Mode(mode) => return after.mode == *mode,
        Change::Member(name, member) => (has_member(name, member), before.members() + 1, before.len()),
        Change::KeyOfNew(key, member) => {
            (has_member(key.member, member) && has_key(key), before.members() + 1, before.len() + 1)
        }
        Change::Key(key) => (has_key(key), before.members(), before.len() + 1),
        Change::Rights(name, member) => (has_member(name, member), before.members(), before.len()),
        Change::Revoked(Revoked::Key(id)) => {
            (after.key(id).is_none(), before.members(), before.len().saturating_sub(1))
        }
        Change::Revoked(Revoked::Member(name)) => {
            let keys = before.len().saturating_sub(before.keys_of(name));
            (after.member(name).is_none(), before.members().saturating_sub(1), keys)
        }
    };
    is_it && (after.members(), after.len(), after.mode) == (members, keys, before.mode)
}

fn changed_text(text: &str, before: &Table, change: &Change<'_>) -> Result<String, Unchanged> {
    let is_there = |name: &str| before.member(name).is_some();
    match change {
        Change::Member(name, _) if is_there(name) => Err(Unchanged::IsThere),
        Change::Member(name, member) => Ok(with_member(text, name, member)),
        Change::KeyOfNew(key, _) if is_there(key.member) => Err(Unchanged::IsThere),
        Change::KeyOfNew(key, member) => Ok(with_member(text, key.member, member) + &key_text(key)?),
        Change::Key(key) if !is_there(key.member) => Err(Unchanged::Unknown),
        Change::Key(key) => with_key(text, key),
        Change::Rights(name, _) if !is_there(name) => Err(Unchanged::Unknown),
        Change::Rights(name, member) => with_rights(text, name, member),
        Change::Revoked(revoked) => without(text, before, revoked),
        Change::Mode(mode) => Ok(with_mode(text, *mode)),
    }
}

/// Writes the mode before the first table: where it was, or at the end of that part.
fn with_mode(text: &str, mode: Mode) -> String {
    let head_end = tables(text).first().map_or(text.len(), |table| table.start);
    let (head, tables) = text.split_at(head_end);
    let line = format!("mode = {}\n", quoted(mode.name()));
    let is_mode = |line: &str| line.split('=').next().is_some_and(|name| name.trim() == "mode");
    match lines(head).find(|(_, old)| is_mode(old)) {
        Some((start, old)) => {
            let (before, rest) = text.split_at(start);
            format!("{before}{line}{}", rest.split_at(old.len()).1)
        }
        None => {
            let end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
            format!("{head}{end}{line}{tables}")
        }
    }
}

/// Lists the lines of a text, each with its offset.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    })
}

fn with_member(text: &str, name: &str, member: &NewMember<'_>) -> String {
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("{text}{end}\n{}", member_text(name, member))
}

fn member_text(name: &str, member: &NewMember<'_>) -> String {
    let list = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<String>>().join(", ");
    let (roles, accounts) = (list(member.roles), list(member.accounts));
    let limits = member.limits.map(|limits| format!("limits = {limits}\n")).unwrap_or_default();
    let budget = member.budget.map(|budget| format!("budget = {budget}\n")).unwrap_or_default();
    format!("[[member]]\nname = {}\nroles = [{roles}]\naccounts = [{accounts}]\n{limits}{budget}", quoted(name))
}

/// Writes a key. Errors: its expiry is no time.
fn key_text(key: &NewKey<'_>) -> Result<String, Unchanged> {
    let (id, field, value) = (quoted(key.id), key.kind.field(), quoted(key.value));
    let expires = key.expires.map(|time| time.parse::<toml::value::Datetime>());
    let expires = expires.transpose().map_err(|_| Unchanged::Wrong(file::NO_TIME.to_owned()))?;
    let expires = expires.map(|time| format!("expires = {time}\n")).unwrap_or_default();
    Ok(format!("[[member.key]]\nid = {id}\n{field} = {value}\n{expires}"))
}

/// Writes a string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// Adds a key to a member. Errors: the members are not written as `[[member]]`.
fn with_key(text: &str, key: &NewKey<'_>) -> Result<String, Unchanged> {
    let tables = tables(text);
    let member = place_of(&tables, key.member)?;
    let rest = tables.iter().skip(member + 1);
    let after = rest.take_while(|table| !table.is_member()).last().unwrap_or(&tables[member]).end;
    let (before, behind) = text.split_at(after);
    let end = if before.ends_with('\n') { "" } else { "\n" };
    Ok(format!("{before}{end}{}{behind}", key_text(key)?))
}

/// Replaces a member's rights. Errors: as for `with_key`.
fn with_rights(text: &str, name: &str, member: &NewMember<'_>) -> Result<String, Unchanged> {
    let tables = tables(text);
    let table = &tables[place_of(&tables, name)?];
    let (before, rest) = text.split_at(table.start);
    let (of_member, behind) = rest.split_at(table.end - table.start);
    // Comments, which may be about what follows, and empty lines stay.
    let is_kept = |line: &&str| line.trim_start().starts_with('#') || line.trim().is_empty();
    let kept: String = of_member.split_inclusive('\n').filter(is_kept).collect();
    Ok(format!("{before}{}{kept}{behind}", member_text(name, member)))
}

fn place_of(tables: &[TableText<'_>], member: &str) -> Result<usize, Unchanged> {
    tables.iter().position(|table| table.is_member_named(member)).ok_or(Unchanged::WrittenOtherwise)
}

/// Removes a key or a member. Errors: it does not exist, or the file is written otherwise.
fn without(text: &str, before: &Table, revoked: &Revoked<'_>) -> Result<String, Unchanged> {
    let there = match revoked {
        Revoked::Key(id) => before.key(id).is_some(),
        Revoked::Member(name) => before.member(name).is_some(),
    };
    if !there {
        return Err(Unchanged::Unknown);
    }
    let tables = tables(text);
    let is_it = |table: &TableText<'_>| match revoked {
        Revoked::Key(id) => table.is_key_of(id),
        Revoked::Member(name) => table.is_member_named(name),
    };
    let first = tables.iter().position(is_it).ok_or(Unchanged::WrittenOtherwise)?;
    let behind = match revoked {
        Revoked::Key(_) => first + 1,
        Revoked::Member(_) => first + 1 + tables.iter().skip(first + 1).take_while(|table| !table.is_member()).count(),
    };
    let kept = |range: &TableText<'_>| text.get(range.start..range.end).unwrap_or_default();
    let head = text.get(..tables.first().map_or(text.len(), |table| table.start)).unwrap_or_default();
    let tables = tables.iter().enumerate().filter(|(index, _)| !(first..behind).contains(index));
    Ok(head.to_owned() + &tables.map(|(_, table)| kept(table)).collect::<String>())
}

/// A table of the file: from its header to the next one.
struct TableText<'a> {
    text: &'a str,
    start: usize,
    end: usize,
}

impl TableText<'_> {
    fn is_member(&self) -> bool {
        self.text.trim_start().starts_with("[[member]]")
    }

    fn has(&self, field: &str, value: &str) -> bool {
        #[derive(serde::Deserialize)]
        struct Any {
            member: Vec<toml::Table>,
        }
        // One table alone is a valid file, too: a `member.key` becomes a member of its own.
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

fn tables(text: &str) -> Vec<TableText<'_>> {
    let starts: Vec<usize> =
        lines(text).filter(|(_, line)| line.trim_start().starts_with("[[")).map(|(start, _)| start).collect();
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let range = |(start, end): (usize, usize)| TableText { text: text.get(start..end).unwrap_or_default(), start, end };
    starts.iter().copied().zip(ends).map(range).collect()
}
