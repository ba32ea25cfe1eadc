//! The limits of accounts, one by one, each as a small market that engine and model play together: at its bound, and
//! beyond it.

use crate::common::duel::Duel;
use engine::{DoneOrders, Engine};
use terms::{
    AccountId, AccountLimit, AccountLimits, Bond, Command, DOLLAR, Entry, Event, FundsOrder, Money, NewOrder, Op,
    OrderId, OrderKind, Place, Position, Price, Reject, Reply, SelfTrade, Sequence, Shares, Side, Symbol, Time,
    Trigger,
};

const UNIT: i128 = 100_000_000;

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn price(whole: i64) -> Price {
    Price::from_units(whole * UNIT as i64).unwrap()
}

fn shares(whole: i64) -> Shares {
    Shares::from_units(whole * UNIT as i64).unwrap()
}

fn buy(limit: i64, count: i64) -> NewOrder {
    NewOrder::limit(symbol(), Side::Buy, price(limit), shares(count))
}

fn sell(limit: i64, count: i64) -> NewOrder {
    NewOrder::limit(symbol(), Side::Sell, price(limit), shares(count))
}

fn market(side: Side, count: i64) -> NewOrder {
    NewOrder::market(symbol(), side, shares(count))
}

fn limits(said: &[(AccountLimit, &str)]) -> AccountLimits {
    let mut limits = AccountLimits::NONE;
    for (limit, amount) in said {
        limits.set_amount(*limit, terms::Decimal::parse(amount.as_bytes()).unwrap()).unwrap();
    }
    limits
}

/// A market of SPY and two accounts with a million dollars and a thousand shares each, of which the first one has
/// limits.
struct Market {
    duel: Duel,
    engine: Engine,
    sequence: u64,
    events: Vec<Event>,
}

impl Market {
    fn new(said: &[(AccountLimit, &str)]) -> Market {
        let engine = Engine::new(1, DoneOrders::Drop);
        let mut market = Market { duel: Duel::new(1, 1), engine, sequence: 0, events: Vec::new() };
        market.apply(Command::CreateSymbol { symbol: symbol() });
        for number in 1..=2 {
            let balance = Money::from_units(1_000_000 * DOLLAR);
            market.apply(Command::CreateAccount { account: account(number), balance });
            let shares = Position::from_units(1_000 * UNIT);
            market.apply(Command::IssueShares { symbol: symbol(), account: account(number), shares });
        }
        market.limit(said);
        market
    }

    fn apply(&mut self, command: Command) -> Reply {
        self.duel.play(Op::Command(command));
        self.sequence += 1;
        let entry = Entry { sequence: Sequence(self.sequence), time: Time(self.sequence), command };
        self.events.clear();
        let events = &mut self.events;
        self.engine.apply(&entry, &mut Vec::new(), &mut |event| events.push(event))
    }

    fn limit(&mut self, said: &[(AccountLimit, &str)]) {
        let command = Command::ChangeLimits { account: account(1), limits: limits(said) };
        assert_eq!(self.apply(command), Reply::Created);
    }

    fn told(&mut self, command: Command) -> Result<OrderId, String> {
        match self.apply(command) {
            Reply::Opened(order) => Ok(order),
            Reply::Rejected(Reject::PastLimit(past)) => Err(past.to_string()),
            other => panic!("{other:?} answers no order"),
        }
    }

    /// Places an order of the first account.
    fn place(&mut self, order: NewOrder) -> Result<OrderId, String> {
        self.told(Command::Place(Place::order(account(1), order)))
    }

    fn other(&mut self, order: NewOrder) -> OrderId {
        self.told(Command::Place(Place::order(account(2), order))).unwrap()
    }

    fn cancel(&mut self, order: OrderId) {
        self.apply(Command::CancelOrder { account: account(1), order: order.into() });
    }

    fn executed(&self) -> Vec<String> {
        let executed = |event: &Event| match event {
            Event::Executed { price, shares, .. } => Some(format!("{shares} at {price}")),
            _ => None,
        };
        self.events.iter().filter_map(executed).collect()
    }
}

#[test]
fn so_many_orders_are_open_and_no_more() {
    let mut market_of_two = Market::new(&[(AccountLimit::OpenOrders, "2")]);
    let first = market_of_two.place(buy(10, 1)).unwrap();
    let stop = buy(20, 1).triggered_by(Trigger::from_below(price(20)));
    market_of_two.place(stop).unwrap();
    let why = Err("Too many open orders: this account may have 2".to_owned());
    for order in [buy(10, 1), sell(30, 1), stop, NewOrder { kind: OrderKind::PostOnly, ..buy(9, 1) }] {
        assert_eq!(market_of_two.place(order), why);
    }
    // An order that cannot stay open is placed all the same.
    market_of_two.place(market(Side::Sell, 1)).unwrap();
    market_of_two.place(NewOrder { kind: OrderKind::ImmediateOrCancel, ..buy(9, 1) }).unwrap();
    market_of_two.other(buy(10, 5));
    market_of_two.cancel(first);
    market_of_two.place(sell(30, 1)).unwrap();
    assert_eq!(market_of_two.place(sell(30, 1)), why);
    // Orders that are open when limits are given count, and stay.
    market_of_two.limit(&[]);
    market_of_two.place(sell(30, 1)).unwrap();
    market_of_two.limit(&[(AccountLimit::OpenOrders, "3")]);
    let three = Err("Too many open orders: this account may have 3".to_owned());
    assert_eq!(market_of_two.place(sell(30, 1)), three);
    market_of_two.duel.export_and_import();
    assert_eq!(market_of_two.place(sell(30, 1)), three);
}

