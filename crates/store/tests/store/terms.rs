//! Terms of orders in rows: deadlines, self-trade prevention, amendments, and the reasons of cancels. A server may end
//! between any two of the commands that cause them, and the next one continues with the same orders.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use crate::common::market::{Market, state};
use crate::common::postgres::{Database, database};
use crate::common::simple::{account, client_id, goes_in_and_comes_out, limit, price, rich, shares, spy};
use engine::{DoneOrders, Engine};
use store::{Befell, Keep, Reader, Retention, Stop, StoreError};
use terms::{
    AccountIndex, CancelReason, Command, Deadline, Entry, NewOrder, OrderId, OrderKind, OrderName, Place, Reply,
    SelfTrade, Sequence, Side, StateItem, Time, Trigger,
};

const HOUR_US: u64 = 3_600_000_000;

/// The deadline this many hours from now.
fn hours(market: &Market, hours: u64) -> Option<Deadline> {
    Deadline::new(Time(market.engine.time().0 + hours * HOUR_US))
}

fn place_until(market: &mut Market, number: u8, order: NewOrder, until: Option<Deadline>) -> u64 {
    market.apply(Command::Place(Place::order(account(number), order).until(until)));
    market.model.orders_placed()
}

fn place(market: &mut Market, number: u8, order: NewOrder) -> u64 {
    place_until(market, number, order, None)
}

fn place_named(market: &mut Market, name: &str, order: NewOrder, until: Option<Deadline>) -> u64 {
    market.apply(Command::Place(Place::order(account(1), order).named(Some(client_id(name))).until(until)));
    market.model.orders_placed()
}

fn amend(market: &mut Market, number: u8, order: u64, count: i64) {
    let order = OrderName::Id(OrderId(order));
    market.apply(Command::AmendOrder { account: account(number), order, shares: shares(count) });
}

fn history(database: &Database, columns: &str) -> Vec<String> {
    database.sql(&format!("SELECT order_id, {columns} FROM pricetime.order_history ORDER BY order_id"))
}

#[test]
fn orders_end_at_their_time_over_restarts() {
    let database = database();
    let mut market = rich(&[1, 2]);
    let (soon, late) = (hours(&market, 3), hours(&market, 20));
    place_until(&mut market, 1, limit(Side::Buy, 90, 2), late);
    place_until(&mut market, 2, limit(Side::Buy, 91, 3), soon);
    // One waits, and one was executed in part.
    let waiting = limit(Side::Sell, 200, 1).triggered_by(Trigger::from_below(price(150)));
    place_until(&mut market, 1, waiting, soon);
    place_until(&mut market, 1, limit(Side::Sell, 95, 5), soon);
    place(&mut market, 2, limit(Side::Buy, 95, 2));
    market.restart(&database, "one");
    let ending =
        "SELECT order_id, until = (SELECT max(until) FROM pricetime.open_orders) FROM pricetime.open_orders ORDER BY 1";
    assert_eq!(database.sql(ending), ["1|t", "2|f", "3|f", "4|f"]);
    let mut ended = 0;
    while market.model.open_orders().any(|order| order.until == soon) {
        // Time passes with commands that change nothing else.
        market.apply(Command::CreateSymbol { symbol: spy() });
        market.apply(Command::ExpireOrders);
        ended += 1;
        market.restart(&database, &format!("later {ended}"));
    }
    assert_eq!(
        history(&database, "trim_scale(executed), trim_scale(canceled), status, canceled_why"),
        [
            "1|0|0|open|",
            "2|0|3|canceled|expired",
            "3|0|1|canceled|expired",
            "4|2|3|canceled|expired",
            "5|2|0|executed|"
        ]
    );
    assert_eq!(market.canceled_for(CancelReason::Expired), 3);
    // The last one is amended, and ends all the same.
    amend(&mut market, 1, 1, 1);
    market.restart(&database, "amended");
    (0..100).for_each(|_| market.apply(Command::CreateSymbol { symbol: spy() }));
    market.apply(Command::ExpireOrders);
    market.restart(&database, "all ended");
    assert_eq!(
        history(&database, "trim_scale(shares), trim_scale(reduced), trim_scale(canceled), canceled_why")[0],
        "1|1|1|1|expired"
    );
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.resting"), ["0"]);
}

