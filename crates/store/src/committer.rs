//! The committing side of a market in PostgreSQL: commits one transaction at a time, and then gives back the batches
//! that waited for it. It owns no thread.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use exchange::{EventSink, Metrics, Stage};
use terms::OrderId;

use crate::commit_queue::{Applied, CommitQueue, Next};
use crate::commits::{Commits, Connection, Probe};
use crate::effects::Effects;
use crate::error::StoreError;

/// The commits of a database, and the queue that becomes them. The simulation has a connection that a seed drives.
pub(crate) struct Committer<C> {
    commits: Commits<C>,
    queue: Arc<CommitQueue>,
    /// The empty effects in which the next group gathers.
    effects: Effects,
    /// The channel to the loop for orders that the engine may forget.
    committed: Sender<Vec<OrderId>>,
    events: Option<EventSink>,
    metrics: Metrics,
}

impl<C: Connection> Committer<C> {
    pub fn new(
        commits: Commits<C>,
        queue: Arc<CommitQueue>,
        committed: Sender<Vec<OrderId>>,
        events: Option<EventSink>,
        metrics: Metrics,
    ) -> Committer<C> {
        let effects = Effects::after(commits.head());
        Committer { commits, queue, effects, committed, events, metrics }
    }

    /// Steps until the queue ends. Errors: the writer's; after one, nothing more may be acknowledged.
    pub fn run(mut self) -> Result<(), StoreError> {
        while self.step()? {}
        Ok(())
    }

    /// Waits for a group and commits it, or probes the database. Returns false when the queue has ended.
    pub fn step(&mut self) -> Result<bool, StoreError> {
        match self.queue.take(&mut self.effects) {
            Next::Commit { ops } => self.commit(ops)?,
            Next::Probe => self.probe()?,
            Next::End => return Ok(false),
        }
        Ok(true)
    }

    fn commit(&mut self, ops: usize) -> Result<(), StoreError> {
        if ops > 0 {
            self.metrics.turned(ops, usize::try_from(self.metrics.ops_in_flight()).unwrap_or(usize::MAX));
        }
        if self.effects.is_empty() {
            // Answers to queries leave after the writer has confirmed that the market is still this server's, later
            // than it took them.
            match self.commits.confirm() {
                Err(StoreError::Stopped) => {
                    self.queue.give_up();
                    return Ok(());
                }
                confirmed => confirmed?,
            }
        } else {
            let begun = Instant::now();
            self.commits.commit(&self.effects)?;
            self.metrics.kept(begun.elapsed());
        }
        let committed = Instant::now();
        let waiting = self.queue.arrived();
        if let Some(events) = &self.events {
            waiting.events.into_iter().for_each(|batch| events.push(batch));
        }
        for Applied { batch, at, .. } in waiting.batches {
            self.metrics.spent(Stage::Commit, batch.requests.len(), committed - at);
            batch.give_back();
        }
        // After the end of the loop nobody forgets orders.
        let _ = self.committed.send(waiting.done);
        Ok(())
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        match self.commits.probe() {
            Ok(Probe::Answered) => drop(self.queue.arrived()),
            Ok(Probe::Missed { fault }) => self.queue.missed(&fault),
            // Nothing is lost when nothing had to be committed.
            Err(StoreError::Stopped) => self.queue.missed("told to stop"),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
