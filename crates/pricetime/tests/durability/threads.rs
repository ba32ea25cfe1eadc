//! The server's threads: a panic in one of them ends the server, and the sequencer waits for a slow history.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::server::PATIENCE;
use crate::common::wait::wait_until;
use exchange::containment::{Part, contain, serve_sessions};
use exchange::{Batch, EventFork, Exchange, Metrics};
use history::{History, Keeper};
use journal::{Disk, DiskFile, File, Options, Storage};
use market::admission::Bounds;
use market::apply::AnswerLimits;
use market::calendar::Calendar;
use market::follower::Follower;
use market::recovery;
use market::timekeeper::Clock;
use market::turn::TurnOptions;
use market::{Market, MarketOptions};
use pricetime::serve;
use pricetime::settings::{GivenSettings, ServeArgs};
use xml::{Documents, Limits};

/// Environment variable by which the test tells its child process where the server keeps its data.
const DATA: &str = "PANICKING_SERVER_DATA";
const CONTAINS: &str = "CONTAINING_PROCESS";

/// Otherwise a server whose history thread has ended, for example, would go on acknowledging commands.
#[test]
fn a_panic_in_any_thread_ends_the_server() {
    let folder = Folder::new("panic");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "threads::a_server_with_a_thread_that_panics_runs_here_when_told_so", "--nocapture"])
        .env(DATA, folder.data())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("this thread panics on purpose"), "{stderr}");
    assert_eq!(output.status.signal(), Some(6), "the process aborts: {output:?}");
    assert!(stderr.contains("this is a fault of the server, which stops"), "{stderr}");
}

#[test]
fn a_server_with_a_thread_that_panics_runs_here_when_told_so() {
    let Some(data) = std::env::var_os(DATA).map(PathBuf::from) else { return };
    let free = Some(([127, 0, 0, 1], 0).into());
    let given = GivenSettings { data: Some(data.clone()), xml: free, http: free, ..GivenSettings::default() };
    let args = ServeArgs { given, ..ServeArgs::default() };
    std::thread::spawn(move || serve::run(&args).map(|_: ExitCode| ()));
    wait_until("the server to have its journal", PATIENCE, || data.join("journal-00000000000000000001.log").exists());
    let panicked = std::thread::spawn(|| panic!("this thread panics on purpose")).join();
    assert!(panicked.is_err());
    std::process::exit(0);
}

/// A panic in code that runs for one client once ended the process, and all other clients with it.
#[test]
fn a_panic_in_what_runs_for_one_client_ends_nothing_else() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "threads::a_process_that_contains_panics_runs_here_when_told_so", "--nocapture"])
        .env(CONTAINS, "yes")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_process_that_contains_panics_runs_here_when_told_so() {
    if std::env::var_os(CONTAINS).is_none() {
        return;
    }
    serve::abort_on_panic();
    let of_request = contain(Part::Xml, || panic!("this request panics on purpose"));
    assert!(
        of_request.is_err_and(|panicked| panicked.what.contains("threads.rs") && panicked.what.contains("on purpose"))
    );
    let served = std::thread::spawn(|| {
        serve_sessions(Part::Fix, || {
            let session = std::panic::catch_unwind(|| panic!("this session panics on purpose"));
            assert!(session.is_err(), "as a runtime catches it");
            7
        })
    });
    assert_eq!(served.join().unwrap(), 7);
    assert_eq!([Part::Xml, Part::Fix, Part::Http].map(Part::panics), [1, 1, 0]);
    std::process::exit(0);
}

/// A disk on which the history's files of orders accept no writes while they are held.
#[derive(Clone)]
struct Held {
    disk: Disk,
    hold: Arc<Hold>,
}

#[derive(Debug, Default)]
struct Hold {
    held: Mutex<bool>,
    released: Condvar,
}

impl Hold {
    fn set(&self, held: bool) {
        *self.held.lock().unwrap() = held;
        self.released.notify_all();
    }

    fn wait(&self) {
        drop(self.released.wait_while(self.held.lock().unwrap(), |held| *held).unwrap());
    }
}

#[derive(Debug)]
struct HeldFile {
    file: DiskFile,
    hold: Option<Arc<Hold>>,
}

impl Held {
    fn file(&self, name: &str, file: DiskFile) -> HeldFile {
        HeldFile { file, hold: name.starts_with("orders-").then(|| self.hold.clone()) }
    }
}

impl Storage for Held {
    type File = HeldFile;
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn create(&self, name: &str) -> io::Result<HeldFile> {
        Ok(self.file(name, self.disk.create(name)?))
    }
    fn open(&self, name: &str) -> io::Result<HeldFile> {
        Ok(self.file(name, self.disk.open(name)?))
    }
    fn folder(&self, name: &str) -> io::Result<Held> {
        Ok(Held { disk: self.disk.folder(name)?, hold: self.hold.clone() })
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }
    fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes()
    }
    fn displaced(&self) -> Option<String> {
        self.disk.displaced()
    }
}