#[test]
fn shares_are_taken_off_again_and_again_and_the_order_keeps_its_place() {
    let database = database();
    let mut market = rich(&[1, 2]);
    place(&mut market, 1, limit(Side::Sell, 100, 9));
    place(&mut market, 1, limit(Side::Sell, 100, 4));
    let waiting = limit(Side::Sell, 300, 6).triggered_by(Trigger::from_below(price(250)));
    place(&mut market, 1, waiting);
    market.restart(&database, "one");
    // It is reduced twice in a batch, in the next one, and in the same one as an execution.
    amend(&mut market, 1, 1, 8);
    amend(&mut market, 1, 1, 7);
    amend(&mut market, 1, 3, 5);
    market.restart(&database, "two");
    place(&mut market, 2, limit(Side::Buy, 100, 2));
    amend(&mut market, 1, 1, 5);
    let newcomer = place(&mut market, 2, limit(Side::Buy, 50, 7));
    amend(&mut market, 2, newcomer, 6);
    amend(&mut market, 1, 3, 2);
    market.restart(&database, "three");
    let rows = "SELECT order_id, trim_scale(shares) FROM pricetime.reductions ORDER BY order_id";
    assert_eq!(database.sql(rows), ["1|4", "3|4", "5|1"]);
    let shown = "trim_scale(shares), trim_scale(reduced), trim_scale(executed), trim_scale(open), waits";
    assert_eq!(history(&database, shown), ["1|5|4|2|3|f", "2|4|0|0|4|f", "3|2|4|0|2|t", "4|2|0|2|0|f", "5|6|1|0|6|f"]);
    // The first one is still first: it executes completely, and the second one in part.
    place(&mut market, 2, limit(Side::Buy, 100, 4));
    market.restart(&database, "four");
    assert_eq!(history(&database, "trim_scale(open)")[..2], ["1|0", "2|3"]);
    assert_eq!(database.sql("SELECT trim_scale(shares) FROM pricetime.orders WHERE id = 1"), ["9"], "as it was placed");
    // Each reduction comes as it was, from any of them on.
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let mut told = |from: Sequence, most: usize| {
        let until = Instant::now() + Duration::from_secs(60);
        let rows = reader.amendments(OrderId(1), from, most, until).unwrap().0;
        let told = rows.iter().map(|row| {
            let Befell::Amended { before, after, why: CancelReason::Asked, terms: None } = row.what else {
                panic!("{row:?}")
            };
            (before, after)
        });
        (told.collect::<Vec<_>>(), rows.last().map(|row| row.sequence))
    };
    let all = [(9, 8), (8, 7), (7, 5)].map(|(before, after)| (shares(before), shares(after)));
    let (found, last) = told(Sequence::ZERO, 10);
    assert_eq!(found, all);
    assert_eq!(told(last.unwrap(), 10).0, all[2..]);
    assert_eq!(told(Sequence::ZERO, 2).0, all[..2]);
    assert_eq!(told(Sequence(u64::MAX), 2).0, []);
}

#[test]
fn what_is_kept_of_orders_that_met_their_own() {
    let database = database();
    let mut market = rich(&[1, 2]);
    for (mode, own, arriving) in [
        (SelfTrade::CancelNewest, 2, 3),
        (SelfTrade::CancelOldest, 2, 3),
        (SelfTrade::CancelBoth, 2, 3),
        (SelfTrade::Decrement, 2, 3),
        (SelfTrade::Decrement, 3, 2),
        (SelfTrade::Allowed, 2, 2),
    ] {
        place(&mut market, 1, limit(Side::Sell, 100, own));
        let arriving = limit(Side::Buy, 100, arriving).with_self_trade(mode);
        market.apply(Command::Place(Place::order(account(1), arriving)));
        market.restart(&database, mode.name());
        let open: Vec<OrderId> = market.model.open_orders().map(|order| order.id).collect();
        open.into_iter().for_each(|order| {
            market.apply(Command::CancelOrder { account: account(1), order: order.into() });
        });
        market.restart(&database, "emptied");
    }
    assert_eq!(
        history(&database, "self_trade, trim_scale(shares), trim_scale(reduced), trim_scale(canceled), canceled_why"),
        [
            "1|allowed|2|0|2|asked",
            "2|cancel_newest|3|0|3|self_trade",
            "3|allowed|2|0|2|self_trade",
            "4|cancel_oldest|3|0|3|asked",
            "5|allowed|2|0|2|self_trade",
            "6|cancel_both|3|0|3|self_trade",
            "7|allowed|2|0|2|self_trade",
            "8|decrement|1|2|1|asked",
            "9|allowed|1|2|1|asked",
            "10|decrement|2|0|2|self_trade",
            "11|allowed|2|0|0|",
            "12|allowed|2|0|0|",
        ]
    );
}

