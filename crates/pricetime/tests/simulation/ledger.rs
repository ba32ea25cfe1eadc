//! The acknowledged commands with their sequences and times, as clients were told, and the naive model after these
//! commands. The ledger also keeps the turn whose result is unknown. It does not know the disk.

use engine::{Entry, Event, Op, Sequence, Time};
use model::{Model, Told};

use super::ensure;

/// The record of what happened.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The market after all entries.
    pub model: Model,
    /// The commands that are certainly in the journal.
    pub entries: Vec<Entry>,
    /// The sequences at which the journal's units end.
    pub units: Vec<Sequence>,
    /// The commands of a turn that was neither acknowledged nor seen after a restart.
    pub doubt: Vec<Entry>,
    /// The last command that was acknowledged before the disk began to lie.
    pub safe: Sequence,
    /// Whether the journal has a mark after the last of the commands.
    pub marked: bool,
}

impl Ledger {
    /// A ledger in which nothing has happened.
    pub fn new() -> Ledger {
        let (entries, units, doubt) = (Vec::new(), Vec::new(), Vec::new());
        Ledger { model: Model::new(), entries, units, doubt, safe: Sequence::ZERO, marked: false }
    }

    /// The sequence of the last command that is certainly there.
    pub fn sequence(&self) -> Sequence {
        Sequence(self.entries.len() as u64)
    }

    /// The time of the last command.
    pub fn time(&self) -> Time {
        self.entries.last().map_or(Time::ZERO, |entry| entry.time)
    }

    /// Applies one op to the model, and returns what it tells. A command is entered as the next one.
    pub fn tell(&mut self, op: &Op, time: Time, events: &mut Vec<(Sequence, Event)>) -> Told {
        let mut executions = Vec::new();
        let reply = match op {
            Op::Query(query) => self.model.query(query, &mut executions),
            Op::Command(command) => {
                let entry = Entry { sequence: self.sequence().next(), time, command: *command };
                let mut happened = Vec::new();
                let reply = self.model.apply(&entry, &mut executions, &mut happened);
                events.extend(happened.into_iter().map(|event| (entry.sequence, event)));
                self.entries.push(entry);
                reply
            }
        };
        Told::of(&reply, &executions)
    }

    /// Notes that all entered commands were acknowledged as one unit.
    pub fn close_unit(&mut self, disk_lies: bool) {
        if self.units.last() != Some(&self.sequence()) && self.sequence() > Sequence::ZERO {
            self.units.push(self.sequence());
            self.marked = false;
        }
        if !disk_lies {
            self.safe = self.sequence();
        }
    }

    /// Takes over the journal's end `found` after a restart. If the disk has lied since `safe`, later acknowledged
    /// commands may be missing, in whole units. Returns the number of missing acknowledged commands.
    pub fn settle(&mut self, found: Sequence, disk_lied: bool) -> Result<u64, String> {
        let (known, doubt) = (self.sequence(), std::mem::take(&mut self.doubt));
        if found == Sequence(known.0 + doubt.len() as u64) {
            for entry in &doubt {
                self.tell(&Op::Command(entry.command), entry.time, &mut Vec::new());
            }
            self.close_unit(disk_lied);
            return Ok(0);
        }
        ensure!(
            found <= known,
            "the journal ends at {found}, inside or behind the last turn: {known} was acknowledged, and {} commands more \
             were in doubt",
            doubt.len()
        );
        if found == known {
            return Ok(0);
        }
        ensure!(disk_lied, "acknowledged commands are lost: the journal ends at {found}, {known} was acknowledged");
        ensure!(
            found >= self.safe,
            "the journal ends at {found}, though {} was acknowledged before the disk lied",
            self.safe
        );
        ensure!(found == self.safe || self.units.contains(&found), "the journal ends at {found}, inside of a unit");
        self.truncate(found);
        Ok(known.0 - found.0)
    }

    fn truncate(&mut self, end: Sequence) {
        self.entries.truncate(end.0 as usize);
        self.units.retain(|unit| *unit <= end);
        self.model = Model::new();
        for entry in &self.entries {
            self.model.apply(entry, &mut Vec::new(), &mut Vec::new());
        }
    }
}
