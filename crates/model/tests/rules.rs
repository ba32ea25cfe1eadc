//! The model against docs/PROTOCOL.md: refusals, caps, events and client order ids. Scenarios have the rules of
//! matching; `engine/scenarios.rs` plays them to the model.
#![allow(clippy::unwrap_used, clippy::wildcard_enum_match_arm)]

use model::Model;
use terms::{
    AccountId, AccountIndex, CancelReason, Cancellation, ClientOrderId, Command, DOLLAR, Entry, Event, Money, NewOrder,
    OrderDifference, OrderId, Place, Position, Price, Query, Reject, Reply, Sequence, Shares, Side, Symbol,
    SymbolIndex, Time,
};

const UNIT: i64 = 100_000_000;

/// An exchange with the accounts 0, 1 and 2, which have a million dollars and a thousand shares of X each.
struct Exchange {
    model: Model,
    events: Vec<Event>,
    sequence: u64,
    /// The time that the clock is ahead of one second per command.
    later_us: u64,
}

const HOUR_US: u64 = 3_600_000_000;

fn account(number: u32) -> AccountId {
    AccountId::parse(number.to_string().as_bytes()).unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"X").unwrap()
}

fn price(dollars: i64) -> Price {
    Price::from_units(dollars * UNIT).unwrap()
}

fn shares(whole: i64) -> Shares {
    Shares::from_units(whole * UNIT).unwrap()
}

fn dollars(whole: i128) -> Money {
    Money::from_units(whole * DOLLAR)
}

impl Exchange {
    fn new() -> Exchange {
        let mut exchange = Exchange { model: Model::new(), events: Vec::new(), sequence: 0, later_us: 0 };
        exchange.apply(Command::CreateSymbol { symbol: symbol() });
        for number in 0..3 {
            let account = account(number);
            exchange.apply(Command::CreateAccount { account, balance: dollars(1_000_000) });
            let shares = shares(1_000).position();
            exchange.apply(Command::IssueShares { symbol: symbol(), account, shares });
        }
        exchange.events.clear();
        exchange
    }

    fn apply(&mut self, command: Command) -> Reply {
        self.sequence += 1;
        let time = Time(self.sequence * 1_000_000 + self.later_us);
        let entry = Entry { sequence: Sequence(self.sequence), time, command };
        let reply = self.model.apply(&entry, &mut Vec::new(), &mut self.events);
        self.model.check_invariants();
        reply
    }

    fn order(&mut self, number: u32, side: Side, whole: i64, limit: i64) -> OrderId {
        let account = account(number);
        let order = NewOrder::limit(symbol(), side, price(limit), shares(whole));
        match self.apply(Command::Place(Place::order(account, order))) {
            Reply::Opened(order) => order,
            other => panic!("refused: {other:?}"),
        }
    }

    /// Places an order for ten shares under a client order id.
    fn client_order(&mut self, id: &str, number: u32, side: Side, limit: i64) -> Reply {
        let (id, account) = (client_id(id), account(number));
        let (symbol, limit, shares) = (symbol(), price(limit), shares(10));
        self.apply(Command::Place(Place::order(account, NewOrder::limit(symbol, side, limit, shares)).named(Some(id))))
    }

    fn client_query(&self, id: &str, number: u32) -> Result<OrderId, Reject> {
        let query = Query { account: account(number), order: client_id(id).into() };
        match self.model.query(&query, &mut Vec::new()) {
            Reply::Status(status) => Ok(status.order),
            Reply::Rejected(reject) => Err(reject),
            other => panic!("{other:?}"),
        }
    }

    fn cancel(&mut self, number: u32, order: OrderId) -> Reply {
        self.apply(Command::CancelOrder { account: account(number), order: order.into() })
    }

    /// Checks an order's open shares, its canceled shares, and the (shares, price) of each execution, in whole units.
    fn check(&self, order: OrderId, open: i64, canceled: i64, executed: &[(i64, i64)]) {
        let order = self.model.order(order);
        assert_eq!(order.open, shares(open), "open of {order:?}");
        assert_eq!(order.canceled.map_or(0, |c| c.shares.units()), canceled * UNIT, "canceled of {order:?}");
        let found: Vec<_> =
            order.executions.iter().map(|e| (e.shares.units() / UNIT, e.price.units() / UNIT)).collect();
        assert_eq!(found, executed, "executions of {order:?}");
    }

    fn check_account(&self, number: u32, balance: i128, position: i64) {
        assert_eq!(self.model.balance(AccountIndex(number)), dollars(balance), "balance of {number}");
        let found = self.model.position(AccountIndex(number), SymbolIndex(0));
        assert_eq!(found, shares(position).position(), "position of {number}");
    }
}

fn client_id(text: &str) -> ClientOrderId {
    ClientOrderId::parse(text.as_bytes()).unwrap()
}

use Side::{Buy, Sell};

