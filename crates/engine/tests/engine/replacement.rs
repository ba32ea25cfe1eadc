//! Orders on the condition that the command before canceled one.

use engine::{DoneOrders, Engine};
use terms::{
    AccountId, ClientOrderId, Command, DOLLAR, Entry, Event, Money, NewOrder, OrderId, OrderName, Place, Price, Reject,
    Reply, Shares, Side, Symbol, Time,
};

const UNIT: i64 = 100_000_000;

/// One account with a hundred dollars.
struct Market {
    engine: Engine,
    events: Vec<Event>,
}

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn client_id(text: &str) -> ClientOrderId {
    ClientOrderId::parse(text.as_bytes()).unwrap()
}

/// A buy of this many shares at ten dollars.
fn buy(shares: i64) -> Command {
    let (limit, shares) = (Price::from_units(10 * UNIT).unwrap(), Shares::from_units(shares * UNIT).unwrap());
    let order = NewOrder::limit(Symbol::parse(b"SPY").unwrap(), Side::Buy, limit, shares);
    Command::Place(Place::order(account(), order))
}

fn named(id: &str, placing: Command) -> Command {
    let Command::Place(place) = placing else { panic!("{placing:?}") };
    Command::Place(place.named(Some(client_id(id))))
}

fn cancel(order: impl Into<OrderName>) -> Command {
    Command::CancelOrder { account: account(), order: order.into() }
}

impl Market {
    fn new() -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Keep), events: Vec::new() };
        market.apply(Command::CreateAccount { account: account(), balance: Money::from_units(100 * DOLLAR) });
        market.apply(Command::CreateSymbol { symbol: Symbol::parse(b"SPY").unwrap() });
        market
    }

    fn apply(&mut self, command: Command) -> Reply {
        let sequence = self.engine.sequence().next();
        self.events.clear();
        let entry = Entry { sequence, time: Time(sequence.0), command };
        let reply = self.engine.apply(&entry, &mut Vec::new(), &mut |event| self.events.push(event));
        self.engine.check_invariants();
        reply
    }

    /// Places an order on the condition.
    fn if_canceled(&mut self, placing: Command) -> Reply {
        self.apply(placing.if_canceled().unwrap())
    }
}

const NOT_CANCELED: Reply = Reply::Rejected(Reject::NotCanceled);

#[test]
fn what_a_cancel_frees_pays_for_the_order_in_its_stead() {
    let mut market = Market::new();
    assert_eq!(market.apply(buy(10)), Reply::Opened(OrderId(1)));
    assert!(matches!(market.apply(buy(1)), Reply::Rejected(Reject::InsufficientFunds { .. })), "all is held");
    assert!(matches!(market.apply(cancel(OrderId(1))), Reply::Canceled(_)));
    assert_eq!(market.if_canceled(buy(9)), Reply::Opened(OrderId(2)));
    assert_eq!(market.engine.balance(account()), Some(Money::from_units(10 * DOLLAR)));
}

#[test]
fn it_needs_the_cancel_just_before_it() {
    let mut market = Market { engine: Engine::new(1, DoneOrders::Keep), events: Vec::new() };
    assert_eq!(market.if_canceled(buy(1)), Reply::Rejected(Reject::UnknownAccount), "the first command of all");
    let mut market = Market::new();
    assert_eq!(market.if_canceled(buy(1)), NOT_CANCELED, "there was no cancel");
    market.apply(buy(1));
    assert_eq!(market.apply(cancel(OrderId(7))), Reply::Rejected(Reject::UnknownOrder));
    assert_eq!(market.if_canceled(buy(1)), NOT_CANCELED, "of an unknown order");
    market.apply(cancel(OrderId(1)));
    market.apply(buy(1));
    assert_eq!(market.if_canceled(buy(1)), NOT_CANCELED, "a command came between them");
    market.apply(cancel(OrderId(2)));
    assert_eq!(market.if_canceled(buy(1)), Reply::Opened(OrderId(3)));
    assert_eq!(market.if_canceled(buy(1)), NOT_CANCELED, "one cancel, one order");
    assert_eq!(market.apply(cancel(OrderId(2))), Reply::Rejected(Reject::NothingOpen));
    assert_eq!(market.if_canceled(buy(1)), NOT_CANCELED, "it was canceled before");
    assert!(market.events.is_empty(), "{:?}", market.events);
    assert_eq!(market.apply(buy(1)), Reply::Opened(OrderId(4)), "nothing spent an id");
}

#[test]
fn a_cancel_stands_when_the_order_in_its_stead_is_refused() {
    let mut market = Market::new();
    market.apply(buy(10));
    market.apply(cancel(OrderId(1)));
    assert!(matches!(market.if_canceled(buy(11)), Reply::Rejected(Reject::InsufficientFunds { .. })));
    assert_eq!(market.engine.balance(account()), Some(Money::from_units(100 * DOLLAR)));
    assert_eq!(market.engine.open_order_count(), 0);
}

#[test]
fn sent_again_under_its_client_order_id_it_is_told_as_the_first_time() {
    let mut market = Market::new();
    market.apply(named("old", buy(5)));
    assert!(matches!(market.apply(cancel(client_id("old"))), Reply::Canceled(_)));
    assert_eq!(market.if_canceled(named("new", buy(6))), Reply::Opened(OrderId(2)));
    // The reply was lost, and both are sent once more: the cancel finds nothing open, and nothing is placed twice.
    assert_eq!(market.apply(cancel(client_id("old"))), Reply::Rejected(Reject::NothingOpen));
    assert_eq!(market.if_canceled(named("new", buy(6))), Reply::Repeated(OrderId(2)));
    market.apply(cancel(client_id("old")));
    let other = market.if_canceled(named("new", buy(7)));
    assert!(matches!(other, Reply::Rejected(Reject::ClientOrderIdTaken { .. })), "{other:?}");
    market.apply(cancel(client_id("old")));
    assert_eq!(market.if_canceled(named("newer", buy(1))), NOT_CANCELED);
    assert_eq!(market.engine.open_order_count(), 1);
}
