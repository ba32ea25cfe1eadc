//! Data folders that a program of each version of the rules wrote, frozen beside this test: every later program reads
//! them, and gets from them what they said when they were written. A program with the same rules also gets the same
//! state from the same commands. [`frozen`] makes the folder of this program's rules. [`bounds`] gives commands that do
//! more than a folder should hold.
mod bounds;
mod frozen;
mod told;

use std::path::{Path, PathBuf};

use engine::{DoneOrders, Engine};
use exchange::EventBatch;
use history::{History, Sizes};
use journal::{Disk, JournalError, JournalPoint, Options, RULES_VERSION, snapshot};
use market::recovery::{self, RecoveryError};
use terms::{
    CLIENT_ORDER_ID_KEPT_US, CancelBounds, EXECUTIONS_KEPT, ExecutionBounds, ICEBERG_PARTS_MAX, Sequence, TRAILING_MAX,
    TRAILING_OF_ACCOUNT_MAX,
};

use self::told::Told;

/// Set to have the test write the folder of this program's rules.
const FREEZE: &str = "PRICETIME_FREEZE";
const CHANGED: &str = "what commands mean has changed: raise RULES_VERSION and freeze a new fixture (CONTRIBUTING.md, changes \
    of what commands do). Only while these rules are in no release, freeze theirs anew: PRICETIME_FREEZE=1 cargo test -p market \
    --test turns -- formats::the_rules";
/// Small parts, so that some are sealed.
const SIZES: Sizes = Sizes { waiting_max: [4096; 3], part_records: 256, block_records: 32 };
const FIRST_RULES: u32 = 1;

/// The frozen files of a version of the rules: a data folder, a history that begins in the midst of its market, and a
/// text of what a program of these rules made of them.
#[derive(Clone)]
struct Fixture(PathBuf);

