//! What the server measures of itself: how long the parts of an answer take, what was asked and what came of it, and how
//! things stand. Written down once a batch or a turn by whoever knows it, and read by whoever watches; nobody waits for
//! anybody. All counts are since the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::Op;
use wire::Answer;

use crate::batch::Batch;
use crate::histogram::{Histogram, Reading};
use crate::tally::{Kind, Tally, Totals, Verdict};

/// Where a request came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Xml,
    Rest,
}

/// A part of the way of a request. All requests of a batch or turn take as long as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Reading sockets and parsing, until the batch is handed in.
    Parse,
    /// Until the turn begins that takes it.
    Wait,
    /// Writing the journal and waiting for the disk.
    Journal,
    /// Applying commands and answering queries.
    Apply,
    /// With a database: from then until the transaction is committed, or, of queries alone, the market is seen to be ours.
    Commit,
    /// Making replies and writing to sockets.
    Reply,
}

/// Something of which the last figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gauge {
    /// Commands sequenced since the market began.
    Commands,
    Accounts,
    Symbols,
    OpenOrders,
    /// Commands and queries that waited when the last turn began, those of the turn included.
    TurnQueue,
    /// How long reading what was known took at the start.
    RecoveryMicros,
    /// Commands that were replayed then.
    RecoveredCommands,
    /// When the newest snapshot was made, in seconds since the Unix epoch.
    SnapshotTime,
    /// What is free on the disk of the data folder.
    DataFreeBytes,
    /// WebSockets that are subscribed to something.
    Subscribers,
    /// Records of the archive that were found damaged.
    DamagedInArchive,
    /// Records of the history that were.
    DamagedInHistory,
    /// The time of the last command, in microseconds since the Unix epoch.
    MarketTime,
    /// How far the machine's clock is ahead because it leapt and is not followed.
    ClockLeapMicros,
}

const GAUGES: usize = Gauge::ClockLeapMicros as usize + 1;
/// What a gauge holds that was never set.
const UNSET: u64 = u64::MAX;

/// A shared handle; clones write and read the same figures.
#[derive(Clone, Debug)]
pub struct Pulse(Arc<Figures>);

#[derive(Debug)]
struct Figures {
    /// In microseconds, their sums in nanoseconds, as all times here.
    stages: [Histogram; Stage::ALL.len()],
    answers: [Histogram; Source::ALL.len()],
    outcomes: [Totals; Source::ALL.len()],
    syncs: Histogram,
    turns: Histogram,
    ops_in: AtomicU64,
    ops_out: AtomicU64,
    gauges: [AtomicU64; GAUGES],
}

impl Source {
    pub const ALL: [Source; 2] = [Source::Xml, Source::Rest];

    /// As a label.
    pub fn name(self) -> &'static str {
        match self {
            Source::Xml => "xml",
            Source::Rest => "rest",
        }
    }
}

impl Stage {
    pub const ALL: [Stage; 6] = [Stage::Parse, Stage::Wait, Stage::Journal, Stage::Apply, Stage::Commit, Stage::Reply];

    /// As a label.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Parse => "parse",
            Stage::Wait => "wait",
            Stage::Journal => "journal",
            Stage::Apply => "apply",
            Stage::Commit => "commit",
            Stage::Reply => "reply",
        }
    }
}

impl Default for Pulse {
    fn default() -> Pulse {
        Pulse::new()
    }
}

/// Writing it down.
impl Pulse {
    /// Nothing written down yet.
    pub fn new() -> Pulse {
        Pulse(Arc::new(Figures {
            stages: Stage::ALL.map(|_| Histogram::new()),
            answers: Source::ALL.map(|_| Histogram::new()),
            outcomes: Source::ALL.map(|_| Totals::new()),
            syncs: Histogram::new(),
            turns: Histogram::new(),
            ops_in: AtomicU64::new(0),
            ops_out: AtomicU64::new(0),
            gauges: [const { AtomicU64::new(UNSET) }; GAUGES],
        }))
    }

    /// So many requests were in a stage for so long.
    pub fn spent(&self, stage: Stage, requests: usize, time: Duration) {
        add_time(&self.0.stages[stage as usize], requests as u64, time);
    }

    /// A batch is handed in.
    pub(crate) fn handed_in(&self, batch: &Batch) {
        self.0.ops_in.fetch_add(batch.requests.ops().len() as u64, Ordering::Relaxed);
    }

