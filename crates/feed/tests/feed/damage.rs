//! A history with one flipped bit, anywhere in its files, while it is in use or before a start: each question gets the
//! true answer or the error that a record is damaged, and questions about other records get all of their answer. The
//! history goes on to follow.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{Market, Nobody, SMALL, apply, follow, follow_sized, scene};
use feed::{History, HistoryError, Interval, ReadModel, ReportKey, View};
use history::{HISTORY_FOLDER, verify as verify_history};
use journal::simulated::SimulatedDisk;
use journal::{Damages, File, Storage};
use model::workload::Workload;
use terms::{AccountIndex, OrderId, Sequence, SymbolIndex};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Turns of the market after the damage.
const TURNS: usize = 60;
/// The files of a small history.
const TABLE_NAMES: [&str; 3] = ["orders-000000.tab", "trades-000000.tab", "candles.tab"];
const TABLE_BYTES: [usize; 3] = [163, 105, 92];
/// The file that holds notes, where there are any.
const NOTES_NAME: &str = "notes-000000.tab";
const NOTE_BYTES: usize = 76;
/// Records of a page.
const PAGE: usize = 4;

/// The answer to one question: its pages or parts in order, and the error that ended them.
#[derive(Debug, PartialEq)]
struct Told {
    about: String,
    parts: Vec<String>,
    error: Option<String>,
}

/// Asks for part after part, each from where the last one ended.
fn tell<T: Debug, C: Copy>(
    about: String,
    mut ask: impl FnMut(Option<C>) -> Result<Option<(T, Option<C>)>, HistoryError>,
) -> Told {
    let (mut told, mut before) = (Told { about, parts: Vec::new(), error: None }, None);
    loop {
        match ask(before) {
            Ok(part) => {
                let next = part.as_ref().and_then(|(_, next)| *next);
                told.parts.push(format!("{part:?}", part = part.map(|(part, _)| part)));
                match next {
                    Some(_) => before = next,
                    None => return told,
                }
            }
            Err(error) => {
                assert!(error.is_damage(), "{}: {error}", told.about);
                told.error = Some(error.to_string());
                return told;
            }
        }
    }
}

fn once<T: Debug>(about: String, answer: Result<T, HistoryError>) -> Told {
    let mut answer = Some(answer);
    tell(about, |_: Option<()>| answer.take().unwrap().map(|answer| Some((answer, None))))
}

/// Asks everything that a history can answer.
fn ask_all(scene: &ReadModel<Nobody>, market: &Market) -> Vec<Told> {
    let history = &*scene.history.as_ref().unwrap().read();
    let mut all = Vec::new();
    for order in 1..=market.placed.len() as u64 {
        all.push(once(format!("order {order}"), history.order(OrderId(order))));
        all.push(once(format!("executions of order {order}"), history.executions_of(OrderId(order), usize::MAX)));
        let triggered = history.order(OrderId(order)).and_then(|past| history.triggered_at(&past.unwrap()));
        all.push(once(format!("triggering of order {order}"), triggered));
    }
    for symbol in (0..).map(SymbolIndex).take(market.model.symbols().count()) {
        all.push(tell(format!("trades of {symbol:?}"), |before| history.trades_of(symbol, before, PAGE)));
        for interval in Interval::ALL {
            let about = format!("candles of {symbol:?}, {}", interval.name());
            all.push(once(about, scene.candles(symbol, interval, None, 1_000_000)));
        }
        let listing = scene.view.listing(symbol);
        let recent: Vec<_> = listing.recent().collect();
        all.push(once(format!("memory of {symbol:?}"), Ok((recent, listing.day(scene.view.time())))));
    }
    for account in (0..).map(AccountIndex).take(market.model.accounts().count()) {
        let trades = |before| history.trades_of_account(account, before, PAGE, |_| true);
        all.push(tell(format!("trades of {account:?}"), trades));
        let orders = |before| history.orders_of(account, before, PAGE, &mut |_| true);
        all.push(tell(format!("orders of {account:?}"), orders));
        all.push(reports(history, account, scene.view.sequence()));
    }
    all
}

/// Asks for the reports of an account from the first on, in pieces.
fn reports(history: &History, account: AccountIndex, through: Sequence) -> Told {
    let mut next = Some(history.sweep(account, ReportKey::after(Sequence::ZERO), through).in_pieces_of(PAGE));
    tell(format!("reports of {account:?}"), |_| {
        let Some(mut sweep) = next.take() else { return Ok(None) };
        while history.sweep_on(&mut sweep, 5)? {}
        let (keys, more) = sweep.finish();
        next = more;
        let reports: Result<Vec<_>, _> = keys.into_iter().map(|key| history.report(key)).collect();
        Ok(Some((reports?, next.is_some().then_some(()))))
    })
}

