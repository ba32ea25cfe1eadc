//! `pricetime-bench compare`: our server beside systems that a user would compare it with, one after the other in the
//! same minutes, on the same cores and the same disk. It installs nothing: a missing system is left out, with the way
//! to get it.

mod args;
mod cluster;
mod etcd;
mod ours;
mod pgbench;
mod postgres;
mod redis;
mod replicated;

pub use args::CompareArgs;

use crate::baseline::warmup;
use crate::machine::interrupt;
use crate::machine::test_bed::TestBed;
use crate::records::compare_mode::{Competitor, Cores, Mode, Subject};
use crate::records::study::Study;
use crate::records::{Experiment, LoadSettings, Recipe, RunEntry, RunRecord};
use crate::reports::compare_tables::{notes, tables};
use crate::runs::warn_of_busy_load;
use cluster::Cluster;
use etcd::Etcd;
use postgres::Postgres;
use redis::Redis;

const NAME: &str = "compare";

/// One measurement to make.
#[derive(Clone, Copy, Debug)]
struct Task {
    /// The round, from 1.
    round: u32,
    mode: &'static Mode,
    subject: Subject,
    seconds: f64,
    /// Requests a second of an open loop; known once the closed one has been measured.
    rate: Option<f64>,
}

impl Task {
    fn entry(&self) -> RunEntry {
        let Task { round, mode, subject, .. } = *self;
        let (value, mode, series) = (mode.connections as f64, mode.name.to_string(), subject.name().to_string());
        RunEntry { mode, series, value, round, ..RunEntry::default() }
    }

    /// Returns the load of subjects that have ours, or one like it.
    fn load(&self, workload: Recipe) -> LoadSettings {
        LoadSettings {
            workload,
            mode: self.mode.load_mode(),
            connections: self.mode.connections,
            depth: self.mode.depth,
            duration: Some(self.seconds),
            rate: self.rate,
            warmup: warmup(self.seconds),
            seed: u64::from(self.round),
            ..LoadSettings::default()
        }
    }

    /// Sets the rate of an open loop: half of what ours reached in a closed one, just before in this round.
    fn with_rate(self, before: &Study) -> Result<Task, String> {
        let Some(closed) = self.mode.half_of else { return Ok(self) };
        let subject = if self.mode.is_on_postgres() { Subject::OrderInPostgres } else { Subject::Order };
        let is_peak =
            |entry: &RunEntry| entry.round == self.round && entry.mode == closed && entry.series == subject.name();
        let peak = before.runs.iter().find(|run| is_peak(&run.entry) && run.record.is_valid());
        let peak = peak.ok_or_else(|| format!("`{closed}` has no valid figure in this round"))?;
        Ok(Task { rate: Some(peak.record.throughput / 2.0), ..self })
    }
}

impl Mode {
    /// Returns the cores of servers and their databases, and those of loads.
    pub fn cores_at(&self, bed: &TestBed) -> (Vec<usize>, Vec<usize>) {
        match self.cores {
            Cores::Apart => (vec![bed.server_core], vec![bed.load_core]),
            Cores::One => (vec![bed.server_core], vec![bed.server_core]),
            Cores::Two | Cores::TwoOnPostgres => (bed.cores.clone(), bed.cores.clone()),
        }
    }
}

/// Measures and prints. Returns whether all measurements are valid. Errors: a line for people.
pub fn run(args: CompareArgs) -> Result<bool, String> {
    let bed = args.turns.bed(NAME)?;
    let (others, mut left_out) = Others::find(&args.wanted(), &bed);
    // A system that was being tried when the signal came is not missing.
    interrupt::check()?;
    let there = others.there();
    let mut modes = args.modes(&there);
    if bed.cores.len() < 2 {
        let needing = modes.extract_if(.., |mode| mode.cores == Cores::Two);
        left_out.extend(needing.map(|mode| format!("{}: only one core may be used", mode.name)));
    }
    let (rounds, seconds) = (args.turns.rounds(), args.turns.seconds());
    let tasks: Vec<Task> = (1..=rounds).flat_map(|round| tasks(round, &modes, &there, seconds)).collect();
    let minutes = (tasks.len() as f64 * seconds / 60.0).ceil();
    let experiment = Experiment {
        name: NAME.to_string(),
        title: "An exchange server beside others, one after the other in the same minutes".to_string(),
        description: format!(
            "{rounds} rounds of {} measurements of {seconds} s, new servers and new data for each: {minutes:.0} min, and more \
             to start them. {} A request is an order or, one in three, a cancel; half of the orders execute.",
            tasks.len() / rounds as usize,
            cores_text(&bed, &modes)
        ),
        subjects: others.described(),
        left_out,
        ..Experiment::default()
    };
    let measure = |task: &Task, before: &Study| others.measure(&task.with_rate(before)?, &bed);
    args.turns.conduct(&bed, experiment, &tasks, Task::entry, measure, |study| (tables(study), notes(study)))
}

/// Returns the measurements of a round.
fn tasks(round: u32, modes: &[&'static Mode], others: &[Competitor], seconds: f64) -> Vec<Task> {
    let of_mode = |mode: &&'static Mode| {
        let (mode, mut subjects) = (*mode, mode.subjects_with(others));
        // Each subject is the first in some round, so that none always follows the same other.
        let first = (round as usize - 1) % subjects.len().max(1);
        subjects.rotate_left(first);
        subjects.into_iter().map(move |subject| Task { round, mode, subject, seconds, rate: None })
    };
    modes.iter().flat_map(of_mode).collect()
}

