//! Amended orders in rows: each has the terms that it has now, and the notes say what it had before. A server may end
//! between any two commands, and the next one continues with the same orders in the same places.

use std::time::{Duration, Instant};

use crate::common::market::{Market, state};
use crate::common::postgres::{Database, database};
use crate::common::simple::{account, client_id, goes_in_and_comes_out, limit, place, price, rich, shares, spy};
use engine::DoneOrders;
use store::{Befell, Keep, NewTerms, Reader, Retention, Stop, StoreError};
use terms::{
    Amendment, CancelReason, Command, Deadline, NewOrder, OrderId, OrderKind, Place, Sequence, Side, StateItem, Time,
    TimeInForce, Trail, Trigger, WaitsFor,
};

fn amend(market: &mut Market, number: u8, order: u64, terms: impl Fn(Amendment) -> Amendment) {
    market.apply(Command::Amend(terms(Amendment::of(account(number), OrderId(order).into()))));
}

fn present(database: &Database) -> Vec<String> {
    database.sql(
        "SELECT id, kind, trim_scale(limit_price), trim_scale(shares), trim_scale(trigger_price), until IS NOT NULL,
            placed_again IS NOT NULL FROM pricetime.present_orders ORDER BY id",
    )
}

/// A market that amends orders, of a kind that goes with the seed.
fn amending(seed: u64) -> Market {
    let market = Market::of_all_kinds(seed).with_amendments();
    match seed % 8 {
        0 => market.with_icebergs(),
        1 => market.with_trails(),
        2 => market.with_links(),
        3 => market.with_pendings(),
        4 => market.with_rules().with_phases(),
        5 => market.with_icebergs().with_executions_max_from_now_on(1),
        6 => market.with_trails().with_icebergs().with_executions_max_from_now_on(2),
        _ => market.with_mass_cancels().with_limits(),
    }
}

#[test]
fn a_recovery_finds_amended_orders_as_they_are() {
    let (mut kept, mut anew) = (0, 0);
    let amended =
        "SELECT count(*) FILTER (WHERE keeps_place), count(*) FILTER (WHERE NOT keeps_place) FROM pricetime.notes";
    for seed in 0..16 {
        let database = database();
        let mut market = amending(seed);
        for server in 0..4 {
            let mut writer = database.writer(&format!("server {server}"));
            let loaded = writer.load(seed, DoneOrders::Keep).unwrap();
            loaded.engine.check_invariants();
            assert!(state(&loaded.engine) == state(&market.engine), "seed {seed}, server {server}");
            let bounds = market.model.execution_bounds();
            market.engine = loaded.engine.with_execution_bounds(bounds);
            market.run(&mut writer, 300);
            market.check(&database);
            writer.close();
        }
        database.store("auditor").verify().unwrap();
        let counts = database.sql(amended)[0].split('|').map(|count| count.parse::<u64>().unwrap()).collect::<Vec<_>>();
        (kept, anew) = (kept + counts[0], anew + counts[1]);
    }
    assert!(anew > 300 && kept > 10, "{anew} times an order was placed again, {kept} times one kept its place");
}

