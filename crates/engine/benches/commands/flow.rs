//! Makes the flow of orders that is measured: 60% new orders, half of which cross, 30% cancels, 10% queries, over 4
//! symbols and 10,000 accounts, so that the number of resting orders stays near a target. An engine runs along and
//! its events say what is open. Knows nothing of time.

use std::collections::BTreeMap;

use engine::{DoneOrders, Engine};
use model::workload::Random;
use terms::{
    AccountId, Command, DOLLAR, Entry, Event, Money, NewOrder, Op, OrderId, Place, Position, Price, Query, Reply,
    Sequence, Shares, Side, Symbol, Time, Trigger,
};

pub const ACCOUNTS: usize = 10_000;
pub const SYMBOLS: usize = 4;
const SHARE: i64 = 100_000_000;
const CENT: i64 = 1_000_000;
/// Cents around which all trade goes.
const MIDDLE: i64 = 100_000;

/// The choice of open orders that cancels and queries name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aim {
    /// Any of them, however old: each is a walk into memory that no cache holds.
    Any,
    /// Four of five times one of the 20,000 orders that were placed last, as most orders are canceled young.
    MostlyRecent,
}

/// The commands that were made, and counts of what they do.
pub struct Flow {
    /// Creates the accounts and symbols and the resting orders.
    pub warm: Vec<Op>,
    pub measured: Vec<Op>,
    pub counts: Counts,
}

/// Counts of what the measured part does.
#[derive(Default)]
pub struct Counts {
    pub placed: u64,
    pub crossed: u64,
    pub executions: u64,
    pub canceled: u64,
    pub refused: u64,
    pub queries: u64,
    pub open_before: usize,
    pub open_after: usize,
    pub levels: usize,
}

struct Placed {
    account: u32,
    symbol: usize,
    side: Side,
    cents: i64,
    open: i64,
    /// The order's index in the list of open orders.
    at: usize,
}

struct Maker {
    random: Random,
    engine: Engine,
    sequence: Sequence,
    orders: Vec<Placed>,
    open: Vec<u32>,
    /// Open orders of each symbol and side by cents.
    levels: [[BTreeMap<i64, u32>; 2]; SYMBOLS],
    middle: [i64; SYMBOLS],
    target: usize,
    aim: Aim,
    /// The resting orders are spread over so many cents a side, denser near the middle.
    spread: i64,
    counts: Counts,
}

/// A flow with about `resting` orders open all along, beside so many that wait for prices that no execution reaches.
pub fn make(resting: usize, waiting: usize, measured: usize, aim: Aim) -> Flow {
    let mut maker = Maker::new(resting, aim);
    let mut warm = opening();
    for nth in 0..waiting {
        let side = maker.side();
        let Op::Command(Command::Place(place)) = maker.order(nth % SYMBOLS, side, 1_000_000_000, 1) else {
            unreachable!("it makes orders")
        };
        let order = place.plain().expect("it makes plain orders");
        let trigger = Trigger::from_below(Price::from_units((1_000_000_000 + nth as i64) * CENT).expect("above zero"));
        let order = order.triggered_by(trigger);
        warm.push(Op::Command(Command::Place(Place::order(place.account, order))));
    }
    for op in &warm {
        maker.follow(op);
    }
    while maker.open.len() < resting {
        let op = maker.rest();
        maker.follow(&op);
        warm.push(op);
    }
    for _ in 0..resting.max(100_000) {
        let op = maker.next_op();
        maker.follow(&op);
        warm.push(op);
    }
    maker.counts = Counts { open_before: maker.open.len(), ..Counts::default() };
    let mut ops = Vec::with_capacity(measured);
    for _ in 0..measured {
        let op = maker.next_op();
        maker.follow(&op);
        ops.push(op);
    }
    maker.counts.open_after = maker.open.len();
    maker.counts.levels = maker.levels.iter().flatten().map(BTreeMap::len).sum();
    Flow { warm, measured: ops, counts: maker.counts }
}

/// The commands that create the accounts and symbols, with money and shares for all that follows.
pub fn opening() -> Vec<Op> {
    let mut ops = Vec::new();
    for symbol in (0..SYMBOLS).map(symbol) {
        ops.push(Op::Command(Command::CreateSymbol { symbol }));
    }
    for account in (0..ACCOUNTS as u32).map(account) {
        let balance = Money::from_units(10i128.pow(15) * DOLLAR);
        ops.push(Op::Command(Command::CreateAccount { account, balance }));
        for symbol in (0..SYMBOLS).map(symbol) {
            let shares = Position::from_units(10i128.pow(20));
            ops.push(Op::Command(Command::IssueShares { symbol, account, shares }));
        }
    }
    ops
}

