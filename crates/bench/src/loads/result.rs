//! The counts of a run, made by each thread and put together at its end.

use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use super::observer::OpenedOrder;
use super::replies::Kind;
use crate::records::{ClientRecord, Counts, FORMAT, Latency, LoadSettings, RunRecord};

const SAMPLE_BYTES_MAX: usize = 300;
const LATENCY_MAX: Duration = Duration::from_secs(1_000);

/// The replies, and their latencies. Faults count in the warm-up, too; everything else only in the measured part.
pub struct LoadResult {
    /// Nanoseconds from sending, or from the scheduled time in an open loop, to the whole reply.
    pub latency_ns: Histogram<u64>,
    /// Nanoseconds by which requests left later than scheduled, in an open loop.
    pub lag_ns: Histogram<u64>,
    /// Counts without the kinds.
    pub counts: Counts,
    /// Right replies by their place in `Kind::ALL`.
    pub kinds: [u64; Kind::ALL.len()],
    /// Orders that were opened, if the plan asks for them, with those of the warm-up.
    pub opened: Vec<OpenedOrder>,
    /// Replies of the whole run, warm-up included.
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

impl Default for LoadResult {
    fn default() -> LoadResult {
        let histogram = || {
            Histogram::new_with_bounds(1, LATENCY_MAX.as_nanos() as u64, 3)
                .expect("invariant: the bounds of the histogram are in order")
        };
        LoadResult {
            latency_ns: histogram(),
            lag_ns: histogram(),
            counts: Counts::default(),
            kinds: [0; Kind::ALL.len()],
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

impl LoadResult {
    /// Counts a measured reply to `count` requests that came `latency` after they were due.
    pub fn answered(&mut self, now: Instant, latency: Duration, count: u64) {
        self.counts.answered += count;
        self.last_reply = Some(now);
        self.latency_ns.saturating_record_n((latency.as_nanos() as u64).max(1), count);
    }

    /// Returns the record of this load, as far as the load knows it.
    pub fn record(&self, load: LoadSettings) -> RunRecord {
        let seconds = match (self.first_sent, self.last_reply) {
            (Some(first), Some(last)) => last.saturating_duration_since(first).as_secs_f64(),
            _ => 0.0,
        };
        let kinds = Kind::ALL.into_iter().zip(self.kinds).filter(|(_, count)| *count > 0);
        let kinds = kinds.map(|(kind, count)| (kind.name().to_string(), count)).collect();
        RunRecord {
            format: FORMAT,
            seconds,
            throughput: if seconds > 0.0 { self.counts.answered as f64 / seconds } else { 0.0 },
            counts: Counts { kinds, ..self.counts.clone() },
            latency: Latency::of(&self.latency_ns, if load.rate.is_some() { "open" } else { "closed" }),
            load,
            in_flight_max: self.in_flight_max,
            connections_max: self.connections_max,
            client: ClientRecord {
                cores: Vec::new(),
                cpu_share: self.cpu_share,
                source_addresses: self.source_addresses,
            },
            ..RunRecord::default()
        }
    }

    /// Counts a reply that is not right, and remembers the first.
    pub fn wrong(&mut self, what: &str, reply: &[u8]) {
        self.counts.wrong += 1;
        self.remember(what, reply);
    }

    /// Counts an error that is not expected.
    pub fn error(&mut self, reply: &[u8]) {
        self.counts.errors += 1;
        self.remember("an error that is not expected", reply);
    }

    pub fn broken(&mut self, why: &dyn std::fmt::Display) {
        self.counts.broken += 1;
        self.remember("connection", why.to_string().as_bytes());
    }

    fn remember(&mut self, what: &str, said: &[u8]) {
        let shown = &said[..said.len().min(SAMPLE_BYTES_MAX)];
        let text = || format!("{what}: {}", String::from_utf8_lossy(shown).trim_end());
        self.counts.first_wrong.get_or_insert_with(text);
    }

    /// Adds the counts of another thread. The maxima of requests in flight and of open connections become sums of each
    /// thread's.
    pub fn add(&mut self, other: &LoadResult) {
        self.latency_ns.add(&other.latency_ns).expect("invariant: all histograms have the same bounds");
        self.lag_ns.add(&other.lag_ns).expect("invariant: all histograms have the same bounds");
        self.counts.add(&other.counts);
        self.kinds.iter_mut().zip(other.kinds).for_each(|(mine, theirs)| *mine += theirs);
        self.opened.extend_from_slice(&other.opened);
        self.created_in_all += other.created_in_all;
        self.refused_in_all += other.refused_in_all;
        self.in_flight_max += other.in_flight_max;
        self.connections_max += other.connections_max;
        self.source_addresses = self.source_addresses.max(other.source_addresses);
        self.cpu_share = self.cpu_share.max(other.cpu_share);
        self.first_sent = [self.first_sent, other.first_sent].into_iter().flatten().min();
        self.last_reply = self.last_reply.max(other.last_reply);
    }
}
