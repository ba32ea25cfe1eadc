//! Orders that wait for a price, in rows: a server may end between any two of the commands that reach, activate and
//! cancel them, and the next one continues with the same orders in the same places.

use std::time::{Duration, Instant};

use crate::common::market::{Market, state};
use crate::common::postgres::{Database, database};
use crate::common::simple::{goes_in_and_comes_out, limit, price, shares, spy};
use engine::DoneOrders;
use store::{Befell, Keep, Reader, Retention, Stop, StoreError};
use terms::{
    AccountId, AccountIndex, Command, DOLLAR, Money, NewOrder, OrderId, OrderKind, Place, Position, Sequence, Side,
    StateItem, Trigger,
};

/// The number of orders that one command activates.
const ACTIVATED_MAX: usize = 1_000;

fn account() -> AccountId {
    AccountId::parse(b"7").unwrap()
}

/// Makes a market with one account that has much of everything.
fn market() -> Market {
    let mut market = Market::of_all_kinds(1);
    market.apply(Command::CreateAccount { account: account(), balance: Money::from_units(1_000_000_000 * DOLLAR) });
    market.apply(Command::CreateSymbol { symbol: spy() });
    let issued = Position::from_units(1_000_000_000 * 100_000_000);
    market.apply(Command::IssueShares { symbol: spy(), account: account(), shares: issued });
    market
}

fn place(market: &mut Market, order: NewOrder) {
    market.apply(Command::Place(Place::order(account(), order)));
}

fn wait(market: &mut Market, order: NewOrder, trigger: Trigger) {
    place(market, NewOrder { trigger: Some(trigger), ..order });
}

fn cancel(market: &mut Market, order: u64) {
    market.apply(Command::CancelOrder { account: account(), order: OrderId(order).into() });
}

/// Executes two orders completely at this price.
fn trade(market: &mut Market, dollars: i64) {
    place(market, limit(Side::Sell, dollars, 1));
    place(market, limit(Side::Buy, dollars, 1));
}

#[test]
fn orders_that_one_command_reached_are_activated_over_many_restarts() {
    let database = database();
    let mut market = market();
    let [rising, higher] = [100, 101].map(|dollars| Trigger::from_below(price(dollars)));
    for at in 0..1_200 {
        wait(&mut market, limit(Side::Buy, 50 + at % 3, 1), if at % 2 == 0 { rising } else { higher });
    }
    market.restart(&database, "before");
    // Some with the same trigger are placed in the batch in which it is reached, and some of these are canceled in it.
    for at in 0..1_500 {
        wait(&mut market, limit(Side::Buy, 50 + at % 3, 1), if at % 3 == 0 { rising } else { higher });
    }
    wait(&mut market, limit(Side::Sell, 500, 1), Trigger::from_above(price(60)));
    cancel(&mut market, 3);
    cancel(&mut market, 1_900);
    // The first sell is dearer than the second: one order reaches both prices.
    place(&mut market, limit(Side::Sell, 101, 1));
    place(&mut market, limit(Side::Sell, 100, 1));
    place(&mut market, limit(Side::Buy, 101, 2));
    let mut reached = market.engine.reached_orders();
    assert_eq!(reached, 2_698 - ACTIVATED_MAX);
    market.restart(&database, "reached");
    // A reached order that is not active can be canceled, and while the price is away from its trigger, others can
    // begin to wait for it.
    let StateItem::Stop { order, .. } = state(&market.engine).into_iter().rfind(is_reached).unwrap() else {
        unreachable!("found above")
    };
    cancel(&mut market, order.0);
    place(&mut market, limit(Side::Sell, 52, 1));
    assert_eq!(
        market.engine.reached_orders(),
        reached,
        "one was canceled, and the one that waited for a low price was reached"
    );
    wait(&mut market, limit(Side::Buy, 51, 1), rising);
    market.restart(&database, "away");
    wait(&mut market, limit(Side::Buy, 51, 1), rising);
    place(&mut market, limit(Side::Sell, 100, 1));
    market.apply(Command::ActivateReached);
    reached -= ACTIVATED_MAX;
    assert_eq!(market.engine.reached_orders(), reached);
    market.restart(&database, "one turn later");
    // These are reached in the batch behind the orders that still wait for their turn.
    place(&mut market, limit(Side::Buy, 100, 1));
    reached += 2;
    assert_eq!(market.engine.reached_orders(), reached);
    market.restart(&database, "reached again");
    market.apply(Command::ActivateReached);
    assert_eq!(market.engine.reached_orders(), 0);
    market.restart(&database, "all are active");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.waiting"), ["0"]);
}

