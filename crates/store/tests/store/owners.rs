//! One server writes: two servers on one database, take-overs, standbys, and people who change rows by hand.

use std::time::Duration;

use crate::common::market::Market;
use crate::common::postgres::database;
use engine::DoneOrders;
use store::{Epoch, StoreError};

#[test]
fn a_second_server_is_told_who_writes() {
    let database = database();
    let writer = database.writer("first");
    let mut second = database.store("second");
    let told = second.migrate().unwrap_err().to_string();
    assert!(told.contains("another server writes to this database: first since 2"), "{told}");
    assert!(matches!(second.take_over(), Err(StoreError::AnotherServer { .. })));
    assert_eq!(writer.epoch(), Epoch(1));
    writer.close();
    assert_eq!(database.writer("third").epoch(), Epoch(2));
}

#[test]
fn a_server_that_was_taken_over_commits_nothing_more() {
    let database = database();
    let mut old = database.writer("old");
    let mut market = Market::new(1);
    market.run(&mut old, 200);
    // The old server's connection breaks, and the lock with it.
    database.end_connections("old");
    let mut new = database.writer("new");
    let mut elsewhere = Market::new(1);
    elsewhere.effects.restart(new.head());
    elsewhere.engine = new.load(1, DoneOrders::Keep).unwrap().engine;
    market.play(10);
    let error = market.commit(&mut old).unwrap_err();
    assert!(matches!(&error, StoreError::Fenced { name, .. } if name == "new"), "{error}");
    assert_eq!(database.sql("SELECT sequence FROM pricetime.command_sequence"), ["200"]);
    // The new server was not disturbed.
    assert_eq!(new.load(1, DoneOrders::Keep).unwrap().engine.state_hash(), elsewhere.engine.state_hash());
}

#[test]
fn an_old_epoch_is_refused_even_with_its_connection_whole() {
    let database = database();
    let mut old = database.writer("old");
    let mut market = Market::new(2);
    market.run(&mut old, 100);
    database
        .sql("SET pricetime.server = 'on'; UPDATE pricetime.command_sequence SET epoch = epoch + 1, writer = 'new'");
    market.play(10);
    assert!(matches!(market.commit(&mut old), Err(StoreError::Fenced { .. })));
    assert_eq!(database.sql("SELECT sequence FROM pricetime.command_sequence"), ["100"]);
}

#[test]
fn a_standby_takes_over_when_the_first_dies() {
    let database = database();
    let mut market = Market::new(3);
    let mut first = database.writer("first");
    market.run(&mut first, 300);
    let mut standby = database.store("standby");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            standby.wait_for_lock().unwrap();
            let mut writer = standby.take_over().unwrap();
            let loaded = writer.load(3, DoneOrders::Keep).unwrap();
            (writer, loaded)
        });
        std::thread::sleep(Duration::from_millis(600));
        assert!(!waiting.is_finished(), "it waits while the first lives");
        drop(first);
        let (mut writer, loaded) = waiting.join().unwrap();
        assert_eq!(loaded.engine.state_hash(), market.engine.state_hash(), "nothing is lost");
        market.engine = loaded.engine;
        market.run(&mut writer, 100);
        market.check(&database);
    });
}

#[test]
fn changes_by_hand_are_refused() {
    let database = database();
    let mut writer = database.writer("one");
    let mut market = Market::new(4);
    market.run(&mut writer, 300);
    for table in [
        "command_sequence",
        "symbols",
        "accounts",
        "positions",
        "orders",
        "resting",
        "executions",
        "cancellations",
        "imported_executions",
        "client_orders",
        "notes",
        "amended_orders",
        "reductions",
        "links",
    ] {
        for change in [format!("DELETE FROM pricetime.{table}"), format!("TRUNCATE pricetime.{table} CASCADE")] {
            let refusal = database.refusal(&change);
            assert!(refusal.contains("only the exchange server changes pricetime."), "{change}: {refusal}");
        }
    }
    let refusal = database.refusal("UPDATE pricetime.accounts SET balance = balance + 1");
    assert!(refusal.contains("only the exchange server changes pricetime.accounts"), "{refusal}");
    market.run(&mut writer, 100);
    market.check(&database);
}

#[test]
fn changes_in_spite_of_that_are_found() {
    type Found = fn(&StoreError) -> bool;
    let foreign: Found = |error| matches!(error, StoreError::ForeignWrite { .. });
    let cases: [(&str, Found); 5] = [
        ("DELETE FROM pricetime.resting", foreign),
        ("UPDATE pricetime.resting SET open = 0.00000001", foreign),
        (
            "DELETE FROM pricetime.positions; DELETE FROM pricetime.orders WHERE false; UPDATE pricetime.accounts SET number = number + 100 WHERE number NOT IN (SELECT account FROM pricetime.orders)",
            |error| matches!(error, StoreError::ForeignWrite { .. }),
        ),
        ("UPDATE pricetime.command_sequence SET sequence = sequence - 1", |error| {
            matches!(error, StoreError::Displaced { .. })
        }),
        (
            "INSERT INTO pricetime.orders (id, account, shares) SELECT next_order + 1, 0, 1 FROM pricetime.command_sequence",
            foreign,
        ),
    ];
    for (place, (change, found)) in cases.into_iter().enumerate() {
        let database = database();
        let mut writer = database.writer("one");
        let mut market = Market::new(5);
        market.run(&mut writer, 500);
        database.sql(&format!("SET pricetime.server = 'on'; {change}"));
        let mut commits = (0..400).map(|_| {
            market.play(10);
            market.commit(&mut writer)
        });
        let error = commits.find_map(Result::err);
        assert!(error.as_ref().is_some_and(found), "case {place}: {error:?}");
    }
}

#[test]
fn a_verification_finds_what_does_not_add_up() {
    for (change, words) in [
        ("UPDATE pricetime.positions SET shares = shares + 1 WHERE shares > 0", "shares of a symbol"),
        ("UPDATE pricetime.executions SET shares = shares + 1 WHERE id = 2", "does not come to the shares of order"),
        ("UPDATE pricetime.executions SET price = price + 1 WHERE id = 2", "do not agree with execution 2"),
        ("UPDATE pricetime.cancellations SET account = account + 1", "is not what cancellations says of order"),
        ("DELETE FROM pricetime.cancellations", "does not come to the shares of order"),
        ("UPDATE pricetime.command_sequence SET next_execution = 9999", "executions"),
        (
            "UPDATE pricetime.client_orders SET done = done - interval '1 second'",
            "is not what client_orders says of order",
        ),
        (
            "DELETE FROM pricetime.orders WHERE id = (SELECT min(buy_order) FROM pricetime.executions)",
            "is missing for order",
        ),
    ] {
        let database = database();
        let mut writer = database.writer("one");
        let mut market = Market::new(6);
        market.run(&mut writer, 600);
        let (verified, _) = database.store("auditor").verify().unwrap();
        assert_eq!(verified.state_hash, market.engine.state_hash());
        assert_eq!(verified.orders, market.model.orders_placed());
        database.sql(&format!("SET pricetime.server = 'on'; {change}"));
        let found = database.store("auditor").verify().map(|_| ()).unwrap_err().to_string();
        assert!(found.contains(words), "{change}: {found}");
    }
}
