//! The time for which the market stands still while one execution reaches a million orders that wait for a price, until
//! all of them have had their turn.

use std::hint::black_box;
use std::time::Instant;

use engine::{Command, DoneOrders, Engine, Entry, NewOrder, Op, Price, Reply, Sequence, Shares, Side, Time, Trigger};

use crate::flow;

const STOPS: i64 = 1_000_000;

pub fn report() {
    report_stops("at prices of their own", &|nth| nth);
    report_stops("at one price", &|_| 0);
}

/// Has stops wait at these distances above a price, and executes above all of them.
fn report_stops(what: &str, distance: &dyn Fn(i64) -> i64) {
    let mut market = Market { engine: Engine::new(1, DoneOrders::Drop), sequence: Sequence::ZERO };
    for op in flow::opening() {
        let Op::Command(command) = op else { panic!("the opening has no queries") };
        market.apply(command);
    }
    let order = |side, limit: i64| {
        let (limit, shares) = (Price::from_units(limit).expect("above zero"), Shares::MIN);
        NewOrder::limit(flow::symbol(0), side, limit, shares)
    };
    for nth in 0..STOPS {
        let trigger = Trigger::from_below(Price::from_units(1_000 + distance(nth)).expect("above zero"));
        market.place(order(Side::Buy, 1).triggered_by(trigger));
    }
    market.place(order(Side::Sell, 1_000 + STOPS));
    let (mut steps, mut sum, mut most, mut events) = (0usize, 0f64, 0f64, 0usize);
    let mut note = |(ms, told): (f64, usize)| {
        (steps, sum, most, events) = (steps + 1, sum + ms, most.max(ms), events.max(told));
    };
    note(market.place(order(Side::Buy, 1_000 + STOPS)));
    while market.engine.reached_orders() > 0 {
        note(market.apply(Command::ActivateReached));
    }
    println!(
        "triggers: {STOPS} stops {what}: {steps} commands, {sum:.1} ms, {most:.1} ms and {events} events at most in one"
    );
}

struct Market {
    engine: Engine,
    sequence: Sequence,
}

impl Market {
    fn place(&mut self, order: NewOrder) -> (f64, usize) {
        self.apply(Command::PlaceOrder { account: flow::account(0), order, client_id: None, until: None })
    }

    /// Applies a command. Returns its time in ms, and the number of its events.
    fn apply(&mut self, command: Command) -> (f64, usize) {
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time: Time(self.sequence.0), command };
        let (started, mut events) = (Instant::now(), 0);
        let reply = self.engine.apply(&entry, &mut Vec::new(), &mut |event| {
            black_box(event);
            events += 1;
        });
        assert!(!matches!(reply, Reply::Rejected(_)), "{reply:?}");
        (started.elapsed().as_secs_f64() * 1e3, events)
    }
}
