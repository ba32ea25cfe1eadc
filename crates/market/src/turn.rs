//! The one loop of a market, over any ledger: it orders what gateways hand in, stamps it with the time, has the ledger keep it, applies
//! it and has the ledger release the answers. The only holder of `&mut Engine`. It can be stepped: it owns no thread, and tests give
//! it the clock.
//!
//! ```text
//! inbox ─► admission ─► ledger: order ─► engine: apply ─► ledger: release
//! ```
//! All batches of a turn share one time. With a journal the order is known when it is durable, so nothing derived from a command
//! leaves before the command is durable: nothing is derived from it before.

use std::time::{Duration, Instant};

use engine::{Command, Engine};
use exchange::{Batch, Gauge, Metrics, Unavailable};

use crate::admission::{Admission, Bounds, Conditions};
use crate::answering::{AnswerLimits, answer};
use crate::inbox::{Arrived, Inbox};
use crate::ledger::{Ledger, Measured};
use crate::timekeeper::{Clock, Timekeeper};

/// While no batches come, the orders that wait for their activation get a turn of their own so often.
const BETWEEN_ACTIVATIONS: Duration = Duration::from_millis(1);

/// Settings of the loop.
#[derive(Clone, Debug)]
pub struct TurnOptions {
    /// What answers may take.
    pub limits: AnswerLimits,
    /// What clients may have the server keep.
    pub bounds: Bounds,
    /// Where the loop records how long turns take, and its gauges.
    pub metrics: Metrics,
    /// What tells the time.
    pub clock: Clock,
    /// A clock that is further ahead is never followed.
    pub clock_leap_max: Duration,
}

/// An engine and its ledger, with what lies between them.
pub struct Turn<L: Ledger> {
    engine: Engine,
    ledger: L,
    limits: AnswerLimits,
    bounds: Bounds,
    /// Which commands of the turn were admitted, so that applying walks through the ops as ordering did.
    admission: Admission,
    timekeeper: Timekeeper,
    metrics: Metrics,
}

/// Runs until the inbox is closed and all that it held is answered. Errors: the ledger's; then nothing more may be acknowledged.
pub fn run<L: Ledger>(mut turn: Turn<L>, inbox: &Inbox) -> Result<(Engine, L), L::Error> {
    let mut batches = Vec::new();
    loop {
        match inbox.take(&mut batches, turn.patience()) {
            Arrived::Batches => turn.step(&mut batches)?,
            Arrived::Nothing => turn.idle()?,
            Arrived::Closed => return turn.close(),
        }
    }
}

