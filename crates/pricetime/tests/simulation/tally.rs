//! What was tried and what came of it, counted.

use std::collections::BTreeMap;
use std::fmt;

use super::faults::Fault;
use super::node::Done;

/// Counts over many points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Worlds that were run without a fault first.
    pub scenarios: u64,
    /// Operations of the disk that faults could strike at.
    pub operations: u64,
    /// Points tried, by fault.
    pub points: BTreeMap<Fault, u64>,
    /// Of these, those with a second fault while recovering from the first.
    pub second_faults: u64,
    /// Power cuts.
    pub crashes: u64,
    /// Folders opened.
    pub recoveries: u64,
    /// Of these, those that cut an unfinished unit.
    pub cuts: u64,
    /// Of these, those that began with a snapshot.
    pub from_snapshots: u64,
    /// Nodes that stopped at the fault.
    pub deaths: u64,
    /// Faults that a node survived: they struck a snapshot, or a read that had another way.
    pub survived: u64,
    /// Folders that were not opened, after a fault that allows it, by what was said.
    pub refusals: BTreeMap<String, u64>,
    /// Restarts without one acknowledged command less.
    pub whole: u64,
    /// Acknowledged commands that a disk which lied, or a flipped bit, took.
    pub lost_to_deceit: u64,
    /// Archived orders refused as damaged, after deceit.
    pub refused_rows: u64,
    /// Archived orders denied, after deceit.
    pub denied_rows: u64,
    /// Journal files behind the snapshot found damaged, after deceit.
    pub damaged_journals: u64,
    /// Commands acknowledged in all lives.
    pub commands: u64,
    /// What the nodes did in all lives.
    pub done: Done,
}

impl Tally {
    /// All points.
    pub fn all_points(&self) -> u64 {
        self.points.values().sum()
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: Tally) {
        self.scenarios += other.scenarios;
        self.operations += other.operations;
        for (fault, count) in other.points {
            *self.points.entry(fault).or_default() += count;
        }
        self.second_faults += other.second_faults;
        self.crashes += other.crashes;
        self.recoveries += other.recoveries;
        self.cuts += other.cuts;
        self.from_snapshots += other.from_snapshots;
        self.deaths += other.deaths;
        self.survived += other.survived;
        for (what, count) in other.refusals {
            *self.refusals.entry(what).or_default() += count;
        }
        self.whole += other.whole;
        self.lost_to_deceit += other.lost_to_deceit;
        self.refused_rows += other.refused_rows;
        self.denied_rows += other.denied_rows;
        self.damaged_journals += other.damaged_journals;
        self.commands += other.commands;
        self.done = self.done.and(other.done);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} points ({} with a second fault while recovering) in {} scenarios with {} operations of the disk",
            self.all_points(),
            self.second_faults,
            self.scenarios,
            self.operations
        )?;
        for (fault, count) in &self.points {
            writeln!(f, "  {fault:16} {count}")?;
        }
        let Done { archived_answers, rotations, snapshots, retired } = self.done;
        writeln!(
            f,
            "{} commands acknowledged, {archived_answers} answers from the archive, {rotations} journal files filled and \
             {retired} retired, {snapshots} snapshots",
            self.commands
        )?;
        writeln!(f, "{} nodes stopped at a fault, {} survived it", self.deaths, self.survived)?;
        writeln!(
            f,
            "{} power cuts, {} recoveries ({} cut an unfinished unit, {} began with a snapshot), {} with nothing lost",
            self.crashes, self.recoveries, self.cuts, self.from_snapshots, self.whole
        )?;
        writeln!(f, "after syncs that lied and flipped bits, and after nothing else:")?;
        writeln!(
            f,
            "  {} acknowledged commands lost, {} archived orders refused as damaged, {} denied, {} old journal files damaged",
            self.lost_to_deceit, self.refused_rows, self.denied_rows, self.damaged_journals
        )?;
        for (what, count) in &self.refusals {
            writeln!(f, "  {count} starts refused: {what}")?;
        }
        Ok(())
    }
}
