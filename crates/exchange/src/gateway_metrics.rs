//! The measurements of a gateway: the times to read and write, the times of its requests, and their kinds and outcomes.
//! This module does not know what is behind the port. All counts are since the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use terms::Op;

use crate::answer::Answer;
use crate::batch::{Batch, Exchange};
use crate::histogram::{Histogram, Reading};
use crate::outcome::{Kind, Outcome, RequestCounts, RequestTotals};
use crate::refusals::Refusals;
use crate::turned_away::{TurnedAway, TurnedAways};

/// A shared handle; clones write and read the same figures. Writers never wait.
#[derive(Clone, Debug)]
pub struct GatewayMetrics(Arc<Figures>);

#[derive(Debug)]
struct Figures {
    /// The name, as a label.
    name: &'static str,
    parse: Histogram,
    answers: Histogram,
    reply: Histogram,
    outcomes: RequestTotals,
    refusals: Refusals,
    turned_away: TurnedAways,
    ops_in: AtomicU64,
    ops_out: AtomicU64,
    reports: AtomicU64,
    reports_waiting: AtomicU64,
    unsent: AtomicU64,
}

/// Bytes that a gateway made for its clients, counted until this is dropped.
#[derive(Debug)]
pub struct UnsentBytes {
    metrics: GatewayMetrics,
    bytes: u64,
}

