//! Orders under way, and those that wait behind them, in rows: a server may end between any two commands, and the next
//! one continues with each in its place.

use crate::common::market::{Market, state};
use crate::common::postgres::database;
use crate::common::simple::{account, goes_in_and_comes_out, limit, place, price, rich, shares, spy};
use model::workload::Random;
use terms::{Command, NewOrder, OrderId, OrderKind, Place, Side, StateItem, Trigger};

/// A number of executions so small that orders are under way all the time.
const EXECUTIONS_MAX: u32 = 3;

/// Draws a command for a market of small resting orders and large arriving ones.
fn drawn(random: &mut Random, placed: u64) -> Command {
    let account = account(1 + random.below(3) as u8);
    let dollars = 95 + random.below(6) as i64;
    let order = match random.below(10) {
        0..5 => limit(Side::Sell, dollars, 1),
        5..7 => {
            let kind = random.pick(&OrderKind::ALL);
            NewOrder::of_kind(kind, spy(), Side::Buy, price(101), shares(2 + random.below(8) as i64))
        }
        7 => limit(Side::Buy, 101, 5).triggered_by(Trigger::from_below(price(dollars))),
        8 => return Command::ActivateReached,
        _ => {
            let order = OrderId(1 + random.below(1 + placed as usize) as u64);
            return Command::CancelOrder { account, order: order.into() };
        }
    };
    Command::Place(Place::order(account, order))
}

#[test]
fn a_recovery_finds_orders_that_wait_for_their_turn_in_their_places() {
    let (mut under_way, mut behind, mut executed, mut triggered) = (0, 0, 0, 0);
    for seed in 0..6 {
        let (database, mut random) = (database(), Random::new(seed));
        let mut market = rich(&[1, 2, 3]).with_executions_max_from_now_on(EXECUTIONS_MAX);
        for server in 0..25 {
            for _ in 0..6 {
                let command = drawn(&mut random, market.model.orders_placed());
                market.apply(command);
            }
            market.restart(&database, &format!("server {server}"));
            market.engine = market.engine.with_executions_max(EXECUTIONS_MAX);
            for pair in state(&market.engine).windows(2) {
                let StateItem::Delayed { placed, is_under_way, .. } = pair[0] else { continue };
                if is_under_way {
                    under_way += 1
                } else {
                    behind += 1
                }
                triggered += usize::from(placed.trigger.is_some());
                executed += usize::from(matches!(pair[1], StateItem::Execution(_) | StateItem::Executed(_)));
            }
        }
    }
    let all = [under_way, behind, executed, triggered];
    assert!(all.iter().all(|&met| met > 1), "under way, behind others, executed in part, triggered: {all:?}");
}

/// Makes six sells, one order that executes with three of them and goes on, and others behind it.
fn under_way(taker: NewOrder) -> Market {
    let mut market = rich(&[1, 2]).with_executions_max_from_now_on(EXECUTIONS_MAX);
    for dollars in 50..56 {
        place(&mut market, 1, limit(Side::Sell, dollars, 10));
    }
    place(&mut market, 2, taker);
    place(&mut market, 2, limit(Side::Buy, 60, 5));
    place(&mut market, 1, limit(Side::Sell, 40, 5));
    market
}

/// One waited for a price, and one is of each kind that can be under way, so that all columns have values.
#[test]
fn a_folder_with_orders_under_way_goes_in_and_comes_out_the_same() {
    let market_order = NewOrder::market(spy(), Side::Buy, shares(55));
    let ioc = NewOrder { kind: OrderKind::ImmediateOrCancel, ..limit(Side::Buy, 54, 55) };
    for taker in [limit(Side::Buy, 54, 55), ioc, market_order] {
        let mut market = under_way(taker);
        let delayed: fn(&StateItem) -> bool = |item| matches!(item, StateItem::Delayed { .. });
        goes_in_and_comes_out(&market, &database(), (3, delayed));
        let database = database();
        market.restart(&database, "first");
        market.engine = market.engine.with_executions_max(EXECUTIONS_MAX);
        let mut steps = 0;
        while market.engine.reached_orders() > 0 {
            market.apply(Command::ActivateReached);
            market.restart(&database, "next");
            market.engine = market.engine.with_executions_max(EXECUTIONS_MAX);
            steps += 1;
        }
        assert!(steps > 1, "it goes on more than once");
    }
}

