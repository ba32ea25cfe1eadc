//! The ledger that is a journal: it fixes the order of commands by appending and syncing them, and releases answers as
//! soon as they are applied. It also retires journal files that snapshots cover. It owns no thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::Engine;
use exchange::{Batch, Caller, EventSink, Lag, Metrics, Stage};
use journal::{Journal, JournalError, Storage};
use terms::{Command, Event, Op, Sequence, Time};

use crate::caller_runs::CallerRuns;
use crate::follower::Telling;
use crate::ledger::{Ledger, Measured, Room};
use crate::snapshots::{JournalCoverage, StateAt};

/// The most ops and batches of one turn. The number of ops bounds a journal unit and the wait of the next one; the
/// number of batches bounds the memory of the answers to queries.
const TURN_ROOM: Room = Room { ops: 1 << 15, batches: 8 };
/// The interval at which journal files are retired, and the time without commands after which the journal is marked.
const LOOK_AFTER: Duration = Duration::from_millis(50);

/// A journal as a ledger, and the handles of threads that need to know how far it goes.
pub struct JournalLedger<S: Storage> {
    journal: Journal<S>,
    /// The encoded commands of the turn.
    payload: Vec<u8>,
    count: u32,
    asked: CallerRuns,
    /// The time that the disk took to sync the last turn; none if nothing was synced.
    sync_time: Option<Duration>,
    telling: Option<Telling>,
    looked_after_at: Duration,
    coverage: Arc<JournalCoverage>,
    keep_journal: bool,
    /// The last place for a snapshot; none if every full journal file is a place.
    snapshot_place: Option<Sequence>,
    disk_low: Arc<AtomicBool>,
    /// Whether the synced mark stands behind the last unit.
    marked: bool,
}

impl<S: Storage> JournalLedger<S> {
    /// Makes a ledger that continues `journal`. Events go to `events`.
    pub fn new(
        journal: Journal<S>,
        events: Option<EventSink>,
        coverage: Arc<JournalCoverage>,
        keep_journal: bool,
        disk_low: Arc<AtomicBool>,
    ) -> JournalLedger<S> {
        JournalLedger {
            journal,
            payload: Vec::new(),
            count: 0,
            asked: CallerRuns::default(),
            sync_time: None,
            telling: events.map(Telling::new),
            looked_after_at: Duration::ZERO,
            coverage,
            keep_journal,
            snapshot_place: None,
            disk_low,
            marked: true,
        }
    }

    /// Adds the next commands of the turn, already encoded.
    pub fn commands(&mut self, encoded: &[u8], count: u32) {
        self.payload.extend_from_slice(encoded);
        self.count = self.count.checked_add(count).expect("invariant: gateways bound what is in flight");
    }

    /// Gives the caller at another server of the next of these commands, with its number there, or none.
    pub fn asked_elsewhere(&mut self, caller: Option<(u64, Arc<journal::Caller>)>, commands: u32) {
        self.asked.add_elsewhere(caller, commands);
    }

    /// Appends the commands given so far as one of several units that are synced together. They are durable when
    /// `settle` returns, and not before.
    pub fn append(&mut self, engine: &Engine, time: Time) -> Result<(), JournalError> {
        let first = engine.sequence().next();
        let count = std::mem::take(&mut self.count);
        let callers = self.asked.section(&self.journal, &self.payload);
        let appended = self.journal.append_unsynced(first, time, count, (callers, &self.payload));
        self.payload.clear();
        self.asked.clear();
        appended
    }

    /// Ends the events of commands that were appended and applied. Followers get them when `settle` is called.
    pub fn applied_unsettled(&mut self, engine: &Engine) {
        if let Some(telling) = &mut self.telling {
            telling.seal(engine.sequence(), engine.time());
        }
    }

    /// Settles in the middle of a unit if it has very many events. `next` comes behind the applied commands.
    pub fn settle_part(&mut self, engine: &Engine, next: &Op) -> Result<(), JournalError> {
        if self.telling.as_ref().is_none_or(|telling| !telling.is_to_be_cut(Some(next))) {
            return Ok(());
        }
        self.applied_unsettled(engine);
        self.settle()
    }

    /// Syncs the appended units, and then hands over their events.
    pub fn settle(&mut self) -> Result<(), JournalError> {
        self.journal.sync()?;
        self.sync_time = self.journal.sync_time();
        if let Some(telling) = &mut self.telling {
            telling.hand_over_sealed();
        }
        Ok(())
    }

    /// Makes snapshots only at the places that `place_snapshot` sets from now on.
    pub fn snapshots_are_placed(&mut self) {
        self.snapshot_place = Some(Sequence::ZERO);
    }

    /// Makes the present state the place of a snapshot. The next commands begin another journal file.
    pub fn place_snapshot(&mut self, engine: &Engine) -> Result<(), JournalError> {
        self.journal.close_segment()?;
        self.snapshot_place = Some(engine.sequence());
        self.coverage.set_closed_through(engine.sequence());
        Ok(())
    }

