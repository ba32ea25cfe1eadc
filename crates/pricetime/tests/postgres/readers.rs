//! Queries to a market whose database is away, slow, or served by another server: what cannot be known is refused or
//! waited for, and does not delay trading.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::KeyFile;
use crate::common::proxy::{Proxy, Way};
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

#[test]
fn while_the_database_is_away_past_and_present_are_too() {
    let folder = Folder::new("postgres-readers-away");
    let mut cluster = crate::postgres::Server::start(&[]);
    let database = cluster.database();
    let launch = Launch::new(&folder.data()).in_database(database.url().secret()).with("--store-patience 3s");
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
        // These are in memory, but nobody knows whether they are still true: another server may have taken over.
        "/api/v1/accounts/1/orders",
        "/api/v1/accounts/1",
    ];
    let told = paths.map(|path| http.get(path).body);
    cluster.end("KILL");
    for path in paths {
        assert_eq!(http.get(path).code(), (503, "store-away"), "{path}");
    }
    cluster.run();
    for (path, told) in paths.iter().zip(told) {
        wait_until("the past is there again", PATIENCE, || http.get(path).body == told);
    }
    server.stop();
}

/// The database's processes that read pages of the history, or single orders.
fn readers(database: &crate::postgres::Database, what: &str) -> Vec<String> {
    let named = format!("datname = current_database() AND application_name LIKE 'pricetime % {what}'");
    database.sql(&format!("SELECT pid FROM pg_stat_activity WHERE {named} ORDER BY 1"))
}

/// The number of connections of the server.
fn connections(database: &crate::postgres::Database) -> usize {
    let named = "datname = current_database() AND application_name LIKE 'pricetime %'";
    database.sql(&format!("SELECT pid FROM pg_stat_activity WHERE {named}")).len()
}

fn signal(processes: &[String], signal: Signal) {
    for process in processes {
        kill_process(Pid::from_raw(process.parse().unwrap()).unwrap(), signal).unwrap();
    }
}

/// A market in a database of its own, with one account that has money and shares of SPY.
struct InDatabase {
    database: crate::postgres::Database,
    server: Server,
    http: Http,
    cluster: crate::postgres::Server,
    _folder: Folder,
}

impl InDatabase {
    fn start(name: &str, settings: &str) -> InDatabase {
        let folder = Folder::new(name);
        let cluster = crate::postgres::Server::start(&[]);
        let database = cluster.database();
        let server = Launch::new(&folder.data()).in_database(database.url().secret()).with(settings).start();
        let http = Http::new(server.http);
        http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000000"}));
        http.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10000"}));
        InDatabase { database, server, http, cluster, _folder: folder }
    }

    /// Places an order. Returns its id.
    fn order(&self, side: &str) -> u64 {
        let order = json!({"account": "1", "symbol": "SPY", "side": side, "limit": "10", "shares": "1"});
        self.http.make("/api/v1/orders", &order)["order_id"].as_u64().unwrap()
    }
}

/// The processes that read are stopped, so they are as slow as can be. Only these are, because a lock would stop the
/// writer, too.
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
        // Requests beyond the queue's bound are refused, and then all others wait.
        let refused: Vec<_> = answers.iter().take(200 - 64).collect();
        refused.iter().for_each(|answer| assert_eq!(answer.status, 503, "{}", answer.text));
        // Orders are placed and canceled as usual, and their ends are told.
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

