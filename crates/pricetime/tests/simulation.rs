//! The journal, snapshots and history of a market on a simulated disk. Each operation of the disk in turn fails, lies
//! or loses power, and everything that was acknowledged must be there afterwards. The long form is
//! `examples/simulate.rs`.
//! Not quick: takes minutes.

#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

#[path = "simulation/mod.rs"]
mod simulation;

use simulation::campaign::{self, Density};
use simulation::point;
use simulation::process::Sabotage;
use simulation::tally::{self, Tally};

/// The number of lives that are tried, and the most that are tried until everything drawn has come up often enough.
const LIVES: u64 = 120;
const LIVES_MAX: u64 = 480;

/// The number of times that each of these must come up at least.
const ENOUGH: [(&str, u64); 15] = [
    (tally::ARCHIVED_ANSWERS, 501),
    (tally::EXECUTIONS_LOOKED_UP, 6),
    (tally::ROTATIONS, 101),
    (tally::SNAPSHOTS, 51),
    (tally::SNAPSHOTS_GIVEN_UP, 4),
    (tally::RETIRED, 51),
    (tally::REPEATS, 51),
    (tally::CONFLICTS, 51),
    (tally::SNAPSHOTS_WITH_CLIENT_ORDERS, 31),
    (tally::FULL_LINES, 21),
    (tally::SHOWN, 9),
    (tally::TRAILS_REACHED, 20),
    (tally::LINKED, 11),
    (tally::RELEASED, 3),
    (tally::LINES, 101),
];

#[test]
fn a_life_without_faults_is_as_the_model_says_and_the_same_every_time() {
    let mut sum = Tally::default();
    let too_few = |sum: &Tally| ENOUGH.iter().find(|(what, enough)| sum.get(what) < *enough).map(|(what, _)| *what);
    for seed in 0..LIVES_MAX {
        if seed >= LIVES && too_few(&sum).is_none() {
            break;
        }
        let (kinds, tally) =
            point::calm_life(seed, Sabotage::Nothing).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let (again, _) = point::calm_life(seed, Sabotage::Nothing).unwrap();
        assert!(kinds == again, "seed {seed}: the disk is asked differently the second time");
        sum.add(&tally);
    }
    println!("{sum}");
    let counts: Vec<_> = ENOUGH.iter().map(|(what, _)| format!("{what} {}", sum.get(what))).collect();
    println!("{}", counts.join(", "));
    assert!(too_few(&sum).is_none(), "too few {:?}: {counts:?}", too_few(&sum));
}

#[test]
fn a_point_comes_out_the_same_every_time() {
    let density = Density { one_in: 60, second_one_in: 300, of_second_one_in: 30 };
    for seed in 0..6 {
        let (points, _) = campaign::points_of(seed, density, Sabotage::Nothing).unwrap();
        for point in &points {
            let tries = [(); 2].map(|()| campaign::try_point(point).unwrap_or_else(|failure| panic!("{failure}")));
            assert!(tries[0] == tries[1], "{point}: {:?} and then {:?}", tries[0], tries[1]);
        }
    }
}

#[test]
fn whatever_the_disk_does_what_was_acknowledged_is_there_afterwards() {
    let started = std::time::Instant::now();
    // One scenario is tried with every fault at every operation, and many others with samples.
    let every = Density { one_in: 1, second_one_in: 60, of_second_one_in: 4 };
    let sample = Density { one_in: 12, second_one_in: 250, of_second_one_in: 4 };
    let run = |seeds, density| {
        campaign::run_scenarios(seeds, density, Sabotage::Nothing).unwrap_or_else(|failure| panic!("{failure}"))
    };
    let mut tally = run(0..1, every);
    tally.add(&run(1..13, sample));
    println!("{tally}in {:?}", started.elapsed());
    let (histories, past_orders) = (tally.get(tally::HISTORIES), tally.get(tally::PAST_ORDERS));
    assert!(histories > 5_000 && past_orders > 20_000, "too few histories:\n{tally}");
    assert!(tally.points() > 5_000 && tally.get(tally::SECOND_FAULTS) > 1_000, "too few points:\n{tally}");
}

/// Runs points on a market that is broken on purpose until one fails. Returns the failure's message.
fn notices(sabotage: Sabotage) -> Result<u64, String> {
    let density = Density { one_in: 4, second_one_in: 1000, of_second_one_in: 4 };
    let mut points = 0;
    for seed in 0..20 {
        match campaign::run_scenarios([seed], density, sabotage) {
            Ok(tally) => points += tally.points(),
            Err(failure) => {
                println!("{sabotage:?}: noticed after {points} points: {failure}\n");
                return Ok(points);
            }
        }
    }
    Err(format!("{sabotage:?} went unnoticed in {points} points"))
}

#[test]
fn a_market_that_is_broken_on_purpose_is_noticed() {
    let broken = Sabotage::ALL.into_iter().filter(|sabotage| *sabotage != Sabotage::Nothing);
    let unnoticed: Vec<_> = broken.filter_map(|sabotage| notices(sabotage).err()).collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}
