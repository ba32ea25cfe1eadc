//! Measures how long the feed takes to follow a mixed flow of commands, beside the time to apply it: with and without
//! history files. The engine and the view take turns, so each finds the caches as the other leaves them.
//!
//! `cargo bench -p feed --bench follow -- [--resting N] [--turn N] [--runs N]`
#![allow(clippy::arithmetic_side_effects, clippy::float_arithmetic)]

// The flow with which the engine is measured.
#[allow(dead_code)]
#[path = "../../engine/benches/commands/flow.rs"]
mod flow;

use std::time::{Duration, Instant};

use engine::{AHEAD, DoneOrders, Engine};
use exchange::EventBatch;
use feed::{History, View};
use terms::{Execution, Op, OrderId, Sequence, Time};

const MEASURED: usize = 1_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let setting = |name: &str, usual: usize| match arguments.iter().position(|argument| argument == name) {
        Some(at) => arguments.get(at + 1).and_then(|value| value.parse().ok()).expect("a number behind its name"),
        None => usual,
    };
    let (resting, turn, runs) = (setting("--resting", 10_000), setting("--turn", 25), setting("--runs", 5));
    let flow = flow::make(resting, 0, MEASURED, flow::Aim::Any);
    println!("{MEASURED} ops in turns of {turn}, {resting} orders resting; nanoseconds an op");
    for with_history in [false, true] {
        let (mut applying, mut following) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            let (engine, feed) = run(&flow, turn, with_history);
            applying.push(engine.as_nanos() as f64 / MEASURED as f64);
            following.push(feed.as_nanos() as f64 / MEASURED as f64);
        }
        let history = if with_history { "with" } else { "without" };
        println!("  {history} history: engine {}, feed {}", spread(applying), spread(following));
    }
}

/// Measures the time in the engine and in the feed.
fn run(flow: &flow::Flow, turn: usize, with_history: bool) -> (Duration, Duration) {
    let folder = tempfile::tempdir().expect("a folder for the history");
    let mut both = Both::new();
    let disk = journal::Disk::open(folder.path()).expect("a folder for the history");
    let mut history = with_history.then(|| History::open(&disk, &both.engine).expect("a new history"));
    for ops in flow.warm.chunks(turn) {
        both.turn(ops, &mut history);
    }
    (both.applying, both.following) = (Duration::ZERO, Duration::ZERO);
    for ops in flow.measured.chunks(turn) {
        both.turn(ops, &mut history);
    }
    (both.applying, both.following)
}

struct Both {
    engine: Engine,
    view: View,
    executions: Vec<Execution>,
    done: Vec<OrderId>,
    applying: Duration,
    following: Duration,
}

impl Both {
    fn new() -> Both {
        let engine = Engine::new(0x5EED, DoneOrders::Keep);
        let view = View::new(&engine, None);
        let (executions, done) = (Vec::new(), Vec::new());
        Both { engine, view, executions, done, applying: Duration::ZERO, following: Duration::ZERO }
    }

    fn turn(&mut self, ops: &[Op], history: &mut Option<History>) {
        let begun = Instant::now();
        let mut events = EventBatch::default();
        for ahead in ops.chunks(AHEAD) {
            if self.engine.is_far() {
                self.engine.look_ahead(ahead);
            }
            ahead.iter().for_each(|op| self.answer(op, &mut events));
        }
        events.seal(self.engine.sequence(), self.engine.time());
        self.engine.take_done(&mut |order| self.done.push(order));
        self.engine.forget_all(self.done.drain(..));
        let applied = Instant::now();
        self.view.apply(&events);
        if let Some(history) = history {
            history.follow(&events).expect("the history's disk works");
        }
        self.applying += applied - begun;
        self.following += applied.elapsed();
    }

    fn answer(&mut self, op: &Op, events: &mut EventBatch) {
        self.executions.clear();
        match op {
            Op::Command(command) => {
                let sequence = Sequence(self.engine.sequence().0 + 1);
                let note = &mut |event| events.add(sequence, event);
                self.engine.apply_command(sequence, Time(sequence.0), command, &mut self.executions, note);
            }
            Op::Query(query) => drop(self.engine.query(query, &mut self.executions)),
        }
    }
}

fn spread(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    format!("{:.0} ({:.0}-{:.0})", times[times.len() / 2], times[0], times[times.len() - 1])
}