impl Fixture {
    fn of(rules: u32) -> Fixture {
        Fixture(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formats/rules_{rules}")))
    }

    /// A copy of the data folder and of the history that begins later, which a test may change.
    fn copied(&self) -> (tempfile::TempDir, Disk, Disk) {
        let to = tempfile::tempdir().unwrap();
        for name in ["market", "begun"] {
            copy(&self.0.join(name), &to.path().join(name));
        }
        let [market, begun] = ["market", "begun"].map(|name| Disk::open(&to.path().join(name)).unwrap());
        (to, market, begun)
    }

    fn told(&self) -> Told {
        Told::parse(&std::fs::read_to_string(self.0.join("told")).unwrap())
    }

    /// The figures of commands that reach their bounds.
    fn bounds(&self) -> PathBuf {
        self.0.join("bounds")
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

fn versions() -> impl Iterator<Item = (u32, Fixture)> {
    (FIRST_RULES..=RULES_VERSION).map(|rules| (rules, Fixture::of(rules)))
}

fn options() -> Options {
    Options { segment_bytes: 32 << 10, ..Options::default() }
}

/// Freezes the folder of this program's rules if it is asked to, and reads it again.
#[test]
fn the_rules_of_this_program_have_a_frozen_folder() {
    let fixture = Fixture::of(RULES_VERSION);
    if std::env::var_os(FREEZE).is_some() {
        frozen::freeze(&fixture.0);
        std::fs::write(fixture.bounds(), bounds::figures()).unwrap();
    }
    assert!(
        fixture.0.is_dir(),
        "rules {RULES_VERSION} have no frozen folder: {FREEZE}=1 cargo test -p market --test turns -- formats::the_rules (CONTRIBUTING.md)"
    );
}

/// The gate for what commands do at their bounds, which the frozen journal does not reach.
#[test]
fn commands_that_reach_their_bounds_give_the_same_states_and_events() {
    let (frozen, told) = (std::fs::read_to_string(Fixture::of(RULES_VERSION).bounds()).unwrap(), bounds::figures());
    for (frozen, told) in frozen.lines().zip(told.lines()) {
        assert_eq!(told, frozen, "{CHANGED}");
    }
    assert_eq!(told.lines().count(), frozen.lines().count(), "{CHANGED}");
}

/// The gate for the bounds of commands.
#[test]
fn the_bounds_of_commands_are_those_of_these_rules() {
    let executions = ExecutionBounds { command: 10_000, turn: 25_000, small: 5, share: 100, turns: 100_000 };
    let cancels = CancelBounds { command: 1_000, turn: 10_000, small: 100 };
    let day_us = 24 * 60 * 60 * 1_000_000;
    assert_eq!(
        (RULES_VERSION, ExecutionBounds::ALL, CancelBounds::ALL),
        (1, executions, cancels),
        "what commands do has changed: raise RULES_VERSION (CONTRIBUTING.md, changes of what commands do)"
    );
    assert_eq!(
        (TRAILING_MAX, TRAILING_OF_ACCOUNT_MAX, ICEBERG_PARTS_MAX, EXECUTIONS_KEPT, CLIENT_ORDER_ID_KEPT_US),
        (1_000, 100, 100, 8, day_us),
        "what commands do has changed: raise RULES_VERSION (CONTRIBUTING.md, changes of what commands do)"
    );
}

/// The gate for changes of what commands do.
#[test]
fn the_same_commands_give_the_same_states_and_events() {
    let fixture = Fixture::of(RULES_VERSION);
    let (_folder, disk, _) = fixture.copied();
    let frozen = fixture.told();
    let told = told::replay(&disk, &frozen, &mut |_, _| {});
    assert_eq!(told, frozen, "{CHANGED}");
}

#[test]
fn commands_of_earlier_rules_are_not_replayed() {
    for (rules, fixture) in versions().filter(|(rules, _)| *rules < RULES_VERSION) {
        let (_folder, disk, _) = fixture.copied();
        for snapshot in snapshot::list(&disk).unwrap() {
            std::fs::remove_file(disk.path().join(snapshot.name)).unwrap();
        }
        let refused = recovery::open(&disk, options()).map(drop).unwrap_err();
        let is_it = matches!(refused, RecoveryError::Journal(JournalError::EarlierRules { .. }));
        assert!(is_it, "rules {rules}: {refused}");
    }
}

#[test]
fn a_market_of_each_version_goes_on_from_its_snapshots() {
    for (rules, fixture) in versions() {
        let (told, (_folder, disk, _)) = (fixture.told(), fixture.copied());
        let commands = journal::check(&disk, JournalPoint::ZERO).unwrap().commands;
        assert_eq!(commands, told.commands, "rules {rules}");
        let states: Vec<u64> = snapshot::list(&disk)
            .unwrap()
            .iter()
            .map(|info| recovery::load(&disk, info).unwrap().0.state_hash())
            .collect();
        assert_eq!(states, [told.state, told.state_halfway], "rules {rules}");
        let opened = recovery::open(&disk, options()).unwrap();
        assert_eq!(opened.engine.sequence(), Sequence(told.commands), "rules {rules}");
        assert_eq!(opened.engine.state_hash(), told.state, "rules {rules}");
        assert_eq!(opened.report.commands_replayed, 0, "rules {rules}");
    }
}

/// Opens the two histories of a fixture, which end at the state of an engine.
fn histories(market: &Disk, begun: &Disk, engine: &Engine) -> [History; 2] {
    [History::open_sized(market, engine, SIZES).unwrap(), History::open(begun, engine).unwrap()]
}

#[test]
fn a_history_of_each_version_says_what_its_commands_did() {
    for (rules, fixture) in versions() {
        let (told, (_folder, market, begun)) = (fixture.told(), fixture.copied());
        for (disk, records) in [(&market, told.records), (&begun, told.records_begun)] {
            let found = history::verify(disk, &mut |fault| panic!("rules {rules}: {fault}")).unwrap().unwrap();
            assert_eq!(found.records, records, "rules {rules}");
        }
        let (engine, _) = recovery::load(&market, &snapshot::list(&market).unwrap()[0]).unwrap();
        let read = histories(&market, &begun, &engine).map(|history| told::all(&history, &engine));
        assert!(read[0].len() > 1000 && read[1].len() > 500, "{} and {} answers", read[0].len(), read[1].len());
        if rules != RULES_VERSION {
            continue;
        }
        // The same commands make the same history again, in the whole and from halfway on.
        let again = frozen::histories_again(&market, &told);
        for (found, expected) in read.iter().zip(again.iter().map(|history| told::all(history, &engine))) {
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert_eq!(found, expected);
            }
        }
    }
}

/// An engine at the beginning of a market.
fn new_engine() -> Engine {
    Engine::new(1, DoneOrders::Drop)
}

/// Follows a batch in histories.
fn follow(histories: &mut [&mut History], batch: &EventBatch) {
    histories.iter_mut().for_each(|history| history.follow(batch).unwrap());
}
