//! The past in a database that is away or slow: it is refused or waited for, and holds nobody up who trades.
//! Not quick: needs PostgreSQL.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../../store/tests/common/postgres.rs"]
#[allow(dead_code)]
mod postgres;

use common::folder::Folder;
use common::http::Http;
use common::server::{Launch, PATIENCE, Server};
use common::wait::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

#[test]
fn while_the_database_is_away_the_past_is_too() {
    let folder = Folder::new("postgres-readers-away");
    let mut cluster = postgres::Server::start(&[]);
    let database = cluster.database();
    let launch = Launch::new(&folder.data()).in_database(database.url().secret()).with("--store-patience 300ms");
    let server = launch.start();
    let http = Http::new(server.http);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000"}));
    http.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10"}));
    let paths = [
        "/api/v1/symbols/SPY/trades",
        "/api/v1/symbols/SPY/candles",
        "/api/v1/accounts/1/executions",
        "/api/v1/accounts/1/orders?status=all",
        "/api/v1/orders/7?account=1",
    ];
    let told = paths.map(|path| http.get(path).body);
    cluster.end("KILL");
    for path in paths {
        assert_eq!(http.get(path).code(), (503, "store-away"), "{path}");
    }
    assert!(http.read("/api/v1/accounts/1/orders")["orders"].as_array().unwrap().is_empty(), "memory has what is open");
    cluster.run();
    for (path, told) in paths.iter().zip(told) {
        wait_until("the past is there again", PATIENCE, || http.get(path).body == told);
    }
    server.stop();
}

/// The database's processes that read pages of the history, or single orders.
fn readers(database: &postgres::Database, what: &str) -> Vec<String> {
    let named = format!("datname = current_database() AND application_name LIKE 'pricetime % {what}'");
    database.sql(&format!("SELECT pid FROM pg_stat_activity WHERE {named} ORDER BY 1"))
}

/// How many connections the server has.
fn connections(database: &postgres::Database) -> usize {
    let named = "datname = current_database() AND application_name LIKE 'pricetime %'";
    database.sql(&format!("SELECT pid FROM pg_stat_activity WHERE {named}")).len()
}

fn signal(processes: &[String], signal: Signal) {
    for process in processes {
        kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), signal).unwrap();
    }
}

/// A market of one account, which has money and shares of SPY, in a database of its own.
struct InDatabase {
    database: postgres::Database,
    server: Server,
    http: Http,
    _cluster: postgres::Server,
    _folder: Folder,
}

impl InDatabase {
    fn start(name: &str, settings: &str) -> InDatabase {
        let folder = Folder::new(name);
        let cluster = postgres::Server::start(&[]);
        let database = cluster.database();
        let server = Launch::new(&folder.data()).in_database(database.url().secret()).with(settings).start();
        let http = Http::new(server.http);
        http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000000"}));
        http.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10000"}));
        InDatabase { database, server, http, _cluster: cluster, _folder: folder }
    }

    /// Places an order and gives its id.
    fn order(&self, side: &str) -> u64 {
        let order = json!({"account": "1", "symbol": "SPY", "side": side, "limit": "10", "shares": "1"});
        self.http.make("/api/v1/orders", &order)["order_id"].as_u64().unwrap()
    }
}