impl Drop for UnsentBytes {
    fn drop(&mut self) {
        self.metrics.0.unsent.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Writing the figures.
impl GatewayMetrics {
    /// Makes the figures of a gateway of this name, all zero.
    pub fn new(name: &'static str) -> GatewayMetrics {
        GatewayMetrics(Arc::new(Figures {
            name,
            parse: Histogram::new(),
            answers: Histogram::new(),
            reply: Histogram::new(),
            outcomes: RequestTotals::new(),
            refusals: Refusals::default(),
            turned_away: TurnedAways::default(),
            ops_in: AtomicU64::new(0),
            ops_out: AtomicU64::new(0),
            reports: AtomicU64::new(0),
            reports_waiting: AtomicU64::new(0),
            unsent: AtomicU64::new(0),
        }))
    }

    /// Notes that the gateway read and parsed this many requests in this time, up to the handing in of their batch.
    pub fn parsed(&self, requests: usize, time: Duration) {
        self.0.parse.add_time(requests as u64, time);
    }

    /// Notes that the gateway made and wrote the replies to this many requests in this time.
    pub fn replied(&self, requests: usize, time: Duration) {
        self.0.reply.add_time(requests as u64, time);
    }

    /// Counts a batch, hands it inward, and returns the time.
    pub fn hand_in(&self, batch: Box<Batch>, exchange: &dyn Exchange) -> Instant {
        self.0.ops_in.fetch_add(batch.requests.ops().len() as u64, Ordering::Relaxed);
        batch.hand_in(exchange)
    }

    /// Counts a batch that came back, with or without answers. `done` gives the outcome of an op about an order that
    /// the history has; `None` if [`GatewayMetrics::looked_up`] counts it later.
    pub fn came_back(&self, batch: &Batch, now: Instant, done: impl Fn(Kind) -> Option<Outcome>) {
        let ops = batch.requests.ops();
        self.0.ops_out.fetch_add(ops.len() as u64, Ordering::Relaxed);
        if let Some(submitted) = batch.submitted {
            self.0.answers.add_time(batch.requests.len() as u64, now.saturating_duration_since(submitted));
        }
        let mut counts = RequestCounts::new();
        if batch.is_abandoned() {
            ops.iter().for_each(|op| counts.add(Kind::of(op), Outcome::OutcomeUnknown, 1));
        } else {
            for (op, answer) in ops.iter().zip(&batch.answers) {
                self.0.refusals.count(answer);
                let kind = Kind::of(op);
                if let Some(outcome) = Outcome::of(answer).or_else(|| done(kind)) {
                    counts.add(kind, outcome, 1);
                }
            }
        }
        self.0.outcomes.add(&counts);
    }

    /// Counts an op of a batch that came back, now that the history has answered it.
    pub fn looked_up(&self, op: &Op, answer: &Answer) {
        if let Some(outcome) = Outcome::of(answer) {
            self.count(Kind::of(op), outcome, 1);
        }
    }

    /// Counts things with a malformed request, for which no op exists.
    pub fn malformed(&self, times: usize) {
        self.count(Kind::Malformed, Outcome::Malformed, times as u64);
    }

    /// Counts a client that is turned away. Returns the number of such clients without a line in the log since the last
    /// line, if the log is to have a line for this one.
    #[must_use]
    pub fn turned_away(&self, why: TurnedAway) -> Option<u64> {
        self.0.turned_away.count(why)
    }

    /// Counts reports that were made for followers of accounts, and wait until they are dropped. A report that several
    /// followers get counts once.
    pub fn reports_made(&self, reports: usize) {
        self.0.reports.fetch_add(reports as u64, Ordering::Relaxed);
        self.0.reports_waiting.fetch_add(reports as u64, Ordering::Relaxed);
    }

    /// Counts reports that wait no more.
    pub fn reports_dropped(&self, reports: usize) {
        self.0.reports_waiting.fetch_sub(reports as u64, Ordering::Relaxed);
    }

    /// Counts bytes that were made for a client and are not sent.
    pub fn count_unsent(&self, bytes: usize) -> UnsentBytes {
        let bytes = bytes as u64;
        self.0.unsent.fetch_add(bytes, Ordering::Relaxed);
        UnsentBytes { metrics: self.clone(), bytes }
    }

    fn count(&self, kind: Kind, outcome: Outcome, times: u64) {
        let mut counts = RequestCounts::new();
        counts.add(kind, outcome, times);
        self.0.outcomes.add(&counts);
    }
}

/// Reading the figures. Times are in microseconds, their sums in nanoseconds.
impl GatewayMetrics {
    /// The gateway, as a label.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// The times of requests from their batch's way in to its way out.
    pub fn answers(&self) -> Reading {
        self.0.answers.read()
    }

    /// The number of requests of a kind with this outcome.
    pub fn requests(&self, kind: Kind, outcome: Outcome) -> u64 {
        self.0.outcomes.get(kind, outcome)
    }

    /// The number of refusals by each limit of an account or a member.
    pub fn limit_refusals(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.refusals.all().into_iter()
    }

    /// The number of clients that were turned away, by reason.
    pub fn all_turned_away(&self) -> impl Iterator<Item = (TurnedAway, u64)> {
        self.0.turned_away.all()
    }

    /// Reports that were made for followers of accounts.
    pub fn reports(&self) -> u64 {
        self.0.reports.load(Ordering::Relaxed)
    }

    /// Reports that wait for followers of accounts.
    pub fn reports_waiting(&self) -> u64 {
        self.0.reports_waiting.load(Ordering::Relaxed)
    }

    /// Bytes that were made for clients and are not sent.
    pub fn unsent(&self) -> u64 {
        self.0.unsent.load(Ordering::Relaxed)
    }

    /// Commands and queries that were handed in and did not come back yet.
    pub fn ops_in_flight(&self) -> u64 {
        let out = self.0.ops_out.load(Ordering::Relaxed);
        self.0.ops_in.load(Ordering::Relaxed).saturating_sub(out)
    }

    pub(crate) fn parse(&self) -> Reading {
        self.0.parse.read()
    }

    pub(crate) fn reply(&self) -> Reading {
        self.0.reply.read()
    }
}

#[cfg(test)]
mod tests {
    use terms::{AccountId, Command, Money, OrderId, Query, Reject, Reply};

    use super::*;
    use crate::lookup::Lookup;

    fn batch(answers: Vec<Answer>) -> Box<Batch> {
        let account = AccountId::parse(b"1").expect("digits");
        let mut batch = Batch::calling(drop);
        batch.requests.push(&[
            Op::Command(Command::CreateAccount { account, balance: Money::ZERO }),
            Op::Query(Query { account, order: OrderId(7).into() }),
        ]);
        batch.answers = answers;
        batch
    }

    /// An exchange that drops what it gets.
    struct Nobody;

    impl Exchange for Nobody {
        fn submit(&self, _: Box<Batch>) {}

        fn look_up(&self, _: Lookup) {}
    }

    #[test]
    fn what_came_of_a_batch_is_counted() {
        let metrics = GatewayMetrics::new("xml");
        let answers =
            || vec![Answer::Reply(Reply::Rejected(Reject::AccountExists)), Answer::Reply(Reply::Done(OrderId(7)))];
        metrics.hand_in(batch(Vec::new()), &Nobody);
        assert_eq!(metrics.ops_in_flight(), 2);
        metrics.came_back(&batch(answers()), Instant::now(), |_| None);
        assert_eq!(metrics.ops_in_flight(), 0);
        assert_eq!(metrics.requests(Kind::CreateAccount, Outcome::Conflict), 1);
        assert_eq!(metrics.requests(Kind::Query, Outcome::Accepted), 0, "the history has not answered");
        let asked = batch(Vec::new());
        metrics.looked_up(&asked.requests.ops()[1], &Answer::Reply(Reply::Rejected(Reject::UnknownOrder)));
        assert_eq!(metrics.requests(Kind::Query, Outcome::Unknown), 1);
        metrics.came_back(&batch(answers()), Instant::now(), |_| Some(Outcome::Accepted));
        assert_eq!(metrics.requests(Kind::Query, Outcome::Accepted), 1);
    }

    #[test]
    fn of_an_abandoned_batch_the_outcome_is_unknown() {
        let metrics = GatewayMetrics::new("xml");
        let told = metrics.clone();
        let mut abandoned = Batch::calling(move |batch| told.came_back(&batch, Instant::now(), |_| None));
        abandoned.requests = batch(Vec::new()).requests.clone();
        abandoned.abandon();
        assert_eq!(metrics.requests(Kind::Query, Outcome::OutcomeUnknown), 1);
        assert_eq!(metrics.requests(Kind::CreateAccount, Outcome::OutcomeUnknown), 1);
    }

    #[test]
    fn what_has_the_wrong_form_is_counted_without_an_op() {
        let metrics = GatewayMetrics::new("xml");
        metrics.malformed(3);
        assert_eq!(metrics.requests(Kind::Malformed, Outcome::Malformed), 3);
    }
}