impl File for HeldFile {
    fn read_exact_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }
    fn write_all_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.hold.iter().for_each(|hold| hold.wait());
        self.file.write_all_at(bytes, offset)
    }
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn set_len(&self, length: u64) -> io::Result<()> {
        self.file.set_len(length)
    }
    fn allocate(&self, length: u64) -> io::Result<()> {
        self.file.allocate(length)
    }
    fn sync(&self) -> io::Result<()> {
        self.hold.iter().for_each(|hold| hold.wait());
        self.file.sync()
    }
}

/// Hands a request in. Returns the receiver of its answer.
fn ask(exchange: &dyn Exchange, body: &str) -> Receiver<Box<Batch>> {
    let (back, answered) = channel();
    let mut batch = Batch::detached(back);
    let mut documents = Documents::new();
    documents.parse(body.as_bytes(), &Limits { children_max: 1 << 20 });
    assert!(!documents.requests.ops().is_empty(), "{body:.200}");
    batch.requests = documents.requests;
    exchange.submit(batch);
    answered
}

const DONE_AT_ONCE: usize = 10_000;
/// The most events that may wait for the history. An order that is placed and canceled makes four; some more wait in
/// the history's buffers.
const WAITING_MAX: usize = 1 << 20;
const EVENTS_OF_AN_ORDER: usize = 4;

/// A request with orders that are done at once: each is canceled as soon as it is placed. Their ids begin with `first`.
fn done_orders(first: usize) -> String {
    let each = (first..first + DONE_AT_ONCE)
        .map(|id| format!("<order sym=\"S\" amount=\"-1\" limit=\"5\"/><cancel id=\"{id}\"/>"))
        .collect::<String>();
    format!("<transactions id=\"1\">{each}</transactions>")
}

/// Events wait in memory until the history has written them. If their number had no bound, a slow disk would use up all
/// memory.
#[test]
fn the_sequencer_waits_for_a_history_that_is_slow() {
    let folder = Folder::new("slow-history");
    std::fs::create_dir(folder.data()).unwrap();
    let disk = Disk::open(&folder.data()).unwrap();
    let storage = Held { disk: disk.clone(), hold: Arc::default() };
    let mut keeper = None;
    let recovered = recovery::open_followed(&storage, Options::default(), |engine| {
        let history = History::open(&storage, engine)?;
        let started = keeper.insert(Keeper::start(history, |_| {}, |cause| panic!("{cause}"))?);
        Ok(Some(EventFork::to(vec![started.follower()])))
    });
    let (recovered, keeper) = (recovered.unwrap(), keeper.unwrap());
    let checkpoints = keeper.checkpoints();
    let follower = Follower {
        events: EventFork::to(vec![keeper.follower()]),
        checkpoint: Arc::new(move || checkpoints.make(PATIENCE)),
        history: keeper.history(),
    };
    let options = MarketOptions {
        turn: TurnOptions {
            limits: AnswerLimits { request_executions_max: 400_000 },
            bounds: Bounds::NONE,
            metrics: Metrics::new(&[]),
            clock: Clock::system(),
            clock_leap_max: Duration::MAX,
            calendar: Calendar::default(),
            audit: false,
        },
        keep_journal: false,
        snapshot_every: u64::MAX,
        disk_low_bytes: 0,
    };
    let failed = Arc::new(|cause: String| panic!("{cause}"));
    let market = Market::start(storage.clone(), recovered, options, follower, failed).unwrap();
    let exchange = market.exchange();
    let create =
        r#"<create><account id="1" balance="1"/><symbol sym="S"><account id="1">5</account></symbol></create>"#;
    ask(&*exchange, create).recv().unwrap();
    storage.hold.set(true);
    // Some megabytes of orders wait in memory before any are written, and a turn is let in before the sequencer looks
    // how much waits.
    let orders_max = WAITING_MAX / EVENTS_OF_AN_ORDER;
    let (at_least, bound) = (orders_max / DONE_AT_ONCE, 2 * orders_max / DONE_AT_ONCE);
    let mut answered = 0;
    let waiting = loop {
        assert!(answered <= bound, "{answered} times {DONE_AT_ONCE} orders are done, and none is on the disk");
        let reply = ask(&*exchange, &done_orders(1 + answered * DONE_AT_ONCE));
        // At least this many requests are answered, however long that takes. The last one is never answered.
        let patience = if answered < at_least { PATIENCE } else { Duration::from_secs(3) };
        match reply.recv_timeout(patience) {
            Ok(_) => answered += 1,
            Err(_) => break reply,
        }
    };
    assert!(answered >= at_least, "it waits too early, after {answered}");
    storage.hold.set(false);
    waiting.recv_timeout(PATIENCE).unwrap();
    for more in 1..at_least {
        ask(&*exchange, &done_orders(1 + (answered + more) * DONE_AT_ONCE)).recv_timeout(PATIENCE).unwrap();
    }
    drop(exchange);
    market.stop().unwrap();
    keeper.stop().unwrap();
}
