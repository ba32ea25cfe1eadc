//! Measures how long the history takes to follow cancels of orders that are no longer among the newest: in the order in
//! which they were placed, and in any order. Run it under `strace -c -f -e trace=pread64,pwrite64,fdatasync` to count
//! system calls.
//!
//! `cargo bench -p feed --bench endings -- [--orders N] [--canceled N]`
#![allow(clippy::arithmetic_side_effects, clippy::float_arithmetic)]

use std::time::{Duration, Instant};

use engine::{DoneOrders, Engine};
use exchange::EventBatch;
use history::{History, SharedHistory};
use journal::Disk;
use model::workload::Random;
use terms::{AccountIndex, Event, NewOrder, OrderId, Price, Sequence, Shares, Side, SymbolIndex, Time};

/// Commands of a turn.
const TURN: u64 = 25;
const ACCOUNT: AccountIndex = AccountIndex(0);
const SYMBOL: SymbolIndex = SymbolIndex(0);

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let setting = |name: &str, usual: u64| match arguments.iter().position(|argument| argument == name) {
        Some(at) => arguments.get(at + 1).and_then(|value| value.parse().ok()).expect("a number behind its name"),
        None => usual,
    };
    let (orders, canceled) = (setting("--orders", 1_000_000), setting("--canceled", 300_000));
    for (order, is_shuffled) in [("oldest first", false), ("in any order", true)] {
        let (canceling, checkpoint) = run(orders, canceled, is_shuffled);
        println!(
            "{canceled} of {orders} orders are canceled, {order}: {:.0} ns a cancel, {:.1} ms the checkpoint behind",
            canceling.as_nanos() as f64 / canceled as f64,
            checkpoint.as_secs_f64() * 1000.0
        );
    }
}

/// Measures the time of all cancels, and of the checkpoint after them.
fn run(orders: u64, canceled: u64, is_shuffled: bool) -> (Duration, Duration) {
    let folder = tempfile::tempdir().expect("a folder for the history");
    let disk = Disk::open(folder.path()).expect("a folder for the history");
    let history = History::open(&disk, &Engine::new(1, DoneOrders::Keep)).expect("a new history");
    let history = SharedHistory::new(history);
    let shares = Shares::from_units(100_000_000).expect("one share");
    let limit = Price::from_units(100_000_000).expect("a dollar");
    let placed = NewOrder::limit(SYMBOL, Side::Buy, limit, shares);
    let open = |order| Event::OrderOpened { order: OrderId(order), account: ACCOUNT, placed };
    let events: Vec<Event> = (1..=orders).map(open).collect();
    let sequence = follow(&history, 0, &events);
    history.checkpoint().expect("the history's disk works");
    let mut ids: Vec<u64> = (1..=orders).collect();
    if is_shuffled {
        let mut random = Random::new(1);
        (1..ids.len()).rev().for_each(|at| ids.swap(at, random.below(at + 1)));
    }
    let cancel = |order: &u64| Event::OrderCanceled {
        order: OrderId(*order),
        account: ACCOUNT,
        symbol: SYMBOL,
        shares,
        why: terms::CancelReason::Asked,
    };
    let events: Vec<Event> = ids[..canceled as usize].iter().map(cancel).collect();
    let begun = Instant::now();
    follow(&history, sequence, &events);
    let canceling = begun.elapsed();
    let begun = Instant::now();
    history.checkpoint().expect("the history's disk works");
    (canceling, begun.elapsed())
}

/// Follows events, each of a command of its own. Returns the last command.
fn follow(history: &SharedHistory, mut sequence: u64, events: &[Event]) -> u64 {
    for turn in events.chunks(TURN as usize) {
        let mut batch = EventBatch::default();
        for event in turn {
            sequence += 1;
            batch.add(Sequence(sequence), *event);
        }
        batch.seal(Sequence(sequence), Time(sequence));
        history.follow(&batch).expect("the history's disk works");
    }
    sequence
}
