//! The limits of accounts, one by one, each as a small market that engine and model play together: at its bound, and
//! beyond it.

use crate::common::duel::Duel;
use engine::{DoneOrders, Engine};
use terms::{
    AccountId, AccountLimit, AccountLimits, Bond, CancelReason, Command, DOLLAR, Entry, Event, FundsOrder, KillScope,
    Money, NewOrder, Op, OrderId, OrderKind, Phase, Place, Position, Price, Reject, Reply, SelfTrade, Sequence, Shares,
    Side, Symbol, SymbolRules, Time, Trigger,
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
    let funds = |market: &mut Market, side: Side, whole: i128| {
        let funds = Money::from_units(whole * DOLLAR);
        let order = FundsOrder { symbol: symbol(), side, funds, self_trade: SelfTrade::Allowed };
        market.told(Command::Place(Place::funds(account(1), order)))
    };
    funds(&mut market_of_one, Side::Buy, 1_000).unwrap();
    assert_eq!(funds(&mut market_of_one, Side::Buy, 1_001).unwrap_err(), value_of);
    // A sell for money executes with lower bids, too, so its shares are worth more at the best one than its funds are.
    market_of_one.cancel(OrderId(1));
    market_of_one.other(buy(25, 4));
    market_of_one.other(buy(20, 100));
    funds(&mut market_of_one, Side::Sell, 1_000).unwrap();
    assert_eq!(funds(&mut market_of_one, Side::Sell, 1_001).unwrap_err(), value_of);
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

/// A best offer at which the orders are worth more, or less, does not count.
#[test]
fn a_market_order_that_waits_is_worth_the_price_that_it_waits_for() {
    let mut bounded = Market::new(&[(AccountLimit::OrderValue, "1000")]);
    bounded.other(sell(100, 50));
    bounded.other(buy(50, 50));
    let value_of = "Too much money: an order of this account may be worth 1000 dollars";
    for (waiting, small, large) in [
        (Trigger::from_below(price(130)), market(Side::Buy, 7), market(Side::Buy, 8)),
        (Trigger::from_above(price(40)), market(Side::Sell, 25), market(Side::Sell, 26)),
    ] {
        assert_eq!(bounded.place(large.triggered_by(waiting)).unwrap_err(), value_of);
        bounded.place(small.triggered_by(waiting)).unwrap();
    }
}

#[test]
fn while_orders_gather_a_collar_is_around_the_last_price() {
    let mut bounded = Market::new(&[(AccountLimit::Collar, "10")]);
    bounded.other(sell(100, 1));
    bounded.place(buy(100, 1)).unwrap();
    bounded.apply(Command::ChangePhase { symbol: symbol(), phase: Phase::Auction, due: None });
    // These gather, and nobody executes with them now.
    bounded.other(sell(200, 5));
    bounded.other(buy(300, 5));
    let most = "Limit 111 is too far from the market: this account may pay at most 110 now";
    assert_eq!(bounded.place(buy(111, 1)).unwrap_err(), most);
    let least = "Limit 89 is too far from the market: this account may sell for no less than 90 now";
    assert_eq!(bounded.place(sell(89, 1)).unwrap_err(), least);
    bounded.place(buy(110, 1)).unwrap();
    bounded.place(sell(90, 1)).unwrap();
    // In the open symbol it is around the best bid, and the last price is 200.
    bounded.apply(Command::ChangePhase { symbol: symbol(), phase: Phase::Open, due: None });
    bounded.other(buy(199, 1));
    assert_eq!(
        bounded.place(sell(179, 1)).unwrap_err(),
        "Limit 179 is too far from the market: this account may sell for no less than 179.1 now"
    );
}

#[test]
fn a_collar_is_rounded_towards_the_market_and_asked_of_the_price_that_an_order_gets() {
    let units = |units| Price::from_units(units).unwrap();
    for (other, side, bound) in [
        (NewOrder { limit: units(33_333_333), ..sell(1, 1) }, Side::Buy, 36_666_666),
        (NewOrder { limit: units(33_333_333), ..buy(1, 1) }, Side::Sell, 30_000_000),
    ] {
        let mut bounded = Market::new(&[(AccountLimit::Collar, "10")]);
        bounded.other(other);
        let farther = if side == Side::Buy { bound + 1 } else { bound - 1 };
        let at = |limit| NewOrder::limit(symbol(), side, units(limit), shares(1));
        assert!(bounded.place(at(farther)).unwrap_err().contains("is too far from the market"), "{side:?}");
        // A post-only order that moves may name any limit.
        let moves = NewOrder { kind: OrderKind::PostOnlyMove, ..at(farther) };
        let moved = bounded.apply(Command::Place(Place::order(account(1), moves)));
        assert!(matches!(moved, Reply::Moved { .. }), "{moved:?}");
        bounded.place(at(bound)).unwrap();
        assert_eq!(bounded.executed(), ["1 at 0.33333333"]);
    }
}

#[test]
fn an_order_that_waits_for_another_one_counts_as_open_and_its_position_counts_when_its_turn_comes() {
    let place =
        |bounded: &mut Market, order, bond| bounded.told(Command::Place(Place::order(account(1), order).bound(bond)));
    let working = Bond::Working { two_wait: false };
    let mut bounded = Market::new(&[(AccountLimit::OpenOrders, "2"), (AccountLimit::OrderShares, "200")]);
    place(&mut bounded, sell(10, 10), working).unwrap();
    let many = place(&mut bounded, buy(9, 201), Bond::Pending).unwrap_err();
    assert_eq!(many, "Too many shares: an order of this account may have 200");
    let first = place(&mut bounded, sell(10, 10), working).unwrap();
    place(&mut bounded, buy(9, 200), Bond::Pending).unwrap();
    let why = Err("Too many open orders: this account may have 2".to_owned());
    assert_eq!(bounded.place(buy(1, 1)), why);
    bounded.cancel(first);
    bounded.place(buy(1, 1)).unwrap();
    // Position and collar are asked when the working order has executed: 990 shares are left then.
    for (shares, limit, stays) in [(110, 9, true), (111, 9, false), (110, 22, true), (110, 23, false)] {
        let mut bounded = Market::new(&[(AccountLimit::Position, "1100"), (AccountLimit::Collar, "10")]);
        bounded.other(sell(20, 1));
        place(&mut bounded, sell(10, 10), working).unwrap();
        place(&mut bounded, buy(limit, shares), Bond::Pending).unwrap();
        bounded.other(buy(10, 10));
        let refused = |event: &Event| matches!(event, Event::OrderCanceled { why: CancelReason::Refused, .. });
        assert_eq!(!bounded.events.iter().any(refused), stays, "{shares} at {limit}");
    }
}

/// Shares that are issued have no such bound, and an amendment only takes some off.
#[test]
fn a_position_past_its_limit_refuses_buys_alone() {
    let mut bounded = Market::new(&[(AccountLimit::Position, "1010"), (AccountLimit::OrderShares, "100")]);
    let order = bounded.place(buy(5, 10)).unwrap();
    let shares_of = Position::from_units(500 * UNIT);
    assert_eq!(
        bounded.apply(Command::IssueShares { symbol: symbol(), account: account(1), shares: shares_of }),
        Reply::Created
    );
    assert!(bounded.place(buy(5, 1)).unwrap_err().starts_with("Too many shares: this account may have 1010"));
    bounded.limit(&[(AccountLimit::Position, "10"), (AccountLimit::OrderShares, "1")]);
    let amended = Command::AmendOrder { account: account(1), order: order.into(), shares: shares(7) };
    assert!(matches!(bounded.apply(amended), Reply::Amended { .. }));
    bounded.place(sell(6, 1)).unwrap();
    // The buy that was open before executes.
    bounded.other(sell(5, 7));
    assert_eq!(bounded.executed(), ["7 at 5"]);
}

/// One order breaks all limits, a rule of the symbol, and needs more money than there is.
#[test]
fn limits_are_asked_in_their_order_behind_a_kill_and_before_the_rules_and_the_needs() {
    let mut bounded = Market::new(&[]);
    bounded.other(sell(100, 1));
    bounded.place(buy(1, 1)).unwrap();
    let rules = SymbolRules { tick: price(7), ..SymbolRules::NONE };
    bounded.apply(Command::ChangeRules { symbol: symbol(), rules });
    let order = Command::Place(Place::order(account(1), buy(1_000, 2_000)));
    let told = |bounded: &mut Market| match bounded.apply(order) {
        Reply::Rejected(reject) => reject.to_string(),
        other => panic!("{other:?}"),
    };
    let all = [
        (AccountLimit::OpenOrders, "1", "Too many open orders: "),
        (AccountLimit::OrderShares, "10", "Too many shares: an order "),
        (AccountLimit::OrderValue, "100", "Too much money: "),
        (AccountLimit::Position, "1005", "Too many shares: this account may have 1005 "),
        (AccountLimit::Collar, "10", "Limit 1000 is too far from the market: "),
    ];
    for (first, (_, _, begins)) in all.iter().enumerate() {
        let limits: Vec<(AccountLimit, &str)> = all[first..].iter().map(|&(limit, most, _)| (limit, most)).collect();
        bounded.limit(&limits);
        let why = told(&mut bounded);
        assert!(why.starts_with(begins), "{why}");
    }
    let scope = KillScope::Account(account(1));
    bounded.apply(Command::Kill { scope });
    assert!(told(&mut bounded).starts_with("Kill switch: "));
    bounded.apply(Command::Release { scope });
    bounded.limit(&[]);
    assert!(told(&mut bounded).starts_with("Limit 1000 is not a multiple of the tick size"));
    bounded.apply(Command::ChangeRules { symbol: symbol(), rules: SymbolRules::NONE });
    assert!(told(&mut bounded).starts_with("Insufficient funds"));
}