pub fn account(number: u32) -> AccountId {
    AccountId::parse((1_000_000 + number).to_string().as_bytes()).expect("digits")
}

pub fn symbol(number: usize) -> Symbol {
    Symbol::parse(["SPY", "BTC", "T5asdf", "GOLD"][number].as_bytes()).expect("letters and digits")
}

fn index(side: Side) -> usize {
    match side {
        Side::Buy => 0,
        Side::Sell => 1,
    }
}

impl Maker {
    fn new(target: usize, aim: Aim) -> Maker {
        Maker {
            random: Random::new(1),
            engine: Engine::new(0, DoneOrders::Drop),
            sequence: Sequence::ZERO,
            orders: Vec::new(),
            open: Vec::new(),
            levels: Default::default(),
            middle: [MIDDLE; SYMBOLS],
            target,
            aim,
            spread: if target > 100_000 { 5_000 } else { 500 },
            counts: Counts::default(),
        }
    }

    fn next_op(&mut self) -> Op {
        match self.random.below(100) {
            0..30 => self.rest(),
            30..60 => self.cross(),
            60..90 => self.cancel(),
            _ => self.query(),
        }
    }

    /// An order that does not cross, nearer to the middle more often than far from it.
    fn rest(&mut self) -> Op {
        let (number, side) = (self.random.below(SYMBOLS), self.side());
        if self.random.percent(1) {
            self.middle[number] += self.random.pick(&[-1, 1]);
        }
        let (one, other) = (self.random.below(self.spread as usize), self.random.below(self.spread as usize));
        let away = 1 + one.min(other) as i64;
        let touch = self.touch(number, side.opposite());
        let cents = match side {
            Side::Buy => (self.middle[number] - away).min(touch.map_or(i64::MAX, |ask| ask - 1)),
            Side::Sell => (self.middle[number] + away).max(touch.map_or(i64::MIN, |bid| bid + 1)),
        };
        let shares = 100 + self.random.below(900) as i64;
        self.order(number, side, cents, shares)
    }

    /// An order that executes: with a part of the best resting order, or, while too many rest, with several.
    fn cross(&mut self) -> Op {
        let (number, side) = (self.random.below(SYMBOLS), self.side());
        let Some(touch) = self.touch(number, side.opposite()) else { return self.rest() };
        let (through, shares) = match self.open.len() > self.target {
            true => (self.random.below(6) as i64, 200 + self.random.below(1_200) as i64),
            false => (self.random.below(3) as i64, 1 + self.random.below(60) as i64),
        };
        let cents = match side {
            Side::Buy => touch + through,
            Side::Sell => touch - through,
        };
        self.order(number, side, cents, shares)
    }

    /// A cancel of any open order, new or old; while too few rest, of one order in five that may be done already.
    fn cancel(&mut self) -> Op {
        let late = self.open.len() < self.target && self.random.percent(20);
        let order = if late { self.recent() } else { self.any_open() };
        Op::Command(Command::CancelOrder { account: account(self.orders[order].account), order: id(order).into() })
    }

    /// Mostly of an open order.
    fn query(&mut self) -> Op {
        let order = if self.random.percent(30) { self.recent() } else { self.any_open() };
        Op::Query(Query { account: account(self.orders[order].account), order: id(order).into() })
    }

    /// An open order, of the age that is aimed at.
    fn any_open(&mut self) -> usize {
        if self.aim == Aim::MostlyRecent && self.random.percent(80) {
            for _ in 0..4 {
                let order = self.orders.len() - 1 - self.random.below(self.orders.len().min(20_000));
                if self.orders[order].open > 0 {
                    return order;
                }
            }
        }
        self.open[self.random.below(self.open.len())] as usize
    }

    fn recent(&mut self) -> usize {
        self.orders.len() - 1 - self.random.below(self.orders.len().min(1_000))
    }

    fn order(&mut self, number: usize, side: Side, cents: i64, shares: i64) -> Op {
        let limit = Price::from_units(cents * CENT).expect("above zero");
        let shares = Shares::from_units(shares * SHARE).expect("above zero");
        let account = account(self.random.below(ACCOUNTS) as u32);
        let order = NewOrder::limit(symbol(number), side, limit, shares);
        Op::Command(Command::Place(Place::order(account, order)))
    }

    fn side(&mut self) -> Side {
        self.random.pick(&[Side::Buy, Side::Sell])
    }

    fn touch(&self, number: usize, side: Side) -> Option<i64> {
        let levels = &self.levels[number][index(side)];
        let best = match side {
            Side::Buy => levels.last_key_value(),
            Side::Sell => levels.first_key_value(),
        };
        best.map(|(&cents, _)| cents)
    }

