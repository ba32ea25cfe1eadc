//! One run from beginning to end: the server, its preparation, the load, and the result.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use tls::{Connector, Trust};

use super::conservation;
use super::fresh::Fresh;
use super::own_server::OwnServer;
use super::store::Store;
use crate::loads::{self, IssuedTotals, LoadResult, Login, Observer, Plan, Server, Setup, Sources};
use crate::machine::conntrack::Tracked;
use crate::machine::{facts, interrupt, processor, program};
use crate::records::number::list;
use crate::records::{Conservation, LoadSettings, Mode, Recipe, RunRecord};

/// Part of a core above which the load generator itself may be what is measured.
const CLIENT_CPU_WARNING: f64 = 0.8;
/// Lag above which an open loop is not the load that was requested.
const LAG_WARNING: Duration = Duration::from_millis(1);
const LAG_QUANTILE: f64 = 0.99;
/// Connections a second that a core can make, about: for runs without a given number.
const CONNECTIONS_A_SECOND: f64 = 60_000.0;
const DEFAULT_PATIENCE: Duration = Duration::from_secs(10);

/// A plan of one run: a server, its cores and those of the load, and the load.
#[derive(Clone, Debug)]
pub struct RunPlan {
    pub load: LoadSettings,
    /// Whether orders are sent over REST, to an own server; half of them execute and half rest.
    pub over_rest: bool,
    pub target: Target,
    /// The file with the authorities of the server's certificate, if connections speak TLS.
    pub tls_ca: Option<PathBuf>,
    /// The login of each connection.
    pub login: Option<Login>,
    /// Cores of the load generator; empty for any.
    pub client_cores: Vec<usize>,
    /// The parent of the fresh folder; `target/bench` by default.
    pub data_parent: Option<PathBuf>,
    /// Time without a reply after which the run gives up.
    pub patience: Duration,
    /// Whether the accounts and symbols exist from an earlier run on the same server.
    pub no_setup: bool,
}

impl RunPlan {
    pub fn new(load: LoadSettings, target: Target, client_cores: Vec<usize>) -> RunPlan {
        let (patience, data_parent) = (DEFAULT_PATIENCE, None);
        RunPlan {
            load,
            over_rest: false,
            target,
            tls_ca: None,
            login: None,
            client_cores,
            data_parent,
            patience,
            no_setup: false,
        }
    }
}

impl RunPlan {
    /// Returns the host, and its connector. Errors: a file without authorities.
    fn tls(&self) -> Result<Option<(String, Connector)>, String> {
        let (Some(file), Target::At(address)) = (&self.tls_ca, &self.target) else { return Ok(None) };
        let host = address.rsplit_once(':').map_or(address.as_str(), |(host, _)| host).to_string();
        let connector = Connector::new(&Trust::Authority(file.clone()), None).map_err(|error| error.to_string())?;
        Ok(Some((host, connector)))
    }
}

/// The server that is driven.
#[derive(Clone, Debug)]
pub enum Target {
    /// An own server with a fresh market, with these cores (empty for any) and further arguments of `serve`.
    Own { cores: Vec<usize>, workers: Option<u64>, store: Store, arguments: Vec<String> },
    /// A server that runs already, at this address.
    At(String),
}

impl Target {
    /// Returns an own server on these cores, with its market in its journal.
    pub fn own(cores: Vec<usize>) -> Target {
        Target::Own { cores, workers: None, store: Store::Journal, arguments: Vec::new() }
    }
}

/// Observers of a run beside its load. Called in the load's thread, on its cores.
pub trait RunObserver {
    /// Called when the own server's market is ready, and the load is about to begin. Errors: a line for people.
    fn begin(&mut self, _http: SocketAddr) -> Result<(), String> {
        Ok(())
    }

    /// Returns observers for the load's first thread. With any, the orders that were opened are noted.
    fn observers(&mut self) -> Vec<Box<dyn Observer>> {
        Vec::new()
    }

    /// Called when the measured part begins.
    fn measuring(&mut self) {}

    /// Called when the load has ended, before the server does. Puts results into the record.
    fn end(&mut self, _tally: &LoadResult, _record: &mut RunRecord) {}
}

/// A load without observers.
impl RunObserver for () {}

