//! Commands a second of the mixed flow, over several runs, each on an engine of its own. Done orders are taken every
//! 256 ops and forgotten 4,096 ops later, as a server with a history does, and this is measured, too.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

use engine::{AHEAD, DoneOrders, Engine};
use terms::{Execution, Op, OrderId, Sequence, Time};

use crate::flow::{self, Aim, Flow};

const RUNS: usize = 9;
const MEASURED: usize = 2_000_000;
const BATCH: usize = 256;
/// Batches after which what was taken is in the history.
const HISTORY_LAG: usize = 16;

/// Makes the flow, measures it, prints what came out.
pub fn report(name: &str, resting: usize) {
    for aim in [Aim::Any, Aim::MostlyRecent] {
        report_flow(name, flow::make(resting, 0, MEASURED, aim), aim);
    }
}

/// Makes one run for a profiler, or to be compared with another one, with this many resting orders and this many that
/// wait for a price.
pub fn run_once(resting: usize, waiting: usize) {
    let flow = flow::make(resting, waiting, MEASURED, Aim::Any);
    let (elapsed, on_cpu, hash) = run(&flow);
    println!(
        "{MEASURED} ops in {elapsed:?}, {on_cpu:?} on the processor, {} executions, state {hash:016x}",
        flow.counts.executions
    );
}

fn report_flow(name: &str, flow: Flow, aim: Aim) {
    let counts = &flow.counts;
    println!(
        "{name}, cancels and queries of {aim:?}: {MEASURED} ops, {} resting orders at first, {} at last",
        counts.open_before, counts.open_after
    );
    println!(
        "  {} new orders ({} of them executed at once, {} executions), {} cancels done, {} refused, {} queries, {} price levels",
        counts.placed,
        counts.crossed,
        counts.executions,
        counts.canceled,
        counts.refused,
        counts.queries,
        counts.levels
    );
    let mut hashes = Vec::new();
    let (mut rates, mut rates_on_cpu) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (elapsed, on_cpu, hash) = run(&flow);
        hashes.push(hash);
        rates.push(MEASURED as f64 / elapsed.as_secs_f64() / 1e6);
        rates_on_cpu.push(MEASURED as f64 / on_cpu.as_secs_f64() / 1e6);
    }
    assert!(hashes.windows(2).all(|pair| pair[0] == pair[1]), "every run ends in the same state");
    println!("  by the clock: {}", Summary::of(rates));
    println!("  by CPU time:  {}", Summary::of(rates_on_cpu));
}

/// Time by the clock, time that this thread was on a CPU (others may share the machine), and the state it ends in.
fn run(flow: &Flow) -> (Duration, Duration, u64) {
    let mut server = Server::new();
    server.serve(&flow.warm);
    let (started, started_on_cpu) = (Instant::now(), on_cpu());
    server.serve(&flow.measured);
    let (elapsed, elapsed_on_cpu) = (started.elapsed(), on_cpu() - started_on_cpu);
    (elapsed, elapsed_on_cpu, server.engine.state_hash())
}

fn on_cpu() -> Duration {
    let figures = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells a thread its CPU time");
    let nanoseconds = figures.split(' ').next().and_then(|figure| figure.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first figure is the time on a CPU"))
}

/// The part of a server around an engine that matters for its speed.
struct Server {
    engine: Engine,
    sequence: Sequence,
    executions: Vec<Execution>,
    /// Batches of taken orders that are on their way to the history.
    on_their_way: VecDeque<Vec<OrderId>>,
    recycled: Vec<Vec<OrderId>>,
}

impl Server {
    fn new() -> Server {
        Server {
            engine: Engine::new(0x5EED, DoneOrders::Keep),
            sequence: Sequence::ZERO,
            executions: Vec::new(),
            on_their_way: VecDeque::new(),
            recycled: Vec::new(),
        }
    }

    fn serve(&mut self, ops: &[Op]) {
        for batch in ops.chunks(BATCH) {
            self.executions.clear();
            for ahead in batch.chunks(AHEAD) {
                if self.engine.is_far() {
                    self.engine.look_ahead(ahead);
                }
                for op in ahead {
                    black_box(self.answer(op));
                }
            }
            self.take_and_forget();
        }
    }

    #[inline]
    fn answer(&mut self, op: &Op) -> terms::Reply {
        match op {
            Op::Command(command) => {
                self.sequence = self.sequence.next();
                let time = Time(self.sequence.0);
                self.engine.apply_command(self.sequence, time, command, &mut self.executions, &mut |_| {})
            }
            Op::Query(query) => self.engine.query(query, &mut self.executions),
        }
    }

    fn take_and_forget(&mut self) {
        let mut taken = self.recycled.pop().unwrap_or_default();
        self.engine.take_done(&mut |order| taken.push(order));
        self.on_their_way.push_back(taken);
        if self.on_their_way.len() > HISTORY_LAG {
            let mut kept = self.on_their_way.pop_front().unwrap_or_default();
            self.engine.forget_all(kept.drain(..));
            self.recycled.push(kept);
        }
    }
}

/// The result of several runs, in millions a second.
pub struct Summary {
    rates: Vec<f64>,
}

impl Summary {
    pub fn of(mut rates: Vec<f64>) -> Summary {
        rates.sort_by(f64::total_cmp);
        Summary { rates }
    }
}

impl std::fmt::Display for Summary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let runs = self.rates.len() as f64;
        let mean = self.rates.iter().sum::<f64>() / runs;
        let deviation = (self.rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (runs - 1.0)).sqrt();
        let (least, most) = (self.rates[0], self.rates[self.rates.len() - 1]);
        let median = self.rates[self.rates.len() / 2];
        write!(
            f,
            "median {median:.2} M/s, min {least:.2}, max {most:.2}, standard deviation {deviation:.2}, {runs} runs"
        )
    }
}