/// Checks that each answer is true, or ends with the error that a record is damaged. Returns the number of incomplete
/// answers.
fn compare(told: &[Told], truth: &[Told], changed: &str) -> usize {
    assert_eq!(told.len(), truth.len());
    for (told, truth) in told.iter().zip(truth) {
        match &told.error {
            None => assert_eq!(told, truth, "{changed}"),
            Some(_) => assert!(truth.parts.starts_with(&told.parts), "{changed}: {told:?} instead of {truth:?}"),
        }
    }
    told.iter().filter(|told| told.error.is_some()).count()
}

fn market(seed: u64) -> Market {
    let mut market = Market { workload: Workload::with_client_orders(seed), ..Market::new(seed) };
    while market.trades.len() < 12 || market.ended.len() < 12 || market.named.len() < 3 {
        market.turn();
    }
    market
}

/// Puts all of a market on the disk.
fn kept(market: &Market) -> (SimulatedDisk, ReadModel<Nobody>) {
    let disk = SimulatedDisk::new();
    let (view, mut history) = follow(market, &disk, market.batches.len());
    history.checkpoint().unwrap();
    (disk, scene(view, history))
}

/// Chooses bits of a file: one of every byte of a small file; of a larger one some hundreds, which together meet every
/// byte of a record.
fn bits(bytes: usize) -> impl Iterator<Item = usize> {
    // Records have 163, 105 and 92 bytes, and this number shares no factor with them.
    let apart = (bytes / 400..).find(|apart| [2, 3, 5, 7, 23, 163].iter().all(|factor| apart % factor != 0)).unwrap();
    (0..bytes).step_by(apart.max(1)).map(|byte| byte * 8 + byte % 8)
}

/// Flips a bit in a file that may be open elsewhere.
pub fn flip(disk: &SimulatedDisk, name: &str, bit: usize) {
    let (file, at, mut byte) = (disk.open(&path(name)).unwrap(), bit as u64 / 8, [0]);
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ (1 << (bit % 8))], at).unwrap();
}

fn path(name: &str) -> String {
    format!("{HISTORY_FOLDER}/{name}")
}

#[test]
fn a_bit_that_flips_under_a_running_server_is_named_and_hides_nothing_else() {
    let market = market(11);
    let (disk, scene) = kept(&market);
    let truth = ask_all(&scene, &market);
    assert!(truth.iter().all(|told| told.error.is_none()) && truth.len() > 50);
    for name in TABLE_NAMES {
        let bytes = disk.contents(&path(name)).len();
        let mut named = 0;
        for bit in bits(bytes) {
            flip(&disk, name, bit);
            let incomplete = compare(&ask_all(&scene, &market), &truth, &format!("bit {bit} of {name}"));
            flip(&disk, name, bit);
            // Candles that memory has are not read from the file.
            assert!(incomplete > 0 || name == TABLE_NAMES[2], "bit {bit} of {name} changed nothing");
            named += incomplete;
            assert!(incomplete <= truth.len() / 4, "bit {bit} of {name} keeps {incomplete} of {} away", truth.len());
        }
        println!("{name}: {} bits flipped, {named} answers named", bits(bytes).count());
    }
    compare(&ask_all(&scene, &market), &truth, "all as it was");
}

#[test]
fn a_bit_that_flips_before_a_start_is_named_then_or_when_it_is_asked_for() {
    let market = market(12);
    let (disk, scene) = kept(&market);
    let truth = ask_all(&scene, &market);
    drop(scene);
    for name in TABLE_NAMES.into_iter().chain(["checkpoint"]) {
        let (mut refused, mut named) = (0, 0);
        for bit in bits(disk.contents(&path(name)).len()) {
            let changed = disk.copy();
            changed.flip_bit(&path(name), bit);
            match begin(&market, &changed) {
                Ok(scene) => named += compare(&ask_all(&scene, &market), &truth, &format!("bit {bit} of {name}")),
                Err(error) => {
                    let words = error.to_string();
                    assert!(
                        words.contains(name) && words.contains("damaged") && words.contains("out of the data folder"),
                        "{words}"
                    );
                    refused += 1;
                }
            }
        }
        println!("{name}: {refused} refused, {named} answers named");
        assert!(if name == "checkpoint" { named == 0 } else { refused + named > 0 });
    }
}

