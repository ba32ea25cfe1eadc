//! Many nodes over one log in one thread: the real loop, ledger and journal, stepped in an order that a seed decides,
//! with all kinds of faults of messages, processes and disks. Every answer to a client, and every node's final state,
//! is compared with the naive model's result for the messages that count.
//!
//! `PRICETIME_SEED=7 PRICETIME_ROUNDS=1` runs one life again; more rounds make a longer simulation.

mod connection;
mod damaged;
mod judge;
mod log;
mod process;
mod surroundings;
mod tally;
mod world;

use std::panic::AssertUnwindSafe;

use journal::Options;
use market::recovery;

use self::tally::Tally;
use self::world::{State, World};

/// Lives of the short form, which takes some seconds.
const ROUNDS: u64 = 300;

/// Lives a life and returns what happened. Panics, and names the seed, when a check fails.
fn live(seed: u64) -> Tally {
    named(seed, || {
        let world = World::new(seed);
        while world.step_any() {}
        let up = world.come_to_rest();
        let judge = world.judge.borrow();
        assert_eq!(up.len(), 4, "all nodes serve when nothing happens any more");
        judge.check();
        judge.check_calendar(&world.calendar, &mut world.tally.borrow_mut());
        for at in up {
            let place = world.places[at].borrow();
            let State::Up(node) = &place.state else { panic!("it is up") };
            let (found, expected) = (node.engine(), &judge.engine);
            assert_eq!((found.sequence(), found.state_hash()), (expected.sequence(), expected.state_hash()));
            let replayed = recovery::open(&place.disk.copy(), Options::default()).expect("the disk is whole").engine;
            assert_eq!(replayed.state_hash(), expected.state_hash(), "its own journal says the same");
        }
        world.end();
        world.tally.take()
    })
}

fn named<T>(seed: u64, life: impl FnOnce() -> T) -> T {
    let lived = std::panic::catch_unwind(AssertUnwindSafe(life));
    lived.unwrap_or_else(|_| panic!("the life of seed {seed}: PRICETIME_SEED={seed} PRICETIME_ROUNDS=1 runs it again"))
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Lives this many lives, from the seed of the environment on.
fn many(rounds: u64, live: impl Fn(u64) -> Tally) -> (u64, Tally) {
    let (seed, rounds) = (number("PRICETIME_SEED", 1), number("PRICETIME_ROUNDS", rounds));
    let mut tally = Tally::default();
    (0..rounds).for_each(|round| tally.add(&live(seed.wrapping_add(round))));
    println!("{tally}");
    (rounds, tally)
}

#[test]
fn whatever_happens_to_messages_and_nodes_what_was_answered_is_done_once_on_all_of_them() {
    let (rounds, tally) = many(ROUNDS, live);
    if rounds < ROUNDS {
        return;
    }
    for (what, enough) in [
        ("batches answered", 7_000),
        ("batches given up while the log was away", 1_500),
        ("batches refused while the log was away", 200),
        ("changes of the leader", 10_000),
        ("clocks that leapt", 25),
        ("folders lost", 200),
        ("lines of calendars done", 300),
        ("lines that came when a client had asked for a phase since", 30),
        ("machines that fell asleep", 150),
        ("messages given again", 10_000),
        ("messages lost", 10_000),
        ("messages that count nowhere", 20_000),
        ("messages whose time was years ahead", 2_000),
        ("parts of batches", 3_000),
        ("orderly stops", 500),
        ("processes killed between turns", 500),
        ("processes killed while they waited", 2_000),
        ("processes stopped while they waited", 200),
        ("processes that another one had replaced", 300),
        ("processes that began with a snapshot", 300),
        ("processes whose disk failed", 1_000),
        ("sleeps in the middle of something", 1_500),
        ("states said at marks", 300),
        ("symbols whose last line was looked for", 25),
    ] {
        assert!(tally.get(what) > enough, "too few {what}:\n{tally}");
    }
}

#[test]
fn a_life_comes_out_the_same_every_time() {
    for seed in 0..20 {
        assert_eq!(live(seed).to_string(), live(seed).to_string(), "seed {seed}");
    }
}
