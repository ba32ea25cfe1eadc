//! Pending orders in rows: a server may end between any two commands, and the next one continues with the same orders
//! in the same order.

use std::time::{Duration, Instant};

use crate::common::market::{Market, state};
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, limit, place, price, rich, shares, spy};
use engine::DoneOrders;
use store::{Befell, Reader, Stop};
use terms::{
    AccountIndex, Bond, CancelReason, Command, NewOrder, OrderId, OrderKind, Place, Sequence, Side, StateItem, Trigger,
};

/// Places a working order, and its pending ones. Returns the id of the first.
fn place_with(market: &mut Market, number: u8, working: NewOrder, pending: &[NewOrder]) -> OrderId {
    let (account, client_id, until) = (account(number), None, None);
    let two_wait = pending.len() == 2;
    market.apply(Command::Place(
        Place::order(account, working).named(client_id).until(until).bound(Bond::Working { two_wait }),
    ));
    let first = OrderId(market.model.orders_placed());
    for &order in pending {
        market.apply(Command::Place(Place::order(account, order).named(client_id).until(until).bound(Bond::Pending)));
    }
    first
}

/// A take profit and a stop loss.
fn two(count: i64) -> [NewOrder; 2] {
    let profit = NewOrder::of_kind(OrderKind::PostOnly, spy(), Side::Sell, price(120), shares(count));
    let loss = NewOrder::limit(spy(), Side::Sell, price(70), shares(count));
    [profit, loss.triggered_by(Trigger::from_above(price(80)))]
}

const PENDING: &str = "SELECT order_id, working FROM pricetime.pending ORDER BY order_id";

#[test]
fn random_markets_with_orders_that_wait_for_others_are_kept_over_restarts() {
    let (mut released, mut canceled) = (0, 0);
    for seed in 0..12 {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_links().with_pendings();
        for life in 0..4 {
            market.play(800);
            market.restart(&database, &format!("life {life}"));
            market.check(&database);
        }
        released += market.noted.iter().filter(|note| note.contains("|released|")).count();
        canceled += market.canceled_for(CancelReason::NotPlaced);
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
    }
    assert!(released > 100 && canceled > 40, "{released} orders were released, and {canceled} canceled before");
}

