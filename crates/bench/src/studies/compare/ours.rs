//! The subjects that our load generator drives: our server on its journal and in PostgreSQL, and the raw durable echo.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;

use super::Task;
use super::postgres::{Observer, Postgres};
use crate::loads::LoadResult;
use crate::machine::process::Server;
use crate::machine::processor::on_cores;
use crate::machine::test_bed::TestBed;
use crate::records::{DatabaseUse, LoadSettings, Recipe, RunRecord};
use crate::runs::{RunObserver, RunPlan, Store, Target, measure};

const ECHO_FOLDER: &str = "echo";

/// Measures our server with a workload. Errors: a line for people.
pub fn order(task: &Task, bed: &TestBed, workload: Recipe) -> Result<RunRecord, String> {
    let (server_cores, load_cores) = task.mode.cores_at(bed);
    let load = LoadSettings { threads: load_cores.len() as u64, ..task.load(workload) };
    let record = drive(bed, load, Target::own(server_cores), load_cores, &mut ())?;
    bed.settle();
    Ok(record)
}

/// Measures our server with its market in a database. Errors: a line for people.
pub fn order_on_postgres(task: &Task, bed: &TestBed, postgres: &Postgres) -> Result<RunRecord, String> {
    postgres.with_database(bed, task.mode, |database| {
        let observer = database.observer()?;
        let url = database.role_of_markets(&observer)?;
        let (cores, load_cores) = task.mode.cores_at(bed);
        let workers = Some(cores.len() as u64);
        let target = Target::Own { cores, workers, store: Store::Postgres(Box::new(url)), arguments: Vec::new() };
        let mut look = Look { servers: std::slice::from_ref(&database.server), observer: Some(observer), before: None };
        // The load is not bound to a core, and runs where there is room.
        on_cores(&load_cores, || drive(bed, task.load(Recipe::Order), target, Vec::new(), &mut look))?
    })
}

/// Measures the echo with the same requests. Errors: a line for people.
pub fn echo(task: &Task, bed: &TestBed) -> Result<RunRecord, String> {
    let folder = bed.fresh(ECHO_FOLDER)?;
    let (server_cores, load_cores) = task.mode.cores_at(bed);
    let (server, address) = start_echo(&server_cores, &folder)?;
    let load = LoadSettings { threads: load_cores.len() as u64, ..task.load(Recipe::Raw) };
    let look = &mut Look { servers: std::slice::from_ref(&server), observer: None, before: None };
    let record = drive(bed, load, Target::At(address.to_string()), load_cores, look);
    drop(server);
    bed.forget(ECHO_FOLDER);
    record
}

/// Measures a server of ours that runs already; `servers` are all processes that keep its market. Errors: a line for
/// people.
pub fn on_servers(task: &Task, bed: &TestBed, address: String, servers: &[Server]) -> Result<RunRecord, String> {
    let (server_cores, load_cores) = task.mode.cores_at(bed);
    let load = LoadSettings { threads: load_cores.len() as u64, ..task.load(Recipe::Order) };
    let look = &mut Look { servers, observer: None, before: None };
    let mut record = drive(bed, load, Target::At(address), load_cores, look)?;
    record.server.cores = Some(server_cores);
    Ok(record)
}

/// Observes servers in the measured part: the processor time of those that are driven, or of a database whose
/// transactions an observer counts.
struct Look<'a> {
    servers: &'a [Server],
    observer: Option<Observer>,
    /// Processor time, and transactions, until the measured part began.
    before: Option<(Duration, Result<u64, String>)>,
}

impl Look<'_> {
    fn now(&self) -> (Duration, Result<u64, String>) {
        (self.servers.iter().map(Server::cpu).sum(), self.observer.as_ref().map_or(Ok(0), Observer::transactions))
    }
}

impl RunObserver for Look<'_> {
    fn measuring(&mut self) {
        self.before = Some(self.now());
    }

    fn end(&mut self, _: &LoadResult, record: &mut RunRecord) {
        let (Some((cpu_before, before)), (cpu, after)) = (self.before.take(), self.now()) else { return };
        let cpu_seconds = Some(cpu.saturating_sub(cpu_before).as_secs_f64());
        match (before, after) {
            _ if self.observer.is_none() => record.server.cpu_seconds = cpu_seconds,
            (Ok(before), Ok(after)) => {
                let transactions = after.saturating_sub(before);
                record.database = Some(DatabaseUse { cpu_seconds, transactions, retries: None });
            }
            (Err(why), _) | (_, Err(why)) => record.invalid_because.push(why),
        }
    }
}

fn start_echo(cores: &[usize], folder: &Path) -> Result<(Server, SocketAddr), String> {
    let binary = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let mut command = Command::new(binary);
    command.args(["echo", "--file"]).arg(folder.join("requests"));
    let mut server = Server::start(&mut command, cores, folder.join("log"), Signal::TERM)?;
    let address = server.await_ready(|server| {
        let log = server.log();
        // The line has to be complete: its end may not be written yet.
        let (line, _) = log.split_once('\n')?;
        line.strip_prefix("echo on ")?.parse().ok()
    })?;
    Ok((server, address))
}

/// Puts a load on a server. Errors: a line for people.
fn drive(
    bed: &TestBed,
    load: LoadSettings,
    target: Target,
    client_cores: Vec<usize>,
    beside: &mut dyn RunObserver,
) -> Result<RunRecord, String> {
    // All data is on the same disk.
    let data_parent = Some(bed.work().to_owned());
    let plan = RunPlan { data_parent, ..RunPlan::new(load, target, client_cores) };
    measure(&plan, beside)
}
