//! Kills the server at random moments, again and again on one data folder, and compares everything that it ever
//! acknowledged with what the restarted server says. `proof/crash` runs the same for longer.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::audit::{KnownOrders, audit};
use crate::common::folder::Folder;
use crate::common::server::{Launch, Server, state_of};
use crate::common::trader::Trader;
use model::workload::Random;

const TRADERS: usize = 4;
/// Settings that make the server close journal files, take snapshots and remove journal files all the time.
const SMALL: &str = "--segment-size 256KiB --snapshot-every 2000 --disk-low 0";
/// The number of done orders of each trader that are queried after each kill. After the last one all of them are
/// queried.
const SAMPLE: usize = 300;

/// The events of a run of kills.
#[derive(Debug, Default)]
struct Report {
    kills: usize,
    kills_recovering: usize,
    kills_in_snapshots: usize,
    applied: usize,
    not_applied: usize,
    recoveries: Vec<Duration>,
    /// The names of the snapshots that were seen, and of the first journal files.
    snapshots: BTreeSet<String>,
    oldest_segments: BTreeSet<String>,
}

impl Report {
    /// Whether snapshots were taken and journal files removed.
    fn saw_enough(&self) -> bool {
        self.snapshots.len() >= 2 && self.oldest_segments.len() >= 2
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled_however_often_the_server_is_killed() {
    let kills = number("PRICETIME_KILLS", 20) as usize;
    let report = kill_again_and_again(SMALL, kills, number("PRICETIME_SEED", u64::from(std::process::id())));
    assert!(report.saw_enough() || kills < 20, "no snapshots taken or no journal files retired: {report:?}");
}

/// A crash of the machine may lose acknowledged commands if there are no syncs, but a crash of the server alone may
/// not.
#[test]
fn what_is_only_written_survives_a_crash_of_the_server() {
    kill_again_and_again(
        &format!("{SMALL} --durability written"),
        5,
        number("PRICETIME_SEED", u64::from(std::process::id())),
    );
}

/// The loop of kills on one data folder. It takes longer on a busy machine, where snapshots take longer. Panics at the
/// first difference from what was acknowledged.
fn kill_again_and_again(arguments: &str, kills: usize, seed: u64) -> Report {
    println!("seed {seed} (PRICETIME_SEED={seed} runs the same)");
    let folder = Folder::new("crash");
    let launch = Launch::new(&folder.data()).with(arguments);
    let mut random = Random::new(seed);
    let mut traders: Vec<Trader> = (0..TRADERS).map(|index| Trader::new(index, seed)).collect();
    let mut known = KnownOrders::default();
    let mut report = Report::default();

    let mut server = launch.start();
    traders.iter_mut().for_each(|trader| trader.open_accounts(server.xml));
    while report.kills < kills || (kills >= 20 && report.kills < 5 * kills && !report.saw_enough()) {
        kill_under_load(server, &mut traders, &mut random, &folder.data(), &mut report);
        kill_while_recovering(&launch, &mut random, &mut report);
        note_files(&folder.data(), &mut report);
        let left = state_of(&folder.data());
        server = launch.start();
        report.recoveries.push(server.started_in);
        assert_eq!(server.state()["state_hash"], left["state_hash"], "a recovery changed the state");
        let sample = if report.kills < kills { SAMPLE } else { usize::MAX };
        let unanswered = audit(&server, &mut traders, &mut known, sample, random.any());
        report.applied += unanswered.applied;
        report.not_applied += unanswered.not_applied;
        if report.recoveries.len().is_multiple_of(50) {
            eprintln!("{} kills so far", report.kills);
        }
    }
    server.stop();
    print_report(&mut report, &traders);
    report
}

/// Lets all traders trade and kills the server at a random moment, now and then while it writes a snapshot.
fn kill_under_load(mut server: Server, traders: &mut [Trader], random: &mut Random, data: &Path, report: &mut Report) {
    // Mostly the kill comes soon. Sometimes it comes late enough for a snapshot and for the removal of journal files.
    let longest_us = if random.percent(30) { 1_000_000 } else { 150_000 };
    let moment = Duration::from_micros(random.below(longest_us) as u64);
    let in_snapshot = random.percent(25);
    let lateness = Duration::from_micros(random.below(3_000) as u64);
    std::thread::scope(|scope| {
        for trader in traders.iter_mut() {
            let xml = server.xml;
            scope.spawn(move || trader.trade(xml, usize::MAX));
        }
        let started = Instant::now();
        let mut seen = false;
        // The moment of the kill is drawn, so the test awaits no condition. It does not wait for a snapshot that never
        // begins.
        while started.elapsed() < moment || (in_snapshot && !seen && started.elapsed() < Duration::from_secs(2)) {
            if in_snapshot {
                seen = seen || snapshot_is_being_written(data);
                if seen {
                    std::thread::sleep(lateness);
                    break;
                }
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        report.kills_in_snapshots += usize::from(seen);
        server.process.kill();
    });
    report.kills += 1;
}

/// Starts the server and kills it before it is ready, up to three times.
fn kill_while_recovering(launch: &Launch, random: &mut Random, report: &mut Report) {
    while random.percent(25) {
        let mut process = launch.spawn();
        std::thread::sleep(Duration::from_micros(random.below(25_000) as u64));
        process.kill();
        report.kills += 1;
        report.kills_recovering += 1;
    }
}

fn names(data: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(data).unwrap();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn snapshot_is_being_written(data: &Path) -> bool {
    names(data).iter().any(|name| name.contains("snapshot") && name.ends_with(".tmp"))
}

fn note_files(data: &Path, report: &mut Report) {
    let names = names(data);
    let whole = || names.iter().filter(|name| !name.ends_with(".tmp"));
    report.snapshots.extend(whole().filter(|name| name.contains("snapshot")).cloned());
    report.oldest_segments.extend(whole().find(|name| name.contains("journal")).cloned());
}

fn print_report(report: &mut Report, traders: &[Trader]) {
    report.recoveries.sort();
    let nth = |percent: usize| report.recoveries[(report.recoveries.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    let acknowledged: u64 = traders.iter().map(|trader| trader.acknowledged).sum();
    let orders: usize = traders.iter().map(|trader| trader.live.len() + trader.done.len()).sum();
    println!(
        "kills {} ({} while recovering, {} while writing a snapshot), acknowledged commands {acknowledged} ({orders} \
         orders), lost 0, duplicated 0, unanswered requests {} there and {} not there, each whole; snapshots seen {}, \
         oldest journal files seen {}; start to ready ms: p50 {:.1}, p99 {:.1}, longest {:.1}",
        report.kills,
        report.kills_recovering,
        report.kills_in_snapshots,
        report.applied,
        report.not_applied,
        report.snapshots.len(),
        report.oldest_segments.len(),
        nth(50),
        nth(99),
        nth(100),
    );
}
