//! Icebergs: the bounds of a display, with the facts of its refusal. Scenarios have the rest
//! (crates/scenarios/cases/icebergs.txt).

use engine::{DoneOrders, Engine};
use terms::{
    AccountId, Command, Entry, Money, NewOrder, Place, Position, Price, Reject, Reply, Shares, Side, Symbol, Time,
};

fn shares(whole: i64) -> Shares {
    Shares::from_units(whole * 100_000_000).unwrap()
}

fn apply(engine: &mut Engine, command: Command) -> Reply {
    let entry = Entry { sequence: engine.sequence().next(), time: Time(1), command };
    let reply = engine.apply(&entry, &mut Vec::new(), &mut |_| {});
    engine.check_invariants();
    reply
}

/// One command's work is bounded: a client could show 10^-8 shares at a time.
#[test]
fn an_order_is_shown_in_a_hundred_parts_at_most() {
    let mut engine = Engine::new(1, DoneOrders::Drop);
    let (symbol, account) = (Symbol::parse(b"SPY").unwrap(), AccountId::parse(b"1").unwrap());
    apply(&mut engine, Command::CreateSymbol { symbol });
    apply(&mut engine, Command::CreateAccount { account, balance: Money::ZERO });
    apply(&mut engine, Command::IssueShares { symbol, account, shares: Position::from_units(100_000_000_000) });
    let order = NewOrder::limit(symbol, Side::Sell, Price::from_units(100_000_000).unwrap(), shares(1_000));
    for (display, is_accepted) in [(1, false), (9, false), (10, true), (1_000, true), (1_001, false)] {
        let iceberg = Place::iceberg(account, order, shares(display)).unwrap();
        let reply = apply(&mut engine, Command::Place(iceberg));
        let refused = Reject::DisplayOutOfBounds { display: shares(display), least: shares(10), most: shares(1_000) };
        if is_accepted {
            let Reply::Opened(order) = reply else { panic!("{reply:?}") };
            apply(&mut engine, Command::CancelOrder { account, order: order.into() });
        } else {
            assert_eq!(reply, Reply::Rejected(refused));
        }
    }
}