/// A listener whose database is too slow to tell the past is told it later, and after that what happened meanwhile.
#[test]
fn a_replay_waits_for_slow_readers_and_tells_everything_once() {
    let market = InDatabase::start("postgres-readers-replay", "--store-patience 3s");
    let InDatabase { database, http, .. } = &market;
    let place = || market.order("buy");
    let mut orders: Vec<u64> = (0..5).map(|_| place()).collect();
    let slow = readers(database, "history");
    signal(&slow, Signal::STOP);
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    socket.next_of("subscribed", "orders");
    orders.extend((0..5).map(|_| place()));
    // The first question has run out of time.
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

/// A committed cancel that can no longer be read is still committed, so the client must not take it for refused.
#[test]
fn a_cancel_that_cannot_be_shown_is_not_told_as_refused() {
    let market = InDatabase::start("postgres-readers-cancel", "--store-patience 3s");
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

/// Two lists whose orders the database was asked for once kept all turns of long answers until it had answered, and
/// nobody else had a piece of anything.
#[test]
fn lists_that_wait_for_slow_readers_keep_no_other_list_waiting() {
    let folder = Folder::new("postgres-readers-lists");
    let cluster = crate::postgres::Server::start(&[]);
    let (database, keys) = (cluster.database(), KeyFile::new(&folder));
    let launch = keys.launch(&folder).in_database(database.url().secret()).with("--store-patience 60s");
    let server = launch.start();
    let http = Http::new(server.http);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000000"}));
    http.make("/api/v1/symbols/SPY/shares", &json!({"account": "1", "shares": "10000"}));
    let pair =
        "symbol=SPYUSD&side=SELL&quantity=1&aboveType=LIMIT_MAKER&abovePrice=20&belowType=STOP_LOSS&belowStopPrice=5";
    let placed = keys.send(&http, "POST", "orderList/oco", pair);
    assert_eq!(placed.status, 200, "{}", placed.text);
    let slow = readers(&database, "orders");
    assert_eq!(slow.len(), 1);
    signal(&slow, Signal::STOP);
    let asked = std::thread::scope(|scope| {
        let lists = [1, 2, 3].map(|number| {
            let (http, path) = (Http::new(server.http), format!("recvWindow={}", 60_000 - number));
            let keys = &keys;
            scope.spawn(move || keys.send(&http, "GET", "openOrderList", &path))
        });
        for number in 0..20 {
            std::thread::sleep(Duration::from_millis(20));
            let open = keys.send(&http, "GET", "openOrders", &format!("recvWindow={}", 50_000 - number));
            assert_eq!(open.body.as_array().map(Vec::len), Some(2), "{}", open.text);
            assert_eq!(http.read("/binance/api/v3/ticker/price")[0]["symbol"], "SPYUSD");
            assert_eq!(http.read("/api/v1/accounts/1/orders")["orders"].as_array().map(Vec::len), Some(2));
        }
        signal(&slow, Signal::CONT);
        lists.map(|list| list.join().unwrap())
    });
    for list in asked {
        assert_eq!(list.body.as_array().map(Vec::len), Some(1), "{}", list.text);
    }
    server.stop();
}

/// A client that waits for an answer is not idle.
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

/// Each question without an answer once left a process of the database behind, which went on waiting for a lock until
/// the database took no more connections.
#[test]
fn questions_without_an_answer_leave_no_processes_behind() {
    let market = InDatabase::start("postgres-readers-locked", "--store-patience 1s");
    let InDatabase { database, http, cluster, .. } = &market;
    market.order("buy");
    market.order("sell");
    let paths = ["/api/v1/orders/1?account=1", "/api/v1/symbols/SPY/trades"];
    let told = paths.map(|path| http.read(path));
    let look_up = || market.server.ask(r#"<transactions id="1"><query id="1"/></transactions>"#);
    let known = look_up();
    assert!(known.contains("<executed "), "{known}");
    // A transaction sees one moment of these, so another connection counts them.
    let connections = || connections(&cluster.database_named(&database.name));
    let before = connections();
    database.sql("BEGIN; LOCK TABLE pricetime.kept IN ACCESS EXCLUSIVE MODE");
    for _ in 0..8 {
        let refused = look_up();
        assert!(refused.contains("store is away"), "{refused}");
        // A process that was left a moment ago may still end.
        assert!(connections() <= before + 1, "{} connections; before, {before}", connections());
    }
    paths.iter().for_each(|path| assert_eq!(http.get(path).code(), (503, "store-away"), "{path}"));
    assert!(market.order("buy") > 0, "the writer does not wait for that table");
    database.sql("ROLLBACK");
    wait_until("look-ups are answered again", PATIENCE, || look_up() == known);
    for (path, told) in paths.iter().zip(&told) {
        assert_eq!(http.read(path), *told, "{path}");
    }
    wait_until("nothing is left behind", PATIENCE, || connections() <= before);
    market.server.stop();
}

/// The writer's connection broke while an operator held a lock: each attempt at another one left a process behind.
#[test]
fn attempts_to_write_again_leave_no_processes_behind() {
    let market = InDatabase::start("postgres-writer-locked", "--store-patience 3s");
    let InDatabase { database, server, .. } = &market;
    market.order("buy");
    let before = connections(database);
    database.sql("BEGIN; LOCK TABLE pricetime.parts IN ACCESS EXCLUSIVE MODE");
    database.end_the_writer();
    let waits = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'pricetime.parts'::regclass";
    let mut most = 0;
    let until = Instant::now() + Duration::from_secs(20);
    while Instant::now() < until {
        most = most.max(database.sql(waits).len());
        std::thread::sleep(Duration::from_millis(200));
    }
    assert!((1..=2).contains(&most), "{most} processes wait");
    database.sql("ROLLBACK");
    wait_until("the market goes on", PATIENCE, || server.ask(ORDER).contains("<opened"));
    wait_until("nothing is left behind", PATIENCE, || connections(database) == before);
    market.server.stop();
}

/// Pages of clients that had left once were all read, one after the other, before those of others.
#[test]
fn what_nobody_waits_for_any_more_is_not_read() {
    let market = InDatabase::start("postgres-readers-left", "--store-patience 60s");
    let InDatabase { database, server, http, cluster, .. } = &market;
    database.sql("ALTER SYSTEM SET log_statement = 'all'");
    database.sql("SELECT pg_reload_conf()");
    let path = "/api/v1/symbols/SPY/trades";
    let read = || cluster.log().matches("BEGIN READ ONLY; SET LOCAL statement_timeout").count();
    wait_until("statements are noted", PATIENCE, || {
        http.read(path);
        read() > 0
    });
    let (slow, before) = (readers(database, "history"), read());
    signal(&slow, Signal::STOP);
    let request = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let askers: Vec<TcpStream> = (0..40)
        .map(|_| {
            let mut asker = TcpStream::connect(server.http).unwrap();
            asker.write_all(request.as_bytes()).unwrap();
            asker
        })
        .collect();
    // The server has taken all of them, and none has an answer.
    std::thread::sleep(Duration::from_millis(500));
    drop(askers);
    std::thread::sleep(Duration::from_millis(500));
    signal(&slow, Signal::CONT);
    http.read(path);
    let read = read() - before;
    assert!((1..10).contains(&read), "{read} pages were read");
    market.server.stop();
}

const MARKET: &str =
    r#"<create><account id="1" balance="1000"/><symbol sym="SPY"><account id="1">10</account></symbol></create>"#;
const ORDER: &str = r#"<transactions id="1"><order sym="SPY" amount="1" limit="11"/></transactions>"#;
const QUERY: &str = r#"<transactions id="1"><query id="1"/></transactions>"#;
/// All requests about the market that do not read only rows, which are true by themselves.
const READS: [&str; 11] = [
    "/api/v1/accounts",
    "/api/v1/accounts/1",
    "/api/v1/accounts/1/orders",
    "/api/v1/accounts/1/orders?status=all",
    "/api/v1/orders/1?account=1",
    "/api/v1/symbols",
    "/api/v1/symbols/SPY/book",
    "/api/v1/symbols/SPY/book/orders",
    "/api/v1/symbols/SPY/candles",
    "/binance/api/v3/depth?symbol=SPYUSD",
    "/binance/api/v3/ticker/bookTicker?symbol=SPYUSD",
];

/// Launches a server with the proxy between it and its database.
fn behind(proxy: &Proxy, folder: &Folder, database: &crate::postgres::Database) -> Launch {
    Launch::new(&folder.data()).in_database(&format!("postgres://postgres@127.0.0.1:{}/{}", proxy.port, database.name))
}

/// Subscribes to a channel on a new connection. Returns the refusal if there is no snapshot.
fn subscription(http: &Http, channel: &str) -> Result<Socket, Option<serde_json::Value>> {
    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": channel, "symbol": "SPY"}));
    loop {
        match socket.try_next() {
            Some(told) if told["type"] == "snapshot" || told["type"] == "update" => return Ok(socket),
            Some(told) if told["type"] == "subscribed" => {}
            other => return Err(other),
        }
    }
}

/// A replaced server to which only queries came once went on answering them from its memory for ever.
#[test]
fn a_server_that_is_cut_off_shows_nothing_and_ends_when_it_learns_that_it_was_replaced() {
    let (folder, database) = (Folder::new("postgres-replaced"), crate::postgres::database());
    let proxy = Proxy::to(database.port);
    let mut first = behind(&proxy, &folder, &database).with("--store-patience 3s").start();
    first.ask(MARKET);
    assert!(first.ask(ORDER).contains("<opened"));
    let standby = Launch::new(&folder.data()).in_database(database.url().secret()).with("--standby").spawn();
    let http = Http::new(first.http);
    READS.iter().for_each(|path| drop(http.read(path)));
    let mut listener = subscription(&http, "book").unwrap();
    proxy.hold(Way::Out);
    database.end_the_writer();
    let second = standby.serving().expect("a server that took over");
    assert!(second.ask(r#"<transactions id="1"><cancel id="1"/></transactions>"#).contains("<canceled"));
    // The server notices that it cannot know whether the market is still its own.
    for _ in 0..3 {
        assert!(first.ask(QUERY).contains("store is away"));
    }
    for path in READS {
        let answer = http.get(path);
        assert!(answer.status == 503 && answer.text.contains("store is away"), "{path}: {}", answer.text);
    }
    let refused = subscription(&http, "book").err().flatten().expect("a refusal");
    assert_eq!((&refused["type"], &refused["code"]), (&json!("error"), &json!("store-away")), "{refused}");
    // Answers about the server itself are given.
    assert_eq!(http.read("/api/v1/status")["status"], "store-away");
    assert!(subscription(&http, "status").is_ok());
    proxy.release();
    let ended = first.process.wait_for_end(PATIENCE);
    assert!(!ended.status.success() && ended.stderr.contains("took over this database"), "{ended:?}");
    while let Some(told) = listener.try_next() {
        assert_eq!(told["type"], "update", "nothing happened that it could tell: {told}");
    }
    assert!(second.ask(QUERY).contains("<canceled"));
    second.stop();
}

/// A query waits for the database's word, as a command waits for its commit.
#[test]
fn an_answer_to_a_query_waits_until_the_database_was_asked() {
    let (folder, database) = (Folder::new("postgres-asked"), crate::postgres::database());
    let proxy = Proxy::to(database.port);
    let server = behind(&proxy, &folder, &database).with("--store-patience 300s").start();
    server.ask(MARKET);
    server.ask(ORDER);
    let mut client = server.client();
    for way in [Way::Out, Way::Back] {
        proxy.hold(way);
        client.send_request(QUERY).unwrap();
        wait_until("the database is asked", PATIENCE, || proxy.holds(way));
        client.stream.set_nonblocking(true).unwrap();
        assert!(client.stream.peek(&mut [0]).is_err(), "{way:?}: it is told before the database has said so");
        client.stream.set_nonblocking(false).unwrap();
        proxy.release();
        assert!(client.reply().unwrap().contains("<open shares=\"1\"/>"));
    }
    server.stop();
}