    /// A turn has begun that takes this batch.
    pub fn taken(&self, batch: &Batch, begun: Instant) {
        if let Some(submitted) = batch.submitted {
            self.spent(Stage::Wait, batch.requests.len(), begun.saturating_duration_since(submitted));
        }
    }

    /// A turn, or a transaction, of so many commands and queries is over; so many waited when it began, its own included.
    pub fn turned(&self, ops: usize, queue: usize) {
        self.0.turns.add(ops as u64, 1, ops as u64);
        self.set(Gauge::TurnQueue, queue as u64);
    }

    /// The disk, or the database, took so long to keep something.
    pub fn kept(&self, time: Duration) {
        add_time(&self.0.syncs, 1, time);
    }

    /// A batch came back to whom it was handed in by, with or without answers.
    pub fn came_back(&self, source: Source, batch: &Batch, now: Instant) {
        let ops = batch.requests.ops();
        self.0.ops_out.fetch_add(ops.len() as u64, Ordering::Relaxed);
        if let Some(submitted) = batch.submitted {
            let took = now.saturating_duration_since(submitted);
            add_time(&self.0.answers[source as usize], batch.requests.len() as u64, took);
        }
        let mut tally = Tally::new();
        if batch.is_abandoned() {
            ops.iter().for_each(|op| tally.add(Kind::of(op), Verdict::OutcomeUnknown, 1));
        } else {
            for (op, answer) in ops.iter().zip(&batch.answers) {
                let kind = Kind::of(op);
                if let Some(outcome) = Verdict::of(answer).or_else(|| archived(source, kind)) {
                    tally.add(kind, outcome, 1);
                }
            }
        }
        tally.add(Kind::Malformed, Verdict::Malformed, batch.requests.refused() as u64);
        self.0.outcomes[source as usize].add(&tally);
    }

    /// The archive said what an op of a batch that came back gets.
    pub(crate) fn looked_up(&self, op: &Op, answer: &Answer) {
        if let Some(outcome) = Verdict::of(answer) {
            self.count(Source::Xml, Kind::of(op), outcome);
        }
    }

    /// A request was refused for its form, before it was in any batch.
    pub fn malformed(&self, source: Source) {
        self.count(source, Kind::Malformed, Verdict::Malformed);
    }

    /// How something stands from now on.
    pub fn set(&self, gauge: Gauge, value: u64) {
        self.0.gauges[gauge as usize].store(value, Ordering::Relaxed);
    }

    fn count(&self, source: Source, kind: Kind, outcome: Verdict) {
        let mut tally = Tally::new();
        tally.add(kind, outcome, 1);
        self.0.outcomes[source as usize].add(&tally);
    }
}

/// Reading it. Times are in microseconds, their sums in nanoseconds.
impl Pulse {
    /// How long requests were in a stage.
    pub fn stage(&self, stage: Stage) -> Reading {
        self.0.stages[stage as usize].read()
    }

    /// How long requests took from their batch's way in to its way out.
    pub fn answers(&self, source: Source) -> Reading {
        self.0.answers[source as usize].read()
    }

    /// How many requests there were of a kind, with this outcome.
    pub fn requests(&self, source: Source, kind: Kind, outcome: Verdict) -> u64 {
        self.0.outcomes[source as usize].get(kind, outcome)
    }

    /// How long syncs of the journal took; with a database, commits.
    pub fn syncs(&self) -> Reading {
        self.0.syncs.read()
    }

    /// Commands and queries of each turn; with a database, of each transaction.
    pub fn turns(&self) -> Reading {
        self.0.turns.read()
    }

    /// Commands and queries that were handed in and did not come back yet.
    pub fn ops_in_flight(&self) -> u64 {
        let out = self.0.ops_out.load(Ordering::Relaxed);
        self.0.ops_in.load(Ordering::Relaxed).saturating_sub(out)
    }

    /// How something stands; none where nobody has said so.
    pub fn get(&self, gauge: Gauge) -> Option<u64> {
        let value = self.0.gauges[gauge as usize].load(Ordering::Relaxed);
        (value != UNSET).then_some(value)
    }
}

/// Rounded up, so that a bound in microseconds holds the times that do not exceed it.
fn add_time(histogram: &Histogram, times: u64, time: Duration) {
    let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    histogram.add(nanos.div_ceil(1000), times, nanos.saturating_mul(times));
}

