//! PostgreSQL as programs: finds, starts and observes it; and the run of one transaction an order in it, without a
//! server.
//!
//! PostgreSQL refuses to run as root: then it runs as `postgres`, or `nobody` where there is no such user.

use std::fs;
use std::io::Read;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use store::{StoreError, StoreUrl};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;

use super::Task;
use crate::baseline;
use crate::machine::process::{Server, finish, in_path, is_program, start_on_free_port, version};
use crate::machine::processor::on_cores;
use crate::machine::test_bed::TestBed;
use crate::records::compare_mode::Mode;
use crate::records::{Recipe, RunRecord, ServerRecord};
use crate::runs::{FreshDatabase, sql_error};

const FOLDER: &str = "postgres";
/// The folder in which Debian keeps the programs, one folder a version; only a few of them are in the path.
const DEBIAN: &str = "/usr/lib/postgresql";
const HOW_TO_GET: &str = "get it with: apt-get install postgresql";
/// The administrator's role.
pub const USER: &str = "bench";
/// The message of a standby that has everything of its server.
const FOLLOWS: &str = "started streaming WAL from primary";
const READY: &str = "database system is ready to accept connections";
/// The role that owns markets: it may make databases, and do nothing elsewhere.
const MARKET: &str = "market";

/// The programs, and the user that runs them.
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

/// A running server.
pub struct Database {
    /// The standby that syncs a transaction before it counts, where there is one.
    standby: Option<Server>,
    pub server: Server,
    /// The folder of its data, scripts and logs.
    pub folder: PathBuf,
    pub port: u16,
    /// The administrator's password.
    pub password: String,
    version: String,
}

impl Postgres {
    /// Finds it, and starts it once to see that it can. Errors: what is missing, and what to do.
    pub fn find(bed: &TestBed) -> Result<Postgres, String> {
        let folder =
            folder().ok_or_else(|| format!("PostgreSQL (initdb, postgres, pgbench) is missing; {HOW_TO_GET}"))?;
        let user = match rustix::process::geteuid().is_root() {
            false => None,
            true => Some(unprivileged(&fs::read_to_string("/etc/passwd").unwrap_or_default()).ok_or(
                "PostgreSQL does not run as root, and there is neither a user postgres nor nobody: run this as another user",
            )?),
        };
        let version = version(&folder.join("postgres"), |said| said.split_whitespace().nth(2));
        let postgres = Postgres { folder, user, version };
        let trial = postgres.start(bed, &[bed.server_core], false).map(drop);
        bed.forget(FOLDER);
        trial.map(|()| postgres).map_err(|error| {
            let whose =
                if user.is_some() { " (as root it runs as another user, who must reach the folder --out)" } else { "" };
            format!("PostgreSQL does not work here{whose}: {error}")
        })
    }

    /// Starts a server on new data, runs `work` with it, and removes the data. Errors: what a program said.
    pub fn with_database<T>(
        &self,
        bed: &TestBed,
        mode: &Mode,
        work: impl FnOnce(&Database) -> Result<T, String>,
    ) -> Result<T, String> {
        let (cores, _) = mode.cores_at(bed);
        let mut database = self.start(bed, &cores, mode.is_replicated())?;
        if mode.is_replicated() {
            database.standby = Some(self.start_standby(&database, &cores)?);
        }
        let done = work(&database);
        drop(database);
        bed.forget(FOLDER);
        done
    }

    /// Returns the path of one of its programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts the server, whose transactions wait for a standby if `with_standby`.
    fn start(&self, bed: &TestBed, cores: &[usize], with_standby: bool) -> Result<Database, String> {
        let folder = bed.fresh(FOLDER)?;
        let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
        // Other users of this machine must not become its administrator.
        let password = password()?;
        let password_file = folder.join("password");
        fs::write(&password_file, &password).map_err(failed)?;
        self.give(&folder).and_then(|()| self.give(&password_file)).map_err(failed)?;
        let mut command = self.command("initdb", &folder);
        command.args("--auth=scram-sha-256 --encoding=UTF8 --locale=C --no-sync --username".split(' ')).arg(USER);
        command.arg("--pwfile").arg(&password_file).arg("--pgdata").arg(folder.join("data"));
        finish(&mut command, cores)?;
        bed.settle();
        let prepare = |port: u16| {
            let mut command = self.command("postgres", &folder);
            command.arg("-D").arg(folder.join("data")).args(["-p", &port.to_string()]);
            command.args("-c listen_addresses=127.0.0.1 -c unix_socket_directories=".split(' '));
            command.args("-c fsync=on -c synchronous_commit=on".split(' '));
            command.args(with_standby.then_some("-csynchronous_standby_names=*"));
            Ok((command, folder.join("log")))
        };
        let ready = |server: &Server, _| server.log().contains(READY);
        let (server, port) = start_on_free_port(cores, Signal::INT, prepare, ready)?;
        Ok(Database { standby: None, server, folder, port, password, version: self.version.clone() })
    }

