//! The journal, snapshots and archive under a market that lives on a simulated disk: every operation of the disk fails,
//! lies or loses power in turn, and what was acknowledged is there afterwards. The long form: `examples/simulate.rs`.
//!
//! It brings its own `main`: threads that a panic of the archive's database has stopped stand in the panic hook for ever, and
//! the usual test runner waits for that hook before it ends.

#![allow(clippy::unwrap_used)]

#[path = "simulation/mod.rs"]
mod simulation;

use simulation::campaign::{self, Density};
use simulation::node::Done;
use simulation::point;
use simulation::process::Sabotage;
use simulation::apart;
use simulation::tally::{self, Tally};

fn a_life_without_faults_is_as_the_model_says_and_the_same_every_time() {
    let mut sum = Tally::default();
    for seed in 0..40 {
        let (kinds, tally) =
            point::calm_life(seed, Sabotage::Nothing).unwrap_or_else(|what| panic!("seed {seed}: {what}"));
        let (again, _) = point::calm_life(seed, Sabotage::Nothing).unwrap();
        assert!(kinds == again, "seed {seed}: the disk is asked differently the second time");
        sum.add(&tally);
    }
    println!("{sum}");
    let Done { archived_answers, rotations, snapshots, retired } = sum.done();
    assert!(
        archived_answers > 500 && rotations > 100 && snapshots > 50 && retired > 50,
        "too little happens: {:?}",
        sum.done
    );
}

fn a_point_comes_out_the_same_every_time() {
    let density = Density { one_in: 60, second_one_in: 300, of_second_one_in: 30 };
    for seed in 0..6 {
        let (points, _) = campaign::points_of(seed, density, Sabotage::Nothing).unwrap();
        for point in points.iter().filter(|point| !point.needs_a_process()) {
            let tries = [(); 2].map(|()| campaign::try_point(point).unwrap_or_else(|failure| panic!("{failure}")));
            assert!(tries[0] == tries[1], "{point}: {:?} and then {:?}", tries[0], tries[1]);
        }
    }
}

fn whatever_the_disk_does_what_was_acknowledged_is_there_afterwards() {
    let started = std::time::Instant::now();
    // One scenario with every fault at every operation, and samples of many.
    let every = Density { one_in: 1, second_one_in: 160, of_second_one_in: 4 };
    let sample = Density { one_in: 12, second_one_in: 500, of_second_one_in: 4 };
    let run = |seeds, density| {
        campaign::run_scenarios(seeds, density, Sabotage::Nothing).unwrap_or_else(|failure| panic!("{failure}"))
    };
    let mut tally = run(0..1, every);
    tally.add(&run(1..13, sample));
    println!("{tally}in {:?}", started.elapsed());
    assert!(tally.points() > 5_000 && tally.get(tally::SECOND_FAULTS) > 1_000, "too few points:\n{tally}");
}

/// Runs points on a market that is broken on purpose until one fails, and gives what it said.
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

fn a_market_that_is_broken_on_purpose_is_noticed() {
    let broken = Sabotage::ALL.into_iter().filter(|sabotage| *sabotage != Sabotage::Nothing);
    let unnoticed: Vec<_> = broken.filter_map(|sabotage| notices(sabotage).err()).collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
}

/// Runs the tests whose names hold one of the words given, or all, and says how they went as the usual runner does.
fn main() {
    let tests: [(&str, fn()); 4] = [
        (
            "a_life_without_faults_is_as_the_model_says_and_the_same_every_time",
            a_life_without_faults_is_as_the_model_says_and_the_same_every_time,
        ),
        ("a_point_comes_out_the_same_every_time", a_point_comes_out_the_same_every_time),
        (
            "whatever_the_disk_does_what_was_acknowledged_is_there_afterwards",
            whatever_the_disk_does_what_was_acknowledged_is_there_afterwards,
        ),
        ("a_market_that_is_broken_on_purpose_is_noticed", a_market_that_is_broken_on_purpose_is_noticed),
    ];
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (chosen, left): (Vec<_>, Vec<_>) = tests
        .into_iter()
        .partition(|(name, _)| words.is_empty() || words.iter().any(|word| name.contains(word.as_str())));
    println!("\nrunning {} tests", chosen.len());
    let running: Vec<_> = chosen
        .into_iter()
        .map(|(name, test)| (name, std::thread::Builder::new().name(name.to_string()).spawn(test).unwrap()))
        .collect();
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in running {
        let is_ok = test.join().is_ok();
        *if is_ok { &mut passed } else { &mut failed } += 1;
        println!("test {name} ... {}", if is_ok { "ok" } else { "FAILED" });
    }
    let result = if failed == 0 { "ok" } else { "FAILED" };
    println!(
        "\ntest result: {result}. {passed} passed; {failed} failed; 0 ignored; 0 measured; {} filtered out\n",
        left.len()
    );
    std::process::exit(if failed == 0 { 0 } else { 101 });
}

#[test]
fn a_point_runs_in_a_process_of_its_own_when_it_is_told_so() {
    apart::run_if_told();
}
