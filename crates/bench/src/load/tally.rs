//! What is counted during a run, by each thread, and put together at its end.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::guest::Opened;
use super::replies::Kind;

const SAMPLE_BYTES_MAX: usize = 300;
const LATENCY_MAX: Duration = Duration::from_secs(1_000);

/// What was answered, and how fast. Faults count in the warm-up, too; the rest only in the measured part.
pub struct Tally {
    /// From sending, or from its scheduled time in an open loop, to the whole reply: in nanoseconds.
    pub latency_ns: Histogram<u64>,
    /// How much later than scheduled requests left, in an open loop.
    pub lag_ns: Histogram<u64>,
    pub sent: u64,
    pub answered: u64,
    /// Right replies by their place in `Kind::ALL`.
    pub kinds: [u64; Kind::ALL.len()],
    pub errors_expected: u64,
    pub errors: u64,
    pub wrong: u64,
    pub broken: u64,
    pub lost: u64,
    pub first_wrong: Option<String>,
    /// Where the plan asks for it, with those of the warm-up.
    pub opened: Vec<Opened>,
    /// With those of the warm-up.
    pub created_in_all: u64,
    pub refused_in_all: u64,
    pub in_flight_max: u64,
    pub connections_max: u64,
    pub source_addresses: u64,
    pub first_sent: Option<Instant>,
    pub last_reply: Option<Instant>,
    /// Part of a core that the busiest thread used in the measured part.
    pub cpu_share: f64,
}

impl Default for Tally {
    fn default() -> Tally {
        let histogram = || {
            Histogram::new_with_bounds(1, LATENCY_MAX.as_nanos() as u64, 3)
                .expect("invariant: the bounds of the histogram are in order")
        };
        Tally {
            latency_ns: histogram(),
            lag_ns: histogram(),
            sent: 0,
            answered: 0,
            kinds: [0; Kind::ALL.len()],
            errors_expected: 0,
            errors: 0,
            wrong: 0,
            broken: 0,
            lost: 0,
            first_wrong: None,
            opened: Vec::new(),
            created_in_all: 0,
            refused_in_all: 0,
            in_flight_max: 0,
            connections_max: 0,
            source_addresses: 1,
            first_sent: None,
            last_reply: None,
            cpu_share: 0.0,
        }
    }
}

impl Tally {
    /// Counts a measured reply that came `latency` after its request was due.
    pub fn answered(&mut self, now: Instant, latency: Duration) {
        self.answered += 1;
        self.last_reply = Some(now);
        self.latency_ns.saturating_record((latency.as_nanos() as u64).max(1));
    }

    /// Counts a reply that is not right, and remembers the first.
    pub fn wrong(&mut self, what: &str, reply: &[u8]) {
        let shown = &reply[..reply.len().min(SAMPLE_BYTES_MAX)];
        self.remember(|| format!("{what}: {}", String::from_utf8_lossy(shown).trim_end()));
    }

    pub fn broken(&mut self, why: &dyn std::fmt::Display) {
        self.broken += 1;
        self.remember(|| format!("connection: {why}"));
    }

    fn remember(&mut self, text: impl FnOnce() -> String) {
        if self.first_wrong.is_none() {
            self.first_wrong = Some(text());
        }
    }

    /// Adds what another thread counted. The most in flight and open at once are sums of each thread's most.
    pub fn add(&mut self, other: &Tally) {
        self.latency_ns.add(&other.latency_ns).expect("invariant: all histograms have the same bounds");
        self.lag_ns.add(&other.lag_ns).expect("invariant: all histograms have the same bounds");
        self.sent += other.sent;
        self.answered += other.answered;
        self.kinds.iter_mut().zip(other.kinds).for_each(|(mine, theirs)| *mine += theirs);
        self.errors_expected += other.errors_expected;
        self.errors += other.errors;
        self.wrong += other.wrong;
        self.broken += other.broken;
        self.lost += other.lost;
        self.opened.extend_from_slice(&other.opened);
        self.created_in_all += other.created_in_all;
        self.refused_in_all += other.refused_in_all;
        self.in_flight_max += other.in_flight_max;
        self.connections_max += other.connections_max;
        self.source_addresses = self.source_addresses.max(other.source_addresses);
        self.cpu_share = self.cpu_share.max(other.cpu_share);
        self.first_sent = [self.first_sent, other.first_sent].into_iter().flatten().min();
        self.last_reply = self.last_reply.max(other.last_reply);
        if self.first_wrong.is_none() {
            self.first_wrong.clone_from(&other.first_wrong);
        }
    }

    /// From the first request to the last reply of the measured part.
    pub fn elapsed(&self) -> Duration {
        match (self.first_sent, self.last_reply) {
            (Some(first), Some(last)) => last.saturating_duration_since(first),
            _ => Duration::ZERO,
        }
    }
}
