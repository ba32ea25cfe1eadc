//! Trailing stops in rows: a server may end between any two commands, and the next one continues with the same
//! triggers.

use crate::common::market::Market;
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, limit, place, price, rich, shares, spy};
use engine::DoneOrders;
use terms::{ClientOrderId, Command, NewOrder, Place, Side, StateItem, Trail, Trigger};

/// A sell of this many shares at any price.
fn sell(count: i64) -> NewOrder {
    NewOrder::market(spy(), Side::Sell, shares(count))
}

fn behind(market: &mut Market, name: Option<&str>, order: NewOrder, trail: Trail) {
    let client_id = name.map(|name| ClientOrderId::parse(name.as_bytes()).unwrap());
    market.apply(Command::Place(Place::trailing(account(1), order, trail).unwrap().named(client_id)));
}

/// Makes an execution at this price.
fn trade(market: &mut Market, at: i64) {
    place(market, 2, limit(Side::Buy, at, 1));
    place(market, 2, limit(Side::Sell, at, 1));
}

#[test]
fn a_recovery_finds_every_trigger_where_the_market_took_it() {
    let (mut follow, mut moved) = (0, 0);
    for seed in 0..12 {
        let database = database();
        let mut market = Market::of_all_kinds(seed).with_links().with_trails();
        for server in 0..4 {
            let mut writer = database.writer(&format!("server {server}"));
            let loaded = writer.load(seed, DoneOrders::Keep).unwrap();
            loaded.engine.check_invariants();
            assert_eq!(loaded.engine.state_hash(), market.engine.state_hash(), "seed {seed}, server {server}");
            market.engine = loaded.engine;
            market.run(&mut writer, 400);
            market.check(&database);
            let waiting: Vec<bool> = market
                .model
                .open_orders()
                .filter(|order| order.waits && order.trail.is_some())
                .map(|order| order.has_moved)
                .collect();
            follow += waiting.len();
            moved += waiting.into_iter().filter(|has_moved| *has_moved).count();
            writer.close();
        }
        database.store("auditor").verify().unwrap();
    }
    assert!(follow > 30 && moved > 5, "{follow} orders followed the market at a recovery, {moved} of them had moved");
}

/// A trigger moves, within one batch, to that of another order, which is reached: the first does not count as reached
/// with it.
#[test]
fn triggers_move_and_are_reached_by_one_batch() {
    let database = database();
    let mut market = rich(&[1, 2]);
    trade(&mut market, 100);
    behind(&mut market, None, sell(1), Trail::by(price(10)));
    behind(&mut market, Some("far"), sell(2), Trail::by(price(30)));
    behind(&mut market, None, sell(3), Trail::by_bips(5_000).unwrap());
    market.restart(&database, "one");
    trade(&mut market, 120);
    trade(&mut market, 115);
    trade(&mut market, 125);
    let rows =
        "SELECT order_id, trim_scale(stop_price), trim_scale(distance), bips FROM pricetime.trailing_orders ORDER BY 1";
    market.restart(&database, "moved");
    assert_eq!(database.sql(rows), ["3|115|10|", "4|95|30|", "5|62.5||5000"]);
    assert_eq!(
        database.sql("SELECT trim_scale(stop_price) FROM pricetime.open_orders WHERE waits ORDER BY order_id"),
        ["115", "95", "62.5"]
    );
    // The price goes up, down to the first trigger, and down to the second, all between two commits.
    trade(&mut market, 140);
    trade(&mut market, 130);
    trade(&mut market, 110);
    market.restart(&database, "reached");
    assert_eq!(database.sql(rows), ["5|70||5000"]);
    database.store("auditor").verify().unwrap();
}

/// One execution comes to more triggers than its command reaches. Those that followed the market are left with the
/// others, behind the fixed one at the same price, and the next servers come to them in the same line.
#[test]
fn what_is_left_of_trailing_stops_is_found_again() {
    const MOST: u32 = 6;
    let database = database();
    let mut market = rich(&[1, 2]).with_executions_max_from_now_on(MOST);
    trade(&mut market, 100);
    behind(&mut market, None, sell(1), Trail::by(price(30)));
    behind(&mut market, Some("twin"), sell(2), Trail::by_bips(3_000).unwrap());
    for stop in (80..100).chain([70]) {
        place(&mut market, 1, sell(1).triggered_by(Trigger::from_above(price(stop))));
    }
    market.restart(&database, "before");
    market = market.with_executions_max_from_now_on(MOST);
    place(&mut market, 2, limit(Side::Buy, 60, 1));
    place(&mut market, 1, limit(Side::Sell, 60, 1));
    market.restart(&database, "left");
    let rows = "SELECT order_id FROM pricetime.waiting WHERE trigger_price = 70 AND NOT follows";
    assert_eq!(database.sql(rows).len(), 3, "none of them follows the market");
    goes_in_and_comes_out(
        &market,
        &crate::common::postgres::database(),
        (23, |item| matches!(item, StateItem::Stop { .. })),
    );
    let mut restarts = 0;
    while market.engine.reached_orders() > 0 {
        market = market.with_executions_max_from_now_on(MOST);
        market.apply(Command::ActivateReached);
        market.restart(&database, "next");
        database.store("auditor").verify().unwrap();
        restarts += 1;
    }
    assert!(restarts > 3, "{restarts}");
}

#[test]
fn a_folder_with_trailing_stops_goes_in_and_comes_out_the_same() {
    let mut market = rich(&[1, 2]);
    trade(&mut market, 100);
    behind(&mut market, Some("done"), sell(1), Trail::by(price(1)));
    behind(&mut market, Some("waits"), sell(1), Trail::by(price(40)));
    behind(&mut market, Some("rests"), limit(Side::Sell, 200, 1), Trail::by(price(1)));
    behind(&mut market, None, sell(1), Trail::by_bips(9_000).unwrap());
    trade(&mut market, 130);
    place(&mut market, 2, limit(Side::Buy, 95, 1));
    place(&mut market, 2, limit(Side::Sell, 95, 1));
    let database = database();
    goes_in_and_comes_out(&market, &database, (2, |item| matches!(item, StateItem::Stop { trail: Some(_), .. })));
}