#[test]
fn orders_wait_and_are_placed_within_a_batch_and_over_many() {
    let database = database();
    let mut market = rich(&[1, 2]);
    // Two are placed in the batch in which they came, and one is canceled.
    place_with(&mut market, 1, limit(Side::Buy, 100, 5), &two(5));
    place_with(&mut market, 1, limit(Side::Buy, 90, 1), &[limit(Side::Sell, 130, 1)]);
    let asked = place_with(&mut market, 1, limit(Side::Buy, 50, 1), &[limit(Side::Sell, 140, 1)]);
    market.apply(Command::CancelOrder { account: account(1), order: asked.into() });
    place(&mut market, 2, limit(Side::Sell, 100, 5));
    market.restart(&database, "one");
    assert_eq!(database.sql(PENDING), ["5|4"]);
    let history =
        "SELECT order_id, trim_scale(open), pends_on, canceled_why FROM pricetime.order_history ORDER BY order_id";
    let expected = ["1|0||", "2|5||", "3|5||", "4|1||", "5|1|4|", "6|0||asked", "7|0||not_placed", "8|0||"];
    assert_eq!(database.sql(history), expected);
    let rows = "SELECT order_id, working FROM pricetime.pending p WHERE NOT EXISTS (SELECT FROM pricetime.resting r WHERE r.order_id = p.order_id)";
    assert_eq!(database.sql(rows), [""; 0]);
    // A later batch places the other one, behind a younger order.
    place(&mut market, 2, limit(Side::Sell, 130, 1));
    place(&mut market, 2, limit(Side::Sell, 90, 1));
    market.restart(&database, "two");
    assert_eq!(database.sql(PENDING), [""; 0]);
    place(&mut market, 2, limit(Side::Buy, 130, 6));
    market.restart(&database, "three");
    let left: Vec<String> = database.sql("SELECT order_id FROM pricetime.resting");
    assert_eq!(left, ["5"], "the order that was released is behind the younger one");
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

#[test]
fn whoever_reads_the_past_is_told_what_an_order_waited_for() {
    let database = database();
    let mut market = rich(&[1, 2]);
    place_with(&mut market, 1, limit(Side::Buy, 100, 5), &two(5));
    place(&mut market, 2, limit(Side::Sell, 100, 5));
    let mut writer = database.writer("one");
    market.commit(&mut writer).unwrap();
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let reports = reader.reports(AccountIndex(0), Sequence::ZERO, market.engine.sequence(), 100, until).unwrap().0;
    let noted: Vec<_> = reports.noted.iter().map(|row| (row.order.0, row.what, row.place)).collect();
    let expected = [
        (2, Befell::Pends(OrderId(1)), 0),
        (3, Befell::Pends(OrderId(1)), 0),
        (2, Befell::Released, 0),
        (3, Befell::Released, 1),
        (2, Befell::Linked(OrderId(3)), 2),
        (3, Befell::Linked(OrderId(2)), 3),
    ];
    assert_eq!(noted, expected);
}

#[test]
fn a_folder_with_orders_that_wait_for_others_goes_in_and_comes_out_the_same() {
    let mut market = rich(&[1, 2]);
    let first = place_with(&mut market, 1, limit(Side::Buy, 90, 5), &two(5));
    place_with(&mut market, 2, limit(Side::Sell, 110, 4), &[limit(Side::Buy, 60, 4)]);
    let database = database();
    let store = goes_in_and_comes_out(&market, &database, (3, |item| matches!(item, StateItem::Pending { .. })));
    // The market continues there: one order executes, and one is canceled.
    let mut writer = store.take_over().unwrap();
    market.engine = writer.load(5, DoneOrders::Keep).unwrap().engine;
    market.effects.restart(writer.head());
    market.apply(Command::CancelOrder { account: account(1), order: first.into() });
    place(&mut market, 1, limit(Side::Buy, 110, 4));
    market.commit(&mut writer).unwrap();
    let again = writer.load(5, DoneOrders::Keep).unwrap().engine;
    assert!(state(&again) == market.model.state_items());
    writer.close();
    assert_eq!(database.sql(PENDING), [""; 0]);
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

/// A server ends when one command has placed some of the waiting orders, and the others still wait.
#[test]
fn those_whose_turn_is_to_come_keep_their_order_over_a_restart_and_an_import() {
    let mut market = rich(&[1, 2]);
    for nth in 0..1_010 {
        place_with(&mut market, 1, limit(Side::Buy, 100, 1), &[limit(Side::Sell, 150 + nth % 7, 1)]);
    }
    place(&mut market, 2, limit(Side::Sell, 100, 1_010));
    assert_eq!(market.engine.reached_orders(), 10);
    let imported = database();
    goes_in_and_comes_out(&market, &imported, (10, |item| matches!(item, StateItem::Pending { is_due: true, .. })));
    let database = database();
    market.restart(&database, "one");
    assert!(state(&market.engine) == market.model.state_items());
    market.apply(Command::ActivateReached);
    assert_eq!(market.engine.reached_orders(), 0);
    market.restart(&database, "two");
    assert_eq!(database.sql(PENDING), [""; 0]);
}

#[test]
fn rows_of_orders_that_wait_for_others_that_do_not_agree_are_named() {
    for (change, fault) in [
        ("DELETE FROM pricetime.pending", "issued"),
        ("UPDATE pricetime.pending SET working = 0 WHERE order_id = 2", "the rows make no sound market"),
        (
            "UPDATE pricetime.resting SET queued_sequence = 7, queued_nth = 1 WHERE order_id = 2",
            "pending says of order 2",
        ),
        ("UPDATE pricetime.orders SET account = 1 WHERE id = 1", "the rows make no sound market"),
    ] {
        let database = database();
        let mut market = rich(&[1, 2]);
        place_with(&mut market, 1, limit(Side::Buy, 90, 4), &[limit(Side::Sell, 110, 4)]);
        let mut writer = database.writer("one");
        market.commit(&mut writer).unwrap();
        writer.close();
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
        database.sql(&format!("SET pricetime.server = 'on'; {change}"));
        let error = database.store("auditor").verify().map(|_| ()).unwrap_err();
        let found = error.to_string();
        assert!(found.contains(fault), "{change}: {found}");
    }
}