/// Orders of one price were reached by one statement, however many they were, and every answer waited for it.
#[test]
fn more_orders_of_one_price_than_a_command_executes_are_reached_in_pieces() {
    const PIECE: u64 = 10_000;
    let (database, mut market) = (database(), market());
    let rising = Trigger::from_below(price(100));
    for at in 0..12_500 {
        wait(&mut market, limit(Side::Buy, 50 + at % 3, 1), rising);
    }
    market.restart(&database, "before");
    let number = |sql: &str| database.sql(sql)[0].parse::<u64>().unwrap();
    let rows = |state: &str| number(&format!("SELECT count(*) FROM pricetime.{state}"));
    let reached = "waiting WHERE reached_sequence IS NOT NULL";
    trade(&mut market, 100);
    assert_eq!(market.engine.reached_orders(), 12_500 - ACTIVATED_MAX);
    market.restart(&database, "reached");
    assert_eq!((rows(reached), rows("reached_triggers")), (PIECE, 1));
    // While the price is away others begin to wait there: one in an earlier batch than the one that reaches them, and
    // one in the same.
    place(&mut market, limit(Side::Sell, 52, 1));
    wait(&mut market, limit(Side::Buy, 51, 1), rising);
    market.restart(&database, "away");
    assert_eq!((rows(reached), rows("reached_triggers")), (PIECE, 1), "nothing was activated");
    wait(&mut market, limit(Side::Buy, 51, 1), rising);
    trade(&mut market, 100);
    market.restart(&database, "reached again");
    // This piece begins with the last orders of the first time.
    assert_eq!((rows(reached), rows("waiting"), rows("reached_triggers")), (11_502, 11_502, 1));
    market.apply(Command::ActivateReached);
    market.restart(&database, "one turn later");
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
    }
    market.restart(&database, "all are active");
    assert_eq!((rows("waiting"), rows("reached_triggers")), (0, 0));
}

/// Each trigger was noted by statements of its own, and every answer waited for thousands of them.
#[test]
fn thousands_of_triggers_with_few_orders_each_are_reached_in_pieces() {
    const PIECE: i64 = 10_000;
    const TRIGGERS: i64 = 4_000;
    let (database, mut market) = (database(), market());
    for at in 0..3 * TRIGGERS {
        wait(&mut market, limit(Side::Buy, 50, 1), Trigger::from_below(price(100 + at % TRIGGERS)));
    }
    market.restart(&database, "before");
    let number = |sql: &str| database.sql(sql)[0].parse::<i64>().unwrap();
    let rows = |state: &str| number(&format!("SELECT count(*) FROM pricetime.{state}"));
    let reached = "waiting WHERE reached_sequence IS NOT NULL";
    trade(&mut market, 100 + TRIGGERS);
    market.restart(&database, "reached");
    // The last trigger of the piece, which begins behind the orders that are active, is noted in part.
    let noted = (ACTIVATED_MAX as i64 + PIECE) / 3;
    assert_eq!((rows(reached), rows("reached_triggers")), (PIECE, TRIGGERS - noted));
    market.apply(Command::ActivateReached);
    market.restart(&database, "one turn later");
    assert_eq!(rows("reached_triggers"), 0);
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
    }
    market.restart(&database, "all are active");
    assert_eq!(rows("waiting"), 0);
}

#[test]
fn triggers_that_one_command_left_are_reached_by_later_ones_over_restarts() {
    let database = database();
    let mut market = market();
    let triggers = i64::from(terms::EXECUTIONS_MAX) + 50;
    for at in 0..triggers {
        wait(&mut market, limit(Side::Buy, 1, 1), Trigger::from_below(price(100 + at)));
    }
    market.restart(&database, "before");
    trade(&mut market, 20_000);
    // The execution counts, too.
    let reached = |market: &Market| state(&market.engine).iter().filter(|item| is_reached(item)).count() as i64;
    assert_eq!(reached(&market), i64::from(terms::EXECUTIONS_MAX) - 1);
    market.restart(&database, "some are left");
    place(&mut market, limit(Side::Sell, 1, 1));
    assert_eq!(market.engine.reached_orders() as i64, i64::from(terms::EXECUTIONS_MAX) + 1, "it waits for its turn");
    market.restart(&database, "one waits behind them");
    market.apply(Command::ActivateReached);
    assert_eq!(reached(&market), triggers - ACTIVATED_MAX as i64);
    market.restart(&database, "all are reached");
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
    }
    market.restart(&database, "all are active");
    assert_eq!(database.sql("SELECT count(*) FROM pricetime.waiting"), ["0"]);
}

