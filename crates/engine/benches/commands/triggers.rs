//! The time for which the market stands still while one execution reaches a million orders that wait for a price, until
//! all of them have had their turn; the time of one turn whose executions all move as many triggers as they can; and
//! the time in which one price moves triggers in as many groups as there are.

use std::hint::black_box;
use std::time::Instant;

use engine::{DoneOrders, Engine};
use slots::Following;
use terms::{
    AccountId, Command, Entry, NewOrder, Op, OrderKind, Place, Price, Reply, Sequence, Shares, Side, TRAILING_MAX,
    TRAILING_OF_ACCOUNT_MAX, Time, Trail, Trigger,
};

use crate::flow;

const STOPS: i64 = 1_000_000;

pub fn report() {
    report_stops("at prices of their own", &|nth| nth);
    report_stops("at one price", &|_| 0);
    for trailing in [0, TRAILING_MAX / 10, TRAILING_MAX] {
        report_moves(trailing);
    }
    report_ends();
    report_groups();
}

/// Has as many orders follow the price of a symbol as may, each from a best price of its own, and executes once: at a
/// price that ends the following of all, or at one that takes all their groups into one.
fn report_ends() {
    for (what, price) in [("ends the following of", 1), ("takes into one group", 300_000)] {
        let mut market = Market::new();
        let execute = |market: &mut Market, units: i64| {
            let limit = Price::from_units(units).expect("above zero");
            market.place(NewOrder::limit(flow::symbol(0), Side::Buy, limit, Shares::MIN));
            market.place(NewOrder::limit(flow::symbol(0), Side::Sell, limit, Shares::MIN))
        };
        for units in (0..TRAILING_MAX as i64).map(|nth| 200_000 - nth) {
            execute(&mut market, units);
            let (symbol, any) = (flow::symbol(0), Side::Sell.any_price());
            let order = NewOrder::of_kind(OrderKind::Market, symbol, Side::Sell, any, Shares::MIN);
            let trail = Trail::by(Price::from_units(100_000).expect("above zero"));
            let account = follower(units.unsigned_abs() as usize);
            market.apply(Command::Place(Place::trailing(account, order, trail).expect("it has no trigger")));
        }
        let (ms, events) = execute(&mut market, price);
        println!("moves: one execution that {what} {TRAILING_MAX} orders takes {ms:.3} ms, with {events} events");
    }
}

/// Has 100,000 orders follow the price from as many best prices, a hundred times what a symbol allows, and moves all of
/// them with one price; and has 1,000 orders at parts of the price stay, because the step is rounded away.
fn report_groups() {
    const FOLLOWING: u32 = 100_000;
    let price = |units: u32| Price::from_units(units.into()).expect("above zero");
    let mut following = Following::new(Side::Sell);
    for nth in 0..FOLLOWING {
        following.insert(nth, Trail::by(price(1 + nth % 977)), price(1_000 + nth));
    }
    let (start, mut told) = (Instant::now(), 0usize);
    assert!(following.follow(price(1_000 + 2 * FOLLOWING), |_, _| told += 1));
    let merged = start.elapsed();
    let start = Instant::now();
    let mut taken = 0usize;
    following.take_reached(price(1), |_, _| taken += 1);
    assert_eq!(black_box(taken), FOLLOWING as usize);
    let reached = start.elapsed();
    for nth in 0..1_000 {
        let trail = Trail::by_bips(9_000 + nth).expect("a part of the price");
        following.insert(nth.into(), trail, price(10_000));
    }
    let start = Instant::now();
    assert!(!following.follow(price(10_000 + 1), |_, _| ()), "a step of one moves none of them");
    let stayed = start.elapsed();
    println!(
        "groups: {FOLLOWING} groups of one order merge with one price in {merged:.1?} ({told} orders told), and all are \
         reached in {reached:.1?}; 1,000 orders that stay are asked in {stayed:.1?}"
    );
}

/// The account of an order that follows: one alone may not have so many.
fn follower(nth: usize) -> AccountId {
    flow::account((nth % (TRAILING_MAX / TRAILING_OF_ACCOUNT_MAX)) as u32)
}

/// The orders of one request.
const ORDERS: i64 = 10_000;

/// Has orders follow the price, and sells one share at each of many prices, each lower than all before it. All sells
/// come in one turn.
fn report_moves(trailing: usize) {
    let mut market = Market::new();
    let order = |side, limit: i64| {
        NewOrder::limit(flow::symbol(0), side, Price::from_units(limit).expect("above zero"), Shares::MIN)
    };
    let above = 1_000_000;
    market.place(order(Side::Buy, above));
    market.place(order(Side::Sell, above));
    for nth in 0..trailing {
        let order =
            NewOrder::of_kind(OrderKind::Market, flow::symbol(0), Side::Buy, Side::Buy.any_price(), Shares::MIN);
        let trail = Trail::by(Price::from_units(above).expect("above zero"));
        let trailing = Place::trailing(follower(nth), order, trail).expect("it has no trigger");
        market.apply(Command::Place(trailing));
    }
    for nth in 1..=ORDERS {
        market.place(order(Side::Buy, above - nth));
    }
    market.turn = Some(Time(market.sequence.0 + 1));
    let ms: f64 = (1..=ORDERS).map(|nth| market.place(order(Side::Sell, above - nth)).0).sum();
    let left = market.engine.reached_orders();
    let (mut steps, mut sum, mut most) = (0, 0f64, 0f64);
    while market.engine.reached_orders() > 0 {
        let (ms, _) = market.apply(Command::ActivateReached);
        (steps, sum, most) = (steps + 1, sum + ms, most.max(ms));
    }
    println!(
        "moves: a turn of {ORDERS} sells at new lows beside {trailing} orders that follow: {ms:.1} ms, and {left} sells \
         wait; they take {steps} commands, {sum:.1} ms, {most:.1} ms at most in one"
    );
}

/// Has stops wait at these distances above a price, and executes above all of them.
fn report_stops(what: &str, distance: &dyn Fn(i64) -> i64) {
    let mut market = Market::new();
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
    /// The time of all commands; none if each has its own.
    turn: Option<Time>,
}

impl Market {
    fn new() -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Drop), sequence: Sequence::ZERO, turn: None };
        for op in flow::opening() {
            let Op::Command(command) = op else { panic!("the opening has no queries") };
            market.apply(command);
        }
        market
    }

    fn place(&mut self, order: NewOrder) -> (f64, usize) {
        self.apply(Command::Place(Place::order(flow::account(0), order)))
    }

    /// Applies a command. Returns its time in ms, and the number of its events.
    fn apply(&mut self, command: Command) -> (f64, usize) {
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time: self.turn.unwrap_or(Time(self.sequence.0)), command };
        let (started, mut events) = (Instant::now(), 0);
        let reply = self.engine.apply(&entry, &mut Vec::new(), &mut |event| {
            black_box(event);
            events += 1;
        });
        assert!(!matches!(reply, Reply::Rejected(_)), "{reply:?}");
        (started.elapsed().as_secs_f64() * 1e3, events)
    }
}