/// All of it in one transaction, and each amendment in one of its own.
#[test]
fn rows_have_the_terms_that_an_order_has_and_notes_those_that_it_had() {
    for one_by_one in [false, true] {
        let database = database();
        let mut market = rich(&[1, 2]);
        let mut nth = 0;
        let mut next = |market: &mut Market| {
            nth += 1;
            if one_by_one {
                market.restart(&database, &format!("server {nth}"));
            }
        };
        place(&mut market, 1, limit(Side::Sell, 100, 9));
        place(&mut market, 2, limit(Side::Sell, 100, 4));
        next(&mut market);
        place(&mut market, 2, limit(Side::Buy, 100, 2));
        amend(&mut market, 1, 1, |terms| terms.with_shares(shares(8)));
        next(&mut market);
        let until = Deadline::new(Time(market.engine.time().0 + 360_000_000_000));
        amend(&mut market, 1, 1, |terms| terms.with_deadline(until).with_shares(shares(7)));
        next(&mut market);
        // It has more shares, and comes behind the other one; then fewer of them.
        amend(&mut market, 1, 1, |terms| terms.with_shares(shares(12)));
        next(&mut market);
        place(&mut market, 2, limit(Side::Buy, 100, 5));
        amend(&mut market, 1, 1, |terms| terms.with_shares(shares(11)));
        next(&mut market);
        assert!(market.model.order(OrderId(2)).open.is_zero(), "the other one is first by then");
        // At another price it executes in part, and shows a part of what is left.
        place(&mut market, 2, limit(Side::Buy, 80, 3));
        amend(&mut market, 1, 1, |terms| terms.with_limit(price(80)).with_display(Some(shares(2))));
        next(&mut market);
        amend(&mut market, 1, 1, |terms| terms.with_deadline(None));
        next(&mut market);
        amend(&mut market, 1, 1, |terms| terms.with_tif(TimeInForce::ImmediateOrCancel));
        market.restart(&database, "last");
        assert_eq!(present(&database)[0], "1|immediate_or_cancel|80|11||f|t");
        let placed =
            "SELECT kind, trim_scale(limit_price), trim_scale(shares), until FROM pricetime.orders WHERE id = 1";
        assert_eq!(database.sql(placed), ["limit|100|9|"], "it stands there as it was placed");
        let outcome = "SELECT trim_scale(shares), trim_scale(executed), trim_scale(canceled), canceled_why
            FROM pricetime.order_history WHERE order_id = 1";
        assert_eq!(database.sql(outcome), ["11|6|5|not_resting"]);
        told_by_reader(&database);
    }
}

fn told_by_reader(database: &Database) {
    let terms = |kind, dollars, keeps_place| Some(NewTerms { kind, limit: price(dollars), trigger: None, keeps_place });
    let expected = [
        (9, 8, None),
        (8, 7, None),
        (7, 7, terms(OrderKind::Limit, 100, true)),
        (7, 12, terms(OrderKind::Limit, 100, false)),
        (12, 11, None),
        (11, 11, terms(OrderKind::Limit, 80, false)),
        (11, 11, terms(OrderKind::Limit, 80, true)),
        (11, 11, terms(OrderKind::ImmediateOrCancel, 80, false)),
    ]
    .map(|(before, after, terms)| {
        let (before, after) = (shares(before), shares(after));
        Befell::Amended { before, after, why: CancelReason::Asked, terms }
    });
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let told = reader.amendments(OrderId(1), Sequence::ZERO, 10, until).unwrap().0;
    assert_eq!(told.iter().map(|row| row.what).collect::<Vec<_>>(), expected);
    let row = reader.orders(None, &[OrderId(1)], until).unwrap().0[0];
    let (placed, ended) = (row.placed, row.ended.unwrap());
    assert_eq!((placed.kind, placed.limit, placed.shares), (OrderKind::ImmediateOrCancel, price(80), shares(11)));
    assert_eq!((row.canceled, ended.why), (shares(5), Some(CancelReason::NotResting)));
    let reports = reader.reports(terms::AccountIndex(0), Sequence::ZERO, Sequence(1000), 100, until).unwrap().0;
    let first = reports.placed[0];
    assert_eq!((first.kind, first.limit, first.shares), (OrderKind::Limit, price(100), shares(9)), "as it was placed");
    assert_eq!(reports.noted.iter().map(|row| row.what).collect::<Vec<_>>(), expected);
}