/// The last price does not say which they are, and the last of them is canceled.
#[test]
fn triggers_that_lie_behind_an_order_are_left_over_restarts() {
    let database = database();
    let mut market = market();
    trade(&mut market, 30_000);
    let triggers = i64::from(terms::EXECUTIONS_MAX);
    for at in 0..triggers {
        wait(&mut market, limit(Side::Buy, 1, 1), Trigger::from_above(price(100 + at)));
    }
    let oldest = market.engine.next_order().0 - triggers as u64;
    for dollars in [50, 40_000] {
        place(&mut market, limit(Side::Sell, dollars, 1));
    }
    place(&mut market, limit(Side::Buy, 40_000, 2));
    market.restart(&database, "two are left");
    let left = "SELECT format('%s|%s', trim_scale(reaches_up_to), trim_scale(reaches_down_to)) FROM pricetime.symbols";
    assert_eq!(database.sql(left), ["|50"]);
    cancel(&mut market, oldest);
    market.restart(&database, "one is left");
    assert_eq!(database.sql(left), ["|50"]);
    cancel(&mut market, oldest + 1);
    market.restart(&database, "none is left");
    assert_eq!(database.sql(left), ["|"]);
    while market.engine.reached_orders() > 0 {
        market.apply(Command::ActivateReached);
    }
    market.restart(&database, "all are active");
}

fn is_reached(item: &StateItem) -> bool {
    matches!(item, StateItem::Stop { is_reached: true, .. })
}

/// Makes five orders at 90 of which the oldest came there last, and one that came there with the same command behind
/// it.
fn triggered_behind_a_younger_one() -> Market {
    let mut market = market();
    let rising = Trigger::from_below(price(100));
    wait(&mut market, limit(Side::Buy, 90, 1), rising);
    wait(&mut market, limit(Side::Buy, 90, 2), Trigger::from_below(price(99)));
    place(&mut market, limit(Side::Buy, 90, 4));
    trade(&mut market, 100);
    place(&mut market, limit(Side::Buy, 90, 8));
    market
}

#[test]
fn an_order_that_was_activated_stays_behind_younger_ones() {
    let database = database();
    let mut market = triggered_behind_a_younger_one();
    for server in ["one", "two"] {
        market.restart(&database, server);
        // Each takes one order completely and the next one in part.
        place(&mut market, limit(Side::Sell, 90, 5));
    }
    market.restart(&database, "three");
    assert_eq!(
        database.sql("SELECT order_id, trim_scale(open) FROM pricetime.resting"),
        ["6|5"],
        "4 first, then 2, which was the nearer one, then 1"
    );
    let price = "SELECT order_id, trim_scale(stop_price), waits, status FROM pricetime.order_history WHERE stop_price IS NOT NULL";
    assert_eq!(database.sql(&format!("{price} ORDER BY 1")), ["1|100|f|executed", "2|99|f|executed"]);
}