impl<L: Ledger> Turn<L> {
    /// Of an engine that stands where the ledger does.
    pub fn new(engine: Engine, ledger: L, options: TurnOptions) -> Turn<L> {
        let TurnOptions { limits, bounds, metrics, clock, clock_leap_max } = options;
        let timekeeper = Timekeeper::new(clock, engine.time(), clock_leap_max);
        note_market(&metrics, &engine);
        Turn { engine, ledger, limits, bounds, admission: Admission::default(), timekeeper, metrics }
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The ledger, to look at.
    pub fn ledger(&self) -> &L {
        &self.ledger
    }

    /// Takes all of `batches`, in order and as many at once as the ledger has room for, and gives them to the ledger with their
    /// answers. Errors: the ledger's; batches that are left were not answered.
    pub fn step(&mut self, batches: &mut Vec<Box<Batch>>) -> Result<(), L::Error> {
        while !batches.is_empty() {
            match self.ledger.room() {
                Some(room) => self.turn(batches, room.for_first_of(batches))?,
                None => batches.drain(..).for_each(|batch| batch.refuse(Unavailable::StoreAway)),
            }
        }
        self.ledger.tend(&mut self.engine, self.timekeeper.passed())
    }

    /// How long the loop may sleep before `idle` has something to do; none if it has nothing to do.
    fn patience(&self) -> Option<Duration> {
        match self.activates() {
            false => self.ledger.patience(),
            true => {
                Some(self.ledger.patience().map_or(BETWEEN_ACTIVATIONS, |patience| patience.min(BETWEEN_ACTIVATIONS)))
            }
        }
    }

    /// Whether the next turn activates orders. While the disk is nearly full nothing is written but what frees something.
    fn activates(&self) -> bool {
        self.engine.reached_orders() > 0 && !self.ledger.is_nearly_full()
    }

    /// Activates orders that wait for that, and looks after what is kept, while nothing comes.
    pub fn idle(&mut self) -> Result<(), L::Error> {
        if self.activates() && self.ledger.room().is_some() {
            self.turn(&mut Vec::new(), 0)?;
        }
        self.ledger.idle(&mut self.engine, self.timekeeper.passed())
    }

    /// Ends, when nothing more will come.
    pub fn close(mut self) -> Result<(Engine, L), L::Error> {
        self.ledger.close(&mut self.engine)?;
        Ok((self.engine, self.ledger))
    }

    /// Orders, applies and answers the first `count` of `batches`, and leaves the others. Where orders wait for their activation,
    /// that comes first.
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    fn turn(&mut self, batches: &mut Vec<Box<Batch>>, count: usize) -> Result<(), L::Error> {
        let begun = Instant::now();
        let activates = self.activates();
        let Turn { engine, ledger, admission, .. } = self;
        let time = self.timekeeper.now(engine.time());
        let conditions = Conditions { disk_low: ledger.is_nearly_full(), bounds: self.bounds };
        let taken = &mut batches[..count];
        let requests = taken.iter().map(|batch| &batch.requests);
        if activates {
            ledger.command(&Command::ActivateReached);
        }
        admission.decide(engine, &conditions, time, requests, &mut |command| ledger.command(command));
        ledger.order(engine.sequence().next(), time)?;
        let ordered = Instant::now();
        if activates {
            let sequence = engine.sequence().next();
            let mut tell = |event| ledger.event(sequence, time, event);
            engine.apply_command(sequence, time, &Command::ActivateReached, &mut Vec::new(), &mut tell);
        }
        let mut decisions = admission.decisions();
        if ledger.needs_events() {
            let mut tell = |sequence, event| ledger.event(sequence, time, event);
            taken.iter_mut().for_each(|batch| answer(engine, self.limits, batch, time, &mut decisions, &mut tell));
        } else {
            // Events that nobody needs are not even made: a twentieth of the loop's time.
            taken.iter_mut().for_each(|batch| answer(engine, self.limits, batch, time, &mut decisions, &mut |_, _| {}));
        }
        drop(decisions);
        ledger.applied(engine);
        let applied = Instant::now();
        self.measure(batches, count, [begun, ordered, applied]);
        self.ledger.release(batches.drain(..count), applied);
        Ok(())
    }

    /// Writes down how long a turn with the first `count` of `batches` took, and how the market stands.
    fn measure(&self, batches: &[Box<Batch>], count: usize, [begun, ordered, applied]: [Instant; 3]) {
        let taken = &batches[..count];
        taken.iter().for_each(|batch| self.metrics.taken(batch, begun));
        let requests = taken.iter().map(|batch| batch.requests.len()).sum();
        let (ops, waiting) = (ops_of(taken), ops_of(batches));
        self.ledger.measure(&self.metrics, &Measured { requests, ops, waiting, begun, ordered, applied });
        note_market(&self.metrics, &self.engine);
        self.metrics.set(Gauge::ClockLeapMicros, self.timekeeper.leap_us());
    }
}

fn ops_of(batches: &[Box<Batch>]) -> usize {
    batches.iter().map(|batch| batch.requests.ops().len()).sum()
}

/// Writes down how the market stands.
fn note_market(metrics: &Metrics, engine: &Engine) {
    metrics.set(Gauge::Commands, engine.sequence().0);
    metrics.set(Gauge::Accounts, engine.account_count() as u64);
    metrics.set(Gauge::Symbols, engine.symbol_count() as u64);
    metrics.set(Gauge::OpenOrders, engine.open_order_count() as u64);
    metrics.set(Gauge::MarketTime, engine.time().0);
}