/// The reply to a client that sends this once more.
fn told_again(engine: &mut Engine, name: &str, order: NewOrder, until: Option<Deadline>) -> Reply {
    let command = Command::Place(Place::order(account(1), order).named(Some(client_id(name))).until(until));
    let entry = Entry { sequence: engine.sequence().next(), time: engine.time(), command };
    engine.apply(&entry, &mut Vec::new(), &mut |_| {})
}

#[test]
fn an_order_sent_again_after_a_restart_is_compared_with_what_was_first_placed() {
    let database = database();
    let mut market = rich(&[1, 2]);
    let until = hours(&market, 10);
    let [open, done] = [10, 6].map(|count| limit(Side::Sell, 100, count).with_self_trade(SelfTrade::CancelOldest));
    place_named(&mut market, "done", done, until);
    place_named(&mut market, "open", open, until);
    amend(&mut market, 1, 1, 4);
    amend(&mut market, 1, 2, 7);
    place(&mut market, 2, limit(Side::Buy, 100, 5));
    market.restart(&database, "one");
    assert_eq!(history(&database, "trim_scale(open)")[..2], ["1|0", "2|6"]);
    // The way through a data folder does the same: that has the remaining shares of the done order, and the terms that
    // its id stands for.
    let mut store = self::database().store("importer");
    store.migrate().unwrap();
    let given = state(&market.engine).into_iter().map(Ok::<_, Infallible>);
    store.import(given, market.done_orders().into_iter().map(Ok)).unwrap();
    let imported = store.take_over().unwrap().load(7, DoneOrders::Keep).unwrap().engine;
    for mut engine in [database.writer("two").load(6, DoneOrders::Keep).unwrap().engine, imported] {
        for (name, order, id) in [("done", done, 1), ("open", open, 2)] {
            let again = told_again(&mut engine, name, order, until);
            assert!(matches!(again, Reply::Repeated(order) if order == OrderId(id)), "{name}: {again:?}");
            for (other, until) in [
                (NewOrder { shares: order.shares.less(shares(3)), ..order }, until),
                (order.with_self_trade(SelfTrade::Allowed), until),
                (order, None),
                (order, hours(&market, 11)),
            ] {
                let other = told_again(&mut engine, name, other, until);
                assert!(matches!(other, Reply::Rejected(_)), "{name}: {other:?}");
            }
        }
    }
}

