//! `pricetime-bench compare`: ours beside what a user would compare it with, one after the other in the same minutes, on
//! the same cores and the same disk. It installs nothing: who is missing is left out, and how to get it is said.

mod args;
mod circumstances;
mod measurement;
mod mode;
mod observer;
mod on_postgres;
mod ours;
mod pgbench;
mod place;
mod postgres;
mod ratio;
mod redis;
mod subject;
mod tables;

use std::fs;
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};

pub use args::CompareArgs;
pub(crate) use measurement::{Comparison, FORMAT, Measurement};
pub(crate) use tables::{notes, tables};

use crate::interrupt;
use crate::quiet::Patience;
use crate::run::{describe_machine, now};
use measurement::{Figures, Lines, Task};
use mode::Mode;
use ours::Run;
use place::Place;
use postgres::{Database, Postgres};
use ratio::Source;
use redis::Redis;
use subject::{Other, Subject, schedule};

/// Measures and prints. Returns whether all measurements are valid. Errors: a line for people.
pub fn run(args: CompareArgs) -> Result<bool, String> {
    let out = args.out.clone().unwrap_or_else(default_out);
    let place = Place::make(&out)?;
    let (others, mut left_out) = Others::find(&args.wanted(), &place);
    // Whoever was being tried when the signal came is not missing.
    interrupt::check()?;
    let mut modes = args.modes(&others.there());
    if place.cores.len() < 2 {
        let needing = modes.extract_if(.., |mode| mode.needs_two_cores());
        left_out.extend(needing.map(|mode| format!("{}: only one core may be used", mode.name())));
    }
    let schedule = schedule(&modes, &others.there());
    let mut comparison = Comparison {
        format: FORMAT,
        started: now(),
        command: std::env::args().skip(1).fold("pricetime-bench".to_string(), |line, word| line + " " + &word),
        rounds: args.rounds(),
        seconds: args.seconds(),
        server_core: place.server_core,
        load_core: place.load_core,
        machine: describe_machine(Some(place.work())),
        subjects: others.described(),
        left_out,
        measurements: Vec::new(),
        ratios: Vec::new(),
    };
    let circumstances = circumstances::text(&comparison, &schedule);
    print!("{circumstances}");
    if ["(tmpfs)", "(ramfs)"].iter().any(|memory| comparison.machine.disk.ends_with(memory)) {
        println!("warning     {} is in memory, where a sync costs nothing: choose a disk with --out", out.display());
    }
    let mut raw = Raw::create(&out)?;
    measure_all(&mut comparison, &schedule, &Bench { place, others }, Patience::new(args.patient), &mut raw)?;
    comparison.ratios = ratio::all(&comparison.measurements, &schedule);
    let tables: String = tables(&comparison).iter().map(|table| format!("\n{}", table.text())).collect();
    let notes: String = notes(&comparison).iter().map(|note| format!("{note}\n")).collect();
    print!("{tables}\n{notes}");
    comparison.write(&out.join("compare.json"))?;
    let text = out.join("compare.txt");
    fs::write(&text, format!("{circumstances}{tables}\n{notes}"))
        .map_err(|error| format!("{}: {error}", text.display()))?;
    if let Some(file) = &args.json {
        comparison.write(file)?;
    }
    println!("every measurement: {}", out.join("compare.json").display());
    Ok(comparison.measurements.iter().all(|measurement| measurement.invalid_because.is_none()))
}

fn default_out() -> PathBuf {
    let time: String = now().chars().filter(char::is_ascii_alphanumeric).collect();
    PathBuf::from(format!("target/bench/compare-{time}"))
}

/// Those beside ours that can be measured here.
struct Others {
    redis: Option<Redis>,
    postgres: Option<Postgres>,
    echo: bool,
}

