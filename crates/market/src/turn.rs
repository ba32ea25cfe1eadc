//! The one loop of a market, over any ledger: it orders what gateways hand in, stamps it with the time, has the ledger
//! keep it, applies it and has the ledger release the answers. The only holder of `&mut Engine`. It can be stepped: it
//! owns no thread, and tests give it the clock.
//!
//! ```text
//! inbox ─► admission ─► ledger: order ─► engine: apply ─► ledger: release
//! ```
//! All batches of a turn share one time, and no two turns have the same. With a journal the order is known when it is
//! durable, so nothing derived from a command leaves before the command is durable: nothing is derived from it before.

use std::time::{Duration, Instant};

use engine::Engine;
use exchange::{Batch, Gauge, Lag, Metrics, Requests, Unavailable};
use terms::{Command, Entry, Event, Op, Reply, Sequence, Time};

use crate::admission::{Admission, Bounds, Conditions};
use crate::apply::{AnswerLimits, EffectListener, answer};
use crate::attribution::attribute;
use crate::calendar::Calendar;
use crate::inbox::{Arrived, Inbox};
use crate::ledger::{Ledger, Measured, Writers};
use crate::scheduled::Scheduled;
use crate::timekeeper::{Clock, Timekeeper, next_turn};
use crate::turn_budget::TurnBudget;

/// The interval of the loop's own turns while no batches come: for the next reached orders, orders at their deadlines,
/// and auctions at their ends.
const BETWEEN_OWN_TURNS: Duration = Duration::from_millis(1);

/// The most time for which the loop sleeps while an order has a deadline or an auction an end: the market's time may
/// leap.
const UNTIL_DEADLINE_MAX: Duration = Duration::from_secs(1);

/// Settings of the loop.
#[derive(Clone, Debug)]
pub struct TurnOptions {
    /// Bounds on answers.
    pub limits: AnswerLimits,
    /// Bounds on what clients may have the server keep.
    pub bounds: Bounds,
    /// The metrics in which the loop records turns, and its gauges.
    pub metrics: Metrics,
    /// The clock.
    pub clock: Clock,
    /// The lead beyond which a clock is never followed.
    pub clock_leap_max: Duration,
    /// The calendar of phases and days.
    pub calendar: Calendar,
    /// Whether the ledger gets the callers of commands.
    pub audit: bool,
}

/// An engine and its ledger, with what lies between them.
pub struct MarketLoop<L: Ledger> {
    engine: Engine,
    ledger: L,
    limits: AnswerLimits,
    bounds: Bounds,
    /// The decisions on the turn's commands, so that applying goes through the ops as ordering did.
    admission: Admission,
    timekeeper: Timekeeper,
    scheduled: Scheduled,
    metrics: Metrics,
    audit: bool,
    budget: TurnBudget,
    /// The number of orders that were canceled on disconnect.
    disconnected: u64,
    /// Whether the disk is nearly full in this turn. It is asked once a turn, because the answer may change meanwhile.
    disk_low: bool,
    /// The lag of the followers before this turn.
    lag: Lag,
}

/// Runs until the inbox is closed and everything in it is answered. Errors: the ledger's; after one, nothing more may
/// be acknowledged.
pub fn run<L: Ledger>(mut turn: MarketLoop<L>, inbox: &Inbox) -> Result<(Engine, L), L::Error> {
    let mut batches = Vec::new();
    loop {
        let patience = turn.patience();
        match inbox.take(&mut batches, patience, turn.budget.cost(), turn.lag) {
            Arrived::Batches(share) => {
                turn.metrics.shared(share.heavy_cost, share.passed_over, share.is_cut);
                turn.step(&mut batches)?;
            }
            Arrived::Nothing => turn.idle()?,
            Arrived::Closed => return turn.close(),
        }
    }
}

impl<L: Ledger> MarketLoop<L> {
    /// Makes the loop of an engine that has applied exactly what the ledger has.
    pub fn new(engine: Engine, mut ledger: L, options: TurnOptions) -> MarketLoop<L> {
        let TurnOptions { limits, bounds, metrics, clock, clock_leap_max, calendar, audit } = options;
        let mut timekeeper = Timekeeper::new(clock, engine.time(), clock_leap_max);
        let now = ledger.now(timekeeper.now(Time::ZERO)).max(engine.time());
        let scheduled = Scheduled::new(calendar, &engine, now);
        note_market(&metrics, &engine);
        let admission = Admission::at_start(&engine, timekeeper.passed());
        let (budget, disconnected, disk_low) = (TurnBudget::default(), 0, ledger.is_nearly_full());
        MarketLoop {
            engine,
            ledger,
            limits,
            bounds,
            admission,
            timekeeper,
            scheduled,
            metrics,
            audit,
            budget,
            disconnected,
            disk_low,
            lag: Lag::None,
        }
    }

