//! A market whose commands reach their bounds. A hundred thousand executions would make large files, so its commands
//! are made here, and only their figures are frozen.

use std::fmt::Write;

use engine::Engine;
use terms::{
    AccountId, Bond, CANCELS_MAX, Command, DOLLAR, Deadline, EXECUTIONS_MAX, Entry, Event, ICEBERG_PARTS_MAX,
    KillScope, Money, NewOrder, OrderKind, Phase, Place, Position, Price, Reply, Shares, Side, Symbol, TRAILING_MAX,
    Time, Trail, Trigger,
};

use super::new_engine;

const BEGIN: Time = Time(1_700_000_000_000_000);
const TURN_US: u64 = 1_000_000;
/// The price at which most orders meet.
const PRICE: i64 = 10_000;
/// Icebergs whose parts are a whole command's executions.
const ICEBERGS: usize = (EXECUTIONS_MAX / ICEBERG_PARTS_MAX as u32) as usize;
/// Orders that one command leaves to the next one.
const BEYOND: usize = 250;
/// Executions that one command leaves to the next one, in each of three symbols: together more than a command makes.
const GOES_ON: usize = 5_000;
/// Fixed triggers before one that follows the market: more than a command reaches with that one.
const NEARER: i64 = 1_100;
/// Symbols in which one turn executes more than it may.
const BUSY: usize = 11;

/// The figures of a stage.
#[derive(Debug, Default)]
struct Figures {
    commands: u64,
    refused: u64,
    events: u64,
    /// The most executions, canceled orders, and activated orders of one command.
    executed_most: u64,
    canceled_most: u64,
    activated_most: u64,
    /// The orders that are executed, canceled or activated, in this order, folded.
    orders: u64,
    /// The hashes of the states behind all turns, folded.
    states: u64,
}

/// A market, which makes its turns as the loop does.
struct Market {
    engine: Engine,
    time: Time,
    figures: Figures,
}