    /// Applies an op to the engine that runs along, and learns from its events.
    fn follow(&mut self, op: &Op) {
        let Op::Command(command) = *op else {
            self.counts.queries += 1;
            return;
        };
        self.sequence = self.sequence.next();
        let entry = Entry { sequence: self.sequence, time: Time(self.sequence.0), command };
        let mut events = Vec::new();
        let reply = self.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push(event));
        let executions = events.iter().filter(|event| matches!(event, Event::Executed { .. })).count() as u64;
        self.counts.executions += executions;
        match reply {
            Reply::Opened(_) | Reply::Moved { .. } => self.counts.placed += 1,
            Reply::Canceled(_) => self.counts.canceled += 1,
            Reply::Created | Reply::Amended { .. } | Reply::Activated | Reply::Expired | Reply::Freed(_) => {}
            Reply::InAuction => {}
            Reply::CanceledAll { .. } => {}
            Reply::Rejected(_) | Reply::Done(_) | Reply::Repeated(_) | Reply::Status(_) => self.counts.refused += 1,
        }
        self.counts.crossed += u64::from(executions > 0);
        for event in events {
            self.learn(event);
        }
    }

    fn learn(&mut self, event: Event) {
        match event {
            // Nobody cancels it, and nothing executes with it.
            Event::OrderOpened { account, placed, .. } if placed.trigger.is_some() => {
                let NewOrder { symbol, side, shares, .. } = placed;
                let (symbol, open) = (symbol.0 as usize, shares.units());
                self.orders.push(Placed { account: account.0, symbol, side, cents: 0, open, at: usize::MAX });
            }
            Event::OrderOpened { account, placed: NewOrder { symbol, side, limit, shares, .. }, .. } => {
                let (symbol, cents) = (symbol.0 as usize, limit.units() / CENT);
                let placed =
                    Placed { account: account.0, symbol, side, cents, open: shares.units(), at: self.open.len() };
                self.open.push(self.orders.len() as u32);
                self.orders.push(placed);
                *self.levels[symbol][index(side)].entry(cents).or_default() += 1;
            }
            Event::Executed { maker, aggressor, shares, .. } => {
                self.take(maker, shares);
                self.take(aggressor, shares);
            }
            Event::OrderCanceled { order, shares, .. } | Event::OrderReduced { order, shares, .. } => {
                self.take(order, shares)
            }
            Event::AccountCreated { .. }
            | Event::SymbolCreated { .. }
            | Event::RulesChanged { .. }
            | Event::FeesTaken { .. }
            | Event::FeesChanged { .. }
            | Event::TierChanged { .. }
            | Event::GroupChanged { .. }
            | Event::AccountStatusChanged { .. }
            | Event::KillChanged { .. }
            | Event::LimitsChanged { .. }
            | Event::ProtectionChanged { .. }
            | Event::CalendarFollowed { .. }
            | Event::PhaseChanged { .. }
            | Event::Uncrossed { .. }
            | Event::OrderTriggered { .. }
            | Event::OrderDelayed { .. }
            | Event::OrderResumed { .. }
            | Event::ClientOrderIdGiven { .. }
            | Event::DeadlineGiven { .. }
            | Event::OrdersLinked { .. }
            | Event::OrderSetAside { .. }
            | Event::OrderAmended { .. }
            | Event::OrderPends { .. }
            | Event::OrderReleased { .. }
            | Event::DisplayGiven { .. }
            | Event::TipShown { .. }
            | Event::TrailGiven { .. }
            | Event::TrailsMoved { .. }
            | Event::TrailReached { .. }
            | Event::TriggerReached { .. }
            | Event::ClientOrderDone { .. }
            | Event::ClientOrderIdFreed { .. }
            | Event::BalanceChanged { .. }
            | Event::PositionChanged { .. } => {}
        }
    }

    fn take(&mut self, order: OrderId, shares: Shares) {
        let placed = &mut self.orders[order.0 as usize - 1];
        placed.open -= shares.units();
        if placed.open > 0 {
            return;
        }
        let (symbol, side, cents, at) = (placed.symbol, placed.side, placed.cents, placed.at);
        self.open.swap_remove(at);
        if let Some(&moved) = self.open.get(at) {
            self.orders[moved as usize].at = at;
        }
        let levels = &mut self.levels[symbol][index(side)];
        match levels.get_mut(&cents) {
            Some(1) => {
                levels.remove(&cents);
            }
            Some(count) => *count -= 1,
            None => panic!("an open order has a level"),
        }
    }
}

fn id(order: usize) -> OrderId {
    OrderId(order as u64 + 1)
}