#[test]
fn whoever_reads_the_past_is_told_the_terms() {
    let database = database();
    let mut market = rich(&[1, 2]);
    let soon = hours(&market, 1);
    place_until(&mut market, 1, limit(Side::Buy, 90, 5).with_self_trade(SelfTrade::Decrement), soon);
    place(&mut market, 1, limit(Side::Buy, 80, 4).with_self_trade(SelfTrade::CancelBoth));
    place(&mut market, 1, NewOrder::of_kind(OrderKind::ImmediateOrCancel, spy(), Side::Buy, price(70), shares(1)));
    let canceled = place(&mut market, 1, limit(Side::Buy, 60, 1));
    market.apply(Command::CancelOrder { account: account(1), order: OrderId(canceled).into() });
    amend(&mut market, 1, 1, 3);
    amend(&mut market, 1, 2, 1);
    (0..10).for_each(|_| market.apply(Command::CreateSymbol { symbol: spy() }));
    market.apply(Command::ExpireOrders);
    let mut writer = database.writer("one");
    market.commit(&mut writer).unwrap();
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let open = reader.placed_times().unwrap();
    assert_eq!(open.iter().map(|open| (open.0.0, open.4)).collect::<Vec<_>>(), [(2, SelfTrade::CancelBoth)]);
    let expected = [
        (4, shares(1), SelfTrade::Allowed, Some(CancelReason::Asked)),
        (3, shares(1), SelfTrade::Allowed, Some(CancelReason::NotResting)),
        (2, shares(1), SelfTrade::CancelBoth, None),
        (1, shares(3), SelfTrade::Decrement, Some(CancelReason::Expired)),
    ];
    let by_id = reader.orders(None, &[1, 2, 3, 4].map(OrderId), until).unwrap().0;
    let (listed, _) = reader.orders_of(AccountIndex(0), None, None, 10, until).unwrap().0.unwrap();
    for rows in [by_id, listed] {
        let told = rows.iter().map(|row| {
            let why = row.ended.and_then(|ended| ended.why);
            (row.placed.order.0, row.placed.shares, row.placed.self_trade, why)
        });
        assert_eq!(told.collect::<Vec<_>>(), expected);
    }
    let reports = reader.reports(AccountIndex(0), Sequence::ZERO, market.engine.sequence(), 100, until).unwrap().0;
    let placed = reports.placed.iter().rev().map(|row| (row.order.0, row.shares, row.self_trade));
    // These are the orders as placed, whatever was taken off them.
    let as_placed = [(4, 1), (3, 1), (2, 4), (1, 5)];
    let as_placed =
        as_placed.into_iter().zip(expected).map(|((order, count), (_, _, mode, _))| (order, shares(count), mode));
    assert_eq!(placed.collect::<Vec<_>>(), as_placed.collect::<Vec<_>>());
    let amended: Vec<_> = reports.noted.iter().map(|row| (row.order.0, row.what)).collect();
    let taken_off = |before, after| {
        let (before, after) = (shares(before), shares(after));
        Befell::Amended { before, after, why: CancelReason::Asked, terms: None }
    };
    assert_eq!(amended, [(1, taken_off(5, 3)), (2, taken_off(4, 1))]);
    let canceled = reports.canceled.iter().map(|row| (row.order.0, row.why.unwrap()));
    let reasons = [(3, CancelReason::NotResting), (4, CancelReason::Asked), (1, CancelReason::Expired)];
    assert_eq!(canceled.collect::<Vec<_>>(), reasons);
}

#[test]
fn a_folder_with_orders_on_terms_goes_in_and_comes_out_the_same() {
    let mut market = rich(&[1, 2]);
    let (soon, late) = (hours(&market, 2), hours(&market, 900));
    let named = |market: &mut Market, name: &str, count, until| {
        let order = limit(Side::Sell, 100, count).with_self_trade(SelfTrade::Decrement);
        place_named(market, name, order, until)
    };
    // One is done, one executed in part, one waits; all were amended, and one has no name.
    for (name, count, until) in [("done", 5, soon), ("part", 9, late), ("whole", 3, None)] {
        let order = named(&mut market, name, count, until);
        amend(&mut market, 1, order, count - 1);
    }
    let waiting = limit(Side::Sell, 300, 6).triggered_by(Trigger::from_below(price(250)));
    let waiting = place_named(&mut market, "waits", waiting, late);
    amend(&mut market, 1, waiting, 4);
    let nameless = place_until(&mut market, 2, limit(Side::Sell, 110, 8), late);
    amend(&mut market, 2, nameless, 2);
    place(&mut market, 2, limit(Side::Buy, 100, 6));
    let database = database();
    let store = goes_in_and_comes_out(&market, &database, (3, |item| matches!(item, StateItem::Deadline { .. })));
    // The reductions of an order without a name are unknown.
    let rows = "SELECT order_id, trim_scale(shares) FROM pricetime.reductions ORDER BY order_id";
    assert_eq!(database.sql(rows), ["1|1", "2|1", "3|1", "4|2"]);
    // The market continues there: orders are amended once more, and end.
    let mut writer = store.take_over().unwrap();
    market.engine = writer.load(5, DoneOrders::Keep).unwrap().engine;
    market.effects.restart(writer.head());
    for order in [waiting, nameless] {
        amend(&mut market, if order == waiting { 1 } else { 2 }, order, 1);
    }
    (0..3_800).for_each(|_| market.apply(Command::CreateSymbol { symbol: spy() }));
    market.apply(Command::ExpireOrders);
    market.commit(&mut writer).unwrap();
    let again = writer.load(5, DoneOrders::Keep).unwrap().engine;
    assert!(state(&again) == market.model.state_items());
    writer.close();
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
    assert_eq!(
        history(&database, "trim_scale(open), canceled_why"),
        ["1|0|", "2|0|expired", "3|2|", "4|0|expired", "5|0|expired", "6|0|"]
    );
}

