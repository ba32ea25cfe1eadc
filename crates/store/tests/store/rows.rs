//! Committed rows: plain SQL shows them and a recovery reads them. Random markets are compared with the naive model.

use std::time::Duration;

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::{limit, place, rich, shares};
use engine::{DoneOrders, Engine};
use store::{AskedOrder, History, Stop};
use terms::{
    AccountId, Command, DoneOrder, Money, NewOrder, OrderId, Place, Position, Price, Reply, Shares, Side, Symbol,
};

#[test]
fn every_row_is_what_the_model_says() {
    for seed in 0..12 {
        let database = database();
        let mut writer = database.writer("one");
        let market = Market::of_all_kinds(seed).with_rules();
        let mut market = if seed % 2 == 0 { market } else { market.with_fees() };
        for _ in 0..4 {
            market.run(&mut writer, 400);
            market.check(&database);
        }
    }
}

#[test]
fn a_recovery_finds_the_market_where_it_was() {
    let mut named_done = 0;
    for seed in 20..28 {
        let database = database();
        let market = Market::of_all_kinds(seed).with_rules();
        let mut market = if seed % 2 == 0 { market } else { market.with_fees() };
        for server in 0..4 {
            let mut writer = database.writer(&format!("server {server}"));
            let loaded = writer.load(seed, DoneOrders::Keep).unwrap();
            loaded.engine.check_invariants();
            named_done += market.model.client_orders().filter(|(_, order)| order.done_at().is_some()).count();
            assert_eq!(loaded.engine.state_hash(), market.engine.state_hash(), "seed {seed}, server {server}");
            assert_eq!(loaded.standing.head, market.effects.head());
            // The market continues from there, with the engine that was read.
            market.engine = loaded.engine;
            market.run(&mut writer, 300);
            market.check(&database);
            writer.close();
        }
    }
    assert!(named_done > 30, "{named_done} client order ids stood for done orders at a recovery");
}

#[test]
fn a_done_order_is_found_by_its_id() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(3);
    market.run(&mut writer, 1500);
    let mut history = History::connect(&database.url(), "history", Duration::from_secs(60), Stop::new()).unwrap();
    let ids: Vec<OrderId> = (0..=market.model.orders_placed() + 1).map(OrderId).collect();
    let found: Vec<_> = history.done_orders(&ids).unwrap().into_iter().flatten().collect();
    assert_eq!(found, market.done_orders());
    let done = found.last().unwrap();
    assert_eq!(history.done_order(done.order).unwrap().as_ref(), Some(done));
    // The connection may break.
    assert_eq!(database.end_connections("history"), 1);
    assert_eq!(history.done_order(done.order).unwrap().as_ref(), Some(done));
}

#[test]
fn no_more_executions_are_read_than_there_is_room_for() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(3);
    market.run(&mut writer, 3000);
    let mut history = History::connect(&database.url(), "history", Duration::from_secs(5), Stop::new()).unwrap();
    let all = market.done_orders();
    let own = |done: &DoneOrder| AskedOrder { order: done.order, executions_for: Some(done.account) };
    let asked: Vec<AskedOrder> = all.iter().map(own).collect();
    let executions: usize = all.iter().map(|done| done.executions.len()).sum();
    assert!(executions > 100, "{executions}");
    let within = history.done_within(&asked, executions).unwrap();
    assert!(within.whole && within.done.iter().flatten().flatten().eq(&all));
    let bare = |done: &DoneOrder| DoneOrder { executions: Vec::new(), ..done.clone() };
    let within = history.done_within(&asked, executions - 1).unwrap();
    assert!(!within.whole && within.done.into_iter().flatten().flatten().eq(all.iter().map(bare)));
    // No other account gets an order's executions, and a cancel does not ask for them.
    let stranger = AccountId::parse(b"31415926").unwrap();
    for executions_for in [None, Some(stranger)] {
        let asked: Vec<AskedOrder> = all.iter().map(|done| AskedOrder { order: done.order, executions_for }).collect();
        let within = history.done_within(&asked, 0).unwrap();
        assert!(within.whole && within.done.into_iter().flatten().flatten().eq(all.iter().map(bare)));
    }
    // An order that is asked for twice has its executions once.
    let some = all.iter().find(|done| done.executions.len() > 1).unwrap();
    let within = history.done_within(&[own(some), own(some)], some.executions.len()).unwrap();
    assert_eq!(within.done, [Ok(Some(some.clone())), Ok(Some(some.clone()))]);
}