    /// Starts a standby on a copy of the server's data. Errors: what a program said.
    fn start_standby(&self, database: &Database, cores: &[usize]) -> Result<Server, String> {
        let Database { folder, port, password, .. } = database;
        let data = folder.join("standby");
        let mut copy = self.command("pg_basebackup", folder);
        copy.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", USER, "--checkpoint=fast", "-R", "-D"]).arg(&data);
        finish(copy.env("PGPASSWORD", password), cores)?;
        let prepare = |port: u16| {
            let mut command = self.command("postgres", folder);
            command.arg("-D").arg(&data).args(["-p", &port.to_string()]);
            command.args("-c listen_addresses=127.0.0.1 -c unix_socket_directories=".split(' '));
            Ok((command, folder.join("log-standby")))
        };
        let ready = |server: &Server, _| server.log().contains(FOLLOWS);
        start_on_free_port(cores, Signal::INT, prepare, ready).map(|(server, _)| server)
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

impl Database {
    /// Returns the processor time so far, with that of a standby.
    pub fn cpu(&self) -> Duration {
        self.server.cpu() + self.standby.as_ref().map_or(Duration::ZERO, Server::cpu)
    }

    /// Returns the facts about it for the record of a run.
    pub fn record(&self, cores: Vec<usize>) -> ServerRecord {
        let durability = match self.standby {
            None => "synchronous_commit on",
            Some(_) => "synchronous_commit on, a synchronous standby",
        };
        ServerRecord {
            address: format!("127.0.0.1:{}", self.port),
            version: Some(format!("PostgreSQL {}", self.version)),
            cores: Some(cores),
            durability: Some(durability.to_string()),
            ..ServerRecord::default()
        }
    }

    /// Opens a connection of its administrator. Errors: what the database said.
    pub fn observer(&self) -> Result<Observer, String> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| format!("cannot start a runtime: {error}"))?;
        let url = self.url(USER, &self.password, "postgres")?;
        let client = runtime.block_on(store::connect(&url, "observer")).map_err(|error| error.to_string())?;
        Ok(Observer { runtime, client })
    }

    /// Makes the role that owns markets' databases, and returns its URL. Errors: the database's.
    pub fn role_of_markets(&self, observer: &Observer) -> Result<StoreUrl, String> {
        let password = password()?;
        observer.run(&format!("CREATE ROLE {MARKET} LOGIN CREATEDB PASSWORD '{password}'"))?;
        self.url(MARKET, &password, "postgres")
    }

    fn url(&self, role: &str, password: &str, database: &str) -> Result<StoreUrl, String> {
        let url = format!("postgres://{role}:{password}@127.0.0.1:{}/{database}", self.port);
        url.parse().map_err(|error: StoreError| error.to_string())
    }
}

/// Observes a database while it is measured. Its queries write nothing.
pub struct Observer {
    runtime: Runtime,
    client: Client,
}

impl Observer {
    fn run(&self, sql: &str) -> Result<(), String> {
        self.runtime.block_on(self.client.batch_execute(sql)).map_err(sql_error)
    }

    /// Counts all transactions that ever wrote, with those that were rolled back: each has an id, and ids count up. The
    /// counters in pg_stat_database say the same a second later. Errors: what the database said.
    pub fn transactions(&self) -> Result<u64, String> {
        let sql = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text";
        let row = self.runtime.block_on(self.client.query_one(sql, &[])).map_err(sql_error)?;
        let text: &str = row.get(0);
        text.parse().map_err(|_| format!("PostgreSQL counts `{text}` transactions"))
    }
}

/// Measures one transaction an order. Errors: a line for people.
pub fn baseline(task: &Task, bed: &TestBed, postgres: &Postgres) -> Result<RunRecord, String> {
    postgres.with_database(bed, task.mode, |database| {
        let fresh = FreshDatabase::create(&database.role_of_markets(&database.observer()?)?)?;
        let (servers, cores) = task.mode.cores_at(bed);
        let mut looks = Vec::new();
        let load = task.load(Recipe::Order);
        let run = || baseline::run_load(&fresh.url, &load, &mut || looks.push(database.server.cpu()));
        let mut record = on_cores(&cores, run)??;
        if let ([before, after], Some(used)) = (looks.as_slice(), &mut record.database) {
            used.cpu_seconds = Some(after.saturating_sub(*before).as_secs_f64());
        }
        record.client.cores = cores;
        record.server = database.record(servers);
        Ok(record)
    })
}

/// Returns the folder of the newest version that has all programs.
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

fn password() -> Result<String, String> {
    let mut bytes = [0; 16];
    let read = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| format!("no random password: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_gives_way_to_postgres_or_nobody() {
        let passwd = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65533::/:/bin/false\n";
        assert_eq!(unprivileged(passwd), Some(User { id: 65534, group: 65533 }));
        let with_postgres = format!("{passwd}postgres:x:101:104::/var/lib/postgresql:/bin/bash\n");
        assert_eq!(unprivileged(&with_postgres), Some(User { id: 101, group: 104 }));
        assert_eq!(unprivileged("root:x:0:0::/root:/bin/sh\n"), None);
    }
}