/// The price for which an order waits may change in the transaction that made it wait, and in a later one.
#[test]
fn an_order_waits_for_the_price_that_it_was_given_last() {
    for between in [false, true] {
        let database = database();
        let mut market = rich(&[1, 2]);
        place(&mut market, 2, limit(Side::Sell, 100, 1));
        place(&mut market, 2, limit(Side::Buy, 100, 1));
        let waits = |dollars| limit(Side::Sell, 130, 5).triggered_by(Trigger::from_above(price(dollars)));
        for dollars in [90, 80, 70] {
            place(&mut market, 1, waits(dollars));
        }
        let trailing = Place::trailing(account(1), limit(Side::Sell, 130, 5), Trail::by(price(30))).unwrap();
        market.apply(Command::Place(trailing.named(Some(client_id("trails")))));
        if between {
            market.restart(&database, "one");
        }
        // A stop becomes a take-profit, one moves behind another at its price, and one begins to follow the market.
        amend(&mut market, 1, 3, |terms| terms.with_wait(WaitsFor::TakeProfit(price(120))));
        amend(&mut market, 1, 4, |terms| terms.with_wait(WaitsFor::StopLoss(price(80))));
        amend(&mut market, 1, 5, |terms| terms.with_wait(WaitsFor::Trail(Trail::by_bips(1_000).unwrap())));
        // The trailing stop moves, and then waits for a fixed price.
        place(&mut market, 2, limit(Side::Sell, 110, 1));
        place(&mut market, 2, limit(Side::Buy, 110, 1));
        market.effects.seal(&market.engine);
        amend(&mut market, 1, 6, |terms| terms.with_wait(WaitsFor::StopLoss(price(60))).with_limit(price(140)));
        market.restart(&database, "two");
        let waiting =
            "SELECT order_id, trim_scale(trigger_price), from_below, follows FROM pricetime.waiting ORDER BY 1";
        assert_eq!(database.sql(waiting), ["3|120|t|f", "4|80|f|f", "5|99|f|t", "6|60|f|f"]);
        assert_eq!(database.sql("SELECT order_id, bips FROM pricetime.trails"), ["5|1000"]);
        // The price that one of them waited for before does nothing to it, and the one that it waits for now does.
        place(&mut market, 2, limit(Side::Buy, 70, 1));
        amend(&mut market, 1, 4, |terms| terms.with_wait(WaitsFor::StopLoss(price(65))));
        place(&mut market, 2, limit(Side::Sell, 70, 1));
        place(&mut market, 2, limit(Side::Buy, 120, 1));
        place(&mut market, 2, limit(Side::Sell, 120, 1));
        market.restart(&database, "three");
        let triggered = "SELECT order_id, trim_scale(price), from_below FROM pricetime.notes WHERE kind = 'triggered'
            ORDER BY sequence, place";
        assert_eq!(database.sql(triggered), ["5|99|f", "3|120|t"]);
        // An order that was triggered and then placed again waits for no price any more.
        amend(&mut market, 1, 3, |terms| terms.with_limit(price(150)));
        market.restart(&database, "four");
        let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
        let mut open: Vec<_> =
            reader.placed_times().unwrap().into_iter().map(|open| (open.0.0, open.3, open.5.is_some())).collect();
        open.sort_unstable_by_key(|open| open.0);
        let from_above = |dollars| Some(Trigger::from_above(price(dollars)));
        assert_eq!(
            open,
            [(3, None, true), (4, from_above(65), false), (5, from_above(99), true), (6, from_above(60), false)]
        );
    }
}

/// The order with the lowest id is first among those that follow the market at one distance, also after amendments.
#[test]
fn an_amended_order_keeps_its_rank_among_those_that_follow_the_market() {
    let database = database();
    let mut market = rich(&[1, 2]);
    place(&mut market, 2, limit(Side::Sell, 100, 1));
    place(&mut market, 2, limit(Side::Buy, 100, 1));
    for _ in 0..2 {
        let trailing = Place::trailing(account(1), limit(Side::Sell, 130, 5), Trail::by(price(30))).unwrap();
        market.apply(Command::Place(trailing));
    }
    amend(&mut market, 1, 3, |terms| terms.with_shares(shares(7)));
    market.restart(&database, "one");
}

