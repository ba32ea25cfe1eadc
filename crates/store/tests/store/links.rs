//! Linked orders in rows: a server may end between any two commands, and the next one continues with the same pairs.

use std::time::{Duration, Instant};

use crate::common::market::{Market, state};
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, price, rich, shares, spy};
use engine::DoneOrders;
use store::{Befell, Reader, Stop};
use terms::{
    AccountIndex, Bond, CancelReason, Command, NewOrder, OrderId, OrderKind, Place, Sequence, Side, StateItem, Trigger,
};

fn place(market: &mut Market, number: u8, order: NewOrder) -> u64 {
    market.apply(Command::Place(Place::order(account(number), order)));
    market.model.orders_placed()
}

/// Places a post-only order, and a linked one that waits on the market's other side. Returns their ids.
fn place_two(market: &mut Market, number: u8, side: Side, limit: i64, stop: i64, count: i64) -> [u64; 2] {
    let first = place(market, number, NewOrder::of_kind(OrderKind::PostOnly, spy(), side, price(limit), shares(count)));
    let second = NewOrder::limit(spy(), side, price(stop), shares(count));
    let second = second.triggered_by(Trigger::stop_loss(side, price(stop)));
    market.apply(Command::Place(Place::order(account(number), second).bound(Bond::Linked)));
    [first, market.model.orders_placed()]
}

const LINKS: &str = "SELECT order_id, partner FROM pricetime.links ORDER BY order_id";

#[test]
fn random_markets_with_pairs_are_kept_over_restarts() {
    let (mut linked, mut canceled) = (0, 0);
    for seed in 0..12 {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_links();
        for life in 0..4 {
            market.play(400);
            market.restart(&database, &format!("life {life}"));
            market.check(&database);
        }
        linked += market.noted.iter().filter(|note| note.contains("|linked|")).count();
        canceled += market.canceled_for(CancelReason::Linked);
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
    }
    assert!(linked > 100 && canceled > 40, "{linked} orders were linked, and {canceled} canceled by their partners");
}

#[test]
fn pairs_are_linked_and_parted_within_a_batch_and_over_many() {
    let database = database();
    let mut market = rich(&[1, 2]);
    let [low, _] = place_two(&mut market, 1, Side::Buy, 90, 120, 5);
    let [high, stop] = place_two(&mut market, 2, Side::Sell, 110, 80, 4);
    place_two(&mut market, 2, Side::Sell, 111, 81, 1);
    // One executes in the batch in which it was linked, and one is canceled.
    place(&mut market, 1, NewOrder::limit(spy(), Side::Buy, price(110), shares(1)));
    let [asked, _] = place_two(&mut market, 1, Side::Buy, 70, 130, 2);
    market.apply(Command::CancelOrder { account: account(1), order: OrderId(asked).into() });
    market.restart(&database, "one");
    assert_eq!(database.sql(LINKS), ["1|2", "5|6"]);
    let rows = "SELECT order_id, linked_with, is_linked FROM pricetime.linked_orders ORDER BY order_id";
    let told = ["1|2|t", "2|1|t", "3|4|f", "4|3|f", "5|6|t", "6|5|t", "8|9|f", "9|8|f"];
    assert_eq!(database.sql(rows), told);
    let history = "SELECT order_id, trim_scale(open), canceled_why FROM pricetime.order_history ORDER BY order_id";
    let expected = ["1|5|", "2|5|", "3|3|", "4|0|linked", "5|1|", "6|1|", "7|0|", "8|0|asked", "9|0|linked"];
    assert_eq!(database.sql(history), expected);
    assert_eq!((high, stop, market.canceled_for(CancelReason::Linked)), (3, 4, 2));
    // A later batch parts the first pair.
    place(&mut market, 2, NewOrder::limit(spy(), Side::Sell, price(90), shares(5)));
    market.restart(&database, "two");
    assert_eq!(database.sql(LINKS), ["5|6"]);
    assert_eq!(database.sql(history)[..2], ["1|0|", "2|0|linked"]);
    assert_eq!(low, 1);
}