#[test]
fn nothing_is_canceled_twice_or_by_another() {
    let mut x = Exchange::new();
    let buy = x.order(0, Buy, 10, 100);
    assert_eq!(x.cancel(1, buy), Reply::Rejected(Reject::UnknownOrder));
    assert_eq!(x.cancel(9, buy), Reply::Rejected(Reject::UnknownAccount));
    assert_eq!(x.cancel(0, OrderId(2)), Reply::Rejected(Reject::UnknownOrder));
    assert_eq!(x.cancel(0, OrderId(0)), Reply::Rejected(Reject::UnknownOrder));
    assert!(matches!(x.cancel(0, buy), Reply::Canceled(_)));
    assert_eq!(x.cancel(0, buy), Reply::Rejected(Reject::NothingOpen));
    let time = Time((x.sequence - 1) * 1_000_000);
    assert_eq!(x.model.order(buy).canceled, Some(Cancellation { shares: shares(10), time }));
}

#[test]
fn an_order_needs_an_account_then_a_symbol_then_funds_or_shares() {
    let mut x = Exchange::new();
    let place = |number, symbol, side, whole| {
        Command::Place(Place::order(account(number), NewOrder::limit(symbol, side, price(1_000), shares(whole))))
    };
    let unknown = Symbol::parse(b"Y").unwrap();
    assert_eq!(x.apply(place(9, unknown, Buy, 1)), Reply::Rejected(Reject::UnknownAccount));
    assert_eq!(x.apply(place(0, unknown, Sell, 1)), Reply::Rejected(Reject::UnknownSymbol));
    let (needed, available) = (dollars(1_001_000), dollars(1_000_000));
    let refused = Reply::Rejected(Reject::InsufficientFunds { needed, available });
    assert_eq!(x.apply(place(0, symbol(), Buy, 1_001)), refused);
    let (needed, available) = (shares(1_001).position(), shares(1_000).position());
    let refused = Reply::Rejected(Reject::InsufficientShares { needed, available });
    assert_eq!(x.apply(place(0, symbol(), Sell, 1_001)), refused);
    assert_eq!(x.events, [], "a refusal changes nothing");
    assert_eq!(x.apply(place(0, symbol(), Buy, 1_000)), Reply::Opened(OrderId(1)), "a refused order spends no id");
}

#[test]
fn no_more_is_created_than_the_caps_allow() {
    let mut x = Exchange::new();
    let create = |number, balance| Command::CreateAccount { account: account(number), balance };
    assert_eq!(x.apply(create(0, Money::CAP)), Reply::Rejected(Reject::AccountExists));
    let issued = dollars(3_000_000);
    assert_eq!(x.apply(create(3, Money::CAP)), Reply::Rejected(Reject::TooMuchMoney { issued }));
    assert_eq!(x.apply(create(3, Money::CAP.minus(issued))), Reply::Created);
    assert_eq!(x.apply(create(4, Money::ZERO)), Reply::Created);
    let issue = |shares| Command::IssueShares { symbol: symbol(), account: account(0), shares };
    let issued = shares(3_000).position();
    assert_eq!(x.apply(issue(Position::CAP)), Reply::Rejected(Reject::TooManyShares { issued }));
    assert_eq!(x.apply(issue(Position::CAP.minus(issued))), Reply::Created);
    assert_eq!(x.apply(issue(Position::ZERO)), Reply::Created);
}

#[test]
fn events_say_what_happened_in_order() {
    let mut x = Exchange::new();
    x.order(0, Sell, 10, 100);
    x.events.clear();
    let order = x.order(1, Buy, 15, 102);
    let (buyer, seller, symbol) = (AccountIndex(1), AccountIndex(0), SymbolIndex(0));
    let expected = [
        Event::OrderOpened { order, account: buyer, placed: NewOrder::limit(symbol, Buy, price(102), shares(15)) },
        Event::Executed {
            symbol,
            maker: OrderId(1),
            maker_account: seller,
            aggressor: order,
            price: price(100),
            shares: shares(10),
            maker_done: true,
        },
        Event::BalanceChanged { account: seller, balance: dollars(1_001_000) },
        Event::BalanceChanged { account: buyer, balance: dollars(1_000_000 - 1_000 - 5 * 102) },
        Event::PositionChanged { account: buyer, symbol, shares: shares(1_010).position() },
    ];
    assert_eq!(x.events, expected);
    x.events.clear();
    x.cancel(1, order);
    let expected = [
        Event::OrderCanceled { order, account: buyer, symbol, shares: shares(5), why: CancelReason::Asked },
        Event::BalanceChanged { account: buyer, balance: dollars(999_000) },
    ];
    assert_eq!(x.events, expected);
}

#[test]
fn a_buy_from_oneself_tells_the_balance_it_ends_with() {
    let mut x = Exchange::new();
    let maker = x.order(0, Sell, 10, 100);
    x.events.clear();
    let order = x.order(0, Buy, 10, 104);
    let (account, symbol) = (AccountIndex(0), SymbolIndex(0));
    let expected = [
        Event::OrderOpened { order, account, placed: NewOrder::limit(symbol, Buy, price(104), shares(10)) },
        Event::Executed {
            symbol,
            maker,
            maker_account: account,
            aggressor: order,
            price: price(100),
            shares: shares(10),
            maker_done: true,
        },
        Event::BalanceChanged { account, balance: dollars(1_000_000 - 40) },
        Event::BalanceChanged { account, balance: dollars(1_000_000) },
        Event::PositionChanged { account, symbol, shares: shares(1_000).position() },
    ];
    assert_eq!(x.events, expected);
}