    /// The server's own journal ended at this time, and what was written elsewhere since then brought the engine to its
    /// time: what its calendar has in between is due, too.
    pub fn away_since(mut self, last: Time) -> MarketLoop<L> {
        self.scheduled.begin_at(last);
        self
    }

    /// The engine, to look at.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The ledger, to look at.
    pub fn ledger(&self) -> &L {
        &self.ledger
    }

    /// Asks for what the next turn depends on.
    fn look(&mut self) {
        self.disk_low = self.ledger.is_nearly_full();
        self.lag = self.ledger.lag();
    }

    /// Takes all of `batches`, in order and as many at once as the ledger has room for, and gives them to the ledger
    /// with their answers. Everything that is due in the calendar comes before them, so that no order is placed in a
    /// symbol that the calendar has closed. Errors: those of the ledger; the remaining batches were not answered.
    pub fn step(&mut self, batches: &mut Vec<Box<Batch>>) -> Result<(), L::Error> {
        while !batches.is_empty() {
            let Some(room) = self.ledger.room() else {
                batches.drain(..).for_each(|batch| self.refuse(batch));
                break;
            };
            self.look();
            let time = next_turn(self.now(), self.engine.time());
            match self.follows_calendar(time) {
                true => self.turn(&mut Vec::new(), 0, time)?,
                false => self.turn(batches, room.for_first_of(batches), time)?,
            }
        }
        self.ledger.tend(&mut self.engine, self.timekeeper.passed())
    }

    /// The time for which the loop may sleep before `idle` has something to do; none if it has nothing to do.
    fn patience(&mut self) -> Option<Duration> {
        self.look();
        if !self.writes() {
            return self.ledger.patience();
        }
        let now = self.now();
        let scheduled = self.scheduled.next(now).filter(|_| !self.disk_low);
        let next = [self.engine.next_deadline(), self.engine.next_auction_end(), scheduled].into_iter().flatten().min();
        let activates = self.engine.reached_orders() > 0 && !self.disk_low;
        let own = match (activates || self.engine.has_kills_going_on(), next) {
            (true, _) => Some(BETWEEN_OWN_TURNS),
            (false, Some(deadline)) => {
                let left = deadline.0.saturating_sub(now.0);
                Some(Duration::from_micros(left).clamp(BETWEEN_OWN_TURNS, UNTIL_DEADLINE_MAX))
            }
            (false, None) => None,
        };
        let passed = self.timekeeper.passed();
        let lost = self.admission.presence.next().map(|due| due.saturating_sub(passed).max(BETWEEN_OWN_TURNS));
        [self.ledger.patience(), own, lost].into_iter().flatten().min()
    }

    /// The time of the next command. The clock alone does not say it where it is behind market time: what is added to
    /// it there would be added again and again.
    fn now(&mut self) -> Time {
        let shows = self.timekeeper.now(Time::ZERO);
        let now = self.ledger.now(shows);
        self.timekeeper.follow(now, shows);
        now.max(self.engine.time())
    }

    /// Whether the loop makes commands of its own. Where only others write, they make all of them.
    fn writes(&self) -> bool {
        match self.ledger.writers() {
            Writers::This | Writers::Several => true,
            Writers::Others | Writers::Nobody => false,
        }
    }

    /// Whether the next turn activates orders. While the disk is nearly full only commands that free something are
    /// written. While followers are behind, what executes very often waits for them, and others' requests do not.
    fn activates(&self) -> bool {
        self.engine.reached_orders() > 0 && !self.disk_low && self.lag == Lag::None
    }

    /// Whether the next turn ends an auction. While the disk is nearly full nobody could cancel what executes then.
    /// While followers are behind, it waits as activations do.
    fn ends_auction(&self, now: Time) -> bool {
        self.engine.has_auctions_to_end(now) && !self.disk_low && self.lag == Lag::None
    }

