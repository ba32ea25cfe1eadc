//! Measures what sealing old parts of a history saves and costs under a load of which half executes: bytes per order
//! with its trades before and after, the time of sealing, and the time of an order, a page and a replay from plain and
//! from sealed parts.
//!
//! `cargo bench -p feed --bench sealing -- [--orders N] [--accounts N]`
#![allow(clippy::arithmetic_side_effects, clippy::float_arithmetic, clippy::wildcard_enum_match_arm)]

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use engine::{DoneOrders, Engine};
use exchange::EventBatch;
use feed::{History, ReportKey, View};
use history::{HISTORY_FOLDER, verify};
use journal::Disk;
use model::workload::Random;
use terms::{
    AccountId, AccountIndex, ClientOrderId, Command, DOLLAR, Event, Money, NewOrder, OrderId, Place, Position, Price,
    Reply, Sequence, Shares, Side, Symbol, Time,
};

/// Commands of a turn, which share their time.
const TURN: usize = 25;
const TURN_US: u64 = 200;
const SYMBOLS: u64 = 20;
/// Orders that are to be canceled if they are still open then.
const LIFE: usize = 20_000;
/// One order of this many has a client order id.
const NAMED: u64 = 8;
const SHARE: i64 = 100_000_000;
const CENT: i64 = 1_000_000;
/// Questions of each kind.
const ASKED: u64 = 300;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let setting = |name: &str, usual: u64| match arguments.iter().position(|argument| argument == name) {
        Some(at) => arguments.get(at + 1).and_then(|value| value.parse().ok()).expect("a number behind its name"),
        None => usual,
    };
    let (orders, accounts) = (setting("--orders", 2_000_000), setting("--accounts", 1000));
    let folder = tempfile::tempdir().expect("a folder for the history");
    let mut market = Market::new(folder.path(), accounts);
    market.trade(orders);
    let Market { view, history, random, .. } = &mut market;
    history.checkpoint().expect("the history's disk works");
    let trades = history.next_trade() - 1;
    println!(
        "{orders} orders of {accounts} accounts, {trades} trades; {} are open, {:.0}% executed",
        view.open_orders(),
        executed(history, orders) * 100.0
    );
    let plain = Files::of(folder.path());
    println!("plain: {:.1} bytes an order with its trades", plain.all() / orders as f64);
    let mut asked =
        LookedUpOrder { random: Random::new(random.below(1 << 30) as u64), orders, accounts, through: view.sequence() };
    asked.ask("plain", history);
    let (mut steps, mut longest, begun) = (0_u64, Duration::ZERO, Instant::now());
    loop {
        let step = Instant::now();
        if !history.tend(view.time()) {
            break;
        }
        steps += 1;
        longest = longest.max(step.elapsed());
    }
    let took = begun.elapsed();
    let sealed = Files::of(folder.path());
    let parts = sealed.sealed_orders_files as u64;
    let (in_parts, of_trades) = (parts << 18, (sealed.sealed_trades_files as u64) << 18);
    println!(
        "sealed: {parts} parts of orders in {:.2} s, {:.2} µs an order with its trades, {steps} steps of {:.0} µs, the longest {:.1} ms",
        took.as_secs_f64(),
        took.as_secs_f64() * 1e6 / in_parts as f64,
        took.as_secs_f64() * 1e6 / steps as f64,
        longest.as_secs_f64() * 1e3
    );
    let order = sealed.sealed_orders as f64 / in_parts as f64;
    let trade = sealed.sealed_trades as f64 / of_trades as f64;
    let carried = sealed.carried as f64 / in_parts as f64;
    println!(
        "sealed: {:.1} bytes an order with its trades: {order:.1} an order, {:.2} trades of {trade:.1}, {carried:.2} for those that were open",
        order + carried + trade * trades as f64 / orders as f64,
        trades as f64 / orders as f64
    );
    asked.random = Random::new(7);
    asked.orders = in_parts;
    asked.ask("sealed", history);
    let begun = Instant::now();
    verify(&Disk::open(folder.path()).expect("the folder"), &mut |fault| panic!("{fault}")).expect("a sound history");
    println!("verify: {:.2} s", begun.elapsed().as_secs_f64());
}

/// Estimates from a sample which part of the orders executed.
fn executed(history: &History, orders: u64) -> f64 {
    let some = (1..=orders).step_by(97);
    let count = some.clone().count();
    let executed = some.filter(|order| {
        let order = OrderId(*order);
        !history.executions_of(order, usize::MAX).expect("a history that can be read").unwrap_or_default().is_empty()
    });
    executed.count() as f64 / count as f64
}

/// Bytes of the files.
#[derive(Default)]
struct Files {
    plain: u64,
    sealed_orders: u64,
    sealed_trades: u64,
    sealed_orders_files: usize,
    sealed_trades_files: usize,
    carried: u64,
}

impl Files {
    fn of(folder: &Path) -> Files {
        let mut files = Files::default();
        for file in std::fs::read_dir(folder.join(HISTORY_FOLDER)).expect("the folder of the history") {
            let file = file.expect("a file");
            let (name, bytes) = (file.file_name(), file.metadata().expect("a file").len());
            let name = name.to_string_lossy();
            match (name.ends_with(".sealed"), name.split('-').next()) {
                (true, Some("orders")) => {
                    files.sealed_orders += bytes;
                    files.sealed_orders_files += 1;
                }
                (true, _) => {
                    files.sealed_trades += bytes;
                    files.sealed_trades_files += 1;
                }
                (false, Some("carried")) => files.carried += bytes,
                (false, Some("orders" | "trades")) => files.plain += bytes,
                (false, _) => {}
            }
        }
        files
    }

