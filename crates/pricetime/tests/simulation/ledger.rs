//! The commands with their sequences and times, as clients were told, and the naive model after them. The last ones may
//! be of turns whose result is unknown. It does not know the disk.

use model::{Model, ReplyWithExecutions};
use terms::{Entry, Event, Op, Sequence, Symbol, Time};

use super::ensure;

/// The record of what happened.
#[derive(Clone, Debug)]
pub struct Ledger {
    /// The market after all entries.
    pub model: Model,
    /// The commands, and behind `certain` those of turns that were neither acknowledged nor seen after a restart.
    pub entries: Vec<Entry>,
    /// The last command that is certainly in the journal.
    certain: Sequence,
    /// The sequences at which the journal's units end.
    pub units: Vec<Sequence>,
    /// The ends of the units behind `certain`.
    doubtful: Vec<Sequence>,
    /// The commands with which clients changed the phases of symbols.
    pub asked: Vec<(Sequence, Symbol)>,
    /// The last command that was acknowledged before the disk began to lie.
    pub safe: Sequence,
    /// Whether the journal has a mark after the last of the commands.
    pub marked: bool,
}

impl Ledger {
    /// A ledger in which nothing has happened.
    pub fn new() -> Ledger {
        Ledger {
            model: Model::new(),
            entries: Vec::new(),
            certain: Sequence::ZERO,
            units: Vec::new(),
            doubtful: Vec::new(),
            asked: Vec::new(),
            safe: Sequence::ZERO,
            marked: false,
        }
    }

    /// The sequence of the last command.
    pub fn sequence(&self) -> Sequence {
        Sequence(self.entries.len() as u64)
    }

    /// The time of the last command.
    pub fn time(&self) -> Time {
        self.entries.last().map_or(Time::ZERO, |entry| entry.time)
    }

    /// Applies one op to the model, and returns what it tells. A command is entered as the next one.
    pub fn tell(&mut self, op: &Op, time: Time, events: &mut Vec<(Sequence, Event)>) -> ReplyWithExecutions {
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
        ReplyWithExecutions::of(&reply, &executions)
    }

    /// The time at which a client last asked for a phase of a symbol.
    pub fn asked_at(&self, symbol: Symbol) -> Option<Time> {
        let (sequence, _) = self.asked.iter().rev().find(|(_, asked)| *asked == symbol)?;
        Some(self.entries[sequence.0 as usize - 1].time)
    }

    /// Notes that a unit of the journal ends here, of which nobody knows yet whether it is there.
    pub fn end_unit(&mut self) {
        let before = self.doubtful.last().copied().unwrap_or(self.certain);
        if self.sequence() > before {
            self.doubtful.push(self.sequence());
        }
    }

    /// Notes that all entered commands were acknowledged.
    pub fn acknowledge(&mut self, disk_lies: bool) {
        self.end_unit();
        self.acknowledge_units(self.doubtful.len(), disk_lies);
    }

    /// Notes that so many of the units that nobody knew of were acknowledged.
    pub fn acknowledge_units(&mut self, count: usize, disk_lies: bool) {
        self.marked &= count == 0;
        self.units.extend(self.doubtful.drain(..count));
        if count > 0 {
            self.certain = self.units.last().copied().unwrap_or(self.certain);
        }
        if !disk_lies {
            self.safe = self.certain;
        }
    }

    /// Takes over the journal's end `found` after a restart. If the disk has lied since `safe`, later acknowledged
    /// commands may be missing, in whole units. Returns the number of missing acknowledged commands.
    pub fn settle(&mut self, found: Sequence, disk_lied: bool) -> Result<u64, String> {
        let known = self.certain;
        if found > known {
            ensure!(
                self.doubtful.contains(&found),
                "the journal ends at {found}, inside or behind the last turns: {known} was acknowledged, and {:?} were \
                 in doubt",
                self.doubtful
            );
            self.truncate(found);
            self.acknowledge(disk_lied);
            return Ok(0);
        }
        let is_whole = found == self.sequence();
        self.truncate(known);
        if is_whole {
            self.acknowledge(disk_lied);
        }
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
        self.units.retain(|unit| *unit <= end);
        self.doubtful.retain(|unit| *unit <= end);
        self.asked.retain(|(sequence, _)| *sequence <= end);
        self.certain = self.certain.min(end);
        if end == self.sequence() {
            return;
        }
        self.entries.truncate(end.0 as usize);
        self.model = Model::new();
        for entry in &self.entries {
            self.model.apply(entry, &mut Vec::new(), &mut Vec::new());
        }
    }
}
