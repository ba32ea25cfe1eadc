//! One run from beginning to end: the server, what it needs, the load, and what all of it came to.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use super::conntrack::Tracked;
use super::fresh::Fresh;
use super::own_server::OwnServer;
use super::store::Store;
use super::{conservation, histogram, machine};
use crate::interrupt;
use crate::load::{self, Guest, Issued, Kind, Plan, Recipe, Settings, Sources, Tally};
use crate::number::list;
use crate::program;
use crate::record::{
    ClientRecord, Conservation, Counts, FORMAT, Latency, LoadSettings, Machine, RunRecord, ServerRecord,
};

/// Above this part of a core the load generator may be what is measured.
const CLIENT_CPU_WARNING: f64 = 0.8;
/// An open loop whose requests leave later than this is not the load that was asked for.
const LAG_WARNING: Duration = Duration::from_millis(1);
const LAG_QUANTILE: f64 = 0.99;
/// About as many as a core can make: for runs that do not say how many they will.
const CONNECTIONS_A_SECOND: f64 = 60_000.0;
/// A run that states no other length takes so long.
const DEFAULT_DURATION: Duration = Duration::from_secs(10);

/// What one run needs: a server, where it and the load run, and the load.
#[derive(Clone, Debug)]
pub struct RunPlan {
    pub load: LoadSettings,
    pub target: Target,
    /// Cores of the load generator; empty for any.
    pub client_cores: Vec<usize>,
}

/// Which server is driven.
#[derive(Clone, Debug)]
pub enum Target {
    /// One of its own with a fresh market, with these cores (empty for any) and further arguments of `serve`.
    Own { cores: Vec<usize>, workers: Option<u64>, store: Store, arguments: Vec<String> },
    /// One that runs already, at this address.
    At(String),
}

/// What does not change what is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the fresh folder is made; `target/bench` when none.
    pub data_parent: Option<PathBuf>,
    /// How long no reply may come.
    pub patience: Duration,
    /// The accounts and symbols are there from an earlier run on the same server.
    pub no_setup: bool,
}

const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

impl Default for Options {
    fn default() -> Options {
        Options { data_parent: None, patience: DEFAULT_PATIENCE, no_setup: false }
    }
}

/// Makes one run. Errors: a line for people; a run that went wrong is no error but says so in its record.
pub fn measure(plan: &RunPlan, progress: &mut dyn FnMut(f64)) -> Result<RunRecord, String> {
    measure_with(plan, &Options::default(), progress)
}

/// Makes one run. Errors: a line for people, also where a signal asked to stop: then nothing of the run is left. A run that
/// went wrong is no error but says so in its record.
pub fn measure_with(plan: &RunPlan, options: &Options, progress: &mut dyn FnMut(f64)) -> Result<RunRecord, String> {
    measure_beside(plan, options, &mut Nobody, progress)
}

/// Who takes part in a run beside its load. Called where the load runs, on its cores.
pub trait Beside {
    /// The market of the own server is there, and the load is about to begin. Errors: a line for people.
    fn begin(&mut self, http: SocketAddr) -> Result<(), String>;

    /// Who is served by the load's first thread.
    fn guests(&mut self) -> &mut [Box<dyn Guest>] {
        &mut []
    }

    /// What to call when the measured part begins.
    fn beginning(&self) -> Box<dyn Fn()> {
        Box::new(|| ())
    }

    /// The load has ended; the server has not.
    fn end(&mut self, tally: &Tally);

    /// Whether it needs the orders that were opened.
    fn wants_orders(&self) -> bool {
        false
    }
}

/// A load alone.
struct Nobody;

impl Beside for Nobody {
    fn begin(&mut self, _: SocketAddr) -> Result<(), String> {
        Ok(())
    }

    fn end(&mut self, _: &Tally) {}
}