/// Reductions of an order are kept as long as the order, and no longer, also those made while the others go.
#[test]
fn reductions_go_with_their_orders() {
    let database = database();
    database.with_small_parts(60);
    let mut market = rich(&[1, 2]);
    let until = hours(&market, 24 * 300);
    place_until(&mut market, 1, limit(Side::Buy, 50, 9), until);
    amend(&mut market, 1, 1, 8);
    for order in 2..=70 {
        place(&mut market, 1, limit(Side::Buy, 1, 2));
        amend(&mut market, 1, order, 1);
        market.apply(Command::CancelOrder { account: account(1), order: OrderId(order).into() });
    }
    (0..120).for_each(|_| market.apply(Command::CreateSymbol { symbol: spy() }));
    let mut writer = database.writer("one");
    market.commit(&mut writer).unwrap();
    // A reader keeps the part from going before the order is amended again.
    database.sql("BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE pricetime.kept IN ACCESS SHARE MODE");
    let epoch = writer.epoch();
    let keep = Keep { age_us: None, bytes: Some(1) };
    std::thread::scope(|scope| {
        let removal = scope.spawn(|| Retention::new(&database.url(), "r", keep, epoch).unwrap().remove_now());
        std::thread::sleep(Duration::from_millis(1_500));
        assert!(!removal.is_finished());
        amend(&mut market, 1, 1, 5);
        market.commit(&mut writer).unwrap();
        database.sql("COMMIT");
        assert_eq!(removal.join().unwrap().unwrap(), 1, "the first part of orders");
    });
    assert_eq!(database.sql("SELECT id FROM pricetime.orders ORDER BY id LIMIT 2"), ["1", "61"]);
    let rows = "SELECT order_id, trim_scale(shares) FROM pricetime.reductions ORDER BY order_id LIMIT 2";
    assert_eq!(database.sql(rows), ["1|4", "61|1"]);
    let loaded = writer.load(5, DoneOrders::Keep).unwrap().engine;
    assert!(state(&loaded) == market.model.state_items());
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

#[test]
fn rows_of_terms_that_do_not_agree_are_named() {
    for (change, fault) in [
        ("DELETE FROM pricetime.reductions", "does not come to the shares of order 1"),
        ("UPDATE pricetime.reductions SET shares = shares + 1", "does not come to the shares of order 1"),
        ("INSERT INTO pricetime.reductions VALUES (77, 1)", "is missing for order 77"),
        ("UPDATE pricetime.cancellations SET why = 4", "what cancellations says of order 2"),
        ("UPDATE pricetime.orders SET until = '2100-01-01' WHERE id = 3", "what cancellations says of order 3"),
    ] {
        let database = database();
        let mut market = rich(&[1, 2]);
        let soon = hours(&market, 2);
        place(&mut market, 1, limit(Side::Buy, 90, 2));
        amend(&mut market, 1, 1, 1);
        place(&mut market, 1, limit(Side::Buy, 90, 2));
        market.apply(Command::CancelOrder { account: account(1), order: OrderId(2).into() });
        place_until(&mut market, 1, limit(Side::Buy, 90, 2), soon);
        (0..10).for_each(|_| market.apply(Command::CreateSymbol { symbol: spy() }));
        market.apply(Command::ExpireOrders);
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
