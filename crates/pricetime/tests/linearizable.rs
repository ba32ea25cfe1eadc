//! Two servers on one database take over from each other while clients ask both: every answer, of either server and
//! over any interface, to a query or a change, is one that a single market which does one thing after the other could
//! have given.
//! Not quick: needs PostgreSQL.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::wildcard_enum_match_arm)]

#[path = "linearizable/account.rs"]
mod account;
#[path = "linearizable/clients.rs"]
mod clients;
mod common;
#[path = "../../store/tests/common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use common::port;

use std::time::Duration;

use account::{Account, AccountCall, Asked, Order, Told};
use clients::{Caller, Stage, Target, lock};
use common::checker::{Call, is_linearizable};
use common::client::Client;
use common::folder::Folder;
use common::proxy::{Proxy, Way};
use common::server::{Launch, PATIENCE, Process, Server};
use common::wait::wait_until;
use model::workload::Random;
use postgres::Database;
use rustix::process::Signal;

const CALLERS: usize = 6;
/// The number of accounts that the callers share.
const ACCOUNTS: usize = 8_000;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A server, with a proxy of its own between it and the database.
struct Running {
    server: Server,
    way: Proxy,
}

/// The server that has the market, and the one that takes over.
struct Pair<'a> {
    stage: &'a Stage,
    database: &'a Database,
    folder: &'a Folder,
    active: Running,
    /// The standby. None once it serves.
    standby: Option<(Process, Proxy)>,
    /// The standby that serves now, while the active server has not ended yet.
    next: Option<Running>,
    take_overs: usize,
    commits: usize,
}

fn launch(folder: &Folder, database: &Database) -> (Launch, Proxy) {
    let way = Proxy::to(database.port);
    let url = format!("postgres://postgres@127.0.0.1:{}/{}", way.port, database.name);
    (Launch::new(&folder.data()).in_database(&url), way)
}

fn standby(folder: &Folder, database: &Database) -> Option<(Process, Proxy)> {
    let (launch, way) = launch(folder, database);
    Some((launch.with("--standby").spawn(), way))
}

impl Pair<'_> {
    /// Checks whether the standby has taken over.
    fn look(&mut self) {
        if let Some((process, _)) = &mut self.standby
            && process.says_that_it_serves()
            && let Some((process, way)) = self.standby.take()
        {
            let server = process.serving().expect("it said so");
            lock(&self.stage.targets).push(target(&server));
            self.next = Some(Running { server, way });
            self.take_overs += 1;
        }
    }

    /// Waits until it is clear which server has the market: either one has ended, or the standby still waits.
    fn settle(&mut self) {
        wait_until("one server to have the market", PATIENCE, || {
            self.look();
            match &self.next {
                None => self.commits(),
                Some(_) => !self.active.server.process.is_running(),
            }
        });
        if let Some(next) = self.next.take() {
            let ended = std::mem::replace(&mut self.active, next).server.process.wait_for_end(PATIENCE);
            assert!(ended.stderr.contains("took over this database"), "{ended:?}");
            *lock(&self.stage.targets) = vec![target(&self.active.server)];
            self.standby = standby(self.folder, self.database);
        }
    }

    /// Whether the active server commits a change.
    fn commits(&mut self) -> bool {
        self.commits += 1;
        let request = format!("<create><account id=\"{}\" balance=\"1\"/></create>", ACCOUNTS + self.commits);
        // The server may end at any time.
        let Ok(mut client) = Client::connect(self.active.server.xml, PATIENCE) else { return false };
        client.send_request(&request).is_ok() && client.reply().is_ok_and(|reply| reply.contains("<created"))
    }

    /// Lets something go wrong with the active server.
    fn disturb(&mut self, round: usize, random: &mut Random) {
        let moment = Duration::from_micros(random.below(400_000) as u64);
        match round % 4 {
            0 => self.database.end_the_writer(),
            // For a while, or until the other server has the market, it does not notice.
            1 | 2 => {
                self.active.server.process.signal(Signal::STOP);
                self.database.end_the_writer();
                match round % 2 {
                    0 => self.wait_for_next(),
                    _ => std::thread::sleep(moment),
                }
                self.active.server.process.signal(Signal::CONT);
            }
            // It notices that it cannot know whether the market is still its own.
            _ => {
                self.active.way.hold(Way::Out);
                self.database.end_the_writer();
                self.wait_for_next();
                std::thread::sleep(moment);
                self.active.way.release();
            }
        }
    }

    fn wait_for_next(&mut self) {
        wait_until("the standby to take over", PATIENCE, || {
            self.look();
            self.next.is_some()
        });
    }
}

fn target(server: &Server) -> Target {
    Target { xml: server.xml, http: server.http }
}

