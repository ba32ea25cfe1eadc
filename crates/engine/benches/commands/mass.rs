//! The time for which the market stands still while all orders of an account are canceled, among a million others of
//! 9,999 accounts: the first time, when the orders are entered by account, and later.

use std::hint::black_box;
use std::time::Instant;

use engine::{DoneOrders, Engine};
use model::workload::Random;
use terms::{
    AccountId, CANCELS_MAX, CancelBounds, Command, Entry, KillScope, Money, NewOrder, Op, OrderId, Place, Price, Reply,
    Sequence, Shares, Side, Symbol, Time,
};

use crate::flow;

const OTHERS: usize = 1_000_000;
const MANY: usize = 100_000;

pub fn report() {
    let mut market = Market::new();
    market.rest(&mut |_| 0, 1);
    market.rest(&mut |random| 1 + random.below(flow::ACCOUNTS - 1) as u32, OTHERS);
    let mine = flow::account(0);
    market.cancel_all("the oldest order, the first time anybody asks", mine, None, 1);
    market.cancel_all("none", mine, None, 0);
    market.rest(&mut |_| 0, 1);
    market.cancel_all("the newest order", mine, None, 1);
    market.rest(&mut |_| 0, MANY);
    market.cancel_all("100,000 orders", mine, None, MANY);
    market.rest(&mut |_| 0, MANY);
    market.cancel_all("none of a symbol, of 100,000 orders, the first time", mine, Some(flow::symbol(1)), 0);
    market.cancel_all("none of a symbol, of 100,000 orders, again", mine, Some(flow::symbol(1)), 0);
    market.cancel_all("100,000 orders of a symbol", mine, Some(flow::symbol(0)), MANY);
    // Whoever has 9,999 accounts.
    let started = Instant::now();
    for number in 1..flow::ACCOUNTS as u32 {
        market.apply(Command::CancelAll { account: flow::account(number), symbol: None, through: None });
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("cancel all: the orders of 9,999 accounts, {OTHERS} in all: {:.1} ms in 9,999 commands", seconds * 1e3);
    assert_eq!(market.engine.open_order_count(), 0);
    market.rest(&mut |random| 1 + random.below(flow::ACCOUNTS - 1) as u32, OTHERS);
    for (what, scope) in [("a symbol", KillScope::Symbol(flow::symbol(0))), ("everything", KillScope::Everything)] {
        market.report_steps(&format!("kill: of {what}"), &|_| Command::Kill { scope });
    }
    market.apply(Command::Release { scope: KillScope::Everything });
    market.apply(Command::Release { scope: KillScope::Symbol(flow::symbol(0)) });
    for (what, symbol) in [("all", None), ("those of a symbol", Some(flow::symbol(0)))] {
        market.rest(&mut |_| 0, OTHERS);
        let cancel = |through| Command::CancelAll { account: mine, symbol, through };
        market.report_steps(&format!("cancel all: {what}, of an account of a million"), &cancel);
    }
    for cancels_max in [100, CANCELS_MAX, 10_000] {
        let mut market =
            Market::with(Engine::new(1, DoneOrders::Drop).with_cancel_bounds(CancelBounds::of_command(cancels_max)));
        market.rest(&mut |random| random.below(flow::ACCOUNTS) as u32, OTHERS);
        let kill = Command::Kill { scope: KillScope::Everything };
        market.report_steps(&format!("kill: of everything, {cancels_max} orders with a command"), &|_| kill);
    }
    kill_many_symbols();
}

/// A kill of everything, when each order is in a symbol of its own.
fn kill_many_symbols() {
    let engine = Engine::new(1, DoneOrders::Drop);
    let mut market = Market { engine, sequence: Sequence::ZERO, random: Random::new(1) };
    let account = flow::account(0);
    market.apply(Command::CreateAccount { account, balance: Money::CAP });
    for number in 0..MANY {
        let symbol = Symbol::parse(format!("S{number}").as_bytes()).expect("letters and digits");
        market.apply(Command::CreateSymbol { symbol });
        let (limit, shares) = (Price::from_units(1).expect("above zero"), Shares::from_units(1).expect("above zero"));
        let order = NewOrder::limit(symbol, Side::Buy, limit, shares);
        market.apply(Command::Place(Place::order(account, order)));
    }
    let kill = Command::Kill { scope: KillScope::Everything };
    market.report_steps("kill: of everything, 100,000 symbols", &|_| kill);
}

struct Market {
    engine: Engine,
    sequence: Sequence,
    random: Random,
}

impl Market {
    fn new() -> Market {
        Market::with(Engine::new(1, DoneOrders::Drop))
    }

    fn with(engine: Engine) -> Market {
        let mut market = Market { engine, sequence: Sequence::ZERO, random: Random::new(1) };
        for op in flow::opening() {
            let Op::Command(command) = op else { panic!("the opening has no queries") };
            market.apply(command);
        }
        market
    }

    fn apply(&mut self, command: Command) -> Reply {
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time: Time(self.sequence.0), command };
        self.engine.apply(&entry, &mut Vec::new(), &mut |event| {
            black_box(event);
        })
    }

    /// Orders of one symbol that rest at one of a thousand prices a side.
    fn rest(&mut self, whose: &mut impl FnMut(&mut Random) -> u32, orders: usize) {
        for nth in 0..orders {
            let (side, away) = (if nth % 2 == 0 { Side::Buy } else { Side::Sell }, self.random.below(1_000) as i64);
            let cents = if side == Side::Buy { 9_999 - away } else { 10_001 + away };
            let limit = Price::from_units(cents * 1_000_000).expect("above zero");
            let order =
                NewOrder::limit(flow::symbol(0), side, limit, Shares::from_units(1_000_000).expect("above zero"));
            let account = flow::account(whose(&mut self.random));
            let reply = self.apply(Command::Place(Place::order(account, order)));
            assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
        }
    }

    fn cancel_all(&mut self, what: &str, account: AccountId, symbol: Option<Symbol>, orders: usize) {
        let (most, canceled) = self.report_steps(&format!("cancel all: {what}"), &|through| Command::CancelAll {
            account,
            symbol,
            through,
        });
        assert_eq!(canceled, orders, "{what}: {most}");
    }

    /// Gives a command again and again until no order is left. Returns the longest time of one command in ms, and the
    /// number of canceled orders.
    fn report_steps(&mut self, what: &str, command: &dyn Fn(Option<OrderId>) -> Command) -> (f64, usize) {
        let (mut through, mut most, mut sum, mut steps, mut canceled) = (None, 0f64, 0f64, 0usize, 0usize);
        loop {
            let started = Instant::now();
            let reply = self.apply(command(through));
            let ms = started.elapsed().as_secs_f64() * 1e3;
            (most, sum, steps) = (most.max(ms), sum + ms, steps + 1);
            let Reply::CanceledAll { orders, left, .. } = reply else { panic!("{what}: {reply:?}") };
            canceled += orders;
            through = left;
            if left.is_none() {
                break;
            }
        }
        let others = self.engine.open_order_count();
        println!(
            "{what}: {canceled} orders in {steps} commands, {sum:.3} ms, {most:.3} ms at most, {others} others open"
        );
        (most, canceled)
    }
}
