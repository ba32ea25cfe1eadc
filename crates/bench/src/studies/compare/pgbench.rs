//! pgbench with one INSERT a transaction, and its output. It does not start the database.

use std::fs;
use std::path::Path;
use std::process::Command;

use hdrhistogram::Histogram;

use super::Task;
use super::postgres::{Database, Postgres, USER};
use crate::loads::LoadResult;
use crate::machine::facts::now;
use crate::machine::process::{Finished, finish};
use crate::machine::test_bed::TestBed;
use crate::records::{ClientRecord, Counts, DatabaseUse, FORMAT, Latency, Recipe, RunRecord};

/// Transactions of each client before the measured part.
const WARMUP_TRANSACTIONS: &str = "100";
/// The line of pgbench where not one transaction was made.
const NOTHING_DONE: &str = "number of transactions actually processed: 0\n";
/// Seconds up to which a run that made none is repeated for longer.
const TIME_MAX: u64 = 60;
const CREATE_TABLE: &str = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
    account bigint NOT NULL, symbol text NOT NULL, shares numeric NOT NULL, price numeric NOT NULL);\n";
const INSERT: &str = "\\set account random(1, 10000)\n\
    INSERT INTO orders (account, symbol, shares, price) VALUES (:account, 'SYM0', 100, 145.67);\n";

/// Measures INSERTs into a new table of a running database. Errors: what pgbench said.
pub fn measure(task: &Task, bed: &TestBed, postgres: &Postgres, database: &Database) -> Result<RunRecord, String> {
    let (started, mode, (servers, cores)) = (now(), task.mode, task.mode.cores_at(bed));
    let run = |script: &str, flags: &[&str]| run_script(postgres, &cores, database, script, flags);
    run(CREATE_TABLE, &["-t", "1"])?;
    let clients = mode.connections.to_string();
    // pgbench takes whole seconds.
    let mut time = (task.seconds.round() as u64).max(1);
    run(INSERT, &["-M", "prepared", "-c", &clients, "-t", WARMUP_TRANSACTIONS])?;
    let log = database.folder.join("transactions");
    let prefix = format!("--log-prefix={}", log.display());
    let (finished, cpu_seconds) = loop {
        let before = database.cpu();
        let flags = ["-M", "prepared", "-c", &clients, "-T", &time.to_string(), "--log", &prefix];
        let finished = run(INSERT, &flags)?;
        // pgbench connects within the time, which on a busy machine may be all of it.
        if time >= TIME_MAX || !finished.stdout.contains(NOTHING_DONE) {
            break (finished, Some((database.cpu() - before).as_secs_f64()));
        }
        time = (time * 4).min(TIME_MAX);
    };
    let (throughput, count) = read_summary(&finished.stdout)
        .ok_or_else(|| format!("pgbench printed no figures but: {}", finished.stdout.trim()))?;
    let mut server = database.record(servers);
    // Beside markets in PostgreSQL it counts as their database does, otherwise as a server like ours.
    let used = mode.is_on_postgres().then_some(DatabaseUse { cpu_seconds, transactions: count, retries: None });
    server.cpu_seconds = cpu_seconds.filter(|_| used.is_none());
    Ok(RunRecord {
        format: FORMAT,
        started,
        command: format!("pgbench -M prepared -c {clients} -T {time}"),
        load: task.load(Recipe::OrderResting),
        server,
        seconds: count as f64 / throughput,
        throughput,
        counts: Counts {
            sent: count,
            answered: count,
            kinds: [("opened".to_string(), count)].into(),
            ..Counts::default()
        },
        latency: Latency::of(&read_latencies(&database.folder)?, "closed"),
        client: ClientRecord { cpu_share: finished.cpu_share(), cores, source_addresses: 1 },
        database: used,
        ..RunRecord::default()
    })
}

fn run_script(
    postgres: &Postgres,
    cores: &[usize],
    database: &Database,
    script: &str,
    flags: &[&str],
) -> Result<Finished, String> {
    let file = database.folder.join("script.sql");
    fs::write(&file, script).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = Command::new(postgres.program("pgbench"));
    command.args(["--no-vacuum", "-h", "127.0.0.1", "-p", &database.port.to_string(), "-U", USER, "-f"]).arg(&file);
    command.args(flags).arg("postgres").env("PGPASSWORD", &database.password).current_dir(&database.folder);
    finish(&mut command, cores)
}

/// Reads the transactions a second, without the time of connecting, and their number. Returns `None` when some failed.
fn read_summary(printed: &str) -> Option<(f64, u64)> {
    let value = |start: &str| -> Option<f64> {
        let rest = printed.lines().find_map(|line| line.strip_prefix(start))?;
        rest.trim().split([' ', '/']).next()?.parse().ok()
    };
    let failed = value("number of failed transactions:").unwrap_or(0.0);
    let (rate, count) = (value("tps =")?, value("number of transactions actually processed:")?);
    (failed == 0.0 && count > 0.0).then_some((rate, count as u64))
}

/// Reads each transaction's latency in nanoseconds from pgbench's logs, whose third field has microseconds.
fn read_latencies(folder: &Path) -> Result<Histogram<u64>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut all = LoadResult::default().latency_ns;
    for entry in fs::read_dir(folder).map_err(failed)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("transactions.") {
            let text = fs::read_to_string(entry.path()).map_err(failed)?;
            let micros = text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u64>().ok());
            micros.for_each(|us| all.saturating_record(us * 1_000));
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_of_pgbench_is_read_and_failures_spoil_it() {
        let printed = "pgbench (15.14 (Debian 15.14-0+deb12u1))\n\
                       number of transactions actually processed: 12500\n\
                       number of failed transactions: 0 (0.000%)\n\
                       latency average = 0.400 ms\n\
                       tps = 2500.125000 (without initial connection time)\n";
        assert_eq!(read_summary(printed), Some((2500.125, 12_500)));
        assert_eq!(read_summary(&printed.replace(": 0 (", ": 3 (")), None);
        assert_eq!(read_summary("pgbench: error: connection refused"), None);
    }
}
