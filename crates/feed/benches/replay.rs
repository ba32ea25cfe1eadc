//! Measures how long the history takes to find the reports of an account with very many orders, half of them canceled
//! and a quarter executed: all of them, and the last few; and to settle a history whose orders are all open.
//!
//! `cargo bench -p feed --bench replay -- [--orders N] [--open N]`
#![allow(clippy::arithmetic_side_effects, clippy::float_arithmetic, clippy::wildcard_enum_match_arm)]

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use engine::{DoneOrders, Engine};
use exchange::EventBatch;
use feed::{History, ReportKey, View};
use terms::{
    AccountId, Command, DOLLAR, Event, Money, NewOrder, OrderId, Place, Position, Price, Reply, Sequence, Shares, Side,
    StateItem, Symbol, Time,
};

/// Commands of a turn.
const TURN: usize = 25;
/// Records that the server looks at in one step.
const RECORDS_AT_ONCE: usize = 512;
/// Orders that are to be canceled and are not yet.
const LIFE: usize = 1000;
const SHARE: i64 = 100_000_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let setting = |name: &str, usual: u64| match arguments.iter().position(|argument| argument == name) {
        Some(at) => arguments.get(at + 1).and_then(|value| value.parse().ok()).expect("a number behind its name"),
        None => usual,
    };
    replays(setting("--orders", 2_000_000));
    settles(setting("--open", 1_000_000));
}

fn replays(orders: u64) {
    let folder = tempfile::tempdir().expect("a folder for the history");
    let mut market = Market::new(folder.path());
    let mut canceled_later = VecDeque::new();
    for number in 0..orders {
        match number % 4 {
            0 => drop(market.place(ours(), Side::Buy, 100)),
            1 => {
                market.place(ours(), Side::Buy, 101);
                market.place(theirs(), Side::Sell, 101);
            }
            _ => canceled_later.push_back(market.place(ours(), Side::Buy, 100)),
        }
        if canceled_later.len() > LIFE
            && let Some(order) = canceled_later.pop_front()
        {
            market.apply(Command::CancelOrder { account: ours(), order: order.into() });
        }
    }
    market.turn();
    let (history, view) = (&market.history, &market.view);
    let account = view.find_account(ours()).expect("it was created");
    let through = view.sequence();
    println!("an account with {orders} orders, {through} commands in all");
    for (name, from) in [("from 0", 0), ("from 1,000 commands before the last", through.0 - 1000)] {
        let begun = Instant::now();
        let mut first = None;
        let mut reports = 0_u64;
        let mut next = Some(history.sweep(account, ReportKey::after(Sequence(from)), through));
        while let Some(mut sweep) = next {
            while history.sweep_on(&mut sweep, RECORDS_AT_ONCE).expect("a history that can be read") {}
            let (keys, more) = sweep.finish();
            for key in keys {
                std::hint::black_box(history.report(key).expect("a history that can be read"));
                first.get_or_insert_with(|| begun.elapsed());
                reports += 1;
            }
            next = more;
        }
        let all = begun.elapsed();
        println!(
            "  {name}: {reports} reports, the first after {:.2} ms, all after {:.2} ms: {:.0} a second",
            milliseconds(first.unwrap_or_default()),
            milliseconds(all),
            reports as f64 / all.as_secs_f64()
        );
    }
}

fn settles(open: u64) {
    let folder = tempfile::tempdir().expect("a folder for the history");
    let mut market = Market::new(folder.path());
    for _ in 0..open {
        market.place(ours(), Side::Buy, 100);
    }
    market.turn();
    let Market { engine, mut history, .. } = market;
    history.checkpoint().expect("the history's disk works");
    drop(history);
    let disk = journal::Disk::open(folder.path()).expect("a folder for the history");
    let mut history = History::open(&disk, &engine).expect("the history that was written");
    let mut orders = Vec::new();
    engine.export(&mut |item| {
        if let StateItem::Order { order, .. } = item {
            orders.push(order);
        }
    });
    let begun = Instant::now();
    let taken_back = history.settle(orders).expect("a history that can be read");
    println!("{open} open orders settled in {:.0} ms, {taken_back} taken back", milliseconds(begun.elapsed()));
}

/// An engine with two accounts, and a history that follows it.
struct Market {
    engine: Engine,
    view: View,
    history: History,
    events: EventBatch,
    commands: usize,
}

impl Market {
    fn new(folder: &Path) -> Market {
        let engine = Engine::new(0x5EED, DoneOrders::Keep);
        let disk = journal::Disk::open(folder).expect("a folder for the history");
        let history = History::open(&disk, &engine).expect("a new history");
        let view = View::new(&engine, Some(&history));
        let mut market = Market { engine, view, history, events: EventBatch::default(), commands: 0 };
        market.apply(Command::CreateSymbol { symbol: symbol() });
        for account in [ours(), theirs()] {
            market.apply(Command::CreateAccount { account, balance: Money::from_units(10i128.pow(15) * DOLLAR) });
            let shares = Position::from_units(10i128.pow(18));
            market.apply(Command::IssueShares { symbol: symbol(), account, shares });
        }
        market
    }

    fn place(&mut self, account: AccountId, side: Side, dollars: i64) -> OrderId {
        let limit = Price::from_units(dollars * SHARE).expect("a price");
        let shares = Shares::from_units(SHARE).expect("a number of shares");
        match self.apply(Command::Place(Place::order(account, NewOrder::limit(symbol(), side, limit, shares)))) {
            Reply::Opened(order) => order,
            refused => panic!("{refused:?}"),
        }
    }

    fn apply(&mut self, command: Command) -> Reply {
        let sequence = self.engine.sequence().next();
        let events = &mut self.events;
        let note = &mut |event: Event| events.add(sequence, event);
        let reply = self.engine.apply_command(sequence, Time(sequence.0), &command, &mut Vec::new(), note);
        self.commands += 1;
        if self.commands.is_multiple_of(TURN) {
            self.turn();
        }
        reply
    }

    fn turn(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        events.seal(self.engine.sequence(), self.engine.time());
        self.view.apply(&events);
        self.history.follow(&events).expect("the history's disk works");
    }
}

fn ours() -> AccountId {
    AccountId::parse(b"1").expect("digits")
}

fn theirs() -> AccountId {
    AccountId::parse(b"2").expect("digits")
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").expect("letters")
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
