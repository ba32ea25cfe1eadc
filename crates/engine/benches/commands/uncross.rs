//! The time for which the market stands still while one command is about many orders: an auction that ends, one order
//! that takes all that rests, and an execution that reaches many triggers. Events are counted, and dropped.

use std::time::Instant;

use engine::{DoneOrders, Engine};
use terms::{Command, Entry, Event, NewOrder, Op, Phase, Place, Price, Reply, Sequence, Shares, Side, Time, Trigger};

use crate::flow;

const MIDDLE: i64 = 100_000_000_000;
const TICK: i64 = 1_000_000;
const LIMITS: i64 = 1_000;
/// Between limits and triggers that are very many.
const TINY: i64 = 10_000;

pub fn report() {
    for orders in [10_000, 100_000, 1_000_000] {
        auction(orders, LIMITS);
        sweep(orders);
    }
    auction(500_000, 500_000);
    for triggers in [10_000, 100_000, 1_000_000] {
        reach(triggers);
    }
}

/// Measures an auction: `orders` orders of each side gather at `limits` limits, and all of them execute, in steps.
fn auction(orders: i64, limits: i64) {
    let mut market = Market::new();
    let phase = |phase| Command::ChangePhase { symbol: flow::symbol(0), phase, due: None };
    market.apply(phase(Phase::Auction));
    for nth in 0..orders {
        market.place(nth, Side::Buy, MIDDLE + nth % limits * TINY, 2 + nth % 7);
        market.place(nth + 1, Side::Sell, MIDDLE - nth % limits * TINY, 2 + nth % 5);
    }
    market.measure(&format!("an auction of {orders} orders of each side at {limits} limits ends"), phase(Phase::Open));
    while market.engine.next_auction_end().is_some() {
        market.measure("  the next step", Command::EndAuction);
    }
}

/// One execution reaches so many triggers, each at a price of its own.
fn reach(triggers: i64) {
    let mut market = Market::new();
    for nth in 0..triggers {
        let trigger = Trigger::from_below(Price::from_units(MIDDLE + (nth + 1) * TINY).expect("above zero"));
        let order = NewOrder { trigger: Some(trigger), ..order(Side::Buy, MIDDLE + (nth + 1) * TINY, 1) };
        let account = flow::account((nth % flow::ACCOUNTS as i64) as u32);
        let reply = market.apply(Command::Place(Place::order(account, order)));
        assert!(matches!(reply, Reply::Opened(_)), "it is placed");
    }
    let beyond = MIDDLE + 2 * triggers * TINY;
    market.place(1, Side::Sell, beyond, 1);
    let order = order(Side::Buy, beyond, 1);
    let command = Command::Place(Place::order(flow::account(2), order));
    market.measure(&format!("an execution reaches {triggers} triggers"), command);
    market.measure("  the next step", Command::ActivateReached);
}

/// One order takes so many.
fn sweep(orders: i64) {
    let mut market = Market::new();
    for nth in 0..orders {
        market.place(nth, Side::Sell, MIDDLE + nth % LIMITS * TICK, 2 + nth % 5);
    }
    let taker = order(Side::Buy, MIDDLE + LIMITS * TICK, 6 * orders);
    let command = Command::Place(Place::order(flow::account(9), taker));
    market.measure(&format!("one order takes {orders}"), command);
}

fn order(side: Side, limit: i64, shares: i64) -> NewOrder {
    let (limit, shares) = (Price::from_units(limit).expect("above zero"), Shares::from_units(shares).expect("some"));
    NewOrder::limit(flow::symbol(0), side, limit, shares)
}

struct Market {
    engine: Engine,
    sequence: Sequence,
}

impl Market {
    fn new() -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Drop), sequence: Sequence::ZERO };
        for op in flow::opening() {
            if let Op::Command(command) = op {
                market.apply(command);
            }
        }
        market
    }

    fn place(&mut self, whose: i64, side: Side, limit: i64, shares: i64) {
        let account = flow::account((whose % flow::ACCOUNTS as i64) as u32);
        let command = Command::Place(Place::order(account, order(side, limit, shares)));
        assert!(matches!(self.apply(command), Reply::Opened(_)), "it is placed");
    }

    fn apply(&mut self, command: Command) -> Reply {
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time: Time(self.sequence.0), command };
        self.engine.apply(&entry, &mut Vec::new(), &mut |_| {})
    }

    fn measure(&mut self, what: &str, command: Command) {
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time: Time(self.sequence.0), command };
        let (mut events, mut executions) = (0usize, 0usize);
        let started = Instant::now();
        self.engine.apply(&entry, &mut Vec::new(), &mut |event| {
            events += 1;
            executions += usize::from(matches!(event, Event::Executed { .. } | Event::Uncrossed { .. }));
        });
        let seconds = started.elapsed().as_secs_f64();
        let bytes = events * size_of::<Event>();
        println!(
            "{what}: {:.1} ms, {executions} executions, {:.0} ns each, {events} events of {:.1} MB",
            seconds * 1e3,
            seconds * 1e9 / executions as f64,
            bytes as f64 / 1e6
        );
    }
}
