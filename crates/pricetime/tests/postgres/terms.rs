//! Orders with terms, on a server with a database: they end by themselves, also on the server that takes over; they are
//! amended; and a restart does not change them. The test hands orders in as a gateway does, through the exchange.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::here::Here;
use crate::common::wait::wait_until;
use crate::postgres::Database;
use exchange::{Answer, Batch};
use market::timekeeper::Clock;
use pricetime::settings::GivenSettings;
use serde_json::Value;
use terms::{
    AccountId, Command, DOLLAR, Deadline, Money, NewOrder, Op, OrderId, Place, Position, Price, Query, Reply,
    SelfTrade, Shares, Side, Symbol, Time, Trigger,
};

/// A noon, in microseconds, as all times here.
const NOON: u64 = 1_763_690_000_000_000;
const MINUTE: u64 = 60_000_000;
const PATIENCE: Duration = Duration::from_secs(60);

/// A clock that the test sets, and the database of the servers that follow it.
struct World {
    folder: Folder,
    database: Database,
    now: Arc<AtomicU64>,
}

impl World {
    fn new(name: &str) -> World {
        let (folder, database) = (Folder::new(name), crate::postgres::database());
        World { folder, database, now: Arc::new(AtomicU64::new(NOON)) }
    }

    /// Starts a server. A standby is returned when it has taken over.
    fn server(&self, standby: bool) -> Here {
        let (now, store) = (self.now.clone(), self.database.url().secret().to_owned());
        let given = GivenSettings {
            data: Some(self.folder.path().join("none")),
            store: Some(store.parse().unwrap()),
            standby: Some(standby),
            ..GivenSettings::default()
        };
        let here = Here::open(given, Clock::steady(move || Time(now.load(Ordering::SeqCst))));
        here.serve();
        here
    }

    fn passes(&self, minutes: u64) {
        self.now.fetch_add(minutes * MINUTE, Ordering::SeqCst);
    }

    /// Columns of an order's row.
    fn row(&self, order: u64, columns: &str) -> String {
        let row = format!("SELECT {columns} FROM pricetime.order_history WHERE order_id = {order}");
        self.database.sql(&row).pop().unwrap_or_default()
    }
}

fn account() -> AccountId {
    AccountId::parse(b"1").unwrap()
}

fn limit(side: Side, dollars: i64, count: i64) -> NewOrder {
    let symbol = Symbol::parse(b"SPY").unwrap();
    NewOrder::limit(symbol, side, Price::from_units(dollars * 100_000_000).unwrap(), shares(count))
}

fn shares(count: i64) -> Shares {
    Shares::from_units(count * 100_000_000).unwrap()
}

/// Hands a command in as a gateway does.
fn give(here: &Here, command: Command) -> Reply {
    ask(here, Op::Command(command))
}

fn ask(here: &Here, op: Op) -> Reply {
    let (back, answered) = channel();
    let mut batch = Batch::detached(back);
    batch.requests.push(&[op]);
    here.backend.exchange().submit(batch);
    let mut batch = answered.recv_timeout(PATIENCE).unwrap();
    let Some(Answer::Reply(reply)) = batch.answers.pop() else { panic!("{op:?} is not answered") };
    reply
}

fn open_market(here: &Here) {
    let symbol = Symbol::parse(b"SPY").unwrap();
    give(here, Command::CreateAccount { account: account(), balance: Money::from_units(1_000_000 * DOLLAR) });
    give(here, Command::CreateSymbol { symbol });
    let issued = Position::from_units(1_000 * 100_000_000);
    give(here, Command::IssueShares { symbol, account: account(), shares: issued });
}

/// Places an order that ends this many minutes after noon.
fn place(here: &Here, order: NewOrder, minute: Option<u64>) -> u64 {
    let until = minute.and_then(|minute| Deadline::new(Time(NOON + minute * MINUTE)));
    let reply = give(here, Command::Place(Place::order(account(), order).until(until)));
    let Reply::Opened(order) = reply else { panic!("{order:?}: {reply:?}") };
    order.0
}

fn amend(here: &Here, order: u64, count: i64) -> Reply {
    give(here, Command::AmendOrder { account: account(), order: OrderId(order).into(), shares: shares(count) })
}

