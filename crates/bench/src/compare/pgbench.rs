//! pgbench with one INSERT a transaction, and what it prints. It knows no how a database is started.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::measurement::Figures;
use super::mode::Mode;
use super::place::Place;
use super::postgres::{Database, Postgres, USER};
use crate::process::{Finished, finish};

/// Transactions of each client before the measured part.
const WARMUP_TRANSACTIONS: &str = "100";
const CREATE_TABLE: &str = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
    account bigint NOT NULL, symbol text NOT NULL, shares numeric NOT NULL, price numeric NOT NULL);\n";
const INSERT: &str = "\\set account random(1, 10000)\n\
    INSERT INTO orders (account, symbol, shares, price) VALUES (:account, 'SYM0', 100, 145.67);\n";

/// Measures INSERTs into a new table of a running database. Errors: what pgbench said.
pub fn measure(
    postgres: &Postgres,
    place: &Place,
    mode: Mode,
    seconds: f64,
    database: &Database,
) -> Result<Figures, String> {
    let (_, cores) = place.cores_in(mode);
    let run = |script: &str, flags: &[&str]| run_script(postgres, &cores, database, script, flags);
    run(CREATE_TABLE, &["-t", "1"])?;
    let clients = mode.connections().to_string();
    // It takes whole seconds.
    let time = (seconds.round() as u64).max(1).to_string();
    run(INSERT, &["-M", "prepared", "-c", &clients, "-t", WARMUP_TRANSACTIONS])?;
    let log = database.folder().join("transactions");
    let prefix = format!("--log-prefix={}", log.display());
    let before = database.cpu();
    let finished = run(INSERT, &["-M", "prepared", "-c", &clients, "-T", &time, "--log", &prefix])?;
    let used = database.cpu() - before;
    let (throughput, count) = read_summary(&finished.stdout)
        .ok_or_else(|| format!("pgbench printed no figures but: {}", finished.stdout.trim()))?;
    let latencies = read_latencies(database.folder())?;
    let cpu_us = Some(used.as_secs_f64() * 1e6 / count);
    let (server_cpu_us, database_cpu_us) = if mode.is_on_postgres() { (None, cpu_us) } else { (cpu_us, None) };
    Ok(Figures {
        throughput,
        latency_us_p50: quantile(&latencies, 0.5),
        latency_us_p99: quantile(&latencies, 0.99),
        latency_us_p999: quantile(&latencies, 0.999),
        orders_per_second: Some(throughput),
        server_cpu_us,
        database_cpu_us,
        load_cpu_share: Some(finished.cpu.as_secs_f64() / finished.took.as_secs_f64()),
        requests_per_transaction: Some(1.0),
        retries_per_order: None,
    })
}

fn run_script(
    postgres: &Postgres,
    cores: &[usize],
    database: &Database,
    script: &str,
    flags: &[&str],
) -> Result<Finished, String> {
    let file = database.folder().join("script.sql");
    fs::write(&file, script).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut command = Command::new(postgres.program("pgbench"));
    command.args(["--no-vacuum", "-h", "127.0.0.1", "-p", &database.port.to_string(), "-U", USER, "-f"]).arg(&file);
    command.args(flags).arg("postgres").env("PGPASSWORD", &database.password).current_dir(database.folder());
    finish(&mut command, cores)
}

/// Transactions a second without the time of connecting, and how many there were. None when some failed.
fn read_summary(printed: &str) -> Option<(f64, f64)> {
    let value = |start: &str| -> Option<f64> {
        let rest = printed.lines().find_map(|line| line.strip_prefix(start))?;
        rest.trim().split([' ', '/']).next()?.parse().ok()
    };
    let failed = value("number of failed transactions:").unwrap_or(0.0);
    let (rate, count) = (value("tps =")?, value("number of transactions actually processed:")?);
    (failed == 0.0 && count > 0.0).then_some((rate, count))
}

/// Microseconds of each transaction, ascending, from pgbench's logs: the third field.
fn read_latencies(folder: &Path) -> Result<Vec<u64>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("transactions.") {
            let text = fs::read_to_string(entry.path()).map_err(failed)?;
            all.extend(text.lines().filter_map(|line| line.split(' ').nth(2)?.parse::<u64>().ok()));
        }
    }
    all.sort_unstable();
    Ok(all)
}

fn quantile(sorted: &[u64], part: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * part).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).map(|&us| us as f64)
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
        assert_eq!(read_summary(printed), Some((2500.125, 12500.0)));
        assert_eq!(read_summary(&printed.replace(": 0 (", ": 3 (")), None);
        assert_eq!(read_summary("pgbench: error: connection refused"), None);
    }

    #[test]
    fn quantiles_are_the_smallest_that_hold_their_part() {
        let sorted: Vec<u64> = (1..=100).collect();
        assert_eq!((quantile(&sorted, 0.5), quantile(&sorted, 0.99)), (Some(50.0), Some(99.0)));
        assert_eq!((quantile(&[7], 0.99), quantile(&[], 0.5)), (Some(7.0), None));
    }
}
