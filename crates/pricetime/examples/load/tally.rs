//! What is counted during a run.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Wrong replies and failed connections that are shown.
const SAMPLES_MAX: usize = 5;
const SAMPLE_BYTES_MAX: usize = 300;
const LATENCY_MAX: Duration = Duration::from_secs(100);

/// What was answered, and how fast.
pub struct Tally {
    /// Of every reply, in nanoseconds.
    pub latency_ns: Histogram<u64>,
    pub sent: u64,
    pub answered: u64,
    /// Replies that are not what the request should get, or that nobody asked for.
    pub wrong: u64,
    /// Connections that could not be made or broke.
    pub broken: u64,
    /// The first few wrong replies and failures.
    pub samples: Vec<String>,
    /// From the first request to the last reply.
    pub elapsed: Duration,
}

impl Tally {
    pub fn new() -> Tally {
        let latency_ns = Histogram::new_with_bounds(1, LATENCY_MAX.as_nanos() as u64, 3)
            .expect("invariant: the bounds of the histogram are in order");
        let (samples, elapsed) = (Vec::new(), Duration::ZERO);
        Tally { latency_ns, sent: 0, answered: 0, wrong: 0, broken: 0, samples, elapsed }
    }

    pub fn answered(&mut self, latency: Duration) {
        self.answered += 1;
        self.latency_ns.saturating_record(latency.as_nanos() as u64);
    }

    pub fn wrong(&mut self, reply: &[u8]) {
        self.wrong += 1;
        let shown = &reply[..reply.len().min(SAMPLE_BYTES_MAX)];
        self.sample(format!("wrong reply: {}", String::from_utf8_lossy(shown).trim_end()));
    }

    pub fn broken(&mut self, why: impl std::fmt::Display) {
        self.broken += 1;
        self.sample(format!("connection: {why}"));
    }

    /// Requests that never got a reply.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.answered)
    }

    fn sample(&mut self, text: String) {
        if self.samples.len() < SAMPLES_MAX && !self.samples.contains(&text) {
            self.samples.push(text);
        }
    }
}
