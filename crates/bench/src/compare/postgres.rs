//! PostgreSQL as programs: found, and started on new data. It does not know what is done with it.
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

use super::mode::Mode;
use super::observer::Observer;
use super::place::Place;
use crate::process::{Server, finish, free_port, in_path, is_program};

const FOLDER: &str = "postgres";
/// Where Debian keeps the programs, one folder a version; only a few of them are in the path.
const DEBIAN: &str = "/usr/lib/postgresql";
const HOW_TO_GET: &str = "get it with: apt-get install postgresql";
const STARTS_MAX: usize = 5;
/// Its administrator.
pub const USER: &str = "bench";
const READY: &str = "database system is ready to accept connections";
/// Whose market it is: a role that may do nothing elsewhere.
const MARKET: &str = "market";

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

/// A running server.
pub struct Database {
    server: Server,
    folder: PathBuf,
    pub port: u16,
    /// Of its administrator.
    pub password: String,
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
        let trial = postgres.start(place, &[place.server_core]).map(drop);
        place.forget(FOLDER);
        trial.map(|()| postgres).map_err(|error| {
            let whose =
                if user.is_some() { " (as root it runs as another user, who must reach the folder --out)" } else { "" };
            format!("PostgreSQL does not work here{whose}: {error}")
        })
    }

    /// Starts a server on new data, does something with it, and removes the data. Errors: what a program said.
    pub fn with_database<T>(
        &self,
        place: &Place,
        mode: Mode,
        work: impl FnOnce(&Database) -> Result<T, String>,
    ) -> Result<T, String> {
        let (cores, _) = place.cores_in(mode);
        let database = self.start(place, &cores)?;
        let done = work(&database);
        drop(database);
        place.forget(FOLDER);
        done
    }

    /// Where one of its programs is.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn start(&self, place: &Place, cores: &[usize]) -> Result<Database, String> {
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
        finish(command.arg(&password_file).arg("--pgdata").arg(folder.join("data")), cores)?;
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
            let mut server = Server::start(&mut command, cores, folder.join("log"), Signal::INT)?;
            // Somebody else may have taken the port: then it ends.
            match server.await_ready(|server| server.log().contains(READY).then_some(())) {
                Ok(()) => return Ok(Database { server, folder, port, password }),
                Err(error) => last = error,
            }
        }
        Err(last)
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
    /// Holds its data, scripts and logs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Processor time that it used so far.
    pub fn cpu(&self) -> Duration {
        self.server.cpu()
    }

    /// The URL for its administrator. Errors: none that should be.
    pub fn administrator(&self) -> Result<StoreUrl, String> {
        self.url(USER, &self.password, "postgres")
    }

    /// Makes a database for a market, and gives its URL. Errors: the database's.
    pub fn make_market(&self, observer: &Observer) -> Result<StoreUrl, String> {
        let password = password().map_err(|error| format!("no random password: {error}"))?;
        observer.run(&format!("CREATE ROLE {MARKET} LOGIN PASSWORD '{password}'"))?;
        observer.run(&format!("CREATE DATABASE {MARKET} OWNER {MARKET}"))?;
        self.url(MARKET, &password, MARKET)
    }

    fn url(&self, role: &str, password: &str, database: &str) -> Result<StoreUrl, String> {
        let url = format!("postgres://{role}:{password}@127.0.0.1:{}/{database}", self.port);
        url.parse().map_err(|error: StoreError| error.to_string())
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