/// The stop was triggered, and one command did not complete it.
#[test]
fn a_triggered_order_that_is_under_way_keeps_its_price_to_wait_for() {
    let database = database();
    let mut market = rich(&[1, 2, 3]).with_executions_max_from_now_on(EXECUTIONS_MAX);
    for dollars in 50..56 {
        place(&mut market, 1, limit(Side::Sell, dollars, 10));
    }
    place(&mut market, 2, limit(Side::Buy, 60, 45).triggered_by(Trigger::from_below(price(50))));
    place(&mut market, 3, limit(Side::Buy, 50, 1));
    market.restart(&database, "first");
    let is_it = |item: &StateItem| matches!(item, StateItem::Delayed { placed, is_under_way: true, .. } if placed.trigger.is_some());
    assert_eq!(state(&market.engine).iter().filter(|item| is_it(item)).count(), 1);
    market.engine = market.engine.with_executions_max(EXECUTIONS_MAX);
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
    }
    market.restart(&database, "second");
}

/// Faults in such rows are named.
#[test]
fn rows_of_orders_under_way_that_do_not_agree_are_named() {
    for (change, fault) in [
        ("UPDATE pricetime.waiting SET goes_to = 1 WHERE delayed = 'under_way'", "waiting"),
        ("UPDATE pricetime.waiting SET delayed = 'queued' WHERE delayed = 'under_way'", "waiting"),
        ("DELETE FROM pricetime.resting WHERE order_id IN (SELECT order_id FROM pricetime.waiting)", "no sound market"),
    ] {
        let database = database();
        let mut market = under_way(limit(Side::Buy, 54, 55));
        market.restart(&database, "first");
        database.sql(&format!("SET pricetime.server = 'on'; {change}"));
        let told = database.store("auditor").verify().map(|_| ()).unwrap_err().to_string();
        assert!(told.contains(fault), "{change}: {told}");
    }
}

/// A regression: since later commands continue orders, a wrong older aggressor was never found.
#[test]
fn a_wrong_aggressor_is_found() {
    for maker in [Side::Sell, Side::Buy] {
        let database = database();
        let mut market = rich(&[1, 2]);
        place(&mut market, 1, limit(maker, 50, 1));
        place(&mut market, 2, limit(maker.opposite(), 50, 1));
        market.restart(&database, "first");
        let swap = "UPDATE pricetime.executions SET aggressor = CASE aggressor WHEN 'buy' THEN 'sell' ELSE 'buy' END::pricetime.side";
        database.sql(&format!("SET pricetime.server = 'on'; {swap}"));
        let told = database.store("auditor").verify().map(|_| ()).unwrap_err().to_string();
        assert!(told.contains("the two orders do not agree with execution 1"), "{told}");
    }
}

/// The views show an active order as delayed, and not as waiting for a price.
#[test]
fn the_views_tell_delayed_orders_from_those_that_wait_for_a_price() {
    let database = database();
    let mut market = under_way(limit(Side::Buy, 54, 55));
    place(&mut market, 1, limit(Side::Sell, 1, 1).triggered_by(Trigger::from_above(price(1))));
    market.restart(&database, "first");
    for view in ["open_orders", "order_history WHERE status = 'open'"] {
        let count = |condition: &str| {
            let joined = if view.contains("WHERE") { "AND" } else { "WHERE" };
            database.sql(&format!("SELECT count(*)::text FROM pricetime.{view} {joined} {condition}")).concat()
        };
        let counts = ["delayed AND NOT waits", "waits AND NOT delayed", "waits AND delayed"].map(count);
        assert_eq!(counts, ["3", "1", "0"], "{view}");
    }
}