fn cores_text(bed: &TestBed, modes: &[&Mode]) -> String {
    let TestBed { server_core, load_core, .. } = bed;
    if server_core == load_core {
        return format!(
            "Servers and loads share core {server_core}, the only one that may be used: a figure is what both together reach."
        );
    }
    let on_postgres = match modes.iter().any(|mode| mode.is_on_postgres()) {
        true => "; on PostgreSQL server, database and load all on both",
        false => "",
    };
    let replicated = match modes.iter().any(|mode| mode.is_replicated()) {
        true => "; where writes are kept on several servers all of them and the load on both",
        false => "",
    };
    format!("Servers run on core {server_core}, loads on core {load_core}{on_postgres}{replicated}.")
}

/// The other systems that can be measured here.
struct Others {
    redis: Option<Redis>,
    postgres: Option<Postgres>,
    etcd: Option<Etcd>,
    cluster: Option<Cluster>,
    echo: bool,
}

impl Others {
    /// Finds those that are wanted. Also returns which are left out, and why.
    fn find(wanted: &[Competitor], bed: &TestBed) -> (Others, Vec<String>) {
        fn note<T>(found: Result<T, String>, left_out: &mut Vec<String>) -> Option<T> {
            found.map_err(|why| left_out.push(why)).ok()
        }
        let (mut left_out, wants) = (Vec::new(), |other| wanted.contains(&other));
        let redis = wants(Competitor::Redis).then(Redis::find).and_then(|found| note(found, &mut left_out));
        let postgres = wants(Competitor::Postgres).then(|| Postgres::find(bed));
        let postgres = postgres.and_then(|found| note(found, &mut left_out));
        let etcd = wants(Competitor::Etcd).then(Etcd::find).and_then(|found| note(found, &mut left_out));
        let cluster = wants(Competitor::Cluster).then(Cluster::find).and_then(|found| note(found, &mut left_out));
        (Others { redis, postgres, etcd, cluster, echo: wants(Competitor::Echo) }, left_out)
    }

    fn there(&self) -> Vec<Competitor> {
        let redis = self.redis.as_ref().map(|_| Competitor::Redis);
        let postgres = self.postgres.as_ref().map(|_| Competitor::Postgres);
        let etcd = self.etcd.as_ref().map(|_| Competitor::Etcd);
        let cluster = self.cluster.as_ref().map(|_| Competitor::Cluster);
        [redis, postgres, self.echo.then_some(Competitor::Echo), etcd, cluster].into_iter().flatten().collect()
    }

    /// Describes all, with versions and settings.
    fn described(&self) -> Vec<String> {
        let mut all = vec![format!(
            "pricetime {}: durability synced, history and snapshots as by default, a worker a core; 10,000 accounts, 4 \
             symbols, requests of about 140 bytes",
            env!("CARGO_PKG_VERSION")
        )];
        let echo = "raw durable echo: one thread, appends to a preallocated file, fdatasync once a turn, a fixed reply; the \
                    same requests and load generator";
        all.extend(self.echo.then(|| echo.to_string()));
        all.extend(self.redis.as_ref().map(Redis::described));
        all.extend(self.etcd.as_ref().map(Etcd::described));
        all.extend(self.cluster.as_ref().map(Cluster::described));
        let Some(postgres) = &self.postgres else { return all };
        all.push(format!(
            "PostgreSQL {}: one INSERT a transaction by pgbench, prepared; synchronous_commit on, defaults otherwise",
            postgres.version
        ));
        let on_postgres = [
            "pricetime on PostgreSQL: the same server with --store, on such a database; every reply committed",
            "one transaction an order: no server; repeatable read, rows locked, matched and credited in SQL, conflicts tried \
             again; the same mix of orders and cancels; every row checked after each run",
        ];
        all.extend(on_postgres.map(str::to_string));
        all
    }

    /// Makes one run. Errors: a line for people.
    fn measure(&self, task: &Task, bed: &TestBed) -> Result<RunRecord, String> {
        let redis = || self.redis.as_ref().ok_or("Redis is not there");
        let postgres = || self.postgres.as_ref().ok_or("PostgreSQL is not there");
        let mut record = match task.subject {
            Subject::Order => return ours::order(task, bed, Recipe::Order),
            Subject::OrderResting => return ours::order(task, bed, Recipe::OrderResting),
            Subject::OrderTaking => return ours::order(task, bed, Recipe::OrderTaking),
            Subject::Echo => return ours::echo(task, bed),
            Subject::OrderInPostgres => return ours::order_on_postgres(task, bed, postgres()?),
            Subject::RedisAlways => redis()?.measure(task, bed, true)?,
            Subject::RedisMemory => redis()?.measure(task, bed, false)?,
            Subject::OrderInCluster => {
                return self.cluster.as_ref().ok_or("nats-server is not there")?.measure(task, bed);
            }
            Subject::Etcd => self.etcd.as_ref().ok_or("etcd is not there")?.measure(task, bed)?,
            Subject::RedisReplica => replicated::redis_with_replica(redis()?, task, bed)?,
            Subject::Postgres | Subject::PostgresStandby => {
                let postgres = postgres()?;
                postgres.with_database(bed, task.mode, |database| pgbench::measure(task, bed, postgres, database))?
            }
            Subject::Baseline => postgres::baseline(task, bed, postgres()?)?,
        };
        warn_of_busy_load(&mut record);
        Ok(record)
    }
}