impl Others {
    /// Finds those that are wanted. Also returns who is left out, and why.
    fn find(wanted: &[Other], place: &Place) -> (Others, Vec<String>) {
        let mut left_out = Vec::new();
        let redis = wanted.contains(&Other::Redis).then(Redis::find).and_then(|found| note(found, &mut left_out));
        let postgres = wanted
            .contains(&Other::Postgres)
            .then(|| Postgres::find(place))
            .and_then(|found| note(found, &mut left_out));
        (Others { redis, postgres, echo: wanted.contains(&Other::Echo) }, left_out)
    }

    fn there(&self) -> Vec<Other> {
        let redis = self.redis.as_ref().map(|_| Other::Redis);
        let postgres = self.postgres.as_ref().map(|_| Other::Postgres);
        [redis, postgres, self.echo.then_some(Other::Echo)].into_iter().flatten().collect()
    }

    /// With versions and settings.
    fn described(&self) -> Vec<String> {
        let ours = format!(
            "pricetime {}: durability synced, archive and snapshots as by default, a worker a core; 10,000 accounts, 4 \
             symbols, requests of about 140 bytes",
            env!("CARGO_PKG_VERSION")
        );
        let echo = self.echo.then(|| {
            "raw durable echo: one thread, appends to a preallocated file, fdatasync once a turn, a fixed reply; the same \
             requests and load generator"
                .to_string()
        });
        let redis = self.redis.as_ref().map(|redis| {
            format!(
                "Redis {}: SET of {} bytes by redis-benchmark, a request of 140 bytes; no snapshots, no rewriting",
                redis.version,
                redis::VALUE_BYTES
            )
        });
        let postgres = self.postgres.as_ref().map(|postgres| {
            format!(
                "PostgreSQL {}: one INSERT a transaction by pgbench, prepared; synchronous_commit on, defaults otherwise",
                postgres.version
            )
        });
        let stored = self.postgres.as_ref().map(|_| {
            "pricetime on PostgreSQL: the same server with --store, on such a database; every reply committed"
                .to_string()
        });
        let baseline = self.postgres.as_ref().map(|_| {
            "one transaction an order: no server; repeatable read, rows locked, matched and credited in SQL, conflicts tried \
             again; the same mix of orders and cancels; every row checked after each run"
                .to_string()
        });
        [Some(ours), echo, redis, postgres, stored, baseline].into_iter().flatten().collect()
    }
}

fn note<T>(found: Result<T, String>, left_out: &mut Vec<String>) -> Option<T> {
    found.map_err(|why| left_out.push(why)).ok()
}

/// The file of measurements while they are made.
const LINES: &str = "measurements.jsonl";

/// The files that are written while measuring.
struct Raw {
    lines: Lines,
    runs: PathBuf,
    count: u32,
}

impl Raw {
    fn create(out: &Path) -> Result<Raw, String> {
        let runs = out.join("runs");
        fs::create_dir_all(&runs).map_err(|error| format!("{}: {error}", runs.display()))?;
        Ok(Raw { lines: Lines::create(&out.join(LINES))?, runs, count: 0 })
    }

    /// The record of a run by our load generator, with its histogram.
    fn add_run(&mut self, run: &Run) -> Result<(), String> {
        self.count += 1;
        let file = self.runs.join(format!("{:04}.json", self.count));
        let text = serde_json::to_string_pretty(&run.record).map_err(|error| error.to_string())? + "\n";
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))
    }
}

/// What measures.
struct Bench {
    place: Place,
    others: Others,
}