/// The processes that read are stopped: as slow as can be. Only they are, for a lock would stop the writer too.
#[test]
fn slow_readers_hold_up_no_order_and_take_no_more_connections() {
    let market = InDatabase::start("postgres-readers-slow", "--store-patience 60s");
    let InDatabase { database, server, http, .. } = &market;
    let (slow, connected) = (readers(database, "history"), connections(database));
    assert!(!slow.is_empty() && slow.len() < connected, "{slow:?} of {connected}");
    let order = |side: &str| market.order(side);
    order("buy");
    order("sell");
    signal(&slow, Signal::STOP);
    let paths = [
        "/api/v1/symbols/SPY/trades",
        "/api/v1/symbols/SPY/candles",
        "/api/v1/accounts/1/executions",
        "/api/v1/accounts/1/orders?status=all",
        "/binance/api/v3/klines?symbol=SPYUSD&interval=1m&startTime=0",
    ];
    let asked = std::thread::scope(|scope| {
        let (told, answers) = std::sync::mpsc::channel();
        for at in 0..200 {
            let (told, path) = (told.clone(), paths[at % paths.len()]);
            let address = server.http;
            scope.spawn(move || told.send(Http::new(address).get(path)).unwrap());
        }
        // Those for which there is no room are refused; then all the others wait.
        let refused: Vec<_> = answers.iter().take(200 - 64).collect();
        refused.iter().for_each(|answer| assert_eq!(answer.status, 503, "{}", answer.text));
        // Orders are placed and canceled as ever, and told as they ended.
        for _ in 0..20 {
            order("buy");
            order("sell");
            let canceled = http.delete(&format!("/api/v1/orders/{}?account=1", order("buy")));
            assert_eq!((canceled.status, &canceled.body["status"]), (200, &json!("canceled")));
        }
        assert_eq!((readers(database, "history"), connections(database)), (slow.clone(), connected));
        signal(&slow, Signal::CONT);
        drop(told);
        answers.iter().collect::<Vec<_>>()
    });
    assert_eq!(asked.len(), 64);
    asked.iter().for_each(|answer| assert_eq!(answer.status, 200, "{}", answer.text));
    assert_eq!(http.read(paths[0])["trades"].as_array().unwrap().len(), 21);
    assert_eq!((readers(database, "history"), connections(database)), (slow, connected));
    market.server.stop();
}

/// Whoever listens while the database is too slow to say what was hears of it later, and of what happens meanwhile behind it.
#[test]
fn a_replay_waits_for_slow_readers_and_tells_everything_once() {
    let market = InDatabase::start("postgres-readers-replay", "--store-patience 300ms");
    let InDatabase { database, http, .. } = &market;
    let place = || market.order("buy");
    let mut orders: Vec<u64> = (0..5).map(|_| place()).collect();
    let slow = readers(database, "history");
    signal(&slow, Signal::STOP);
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    socket.next_of("subscribed", "orders");
    orders.extend((0..5).map(|_| place()));
    // It was too late for the first question.
    let late = || http.get("/api/v1/symbols/SPY/trades").code() == (503, "store-away");
    wait_until("a question was asked for too long", PATIENCE, late);
    signal(&slow, Signal::CONT);
    let (mut told, mut live) = (Vec::new(), false);
    while !live {
        let message = socket.next_of("reports", "orders");
        live = message["live"] == true;
        told.extend(message["reports"].as_array().unwrap().iter().map(|report| report["order_id"].as_u64().unwrap()));
    }
    assert_eq!(told, orders);
    market.server.stop();
}

/// What is committed stays so when it cannot be read any more: the client must not take it for refused.
#[test]
fn a_cancel_that_cannot_be_shown_is_not_told_as_refused() {
    let market = InDatabase::start("postgres-readers-cancel", "--store-patience 300ms");
    let InDatabase { database, http, .. } = &market;
    for path in ["/api/v1/orders/1?account=1", "/api/v1/accounts/1/orders"] {
        let order = market.order("buy");
        let slow = readers(database, "orders");
        assert_eq!(slow.len(), 1);
        signal(&slow, Signal::STOP);
        assert_eq!(http.delete(path).code(), (504, "outcome-unknown"), "{path}");
        signal(&slow, Signal::CONT);
        let shown = http.read(&format!("/api/v1/orders/{order}?account=1"));
        assert_eq!((&shown["status"], &shown["open"]), (&json!("canceled"), &json!("0")), "{path}");
        wait_until("the late reader has ended", PATIENCE, || readers(database, "orders").len() == 1);
    }
    market.server.stop();
}

/// Whoever has asked is not idle.
#[test]
fn who_waits_for_slow_readers_is_answered_however_soon_idle_connections_are_closed() {
    let market = InDatabase::start("postgres-readers-idle", "--store-patience 2s --idle-timeout 300ms");
    let InDatabase { database, http, .. } = &market;
    let slow = readers(database, "history");
    signal(&slow, Signal::STOP);
    assert_eq!(http.get("/api/v1/symbols/SPY/trades").code(), (503, "store-away"));
    signal(&slow, Signal::CONT);
    market.server.stop();
}
