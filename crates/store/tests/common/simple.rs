//! A small market to which a test gives commands one by one: short names for its accounts, symbol and amounts, and its
//! way into a database and back.

use std::convert::Infallible;

use store::Store;
use terms::{
    AccountId, ClientOrderId, Command, DOLLAR, Money, NewOrder, Place, Position, Price, Shares, Side, StateItem, Symbol,
};

use super::market::{Market, state};
use super::postgres::Database;

pub fn account(number: u8) -> AccountId {
    AccountId::parse(&[b'0' + number]).unwrap()
}

pub fn client_id(text: &str) -> ClientOrderId {
    ClientOrderId::parse(text.as_bytes()).unwrap()
}

pub fn spy() -> Symbol {
    Symbol::parse(b"SPY").unwrap()
}

pub fn price(dollars: i64) -> Price {
    Price::from_units(dollars * 100_000_000).unwrap()
}

pub fn shares(count: i64) -> Shares {
    Shares::from_units(count * 100_000_000).unwrap()
}

pub fn limit(side: Side, dollars: i64, count: i64) -> NewOrder {
    NewOrder::limit(spy(), side, price(dollars), shares(count))
}

pub fn place(market: &mut Market, number: u8, order: NewOrder) {
    market.apply(Command::Place(Place::order(account(number), order)));
}

/// Makes a market in which each of these accounts has much of everything.
pub fn rich(accounts: &[u8]) -> Market {
    let mut market = Market::of_all_kinds(1);
    let balance = Money::from_units(1_000_000_000 * DOLLAR);
    let issued = Position::from_units(1_000_000_000 * 100_000_000);
    market.apply(Command::CreateSymbol { symbol: spy() });
    for &number in accounts {
        market.apply(Command::CreateAccount { account: account(number), balance });
        market.apply(Command::IssueShares { symbol: spy(), account: account(number), shares: issued });
    }
    market
}

/// Checks that a market's state goes into an empty database and comes out the same, with this many items `of_interest`,
/// which the test is about.
pub fn goes_in_and_comes_out(
    market: &Market,
    database: &Database,
    (count, of_interest): (usize, fn(&StateItem) -> bool),
) -> Store {
    let items = state(&market.engine);
    assert_eq!(items.iter().filter(|item| of_interest(item)).count(), count);
    let mut store = database.store("importer");
    store.migrate().unwrap();
    let given = items.iter().copied().map(Ok::<_, Infallible>);
    let imported = store.import(given, market.done_orders().into_iter().map(Ok)).unwrap();
    assert_eq!(imported.state_hash, market.engine.state_hash());
    store.verify().unwrap();
    let mut exported = Vec::new();
    store
        .export_state(&mut |item| {
            exported.push(item);
            Ok(())
        })
        .unwrap();
    assert!(exported == items, "the state comes out as it went in");
    store
}
