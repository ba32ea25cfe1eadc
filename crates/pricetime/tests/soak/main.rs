//! Everything at once: orders of all kinds over all protocols, clients that come, go, break off and do not read, and
//! kills of the server, beside callers whose every answer is checked. Nothing acknowledged may be lost, answers must be
//! those of one market, and the server's memory and descriptors must not grow. `proof/soak` runs it for long.
//! Not quick: half a minute.
#![allow(clippy::unwrap_used, clippy::arithmetic_side_effects, clippy::wildcard_enum_match_arm)]

#[path = "../linearizable/account.rs"]
mod account;
#[path = "../linearizable/clients.rs"]
mod clients;
#[path = "../common/mod.rs"]
mod common;
mod drivers;
mod report;

use std::process::Command;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use account::Account;
use clients::{Caller, Stage, Target, lock};
use common::audit::statuses;
use common::checker::is_linearizable;
use common::folder::Folder;
use common::keys::KeyFile;
use common::server::{Launch, PATIENCE, Server};
use common::wait::wait_until;
use drivers::{Addresses, DRIVERS, Shared};
use model::workload::Random;
use report::{Report, Sample};

/// The callers whose answers are checked; the first half changes things.
const CALLERS: usize = 4;
/// The calls of the callers in a second that there are accounts for: a caller rests 2 ms on average behind each call.
const CALLS_A_SECOND: usize = CALLERS * 500;
/// The acknowledged orders that are looked for after each kill.
const LOOKED_FOR: usize = 300;
/// The longest time between two kills, in milliseconds.
const UNTIL_KILL_MS: usize = 12_000;
const BETWEEN_SAMPLES: Duration = Duration::from_millis(500);

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn target(server: &Server) -> Target {
    Target { xml: server.xml, http: server.http }
}

/// A soak under way.
struct Soak<'a> {
    stage: &'a Stage,
    shared: &'a Shared,
    launch: &'a Launch,
    server: Option<Server>,
    random: Random,
    report: Report,
}

impl Soak<'_> {
    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// Lets all go on until this time has passed since the beginning. In the first half the server is killed again and
    /// again; in the second half it is one process, so that it can be seen whether it grows.
    fn go_on(&mut self, whole: Duration) {
        let began = Instant::now();
        let mut next_kill = Duration::from_millis(2_000);
        while began.elapsed() < whole {
            std::thread::sleep(BETWEEN_SAMPLES);
            let elapsed = began.elapsed();
            let kills = elapsed < whole / 2;
            if kills && elapsed >= next_kill {
                self.kill();
                next_kill = began.elapsed() + Duration::from_millis(1_000 + self.random.below(UNTIL_KILL_MS) as u64);
            }
            let process = &self.server().process;
            let sample = Sample {
                at: began.elapsed(),
                rss_kib: process.rss_kib(),
                descriptors: process.open_files(),
                is_of_one_process: !kills,
                client_ids: self.shared.client_ids(),
            };
            let done = self.shared.done().chain([("checked calls", self.stage.calls() as u64)]).collect();
            self.report.note(sample, done);
        }
    }

    /// Kills the server and starts it again. What was acknowledged is there.
    fn kill(&mut self) {
        *lock(&self.shared.addresses) = None;
        self.server.take().unwrap().kill();
        self.report.kills += 1;
        let server = self.launch.start();
        self.look_for(&server, LOOKED_FOR);
        *lock(&self.stage.targets) = vec![target(&server)];
        *lock(&self.shared.addresses) = Some(Addresses::of(&server));
        self.server = Some(server);
    }

    /// Looks for so many of the acknowledged orders; each must be known.
    fn look_for(&mut self, server: &Server, most: usize) {
        let acknowledged = lock(&self.shared.acknowledged);
        for (account, ids) in acknowledged.iter() {
            let mut wanted: Vec<u64> = match ids.len() <= most {
                true => ids.clone(),
                false => (0..most).map(|_| ids[self.random.below(ids.len())]).collect(),
            };
            // The last ones are the likeliest to be lost.
            wanted.extend(ids.iter().rev().take(50));
            let told = statuses(&mut server.client(), account, &wanted);
            let lost: Vec<u64> =
                wanted.iter().zip(&told).filter(|(_, told)| told.is_none()).map(|(id, _)| *id).collect();
            assert!(lost.is_empty(), "acknowledged orders of account {account} are lost: {lost:?}");
            self.report.looked_for += wanted.len();
        }
    }
}