/// The order as REST shows it.
fn told(here: &Here, order: u64) -> Value {
    here.http().read(&format!("/api/v1/orders/{order}?account=1"))
}

fn words(value: &Value, fields: [&str; 4]) -> String {
    fields.map(|field| value[field].as_str().unwrap_or("-").to_owned()).join(" ")
}

const FIELDS: [&str; 4] = ["shares", "open", "canceled", "status"];

#[test]
fn orders_end_by_themselves_and_stay_amended_after_a_restart() {
    let world = World::new("postgres-terms");
    let here = world.server(false);
    open_market(&here);
    let soon = place(&here, limit(Side::Buy, 90, 5), Some(10));
    let waiting =
        limit(Side::Sell, 300, 6).triggered_by(Trigger::from_below(Price::from_units(25_000_000_000).unwrap()));
    let waiting = place(&here, waiting, Some(20));
    let amended = place(&here, limit(Side::Sell, 100, 9).with_self_trade(SelfTrade::CancelNewest), Some(30));
    for (order, count) in [(soon, 4), (amended, 8), (amended, 7), (waiting, 2)] {
        assert!(matches!(amend(&here, order, count), Reply::Amended { .. }), "{order}");
    }
    assert_eq!(words(&told(&here, amended), FIELDS), "7 7 0 open");
    // No command comes, and the first order ends.
    world.passes(10);
    wait_until("the first one ends", PATIENCE, || world.row(soon, "status") == "canceled");
    assert_eq!(world.row(soon, "canceled_why, trim_scale(shares), trim_scale(canceled)"), "expired|4|4");
    wait_until("whoever looks knows it", PATIENCE, || words(&told(&here, soon), FIELDS) == "4 0 4 canceled");
    here.stop();
    // The second order's time comes while no server runs.
    world.passes(10);
    assert_eq!(world.row(waiting, "status, waits, trim_scale(open)"), "open|t|2");
    let here = world.server(false);
    wait_until("the second one ends", PATIENCE, || world.row(waiting, "canceled_why") == "expired");
    assert_eq!(words(&told(&here, amended), FIELDS), "7 7 0 open");
    assert!(matches!(amend(&here, amended, 3), Reply::Amended { .. }));
    // This order meets the account's own order, and does not execute with it.
    let own = place(&here, limit(Side::Buy, 100, 1).with_self_trade(SelfTrade::CancelNewest), None);
    assert_eq!(world.row(own, "canceled_why, self_trade"), "self_trade|cancel_newest");
    here.stop();
    let here = world.server(false);
    assert_eq!(words(&told(&here, amended), FIELDS), "3 3 0 open");
    assert_eq!(words(&told(&here, soon), FIELDS), "4 0 4 canceled");
    world.passes(10);
    wait_until("the last one ends", PATIENCE, || world.row(amended, "canceled_why") == "expired");
    here.stop();
    let (verified, _) = world.database.store("auditor").verify().unwrap();
    assert_eq!(verified.orders, 4);
}

#[test]
fn a_standby_that_takes_over_goes_on_ending_orders() {
    let world = World::new("postgres-terms-standby");
    let first = world.server(false);
    open_market(&first);
    // More orders than one command ends.
    let orders: Vec<u64> = (0..1_200).map(|_| place(&first, limit(Side::Buy, 1, 1), Some(10))).collect();
    let kept = place(&first, limit(Side::Buy, 2, 3), Some(60));
    amend(&first, kept, 2);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| world.server(true));
        first.stop();
        world.passes(10);
        let second = second.join().unwrap();
        let open = "SELECT count(*) FROM pricetime.open_orders";
        wait_until("all of them end", PATIENCE, || world.database.sql(open) == ["1"]);
        let ended = "SELECT count(*), count(DISTINCT sequence) FROM pricetime.cancellations WHERE why = 4";
        assert_eq!(world.database.sql(ended), ["1200|2"]);
        let last = ask(&second, Op::Query(Query { account: account(), order: OrderId(kept).into() }));
        assert!(matches!(&last, Reply::Status(status) if status.open == shares(2)), "{last:?}");
        assert_eq!(words(&told(&second, orders[0]), FIELDS), "1 0 1 canceled");
        second.stop();
    });
    world.database.store("auditor").verify().unwrap();
}