/// A damaged note loses what befell the order, and some damaged notes also lose the place of its trades; nothing else
/// is lost.
#[test]
fn a_bit_that_flips_in_a_note_is_named_and_hides_nothing_else() {
    let market = Market::of_stops(16, 20);
    let (disk, scene) = kept(&market);
    let truth = ask_all(&scene, &market);
    for bit in bits(disk.contents(&path(NOTES_NAME)).len()) {
        let changed = format!("bit {bit} of {NOTES_NAME}");
        flip(&disk, NOTES_NAME, bit);
        assert!(compare(&ask_all(&scene, &market), &truth, &changed) > 0, "{changed} changed nothing");
        let mut faults = Vec::new();
        verify_history(&disk, &mut |fault| faults.push(fault.to_string())).unwrap();
        let named = format!("record {} of history/{NOTES_NAME}", bit / 8 / NOTE_BYTES);
        assert!(faults.len() == 1 && faults[0].contains(&named), "{changed}: {faults:?}");
        // A start needs no note.
        let again = begin(&market, &disk.copy()).unwrap();
        assert!(compare(&ask_all(&again, &market), &truth, &changed) > 0);
        flip(&disk, NOTES_NAME, bit);
    }
    assert_eq!(compare(&ask_all(&scene, &market), &truth, "all as it was"), 0);
}

/// Files of a newer version may hold kinds of notes and reasons of endings that this version does not know.
#[test]
fn what_a_newer_version_wrote_is_named_by_its_kind() {
    let market = Market::of_stops(17, 20);
    let (disk, scene) = kept(&market);
    drop(scene);
    let seal = |disk: &SimulatedDisk, name: &str, (from, to): (usize, usize), record: usize| {
        let mut contents = disk.contents(&path(name));
        let sum = xxh3_64_with_seed(&contents[from..to - 4], record as u64) as u32;
        contents[to - 4..to].copy_from_slice(&sum.to_le_bytes());
        disk.put(&path(name), &contents);
    };
    let check = |disk: &SimulatedDisk, expected: &str| {
        let mut faults = Vec::new();
        verify_history(disk, &mut |fault| faults.push(fault.to_string())).unwrap();
        assert!(faults.len() == 1 && faults[0].contains(expected), "{faults:?}");
        let told = ask_all(&begin(&market, disk).unwrap(), &market);
        let errors: Vec<_> = told.iter().filter_map(|told| told.error.as_ref()).collect();
        assert!(!errors.is_empty() && errors.iter().all(|error| error.contains(expected)), "{errors:?}");
    };
    let newer = disk.copy();
    flip(&newer, NOTES_NAME, (2 * NOTE_BYTES + 68) * 8 + 5);
    seal(&newer, NOTES_NAME, (2 * NOTE_BYTES, 3 * NOTE_BYTES), 2);
    let kind = newer.contents(&path(NOTES_NAME))[2 * NOTE_BYTES + 68];
    check(&newer, &format!("record 2 of history/{NOTES_NAME} is a note of kind {kind}, which this version"));
    let newer = disk.copy();
    let done = market.ended.keys().next().unwrap().0 as usize - 1;
    let ending = (done * TABLE_BYTES[0] + 101, (done + 1) * TABLE_BYTES[0]);
    flip(&newer, TABLE_NAMES[0], ending.0 * 8 + 6);
    let kind = newer.contents(&path(TABLE_NAMES[0]))[ending.0] & 0x7f;
    seal(&newer, TABLE_NAMES[0], ending, done);
    let expected =
        format!("record {done} of history/{} is an ending of kind {kind}, which this version", TABLE_NAMES[0]);
    check(&newer, &expected);
}

/// One flipped bit damages a block of records in a sealed part, and one record in the file of carried orders: questions
/// about those get an error.
#[test]
fn a_bit_that_flips_in_a_sealed_part_is_named_and_hides_nothing_else() {
    let markets = (20..).map(market);
    let is_full = |market: &Market| market.model.open_orders().len() > 5 && market.placed.len() > 60;
    damage_sealed_parts(&markets.take(200).find(is_full).unwrap());
    damage_sealed_parts(&Market::of_stops(18, 16));
}

