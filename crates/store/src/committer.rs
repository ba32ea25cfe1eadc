//! The committing side of a market in PostgreSQL: one transaction at a time, and then the batches that waited for it go back.
//! It owns no thread.

use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Instant;

use engine::OrderId;
use exchange::{EventSink, Metrics, Stage};

use crate::commit_queue::{Applied, CommitQueue, Next};
use crate::effects::{Effects, Head};
use crate::error::StoreError;
use crate::writer::{Probe, Writer};

/// What a committer needs of the writer of a database. The simulation has one of a database that does what a seed says.
pub(crate) trait CommitWriter {
    /// See [`Writer::head`].
    fn head(&self) -> Head;
    /// See [`Writer::commit`].
    fn commit(&mut self, effects: &Effects) -> Result<(), StoreError>;
    /// See [`Writer::confirm`].
    fn confirm(&mut self) -> Result<(), StoreError>;
    /// See [`Writer::probe`].
    fn probe(&mut self) -> Result<Probe, StoreError>;
}

impl CommitWriter for Writer {
    fn head(&self) -> Head {
        Writer::head(self)
    }

    fn commit(&mut self, effects: &Effects) -> Result<(), StoreError> {
        Writer::commit(self, effects)
    }

    fn confirm(&mut self) -> Result<(), StoreError> {
        Writer::confirm(self)
    }

    fn probe(&mut self) -> Result<Probe, StoreError> {
        Writer::probe(self)
    }
}

/// The writer of a database, and what it commits.
pub(crate) struct Committer<W> {
    writer: W,
    queue: Arc<CommitQueue>,
    /// To be filled with what is committed next.
    effects: Effects,
    /// Where orders go that the engine may forget.
    committed: Sender<Vec<OrderId>>,
    events: Option<EventSink>,
    metrics: Metrics,
}

impl<W: CommitWriter> Committer<W> {
    pub fn new(
        writer: W,
        queue: Arc<CommitQueue>,
        committed: Sender<Vec<OrderId>>,
        events: Option<EventSink>,
        metrics: Metrics,
    ) -> Committer<W> {
        let effects = Effects::after(writer.head());
        Committer { writer, queue, effects, committed, events, metrics }
    }

    /// Steps until nothing will come. Errors: the writer's; then nothing more may be acknowledged.
    pub fn run(mut self) -> Result<(), StoreError> {
        while self.step()? {}
        Ok(())
    }

    /// Waits for something to commit and commits it, or sees whether the database is there. False when nothing will come.
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
            // An answer to a query leaves when the market was seen to be ours after the query was handed in.
            match self.writer.confirm() {
                Err(StoreError::Stopped) => {
                    self.queue.give_up();
                    return Ok(());
                }
                confirmed => confirmed?,
            }
        } else {
            let begun = Instant::now();
            self.writer.commit(&self.effects)?;
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
        // When the loop has ended nothing is left to forget.
        let _ = self.committed.send(waiting.done);
        Ok(())
    }

    fn probe(&mut self) -> Result<(), StoreError> {
        match self.writer.probe() {
            Ok(Probe::Answered) => drop(self.queue.arrived()),
            Ok(Probe::Missed { fault }) => self.queue.missed(&fault),
            // With nothing to commit nothing is lost.
            Err(StoreError::Stopped) => self.queue.missed("told to stop"),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}
