//! The figures of a soak, minute by minute, and the judgement whether the server grew.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The files that a server may have open beyond those of a fresh one: of the journal, of snapshots and of the history.
pub const FILES_MAX: usize = 24;
/// The memory by which a process without a leak may grow: the allocator keeps pages that were used once, and caches of
/// fixed sizes fill (32 MiB of trades, blocks of the history). A leak of 64 bytes a command is 170 MiB in the second
/// half of half an hour.
const GROWTH_FREE_KIB: f64 = 64.0 * 1024.0;
/// The memory of a client order id, which an account keeps for a day: 191 bytes, and a third more for tables that have
/// doubled lately.
const CLIENT_ID_BYTES: f64 = 256.0;
/// The descriptors by which a server may grow: as many as the drivers' connections at once, and the files.
const GROWTH_DESCRIPTORS: f64 = 64.0;

/// A look at the server.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    pub at: Duration,
    pub rss_kib: u64,
    pub descriptors: usize,
    /// Whether the server is not killed any more.
    pub is_of_one_process: bool,
    /// The client order ids that were given so far.
    pub client_ids: u64,
}

/// A minute, or what there was of it.
#[derive(Clone, Debug, Default)]
struct Minute {
    kills: usize,
    rss_kib: u64,
    descriptors: usize,
    done: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Default)]
pub struct Report {
    pub kills: usize,
    pub looked_for: usize,
    minutes: Vec<Minute>,
    samples: Vec<Sample>,
}

impl Report {
    /// Notes a look, and how much each driver had done.
    pub fn note(&mut self, sample: Sample, done: BTreeMap<&'static str, u64>) {
        let minute = (sample.at.as_secs() / 60) as usize;
        self.minutes.resize(self.minutes.len().max(minute + 1), Minute::default());
        self.minutes[minute] =
            Minute { kills: self.kills, rss_kib: sample.rss_kib, descriptors: sample.descriptors, done };
        self.samples.push(sample);
    }

    /// Panics if the process of the second half grew by more than it may.
    pub fn judge(&self) {
        let all: Vec<Sample> = self.samples.iter().filter(|sample| sample.is_of_one_process).copied().collect();
        // The process was started shortly before, and fills its caches first.
        let late = &all[all.len() / 4..];
        assert!(late.len() >= 4, "{} looks at the server are too few to judge", late.len());
        let memory = growth(late, |sample| sample.rss_kib as f64);
        let ids = late[late.len() - 1].client_ids - late[0].client_ids;
        let allowed = allowed_kib(ids);
        println!("memory grew by {memory:.0} KiB, of {allowed:.0} allowed with {ids} client order ids to keep");
        assert!(memory <= allowed, "memory grew by {memory:.0} KiB, and {allowed:.0} are allowed");
        let descriptors = growth(late, |sample| sample.descriptors as f64);
        println!("descriptors grew by {descriptors:.1}, of {GROWTH_DESCRIPTORS} allowed");
        assert!(descriptors <= GROWTH_DESCRIPTORS, "descriptors grew by {descriptors:.1}");
    }
}

/// The memory by which a process may grow that gets so many client order ids.
fn allowed_kib(client_ids: u64) -> f64 {
    GROWTH_FREE_KIB + client_ids as f64 * CLIENT_ID_BYTES / 1024.0
}

/// The growth from the first to the last look: the slope of the line that fits all of them best, and the time between.
fn growth(samples: &[Sample], of: impl Fn(&Sample) -> f64) -> f64 {
    let count = samples.len() as f64;
    let at = |sample: &Sample| sample.at.as_secs_f64();
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (mean_at, mean_of) = (mean(&at), mean(&of));
    let above: f64 = samples.iter().map(|sample| (at(sample) - mean_at) * (of(sample) - mean_of)).sum();
    let below: f64 = samples.iter().map(|sample| (at(sample) - mean_at).powi(2)).sum();
    let (first, last) = (at(&samples[0]), at(&samples[samples.len() - 1]));
    above / below.max(f64::MIN_POSITIVE) * (last - first)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.minutes.last().into_iter().flat_map(|minute| minute.done.keys().copied()).collect();
        write!(f, "{:>6} {:>6} {:>9} {:>6}", "minute", "kills", "RSS KiB", "files")?;
        names.iter().try_for_each(|name| write!(f, " {name:>14}"))?;
        let mut before = Minute::default();
        for (at, minute) in self.minutes.iter().enumerate() {
            let kills = minute.kills - before.kills;
            write!(f, "\n{:>6} {kills:>6} {:>9} {:>6}", at + 1, minute.rss_kib, minute.descriptors)?;
            for name in &names {
                let done = |minute: &Minute| minute.done.get(name).copied().unwrap_or(0);
                write!(f, " {:>14}", done(minute) - done(&before))?;
            }
            before = minute.clone();
        }
        Ok(())
    }
}

/// A server that leaks must not pass.
#[test]
fn a_process_that_grows_is_told_from_one_that_varies() {
    let look = |at: u64, rss_kib: u64| Sample {
        at: Duration::from_secs(at),
        rss_kib,
        descriptors: 30,
        is_of_one_process: true,
        client_ids: 0,
    };
    let varies: Vec<Sample> = (0..900).map(|at| look(at, 200_000 + at * 7_919 % 30_000)).collect();
    assert!(growth(&varies, |sample| sample.rss_kib as f64).abs() < 5_000.0);
    let leaks: Vec<Sample> = (0..900).map(|at| look(at, 200_000 + at * 100 + at * 7_919 % 30_000)).collect();
    assert!(growth(&leaks, |sample| sample.rss_kib as f64) > GROWTH_FREE_KIB);
}

/// A leak of 400 bytes for each client order id passed.
#[test]
fn a_leak_for_each_client_order_id_is_told_from_its_memory() {
    let (ids, memory) = (1_000_000, 191.0);
    let grows_by = |leak: f64| ids as f64 * (memory + leak) / 1024.0;
    assert!(grows_by(0.0) < allowed_kib(ids) && grows_by(200.0) > allowed_kib(ids));
}