/// As `measure_with`, with somebody beside the load; what they find is no part of the record.
pub fn measure_beside(
    plan: &RunPlan,
    options: &Options,
    beside: &mut dyn Beside,
    progress: &mut dyn FnMut(f64),
) -> Result<RunRecord, String> {
    interrupt::check()?;
    let settings = settings(plan)?;
    let started = machine::now();
    let (server, machine) = match &plan.target {
        Target::At(address) => (Server::At(resolve(address)?), machine::describe(None)),
        Target::Own { cores, workers, store, arguments } => {
            let fresh = Fresh::make(options.data_parent.as_deref(), store)?;
            let machine = fresh.machine();
            let own = OwnServer::start(fresh, cores, *workers, arguments)?;
            (Server::Own(Box::new(own)), machine)
        }
    };
    let run = machine::on_cores(&plan.client_cores, || drive(plan, &settings, options, &server, beside, progress))??;
    interrupt::check()?;
    let mut record = record(plan, options, started, machine, &server, &run);
    match server {
        Server::At(_) => {}
        Server::Own(own) => finish(*own, &run, &mut record),
    }
    // One whose server was ended halfway through its last replies tells nothing.
    interrupt::check()?;
    judge(&mut record, &run);
    Ok(record)
}

/// The server of a run.
enum Server {
    Own(Box<OwnServer>),
    At(SocketAddr),
}

impl Server {
    fn address(&self) -> SocketAddr {
        match self {
            Server::Own(own) => own.address,
            Server::At(address) => *address,
        }
    }

    fn cpu(&self) -> Option<Duration> {
        match self {
            Server::Own(own) => own.cpu(),
            Server::At(_) => None,
        }
    }
}

/// What a load came to.
struct Driven {
    tally: Tally,
    issued: Issued,
    server_cpu: Option<Duration>,
    /// The server closes after each reply, and that was not asked for.
    closes: bool,
    per_request: bool,
    rate: Option<f64>,
    warnings: Vec<String>,
}

fn settings(plan: &RunPlan) -> Result<Settings, String> {
    let load = &plan.load;
    if load.connections == 0 || load.depth == 0 || load.accounts == 0 || load.symbols == 0 {
        return Err("a load needs at least one connection, request in flight, account and symbol".to_string());
    }
    if !matches!(load.mode.as_str(), "persistent" | "per-request" | "pipelined") {
        return Err(format!("unknown mode {}; one of persistent, per-request, pipelined", load.mode));
    }
    Ok(Settings {
        recipe: load.workload.parse()?,
        accounts: load.accounts,
        symbols: load.symbols,
        seed: load.seed,
        strict: matches!(plan.target, Target::Own { .. }),
    })
}

fn resolve(address: &str) -> Result<SocketAddr, String> {
    let mut found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}; expected HOST:PORT"))?;
    found.next().ok_or_else(|| format!("{address} has no address"))
}

/// Prepares the server and puts the load on it.
fn drive(
    plan: &RunPlan,
    settings: &Settings,
    options: &Options,
    server: &Server,
    beside: &mut dyn Beside,
    progress: &mut dyn FnMut(f64),
) -> Result<Driven, String> {
    let load = &plan.load;
    let to = server.address();
    // What answers anything to anything needs no preparation, and gets none.
    let found = match settings.recipe {
        Recipe::Raw => load::Found { framing: load::Framing::Unknown, closes: false },
        _ => load::probe(to, options.patience)?,
    };
    let in_flight = load.connections.saturating_mul(load.depth);
    let market = !options.no_setup;
    let (open, mut issued) = load::prepare(to, options.patience, found, settings, in_flight, market)?;
    let per_request = load.mode == "per-request" || found.closes;
    let length = |seconds: f64| Duration::try_from_secs_f64(seconds).map_err(|error| format!("{seconds} s: {error}"));
    let duration = load.duration.map(length).transpose()?;
    let mut work = Plan {
        to,
        connections: load.connections as usize,
        depth: load.depth,
        per_request,
        requests: load.requests,
        duration: duration.or_else(|| load.requests.is_none().then_some(DEFAULT_DURATION)),
        rate: load.rate,
        warmup: length(load.warmup)?,
        threads: load.threads as usize,
        cores: plan.client_cores.clone(),
        patience: options.patience,
        framing: found.framing,
        sources: Sources::system(),
        note_orders: beside.wants_orders(),
    };
    let mut warnings = Vec::new();
    if per_request {
        let connections = connections_made(&work);
        work.sources = Sources::for_connections(to, connections);
        warnings.extend(untracked_room(&work, connections));
    }
    if let Server::Own(own) = server {
        beside.begin(own.http)?;
    }
    let (mut cpu_before, beginning) = (None, beside.beginning());
    let mut measuring = || {
        beginning();
        cpu_before = server.cpu();
    };
    let tally = load::run(&work, settings, &open, beside.guests(), &mut measuring, progress)?;
    beside.end(&tally);
    let server_cpu = server.cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    issued.add_load(settings.recipe, tally.created_in_all, tally.refused_in_all);
    let closes = found.closes && load.mode != "per-request";
    Ok(Driven { tally, issued, server_cpu, closes, per_request, rate: load.rate, warnings })
}

