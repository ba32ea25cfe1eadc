//! Linked orders: the cases that a count of the comparison with the model cannot show.

use engine::{DoneOrders, Engine};
use terms::{
    AccountId, Bond, Command, DOLLAR, Entry, Money, NewOrder, OrderId, Place, Price, Reject, Reply, Shares, Side,
    Symbol, Time, Trigger,
};

fn account(number: u8) -> AccountId {
    AccountId::parse(&[b'0' + number]).unwrap()
}

fn price(dollars: i64) -> Price {
    Price::from_units(dollars * 100_000_000).unwrap()
}

fn apply(engine: &mut Engine, command: Command) -> Reply {
    let entry = Entry { sequence: engine.sequence().next(), time: Time(1), command };
    engine.apply(&entry, &mut Vec::new(), &mut |_| {})
}

/// Places a buy at 10 dollars that rests, and a linked one that waits for 20.
fn pair(first: u8, second: u8) -> (Engine, Reply) {
    let mut engine = Engine::new(1, DoneOrders::Drop);
    let symbol = Symbol::parse(b"SPY").unwrap();
    apply(&mut engine, Command::CreateSymbol { symbol });
    for number in [1, 2] {
        let balance = Money::from_units(100 * DOLLAR);
        apply(&mut engine, Command::CreateAccount { account: account(number), balance });
    }
    let shares = Shares::from_units(100_000_000).unwrap();
    let rests = NewOrder::limit(symbol, Side::Buy, price(10), shares);
    let waits = NewOrder { limit: price(25), ..rests }.triggered_by(Trigger::from_below(price(20)));
    let (client_id, until) = (None, None);
    apply(&mut engine, Command::Place(Place::order(account(first), rests).named(client_id).until(until)));
    let reply = apply(
        &mut engine,
        Command::Place(Place::order(account(second), waits).named(client_id).until(until).bound(Bond::Linked)),
    );
    engine.check_invariants();
    (engine, reply)
}

#[test]
fn both_hold_what_the_dearer_one_needs() {
    let (engine, reply) = pair(1, 1);
    assert_eq!((reply, engine.partner(OrderId(1))), (Reply::Opened(OrderId(2)), Some(OrderId(2))));
    assert_eq!(engine.balance(account(1)), Some(Money::from_units(75 * DOLLAR)));
}

/// A regression: a refused second order canceled the first one, even if that was another account's.
#[test]
fn an_order_behind_another_accounts_is_refused_and_that_one_stays() {
    let (engine, reply) = pair(1, 2);
    assert_eq!(reply, Reply::Rejected(Reject::NotLinked));
    assert_eq!(engine.open_order_count(), 1, "nobody cancels another account's order");
    assert_eq!(engine.balance(account(2)), Some(Money::from_units(100 * DOLLAR)));
}