    fn all(&self) -> f64 {
        (self.plain + self.sealed_orders + self.sealed_trades + self.carried) as f64
    }
}

/// Asks about old orders.
struct LookedUpOrder {
    random: Random,
    orders: u64,
    accounts: u64,
    through: Sequence,
}

impl LookedUpOrder {
    fn ask(&mut self, how: &str, history: &History) {
        let orders: Vec<OrderId> =
            (0..ASKED).map(|_| OrderId(1 + self.random.below(self.orders as usize) as u64)).collect();
        let begun = Instant::now();
        let found: Vec<_> =
            orders.iter().map(|order| history.order(*order).expect("readable").expect("placed")).collect();
        let each = begun.elapsed().as_secs_f64() * 1e6 / ASKED as f64;
        let (begun, mut shown) = (Instant::now(), 0);
        for order in &found {
            let page = history.orders_of(order.account, Some(order.order), 100, &mut |_| true).expect("readable");
            shown += page.map_or(0, |(orders, _)| orders.len());
        }
        let page = begun.elapsed().as_secs_f64() * 1e6 / ASKED as f64;
        let (begun, mut executions) = (Instant::now(), 0);
        for order in &orders {
            executions += history.executions_of(*order, 4096).expect("readable").map_or(0, |all| all.len());
        }
        let of_order = begun.elapsed().as_secs_f64() * 1e6 / ASKED as f64;
        println!(
            "{how}: an order {each:.1} µs; its executions ({:.1}) {of_order:.1} µs; a page of {} orders {page:.0} µs",
            executions as f64 / ASKED as f64,
            shown as u64 / ASKED
        );
        let account = AccountIndex(self.random.below(self.accounts as usize) as u32);
        let begun = Instant::now();
        let (mut reports, mut next) =
            (0_u64, Some(history.sweep(account, ReportKey::after(Sequence(0)), self.through)));
        while let Some(mut sweep) = next {
            while history.sweep_on(&mut sweep, 512).expect("readable") {}
            let (keys, more) = sweep.finish();
            for key in keys {
                std::hint::black_box(history.report(key).expect("readable"));
                reports += 1;
            }
            next = more;
        }
        println!(
            "{how}: all {reports} reports of an account {:.1} ms, {:.1} µs a report",
            begun.elapsed().as_secs_f64() * 1e3,
            begun.elapsed().as_secs_f64() * 1e6 / reports as f64
        );
    }
}

/// An engine whose accounts trade with each other, and a history that follows it.
struct Market {
    engine: Engine,
    view: View,
    history: History,
    events: EventBatch,
    commands: usize,
    random: Random,
    accounts: u64,
}

impl Market {
    fn new(folder: &Path, accounts: u64) -> Market {
        let engine = Engine::new(0x5EED, DoneOrders::Drop);
        let history = History::open(&Disk::open(folder).expect("a folder"), &engine).expect("a new history");
        let view = View::new(&engine, Some(&history));
        let (events, commands, random) = (EventBatch::default(), 0, Random::new(1));
        let mut market = Market { engine, view, history, events, commands, random, accounts };
        for symbol in (0..SYMBOLS).map(symbol) {
            market.apply(Command::CreateSymbol { symbol });
        }
        for account in (1..=accounts).map(account) {
            market.apply(Command::CreateAccount { account, balance: Money::from_units(10i128.pow(9) * DOLLAR) });
            for symbol in (0..SYMBOLS).map(symbol) {
                let shares = Position::from_units(10i128.pow(15));
                market.apply(Command::IssueShares { symbol, account, shares });
            }
        }
        market
    }

    /// Places orders around a price: about half of them execute, and the rest is canceled later.
    fn trade(&mut self, orders: u64) {
        let mut canceled_later = VecDeque::new();
        for number in 0..orders {
            let below = |random: &mut Random, most: usize| random.below(most) as i64;
            let account = account(1 + below(&mut self.random, self.accounts as usize) as u64);
            let symbol = symbol(below(&mut self.random, SYMBOLS as usize) as u64);
            let side = if self.random.below(2) == 0 { Side::Buy } else { Side::Sell };
            // One order of three crosses the middle.
            let away = below(&mut self.random, 60) - 20;
            let limit = 100 * SHARE + if side == Side::Buy { -away } else { away } * CENT;
            let limit = Price::from_units(limit).expect("a price");
            let shares = Shares::from_units((1 + below(&mut self.random, 100)) * SHARE).expect("a number of shares");
            let name = || ClientOrderId::parse(format!("bot-7-{number:010}").as_bytes()).expect("letters");
            let client_id = number.is_multiple_of(NAMED).then(name);
            let order = NewOrder::limit(symbol, side, limit, shares);
            match self.apply(Command::Place(Place::order(account, order).named(client_id))) {
                Reply::Opened(order) => canceled_later.push_back((account, order)),
                refused => panic!("{refused:?}"),
            }
            if canceled_later.len() > LIFE
                && let Some((account, order)) = canceled_later.pop_front()
                && self.view.open_order(order).is_some()
            {
                self.apply(Command::CancelOrder { account, order: order.into() });
            }
        }
        self.turn();
    }

    fn apply(&mut self, command: Command) -> Reply {
        let sequence = self.engine.sequence().next();
        let time = Time(1_700_000_000_000_000 + self.commands as u64 / TURN as u64 * TURN_US);
        let events = &mut self.events;
        let note = &mut |event: Event| events.add(sequence, event);
        let reply = self.engine.apply_command(sequence, time, &command, &mut Vec::new(), note);
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

fn account(number: u64) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).expect("digits")
}

fn symbol(number: u64) -> Symbol {
    Symbol::parse(format!("S{number}").as_bytes()).expect("letters")
}