#[test]
fn an_order_has_so_many_shares_and_is_worth_so_much() {
    let mut market_of_one = Market::new(&[(AccountLimit::OrderShares, "50"), (AccountLimit::OrderValue, "1000")]);
    let shares_of = "Too many shares: an order of this account may have 50";
    let value_of = "Too much money: an order of this account may be worth 1000 dollars";
    market_of_one.place(buy(20, 50)).unwrap();
    assert_eq!(market_of_one.place(buy(1, 51)).unwrap_err(), shares_of);
    assert_eq!(market_of_one.place(buy(21, 50)).unwrap_err(), value_of);
    assert_eq!(market_of_one.place(sell(21, 50)).unwrap_err(), value_of);
    // A market order's value is counted at its execution price.
    market_of_one.other(sell(30, 100));
    market_of_one.place(market(Side::Buy, 33)).unwrap();
    assert_eq!(market_of_one.place(market(Side::Buy, 34)).unwrap_err(), value_of);
    let funds = |market: &mut Market, whole: i128| {
        let funds = Money::from_units(whole * DOLLAR);
        let order = FundsOrder { symbol: symbol(), side: Side::Buy, funds, self_trade: SelfTrade::Allowed };
        market.told(Command::Place(Place::funds(account(1), order)))
    };
    funds(&mut market_of_one, 1_000).unwrap();
    assert_eq!(funds(&mut market_of_one, 1_001).unwrap_err(), value_of);
}

#[test]
fn a_position_counts_what_open_buys_may_bring() {
    let mut bounded = Market::new(&[(AccountLimit::Position, "1100")]);
    let why = "Too many shares: this account may have 1100 of a symbol, those included that its open buys may bring";
    let first = bounded.place(buy(10, 60)).unwrap();
    bounded.place(buy(9, 40)).unwrap();
    assert_eq!(bounded.place(buy(8, 1)).unwrap_err(), why);
    assert_eq!(bounded.place(market(Side::Buy, 1)).unwrap_err(), why);
    // Sells have no bound, and open ones may never execute.
    bounded.place(sell(20, 500)).unwrap();
    assert_eq!(bounded.place(buy(8, 1)).unwrap_err(), why);
    // The shares that a buy executes count as position, and once.
    bounded.other(sell(10, 30));
    assert_eq!(bounded.place(buy(8, 1)).unwrap_err(), why);
    bounded.cancel(first);
    bounded.place(buy(8, 30)).unwrap();
    assert_eq!(bounded.place(buy(8, 1)).unwrap_err(), why);
    // Sold shares no longer count.
    bounded.other(buy(20, 10));
    bounded.place(buy(8, 10)).unwrap();
    assert_eq!(bounded.place(buy(8, 1)).unwrap_err(), why);
}

/// Linked orders bring their shares once.
#[test]
fn a_pair_counts_once() {
    let mut bounded = Market::new(&[(AccountLimit::Position, "1100")]);
    let post_only = NewOrder { kind: OrderKind::PostOnly, ..buy(10, 100) };
    bounded.place(post_only).unwrap();
    let stop = buy(30, 100).triggered_by(Trigger::from_below(price(30)));
    let linked = Command::Place(Place::order(account(1), stop).bound(Bond::Linked));
    let second = bounded.told(linked).unwrap();
    assert!(bounded.place(buy(8, 1)).is_err());
    bounded.cancel(second);
    bounded.place(buy(8, 100)).unwrap();
    assert!(bounded.place(buy(8, 1)).is_err());
}

#[test]
fn a_collar_bounds_limits_around_the_best_price_of_the_others_or_the_last_one() {
    let mut bounded = Market::new(&[(AccountLimit::Collar, "10")]);
    // Without a price the collar bounds nothing.
    let far = bounded.place(buy(1_000, 1)).unwrap();
    bounded.cancel(far);
    bounded.other(sell(100, 1));
    assert_eq!(
        bounded.place(buy(111, 1)).unwrap_err(),
        "Limit 111 is too far from the market: this account may pay at most 110 now"
    );
    // Asking for more, or paying less, is no mistake that costs anything.
    bounded.place(sell(500, 1)).unwrap();
    bounded.place(buy(1, 1)).unwrap();
    assert_eq!(bounded.place(buy(110, 1)).map(|_| bounded.executed()), Ok(vec!["1 at 100".to_owned()]));
    bounded.other(buy(90, 1));
    assert_eq!(
        bounded.place(sell(80, 1)).unwrap_err(),
        "Limit 80 is too far from the market: this account may sell for no less than 81 now"
    );
    bounded.place(sell(81, 1)).unwrap();
    assert_eq!(bounded.executed(), ["1 at 90"]);
    // The account's own orders are the best ones of both sides: the nearest order of others is at 500.
    assert!(bounded.place(buy(551, 1)).is_err());
}

#[test]
fn a_collar_bounds_market_orders_and_what_is_triggered() {
    let mut bounded = Market::new(&[(AccountLimit::Collar, "10")]);
    for limit in [100, 110, 111] {
        bounded.other(sell(limit, 1));
    }
    bounded.place(market(Side::Buy, 3)).unwrap();
    assert_eq!(bounded.executed(), ["1 at 100", "1 at 110"]);
    // A stop may have any price; it is checked when it is triggered.
    bounded.place(buy(200, 1).triggered_by(Trigger::from_below(price(111)))).unwrap();
    bounded.other(buy(111, 1));
    assert!(
        bounded
            .events
            .iter()
            .any(|event| matches!(event, Event::OrderCanceled { why: terms::CancelReason::Refused, .. }))
    );
}