#[test]
fn whatever_two_servers_answer_is_what_one_would_have() {
    let rounds = usize::try_from(number("PRICETIME_ROUNDS", 8)).unwrap();
    let seed = number("PRICETIME_SEED", u64::from(std::process::id()));
    println!("seed {seed}");
    let (folder, database) = (Folder::new("linearizable"), postgres::database());
    let (launch, way) = launch(&folder, &database);
    let server = launch.start();
    for request in Stage::creation(ACCOUNTS) {
        let created = server.ask(&request);
        assert!(!created.contains("<error"), "{created:.500}");
    }
    let stage = Stage::new(target(&server), ACCOUNTS);
    let mut random = Random::new(seed);
    let mut pair = Pair {
        stage: &stage,
        database: &database,
        folder: &folder,
        active: Running { server, way },
        standby: standby(&folder, &database),
        next: None,
        take_overs: 0,
        commits: 0,
    };
    std::thread::scope(|scope| {
        for caller in 0..CALLERS {
            let seed = random.any();
            let caller = Caller::new(&stage, seed, caller < CALLERS / 2);
            scope.spawn(move || caller.run());
        }
        // The callers end also when this panics.
        let _end = stage.ending();
        for round in 0..rounds {
            std::thread::sleep(Duration::from_millis(random.below(300) as u64));
            pair.disturb(round, &mut random);
            pair.settle();
        }
    });
    assert!(pair.take_overs >= rounds / 4 * 2, "{} take-overs", pair.take_overs);
    let (mut calls, mut open) = (0, 0);
    for (account, history) in stage.history() {
        calls += history.len();
        open += history.iter().filter(|call| call.told.is_none()).count();
        let account = account + 1;
        assert!(is_linearizable(&Account::default(), &history), "seed {seed}, account {account}: {}", shown(history));
    }
    println!("{} take-overs, {calls} calls, of {open} nobody knows what came", pair.take_overs);
}

/// A history in a form that a person can follow.
fn shown(mut history: Vec<AccountCall>) -> String {
    history.sort_by_key(|call| call.from);
    let line = |Call { asked, from, told }: &AccountCall| match told {
        Some((told, at)) => format!("\n{:>12} to {:>12} us  {asked:?}: {told:?}", from / 1000, at / 1000),
        None => format!("\n{:>12} to {:>12} us  {asked:?}", from / 1000, "?"),
    };
    history.iter().map(line).collect()
}

fn call(asked: Asked, from: u64, told: Told, at: u64) -> AccountCall {
    Call { asked, from, told: Some((told, at)) }
}

/// The checker must be able to fail: such an answer comes from a server that was replaced and does not know it.
#[test]
fn an_answer_that_is_older_than_one_before_it_is_found() {
    let placed = call(Asked::Place(0), 0, Told::Placed, 10);
    let canceled = call(Asked::Cancel(0), 20, Told::Canceled, 30);
    let looked = |from, told| call(Asked::Look(0), from, told, from + 10);
    let stale = Told::Is(Order::Open);
    let check = |calls: &[AccountCall]| is_linearizable(&Account::default(), calls);
    assert!(check(&[placed.clone(), canceled.clone(), looked(40, Told::Is(Order::Canceled))]));
    assert!(!check(&[placed.clone(), canceled.clone(), looked(40, stale)]), "it was canceled before anybody asked");
    assert!(check(&[placed.clone(), canceled.clone(), looked(25, stale)]), "it was asked while it was being canceled");
    assert!(!check(&[placed.clone(), canceled.clone(), call(Asked::LookAtAll, 40, Told::Open(1), 50)]));
    let back = [looked(21, Told::Is(Order::Canceled)), looked(32, stale)];
    assert!(!check(&[&[placed.clone(), canceled][..], &back].concat()), "nobody sees time go back");
    // Nobody knows when a call without an answer takes effect, but once its effect has been seen it stays.
    let unknown = Call { asked: Asked::Cancel(0), from: 20, told: None };
    assert!(check(&[placed.clone(), unknown.clone(), looked(90, stale)]));
    assert!(check(&[placed.clone(), unknown.clone(), looked(90, Told::Is(Order::Canceled))]));
    assert!(!check(&[placed.clone(), unknown, looked(40, Told::Is(Order::Canceled)), looked(60, stale)]));
    assert!(!check(&[placed.clone(), looked(40, Told::Is(Order::Canceled))]), "nobody canceled it");
    assert!(!check(&[placed.clone(), placed, call(Asked::Cancel(1), 40, Told::Canceled, 50)]), "it is another order");
}

/// A server that forgets an acknowledged order, with many calls at once.
#[test]
fn a_lost_order_is_found_among_many_calls_at_once() {
    let mut calls: Vec<AccountCall> =
        (0..60).map(|at| call(Asked::Place(at % 3), at as u64, Told::Placed, 1_000)).collect();
    calls.extend((0..30).map(|at| call(Asked::LookAtAll, 1_001 + at, Told::Open(7), 1_500)));
    assert!(is_linearizable(&Account::default(), &calls));
    calls.push(call(Asked::LookAtAll, 1_100, Told::Open(5), 1_600));
    assert!(!is_linearizable(&Account::default(), &calls));
}
