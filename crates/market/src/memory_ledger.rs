//! A ledger in memory, for tests and fuzzing: it fixes the order of commands at once, and releases answers as soon as
//! they are applied. It knows no file, and forgets everything when it is dropped.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use engine::Engine;
use exchange::{Batch, Caller, EventBatch, EventFollower, Lag, Metrics};
use terms::{Command, Entry, Event, Sequence, Time};

use crate::ledger::{Ledger, Measured, Room};

/// A ledger that keeps commands, or hands events to a follower.
#[derive(Default)]
pub struct MemoryLedger {
    coming: Vec<Command>,
    kept: Option<Vec<Entry>>,
    events: EventBatch,
    follower: Option<Arc<dyn EventFollower>>,
    is_nearly_full: Arc<AtomicBool>,
}

impl MemoryLedger {
    /// Keeps the commands, behind these.
    pub fn keeping(kept: Vec<Entry>) -> MemoryLedger {
        MemoryLedger { kept: Some(kept), ..MemoryLedger::default() }
    }

    /// Keeps no command, and hands each turn's events on.
    pub fn followed_by(follower: Arc<dyn EventFollower>) -> MemoryLedger {
        MemoryLedger { follower: Some(follower), ..MemoryLedger::default() }
    }

    /// The flag that says that the disk is nearly full, for a test to set.
    pub fn nearly_full(&self) -> Arc<AtomicBool> {
        self.is_nearly_full.clone()
    }

    /// The commands so far; empty where they are not kept.
    pub fn kept(&self) -> &[Entry] {
        self.kept.as_deref().unwrap_or_default()
    }
}

impl Ledger for MemoryLedger {
    type Error = Infallible;

    fn room(&mut self) -> Option<Room> {
        Some(Room { ops: usize::MAX, batches: usize::MAX })
    }

    fn is_nearly_full(&self) -> bool {
        self.is_nearly_full.load(Ordering::Relaxed)
    }

    fn lag(&self) -> Lag {
        self.follower.as_ref().map_or(Lag::None, |follower| follower.lag())
    }

    fn command(&mut self, command: &Command) {
        if self.kept.is_some() {
            self.coming.push(*command);
        }
    }

    fn asked_by(&mut self, _: Option<&Arc<Caller>>, _: u32) {}

    fn order(&mut self, engine: &mut Engine, time: Time, _: &mut dyn FnMut()) -> Result<Time, Infallible> {
        if let Some(kept) = &mut self.kept {
            let first = engine.sequence().next();
            let numbered = self.coming.drain(..).zip(first.0..);
            kept.extend(numbered.map(|(command, number)| Entry { sequence: Sequence(number), time, command }));
        }
        Ok(time)
    }

    fn needs_events(&self) -> bool {
        self.follower.is_some()
    }

    fn event(&mut self, sequence: Sequence, _: Time, event: Event) {
        self.events.add(sequence, event);
    }

    fn request_applied(&mut self, _: &Engine) {}

    fn applied(&mut self, engine: &mut Engine) {
        if let Some(follower) = &self.follower {
            let mut events = std::mem::take(&mut self.events);
            events.seal(engine.sequence(), engine.time());
            follower.push(Arc::new(events));
        }
    }

    fn measure(&self, _: &Metrics, _: &Measured) {}

    fn release(&mut self, batches: impl Iterator<Item = Box<Batch>>, _: Instant) {
        batches.for_each(Batch::give_back);
    }

    fn tend(&mut self, _: &mut Engine, _: Duration) -> Result<(), Infallible> {
        Ok(())
    }

    fn idle(&mut self, _: &mut Engine, _: Duration) -> Result<(), Infallible> {
        Ok(())
    }

    fn patience(&self) -> Option<Duration> {
        None
    }

    fn close(&mut self, _: &mut Engine) -> Result<(), Infallible> {
        Ok(())
    }
}
