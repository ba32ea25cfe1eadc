//! A ledger in memory, and a loop over it.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::{Command, Engine, Entry, Event, Sequence, Time};
use exchange::{Batch, Caller, Metrics};
use market::admission::Bounds;
use market::answering::AnswerLimits;
use market::calendar::Calendar;
use market::ledger::{Ledger, Measured, Room};
use market::timekeeper::Clock;
use market::turn::TurnOptions;

/// Keeps commands, and releases answers at once.
#[derive(Default)]
pub struct Memory {
    coming: Vec<Command>,
    pub kept: Vec<Entry>,
}

impl Ledger for Memory {
    type Error = Infallible;

    fn room(&mut self) -> Option<Room> {
        Some(Room { ops: usize::MAX, batches: usize::MAX })
    }

    fn is_nearly_full(&self) -> bool {
        false
    }

    fn command(&mut self, command: &Command) {
        self.coming.push(*command);
    }

    fn asked_by(&mut self, _: Option<&Arc<Caller>>, _: u32) {}

    fn order(&mut self, engine: &mut Engine, time: Time) -> Result<Time, Infallible> {
        let first = engine.sequence().next();
        let numbered = self.coming.drain(..).zip(first.0..);
        self.kept.extend(numbered.map(|(command, number)| Entry { sequence: Sequence(number), time, command }));
        Ok(time)
    }

    fn needs_events(&self) -> bool {
        false
    }

    fn event(&mut self, _: Sequence, _: Time, _: Event) {}

    fn request_applied(&mut self, _: &Engine) {}

    fn applied(&mut self, _: &mut Engine) {}

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

impl Memory {
    /// With these kept already.
    pub fn with(kept: Vec<Entry>) -> Memory {
        Memory { coming: Vec::new(), kept }
    }
}

/// A loop at this clock.
pub fn options(now: impl Fn() -> Time + Send + Sync + 'static) -> TurnOptions {
    TurnOptions {
        limits: AnswerLimits { request_executions_max: 100 },
        bounds: Bounds::NONE,
        metrics: Metrics::new(&[]),
        clock: Clock::steady(now),
        clock_leap_max: Duration::from_secs(1 << 30),
        calendar: Calendar::default(),
        audit: false,
    }
}
