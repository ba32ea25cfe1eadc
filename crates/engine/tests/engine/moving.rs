//! Post-only-move orders, one by one: their replies, their holds, and where they cannot go.

use engine::{DoneOrders, Engine};
use terms::{
    AccountId, Bond, ClientOrderId, Command, Entry, Event, Money, NewOrder, OrderId, OrderKind, Place, Position, Price,
    Reject, Reply, Shares, Side, Symbol, SymbolRules, Time,
};

struct Market {
    engine: Engine,
    events: Vec<Event>,
}

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn symbol() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

fn price(units: i64) -> Price {
    Price::from_units(units).unwrap()
}

fn order(kind: OrderKind, side: Side, limit: i64) -> NewOrder {
    NewOrder::of_kind(kind, symbol(), side, price(limit), Shares::from_units(1).unwrap())
}

impl Market {
    /// Makes a market with an ask of one share at 100, and a bid at 90.
    fn new() -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Drop), events: Vec::new() };
        market.apply(Command::CreateSymbol { symbol: symbol() });
        market.apply(Command::CreateAccount { account: account(), balance: Money::from_units(1_000) });
        let shares = Position::from_units(100);
        market.apply(Command::IssueShares { symbol: symbol(), account: account(), shares });
        market.place(order(OrderKind::Limit, Side::Sell, 100), None);
        market.place(order(OrderKind::Limit, Side::Buy, 90), None);
        market
    }

    fn apply(&mut self, command: Command) -> Reply {
        let sequence = self.engine.sequence().next();
        self.events.clear();
        let entry = Entry { sequence, time: Time(sequence.0), command };
        self.engine.apply(&entry, &mut Vec::new(), &mut |event| self.events.push(event))
    }

    fn place(&mut self, order: NewOrder, client_id: Option<&str>) -> Reply {
        let client_id = client_id.map(|id| ClientOrderId::parse(id.as_bytes()).unwrap());
        self.apply(Command::Place(Place::order(account(), order).named(client_id)))
    }

    fn moves(&mut self, side: Side, limit: i64) -> Reply {
        self.place(order(OrderKind::PostOnlyMove, side, limit), None)
    }
}

fn moved(order: u64, limit: i64) -> Reply {
    Reply::Moved { order: OrderId(order), limit: price(limit), is_new: true }
}

#[test]
fn it_goes_beside_the_best_price_that_it_would_take_and_holds_what_that_costs() {
    let mut market = Market::new();
    assert_eq!(market.moves(Side::Buy, 500), moved(3, 99));
    assert_eq!(market.engine.balance(account()), Some(Money::from_units(1_000 - 90 - 99)));
    let Some(Event::OrderOpened { placed, .. }) = market.events.first() else { panic!("{:?}", market.events) };
    assert_eq!((placed.kind, placed.limit), (OrderKind::PostOnly, price(99)), "it is told with what it got");
    assert_eq!(market.moves(Side::Sell, 1), moved(4, 100));
    assert_eq!(market.moves(Side::Buy, 98), Reply::Opened(OrderId(5)), "it takes nothing there");
}

#[test]
fn it_obeys_the_rules_at_the_price_that_it_gets() {
    let mut market = Market::new();
    let rules = SymbolRules { tick: price(7), ..SymbolRules::NONE };
    market.apply(Command::ChangeRules { symbol: symbol(), rules });
    assert_eq!(market.moves(Side::Buy, 105), moved(3, 98));
    assert_eq!(market.moves(Side::Sell, 7), moved(4, 105));
    assert!(
        matches!(market.moves(Side::Buy, 50), Reply::Rejected(Reject::BreaksRule(_))),
        "nothing moves it onto the tick"
    );
}

#[test]
fn where_no_price_is_left_it_is_refused() {
    let mut market = Market::new();
    market.place(order(OrderKind::Limit, Side::Sell, 91), None);
    market.place(order(OrderKind::Limit, Side::Buy, 91), None);
    market.place(order(OrderKind::Limit, Side::Sell, 90), None);
    market.place(order(OrderKind::Limit, Side::Sell, 1), None);
    assert_eq!(market.moves(Side::Buy, 5), Reply::Rejected(Reject::WouldTake { price: price(1) }));
}

#[test]
fn sent_again_it_is_the_same_order_wherever_it_moved_to() {
    let mut market = Market::new();
    let asked = order(OrderKind::PostOnlyMove, Side::Buy, 100);
    assert_eq!(market.place(asked, Some("a")), moved(3, 99));
    let again = Reply::Moved { order: OrderId(3), limit: price(99), is_new: false };
    assert_eq!(market.place(asked, Some("a")), again);
    let other = Reply::Moved { order: OrderId(3), limit: price(99), is_new: false };
    assert_eq!(market.place(order(OrderKind::PostOnlyMove, Side::Buy, 120), Some("a")), other);
    let plain = market.place(order(OrderKind::PostOnly, Side::Buy, 100), Some("a"));
    assert!(
        matches!(plain, Reply::Rejected(Reject::ClientOrderIdTaken { .. })),
        "one that does not move has this limit or not"
    );
    let sells = market.place(order(OrderKind::PostOnlyMove, Side::Sell, 100), Some("a"));
    assert!(matches!(sells, Reply::Rejected(Reject::ClientOrderIdTaken { .. })));
}

#[test]
fn one_that_waits_for_another_order_is_not_the_one_that_moved_under_its_name() {
    let mut market = Market::new();
    let id = ClientOrderId::parse(b"mine").unwrap();
    let asked = order(OrderKind::PostOnlyMove, Side::Buy, 110);
    assert_eq!(market.place(asked, Some("mine")), moved(3, 99));
    let working = order(OrderKind::Limit, Side::Sell, 120);
    market.apply(Command::Place(Place::order(account(), working).bound(Bond::Working { two_wait: false })));
    let told = market.apply(Command::Place(Place::order(account(), asked).named(Some(id)).bound(Bond::Pending)));
    let Reply::Rejected(Reject::ClientOrderIdTaken { order, differs }) = told else { panic!("{told:?}") };
    assert!(order == OrderId(3) && differs.limit && !differs.kind, "{differs:?}");
}
