//! Icebergs: the cases that a count of the comparison with the model cannot show.

use engine::{DoneOrders, Engine};
use terms::{
    AccountId, Command, DOLLAR, Entry, Event, IcebergOrder, Money, NewOrder, OrderId, Position, Price, Reject, Reply,
    Shares, Side, StateItem, Symbol, Time,
};

struct Market {
    engine: Engine,
    /// The orders and shares of the makers, in the order in which they executed.
    executed: Vec<(u64, i64)>,
}

fn account(number: u8) -> AccountId {
    AccountId::parse(&[b'0' + number]).unwrap()
}

fn shares(whole: i64) -> Shares {
    Shares::from_units(whole * 100_000_000).unwrap()
}

fn order(side: Side, whole: i64) -> NewOrder {
    NewOrder::limit(Symbol::parse(b"SPY").unwrap(), side, Price::from_units(100_000_000).unwrap(), shares(whole))
}

impl Market {
    /// Three accounts with a thousand dollars and shares each.
    fn new() -> Market {
        let mut market = Market { engine: Engine::new(1, DoneOrders::Drop), executed: Vec::new() };
        let symbol = Symbol::parse(b"SPY").unwrap();
        market.apply(Command::CreateSymbol { symbol });
        for number in 1..=3 {
            let account = account(number);
            market.apply(Command::CreateAccount { account, balance: Money::from_units(1_000 * DOLLAR) });
            market.apply(Command::IssueShares { symbol, account, shares: Position::from_units(100_000_000_000) });
        }
        market
    }

    fn apply(&mut self, command: Command) -> Reply {
        let entry = Entry { sequence: self.engine.sequence().next(), time: Time(1), command };
        let mut executed = Vec::new();
        let reply = self.engine.apply(&entry, &mut Vec::new(), &mut |event| {
            if let Event::Executed { maker, shares, .. } = event {
                executed.push((maker.0, shares.units() / 100_000_000));
            }
        });
        self.engine.check_invariants();
        self.executed = executed;
        reply
    }

    fn place(&mut self, number: u8, order: NewOrder) -> Reply {
        self.apply(Command::PlaceOrder { account: account(number), order, client_id: None, until: None })
    }

    fn in_parts(&mut self, number: u8, order: NewOrder, display: i64) -> Reply {
        let account = account(number);
        let iceberg = IcebergOrder { account, order, display: shares(display), client_id: None, until: None };
        self.apply(iceberg.command().unwrap())
    }

    /// The tip and the open shares of an order.
    fn stands(&self, order: u64) -> (i64, i64) {
        let mut open = 0;
        self.engine.export(&mut |item| {
            if let StateItem::Order { order: id, open: all, .. } = item
                && id == OrderId(order)
            {
                open = all.units() / 100_000_000;
            }
        });
        let shown = self.engine.iceberg(OrderId(order)).map_or(0, |iceberg| iceberg.shown.units() / 100_000_000);
        (shown, open)
    }
}

/// Other engines let the next part of an iceberg keep the place of the one before, so that the largest iceberg is
/// always first.
#[test]
fn an_icebergs_tip_does_not_jump_the_line() {
    let mut market = Market::new();
    market.in_parts(1, order(Side::Sell, 30), 10);
    market.place(2, order(Side::Sell, 10));
    market.place(3, order(Side::Buy, 10));
    assert_eq!(market.executed, [(1, 10)]);
    assert_eq!(market.stands(1), (10, 20));
    market.place(3, order(Side::Buy, 15));
    assert_eq!(market.executed, [(2, 10), (1, 5)], "who was shown first executes first");
}

/// A partly executed tip keeps its place.
#[test]
fn a_tip_that_is_executed_in_part_keeps_its_place() {
    let mut market = Market::new();
    market.in_parts(1, order(Side::Sell, 30), 10);
    market.place(2, order(Side::Sell, 10));
    market.place(3, order(Side::Buy, 4));
    market.place(3, order(Side::Buy, 8));
    assert_eq!(market.executed, [(1, 6), (2, 2)]);
    assert_eq!(market.stands(1), (10, 20));
}

#[test]
fn one_that_takes_more_than_is_shown_goes_round_the_queue() {
    let mut market = Market::new();
    market.in_parts(1, order(Side::Sell, 25), 10);
    market.in_parts(2, order(Side::Sell, 12), 4);
    market.place(3, order(Side::Buy, 40));
    assert_eq!(market.executed, [(1, 10), (2, 4), (1, 10), (2, 4), (1, 5), (2, 4)]);
    assert_eq!(market.engine.open_order_count(), 1, "three of the buy are left");
}

#[test]
fn it_executes_with_all_its_shares_when_it_arrives_and_shows_a_part_of_the_rest() {
    let mut market = Market::new();
    market.place(1, order(Side::Sell, 15));
    market.in_parts(2, order(Side::Buy, 40), 10);
    assert_eq!(market.executed, [(1, 15)]);
    assert_eq!(market.stands(2), (10, 25));
}

/// One command's work is bounded: a client could show 10^-8 shares at a time.
#[test]
fn an_order_is_shown_in_a_hundred_parts_at_most() {
    let mut market = Market::new();
    for (display, is_accepted) in [(1, false), (9, false), (10, true), (1_000, true), (1_001, false)] {
        let order = order(Side::Sell, 1_000);
        let iceberg =
            IcebergOrder { account: account(1), order, display: shares(display), client_id: None, until: None };
        let reply = market.apply(iceberg.command().unwrap());
        let refused = Reject::DisplayOutOfBounds { display: shares(display), least: shares(10), most: shares(1_000) };
        if is_accepted {
            let Reply::Opened(order) = reply else { panic!("{reply:?}") };
            market.apply(Command::CancelOrder { account: account(1), order: order.into() });
        } else {
            assert_eq!(reply, Reply::Rejected(refused));
        }
    }
}
