//! A simulated database, to which several servers may write: the committed rows, the epoch, and the model of the same
//! commands. It knows no server and no fault.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::{DoneOrders, Engine, Importer};
use model::Model;
use terms::{CancelReason, Entry, Event, Execution, Sequence};

use super::rows::Rows;
use super::tally::Tally;
use crate::effects::{Effects, Head};
use crate::standing::{Epoch, Standing};

/// A handle; clones share the database.
#[derive(Clone)]
pub(super) struct Database(Arc<Mutex<Committed>>);

pub(super) struct Committed {
    pub rows: Rows,
    /// The market that the rows should hold.
    pub model: Model,
    pub epoch: Epoch,
    /// Whether commits wait for a standby.
    has_standby: bool,
    /// The content of the standby, while it lacks commits.
    behind: Option<(Rows, Model)>,
    /// The numbers of events in this life.
    pub tally: Tally,
}

impl Database {
    /// Makes an empty database without a writer. A command executes at most `executions_max` times.
    pub fn new(executions_max: u32, has_standby: bool) -> Database {
        let model = Model::with_executions_max(executions_max);
        let (rows, epoch, tally) = (Rows::new(), Epoch(0), Tally::default());
        let committed = Committed { rows, model, epoch, has_standby, behind: None, tally };
        Database(Arc::new(Mutex::new(committed)))
    }

    pub fn look(&self) -> MutexGuard<'_, Committed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn count(&self, what: &'static str) {
        self.look().tally.count(what);
    }
}

impl Committed {
    /// The epoch and head that a server reads to find out whether its last transaction was committed.
    pub fn standing(&self) -> (Epoch, Head) {
        (self.epoch, self.rows.head)
    }

    /// The last command that a failover does not lose.
    pub fn safe(&self) -> Sequence {
        self.behind.as_ref().map_or(&self.rows, |(rows, _)| rows).sequence()
    }

    /// Whether the standby lacks commits.
    pub fn is_behind(&self) -> bool {
        self.behind.is_some()
    }

    /// Gives the standby all commits.
    pub fn catch_up(&mut self) {
        self.behind = None;
    }

    /// Puts the standby in the place of the primary, without the commits that it lacks. Another standby follows it.
    pub fn fail_over(&mut self) {
        if let Some((rows, model)) = self.behind.take() {
            (self.rows, self.model) = (rows, model);
        }
    }

    /// The standing as the sequence row has it, and whether commits wait for a standby.
    pub fn stands(&self) -> (Standing, bool) {
        (standing(self.epoch, self.rows.head), self.has_standby)
    }

    /// Raises the epoch: no transaction that an earlier server still sends is committed from now on. That is a commit,
    /// which has waited for the standby.
    pub fn take_over(&mut self) -> Epoch {
        self.catch_up();
        self.epoch = Epoch(self.epoch.0 + 1);
        self.epoch
    }

    /// Commits effects that begin where the rows end, and are those of `entries`, and checks the rows. Returns false,
    /// and changes nothing, when another server has taken over. A standby that is slow does not have them yet.
    pub fn commit(&mut self, effects: &Effects, epoch: Epoch, entries: &[Entry], is_slow: bool) -> bool {
        if self.standing() != (epoch, effects.before) {
            return false;
        }
        if is_slow && self.has_standby && self.behind.is_none() {
            self.tally.count("commits for which the standby was slow");
            self.behind = Some((self.rows.clone(), self.model.clone()));
        }
        self.rows.write(effects);
        for entry in entries {
            self.model.apply(entry, &mut Vec::<Execution>::new(), &mut Vec::<Event>::new());
        }
        self.model.check_invariants();
        if !effects.executions.is_empty() {
            self.tally.count("transactions with trades");
        }
        if !effects.stops.activated.is_empty() {
            self.tally.count("transactions with activated orders");
        }
        if !effects.terms.reduced().is_empty() {
            self.tally.count("transactions with orders that shares were taken off");
        }
        if effects.calendar.is_some() {
            self.tally.count("transactions that follow a calendar");
        }
        if !effects.links.linked.is_empty() {
            self.tally.count("transactions with orders that were linked");
        }
        let Effects { amended, icebergs, trails, pendings, .. } = effects;
        for (what, happened) in [
            ("transactions with amended orders", !amended.rows().is_empty()),
            (
                "transactions with orders that were amended and placed again",
                amended.rows().iter().any(|row| row.anew.is_some()),
            ),
            (
                "transactions with parts of orders that came on show",
                icebergs.changed().iter().any(|row| row.turn.is_some()),
            ),
            (
                "transactions with orders that wait for their turn",
                effects.stops.waiting.iter().any(|row| row.waits && row.delayed.is_some()),
            ),
            ("transactions with triggers that were moved", !trails.moved().is_empty()),
            ("transactions with triggers that were moved and reached", !trails.reached().is_empty()),
            ("transactions with orders that wait for others", !pendings.opened.is_empty()),
            ("transactions with orders that waited for others and were placed", !pendings.released.is_empty()),
        ] {
            if happened {
                self.tally.count(what);
            }
        }
        if effects.cancellations.iter().any(|row| row.why == CancelReason::Expired) {
            self.tally.count("transactions with orders that ended by themselves");
        }
        let (rows, model) = (self.rows.state_items(), self.model.state_items());
        let first = rows.iter().zip(&model).find(|(found, expected)| found != expected);
        assert!(rows == model, "the rows are not what the model says: {first:?}");
        true
    }

    /// Makes an engine as a start does.
    pub fn load(&self, hash_seed: u64) -> Engine {
        let mut importer = Importer::new(hash_seed, DoneOrders::Keep);
        self.rows.state_items().into_iter().for_each(|item| importer.add(item).expect("the rows are sound"));
        let bounds = self.model.execution_bounds();
        importer.finish().expect("the rows are sound").with_execution_bounds(bounds)
    }
}

/// The sequence row with this head in this epoch.
pub(super) fn standing(epoch: Epoch, head: Head) -> Standing {
    Standing { head, epoch, writer: "another".to_owned(), since: "now".to_owned() }
}
