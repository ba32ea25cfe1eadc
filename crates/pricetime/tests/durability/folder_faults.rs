//! Each file of a data folder missing, truncated, emptied, or replaced by another market's: the answers of `pricetime
//! verify` and of a start, and that no intact file is removed because another one is missing.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::load::fill;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::trace::require_strace;
use crate::common::wait::wait_until;

const SMALL: &str = "--segment-size 64KiB --snapshot-every 500";
const MARKET: &str =
    r#"<create><account id="1" balance="1000000"/><symbol sym="S"><account id="1">1000</account></symbol></create>"#;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Missing,
    /// The file without its second half.
    Cut,
    Empty,
    /// The file of another market.
    Foreign,
}

/// The answer: nothing is wrong, or a message with these words.
#[derive(Clone, Copy, Debug)]
enum Says {
    Fine,
    Named(&'static str),
}

use Fault::{Cut, Empty, Foreign, Missing};
use Says::{Fine, Named};

/// The beginning of a file's name, which file of several it is, its fault, and the answers of `verify` and of a start.
/// A start that names a fault does not serve.
type Row = (&'static str, Which, Fault, Says, Says);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    Oldest,
    Newest,
}
use Which::{Newest, Oldest};

/// A market with two snapshots. Its first journal file was removed, and the newest snapshot does not need the oldest of
/// the others. Its history begins with an order open, and has all kinds of files.
fn market(folder: &Folder, shares: u32) -> PathBuf {
    let data = folder.data();
    let launch = Launch::new(&data).with(SMALL);
    let server = launch.start();
    server.ask(MARKET);
    // The order is open when the history begins anew, and executes before and after that.
    trade(&server, &format!(r#"<order sym="S" amount="{shares}" limit="11"/><order sym="S" amount="-1" limit="11"/>"#));
    wait_until("a retired journal file", PATIENCE, || {
        fill_some(&server);
        !data.join("journal-00000000000000000001.log").exists()
    });
    server.stop();
    std::fs::remove_dir_all(data.join("history")).unwrap();
    let server = launch.start();
    trade(&server, r#"<order sym="S" amount="-1" limit="11"/><amend id="1" shares="20"/>"#);
    wait_until("two snapshots", PATIENCE, || {
        fill_some(&server);
        files(&data).iter().filter(|name| name.ends_with(".snap")).count() == 2
    });
    server.stop();
    wait_until("a journal file that the newest snapshot does not need", PATIENCE, || {
        let (journals, snapshots) = (numbers(&data, JOURNAL, ".log"), numbers(&data, SNAPSHOT, ".snap"));
        let is_there = journals.get(1) <= snapshots.last() && journals.len() > 1;
        if !is_there {
            let server = launch.start();
            fill_some(&server);
            server.stop();
        }
        is_there
    });
    // On a slow machine another one was being written.
    for unfinished in files(&data).iter().filter(|name| name.ends_with(".snap.tmp")) {
        std::fs::remove_file(data.join(unfinished)).unwrap();
    }
    data
}

/// Returns the commands that files are named after, ascending.
fn numbers(data: &Path, begins: &str, ends: &str) -> Vec<u64> {
    let number = |name: &String| name.strip_prefix(begins)?.strip_suffix(ends)?.parse().ok();
    files(data).iter().filter_map(number).collect()
}

/// Fills the journal, and leaves the machine to the snapshots for a while. A busy one made a folder of two million
/// commands before its second snapshot, and a start of that begins to seal parts of its history before it is refused.
fn fill_some(server: &Server) {
    fill(server);
    std::thread::sleep(Duration::from_millis(50));
}

fn trade(server: &Server, orders: &str) {
    let told = server.ask(&format!(r#"<transactions id="1">{orders}</transactions>"#));
    assert!(!told.contains("<error"), "{told}");
}

/// The names of all files, with those of the history.
fn files(data: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(data).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        match path.is_dir() {
            true => found.extend(files(&path).into_iter().map(|inside| format!("{name}/{inside}"))),
            false => drop(found.insert(name)),
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for name in files(from) {
        let to = to.join(&name);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(from.join(&name), to).unwrap();
    }
}

fn find(data: &Path, begins: &str, which: Which) -> String {
    let mut named: Vec<String> = files(data).into_iter().filter(|name| name.starts_with(begins)).collect();
    assert!(!named.is_empty(), "no {begins} among {:?}", files(data));
    match which {
        Newest => named.pop().unwrap(),
        Oldest => named.remove(0),
    }
}

fn spoil(data: &Path, name: &str, fault: Fault, foreign: &Path) {
    let path = data.join(name);
    let bytes = std::fs::read(&path).unwrap();
    match fault {
        Missing => std::fs::remove_file(&path).unwrap(),
        Cut => std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap(),
        Empty => std::fs::write(&path, "").unwrap(),
        Foreign => drop(std::fs::copy(foreign, &path).unwrap()),
    }
}

/// Runs `pricetime verify`. Returns whether it succeeded, and what it printed.
fn verify(data: &Path) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().arg("verify").arg(data).output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether the answer is the expected one.
fn is_due(says: Says, (fine, words): &(bool, String)) -> bool {
    match says {
        Fine => *fine,
        Named(due) => !fine && words.contains(due),
    }
}

/// Files that no longer exist: neither under their names, nor in a history that was set aside.
fn lost(before: &BTreeSet<String>, data: &Path) -> Vec<String> {
    let now = files(data);
    let is_aside = |name: &str| {
        let inside = name.strip_prefix("history/");
        inside.is_some_and(|inside| {
            now.iter().any(|now| now.starts_with("history-through-") && now.ends_with(&format!("/{inside}")))
        })
    };
    before.iter().filter(|name| !now.contains(*name) && !is_aside(name)).cloned().collect()
}

fn start(data: &Path) -> (bool, String) {
    match Launch::new(data).with(SMALL).try_start() {
        Ok(server) => {
            let banner = server.banner.clone();
            server.kill();
            (true, banner)
        }
        Err(ended) => (false, ended.stderr),
    }
}

const JOURNAL: &str = "journal-";
const SNAPSHOT: &str = "snapshot-";
const CHECKPOINT: &str = "history/checkpoint";

/// Once `verify` found all of this sound when the checkpoint was missing, and a start removed the whole history.
#[test]
fn each_file_of_a_data_folder_is_missed() {
    let (folder, other) = (Folder::new("folder-faults"), Folder::new("folder-faults-foreign"));
    let (data, foreign) = (market(&folder, 100), market(&other, 90));
    assert_eq!(verify(&data), (true, verify(&data).1));
    let rows: Vec<Row> = vec![
        (JOURNAL, Oldest, Missing, Fine, Fine),
        (JOURNAL, Newest, Missing, Named("journal"), Named("missing")),
        (JOURNAL, Newest, Cut, Named("journal-"), Named("journal-")),
        (JOURNAL, Newest, Empty, Named("journal-"), Named("journal-")),
        (JOURNAL, Newest, Foreign, Named("journal-"), Named("journal-")),
        (SNAPSHOT, Oldest, Missing, Fine, Fine),
        (SNAPSHOT, Newest, Missing, Fine, Fine),
        (SNAPSHOT, Newest, Cut, Named("snapshot-"), Fine),
        (SNAPSHOT, Newest, Empty, Named("snapshot-"), Fine),
        (SNAPSHOT, Newest, Foreign, Named("snapshot-"), Named("the snapshot ")),
        (
            CHECKPOINT,
            Newest,
            Missing,
            Named("checkpoint is damaged: it is missing"),
            Named("checkpoint is damaged: it is missing"),
        ),
        (CHECKPOINT, Newest, Cut, Named("checkpoint"), Named("checkpoint")),
        (CHECKPOINT, Newest, Empty, Named("checkpoint"), Named("checkpoint")),
        (
            "history/earlier-open",
            Newest,
            Missing,
            Named("earlier-open.tab is damaged: it is missing"),
            Named("earlier-open.tab is damaged: it is missing"),
        ),
        ("history/earlier-open", Newest, Cut, Named("earlier-open.tab"), Named("earlier-open.tab")),
        ("history/earlier-open", Newest, Empty, Named("earlier-open.tab"), Named("earlier-open.tab")),
        (
            "history/earlier-orders",
            Newest,
            Missing,
            Named("earlier-orders.tab is damaged: it is missing"),
            Named("earlier-orders.tab"),
        ),
        ("history/earlier-orders", Newest, Cut, Named("earlier-orders.tab"), Named("earlier-orders.tab")),
        ("history/earlier-orders", Newest, Empty, Named("earlier-orders.tab"), Named("earlier-orders.tab")),
        ("history/orders-", Newest, Missing, Named("orders-000000.tab"), Named("orders-000000.tab")),
        ("history/orders-", Newest, Cut, Named("orders-000000.tab"), Named("orders-000000.tab")),
        ("history/orders-", Newest, Empty, Named("orders-000000.tab"), Named("orders-000000.tab")),
        ("history/trades-", Newest, Missing, Named("trades-000000.tab"), Named("trades-000000.tab")),
        ("history/trades-", Newest, Cut, Named("trades-000000.tab"), Named("trades-000000.tab")),
        ("history/notes-", Newest, Missing, Named("notes-000000.tab"), Named("notes-000000.tab")),
        ("history/notes-", Newest, Cut, Named("notes-000000.tab"), Named("notes-000000.tab")),
        ("lock", Newest, Missing, Fine, Fine),
        ("lock", Newest, Empty, Fine, Fine),
    ];
    let mut wrong = Vec::new();
    for (number, (begins, which, fault, verify_says, start_says)) in rows.into_iter().enumerate() {
        let spoiled = folder.path().join(format!("spoiled-{number}"));
        copy(&data, &spoiled);
        let name = find(&spoiled, begins, which);
        spoil(&spoiled, &name, fault, &foreign.join(find(&foreign, begins, which)));
        let before = files(&spoiled);
        let verified = verify(&spoiled);
        let started = start(&spoiled);
        let lost = lost(&before, &spoiled);
        // A start that is refused changes nothing.
        let changed = !started.0 && files(&spoiled) != before;
        if !is_due(verify_says, &verified) || !is_due(start_says, &started) || !lost.is_empty() || changed {
            wrong.push(format!(
                "{name} {fault:?}\nverify: {verified:?}\nstart: {started:?}\nlost: {lost:?}, changed: {changed}\n"
            ));
        }
        std::fs::remove_dir_all(&spoiled).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// An empty market, in which ids began at 1, once was served if journal and snapshots were missing.
#[test]
fn a_folder_with_a_trace_of_a_market_is_not_served_without_journal_and_snapshots() {
    let folder = Folder::new("market-gone");
    let data = market(&folder, 100);
    for name in files(&data).iter().filter(|name| name.starts_with(JOURNAL) || name.starts_with(SNAPSHOT)) {
        std::fs::remove_file(data.join(name)).unwrap();
    }
    let refused = |what: &str| {
        let before = files(&data);
        let (served, words) = start(&data);
        assert!(!served && words.contains("the market itself is gone"), "{what}: {words}");
        let (sound, words) = verify(&data);
        assert!(!sound && words.contains("no journal"), "{what}: {words}");
        assert_eq!(lost(&before, &data), Vec::<String>::new(), "{what}");
    };
    refused("a history");
    std::fs::remove_file(data.join(CHECKPOINT)).unwrap();
    refused("a history without its checkpoint");
    std::fs::rename(data.join("history"), data.join("history-through-7")).unwrap();
    refused("a history that was set aside");
    std::fs::remove_dir_all(data.join("history-through-7")).unwrap();
    std::fs::write(data.join("members"), "").unwrap();
    let ended = Launch::new(&data).with(SMALL).with("--open-to-anyone").try_start().err().expect("it is refused");
    assert!(ended.stderr.contains("has the file members, but neither a journal nor a snapshot"), "{}", ended.stderr);
    assert!(!files(&data).iter().any(|name| name.starts_with(JOURNAL)), "nothing was begun");
}

/// A regression: the history was begun before the journal was looked at, where there was no snapshot.
#[test]
fn a_start_that_cannot_read_the_journal_makes_no_history() {
    let folder = Folder::new("no-history-made");
    let data = folder.data();
    Launch::new(&data).start().kill();
    std::fs::remove_dir_all(data.join("history")).unwrap();
    std::fs::write(data.join(find(&data, JOURNAL, Newest)), "").unwrap();
    let before = files(&data);
    let (served, words) = start(&data);
    assert!(!served && words.contains("is damaged at byte 0"), "{words}");
    assert_eq!(files(&data), before);
    assert!(!data.join("history").exists());
}

/// `verify` found such folders sound: it compared only what there is, and not what a start needs.
#[test]
fn what_a_start_would_miss_is_named_before() {
    let folder = Folder::new("verify-start");
    let data = market(&folder, 100);
    let number = |name: &str| name.split(['-', '.']).find_map(|word| word.parse::<u64>().ok()).unwrap();
    let server = Launch::new(&data).with("--segment-size 64KiB --snapshot-every 1000000").start();
    let behind = || -> Vec<String> {
        let snapshot = number(&find(&data, SNAPSHOT, Newest));
        files(&data).into_iter().filter(|name| name.starts_with(JOURNAL) && number(name) > snapshot).collect()
    };
    wait_until("journal files behind the newest snapshot", PATIENCE, || {
        fill(&server);
        behind().len() > 2
    });
    server.kill();
    let (sound, words) = verify(&data);
    assert!(sound, "{words}");
    let spoiled = |name: &str, spoil: &dyn Fn(&Path)| {
        let spoiled = folder.path().join(name);
        copy(&data, &spoiled);
        spoil(&spoiled);
        verify(&spoiled)
    };
    let newest = find(&data, JOURNAL, Newest);
    let (sound, words) = spoiled("gap", &|spoiled| {
        for name in files(spoiled).iter().filter(|name| name.starts_with(JOURNAL) && **name != newest) {
            std::fs::remove_file(spoiled.join(name)).unwrap();
        }
    });
    assert!(!sound && words.contains("are missing"), "{words}");
    assert!(start(&folder.path().join("gap")).1.contains("are missing"), "a start is refused");
    let (sound, words) =
        spoiled("without-history", &|spoiled| std::fs::remove_dir_all(spoiled.join("history")).unwrap());
    assert!(!sound && words.contains("earlier orders are no longer kept"), "{words}");
    let (sound, words) = spoiled("two-faults", &|spoiled| {
        for name in &behind()[..2] {
            let mut bytes = std::fs::read(spoiled.join(name)).unwrap();
            bytes[200] ^= 1;
            std::fs::write(spoiled.join(name), bytes).unwrap();
        }
    });
    let named = behind()[..2].iter().all(|name| words.contains(&format!("DAMAGED: {name}")));
    assert!(!sound && named, "{words}");
}

/// A copy without a journal once was served as an empty market.
#[test]
fn a_backup_that_was_killed_is_not_served_and_not_copied() {
    let folder = Folder::new("killed-backup");
    let data = market(&folder, 100);
    let copy = folder.path().join("copy");
    let backup = |from: &Path, to: &Path| {
        let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().arg("backup").args([from, to]).output();
        let output = output.unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    require_strace();
    let trace = folder.path().join("trace");
    let traced = |event: &str, to: &Path| {
        let status = Command::new("strace")
            .args(["-f", "-qq", "-o", trace.to_str().unwrap(), "-e", event])
            .args([env!("CARGO_BIN_EXE_pricetime"), "backup"])
            .args([&data, to])
            .status();
        status.unwrap().success()
    };
    assert!(traced("trace=pwrite64", &copy));
    let writes = std::fs::read_to_string(&trace).unwrap().lines().filter(|line| line.contains("pwrite64(")).count();
    let whole = files(&copy);
    assert!(!whole.contains("unfinished"), "{whole:?}");
    assert_eq!(verify(&copy), (true, verify(&copy).1));
    assert!(start(&copy).0);
    // The copy's content when the backup is killed before, between and after the files that it copies.
    for write in BTreeSet::from([1, 2, writes / 2, writes]) {
        let part = folder.path().join(format!("part-{write}"));
        assert!(!traced(&format!("inject=pwrite64:signal=KILL:when={write}"), &part), "it is killed");
        let (served, words) = start(&part);
        assert!(!served && words.contains("never finished"), "{write}: {words}");
        let (sound, words) = verify(&part);
        assert!(!sound && words.contains("never finished"), "{write}: {words}");
        let (copied, words) = backup(&part, &folder.path().join(format!("copy-of-{write}")));
        assert!(!copied && words.contains("never finished"), "{write}: {words}");
    }
}

/// The files of such a copy that were moved up already began another market, with other ids, or none at all.
#[test]
fn a_copy_of_a_node_that_is_not_all_moved_up_is_refused_by_everything_but_a_node() {
    let folder = Folder::new("folder-half-joined");
    let data = folder.data();
    let server = Launch::new(&data).start();
    server.ask(MARKET);
    server.stop();
    for name in ["copy-taken", "copy-being-taken"] {
        let copy = data.join(name);
        std::fs::create_dir(&copy).unwrap();
        std::fs::rename(data.join("history"), copy.join("history")).unwrap();
        let before = (files(&data), files(&copy));
        let refused = Launch::new(&data).try_start().map(|_| ()).expect_err("half a market is served").stderr;
        assert!(
            refused.contains(&format!("{name} in this folder")) && refused.contains("start it once with"),
            "{refused}"
        );
        let to = folder.path().join("to");
        for words in [vec!["verify"], vec!["state"], vec!["backup", to.to_str().unwrap()]] {
            let (told, code) = run(words[0], &data, &words[1..]);
            assert!(code != Some(0) && told.contains(&format!("{name} in this folder")), "{words:?}: {told}");
        }
        std::fs::remove_dir_all(&to).unwrap();
        assert_eq!((files(&data), files(&copy)), before, "{name}: a file was made or removed");
        std::fs::rename(copy.join("history"), data.join("history")).unwrap();
        std::fs::remove_dir(copy).unwrap();
    }
    Launch::new(&data).start().stop();
}

fn run(tool: &str, data: &Path, further: &[&str]) -> (String, Option<i32>) {
    let ran = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg(tool).arg(data).args(further).output().unwrap();
    (String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap(), ran.status.code())
}