    /// Whether `snapshot_made` has a snapshot, or will have one.
    pub fn waits_for_snapshot(&self) -> bool {
        self.snapshot_place.is_some_and(|place| !self.coverage.is_tried(place) || self.coverage.has_made())
    }

    /// The snapshot that was made since the last call; the newest, if there were several.
    pub fn snapshot_made(&self) -> Option<StateAt> {
        self.coverage.take_made()
    }

    /// The journal, to look at.
    pub fn journal(&self) -> &Journal<S> {
        &self.journal
    }

    /// Publishes up to where snapshots can be made, and retires journal files that they cover.
    fn look_after_files(&mut self, passed: Duration) -> Result<(), JournalError> {
        self.looked_after_at = passed;
        self.coverage.set_closed_through(self.snapshot_place.unwrap_or_else(|| self.closed_through()));
        if !self.keep_journal {
            self.journal.retire(self.coverage.covered_through())?;
        }
        Ok(())
    }

    /// The last command in a full journal file.
    fn closed_through(&self) -> Sequence {
        let segments = self.journal.segments();
        segments.iter().rev().find(|segment| segment.closed).map_or(Sequence::ZERO, |segment| segment.last)
    }
}

/// Takes the journal out when the server stops.
impl<S: Storage> From<JournalLedger<S>> for Journal<S> {
    fn from(ledger: JournalLedger<S>) -> Journal<S> {
        ledger.journal
    }
}

impl<S: Storage> Ledger for JournalLedger<S> {
    type Error = JournalError;

    fn room(&mut self) -> Option<Room> {
        Some(TURN_ROOM)
    }

    fn is_nearly_full(&self) -> bool {
        self.disk_low.load(Ordering::Relaxed)
    }

    fn lag(&self) -> Lag {
        self.telling.as_ref().map_or(Lag::None, Telling::lag)
    }

    #[inline]
    fn command(&mut self, command: &Command) {
        journal::encode(command, &mut self.payload);
        self.count = self.count.checked_add(1).expect("invariant: gateways bound what is in flight");
    }

    fn asked_by(&mut self, caller: Option<&Arc<Caller>>, commands: u32) {
        self.asked.add(caller, commands);
    }

    /// Appends the turn's commands as one unit, and syncs them.
    fn order(&mut self, engine: &mut Engine, time: Time, _: &mut dyn FnMut()) -> Result<Time, JournalError> {
        self.sync_time = None;
        if self.count > 0 {
            self.append(engine, time)?;
            self.settle()?;
        }
        Ok(time)
    }

    fn needs_events(&self) -> bool {
        self.telling.is_some()
    }

    #[inline]
    fn event(&mut self, sequence: Sequence, _: Time, event: Event) {
        if let Some(telling) = &mut self.telling {
            telling.add(sequence, event);
        }
    }

    #[inline]
    fn command_applied(&mut self, engine: &Engine, next: Option<&Op>) {
        if let Some(telling) = &mut self.telling {
            telling.hand_over_part(engine.sequence(), engine.time(), next);
        }
    }

    /// Hands over many events at once. The turn's commands are synced, so followers need not wait for the end of a
    /// large turn.
    fn request_applied(&mut self, engine: &Engine) {
        if let Some(telling) = &mut self.telling {
            telling.hand_over_many(engine.sequence(), engine.time());
        }
    }

    /// Hands over the events before the answers leave, so that a client that has an answer sees in the feed everything
    /// of it.
    fn applied(&mut self, engine: &mut Engine) {
        if let Some(telling) = &mut self.telling {
            telling.hand_over(engine.sequence(), engine.time());
        }
    }

    fn sync_time(&self) -> Option<Duration> {
        self.sync_time
    }

    fn measure(&self, metrics: &Metrics, turn: &Measured) {
        metrics.spent(Stage::Journal, turn.requests, turn.ordered - turn.begun);
        metrics.spent(Stage::Apply, turn.requests, turn.applied - turn.ordered);
        metrics.turned(turn.ops, turn.waiting);
        if let Some(time) = self.sync_time {
            metrics.kept(time);
        }
    }

    fn release(&mut self, batches: impl Iterator<Item = Box<Batch>>, _: Instant) {
        batches.for_each(Batch::give_back);
    }

    fn tend(&mut self, _: &mut Engine, passed: Duration) -> Result<(), JournalError> {
        self.marked = false;
        match passed.saturating_sub(self.looked_after_at) >= LOOK_AFTER {
            true => self.look_after_files(passed),
            false => Ok(()),
        }
    }

    /// Goes on with idle work, and marks the end of the journal as synced, so that damage there can be told from a
    /// power cut.
    fn idle(&mut self, _: &mut Engine, passed: Duration) -> Result<(), JournalError> {
        self.look_after_files(passed)?;
        self.journal.mark()?;
        self.marked = true;
        Ok(())
    }

    /// The time until an idle market marks its journal; after that it sleeps until a batch comes.
    fn patience(&self) -> Option<Duration> {
        (!self.marked).then_some(LOOK_AFTER)
    }

    fn close(&mut self, _: &mut Engine) -> Result<(), JournalError> {
        self.look_after_files(self.looked_after_at)?;
        self.journal.mark()
    }
}