/// What to do where the kernel's table of connections has no room for those of a run; said before it begins, once.
fn untracked_room(work: &Plan, connections: Option<u64>) -> Option<String> {
    static SAID: Once = Once::new();
    let length = work.duration.unwrap_or_default() + work.warmup;
    let about = connections.or(work.requests).unwrap_or((length.as_secs_f64() * CONNECTIONS_A_SECOND) as u64);
    let warning = Tracked::look()?.warning(about)?;
    SAID.call_once(|| eprintln!("warning: {warning}"));
    Some(warning)
}

/// How many connections a run with one for each request makes, where that is known.
fn connections_made(work: &Plan) -> Option<u64> {
    match (work.requests, work.rate, work.duration) {
        (Some(requests), _, _) if work.warmup.is_zero() => Some(requests),
        (_, Some(rate), Some(duration)) => Some((rate * (duration + work.warmup).as_secs_f64()) as u64),
        _ => None,
    }
}

fn record(
    plan: &RunPlan,
    options: &Options,
    started: String,
    machine: Machine,
    server: &Server,
    run: &Driven,
) -> RunRecord {
    let tally = &run.tally;
    let seconds = tally.elapsed().as_secs_f64();
    let somaxconn = machine.somaxconn;
    let mut load = plan.load.clone();
    if run.closes {
        load.mode = "per-request".to_string();
        load.depth = 1;
    }
    RunRecord {
        format: FORMAT,
        started,
        command: command(plan, options),
        load,
        server: match server {
            Server::Own(own) => own.record(run.server_cpu, somaxconn),
            Server::At(address) => foreign(*address),
        },
        machine,
        seconds,
        throughput: if seconds > 0.0 { tally.answered as f64 / seconds } else { 0.0 },
        counts: counts(tally),
        latency: latency(tally, run.rate),
        in_flight_max: tally.in_flight_max,
        connections_max: tally.connections_max,
        client: ClientRecord {
            cores: plan.client_cores.clone(),
            cpu_share: tally.cpu_share,
            source_addresses: tally.source_addresses,
        },
        conservation: Conservation::NotChecked,
        invalid_because: Vec::new(),
        warnings: Vec::new(),
    }
}

fn foreign(address: SocketAddr) -> ServerRecord {
    ServerRecord {
        address: address.to_string(),
        own: false,
        version: None,
        command: None,
        cores: None,
        workers: None,
        durability: None,
        store: None,
        backlog: None,
        cpu_seconds: None,
        memory_peak: None,
    }
}

fn counts(tally: &Tally) -> Counts {
    let kinds = Kind::ALL.into_iter().zip(tally.kinds).filter(|(_, count)| *count > 0);
    Counts {
        sent: tally.sent,
        answered: tally.answered,
        kinds: kinds.map(|(kind, count)| (kind.name().to_string(), count)).collect(),
        errors_expected: tally.errors_expected,
        errors: tally.errors,
        wrong: tally.wrong,
        lost: tally.lost,
        broken: tally.broken,
        first_wrong: tally.first_wrong.clone(),
    }
}

fn latency(tally: &Tally, rate: Option<f64>) -> Latency {
    let histogram = &tally.latency_ns;
    let us = |nanoseconds: f64| (nanoseconds / 10.0).round() / 100.0;
    let at = |quantile| us(histogram.value_at_quantile(quantile) as f64);
    Latency {
        from: if rate.is_some() { "open" } else { "closed" }.to_string(),
        mean: us(histogram.mean()),
        deviation: us(histogram.stdev()),
        min: us(histogram.min() as f64),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: us(histogram.max() as f64),
        histogram: histogram::encode(histogram),
    }
}

