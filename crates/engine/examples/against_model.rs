//! The engine against the naive model for as long as one likes.
//!
//! `cargo run --profile ci -p engine --example against_model -- --commands 10000000 --seed 1` compares this many
//! commands and queries and prints the situations that it met; `--market SEED` replays the one market that a failure
//! named.
#![allow(clippy::arithmetic_side_effects, clippy::wildcard_enum_match_arm)]

#[path = "../tests/common/mod.rs"]
#[allow(dead_code, reason = "single tests play commands by hand")]
mod common;

use std::time::{Duration, Instant};

use common::Market;
use common::situations::Situations;

const USAGE: &str = "usage: against_model [--commands COUNT] [--seed SEED] | --market SEED";

fn main() {
    let mut commands = 1_000_000;
    let mut seed = 1;
    let mut market = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(flag) = arguments.next() {
        let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
        match (flag.as_str(), value) {
            ("--commands", Some(value)) => commands = value,
            ("--seed", Some(value)) => seed = value,
            ("--market", Some(value)) => market = Some(value),
            _ => {
                eprintln!("{USAGE}");
                std::process::exit(2);
            }
        }
    }
    let started = Instant::now();
    let situations = match market {
        Some(seed) => {
            let mut situations = Situations::new();
            Market::of_seed(seed).run(&mut situations);
            situations
        }
        None => {
            let mut told = Instant::now();
            common::run(seed, commands, &mut |done| {
                if told.elapsed() > Duration::from_secs(5) {
                    told = Instant::now();
                    eprintln!("{done} of {commands} compared, {} s", started.elapsed().as_secs());
                }
            })
        }
    };
    print!("{situations}");
    println!("no difference; {} s", started.elapsed().as_secs());
    let missed = situations.rarer_than(1);
    if market.is_none() && !missed.is_empty() {
        println!("never met: {missed:?}");
        std::process::exit(1);
    }
}