/// Makes one run. Errors: a line for people, also where a signal asked to stop: then nothing of the run is left. A run
/// that went wrong is no error but says so in its record.
pub fn measure(plan: &RunPlan, beside: &mut dyn RunObserver) -> Result<RunRecord, String> {
    interrupt::check()?;
    let started = facts::now();
    let (own, to, machine) = match &plan.target {
        Target::At(address) => (None, resolve(address)?, facts::describe(None)),
        Target::Own { cores, workers, store, arguments } => {
            let fresh = Fresh::make(plan.data_parent.as_deref(), store)?;
            let machine = fresh.machine();
            let own = OwnServer::start(fresh, cores, *workers, arguments)?;
            let to = own.address;
            (Some(own), to, machine)
        }
    };
    let run = || drive(plan, to, own.as_ref(), beside);
    let (run, mut record) = processor::on_cores(&plan.client_cores, run)??;
    interrupt::check()?;
    record.command = command(plan);
    record.client.cores.clone_from(&plan.client_cores);
    match &own {
        Some(own) => record.server = own.record(run.server_cpu, machine.somaxconn),
        None => record.server.address = to.to_string(),
    }
    (record.started, record.machine) = (started, machine);
    if let Some(own) = own {
        record.warnings.extend(own.warning());
        match own.stop() {
            Ok(fresh) => record.conservation = conservation::check(&fresh, &run.issued),
            Err(why) => record.invalid_because.push(why),
        }
    }
    // A run whose server was ended halfway through its last replies says nothing.
    interrupt::check()?;
    judge(&mut record, &run);
    Ok(record)
}

/// Facts of a load besides its record.
struct Driven {
    lag: Duration,
    issued: IssuedTotals,
    server_cpu: Option<Duration>,
    /// Whether the server closes after each reply unasked.
    closes: bool,
    per_request: bool,
    warnings: Vec<String>,
}

fn resolve(address: &str) -> Result<SocketAddr, String> {
    let mut found = address.to_socket_addrs().map_err(|error| format!("{address}: {error}; expected HOST:PORT"))?;
    found.next().ok_or_else(|| format!("{address} has no address"))
}

/// Prepares the server and puts the load on it.
fn drive(
    plan: &RunPlan,
    to: SocketAddr,
    own: Option<&OwnServer>,
    beside: &mut dyn RunObserver,
) -> Result<(Driven, RunRecord), String> {
    let load = &plan.load;
    let server = Server { to, tls: plan.tls()?, login: plan.login.clone(), patience: plan.patience };
    let mut setup = Setup::new(&server);
    // A server that accepts anything needs no preparation, and gets none.
    if load.workload != Recipe::Raw {
        setup.probe()?;
    }
    let (open, mut issued) = setup.prepare(load, own.is_some(), !plan.no_setup)?;
    let mut work = Plan {
        load: load.clone(),
        server: server.clone(),
        per_request: load.mode == Mode::PerRequest || setup.closes,
        duration: load.duration.map(Duration::from_secs_f64),
        warmup: Duration::from_secs_f64(load.warmup),
        cores: plan.client_cores.clone(),
        framing: setup.framing,
        strict: own.is_some(),
        sources: Sources::system(),
        note_orders: false,
    };
    let mut warnings = Vec::new();
    if work.per_request {
        let connections = connections_made(&work);
        work.sources = Sources::for_connections(to, connections);
        warnings.extend(untracked_room(&work, connections));
    }
    let http = own.map(|own| own.http);
    http.map_or(Ok(()), |http| beside.begin(http))?;
    let observers = beside.observers();
    work.note_orders = !observers.is_empty();
    let (mut cpu_before, cpu) = (None, || own.and_then(OwnServer::cpu));
    let mut measuring = || {
        beside.measuring();
        cpu_before = cpu();
    };
    let result = match http.filter(|_| plan.over_rest) {
        Some(http) => loads::run_rest(&work, http, &mut measuring)?,
        None => loads::run(&work, &open, observers, &mut measuring)?,
    };
    let server_cpu = cpu().zip(cpu_before).map(|(after, before)| after.saturating_sub(before));
    let closes = setup.closes && load.mode != Mode::PerRequest;
    let mut record = result.record(match closes {
        true => LoadSettings { mode: Mode::PerRequest, depth: 1, ..load.clone() },
        false => load.clone(),
    });
    beside.end(&result, &mut record);
    issued.add_load(load.workload, result.created_in_all, result.refused_in_all);
    let lag = Duration::from_nanos(result.lag_ns.value_at_quantile(LAG_QUANTILE));
    Ok((Driven { lag, issued, server_cpu, closes, per_request: work.per_request, warnings }, record))
}