/// Executions of an order stay its own when it is placed again, also while it waits for its turn.
#[test]
fn a_folder_with_amended_orders_goes_in_and_comes_out_the_same() {
    let mut market = rich(&[1, 2]).with_executions_max_from_now_on(1);
    let named = Place::order(account(1), limit(Side::Buy, 80, 9)).named(Some(client_id("behind")));
    market.apply(Command::Place(named));
    place(&mut market, 2, limit(Side::Sell, 80, 2));
    place(&mut market, 1, NewOrder { kind: OrderKind::PostOnly, ..limit(Side::Sell, 110, 3) });
    amend(&mut market, 1, 3, |terms| terms.with_shares(shares(4)));
    for dollars in [100, 101, 102] {
        place(&mut market, 2, limit(Side::Sell, dollars, 1));
    }
    // Another one is under way, so this one waits behind it with its executions.
    place(&mut market, 2, limit(Side::Buy, 102, 3));
    amend(&mut market, 1, 1, |terms| terms.with_limit(price(102)).with_shares(shares(20)));
    assert!(market.model.order(OrderId(1)).delayed.is_some());
    let database = database();
    let is_delayed = |item: &StateItem| matches!(item, StateItem::Delayed { .. });
    goes_in_and_comes_out(&market, &database, (2, is_delayed));
}

/// The kind of an order comes behind it. An import that wrote its rows in between had no order for it.
#[test]
fn many_orders_of_kinds_go_in() {
    let mut market = rich(&[1, 2]);
    for _ in 0..10_001 {
        place(&mut market, 1, NewOrder { kind: OrderKind::PostOnly, ..limit(Side::Sell, 90, 1) });
    }
    goes_in_and_comes_out(&market, &database(), (10_001, |item| matches!(item, StateItem::Kind { .. })));
}

#[test]
fn terms_go_with_their_orders() {
    let database = database();
    database.with_small_parts(60);
    let mut market = rich(&[1, 2]);
    for order in 1..=70 {
        place(&mut market, 1, limit(Side::Buy, 1, 2));
        amend(&mut market, 1, order, |terms| terms.with_limit(price(2)));
        if order > 1 {
            market.apply(Command::CancelOrder { account: account(1), order: OrderId(order).into() });
        }
    }
    (0..120).for_each(|_| market.apply(Command::CreateSymbol { symbol: spy() }));
    let mut writer = database.writer("one");
    market.commit(&mut writer).unwrap();
    let keep = Keep { age_us: None, bytes: Some(1) };
    assert_eq!(Retention::new(&database.url(), "r", keep, writer.epoch()).unwrap().remove_now().unwrap(), 1);
    let rows = "SELECT order_id, trim_scale(limit_price) FROM pricetime.amended_orders ORDER BY order_id LIMIT 2";
    assert_eq!(database.sql(rows), ["1|2", "61|2"]);
    assert!(state(&writer.load(5, DoneOrders::Keep).unwrap().engine) == market.model.state_items());
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

#[test]
fn rows_of_amendments_that_do_not_agree_are_named() {
    for (change, fault) in [
        ("DELETE FROM pricetime.amended_orders", "does not come to the shares of order 1"),
        ("INSERT INTO pricetime.amended_orders (order_id) VALUES (77)", "is missing for order 77"),
        ("INSERT INTO pricetime.amended_orders (order_id) VALUES (3)", "what there is of order 3"),
        ("UPDATE pricetime.amended_orders SET kind = 'post_only'", "what there is of order 1"),
        ("UPDATE pricetime.notes SET new_limit = 91 WHERE order_id = 1", "do not agree with execution 1"),
        ("UPDATE pricetime.executions SET price = 95", "do not agree with execution 1"),
    ] {
        let database = database();
        let mut market = rich(&[1, 2]);
        place(&mut market, 1, limit(Side::Sell, 100, 5));
        amend(&mut market, 1, 1, |terms| terms.with_limit(price(90)).with_shares(shares(6)));
        place(&mut market, 2, limit(Side::Buy, 90, 2));
        place(&mut market, 2, limit(Side::Buy, 50, 2));
        amend(&mut market, 1, 1, |terms| terms.with_limit(price(99)));
        let mut writer = database.writer("one");
        market.commit(&mut writer).unwrap();
        writer.close();
        assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
        database.sql(&format!("SET pricetime.server = 'on'; {change}"));
        let error = database.store("auditor").verify().map(|_| ()).unwrap_err();
        let StoreError::Inconsistent(found) = &error else { panic!("{change}: {error}") };
        assert!(found.ends_with(fault), "{change}: {found}");
    }
}
