//! PostgreSQL, driven by pgbench with one INSERT a transaction. It knows how both are started and what they print.
//!
//! PostgreSQL refuses to run as root: then it runs as `postgres`, or `nobody` where there is no such user.

use std::fs;
use std::io::Read;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use super::measurement::Figures;
use super::mode::Mode;
use super::place::Place;
use super::process::{Server, finish, free_port, in_path, is_program};

const FOLDER: &str = "postgres";
/// Where Debian keeps the programs, one folder a version; only a few of them are in the path.
const DEBIAN: &str = "/usr/lib/postgresql";
const HOW_TO_GET: &str = "get it with: apt-get install postgresql";
const STARTS_MAX: usize = 5;
const USER: &str = "bench";
const READY: &str = "database system is ready to accept connections";
/// Transactions of each client before the measured part.
const WARMUP_TRANSACTIONS: &str = "100";

const CREATE_TABLE: &str = "CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
    account bigint NOT NULL, symbol text NOT NULL, shares numeric NOT NULL, price numeric NOT NULL);\n";
const INSERT: &str = "\\set account random(1, 10000)\n\
    INSERT INTO orders (account, symbol, shares, price) VALUES (:account, 'SYM0', 100, 145.67);\n";

/// The programs, and who runs them.
pub struct Postgres {
    folder: PathBuf,
    user: Option<User>,
    pub version: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct User {
    id: u32,
    group: u32,
}

/// A running server with its table.
struct Database {
    server: Server,
    folder: PathBuf,
    port: u16,
    password: String,
}

impl Postgres {
    /// Finds it, and starts it once to see that it can. Errors: what is missing, and what to do.
    pub fn find(place: &Place) -> Result<Postgres, String> {
        let folder =
            folder().ok_or_else(|| format!("PostgreSQL (initdb, postgres, pgbench) is missing; {HOW_TO_GET}"))?;
        let user = match rustix::process::geteuid().is_root() {
            false => None,
            true => Some(unprivileged(&fs::read_to_string("/etc/passwd").unwrap_or_default()).ok_or(
                "PostgreSQL does not run as root, and there is neither a user postgres nor nobody: run this as another user",
            )?),
        };
        let output = Command::new(folder.join("postgres")).arg("--version").output();
        let printed = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
        let version = printed.split_whitespace().nth(2).unwrap_or("of unknown version").to_string();
        let postgres = Postgres { folder, user, version };
        let trial = postgres.start(place).map(drop);
        place.forget(FOLDER);
        trial.map(|()| postgres).map_err(|error| {
            let whose =
                if user.is_some() { " (as root it runs as another user, who must reach the folder --out)" } else { "" };
            format!("PostgreSQL does not work here{whose}: {error}")
        })
    }

    /// Starts a server on new data, and measures it. Errors: what a program said.
    pub fn measure(&self, place: &Place, mode: Mode, seconds: f64) -> Result<Figures, String> {
        let database = self.start(place)?;
        let measured = self.drive(place, mode, seconds, &database);
        drop(database);
        place.forget(FOLDER);
        measured
    }