/// A stage's name, and what it does.
type Stage = (&'static str, fn(&mut Market));

/// Lets the stages follow each other in one market. Returns the figures of each, a line each.
pub fn figures() -> String {
    let stages: [Stage; 8] = [
        ("sweep", sweep),
        ("cancels", cancels),
        ("stops", stops),
        ("moves", moves),
        ("rounds", rounds),
        ("turn", busy_turn),
        ("auction", auction),
        ("left", left),
    ];
    let (mut market, mut text) = (Market::new(), String::new());
    for (name, stage) in stages {
        stage(&mut market);
        market.settle();
        market.engine.check_invariants();
        let Figures { commands, refused, events, executed_most, canceled_most, activated_most, orders, states } =
            std::mem::take(&mut market.figures);
        let most = format!("executed {executed_most} canceled {canceled_most} activated {activated_most}");
        let all = format!("commands {commands} refused {refused} events {events}");
        writeln!(text, "{name}: {all} {most} orders {orders} states {states}").unwrap();
    }
    text
}

/// An order that executes more often than one command may, another one behind it, and a fill-or-kill beyond the orders
/// that one may look at.
fn sweep(market: &mut Market) {
    market.icebergs(0, ICEBERGS + 1);
    market.turn();
    market.place(BUYER, order(0, Side::Buy, PRICE, i64::from(EXECUTIONS_MAX) + 1));
    market.place(BUYER, order(0, Side::Buy, PRICE, 50));
    market.settle();
    (0..1_100).for_each(|_| market.place(SELLER, order(1, Side::Sell, PRICE, 1)));
    for shares in [1_001, 1_000] {
        market.place(BUYER, NewOrder { kind: OrderKind::FillOrKill, ..order(1, Side::Buy, PRICE, shares) });
    }
}

/// Orders beyond what one command cancels: by their client, by their deadline and by a kill.
fn cancels(market: &mut Market) {
    let many = CANCELS_MAX + BEYOND;
    let bids = |market: &mut Market, until| {
        let order = order(0, Side::Buy, 1, 1);
        let place = Command::Place(Place::order(BUYER.id(), order).until(until));
        (0..many).for_each(|_| market.apply(place));
        market.turn();
    };
    bids(market, None);
    for _ in 0..2 {
        market.apply(Command::CancelAll { account: BUYER.id(), symbol: None, through: None });
    }
    bids(market, Deadline::new(Time(market.time.0 + 2 * TURN_US)));
    market.settle();
    bids(market, None);
    market.apply(Command::Kill { scope: KillScope::Account(BUYER.id()) });
    market.settle();
    market.apply(Command::Release { scope: KillScope::Account(BUYER.id()) });
}

/// Stops beyond the turns of one command, each at a price of its own.
fn stops(market: &mut Market) {
    for nth in 0..=i64::from(EXECUTIONS_MAX) {
        let trigger = Trigger::from_below(price(PRICE + nth));
        market.place(BUYER, market_buy(2).triggered_by(trigger));
    }
    market.turn();
    market.trade(2, 2 * PRICE);
}

/// Moves of trailing stops beyond those of one turn: each sell is at a new low.
fn moves(market: &mut Market) {
    const SELLS: i64 = 200;
    market.trade(3, PRICE);
    for _ in 0..=TRAILING_MAX {
        let trail = Trail::by(price(PRICE));
        market.apply(Command::Place(Place::trailing(BUYER.id(), market_buy(3), trail).unwrap()));
    }
    let lows = (1..=SELLS).map(|nth| PRICE - nth);
    lows.clone().for_each(|low| market.place(BUYER, order(3, Side::Buy, low, 1)));
    market.turn();
    lows.for_each(|low| market.place(SELLER, order(3, Side::Sell, low, 1)));
}

/// Three symbols whose orders go on at once, and beside them stops, two brackets, and fill-or-kills beyond a share.
fn rounds(market: &mut Market) {
    (4..7).for_each(|number| market.icebergs(number, ICEBERGS + GOES_ON / 100 + 1));
    market.icebergs(7, 10);
    market.trade(8, PRICE);
    let fill = |side, shares| NewOrder { kind: OrderKind::FillOrKill, ..order(7, side, PRICE, shares) };
    for (working, pending) in [(order(8, Side::Sell, PRICE, 1), order(8, Side::Buy, PRICE / 2, 1)); 2] {
        market.bracket(working, pending);
    }
    market.bracket(order(7, Side::Sell, PRICE - 1, 1), fill(Side::Buy, 300));
    for nth in 0..3 {
        market.place(BUYER, market_buy(8).triggered_by(Trigger::from_below(price(PRICE + 1 + nth))));
        market.place(BUYER, fill(Side::Buy, 200).triggered_by(Trigger::from_below(price(PRICE))));
    }
    market.turn();
    let shares = i64::from(EXECUTIONS_MAX) + GOES_ON as i64;
    (4..7).for_each(|number| market.place(BUYER, order(number, Side::Buy, PRICE, shares)));
    market.place(BUYER, order(7, Side::Buy, PRICE, 2));
    market.place(BUYER, order(8, Side::Buy, PRICE, 2));
    market.trade(8, PRICE + 5);
}

/// A turn whose commands execute more often than all of one time may.
fn busy_turn(market: &mut Market) {
    let symbols = 9..9 + BUSY;
    symbols.clone().for_each(|number| market.icebergs(number, ICEBERGS));
    market.turn();
    symbols.for_each(|number| market.place(BUYER, order(number, Side::Buy, PRICE, EXECUTIONS_MAX.into())));
}

/// Triggers that are left by an order which goes on in parts, because its turn has executed as often as it may. They
/// are fixed ones on both sides of it, and some follow the market behind more than a command reaches with them. It
/// executes a bracket. Another order comes meanwhile, and a bracket of another symbol.
fn left(market: &mut Market) {
    const PARTS: i64 = 250;
    let (number, other) = (10 + BUSY, 8);
    market.trade(number, 2 * PRICE);
    for nth in 0..NEARER {
        market.place(BUYER, market_buy(number).triggered_by(Trigger::from_above(price(PRICE + nth))));
        market.place(BUYER, market_buy(number).triggered_by(Trigger::from_below(price(2 * PRICE + 1 + nth))));
    }
    for nth in [1, PRICE / 2, PRICE] {
        let order = NewOrder { side: Side::Sell, ..market_buy(number) };
        market.apply(Command::Place(Place::trailing(SELLER.id(), order, Trail::by(price(nth))).unwrap()));
    }
    for nth in 0..PARTS {
        market.place(SELLER, order(number, Side::Sell, PRICE - nth, 1));
    }
    market.place(SELLER, order(number, Side::Sell, 3 * PRICE, 1));
    let take_profit = market_buy(number).triggered_by(Trigger::from_above(price(PRICE - PARTS + 10)));
    market.bracket(order(number, Side::Sell, PRICE - PARTS + 20, 1), take_profit);
    busy_turn(market);
    market.place(BUYER, order(number, Side::Buy, 3 * PRICE, PARTS + 2));
    market.bracket(order(other, Side::Sell, PRICE, 1), order(other, Side::Buy, PRICE / 2, 1));
    market.place(BUYER, order(other, Side::Buy, PRICE, 1));
    market.turn();
    market.apply(Command::ActivateReached);
    market.place(BUYER, order(number, Side::Buy, PRICE, 1));
}

/// An auction with more executions than one command makes, and an order that comes meanwhile.
fn auction(market: &mut Market) {
    let number = 9 + BUSY;
    let phase = |phase| Command::ChangePhase { symbol: symbol(number), phase, due: None };
    market.apply(phase(Phase::Auction));
    let many = i64::from(EXECUTIONS_MAX) + BEYOND as i64;
    for _ in 0..many {
        market.place(SELLER, order(number, Side::Sell, PRICE, 1));
    }
    market.place(BUYER, order(number, Side::Buy, PRICE, many));
    market.turn();
    market.apply(phase(Phase::Open));
    market.place(BUYER, order(number, Side::Buy, PRICE, 1));
}

fn fold(folded: u64, next: u64) -> u64 {
    (folded.rotate_left(5) ^ next).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// An account of the market.
#[derive(Clone, Copy)]
struct Account(&'static str);

const SELLER: Account = Account("1");
const BUYER: Account = Account("2");

impl Account {
    fn id(self) -> AccountId {
        AccountId::parse(self.0.as_bytes()).unwrap()
    }
}

fn symbol(number: usize) -> Symbol {
    Symbol::parse(format!("S{number}").as_bytes()).unwrap()
}

fn price(units: i64) -> Price {
    Price::from_units(units).unwrap()
}

fn order(number: usize, side: Side, limit: i64, shares: i64) -> NewOrder {
    NewOrder::limit(symbol(number), side, price(limit), Shares::from_units(shares).unwrap())
}

/// A market buy of one share, which holds nothing.
fn market_buy(number: usize) -> NewOrder {
    NewOrder::market(symbol(number), Side::Buy, Shares::MIN)
}

impl Market {
    fn new() -> Market {
        let mut market = Market { engine: new_engine(), time: BEGIN, figures: Figures::default() };
        for account in [SELLER, BUYER] {
            market.apply(Command::CreateAccount {
                account: account.id(),
                balance: Money::from_units(DOLLAR * 1_000_000),
            });
        }
        for symbol in (0..=10 + BUSY).map(symbol) {
            let shares = Position::from_units(1_000_000);
            market.apply(Command::CreateSymbol { symbol });
            market.apply(Command::IssueShares { symbol, account: SELLER.id(), shares });
        }
        assert_eq!(market.figures.refused, 0);
        market
    }

    fn apply(&mut self, command: Command) {
        let entry = Entry { sequence: self.engine.sequence().next(), time: self.time, command };
        let figures = &mut self.figures;
        let [mut executed, mut canceled, mut activated] = [0; 3];
        let told = self.engine.apply_told(&entry, &mut Vec::new(), &mut |event| {
            figures.events += 1;
            let (counted, order) = if let Event::Executed { aggressor, .. } | Event::Uncrossed { aggressor, .. } = event
            {
                (&mut executed, aggressor)
            } else if let Event::OrderCanceled { order, .. } = event {
                (&mut canceled, order)
            } else if let Event::OrderTriggered { order, .. } = event {
                (&mut activated, order)
            } else {
                return;
            };
            *counted += 1;
            figures.orders = fold(figures.orders, order.0);
        });
        figures.commands += 1;
        figures.refused += u64::from(matches!(told, Reply::Rejected(_)));
        figures.executed_most = figures.executed_most.max(executed);
        figures.canceled_most = figures.canceled_most.max(canceled);
        figures.activated_most = figures.activated_most.max(activated);
    }

    /// Ends a turn, and begins the next one.
    fn turn(&mut self) {
        self.figures.states = fold(self.figures.states, self.engine.state_hash());
        self.time = Time(self.time.0 + TURN_US);
    }

    /// Gives the commands of the loop until nothing waits for one.
    fn settle(&mut self) {
        loop {
            self.turn();
            let expires = self.engine.has_orders_to_end(self.time).then_some(Command::ExpireOrders);
            let activates = (self.engine.reached_orders() > 0).then_some(Command::ActivateReached);
            let ends = self.engine.has_auctions_to_end(self.time).then_some(Command::EndAuction);
            let own: Vec<Command> = expires.into_iter().chain(activates).chain(ends).collect();
            if own.is_empty() {
                return;
            }
            own.into_iter().for_each(|command| self.apply(command));
        }
    }

    fn place(&mut self, account: Account, order: NewOrder) {
        self.apply(Command::Place(Place::order(account.id(), order)));
    }

    /// Has the seller offer icebergs of the most parts, each of one share.
    fn icebergs(&mut self, number: usize, count: usize) {
        let order = order(number, Side::Sell, PRICE, ICEBERG_PARTS_MAX);
        let display = Shares::MIN;
        let iceberg = Place::iceberg(SELLER.id(), order, display).unwrap();
        (0..count).for_each(|_| self.apply(Command::Place(iceberg)));
    }

    /// Has one share change hands at a price.
    fn trade(&mut self, number: usize, price: i64) {
        self.place(SELLER, order(number, Side::Sell, price, 1));
        self.place(BUYER, order(number, Side::Buy, price, 1));
    }

    /// Has the seller place a working order, and one that waits for it.
    fn bracket(&mut self, working: NewOrder, pending: NewOrder) {
        let (account, client_id, until) = (SELLER.id(), None, None);
        self.apply(Command::Place(
            Place::order(account, working).named(client_id).until(until).bound(Bond::Working { two_wait: false }),
        ));
        self.apply(Command::Place(Place::order(account, pending).named(client_id).until(until).bound(Bond::Pending)));
    }
}
