//! Counts of what was tried and what happened, by name. They can be written as text and read by another process.

use std::collections::BTreeMap;
use std::fmt;

use super::faults::Fault;

/// Worlds that were run without a fault first.
pub const SCENARIOS: &str = "scenarios";
/// Operations of the disk at which faults could strike.
pub const OPERATIONS: &str = "operations";
/// Points with a second fault during the recovery from the first.
pub const SECOND_FAULTS: &str = "second faults";
pub const POWER_CUTS: &str = "power cuts";
/// Folders that were opened or refused.
pub const RECOVERIES: &str = "recoveries";
/// Recoveries that cut off an unfinished unit.
pub const CUTS: &str = "cuts";
/// Recoveries that began with a snapshot.
pub const FROM_SNAPSHOTS: &str = "from snapshots";
/// Recoveries after which no acknowledged command was missing.
pub const WHOLE: &str = "whole";
/// Nodes that stopped at the fault.
pub const DEATHS: &str = "deaths";
/// Faults that a node survived: they struck a snapshot, or a read that had an alternative.
pub const SURVIVED: &str = "survived";
/// Commands that were acknowledged in all lives.
pub const COMMANDS: &str = "commands";
/// Acknowledged commands that were lost by a lying disk or a flipped bit.
pub const LOST: &str = "lost";
/// Done orders that were refused as damaged, after deceit.
pub const REFUSED_ROWS: &str = "refused rows";
/// Done orders that were denied, after deceit.
pub const DENIED_ROWS: &str = "denied rows";
/// Journal files that were found damaged and that no start needed, after deceit.
pub const DAMAGED_JOURNALS: &str = "damaged journals";

/// Parts of orders that were shown after the first part.
pub const SHOWN: &str = "parts shown";
/// Triggers that followed the market, and were moved and then reached.
pub const TRAILS_REACHED: &str = "trails reached";
/// Pairs of orders that were linked.
pub const LINKED: &str = "linked";
/// Orders that waited for others and were placed.
pub const RELEASED: &str = "released";
/// Commands of the sequencer itself.
pub const OWN_COMMANDS: &str = "own commands";
/// Changes of phases that a calendar had due.
pub const LINES: &str = "lines of calendars";
/// Answers that came from the history.
pub const ARCHIVED_ANSWERS: &str = "archived answers";
pub const EXECUTIONS_LOOKED_UP: &str = "executions looked up";
/// Journal files that were filled.
pub const ROTATIONS: &str = "rotations";
pub const SNAPSHOTS: &str = "snapshots";
/// Snapshots that were given up, mostly because the history was behind.
pub const SNAPSHOTS_GIVEN_UP: &str = "snapshots given up";
/// Journal files that were removed.
pub const RETIRED: &str = "retired";
/// Orders that were placed again under their client order ids.
pub const REPEATS: &str = "repeats";
/// Different orders that were refused under such ids.
pub const CONFLICTS: &str = "conflicts";
/// Snapshots in which client order ids name done orders.
pub const SNAPSHOTS_WITH_CLIENT_ORDERS: &str = "snapshots with client orders";
/// Histories that were set aside for new ones.
pub const HISTORIES_SET_ASIDE: &str = "histories set aside";
/// The number of times that the sequencer waited for room in the followers' queue.
pub const FULL_LINES: &str = "full lines";
/// Histories that were compared with the model, record by record.
pub const HISTORIES: &str = "histories";
/// Orders in these histories.
pub const PAST_ORDERS: &str = "past orders";
const POINT: &str = "point: ";
const REFUSAL: &str = "refusal: ";

/// Counts over many points.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: BTreeMap<String, u64>,
}

impl Tally {
    /// Adds to a count.
    pub fn count(&mut self, what: &str, more: u64) {
        if more > 0 {
            *self.counts.entry(what.to_owned()).or_default() += more;
        }
    }

    /// Counts a point.
    pub fn count_point(&mut self, fault: Fault) {
        self.count(&format!("{POINT}{fault}"), 1);
    }

    /// Counts a folder that was refused, after a fault that allows it, by the refusal's message.
    pub fn count_refusal(&mut self, what: &str) {
        self.count(&format!("{REFUSAL}{what}"), 1);
    }

    /// The value of a count.
    pub fn get(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or_default()
    }

    /// The number of points that were tried.
    pub fn points(&self) -> u64 {
        self.named(POINT).map(|(_, count)| count).sum()
    }

    /// Adds the counts of another tally.
    pub fn add(&mut self, other: &Tally) {
        for (what, count) in &other.counts {
            self.count(what, *count);
        }
    }

    fn named<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, u64)> {
        self.counts.iter().filter_map(move |(what, count)| Some((what.strip_prefix(prefix)?, *count)))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let get = |what| self.get(what);
        writeln!(
            f,
            "{} points ({} with a second fault while recovering) in {} scenarios with {} operations of the disk",
            self.points(),
            get(SECOND_FAULTS),
            get(SCENARIOS),
            get(OPERATIONS)
        )?;
        for (fault, count) in self.named(POINT) {
            writeln!(f, "  {count:>8} {fault}")?;
        }
        writeln!(
            f,
            "{} commands acknowledged, {} answers and {} times executions from the history, {} journal files filled and {} retired, {} snapshots and \
             {} given up, {} waits for who follows",
            get(COMMANDS),
            get(ARCHIVED_ANSWERS),
            get(EXECUTIONS_LOOKED_UP),
            get(ROTATIONS),
            get(RETIRED),
            get(SNAPSHOTS),
            get(SNAPSHOTS_GIVEN_UP),
            get(FULL_LINES)
        )?;
        writeln!(f, "{} nodes stopped at a fault, {} survived it", get(DEATHS), get(SURVIVED))?;
        writeln!(
            f,
            "{} power cuts, {} recoveries ({} cut an unfinished unit, {} began with a snapshot), {} with nothing lost",
            get(POWER_CUTS),
            get(RECOVERIES),
            get(CUTS),
            get(FROM_SNAPSHOTS),
            get(WHOLE)
        )?;
        writeln!(
            f,
            "{} histories with {} orders are as the model has them; {} were set aside, for commands that the machine lost",
            get(HISTORIES),
            get(PAST_ORDERS),
            get(HISTORIES_SET_ASIDE)
        )?;
        writeln!(f, "after syncs that lied, syncs that were not asked for, and flipped bits, and after nothing else:")?;
        writeln!(
            f,
            "  {} acknowledged commands lost; {} done orders refused as damaged, {} denied; {} old journal files damaged",
            get(LOST),
            get(REFUSED_ROWS),
            get(DENIED_ROWS),
            get(DAMAGED_JOURNALS)
        )?;
        for (what, count) in self.named(REFUSAL) {
            writeln!(f, "  {count} starts refused: {what}")?;
        }
        Ok(())
    }
}
