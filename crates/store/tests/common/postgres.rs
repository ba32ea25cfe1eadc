//! A PostgreSQL that the tests start themselves: fresh folder, free port, everything synced, ended with the test
//! process. Its programs are found where distributions put them; they run as another user when the tests run as root,
//! because they refuse to run as root.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use store::{Stop, Store, StoreUrl, Writer};
use tokio::runtime::Runtime;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, NoTls, SimpleQueryMessage, SimpleQueryRow};

use super::port;

/// The advice to install PostgreSQL.
const MISSING: &str = "these tests start a PostgreSQL of their own, and none was found: install it (Debian: apt-get install \
                       postgresql), or put initdb and postgres on the PATH";

/// The script that runs the server and ends it when told, or when the test process is gone, which closes its end of the
/// pipe. The script closes its output, so that nobody who reads the output of the tests waits until it has removed the
/// folder, which may have many files.
const KEEPER: &str = r#"
folder=$1; shift
"$@" >>"$folder/log" 2>&1 </dev/null &
pid=$!
echo "$pid"
exec >/dev/null 2>&1
read -r signal
kill -s "${signal:-QUIT}" "$pid" 2>/dev/null
wait "$pid"
[ -n "$signal" ] || rm -rf "$folder"
"#;

/// A server.
pub struct Server {
    folder: PathBuf,
    port: u16,
    settings: Vec<String>,
    keeper: Option<Keeper>,
}

/// The keeper's process, its pipe, and the id of the server's process.
struct Keeper {
    process: Child,
    pipe: ChildStdin,
    server: String,
}

/// A database of a server, for one test.
pub struct Database {
    pub name: String,
    pub port: u16,
    runtime: Runtime,
    client: Mutex<Client>,
}

static NUMBER: AtomicU32 = AtomicU32::new(0);

/// A fresh database on the server that the tests of one binary share.
pub fn database() -> Database {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&[])).database()
}

impl Server {
    /// Starts a server, with further settings.
    pub fn start(settings: &[&str]) -> Server {
        Server::start_made(&[], settings)
    }

    /// Starts a server that `initdb` makes with further arguments.
    pub fn start_made(initdb: &[&str], settings: &[&str]) -> Server {
        let folder = new_folder();
        let data = folder.join("data");
        let initdb = as_other_user(&program("initdb"))
            .args(["--no-sync", "--auth=trust", "--username=postgres", "--encoding=UTF8", "--locale=C"])
            .args(initdb)
            .arg("--pgdata")
            .arg(&data)
            .current_dir(&folder)
            .output()
            .expect(MISSING);
        assert!(initdb.status.success(), "initdb: {}", String::from_utf8_lossy(&initdb.stderr));
        Server::run_on_a_free_port(folder, settings.iter().map(|setting| (*setting).to_owned()).collect())
    }

    /// A standby named `name`: a copy of this server that follows it. The server is restarted for it.
    pub fn standby(&mut self, name: &str) -> Server {
        self.end("INT");
        let folder = new_folder();
        let copied = Command::new("cp").arg("-a").arg(self.folder.join("data")).arg(&folder).status().unwrap();
        assert!(copied.success());
        let signal = folder.join("data/standby.signal");
        std::fs::write(&signal, "").unwrap();
        give_away(&signal);
        self.run();
        let primary = format!("host=127.0.0.1 port={} user=postgres application_name={name}", self.port);
        let follows = format!("primary_conninfo={primary}");
        Server::run_on_a_free_port(folder, self.settings.iter().cloned().chain([follows]).collect())
    }

    fn run_on_a_free_port(folder: PathBuf, settings: Vec<String>) -> Server {
        let mut server = Server { folder, port: 0, settings, keeper: None };
        loop {
            server.port = port::free();
            server.run();
            if server.is_ours() {
                return server;
            }
            // Another test's server got the port first.
            server.end("KILL");
        }
    }

    /// Whether this server answers on its port.
    fn is_ours(&self) -> bool {
        let asked = runtime()
            .block_on(async { connect(self.port, "postgres").await?.query_one("SHOW data_directory", &[]).await });
        asked.is_ok_and(|row| Path::new(row.get::<_, &str>(0)) == self.folder.join("data"))
    }

    /// Starts the server's process and waits until it answers.
    pub fn run(&mut self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        self.run_once();
        while !self.answers() {
            assert!(Instant::now() < deadline, "PostgreSQL does not start: {}", self.log());
            std::thread::sleep(Duration::from_millis(20));
            if self.has_ended() {
                // Processes of the server before may still hold its memory.
                self.end("KILL");
                std::thread::sleep(Duration::from_millis(100));
                self.run_once();
            }
        }
    }