    /// Whether the calendar has a step for a turn at this time. While the disk is nearly full, the calendar waits.
    fn follows_calendar(&self, now: Time) -> bool {
        self.writes() && self.scheduled.is_due(now) && !self.disk_low
    }

    /// The loop's own commands for a turn at this time. Ending orders frees something.
    fn own_commands(&self, now: Time) -> impl Iterator<Item = Command> + use<L> {
        let expires = self.engine.has_orders_to_end(now).then_some(Command::ExpireOrders);
        let activates = self.activates().then_some(Command::ActivateReached);
        let ends_auction = self.ends_auction(now).then_some(Command::EndAuction);
        expires.into_iter().chain(activates).chain(ends_auction)
    }

    /// Takes the loop's own commands with the calendar's due steps, which come before these batches, and the lost
    /// protections. Each comes once.
    fn take_own_commands(&mut self, time: Time, batches: &[Box<Batch>]) -> Vec<Command> {
        let scheduled = match self.disk_low {
            true => Vec::new(),
            false => self.scheduled.take(&self.engine, time),
        };
        let lost = self.admission.presence.lost(&self.engine, self.timekeeper.passed());
        let changes_phases = !self.disk_low && self.engine.calendar_followed().is_some() && ask_for_phases(batches);
        let caught_up = changes_phases.then(|| self.scheduled.caught_up(&self.engine, time)).flatten();
        self.own_commands(time).chain(scheduled).chain(caught_up).chain(lost).collect()
    }

    /// Makes a turn of the loop's own commands, and looks after what is kept, while no batch comes.
    pub fn idle(&mut self) -> Result<(), L::Error> {
        self.look();
        let now = self.now();
        let is_due = self.own_commands(now).next().is_some()
            || self.admission.presence.is_due(self.timekeeper.passed())
            || self.follows_calendar(now);
        if self.writes() && is_due && self.ledger.room().is_some() {
            let time = next_turn(self.now(), self.engine.time());
            self.turn(&mut Vec::new(), 0, time)?;
        }
        self.ledger.idle(&mut self.engine, self.timekeeper.passed())
    }

    /// Refuses a batch because nothing can be kept. Connections that it reports as ended count all the same.
    #[cold]
    fn refuse(&mut self, batch: Box<Batch>) {
        let (departed, passed) = (batch.requests.departed(), self.timekeeper.passed());
        departed.iter().for_each(|protector| self.admission.presence.depart_at(*protector, passed));
        batch.refuse(Unavailable::StoreAway);
    }

    /// Ends the loop, when no more batches will come.
    pub fn close(mut self) -> Result<(Engine, L), L::Error> {
        self.ledger.close(&mut self.engine)?;
        Ok((self.engine, self.ledger))
    }

    /// Orders, applies and answers the first `count` of `batches`, and leaves the others. The loop's own commands come
    /// first.
    #[expect(clippy::vec_box, reason = "a batch is handed over by its pointer")]
    fn turn(&mut self, batches: &mut Vec<Box<Batch>>, count: usize, time: Time) -> Result<(), L::Error> {
        let begun = Instant::now();
        let own_commands = match self.writes() {
            true => self.take_own_commands(time, &batches[..count]),
            false => Vec::new(),
        };
        let MarketLoop { engine, ledger, admission, .. } = self;
        let conditions = Conditions { disk_low: self.disk_low, writers: ledger.writers(), bounds: self.bounds };
        let taken = &mut batches[..count];
        for batch in taken.iter_mut().filter(|batch| batch.requests.asks_for_days()) {
            batch.requests.decide_days(|symbol| self.scheduled.day_end(symbol, time));
        }
        let requests = taken.iter().map(|batch| &batch.requests);
        own_commands.iter().for_each(|command| ledger.command(command));
        admission.decide(engine, &conditions, time, requests, &mut |command| ledger.command(command));
        if self.audit {
            let (own, decisions) = (own_commands.len(), admission.decisions());
            attribute(own, taken, decisions, |caller, commands| ledger.asked_by(caller, commands));
        }
        let mut are_awaited = true;
        let time = ledger.order(engine, time, &mut || {
            if std::mem::take(&mut are_awaited) {
                taken.iter_mut().for_each(|batch| batch.abandon_early(Unavailable::StoreAway));
            }
        })?;
        let ordered = Instant::now();
        for command in own_commands {
            let sequence = engine.sequence().next();
            let mut tell = |event| ledger.event(sequence, time, event);
            let reply = engine.apply_told(&Entry { sequence, time, command }, &mut Vec::new(), &mut tell);
            ledger.request_applied(engine);
            if let (Command::Unprotect { account, .. }, Reply::CanceledAll { orders, left, .. }) = (command, reply) {
                self.disconnected += orders as u64;
                if let Some((grace, through)) = engine.grace(account).zip(left) {
                    admission.presence.goes_on(account, grace, through);
                }
            }
        }
        let mut decisions = admission.decisions();
        if ledger.needs_events() {
            let mut tell = Telling { ledger: &mut *ledger, time };
            taken.iter_mut().for_each(|batch| answer(engine, self.limits, batch, time, &mut decisions, &mut tell));
        } else {
            // Without a receiver events are not even made, which saves a twentieth of the loop's time.
            taken.iter_mut().for_each(|batch| answer(engine, self.limits, batch, time, &mut decisions, &mut nobody));
        }
        drop(decisions);
        ledger.applied(engine);
        let applied = Instant::now();
        self.measure(batches, count, [begun, ordered, applied]);
        self.ledger.release(batches.drain(..count), applied);
        Ok(())
    }