/// Returns advice if the kernel's table of connections has no room for those of a run; once, before it begins.
fn untracked_room(work: &Plan, connections: Option<u64>) -> Option<String> {
    static SAID: Once = Once::new();
    let length = work.duration.unwrap_or_default() + work.warmup;
    let about = connections.or(work.load.requests).unwrap_or((length.as_secs_f64() * CONNECTIONS_A_SECOND) as u64);
    let warning = Tracked::look()?.warning(about)?;
    SAID.call_once(|| eprintln!("warning: {warning}"));
    Some(warning)
}

/// Returns how many connections a run with one for each request makes, if that is known.
fn connections_made(work: &Plan) -> Option<u64> {
    match (work.load.requests, work.load.rate, work.duration) {
        (Some(requests), _, _) if work.warmup.is_zero() => Some(requests),
        (_, Some(rate), Some(duration)) => Some((rate * (duration + work.warmup).as_secs_f64()) as u64),
        _ => None,
    }
}

/// Adds the reasons why the figures must not be used, and warnings.
fn judge(record: &mut RunRecord, run: &Driven) {
    let counts = &record.counts;
    record.invalid_because.extend(counts.faults());
    let fails_to_connect = run.per_request && (counts.broken > 0 || counts.lost > 0);
    record.invalid_because.extend(Tracked::look().filter(|_| fails_to_connect).and_then(Tracked::cause));
    if let Conservation::Broken(what) = &record.conservation {
        record.invalid_because.push(format!("money or shares are not those that were created: {what}"));
    }
    warn_of_busy_load(record);
    let warnings = &mut record.warnings;
    warnings.extend(run.warnings.iter().cloned());
    if record.load.rate.is_some() && run.lag > LAG_WARNING {
        warnings.push(format!(
            "the load generator sent 1% of its requests more than {:.1} ms late; the latencies include that",
            run.lag.as_secs_f64() * 1e3
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

/// Adds a warning where the load may be what is measured. An open loop looks at the clock all the time, which says
/// nothing.
pub fn warn_of_busy_load(record: &mut RunRecord) {
    let share = record.client.cpu_share;
    if record.load.rate.is_none() && share > CLIENT_CPU_WARNING {
        record.warnings.push(format!(
            "the load used {:.0}% of a core: the server may be faster than this; try more --threads, on more cores",
            share * 100.0
        ));
    }
}

/// Returns the command line that repeats it.
fn command(plan: &RunPlan) -> String {
    let mut words = vec!["pricetime-bench run".to_string()];
    // Each field has the name of its flag.
    let fields = serde_json::to_value(&plan.load).unwrap_or_default();
    for (name, value) in fields.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
        if name != "depth" || plan.load.mode == Mode::Pipelined {
            words.push(format!("--{name} {}", value.to_string().trim_matches('"')));
        }
    }
    let cores = |side: &str, cores: &[usize]| {
        (!cores.is_empty()).then(|| format!("--{side}-cores {}", list(cores).replace(", ", ",")))
    };
    words.extend(cores("client", &plan.client_cores));
    words.extend((plan.patience != DEFAULT_PATIENCE).then(|| format!("--patience {}", plan.patience.as_secs_f64())));
    match &plan.target {
        Target::At(address) => {
            words.push(format!("--target {address}"));
            words.extend(plan.tls_ca.iter().map(|file| format!("--tls-ca {}", file.display())));
            words.extend(plan.no_setup.then(|| "--no-setup".to_string()));
        }
        Target::Own { cores: server, workers, store, arguments } => {
            words.extend(cores("server", server));
            words.extend(workers.map(|workers| format!("--workers {workers}")));
            words.extend(program::given().map(|server| format!("--server {}", server.display())));
            words.extend((*store != Store::Journal).then(|| format!("--store {store}")));
            words.extend(plan.data_parent.iter().map(|parent| format!("--data-parent {}", parent.display())));
            words.extend((!arguments.is_empty()).then(|| format!("-- {}", arguments.join(" "))));
        }
    }
    words.join(" ")
}
