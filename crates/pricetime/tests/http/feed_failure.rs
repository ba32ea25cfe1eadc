//! A panic in the feed: the feed ends, and the market goes on.

use crate::common::folder::Folder;
use crate::common::here::Here;
use crate::common::http::Http;
use binance::Keys;
use exchange::{Answer, Batch, EventBatch};
use market::timekeeper::Clock;
use serde_json::json;
use terms::{
    AccountId, AccountIndex, CancelReason, Command, Event, Money, NewOrder, Op, OrderId, Place, Price, Reply, Shares,
    Side, Symbol, SymbolIndex,
};

fn start(folder: &Folder) -> (Here, Http) {
    let here = Here::start(&folder.data(), None, Clock::system(), Keys::default());
    let http = here.http();
    (here, http)
}

fn account(id: &str) -> AccountId {
    AccountId::parse(id.as_bytes()).unwrap()
}

/// Hands commands in without a gateway. Returns the answer to the first one.
fn give(here: &Here, commands: &[Op]) -> Answer {
    let (back, came) = std::sync::mpsc::channel();
    let mut batch = Batch::detached(back);
    batch.requests.push(commands);
    here.backend.exchange().submit(batch);
    came.recv().unwrap().answers[0].clone()
}

/// Creates an account without a gateway.
fn create(here: &Here, id: &str) -> Answer {
    give(here, &[Op::Command(Command::CreateAccount { account: account(id), balance: Money::ZERO })])
}

/// Lets the feed take the first order, of account 1, for canceled, so that it ends when the order is canceled.
fn forget_the_first_order(here: &Here) {
    here.backend.asker().unwrap().ask(|scene| {
        let (order, account, symbol) = (OrderId(1), AccountIndex(0), SymbolIndex(0));
        let shares = Shares::from_units(1_000_000_000).unwrap();
        let mut batch = EventBatch::default();
        batch.add(
            scene.view.sequence(),
            Event::OrderCanceled { order, account, symbol, shares, why: CancelReason::Asked },
        );
        batch.seal(scene.view.sequence(), scene.view.time());
        scene.view.apply(&batch);
    });
}

/// A panic in the feed's thread once ended the process, and recurred at every start if the market's past caused it.
#[test]
fn a_panic_in_a_question_ends_the_question_and_one_in_the_feed_ends_the_feed() {
    let folder = Folder::new("feed-failure");
    let (here, http) = start(&folder);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000"}));
    let asker = here.backend.asker().unwrap();
    asker.ask(|_| panic!("planted in a question"));
    assert_eq!(http.read("/api/v1/accounts/1")["balance"], "1000", "the next question is answered");
    assert_eq!((here.backend.feed_failure(), http.read("/ready")["status"].clone()), (None, json!("ok")));
    let mut follower = http.listen();
    follower.subscribe(json!({"op": "subscribe", "id": 1, "channel": "symbols"}));
    http.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10"}));
    let order = json!({"account": "1", "symbol": "SPY", "side": "sell", "limit": "1", "shares": "10"});
    assert_eq!(http.make("/api/v1/orders", &order)["order_id"], 1);
    forget_the_first_order(&here);
    let canceled = http.delete("/api/v1/orders/1?account=1");
    assert!(
        ["internal-fault", "feed-unavailable", "outcome-unknown"].contains(&canceled.code().1),
        "{:?}",
        canceled.code()
    );
    let failure = here.backend.feed_failure().expect("the view cannot follow");
    assert!(!failure.what.is_empty());
    let (_, end) = follower.read_to_end();
    assert_eq!(end, Some((1011, "feed-unavailable".to_owned())));
    for path in ["/api/v1/accounts/1", "/api/v1/symbols"] {
        assert_eq!(http.get(path).code(), (503, "feed-unavailable"), "{path}");
    }
    assert_eq!(http.post("/api/v1/orders", &order).code(), (503, "feed-unavailable"));
    assert_eq!(http.read("/health")["status"], "ok");
    assert_eq!(http.read("/ready")["status"], "no-feed");
    let metrics = String::from_utf8(http.bytes("/metrics", &[]).1).unwrap();
    assert!(metrics.contains("pricetime_feed_failed 1\n") && metrics.contains("pricetime_ready 1\n"), "{metrics}");
    // More events than the feed's queue holds would wait for the feed, and the market does not wait for it.
    assert!(matches!(create(&here, "2"), Answer::Reply(Reply::Created)), "the market goes on");
    here.stop();
    let (here, http) = start(&folder);
    assert_eq!((here.backend.feed_failure(), http.read("/api/v1/accounts/2")["balance"].clone()), (None, json!("0")));
    here.stop();
}

/// A feed that failed between two commands of a cancel of all orders once left the rest of the orders open, and the
/// client was told that nothing had been done.
#[test]
fn a_cancel_of_all_orders_goes_on_where_the_feed_fails_meanwhile() {
    const ORDERS: usize = 20_000;
    const AT_ONCE: usize = 1_000;
    let folder = Folder::new("feed-failure-cancel");
    let (here, http) = start(&folder);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000000"}));
    http.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10"}));
    let (symbol, limit) = (Symbol::parse(b"SPY").unwrap(), Price::from_units(100_000_000).unwrap());
    let order = NewOrder::limit(symbol, Side::Buy, limit, Shares::from_units(1_000_000_000).unwrap());
    let orders = [Op::Command(Command::Place(Place::order(account("1"), order))); AT_ONCE];
    for _ in 0..ORDERS / AT_ONCE {
        assert!(matches!(give(&here, &orders), Answer::Reply(Reply::Opened(_))));
    }
    assert_eq!(http.read("/api/v1/accounts/1")["open_orders"], ORDERS);
    forget_the_first_order(&here);
    // All are canceled, and without a feed they cannot be listed.
    assert_eq!(http.delete("/api/v1/accounts/1/orders").code(), (504, "outcome-unknown"));
    assert!(here.backend.feed_failure().is_some());
    here.stop();
    let (here, http) = start(&folder);
    assert_eq!(http.read("/api/v1/accounts/1")["open_orders"], 0);
    here.stop();
}
