//! An archive with a bit flipped, anywhere in its file: it is refused by name when it is opened, or every order that is asked for is
//! the true one or named as damaged, and asking takes nothing from whoever stores.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::process::Command;

use engine::{AccountId, Cancellation, DoneOrder, Execution, OrderId, Price, Sequence, Shares, Time};
use journal::simulated::SimulatedDisk;
use journal::{ARCHIVE_NAME, Archive, ArchiveBatch, ArchiveError, File, Storage};

/// So many orders take rows of two leaves, with a branch above them.
const ORDERS: u64 = 300;
/// Of the bytes that are zero every so many are looked at: most lie in pages that nothing leads to.
const ZEROS_APART: usize = 509;

fn done(order: u64) -> DoneOrder {
    let shares = Shares::from_units(1 + order as i64).unwrap();
    let price = Price::from_units(1 + order as i64 * 7).unwrap();
    let execution = |time| Execution { shares, price, time: Time(order + time) };
    DoneOrder {
        order: OrderId(order),
        account: AccountId::parse(format!("{order:05}").as_bytes()).unwrap(),
        canceled: order.is_multiple_of(3).then_some(Cancellation { shares, time: Time(order) }),
        // One of them has a row to itself.
        executions: (0..if order == 7 { 400 } else { order % 4 }).map(execution).collect(),
    }
}

fn store(archive: &Archive, orders: std::ops::Range<u64>) {
    let mut batch = ArchiveBatch::new();
    orders.clone().for_each(|order| batch.push(&done(order)));
    archive.store(&batch, Sequence(orders.end), true).unwrap();
}

/// Silent about redb's panics, of which there are thousands.
fn quiet() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|location| location.file().contains("redb")) {
            report(panic);
        }
    }));
}

/// Opens a damaged archive and asks for everything. Says where it is, for whoever reads it up to an end of the process.
fn check(changed: &SimulatedDisk, at: usize) {
    println!("@ {at} opening");
    let archive = match Archive::open(changed) {
        Ok(archive) => archive,
        Err(error) => {
            assert!(matches!(error, ArchiveError::Damaged { .. }), "byte {at}: {error}");
            assert!(error.to_string().contains(ARCHIVE_NAME), "byte {at}: {error}");
            println!("@ {at} refused");
            return;
        }
    };
    println!("@ {at} asking");
    let told = ask(&archive, at);
    // Whoever asked has changed nothing for those who ask next, nor for who stores: redb takes nothing after a failed read.
    assert_eq!(ask(&archive, at), told, "byte {at}, asked again");
    println!("@ {at} closing");
    drop(archive);
    for (what, word) in [(Told::Named, "named"), (Told::Missing, "missing")] {
        if told.contains(&what) {
            println!("@ {at} {word}");
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    True,
    Missing,
    Named,
}

fn ask(archive: &Archive, at: usize) -> Vec<Told> {
    let tell = |order| match archive.get(OrderId(order)) {
        Ok(Some(found)) => {
            assert_eq!(found, done(order), "byte {at}");
            Told::True
        }
        Ok(None) => Told::Missing,
        Err(error) => {
            assert!(error.to_string().contains(ARCHIVE_NAME), "byte {at}: {error}");
            Told::Named
        }
    };
    (1..=ORDERS).step_by(13).chain([7, ORDERS]).map(tell).collect()
}

/// redb takes no operation after a read that failed: one client's question once kept everybody's answers away, and the writer's too.
#[test]
fn a_question_that_cannot_be_read_takes_nothing_from_others() {
    quiet();
    let (disk, _) = archive();
    let archive = Archive::open(&disk).unwrap();
    for first in (10_000..40_000).step_by(1000) {
        store(&archive, first..first + 1000);
    }
    drop(archive);
    let archive = Archive::open(&disk).unwrap();
    assert_eq!(archive.get(OrderId(20_000)).unwrap(), Some(done(20_000)));
    // Of what was not read yet, and lies behind what was, the file has nothing any more.
    let file = disk.open(ARCHIVE_NAME).unwrap();
    let contents = disk.contents(ARCHIVE_NAME);
    file.set_len(contents.len() as u64 / 4).unwrap();
    let lost = (10_000..30_000).find(|order| archive.get(OrderId(*order)).is_err());
    assert!(lost.is_some(), "the file was cut");
    file.write_all_at(&contents, 0).unwrap();
    assert_eq!(archive.get(OrderId(20_000)).unwrap(), Some(done(20_000)));
    store(&archive, 50_000..50_001);
    assert_eq!(archive.get(OrderId(50_000)).unwrap(), Some(done(50_000)));
}

/// An archive of a few pages, and the bytes of it that are changed, each once.
fn archive() -> (SimulatedDisk, Vec<usize>) {
    let disk = SimulatedDisk::new();
    let archive = Archive::open(&disk).unwrap();
    for first in (1..=ORDERS).step_by(60) {
        store(&archive, first..first + 60);
    }
    drop(archive);
    let contents = disk.contents(ARCHIVE_NAME);
    let bytes = (0..contents.len()).filter(|&at| contents[at] != 0 || at.is_multiple_of(ZEROS_APART)).collect();
    (disk, bytes)
}

/// The bytes from this one on, in a process of its own.
const FROM: &str = "ARCHIVE_DAMAGE_FROM";

/// redb panics twice at some damage, which ends a process, whoever would catch it: so this test is the one that starts such, and
/// such a one. A server says what to do before it ends (`serve.rs`). It may end when it opens or closes the archive, never
/// because somebody asks.
#[test]
fn every_flipped_bit_is_refused_or_named_or_harmless() {
    let (disk, bytes) = archive();
    if let Ok(from) = std::env::var(FROM) {
        quiet();
        let from: usize = from.parse().unwrap();
        for &at in bytes.iter().filter(|at| **at >= from) {
            let changed = disk.copy();
            changed.flip_bit(ARCHIVE_NAME, at * 8 + at % 8);
            check(&changed, at);
        }
        println!("@ {} finished", disk.contents(ARCHIVE_NAME).len());
        return;
    }
    let (mut from, mut ended) = (0, BTreeMap::<String, u64>::new());
    while from < disk.contents(ARCHIVE_NAME).len() {
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "every_flipped_bit_is_refused_or_named_or_harmless", "--nocapture"])
            .env(FROM, from.to_string())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let words: Vec<&str> = text.lines().filter_map(|line| line.split_once("@ ").map(|(_, words)| words)).collect();
        for word in words.iter().filter_map(|words| words.split_once(' ').map(|(_, word)| word)) {
            *ended.entry(word.to_owned()).or_default() += 1;
        }
        let (at, phase) = words.last().and_then(|words| words.split_once(' ')).expect("a process says where it is");
        let panic = String::from_utf8_lossy(&output.stderr);
        let twice = panic.contains("panic in a destructor during cleanup");
        match phase {
            "finished" => assert!(output.status.success(), "{panic}"),
            "opening" | "closing" => assert!(twice, "{phase} with byte {at} changed: {panic}"),
            other => panic!("{other} with byte {at} changed: {panic}"),
        }
        from = at.parse::<usize>().unwrap() + 1;
    }
    println!("{} bytes changed, one at a time: {ended:?}", bytes.len());
    assert!(ended["refused"] > 0 && ended["named"] > 0, "bits that matter were looked at");
}