/// What becomes of an op about an order that is done and archived. A gateway worker is told later; REST looks elsewhere.
fn archived(source: Source, kind: Kind) -> Option<Verdict> {
    match (source, kind) {
        (Source::Xml, _) => None,
        (Source::Rest, Kind::Cancel) => Some(Verdict::Conflict),
        (Source::Rest, _) => Some(Verdict::Accepted),
    }
}

#[cfg(test)]
mod tests {
    use engine::{AccountId, Command, Money, OrderId, Query, Reject, Reply};

    use super::*;

    fn batch(answers: Vec<Answer>) -> Box<Batch> {
        let account = AccountId::parse(b"1").expect("digits");
        let mut batch = Batch::calling(drop);
        batch.requests.push_ops(&[
            Op::Command(Command::CreateAccount { account, balance: Money::ZERO }),
            Op::Query(Query { account, order: OrderId(7) }),
        ]);
        batch.answers = answers;
        batch
    }

    #[test]
    fn what_came_of_a_batch_is_counted_where_it_came_in() {
        let pulse = Pulse::new();
        let answers =
            || vec![Answer::Reply(Reply::Rejected(Reject::AccountExists)), Answer::Reply(Reply::Archived(OrderId(7)))];
        let of = |source, kind, outcome| pulse.requests(source, kind, outcome);
        pulse.handed_in(&batch(answers()));
        assert_eq!(pulse.ops_in_flight(), 2);
        pulse.came_back(Source::Xml, &batch(answers()), Instant::now());
        assert_eq!(pulse.ops_in_flight(), 0);
        assert_eq!(of(Source::Xml, Kind::CreateAccount, Verdict::Conflict), 1);
        assert_eq!(of(Source::Xml, Kind::Query, Verdict::Accepted), 0, "the archive has not answered");
        let asked = batch(Vec::new());
        pulse.looked_up(&asked.requests.ops()[1], &Answer::Reply(Reply::Rejected(Reject::UnknownOrder)));
        assert_eq!(of(Source::Xml, Kind::Query, Verdict::Unknown), 1);
        pulse.came_back(Source::Rest, &batch(answers()), Instant::now());
        assert_eq!(of(Source::Rest, Kind::Query, Verdict::Accepted), 1);
        let mut abandoned = batch(Vec::new());
        abandoned.abandoned = true;
        pulse.came_back(Source::Xml, &abandoned, Instant::now());
        assert_eq!(of(Source::Xml, Kind::Query, Verdict::OutcomeUnknown), 1);
    }

    #[test]
    fn what_has_the_wrong_form_is_counted_without_an_op() {
        let pulse = Pulse::new();
        let mut batch = Batch::calling(drop);
        let limits = wire::Limits { children_max: 10 };
        batch.requests.parse(b"<transactions id=\"1\"><order/><query id=\"7\"/><what/></transactions>", &limits);
        batch.requests.parse(b"<nonsense/>", &limits);
        batch.answers = vec![Answer::Reply(Reply::Rejected(Reject::UnknownAccount))];
        pulse.came_back(Source::Xml, &batch, Instant::now());
        assert_eq!(pulse.requests(Source::Xml, Kind::Malformed, Verdict::Malformed), 3);
        assert_eq!(pulse.requests(Source::Xml, Kind::Query, Verdict::Unknown), 1);
    }

    #[test]
    fn times_count_for_each_request_and_are_rounded_up() {
        let pulse = Pulse::new();
        pulse.spent(Stage::Apply, 50, Duration::from_nanos(4_001));
        let reading = pulse.stage(Stage::Apply);
        assert_eq!((reading.count(), reading.sum, reading.quantile(0.5)), (50, 200_050, Some(5)));
        assert_eq!(pulse.stage(Stage::Reply).count(), 0);
        pulse.kept(Duration::from_secs(3600));
        assert_eq!(pulse.syncs().quantile(1.0), Some(1 << 30), "more than is told apart");
    }

    #[test]
    fn a_gauge_says_nothing_until_somebody_has() {
        let pulse = Pulse::new();
        assert_eq!(pulse.get(Gauge::DataFreeBytes), None);
        pulse.clone().set(Gauge::DataFreeBytes, 0);
        assert_eq!(pulse.get(Gauge::DataFreeBytes), Some(0));
    }
}