#[test]
fn amounts_at_their_caps_are_exact() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(1);
    let account = |digits: &str| AccountId::parse(digits.as_bytes()).unwrap();
    let (rich, tiny) = (account("99999999999999999999999999999999"), account("00"));
    let symbol = Symbol::parse(&[b'Z'; 32]).unwrap();
    let spent = Price::MAX.times(Shares::from_units(1).unwrap());
    for command in [
        Command::CreateAccount { account: tiny, balance: Money::from_units(7) },
        Command::CreateAccount { account: rich, balance: Money::CAP.minus(Money::from_units(7)) },
        Command::CreateSymbol { symbol },
        Command::IssueShares { symbol, account: tiny, shares: Position::CAP },
        // These are the fewest shares at the highest price, and the most at the lowest.
        Command::Place(Place::order(
            rich,
            NewOrder::limit(symbol, Side::Buy, Price::MAX, Shares::from_units(1).unwrap()),
        )),
        Command::Place(Place::order(tiny, NewOrder::limit(symbol, Side::Sell, Price::MAX, Shares::MAX))),
        Command::Place(Place::order(
            rich,
            NewOrder::limit(symbol, Side::Buy, Price::from_units(1).unwrap(), Shares::MAX),
        )),
    ] {
        market.apply(command);
    }
    market.commit(&mut writer).unwrap();
    market.check(&database);
    let loaded = writer.load(1, DoneOrders::Keep).unwrap();
    assert_eq!(loaded.engine.state_hash(), market.engine.state_hash());
    assert_eq!(loaded.engine.balance(tiny), Some(spent.plus(Money::from_units(7))));
    assert_eq!(database.sql("SELECT max(limit_price) FROM pricetime.orders"), ["92233720368.54775807"]);
}

#[test]
fn an_empty_database_is_an_empty_market() {
    let database = database();
    let mut writer = database.writer("one");
    let loaded = writer.load(1, DoneOrders::Keep).unwrap();
    assert_eq!(loaded.engine.state_hash(), Engine::new(2, DoneOrders::Keep).state_hash());
    // A refused command is a command: it moves the sequence and nothing else.
    let mut market = Market::of_all_kinds(1);
    let nobody = AccountId::parse(b"1").unwrap();
    let cancel = Command::CancelOrder { account: nobody, order: OrderId(1).into() };
    let entry = terms::Entry { sequence: terms::Sequence(1), time: terms::Time(1), command: cancel };
    let mut other = Engine::new(1, DoneOrders::Keep);
    assert!(matches!(other.apply(&entry, &mut Vec::new(), &mut |_| {}), Reply::Rejected(_)));
    market.apply(cancel);
    market.commit(&mut writer).unwrap();
    assert_eq!(database.sql("SELECT sequence, next_order FROM pricetime.command_sequence"), ["1|1"]);
}

/// Each pair of an account and a symbol that it once held had a row for ever.
#[test]
fn positions_of_zero_go_with_the_next_start() {
    let (database, mut market) = (database(), rich(&[1, 2]));
    let all = NewOrder { shares: shares(1_000_000_000), ..limit(Side::Sell, 1, 1) };
    place(&mut market, 1, all);
    place(&mut market, 2, NewOrder { side: Side::Buy, ..all });
    let zeros = "SELECT account FROM pricetime.positions WHERE shares = 0";
    market.restart(&database, "one");
    assert_eq!(database.sql(zeros), ["0"]);
    // The account buys again in the batch behind the start.
    place(&mut market, 2, limit(Side::Sell, 1, 1));
    place(&mut market, 1, limit(Side::Buy, 1, 1));
    let mut writer = database.writer("two");
    assert_eq!(database.sql(zeros), [] as [&str; 0]);
    market.commit(&mut writer).unwrap();
    market.check(&database);
    writer.close();
    market.restart(&database, "three");
}

#[test]
fn the_queries_in_the_document_run() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::of_all_kinds(12);
    market.run(&mut writer, 500);
    let document = include_str!("../../../../docs/POSTGRES.md");
    let queries: Vec<&str> =
        document.lines().filter_map(|line| line.strip_prefix("psql -c \"")?.strip_suffix('"')).collect();
    assert!(queries.len() >= 6, "{queries:?}");
    queries.iter().for_each(|query| drop(database.sql(query)));
    let one_row = queries.iter().find(|query| query.contains("command_sequence")).unwrap();
    assert_eq!(database.sql(one_row).len(), 1);
}