#[test]
fn everything_at_once_for_a_while_loses_nothing_and_grows_by_nothing() {
    let whole = Duration::from_secs(number("PRICETIME_SOAK_SECONDS", 20));
    let seed = number("PRICETIME_SEED", u64::from(std::process::id()));
    println!("seed {seed}");
    let accounts = 1 + whole.as_secs() as usize * CALLS_A_SECOND / clients::CALLS;
    let folder = Folder::new("soak");
    let keys = KeyFile::of_account(&folder, drivers::BINANCE_ACCOUNT);
    let calendar = folder.path().join("calendar");
    std::fs::write(&calendar, "23:59:59 * day-ends\n").unwrap();
    let settings = "--fix 127.0.0.1:0 --disk-low 0 --segment-size 1MiB --snapshot-every 20000 --log-level warn";
    let launch = keys.launch(&folder).with(settings).with(&format!("--calendar {}", calendar.display()));
    let server = launch.start();
    for request in Stage::creation(accounts).into_iter().chain([drivers::creation()]) {
        let created = server.ask(&request);
        assert!(!created.contains("<error"), "{created:.500}");
    }
    let fresh = server.process.open_files();
    let stage = Stage::new(target(&server), accounts);
    let shared = Shared::new(Addresses::of(&server), keys);
    let mut random = Random::new(seed);
    let seeds: Vec<u64> = (0..CALLERS + DRIVERS.len()).map(|_| random.any()).collect();
    let mut soak = Soak {
        stage: &stage,
        shared: &shared,
        launch: &launch,
        server: Some(server),
        random,
        report: Report::default(),
    };
    std::thread::scope(|scope| {
        let (stage, shared) = (&stage, &shared);
        for (at, seed) in seeds.iter().enumerate() {
            match at.checked_sub(CALLERS) {
                None => drop(scope.spawn(move || Caller::new(stage, *seed, at < CALLERS / 2).run())),
                Some(at) => drop(scope.spawn(move || drivers::drive(shared, at, *seed))),
            }
        }
        // All end also when this panics.
        let _ends = (stage.ending(), shared.ending());
        soak.go_on(whole);
    });
    finish(soak, &folder, fresh, seed);
}

/// Checks what is left when all clients have gone, and once more after a last kill.
fn finish(mut soak: Soak, folder: &Folder, fresh: usize, seed: u64) {
    wait_until("the clients' descriptors to be given back", PATIENCE, || {
        soak.server().process.open_files() <= fresh + report::FILES_MAX
    });
    soak.kill();
    let server = soak.server.take().unwrap();
    soak.look_for(&server, usize::MAX);
    let ended = server.stop();
    assert!(ended.status.success(), "{ended:?}");
    let verified = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("verify").arg(folder.data()).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
    let (mut calls, mut open) = (0, 0);
    for (account, history) in soak.stage.history() {
        calls += history.len();
        open += history.iter().filter(|call| call.told.is_none()).count();
        assert!(is_linearizable(&Account::default(), &history), "seed {seed}, account {}: {history:?}", account + 1);
    }
    assert!(calls < soak.stage.calls_max(), "the callers had no accounts left, so the last answers were not checked");
    println!("{}", soak.report);
    println!(
        "checked calls {calls}, of which {open} got no answer: each answer is one that a single market would give"
    );
    println!("acknowledged orders looked for {}, lost 0; the folder is whole", soak.report.looked_for);
    let refused = soak.shared.refused.load(Ordering::Relaxed);
    println!("requests without an answer, because the server was killed: {refused}");
    soak.report.judge();
    println!("memory and descriptors did not grow: the soak is passed");
}