#[test]
fn the_same_order_under_the_same_client_order_id_is_placed_once() {
    let mut x = Exchange::new();
    assert_eq!(x.client_order("a", 0, Buy, 100), Reply::Opened(OrderId(1)));
    let named = [
        Event::OrderOpened {
            order: OrderId(1),
            account: AccountIndex(0),
            placed: NewOrder::limit(SymbolIndex(0), Buy, price(100), shares(10)),
        },
        Event::ClientOrderIdGiven { order: OrderId(1), id: client_id("a") },
    ];
    assert_eq!(x.events[..2], named);
    let before = x.events.len();
    assert_eq!(x.client_order("a", 0, Buy, 100), Reply::Repeated(OrderId(1)));
    assert_eq!(x.events.len(), before, "a repeat changes nothing");
    x.check_account(0, 999_000, 1_000);
    // The ids of another account are separate, and another id stands for another order.
    assert_eq!(x.client_order("a", 1, Buy, 100), Reply::Opened(OrderId(2)));
    assert_eq!(x.client_order("A", 0, Buy, 100), Reply::Opened(OrderId(3)));
    assert_eq!((x.client_query("a", 0), x.client_query("a", 1)), (Ok(OrderId(1)), Ok(OrderId(2))));
    assert_eq!(x.client_query("b", 0), Err(Reject::UnknownOrder));
}

#[test]
fn another_order_under_a_client_order_id_that_is_taken_is_refused() {
    let mut x = Exchange::new();
    x.client_order("a", 0, Buy, 100);
    let same = OrderDifference::default();
    let taken = |differs| Reply::Rejected(Reject::ClientOrderIdTaken { order: OrderId(1), differs });
    assert_eq!(x.client_order("a", 0, Buy, 101), taken(OrderDifference { limit: true, ..same }));
    assert_eq!(x.client_order("a", 0, Sell, 100), taken(OrderDifference { side: true, ..same }));
    // The request counts as placed, whatever is left of the order.
    x.order(1, Sell, 4, 100);
    assert_eq!(x.client_order("a", 0, Buy, 100), Reply::Repeated(OrderId(1)));
    // This also holds for a symbol that does not exist: the market looks at the id first.
    let (id, account, nothing) = (client_id("a"), account(0), Symbol::parse(b"NOTHING").unwrap());
    let (side, limit, shares) = (Buy, price(100), shares(9));
    let order = NewOrder::limit(nothing, side, limit, shares);
    let reply = x.apply(Command::Place(Place::order(account, order).named(Some(id))));
    assert_eq!(reply, taken(OrderDifference { symbol: true, shares: true, ..same }));
    x.check(OrderId(1), 6, 0, &[(4, 100)]);
}

#[test]
fn a_refused_order_does_not_use_its_client_order_id_up() {
    let mut x = Exchange::new();
    let refused = x.client_order("a", 0, Buy, 1_000_000);
    assert!(matches!(refused, Reply::Rejected(Reject::InsufficientFunds { .. })), "{refused:?}");
    assert_eq!(x.client_query("a", 0), Err(Reject::UnknownOrder));
    assert_eq!(x.client_order("a", 0, Sell, 100), Reply::Opened(OrderId(1)));
}

#[test]
fn a_client_order_id_is_free_24_hours_after_its_order_is_done() {
    let mut x = Exchange::new();
    x.client_order("rests", 0, Buy, 100);
    x.later_us += 100 * HOUR_US;
    assert_eq!(x.client_order("rests", 0, Buy, 100), Reply::Repeated(OrderId(1)), "an open order keeps its id");
    let canceled_at = x.sequence + 1;
    let canceled = x.apply(Command::CancelOrder { account: account(0), order: client_id("rests").into() });
    assert!(matches!(canceled, Reply::Canceled(ref status) if status.order == OrderId(1)), "{canceled:?}");
    assert_eq!(x.events.last(), Some(&Event::ClientOrderDone { order: OrderId(1) }));
    let again = x.apply(Command::CancelOrder { account: account(0), order: client_id("rests").into() });
    assert_eq!(again, Reply::Rejected(Reject::NothingOpen));
    // These are the last microsecond in which the id stands for the order, and the first in which it does not.
    let until = 24 * HOUR_US - (x.sequence + 1 - canceled_at) * 1_000_000;
    x.later_us += until - 1;
    assert_eq!(x.client_order("rests", 0, Buy, 100), Reply::Repeated(OrderId(1)));
    x.later_us -= 1_000_000 - 1;
    assert_eq!(x.client_order("rests", 0, Buy, 100), Reply::Opened(OrderId(2)));
    assert_eq!(x.client_query("rests", 0), Ok(OrderId(2)));
}