fn damage_sealed_parts(market: &Market) {
    let disk = SimulatedDisk::new();
    let (view, mut history) = follow_sized(market, &disk, market.batches.len(), SMALL);
    history.checkpoint().unwrap();
    assert!((0..10_000).any(|_| !history.tend(view.time())), "there is no end to it");
    let scene = scene(view, history);
    let truth = ask_all(&scene, market);
    assert!(truth.iter().all(|told| told.error.is_none()));
    let names = disk.folder(HISTORY_FOLDER).unwrap().list().unwrap();
    let settled = names.iter().filter(|name| name.ends_with(".sealed") || name.starts_with("carried"));
    let (mut files, mut named) = (0, 0);
    for name in settled {
        files += 1;
        let bytes = disk.contents(&path(name)).len();
        for bit in (0..bytes).step_by(7).map(|byte| byte * 8 + byte % 8) {
            let changed = format!("bit {bit} of {name}");
            flip(&disk, name, bit);
            named += compare(&ask_all(&scene, market), &truth, &changed);
            let mut faults = Vec::new();
            verify_history(&disk, &mut |fault| faults.push(fault.to_string())).unwrap();
            assert!(
                !faults.is_empty() && faults.iter().all(|fault| fault.contains(name.as_str())),
                "{changed}: {faults:?}"
            );
            flip(&disk, name, bit);
        }
    }
    assert!(files > 5 && named > 300, "{files} files, {named} answers named");
    assert_eq!(compare(&ask_all(&scene, market), &truth, "all as it was"), 0);
}

/// Starts on a history that covers everything.
fn begin(market: &Market, disk: &SimulatedDisk) -> Result<ReadModel<Nobody>, HistoryError> {
    let mut history = History::open(disk, &market.engine)?;
    let mut view = View::new(&market.engine, Some(&history));
    view.recall(&history)?;
    assert!(history.fit(&market.engine)?);
    Ok(scene(view, history))
}

/// An ending that is written into a damaged record leaves it damaged. Later records still link to it.
#[test]
fn the_market_goes_on_over_damaged_records_and_makes_none_sound() {
    let mut market = market(13);
    let disk = SimulatedDisk::new();
    let (mut view, mut history) = follow(&market, &disk, market.batches.len());
    history.checkpoint().unwrap();
    let orders = disk.contents(&path(TABLE_NAMES[0]));
    let records = orders.len() / TABLE_BYTES[0];
    // The terms with which every order was placed are damaged.
    (0..records).for_each(|at| flip(&disk, TABLE_NAMES[0], (at * TABLE_BYTES[0] + 20) * 8));
    let before = market.batches.len();
    for _ in 0..TURNS {
        market.turn();
    }
    let ended_later = market.ended.keys().filter(|order| order.0 <= records as u64).count();
    assert!(ended_later > 5, "orders with damaged records ended");
    apply(&market, &mut view, &mut history, before..market.batches.len());
    history.checkpoint().unwrap();
    for order in (1..=market.placed.len() as u64).map(OrderId) {
        match history.order(order) {
            Ok(found) => assert!(order.0 > records as u64 && found.unwrap().time == market.placed[&order]),
            Err(error) => assert!(order.0 <= records as u64, "{error}"),
        }
    }
    // The repaired history has everything.
    (0..records).for_each(|at| flip(&disk, TABLE_NAMES[0], (at * TABLE_BYTES[0] + 20) * 8));
    market.check_history(&history, 9);
}

#[test]
fn damage_is_counted_once_and_a_check_of_the_folder_names_each_record() {
    let market = market(14);
    let (disk, kept) = kept(&market);
    let counted = Arc::new(AtomicU64::new(0));
    let count = counted.clone();
    let damages = Damages::new(move |found| count.store(found, Ordering::Relaxed));
    drop(kept);
    let (view, history) = (View::new(&market.engine, None), History::open(&disk, &market.engine).unwrap());
    let scene = scene(view, history.listing(damages));
    let mut faults = Vec::new();
    let found = verify_history(&disk, &mut |fault| faults.push(fault.to_string())).unwrap().unwrap();
    assert_eq!((found.through, faults.len()), (market.engine.sequence(), 0));
    assert_eq!(found.records[..2], [market.placed.len() as u64, market.trades.len() as u64]);
    for (name, bytes) in TABLE_NAMES.into_iter().zip(TABLE_BYTES) {
        flip(&disk, name, bytes * 8 + 5);
    }
    for _ in 0..3 {
        ask_all(&scene, &market);
    }
    let told = counted.load(Ordering::Relaxed);
    assert!([2, 3].contains(&told), "{told} records were found damaged");
    verify_history(&disk, &mut |fault| faults.push(fault.to_string())).unwrap();
    let expected = TABLE_NAMES.into_iter().zip(TABLE_BYTES);
    assert_eq!(faults.len(), 3);
    for (fault, (name, byte)) in faults.iter().zip(expected) {
        assert!(fault.contains(&format!("record 1 of history/{name}, at byte {byte}, is damaged")), "{fault}");
    }
}
