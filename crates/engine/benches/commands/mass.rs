//! How long the market stands still while all orders of an account are canceled, among a million others of 9,999 accounts: the first time, when the
//! orders are entered by account, and later.

use std::hint::black_box;
use std::time::Instant;

use engine::{
    AccountId, Command, DoneOrders, Engine, Entry, KillScope, NewOrder, Op, Price, Reply, Sequence, Shares, Side,
    Symbol, Time,
};
use model::workload::Random;

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
        market.apply(Command::CancelAll { account: flow::account(number), symbol: None });
    }
    let seconds = started.elapsed().as_secs_f64();
    println!("cancel all: the orders of 9,999 accounts, {OTHERS} in all: {:.1} ms in 9,999 commands", seconds * 1e3);
    assert_eq!(market.engine.open_order_count(), 0);
    market.rest(&mut |random| 1 + random.below(flow::ACCOUNTS - 1) as u32, MANY);
    for (what, scope) in [("a symbol", KillScope::Symbol(flow::symbol(0))), ("everything", KillScope::Everything)] {
        let open = market.engine.open_order_count();
        let started = Instant::now();
        let reply = market.apply(Command::Kill { scope });
        let seconds = started.elapsed().as_secs_f64();
        assert!(matches!(reply, Reply::CanceledAll { orders, .. } if orders == open), "{what}");
        println!("kill: of {what}: {:.3} ms, {open} orders, {OTHERS} slots", seconds * 1e3);
    }
}

struct Market {
    engine: Engine,
    sequence: Sequence,
    random: Random,
}

impl Market {
    fn new() -> Market {
        let engine = Engine::new(1, DoneOrders::Drop);
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
            let reply = self.apply(Command::PlaceOrder { account, order, client_id: None, until: None });
            assert!(matches!(reply, Reply::Opened(_)), "{reply:?}");
        }
    }

    fn cancel_all(&mut self, what: &str, account: AccountId, symbol: Option<Symbol>, orders: usize) {
        let started = Instant::now();
        let reply = self.apply(Command::CancelAll { account, symbol });
        let seconds = started.elapsed().as_secs_f64();
        assert!(matches!(reply, Reply::CanceledAll { orders: told, .. } if told == orders), "{what}");
        println!("cancel all: {what}: {:.3} ms, {} others open", seconds * 1e3, self.engine.open_order_count());
    }
}