#[test]
fn whoever_reads_the_past_is_told_the_partner() {
    let database = database();
    let mut market = rich(&[1, 2]);
    place_two(&mut market, 1, Side::Buy, 90, 120, 5);
    place(&mut market, 1, NewOrder::limit(spy(), Side::Buy, price(50), shares(1)));
    let [canceled, _] = place_two(&mut market, 1, Side::Sell, 110, 80, 4);
    market.apply(Command::CancelOrder { account: account(1), order: OrderId(canceled).into() });
    let mut writer = database.writer("one");
    market.commit(&mut writer).unwrap();
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let mut open: Vec<_> =
        reader.placed_times().unwrap().into_iter().map(|open| (open.0.0, open.6.map(|partner| partner.0))).collect();
    open.sort_unstable();
    assert_eq!(open, [(1, Some(2)), (2, Some(1)), (3, None)]);
    let by_id = reader.orders(None, &[5, 4, 3, 2, 1].map(OrderId), until).unwrap().0;
    let (listed, _) = reader.orders_of(AccountIndex(0), None, None, 10, until).unwrap().0.unwrap();
    for rows in [by_id, listed] {
        let told = rows.iter().map(|row| row.linked.map(|partner| partner.0));
        assert_eq!(told.collect::<Vec<_>>(), [Some(4), Some(5), None, Some(1), Some(2)]);
    }
    let reports = reader.reports(AccountIndex(0), Sequence::ZERO, market.engine.sequence(), 100, until).unwrap().0;
    let noted = reports.noted.iter().map(|row| (row.order.0, row.what, row.place));
    let expected = [(1, 2, 0), (2, 1, 1), (4, 5, 0), (5, 4, 1)];
    let expected = expected.map(|(order, partner, place)| (order, Befell::Linked(OrderId(partner)), place));
    assert_eq!(noted.collect::<Vec<_>>(), expected);
}

#[test]
fn a_folder_with_pairs_goes_in_and_comes_out_the_same() {
    let mut market = rich(&[1, 2]);
    let [first, _] = place_two(&mut market, 1, Side::Buy, 90, 120, 5);
    place_two(&mut market, 2, Side::Sell, 110, 80, 4);
    let [done, _] = place_two(&mut market, 2, Side::Sell, 111, 81, 1);
    market.apply(Command::CancelOrder { account: account(2), order: OrderId(done).into() });
    let database = database();
    let store = goes_in_and_comes_out(&market, &database, (2, |item| matches!(item, StateItem::Link { .. })));
    // The market continues there: one of a pair is canceled, and its partner with it.
    let mut writer = store.take_over().unwrap();
    market.engine = writer.load(5, DoneOrders::Keep).unwrap().engine;
    market.effects.restart(writer.head());
    market.apply(Command::CancelOrder { account: account(1), order: OrderId(first).into() });
    market.commit(&mut writer).unwrap();
    let again = writer.load(5, DoneOrders::Keep).unwrap().engine;
    assert!(state(&again) == market.model.state_items());
    writer.close();
    assert_eq!(database.sql(LINKS), ["3|4"]);
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

#[test]
fn rows_of_pairs_that_do_not_agree_are_named() {
    for (change, fault) in [
        (
            "DELETE FROM pricetime.links",
            "the shares of a symbol in positions and open sells are not those that were issued",
        ),
        ("UPDATE pricetime.links SET partner = 3", "the rows make no sound market"),
        ("UPDATE pricetime.links SET partner = 77", "the rows make no sound market"),
        ("UPDATE pricetime.notes SET partner = 3 WHERE order_id = 2", "notes says of order"),
        ("DELETE FROM pricetime.notes WHERE order_id = 1", "notes says of order 2"),
    ] {
        let database = database();
        let mut market = rich(&[1, 2]);
        place_two(&mut market, 1, Side::Sell, 110, 80, 4);
        place(&mut market, 1, NewOrder::limit(spy(), Side::Sell, price(150), shares(1)));
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
