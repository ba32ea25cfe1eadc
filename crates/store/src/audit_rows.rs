//! Who asked for which command, as rows: gathered on the loop's thread beside the effects of the commands, and written with them. It
//! knows no SQL.

use std::collections::HashMap;
use std::sync::Arc;

use engine::{Command, Sequence, Time};
use exchange::Caller;
use foldhash::fast::FixedState;

/// The commands of one transaction, from the first one on, and whoever was not noted before.
#[derive(Debug, Default)]
pub(crate) struct AuditRows {
    /// No caller of before is named from here on.
    pub anew: bool,
    pub commands: Vec<CommandRow>,
    pub callers: Vec<CallerRow>,
}

#[derive(Debug)]
pub(crate) struct CommandRow {
    pub time: Time,
    /// None: the server gave it by itself.
    pub caller: Option<u64>,
    pub what: String,
}

#[derive(Debug)]
pub(crate) struct CallerRow {
    /// The first command noted under it.
    pub id: u64,
    pub protocol: String,
    pub session: u64,
    pub member: String,
    pub key: String,
    pub address: String,
}

impl AuditRows {
    pub fn clear(&mut self) {
        self.anew = false;
        self.commands.clear();
        self.callers.clear();
    }
}

/// After so many commands callers are noted anew, so that whoever removes what is old finds where to stop.
const ANEW_AFTER: usize = 1 << 16;

/// Notes whose the commands of each turn are.
pub(crate) struct Auditor {
    describe: fn(&Command) -> String,
    /// Of the turn so far.
    whats: Vec<String>,
    runs: Vec<(Option<Arc<Caller>>, u32)>,
    /// The ids of those who were noted, by their numbers in this process.
    known: HashMap<u64, u64, FixedState>,
    /// Commands since it knew nobody.
    noted: usize,
}

impl Auditor {
    /// One that knows nobody; `describe` says in words what a command is.
    pub fn new(describe: fn(&Command) -> String) -> Auditor {
        Auditor { describe, whats: Vec::new(), runs: Vec::new(), known: HashMap::default(), noted: 0 }
    }

    /// The next command of the turn.
    pub fn command(&mut self, command: &Command) {
        self.whats.push((self.describe)(command));
    }

    /// Whose the next ones of them are.
    pub fn asked_by(&mut self, caller: Option<&Arc<Caller>>, commands: u32) {
        self.runs.push((caller.cloned(), commands));
    }

    /// Adds the turn to rows. Its first command has this number, all have this time.
    pub fn note(&mut self, first: Sequence, time: Time, rows: &mut AuditRows) {
        if rows.commands.is_empty() && (self.noted == 0 || self.noted >= ANEW_AFTER) {
            (rows.anew, self.noted) = (true, 0);
            self.known.clear();
        }
        self.noted += self.whats.len();
        let (mut whats, mut next) = (self.whats.drain(..), first.0);
        for (caller, commands) in self.runs.drain(..) {
            let caller = caller.map(|caller| {
                *self.known.entry(caller.number()).or_insert_with(|| {
                    rows.callers.push(CallerRow::of(&caller, next));
                    next
                })
            });
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