    fn start(&self, place: &Place) -> Result<Database, String> {
        let folder = place.fresh(FOLDER)?;
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        // Whoever else is on this machine must not become its administrator.
        let password = password().map_err(|error| format!("no random password: {error}"))?;
        let password_file = folder.join("password");
        fs::write(&password_file, &password).map_err(failed)?;
        self.give(&folder).and_then(|()| self.give(&password_file)).map_err(failed)?;
        let mut command = self.command("initdb", &folder);
        command.args([
            "--username",
            USER,
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--no-sync",
            "--pwfile",
        ]);
        finish(command.arg(&password_file).arg("--pgdata").arg(folder.join("data")), place.server_core)?;
        place.settle();
        let mut last = String::new();
        for _ in 0..STARTS_MAX {
            let port = free_port()?;
            let mut command = self.command("postgres", &folder);
            command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]);
            for setting in
                ["listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=on", "synchronous_commit=on"]
            {
                command.args(["-c", setting]);
            }
            let mut server = Server::start(&mut command, place.server_core, folder.join("log"), Signal::INT)?;
            // Somebody else may have taken the port: then it ends.
            match server.await_ready(|server| server.log().contains(READY).then_some(())) {
                Ok(()) => {
                    let database = Database { server, folder, port, password };
                    self.run_script(place, &database, CREATE_TABLE, &["-t", "1"])?;
                    return Ok(database);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn drive(&self, place: &Place, mode: Mode, seconds: f64, database: &Database) -> Result<Figures, String> {
        let clients = mode.connections().to_string();
        // It takes whole seconds.
        let time = (seconds.round() as u64).max(1).to_string();
        self.run_script(place, database, INSERT, &["-M", "prepared", "-c", &clients, "-t", WARMUP_TRANSACTIONS])?;
        let log = database.folder.join("transactions");
        let prefix = format!("--log-prefix={}", log.display());
        let before = database.server.cpu();
        let flags = ["-M", "prepared", "-c", &clients, "-T", &time, "--log", &prefix];
        let (printed, load_cpu_share) = self.run_script(place, database, INSERT, &flags)?;
        let used = database.server.cpu() - before;
        let (throughput, count) =
            read_summary(&printed).ok_or_else(|| format!("pgbench printed no figures but: {}", printed.trim()))?;
        let latencies = read_latencies(&database.folder)?;
        Ok(Figures {
            throughput,
            latency_us_p50: quantile(&latencies, 0.5),
            latency_us_p99: quantile(&latencies, 0.99),
            latency_us_p999: quantile(&latencies, 0.999),
            orders_per_second: None,
            server_cpu_us: Some(used.as_secs_f64() * 1e6 / count),
            load_cpu_share: Some(load_cpu_share),
        })
    }

    /// What pgbench printed, and the part of its core that it used.
    fn run_script(
        &self,
        place: &Place,
        database: &Database,
        script: &str,
        flags: &[&str],
    ) -> Result<(String, f64), String> {
        let file = database.folder.join("script.sql");
        fs::write(&file, script).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut command = Command::new(self.folder.join("pgbench"));
        command.args(["--no-vacuum", "-h", "127.0.0.1", "-p", &database.port.to_string(), "-U", USER, "-f"]).arg(&file);
        command.args(flags).arg("postgres").env("PGPASSWORD", &database.password).current_dir(&database.folder);
        let finished = finish(&mut command, place.load_core)?;
        Ok((finished.stdout, finished.cpu.as_secs_f64() / finished.took.as_secs_f64()))
    }

    fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(self.folder.join(program));
        command.current_dir(folder).env("LC_ALL", "C");
        if let Some(user) = self.user {
            command.uid(user.id).gid(user.group);
        }
        command
    }

    fn give(&self, path: &Path) -> std::io::Result<()> {
        self.user.map_or(Ok(()), |user| chown(path, Some(user.id), Some(user.group)))
    }
}

/// Of the newest version that has all programs.
fn folder() -> Option<PathBuf> {
    let has_all =
        |folder: &PathBuf| ["initdb", "postgres", "pgbench"].iter().all(|program| is_program(&folder.join(program)));
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let in_path = in_path("initdb").and_then(|program| program.parent().map(Path::to_owned));
    versions.into_iter().rev().map(|(_, folder)| folder).chain(in_path).find(has_all)
}

fn unprivileged(passwd: &str) -> Option<User> {
    let user = |name: &str| {
        let line = passwd.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(str::parse);
        Some(User { id: fields.next()?.ok()?, group: fields.next()?.ok()? })
    };
    user("postgres").or_else(|| user("nobody"))
}

fn password() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
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
    fn root_gives_way_to_postgres_or_nobody() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(unprivileged(passwd), Some(User { id: 65534, group: 65533 }));
        let with_postgres = format!("{passwd}postgres:x:101:104::/var/lib/postgresql:/bin/bash\n");
        assert_eq!(unprivileged(&with_postgres), Some(User { id: 101, group: 104 }));
        assert_eq!(unprivileged("root:x:0:0::/root:/bin/sh\n"), None);
    }

    #[test]
    fn quantiles_are_the_smallest_that_hold_their_part() {
        let sorted: Vec<u64> = (1..=100).collect();
        assert_eq!((quantile(&sorted, 0.5), quantile(&sorted, 0.99)), (Some(50.0), Some(99.0)));
        assert_eq!((quantile(&[7], 0.99), quantile(&[], 0.5)), (Some(7.0), None));
    }
}