    /// Records the duration of a turn with the first `count` of `batches`, and the state of the market.
    fn measure(&mut self, batches: &mut [Box<Batch>], count: usize, [begun, ordered, applied]: [Instant; 3]) {
        let sync = self.ledger.sync_time();
        batches[..count].iter_mut().for_each(|batch| batch.note_times([begun, ordered, applied], sync));
        let taken = &batches[..count];
        taken.iter().for_each(|batch| self.metrics.taken(batch, begun));
        let requests = taken.iter().map(|batch| batch.requests.len()).sum();
        let (ops, waiting) = (ops_of(taken), ops_of(batches));
        self.budget.learn(ops.max(requests) as u64, ordered - begun, applied - ordered);
        self.ledger.measure(&self.metrics, &Measured { requests, ops, waiting, begun, ordered, applied });
        note_market(&self.metrics, &self.engine);
        self.metrics.set(Gauge::ClockLeapMicros, self.timekeeper.leap_us());
        self.metrics.set(Gauge::Disconnected, self.disconnected);
    }
}

fn ops_of(batches: &[Box<Batch>]) -> usize {
    batches.iter().map(|batch| batch.requests.ops().len()).sum()
}

/// Whether a caller who may do that asks in these batches to change a phase.
fn ask_for_phases(batches: &[Box<Batch>]) -> bool {
    let asks = |requests: &Requests| {
        let changes = |op: &Op| matches!(op, Op::Command(Command::ChangePhase { .. }));
        requests.ops().iter().enumerate().any(|(at, op)| changes(op) && requests.denial(at).is_none())
    };
    batches.iter().any(|batch| asks(&batch.requests))
}

/// Records the state of the market.
fn note_market(metrics: &Metrics, engine: &Engine) {
    metrics.set(Gauge::Commands, engine.sequence().0);
    metrics.set(Gauge::Accounts, engine.account_count() as u64);
    metrics.set(Gauge::Symbols, engine.symbol_count() as u64);
    metrics.set(Gauge::OpenOrders, engine.open_order_count() as u64);
    metrics.set(Gauge::ClientOrderIds, engine.client_order_ids() as u64);
    metrics.set(Gauge::MarketTime, engine.time().0);
    metrics.set(Gauge::Protected, engine.protections().count() as u64);
}

/// Passes the effects of a turn to a ledger.
struct Telling<'a, L> {
    ledger: &'a mut L,
    time: Time,
}

impl<L: Ledger> EffectListener for Telling<'_, L> {
    #[inline]
    fn event(&mut self, sequence: Sequence, event: Event) {
        self.ledger.event(sequence, self.time, event);
    }

    #[inline]
    fn command_applied(&mut self, engine: &Engine, next: Option<&Op>) {
        self.ledger.command_applied(engine, next);
    }

    #[inline]
    fn request_applied(&mut self, engine: &Engine) {
        self.ledger.request_applied(engine);
    }
}

/// The receiver of events that nobody needs. It is not a closure: with a name, the program has the engine's code for it
/// once, and not once for each ledger.
fn nobody(_: Sequence, _: Event) {}
