//! A market in PostgreSQL: ours, and one transaction an order without a server. Each on a database of its own, and server,
//! database and load on the same cores.

use std::process::Command;
use std::time::Duration;

use store::StoreUrl;

use super::measurement::{Figures, Task};
use super::observer::Observer;
use super::ours::{self, Run};
use super::place::Place;
use super::postgres::{Database, Postgres};
use crate::baseline::{self, warmup};
use crate::load::{Issued, issued_each, symbol_name};
use crate::process::Server;
use crate::record::{Conservation, LoadSettings, RunRecord};
use crate::run::{STORE_VARIABLE, Target, check_database, launch, on_cores};

const FOLDER: &str = "server";

/// Measures our server with its market in a database, in an open loop where a rate is given. Errors: a line for people.
pub fn order(task: &Task, place: &Place, postgres: &Postgres, rate: Option<f64>) -> Result<Run, String> {
    postgres.with_database(place, task.mode, |database| {
        let observer = Observer::connect(&database.administrator()?)?;
        let url = database.make_market(&observer)?;
        let measured = drive(task, place, database, &observer, &url, rate);
        place.forget(FOLDER);
        measured
    })
}

fn drive(
    task: &Task,
    place: &Place,
    database: &Database,
    observer: &Observer,
    url: &StoreUrl,
    rate: Option<f64>,
) -> Result<Run, String> {
    let (cores, load_cores) = place.cores_in(task.mode);
    let folder = place.fresh(FOLDER)?;
    let tell = |command: &mut Command| {
        command.arg("--data").arg(folder.join("data")).env(STORE_VARIABLE, url.secret());
    };
    let launched = launch(folder.join("log"), &cores, Some(cores.len() as u64), &[], tell)?;
    let (server, address) = (launched.server, launched.xml);
    let look = || Look::at(&server, database, observer);
    let mut before = None;
    // The measured part begins when its progress is told for the first time.
    let mut progress = |_| {
        before.get_or_insert_with(look);
    };
    let load = LoadSettings { rate, ..ours::load(task, "order") };
    let target = Target::At(address.to_string());
    // Bound to none of them, the load goes where there is room.
    let record = on_cores(&load_cores, || ours::drive(place, load, target, Vec::new(), &mut progress))??;
    let after = look()?;
    let before = before.ok_or("the load ended before it began")??;
    drop(server);
    Ok(run(checked(record, url), &before, &after))
}

/// What was used up to a moment.
struct Look {
    server: Duration,
    database: Duration,
    transactions: u64,
}

impl Look {
    fn at(server: &Server, database: &Database, observer: &Observer) -> Result<Look, String> {
        Ok(Look { server: server.cpu(), database: database.cpu(), transactions: observer.transactions()? })
    }
}

/// With whether money and shares are those that were created, now that the server has stopped.
fn checked(mut record: RunRecord, url: &StoreUrl) -> RunRecord {
    let load = &record.load;
    let each_of_all = u128::from(issued_each(load.accounts)) * u128::from(load.accounts);
    let shares = (0..load.symbols).map(|number| (symbol_name(number as usize), each_of_all)).collect();
    record.conservation = check_database(url, &Issued { dollars: each_of_all, shares });
    if let Conservation::Broken(what) = &record.conservation {
        record.invalid_because.push(format!("money or shares are not those that were created: {what}"));
    }
    record
}

fn run(mut record: RunRecord, before: &Look, after: &Look) -> Run {
    let server = after.server.saturating_sub(before.server).as_secs_f64();
    let database = after.database.saturating_sub(before.database).as_secs_f64();
    let transactions = after.transactions.saturating_sub(before.transactions);
    // The load found a server; the comparison knows which.
    record.server.own = true;
    record.server.store = Some("PostgreSQL".to_string());
    record.server.durability = Some("committed".to_string());
    record.server.cpu_seconds = Some(server);
    let answered = record.counts.answered.max(1) as f64;
    let mut run = ours::run(record, Some(server));
    run.figures.database_cpu_us = Some(database * 1e6 / answered);
    run.figures.requests_per_transaction = (transactions > 0).then(|| answered / transactions as f64);
    run
}

/// Measures one transaction an order. The figures, and why they must not be used. Errors: a line for people.
pub fn baseline(task: &Task, place: &Place, postgres: &Postgres) -> Result<(Figures, Option<String>), String> {
    postgres.with_database(place, task.mode, |database| {
        let observer = Observer::connect(&database.administrator()?)?;
        let url = database.make_market(&observer)?;
        drop(observer);
        let mut looks = Vec::new();
        let plan = baseline::Plan {
            connections: task.mode.connections() as usize,
            measured: Duration::from_secs_f64(task.seconds),
            warmup: warmup(task.seconds),
            accounts: ours::ACCOUNTS,
            symbols: ours::SYMBOLS,
            seed: u64::from(task.round),
        };
        let (_, cores) = place.cores_in(task.mode);
        let outcome = on_cores(&cores, || baseline::run_load(&url, &plan, &mut || looks.push(database.cpu())))??;
        let cpu = match looks.as_slice() {
            [before, after] => Some(after.saturating_sub(*before).as_secs_f64()),
            _ => None,
        };
        let figures = Figures {
            throughput: outcome.requests_per_second(),
            latency_us_p50: Some(outcome.latency_us(0.5)),
            latency_us_p99: Some(outcome.latency_us(0.99)),
            latency_us_p999: Some(outcome.latency_us(0.999)),
            orders_per_second: Some(outcome.orders_per_second()),
            server_cpu_us: None,
            database_cpu_us: cpu.map(|seconds| seconds * 1e6 / outcome.requests.max(1) as f64),
            load_cpu_share: Some(outcome.load_cpu_share),
            requests_per_transaction: Some(1.0),
            retries_per_order: Some(outcome.retries_per_order()),
        };
        Ok((figures, (!outcome.faults.is_empty()).then(|| outcome.faults.join("; "))))
    })
}
