//! Memory of open orders, and the speed at which a market is written down, read back, and replayed.
//! Linux only: resident memory is read from /proc.

use std::hint::black_box;
use std::time::Instant;

use engine::{DoneOrders, Engine, Importer};
use model::workload::Random;
use terms::{Command, Entry, NewOrder, Op, Place, Price, Sequence, Shares, Side, StateItem, Time, Trigger};

use crate::flow;
use crate::mix::Summary;

const ORDERS: usize = 5_000_000;
const SHAPES: [&str; 4] =
    ["1000-levels-a-side", "distinct-prices", "waiting-for-1000-prices-a-side", "waiting-for-distinct-prices"];
const RUNS: usize = 5;

/// Resident bytes for each open order. Each shape is measured in a process of its own, so that no freed memory of the
/// one before is reused.
pub fn report() {
    for shape in SHAPES {
        let program = std::env::current_exe().expect("the program has a path");
        let status = std::process::Command::new(program).args(["--shape", shape]).status();
        assert!(status.is_ok_and(|status| status.success()), "the measurement of {shape} failed");
    }
}

/// One shape, in this process.
pub fn report_shape(name: &str) {
    let mut market = Market::new();
    let before = resident_bytes();
    let started = Instant::now();
    market.rest(name);
    let elapsed = started.elapsed().as_secs_f64();
    let bytes = resident_bytes().saturating_sub(before) as f64 / ORDERS as f64;
    assert_eq!(market.engine.open_order_count(), ORDERS, "no order of the shape executes");
    println!("memory: {name}: {bytes:.1} bytes an open order, {ORDERS} orders");
    println!("  placed at {:.2} M/s, their making included", ORDERS as f64 / elapsed / 1e6);
}

/// The speed at which 5 million open orders are exported, hashed and imported, and commands are replayed.
pub fn report_import() {
    let mut market = Market::new();
    market.rest(SHAPES[0]);
    let mut items: Vec<StateItem> = Vec::with_capacity(ORDERS + 100_000);
    let rate = |started: Instant| ORDERS as f64 / started.elapsed().as_secs_f64() / 1e6;
    let started = Instant::now();
    market.engine.export(&mut |item| items.push(item));
    println!("export: {:.2} M open orders/s", rate(started));
    let started = Instant::now();
    let hash = market.engine.state_hash();
    println!("state hash: {:.2} M open orders/s", rate(started));
    drop(market);
    let mut rates = Vec::new();
    for _ in 0..RUNS {
        let started = Instant::now();
        let mut importer = Importer::new(1, DoneOrders::Keep);
        for item in &items {
            importer.add(*item).expect("what was exported is sound");
        }
        let engine = importer.finish().expect("what was exported is sound");
        rates.push(rate(started));
        assert_eq!(engine.state_hash(), hash, "an import has the hash of its export");
    }
    println!("import: open orders, {}", Summary::of(rates));
    report_replay();
}

/// The commands of the mixed flow, without its queries, applied from an empty exchange.
fn report_replay() {
    let flow = flow::make(10_000, 0, 2_000_000, flow::Aim::Any);
    let commands = flow.warm.iter().chain(&flow.measured).filter_map(|op| match op {
        Op::Command(command) => Some(*command),
        Op::Query(_) => None,
    });
    let entries: Vec<Entry> =
        (1..).zip(commands).map(|(n, command)| Entry { sequence: Sequence(n), time: Time(n), command }).collect();
    let mut rates = Vec::new();
    for _ in 0..RUNS {
        let mut engine = Engine::new(1, DoneOrders::Drop);
        let mut executions = Vec::new();
        let started = Instant::now();
        for entry in &entries {
            executions.clear();
            black_box(engine.apply(entry, &mut executions, &mut |_| {}));
        }
        rates.push(entries.len() as f64 / started.elapsed().as_secs_f64() / 1e6);
    }
    println!("replay: {} commands of mix-10k, done orders dropped, {}", entries.len(), Summary::of(rates));
}

/// An engine with accounts and symbols, and the orders that are put on it.
struct Market {
    engine: Engine,
    sequence: Sequence,
    random: Random,
}

impl Market {
    fn new() -> Market {
        let engine = Engine::new(1, DoneOrders::Keep);
        let mut market = Market { engine, sequence: Sequence::ZERO, random: Random::new(1) };
        for op in flow::opening() {
            let Op::Command(command) = op else { panic!("the opening has no queries") };
            market.apply(command);
        }
        market
    }

    fn apply(&mut self, command: Command) {
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time: Time(self.sequence.0), command };
        black_box(self.engine.apply(&entry, &mut Vec::new(), &mut |_| {}));
    }

    /// Puts 5 million orders on one symbol, none of which executes, their prices scattered.
    fn rest(&mut self, shape: &str) {
        let levels = match SHAPES.iter().position(|&known| known == shape) {
            Some(0 | 2) => 1_000,
            Some(_) => ORDERS / 2,
            None => panic!("shapes are {SHAPES:?}"),
        };
        // A step without a common factor with the levels, so that each of them is visited once a round.
        let step = levels / 10 * 6 + 1;
        let mut away = 0;
        for nth in 0..ORDERS {
            let side = if nth % 2 == 0 { Side::Buy } else { Side::Sell };
            if side == Side::Buy {
                away = (away + step) % levels;
            }
            let cents = 10_000_000
                + match side {
                    Side::Buy => -1 - away as i64,
                    Side::Sell => 1 + away as i64,
                };
            let account = flow::account(self.random.below(flow::ACCOUNTS) as u32);
            let limit = Price::from_units(cents * 1_000_000).expect("above zero");
            let shares = Shares::from_units(100_000_000).expect("above zero");
            let order = NewOrder::limit(flow::symbol(0), side, limit, shares);
            let order = match shape.starts_with("waiting") {
                true => order.triggered_by(Trigger::take_profit(side, limit)),
                false => order,
            };
            self.apply(Command::Place(Place::order(account, order)));
        }
    }
}

/// Memory of this process that is in RAM.
fn resident_bytes() -> u64 {
    const PAGE_BYTES: u64 = 4096;
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells a process its memory");
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok());
    pages.expect("the second figure is the resident pages") * PAGE_BYTES
}