/// Stops the own server, and compares what it has with what was created.
fn finish(own: OwnServer, run: &Driven, record: &mut RunRecord) {
    record.warnings.extend(own.warning());
    match own.stop() {
        Ok(fresh) => record.conservation = conservation::check(&fresh, &run.issued),
        Err(why) => record.invalid_because.push(why),
    }
}

/// Says why the figures must not be used, or what to keep in mind when they are.
fn judge(record: &mut RunRecord, run: &Driven) {
    let counts = &record.counts;
    let faults = [
        (counts.errors, "unexpected errors"),
        (counts.wrong, "wrong replies"),
        (counts.lost, "requests without a reply"),
        (counts.broken, "broken connections"),
    ];
    let faults = faults.into_iter().filter(|(count, _)| *count > 0);
    record.invalid_because.extend(faults.map(|(count, what)| format!("{count} {what}")));
    let fails_to_connect = run.per_request && (counts.broken > 0 || counts.lost > 0);
    record.invalid_because.extend(Tracked::look().filter(|_| fails_to_connect).and_then(Tracked::cause));
    if counts.answered == 0 {
        record.invalid_because.push("nothing was answered in the measured part".to_string());
    }
    if let Conservation::Broken(what) = &record.conservation {
        record.invalid_because.push(format!("money or shares are not those that were created: {what}"));
    }
    let warnings = &mut record.warnings;
    warnings.extend(run.warnings.iter().cloned());
    let share = record.client.cpu_share;
    // An open loop looks at the clock all the time.
    if run.rate.is_none() && share > CLIENT_CPU_WARNING {
        warnings.push(format!(
            "a load thread used {:.0}% of its core: the server may be faster than this; try --threads on more cores",
            share * 100.0
        ));
    }
    let lag = Duration::from_nanos(run.tally.lag_ns.value_at_quantile(LAG_QUANTILE));
    if run.rate.is_some() && lag > LAG_WARNING {
        warnings.push(format!(
            "the load generator sent 1% of its requests more than {:.1} ms late; the latencies include that",
            lag.as_secs_f64() * 1e3
        ));
    }
    if run.closes {
        warnings.push("the server closes after each reply, so each request had its own connection".to_string());
    }
    if let (Some(server), client) = (&record.server.cores, &record.client.cores)
        && client.iter().any(|core| server.contains(core))
    {
        warnings.push(format!("server and load shared core {}", list(client)));
    }
}

/// The command line that repeats it.
fn command(plan: &RunPlan, options: &Options) -> String {
    let load = &plan.load;
    let mut words = vec!["pricetime-bench run".to_string(), format!("-c {}", load.connections)];
    words.extend(load.requests.map(|requests| format!("-n {requests}")));
    words.extend(load.duration.filter(|_| load.requests.is_none()).map(|duration| format!("-z {duration}")));
    words.extend(load.rate.map(|rate| format!("--rate {rate}")));
    words.push(format!("--warmup {} --mode {}", load.warmup, load.mode));
    if load.mode == "pipelined" {
        words.push(format!("--depth {}", load.depth));
    }
    words.push(format!("--workload {} --accounts {} --symbols {}", load.workload, load.accounts, load.symbols));
    words.push(format!("--seed {} --threads {}", load.seed, load.threads));
    let cores = |cores: &[usize]| cores.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
    if !plan.client_cores.is_empty() {
        words.push(format!("--client-cores {}", cores(&plan.client_cores)));
    }
    if options.patience != DEFAULT_PATIENCE {
        words.push(format!("--patience {}", options.patience.as_secs_f64()));
    }
    match &plan.target {
        Target::At(address) => {
            words.push(format!("--target {address}"));
            words.extend(options.no_setup.then(|| "--no-setup".to_string()));
        }
        Target::Own { cores: server, workers, store, arguments } => {
            if !server.is_empty() {
                words.push(format!("--server-cores {}", cores(server)));
            }
            words.extend(workers.map(|workers| format!("--workers {workers}")));
            words.extend(program::given().map(|server| format!("--server {}", server.display())));
            if *store != Store::Journal {
                words.push(format!("--store {store}"));
            }
            words.extend(options.data_parent.iter().map(|parent| format!("--data-parent {}", parent.display())));
            if !arguments.is_empty() {
                words.push(format!("-- {}", arguments.join(" ")));
            }
        }
    }
    words.join(" ")
}
