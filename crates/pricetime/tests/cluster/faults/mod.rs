//! A cluster of real processes under a seeded schedule of faults, and clients of all its nodes: after each episode
//! their answers must be those of one market, every node must have it, and nothing may be lost or done twice.

mod fault;
mod log;
mod node;
mod pair;
mod stage;
mod trader;
mod verdict;
mod world;
mod wrong_histories;

use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use fault::Fault;
use model::workload::Random;
use stage::{NODES, Stage};
use trader::Trader;
use world::World;

const TRADERS: usize = 6;
/// The number of episodes of one cluster. The log of the next one is empty.
const EPISODES: usize = 25;

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// Makes a library in this folder that shows a process a wrong time.
pub fn clock_library(folder: &Path) -> PathBuf {
    node::clock(&folder.join("clock.so")).to_owned()
}

/// Draws another seed each time. A failure names it.
fn drawn_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// Prints the command that repeats the episode, and the failure.
struct Named(u64);

impl Drop for Named {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let faults = Fault::draw(&mut Random::new(self.0));
            eprintln!("seed {} failed, {faults:?}: PRICETIME_SEED={} PRICETIME_EPISODES=1", self.0, self.0);
        }
    }
}

/// Plays one episode, and returns the line that describes it.
fn play(world: &mut World, episode: usize, seed: u64) -> String {
    let begun = Instant::now();
    let mut random = Random::new(seed);
    let stage = Stage::new(episode, world.targets());
    world.prepare(&stage);
    let faults = Fault::draw(&mut random);
    std::thread::scope(|scope| {
        for trader in 0..TRADERS {
            let trader = Trader::new(&stage, random.any(), trader % NODES);
            scope.spawn(move || trader.run());
        }
        // The traders also end when this panics.
        let _ends = stage.ending();
        for fault in &faults {
            std::thread::sleep(Fault::pause(&mut random) / 2);
            fault.strike(world, &mut random);
        }
        std::thread::sleep(Fault::pause(&mut random));
        world.heal(&stage);
        // Some calls follow with everything restored.
        let calls = stage.calls();
        crate::common::wait::wait_until("the market goes on", crate::common::server::PATIENCE, || {
            stage.pair().is_none() || stage.calls() >= calls + 60
        });
    });
    world.settle();
    let (calls, open) = verdict::check(&stage, world);
    world.compare();
    let (waited, took) = (stage.longest_wait_ms(), begun.elapsed().as_secs_f32());
    format!("{calls:4} calls, of {open} nobody knows; longest wait {waited:5} ms; {took:4.1} s: {faults:?}")
}

#[test]
fn whatever_goes_wrong_what_nodes_tell_is_what_one_market_would() {
    let episodes = usize::try_from(number("PRICETIME_EPISODES").unwrap_or(20)).unwrap();
    let seed = number("PRICETIME_SEED").unwrap_or_else(drawn_seed);
    let mut world = World::start();
    for episode in 0..episodes {
        if episode > 0 && episode % EPISODES == 0 {
            world = World::start();
        }
        let seed = seed + episode as u64;
        let named = Named(seed);
        let line = play(&mut world, episode, seed);
        println!("seed {seed}: {line}");
        drop(named);
    }
    println!("{episodes} episodes");
}
