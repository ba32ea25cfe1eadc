//! Icebergs in rows: a server may end between any two commands, and the next one continues with the same tips in the
//! same places.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, limit, place, price, rich, shares};
use engine::DoneOrders;
use terms::{ClientOrderId, Command, NewOrder, OrderId, Place, Side, StateItem, Trigger};

fn in_parts(market: &mut Market, name: Option<&str>, order: NewOrder, display: i64) {
    let client_id = name.map(|name| ClientOrderId::parse(name.as_bytes()).unwrap());
    let iceberg = Place::iceberg(account(1), order, shares(display)).unwrap();
    market.apply(Command::Place(iceberg.named(client_id)));
}

#[test]
fn a_recovery_finds_every_tip_in_its_place() {
    let (mut hidden, mut again) = (0, 0);
    for seed in 0..8 {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_icebergs();
        for server in 0..4 {
            let mut writer = database.writer(&format!("server {server}"));
            let loaded = writer.load(seed, DoneOrders::Keep).unwrap();
            loaded.engine.check_invariants();
            assert_eq!(loaded.engine.state_hash(), market.engine.state_hash(), "seed {seed}, server {server}");
            market.engine = loaded.engine;
            market.run(&mut writer, 300);
            market.check(&database);
            hidden += market.model.resting().filter(|order| order.shown < order.open).count();
            writer.close();
        }
        database.store("auditor").verify().unwrap();
        let twice = "SELECT count(*) FROM (SELECT FROM pricetime.executions GROUP BY buy_order, sell_order \
            HAVING count(*) > 1) twice";
        again += database.sql(twice)[0].parse::<usize>().unwrap();
    }
    assert!(
        hidden > 8 && again > 15,
        "{hidden} orders hid shares at a recovery, {again} executed more than once with one other"
    );
}

/// One command activates an order and then brings a tip behind it. Both come to their places with the same command, and
/// the tip's order is older.
/// the older one.
#[test]
fn a_tip_stands_behind_an_order_that_the_same_command_activated() {
    let database = database();
    let mut market = rich(&[1, 2]);
    in_parts(&mut market, None, limit(Side::Sell, 100, 30), 10);
    place(&mut market, 2, limit(Side::Sell, 95, 1));
    let reached = Trigger::from_below(price(95));
    place(&mut market, 1, limit(Side::Sell, 100, 1).triggered_by(reached));
    place(&mut market, 2, limit(Side::Buy, 100, 10).triggered_by(reached));
    place(&mut market, 2, limit(Side::Buy, 95, 1));
    let queue: Vec<(u64, i64)> = market
        .model
        .queue(terms::SymbolIndex(0), Side::Sell)
        .iter()
        .map(|order| (order.id.0, order.shown.units() / 100_000_000))
        .collect();
    assert_eq!(queue, [(3, 1), (1, 10)], "the order that was activated, and then the tip");
    market.restart(&database, "one");
    let rows = "SELECT order_id, trim_scale(display), trim_scale(hidden) FROM pricetime.icebergs";
    assert_eq!(database.sql(rows), ["1|10|10"]);
    assert_eq!(database.sql("SELECT price, trim_scale(shares), orders FROM pricetime.book"), ["100.00000000|11|2"]);
    place(&mut market, 2, limit(Side::Buy, 100, 1));
    assert!(!market.model.open_orders().any(|order| order.id == OrderId(3)), "the activated one executes first");
    market.restart(&database, "two");
}

#[test]
fn a_folder_with_icebergs_goes_in_and_comes_out_the_same() {
    let mut market = rich(&[1, 2]);
    in_parts(&mut market, Some("done"), limit(Side::Sell, 100, 3), 1);
    in_parts(&mut market, Some("part"), limit(Side::Sell, 100, 15), 4);
    in_parts(&mut market, None, limit(Side::Sell, 120, 9), 9);
    in_parts(&mut market, Some("waits"), limit(Side::Sell, 300, 6).triggered_by(Trigger::from_below(price(250))), 2);
    place(&mut market, 2, limit(Side::Buy, 100, 11));
    let database = database();
    goes_in_and_comes_out(&market, &database, (3, |item| matches!(item, StateItem::Iceberg { .. })));
}