#[test]
fn a_folder_with_orders_in_any_place_goes_in_and_comes_out_the_same() {
    let mut market = triggered_behind_a_younger_one();
    // There are waiting ones of both directions and of a kind that never rests, and more reached ones than one command
    // activates.
    let triggers = [Trigger::from_below(price(120)), Trigger::from_above(price(80)), Trigger::from_above(price(70))];
    for trigger in triggers {
        wait(&mut market, NewOrder::market(spy(), Side::Buy, shares(1)), trigger);
        wait(&mut market, limit(Side::Sell, 200, 1), trigger);
    }
    for _ in 0..ACTIVATED_MAX + 50 {
        wait(&mut market, limit(Side::Buy, 90, 1), Trigger::from_below(price(110)));
    }
    wait(&mut market, limit(Side::Buy, 90, 1), Trigger::from_below(price(109)));
    trade(&mut market, 110);
    let database = database();
    let store = goes_in_and_comes_out(&market, &database, (51, is_reached));
    // The market continues there: the reached orders come behind the resting ones.
    let mut writer = store.take_over().unwrap();
    market.engine = writer.load(5, DoneOrders::Keep).unwrap().engine;
    market.effects.restart(writer.head());
    market.apply(Command::ActivateReached);
    place(&mut market, limit(Side::Sell, 90, 20));
    trade(&mut market, 75);
    market.commit(&mut writer).unwrap();
    let again = writer.load(5, DoneOrders::Keep).unwrap().engine;
    assert!(state(&again) == market.model.state_items());
    writer.close();
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

#[test]
fn whoever_reads_the_past_is_told_what_an_order_waited_for() {
    let database = database();
    let mut market = market();
    let [rising, falling] = [Trigger::from_below(price(100)), Trigger::from_above(price(80))];
    wait(&mut market, limit(Side::Buy, 90, 1), rising);
    wait(&mut market, NewOrder::market(spy(), Side::Sell, shares(1)), falling);
    trade(&mut market, 100);
    let mut writer = database.writer("one");
    market.commit(&mut writer).unwrap();
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let mut open = reader.placed_times().unwrap();
    open.sort_by_key(|(order, ..)| *order);
    let triggered = Some(market.engine.time());
    let open: Vec<_> =
        open.into_iter().map(|(order, _, kind, trigger, _, at, _)| (order.0, kind, trigger, at)).collect();
    assert_eq!(open, [(1, OrderKind::Limit, Some(rising), triggered), (2, OrderKind::Market, Some(falling), None)]);
    let placed = reader.orders(None, &[1, 2, 3].map(OrderId), until).unwrap().0;
    let placed: Vec<_> = placed.iter().map(|row| (row.placed.order.0, row.placed.trigger, row.triggered)).collect();
    assert_eq!(placed, [(3, None, None), (2, Some(falling), None), (1, Some(rising), triggered)]);
    let reports = reader.reports(AccountIndex(0), Sequence::ZERO, market.engine.sequence(), 100, until).unwrap().0;
    let triggers: Vec<_> = reports.placed.iter().map(|row| row.trigger).collect();
    assert_eq!(triggers, [Some(rising), Some(falling), None, None]);
    let noted: Vec<_> =
        reports.noted.iter().map(|row| (row.order.0, row.what, row.next_execution, row.place)).collect();
    assert_eq!(noted, [(1, Befell::Triggered(rising), 2, 0)], "behind the execution that it waited for");
    let open = "SELECT order_id, limit_price IS NULL, trim_scale(stop_price), waits FROM pricetime.order_history WHERE status = 'open'";
    assert_eq!(database.sql(&format!("{open} ORDER BY 1")), ["1|f|100|f", "2|t|80|t"]);
}

/// Makes orders with these ids, which are canceled at once.
fn fill_part(market: &mut Market, ids: std::ops::RangeInclusive<u64>) {
    for order in ids {
        place(market, limit(Side::Buy, 1, 1));
        cancel(market, order);
    }
}

fn pass_a_day(market: &mut Market) {
    (0..120).for_each(|_| market.apply(Command::CreateSymbol { symbol: spy() }));
}

fn remove_first_part_of_orders(market: &mut Market, database: &Database) {
    let mut writer = database.writer("one");
    market.commit(&mut writer).unwrap();
    let keep = Keep { age_us: None, bytes: Some(1) };
    let removed = Retention::new(&database.url(), "retention", keep, writer.epoch()).unwrap().remove_now().unwrap();
    assert_eq!(removed, 1, "the first part of orders");
}

/// Notes on an order are kept as long as the order, and no longer.
#[test]
fn notes_go_with_their_orders() {
    let database = database();
    database.with_parts(60, 60);
    let mut market = market();
    fill_part(&mut market, 1..=58);
    wait(&mut market, limit(Side::Buy, 100, 1), Trigger::from_below(price(100)));
    wait(&mut market, limit(Side::Buy, 50, 1), Trigger::from_below(price(100)));
    // The first one executes as it is triggered, the second one rests.
    place(&mut market, limit(Side::Sell, 100, 2));
    place(&mut market, limit(Side::Buy, 100, 1));
    let triggered = market.engine.sequence().0;
    wait(&mut market, limit(Side::Buy, 50, 1), Trigger::from_below(price(200)));
    trade(&mut market, 200);
    pass_a_day(&mut market);
    let orders = "SELECT order_id FROM pricetime.notes ORDER BY 1";
    remove_first_part_of_orders(&mut market, &database);
    assert_eq!(database.sql("SELECT id FROM pricetime.orders WHERE id < 61 ORDER BY 1"), ["60"]);
    assert_eq!(database.sql(orders), ["60", "63"]);
    // A client that missed the trigger of the first one would miss it for ever.
    let mut reader = Reader::connect(&database.url(), "reader", Stop::new()).unwrap();
    let mut behind = |sequence| {
        let until = Instant::now() + Duration::from_secs(60);
        reader.reports(AccountIndex(0), Sequence(sequence), market.engine.sequence(), 100, until).map(|seen| seen.0)
    };
    assert!(matches!(behind(triggered - 1), Err(StoreError::NoLongerKept { .. })));
    assert_eq!(behind(triggered).unwrap().noted.len(), 1);
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

/// Both orders of an execution may be in a part that goes, because a waiting order is older than its execution.
#[test]
fn both_orders_that_executed_lately_stay_when_their_part_goes() {
    let database = database();
    database.with_parts(60, 60);
    let mut market = market();
    place(&mut market, limit(Side::Sell, 100, 1));
    wait(&mut market, limit(Side::Buy, 100, 1), Trigger::from_below(price(90)));
    fill_part(&mut market, 3..=60);
    pass_a_day(&mut market);
    trade(&mut market, 90);
    remove_first_part_of_orders(&mut market, &database);
    assert_eq!(database.sql("SELECT id FROM pricetime.orders ORDER BY id"), ["1", "2", "61", "62"]);
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

/// A regression: an order that waited may be older than one that executed before it in the same part. A part went when
/// the orders of its last execution were gone, because these counted as its youngest.
#[test]
fn trades_stay_while_an_order_of_their_part_does_though_the_last_of_them_is_of_older_ones() {
    let database = database();
    database.with_parts(60, 2);
    let mut market = market();
    wait(&mut market, limit(Side::Buy, 100, 1), Trigger::from_below(price(100)));
    place(&mut market, limit(Side::Sell, 100, 2));
    fill_part(&mut market, 3..=60);
    // It executes with the second order, and then the first one does, too: its part of executions is full.
    place(&mut market, limit(Side::Buy, 100, 1));
    trade(&mut market, 100);
    pass_a_day(&mut market);
    remove_first_part_of_orders(&mut market, &database);
    let trades = "SELECT id, buy_order, sell_order FROM pricetime.executions ORDER BY id";
    assert_eq!(database.sql(trades), ["1|61|2", "2|1|2", "3|63|62"]);
    assert_eq!(database.sql("SELECT min(id) FROM pricetime.orders"), ["61"]);
    assert_eq!(database.store("auditor").verify().unwrap().0.state_hash, market.engine.state_hash());
}

#[test]
fn rows_of_waiting_orders_that_do_not_agree_are_named() {
    let triggered = |order, account| {
        let columns = "order_id, account, kind, price, from_below, time, sequence, place, next_execution";
        let values = format!("{order}, {account}, 'triggered', 100, true, now(), 5, 0, 1");
        format!("INSERT INTO pricetime.notes ({columns}) VALUES ({values})")
    };
    for (change, order) in [
        ("UPDATE pricetime.waiting SET trigger_price = 99 WHERE order_id = 1".to_owned(), 1),
        ("UPDATE pricetime.waiting SET symbol = 1 WHERE order_id = 2".to_owned(), 2),
        ("UPDATE pricetime.resting SET queued_sequence = 2, queued_nth = 1 WHERE order_id = 2".to_owned(), 2),
        (triggered(2, 0), 2),
        (triggered(1, 1), 1),
        (triggered(77, 0), 77),
    ] {
        let database = database();
        let mut market = market();
        wait(&mut market, limit(Side::Buy, 90, 1), Trigger::from_below(price(100)));
        wait(&mut market, limit(Side::Buy, 90, 1), Trigger::from_below(price(100)));
        let mut writer = database.writer("one");
        market.commit(&mut writer).unwrap();
        writer.close();
        database.sql(&format!("SET pricetime.server = 'on'; {change}"));
        let error = database.store("auditor").verify().map(|_| ()).unwrap_err();
        let StoreError::Inconsistent(fault) = &error else { panic!("{error}") };
        let told = ["waiting says of order", "notes says of order", "is missing for order"];
        assert!(told.iter().any(|told| fault.ends_with(&format!("{told} {order}"))), "{fault}");
    }
}
