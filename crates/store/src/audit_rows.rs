//! The audit trail as rows: the caller of each command, gathered on the loop's thread beside the effects of the
//! commands, and written with them. This file knows no SQL.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::Arc;

use exchange::Caller;
use foldhash::fast::FixedState;
use terms::{Command, Sequence, Time};

use crate::column::table;

/// The commands of one transaction, from the first one on, and the callers that were not noted before.
#[derive(Debug, Default)]
pub struct AuditRows {
    /// Whether these rows name no caller of earlier rows.
    pub anew: bool,
    pub commands: Vec<CommandRow>,
    pub callers: Vec<CallerRow>,
}

#[derive(Debug)]
pub struct CommandRow {
    pub time: Time,
    /// The caller; none for a command of the loop.
    pub caller: Option<u64>,
    pub what: String,
}

#[derive(Debug)]
pub struct CallerRow {
    /// The first command noted under this caller.
    pub id: u64,
    pub protocol: String,
    pub session: u64,
    pub member: String,
    pub key: String,
    pub address: String,
}

table! { callers: CallerRow, row =>
    id: row.id,
    protocol: row.protocol,
    session: row.session,
    member: Some(row.member.as_str()).filter(|member| !member.is_empty()),
    key: Some(row.key.as_str()).filter(|key| !key.is_empty()),
    address: row.address.parse::<IpAddr>().ok(),
}

impl AuditRows {
    pub(crate) fn clear(&mut self) {
        self.anew = false;
        self.commands.clear();
        self.callers.clear();
    }
}

/// The number of commands after which callers are noted anew, so that retention finds where to stop.
const ANEW_AFTER: usize = 1 << 16;

/// The ids of noted callers, by their key.
pub struct CallerIds<K> {
    known: HashMap<K, u64, FixedState>,
    /// The number of commands since it was empty.
    noted: usize,
}

impl<K: Hash + Eq> CallerIds<K> {
    /// Announces the commands whose rows follow.
    pub fn begin(&mut self, commands: usize, rows: &mut AuditRows) {
        if rows.commands.is_empty() && (self.noted == 0 || self.noted >= ANEW_AFTER) {
            (rows.anew, self.noted) = (true, 0);
            self.known.clear();
        }
        self.noted += commands;
    }

    /// The id of a command's caller. A caller that was not noted before is noted under the number of this command.
    pub fn of(&mut self, key: K, command: u64, rows: &mut AuditRows, row: impl FnOnce(u64) -> CallerRow) -> u64 {
        *self.known.entry(key).or_insert_with(|| {
            rows.callers.push(row(command));
            command
        })
    }
}

impl<K> Default for CallerIds<K> {
    fn default() -> CallerIds<K> {
        CallerIds { known: HashMap::default(), noted: 0 }
    }
}

/// Notes the callers of each turn's commands.
pub(crate) struct Auditor {
    describe: fn(&Command) -> String,
    /// The commands of the turn so far, in words.
    whats: Vec<String>,
    runs: Vec<(Option<Arc<Caller>>, u32)>,
    /// The callers by their numbers in this process.
    ids: CallerIds<u64>,
}

impl Auditor {
    /// Makes an auditor without callers; `describe` puts a command into words.
    pub fn new(describe: fn(&Command) -> String) -> Auditor {
        Auditor { describe, whats: Vec::new(), runs: Vec::new(), ids: CallerIds::default() }
    }

    /// Adds the next command of the turn.
    pub fn command(&mut self, command: &Command) {
        self.whats.push((self.describe)(command));
    }

    /// Gives the caller of the next of these commands.
    pub fn asked_by(&mut self, caller: Option<&Arc<Caller>>, commands: u32) {
        self.runs.push((caller.cloned(), commands));
    }

    /// Adds the turn to rows. Its first command has this number, and all have this time.
    pub fn note(&mut self, first: Sequence, time: Time, rows: &mut AuditRows) {
        self.ids.begin(self.whats.len(), rows);
        let (mut whats, mut next) = (self.whats.drain(..), first.0);
        for (caller, commands) in self.runs.drain(..) {
            let caller = caller.map(|caller| self.ids.of(caller.number(), next, rows, |id| CallerRow::of(&caller, id)));
            let run = whats.by_ref().take(commands as usize);
            rows.commands.extend(run.map(|what| CommandRow { time, caller, what }));
            next += u64::from(commands);
        }
        assert!(whats.next().is_none(), "invariant: it was said of each command whose it is");
    }
}

impl CallerRow {
    fn of(caller: &Caller, id: u64) -> CallerRow {
        CallerRow {
            id,
            protocol: caller.protocol().name().to_owned(),
            session: caller.session(),
            member: caller.member().to_owned(),
            key: caller.key().to_owned(),
            address: caller.address().to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_many_commands_all_are_noted_anew() {
        let mut ids = CallerIds::default();
        let row = |id| CallerRow {
            id,
            protocol: "xml".to_owned(),
            session: 1,
            member: String::new(),
            key: String::new(),
            address: "192.0.2.1".to_owned(),
        };
        let (mut first, mut anew) = (1, Vec::new());
        for _ in 0..10 {
            let (mut rows, commands) = (AuditRows::default(), ANEW_AFTER / 4);
            ids.begin(commands, &mut rows);
            let (one, again) = (ids.of("one", first, &mut rows, row), ids.of("one", first + 1, &mut rows, row));
            assert_eq!((one, rows.callers.len()), (again, usize::from(rows.anew)));
            assert!(!rows.anew || one == first, "who asks is noted under its first command");
            anew.push(rows.anew);
            first += commands as u64;
        }
        assert_eq!(anew, [true, false, false, false, true, false, false, false, true, false]);
    }
}
