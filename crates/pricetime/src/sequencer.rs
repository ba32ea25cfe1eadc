//! The one place that orders commands, stamps them with the time, journals them and applies them.
//! The only holder of `&mut Engine`. Steps from outside: it owns no thread, socket or clock, so that a test can drive it.
//!
//! A turn takes all batches that wait, gives their commands sequence numbers and one time, appends them to the journal
//! as one unit, and only when that is durable applies them and answers. So nothing derived from a command leaves before
//! the command is durable, because nothing is derived from it before.

use std::time::Duration;

use engine::{Engine, Event, Sequence, Time};
use exchange::Batch;
use journal::{ArchiveBatch, Journal, JournalError, Storage};

use crate::admission::{Admission, Conditions};
use crate::answering::{AnswerLimits, answer};

/// Engine and journal, with what lies between them.
pub struct Sequencer<S: Storage> {
    engine: Engine,
    journal: Journal<S>,
    limits: AnswerLimits,
    payload: Vec<u8>,
    /// What was let in of the turn, so that applying walks the ops as journaling did.
    admission: Admission,
    sync_time: Option<Duration>,
}

impl<S: Storage> Sequencer<S> {
    /// Of an engine that stands where the journal ends.
    pub fn new(engine: Engine, journal: Journal<S>, limits: AnswerLimits) -> Sequencer<S> {
        assert!(engine.sequence() == journal.point().sequence, "invariant: the engine has applied the whole journal");
        Sequencer { engine, journal, limits, payload: Vec::new(), admission: Admission::default(), sync_time: None }
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The journal, to look at.
    pub fn journal(&self) -> &Journal<S> {
        &self.journal
    }

    /// How long the disk took to sync the last turn; none if nothing was synced.
    pub fn sync_time(&self) -> Option<Duration> {
        self.sync_time
    }

    /// Orders, journals, applies and answers all of `batches`, in order. `journaled` is called between journaling and
    /// applying. Events go to `events`.
    /// Errors: the journal's; then nothing of this turn was answered and the sequencer must not be used again.
    pub fn turn(
        &mut self,
        batches: &mut [Box<Batch>],
        now: Time,
        conditions: Conditions,
        journaled: impl FnOnce(),
        events: &mut impl FnMut(Sequence, Event),
    ) -> Result<(), JournalError> {
        let time = now.max(self.engine.time());
        let first = self.engine.sequence().next();
        let count = self.encode(batches, time, &conditions);
        self.sync_time = None;
        if count > 0 {
            self.journal.append(first, time, count, &self.payload)?;
            self.sync_time = self.journal.sync_time();
        }
        journaled();
        let mut decisions = self.admission.decisions();
        for batch in batches {
            answer(&mut self.engine, self.limits, batch, time, &mut decisions, events);
        }
        Ok(())
    }

    /// Writes the commands of a turn that are let in into the payload, and counts them.
    fn encode(&mut self, batches: &[Box<Batch>], time: Time, conditions: &Conditions) -> u32 {
        let Sequencer { engine, payload, admission, .. } = self;
        payload.clear();
        let mut count = 0u32;
        let requests = batches.iter().map(|batch| &batch.requests);
        admission.decide(engine, conditions, time, requests, &mut |command| {
            journal::encode(command, payload);
            count = count.checked_add(1).expect("invariant: gateways bound what is in flight");
        });
        count
    }

    /// Fills `into` with the done orders that were not taken yet, and gives the sequence up to which these are all.
    pub fn take_done(&mut self, into: &mut ArchiveBatch) -> Sequence {
        into.clear();
        self.engine.take_done(&mut |done| into.push(done));
        self.engine.sequence()
    }

    /// The archive holds these: the engine need not keep them any more.
    pub fn forget(&mut self, archived: &ArchiveBatch) {
        self.engine.forget_all(archived.ids());
    }

    /// Writes the synced mark behind the last unit, so that damage to it can be told from a power cut.
    pub fn mark(&mut self) -> Result<(), JournalError> {
        self.journal.mark()
    }

    /// The last command in a full journal file.
    pub fn closed_through(&self) -> Sequence {
        let segments = self.journal.segments();
        segments.iter().rev().find(|segment| segment.closed).map_or(Sequence::ZERO, |segment| segment.last)
    }

    /// Removes journal files that snapshots and the archive cover.
    pub fn retire_journal(&mut self, up_to: Sequence) -> Result<(), JournalError> {
        self.journal.retire(up_to).map(|_| ())
    }

    /// Both, when the server stops.
    pub fn into_parts(self) -> (Engine, Journal<S>) {
        (self.engine, self.journal)
    }
}