fn measure_all(
    comparison: &mut Comparison,
    schedule: &[(Mode, Vec<Subject>)],
    bench: &Bench,
    mut patience: Patience,
    raw: &mut Raw,
) -> Result<(), String> {
    let in_a_round: usize = schedule.iter().map(|(_, subjects)| subjects.len()).sum();
    let all = in_a_round as u64 * u64::from(comparison.rounds);
    let bar = progress_bar(all);
    for round in 1..=comparison.rounds {
        if bar.is_hidden() {
            eprintln!("round {round} of {}", comparison.rounds);
        }
        for (mode, subjects) in schedule {
            // Everybody is the first in some round, so that nobody always follows the same one.
            let first = (round as usize - 1) % subjects.len();
            for &subject in subjects[first..].iter().chain(&subjects[..first]) {
                bar.set_message(format!("round {round}, {}, {}", mode.name(), subject.name()));
                let task = Task { round, mode: *mode, subject, seconds: comparison.seconds };
                let measured = bench.measure_patiently(&task, &comparison.measurements, &mut patience, raw);
                // What was going on when the signal came is no measurement.
                interrupt::check().map_err(|error| {
                    bar.finish_and_clear();
                    let (made, file) = (comparison.measurements.len(), raw.runs.with_file_name(LINES));
                    format!("{error} ({} holds {made} of {all} measurements)", file.display())
                })?;
                raw.lines.add(&measured)?;
                comparison.measurements.push(measured);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// Drawn on a terminal only.
fn progress_bar(length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("[{bar:30}] {pos}/{len} {elapsed} of {duration}  {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ");
    ProgressBar::new(length).with_style(style)
}

impl Bench {
    fn measure_patiently(
        &self,
        task: &Task,
        before: &[Measurement],
        patience: &mut Patience,
        raw: &mut Raw,
    ) -> Measurement {
        loop {
            let busy_percent = patience.await_quiet();
            // One that fails is told as such; the others go on.
            let (figures, invalid_because) = match self.measure(task, before, raw) {
                Ok((figures, faults)) => (figures, faults),
                Err(error) => (Figures::default(), Some(error)),
            };
            if invalid_because.is_some() || !patience.wants_again() {
                return Measurement::of(task, busy_percent, figures, invalid_because);
            }
        }
    }

    /// The figures, and why they must not be used.
    fn measure(&self, task: &Task, before: &[Measurement], raw: &mut Raw) -> Result<(Figures, Option<String>), String> {
        let (place, Task { mode, subject, seconds, .. }) = (&self.place, *task);
        let absent = || format!("{} is not there", subject.name());
        let run = match subject {
            Subject::Order => ours::order(task, place, "order", rate(task, before)?)?,
            Subject::OrderResting => ours::order(task, place, "order-resting", rate(task, before)?)?,
            Subject::Echo => ours::echo(task, place, rate(task, before)?)?,
            Subject::RedisAlways | Subject::RedisMemory => {
                let redis = self.others.redis.as_ref().ok_or_else(absent)?;
                return Ok((redis.measure(place, mode, subject == Subject::RedisAlways, seconds)?, None));
            }
            Subject::Postgres => {
                let postgres = self.others.postgres.as_ref().ok_or_else(absent)?;
                let measure = |database: &Database| pgbench::measure(postgres, place, mode, seconds, database);
                return Ok((postgres.with_database(place, mode, measure)?, None));
            }
            Subject::Baseline => {
                let postgres = self.others.postgres.as_ref().ok_or_else(absent)?;
                return on_postgres::baseline(task, place, postgres);
            }
            Subject::OrderInPostgres => {
                let postgres = self.others.postgres.as_ref().ok_or_else(absent)?;
                on_postgres::order(task, place, postgres, rate(task, before)?)?
            }
        };
        raw.add_run(&run)?;
        let faults = &run.record.invalid_because;
        Ok((run.figures, (!faults.is_empty()).then(|| faults.join("; "))))
    }
}

/// Requests a second of an open loop: half of what ours reached in a closed one, just before in this round.
fn rate(task: &Task, before: &[Measurement]) -> Result<Option<f64>, String> {
    let Some(mode) = task.mode.half_of() else { return Ok(None) };
    let subject = if mode.is_on_postgres() { Subject::OrderInPostgres } else { Subject::Order };
    let peak = Source { mode, subject, figure: |figures| Some(figures.throughput) }.in_round(before, task.round);
    let missing = || format!("`{}` has no valid figure in this round", mode.name());
    peak.map(|peak| Some(peak / 2.0)).ok_or_else(missing)
}