    fn run_once(&mut self) {
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keeper"]).arg(&self.folder);
        let postgres = as_other_user(&program("postgres"));
        command.arg(postgres.get_program()).args(postgres.get_args());
        command.arg("-D").arg(self.folder.join("data")).arg("-p").arg(self.port.to_string());
        command.arg("-k").arg(&self.folder);
        for setting in ["listen_addresses=127.0.0.1", "max_connections=50"] {
            command.args(["-c", setting]);
        }
        for setting in &self.settings {
            command.args(["-c", setting]);
        }
        let mut keeper =
            command.current_dir(&self.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut server = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut server).unwrap();
        let pipe = keeper.stdin.take().unwrap();
        self.keeper = Some(Keeper { process: keeper, pipe, server: server.trim().to_owned() });
    }

    /// Whether the server's process is gone, or would be if its keeper had looked.
    pub fn has_ended(&self) -> bool {
        self.keeper.as_ref().is_none_or(|keeper| parent_of(&keeper.server).is_none())
    }

    fn answers(&self) -> bool {
        let runtime = runtime();
        runtime.block_on(async { connect(self.port, "postgres").await.is_ok() })
    }

    /// Ends the server with a signal: KILL like a crash, INT for an orderly restart. Returns when all its processes are
    /// gone: after a KILL they go by themselves, and one that has not noticed yet could still commit.
    pub fn end(&mut self, signal: &str) {
        let mut keeper = self.keeper.take().unwrap();
        let children = children_of(&keeper.server);
        writeln!(keeper.pipe, "{signal}").unwrap();
        keeper.process.wait().unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        while children.iter().any(|child| parent_of(child).is_some()) {
            assert!(Instant::now() < deadline, "PostgreSQL's processes outlive it: {}", self.log());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The server's log.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The folder, which the server's user owns.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes an empty database.
    pub fn database(&self) -> Database {
        self.database_in("pg_default")
    }

    /// Makes an empty database in a table space.
    pub fn database_in(&self, space: &str) -> Database {
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        runtime().block_on(async {
            let admin = connect(self.port, "postgres").await.unwrap();
            admin.batch_execute(&format!("CREATE DATABASE {name} TABLESPACE {space}")).await.unwrap();
        });
        self.database_named(&name)
    }

    /// An existing database.
    pub fn database_named(&self, name: &str) -> Database {
        let runtime = runtime();
        let client = runtime.block_on(connect(self.port, name)).unwrap();
        Database { name: name.to_owned(), port: self.port, runtime, client: Mutex::new(client) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match self.keeper.take() {
            // The pipe closes, so the keeper ends the server and removes the folder.
            Some(Keeper { mut process, pipe, .. }) => {
                drop(pipe);
                process.wait().unwrap();
            }
            None => drop(std::fs::remove_dir_all(&self.folder)),
        }
    }
}

impl Database {
    /// The URL for a role.
    pub fn url_of(&self, role: &str) -> StoreUrl {
        format!("postgres://{role}@127.0.0.1:{}/{}", self.port, self.name).parse().unwrap()
    }

    pub fn url(&self) -> StoreUrl {
        self.url_of("postgres")
    }

    pub fn store(&self, name: &str) -> Store {
        Store::connect(&self.url(), name, Stop::new()).unwrap()
    }

    /// Makes a writer that has made the schema and taken over.
    pub fn writer(&self, name: &str) -> Writer {
        let mut store = self.store(name);
        // The database may not have noticed the end of the writer before.
        store.wait_for_lock().unwrap();
        store.migrate().unwrap();
        store.take_over().unwrap()
    }

    /// Gives an empty market parts of this many ids.
    pub fn with_small_parts(&self, ids: u64) {
        self.with_parts(ids, ids);
    }

    /// Gives an empty market a first part of orders with `orders` ids, and all others with `ids`.
    pub fn with_parts(&self, orders: u64, ids: u64) {
        self.store("parts").migrate().unwrap();
        let mut sql = String::from("SET pricetime.server = 'on';");
        for (whole, ids) in [("orders", orders), ("cancellations", orders), ("executions", ids)] {
            sql += &format!(
                "ALTER TABLE pricetime.{whole} DETACH PARTITION pricetime.{whole}_1;
                 ALTER TABLE pricetime.{whole} ATTACH PARTITION pricetime.{whole}_1 FOR VALUES FROM (MINVALUE) TO ({0});
                 UPDATE pricetime.parts SET ends = {0} WHERE rows_of = '{whole}';",
                ids + 1
            );
        }
        self.sql(&format!("{sql} UPDATE pricetime.kept SET part_ids = {ids}"));
        self.sql("RESET pricetime.server");
    }

    /// Runs SQL like a psql user; returns the rows with their values joined by bars, and null as an empty text.
    pub fn try_sql(&self, sql: &str) -> Result<Vec<String>, tokio_postgres::Error> {
        let mut client = self.client.lock().unwrap();
        self.runtime.block_on(async {
            // The tests end servers, so a connection may be broken; then a new one asks again.
            let messages = match client.simple_query(sql).await {
                Err(error) if error.is_closed() || error.code() == Some(&SqlState::ADMIN_SHUTDOWN) => {
                    *client = connect(self.port, &self.name).await?;
                    client.simple_query(sql).await?
                }
                other => other?,
            };
            let rows = messages.iter().filter_map(|message| {
                let SimpleQueryMessage::Row(row) = message else { return None };
                Some(row)
            });
            let values = |row: &SimpleQueryRow| {
                let values: Vec<&str> = (0..row.len()).map(|at| row.get(at).unwrap_or_default()).collect();
                values.join("|")
            };
            Ok(rows.map(values).collect())
        })
    }

    /// Runs SQL that must succeed.
    pub fn sql(&self, sql: &str) -> Vec<String> {
        self.try_sql(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    /// Returns the message of refused SQL.
    pub fn refusal(&self, sql: &str) -> String {
        self.try_sql(sql).expect_err(sql).as_db_error().expect("the database's word").message().to_owned()
    }

    /// Ends the session of the server that has the lock, like an operator, or a network that fails.
    pub fn end_the_writer(&self) {
        self.sql(
            "SELECT pg_terminate_backend(l.pid, 60000) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted
             AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        );
    }

    /// Ends the processes behind the connections of servers, and waits until they are gone.
    pub fn end_connections(&self, purpose: &str) -> usize {
        self.sql(&format!(
            "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name LIKE 'pricetime {purpose}%'"
        ))
        .len()
    }
}

/// The processes that another one has started.
fn children_of(process: &str) -> Vec<String> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let ids = all.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| name.parse::<u32>().is_ok());
    ids.filter(|id| parent_of(id).as_deref() == Some(process)).collect()
}

/// The parent of a process. None when the process is gone, or nobody has asked yet how it ended.
fn parent_of(process: &str) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = stat.rsplit(')').next()?.split_whitespace();
    fields.next().filter(|state| *state != "Z")?;
    fields.next().map(str::to_owned)
}

fn new_folder() -> PathBuf {
    let folder = tempfile::Builder::new().prefix("store-test-").tempdir().unwrap().keep();
    give_away(&folder);
    folder
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

async fn connect(port: u16, database: &str) -> Result<Client, tokio_postgres::Error> {
    let settings = format!("host=127.0.0.1 port={port} user=postgres dbname={database} connect_timeout=5");
    let (client, connection) = tokio_postgres::connect(&settings, NoTls).await?;
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

/// The path of a PostgreSQL program: on the PATH, or where Debian and others put them, the newest version.
fn program(name: &str) -> PathBuf {
    let on_path =
        std::env::var_os("PATH").into_iter().flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>());
    let mut folders: Vec<PathBuf> = on_path.collect();
    for parent in ["/usr/lib/postgresql", "/usr/local/lib/postgresql", "/opt/homebrew/opt"] {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        let mut versions: Vec<PathBuf> = entries.map(|entry| entry.path().join("bin")).collect();
        versions.sort_by_key(|path| {
            let version = path.parent().and_then(|parent| parent.file_name()).unwrap_or_default();
            std::cmp::Reverse(version.to_string_lossy().parse::<u32>().unwrap_or(0))
        });
        folders.extend(versions);
    }
    folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file()).expect(MISSING)
}

/// The user as whom PostgreSQL runs when the tests run as root.
fn other_user() -> Option<&'static str> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap();
    let known =
        ["postgres", "nobody"].into_iter().find(|user| users.lines().any(|line| line.starts_with(&format!("{user}:"))));
    Some(known.expect("these tests run as root and need a user postgres or nobody to run PostgreSQL as"))
}

fn as_other_user(program: &Path) -> Command {
    match other_user() {
        None => Command::new(program),
        Some(user) => {
            let mut command = Command::new("setpriv");
            command.arg(format!("--reuid={user}")).args(["--clear-groups", "--"]).arg(program);
            command
        }
    }
}

/// Gives a file or folder to the server's user.
pub fn give_away(folder: &Path) {
    if let Some(user) = other_user() {
        assert!(Command::new("chown").arg(user).arg(folder).status().unwrap().success());
    }
}
