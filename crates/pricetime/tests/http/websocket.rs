//! The WebSocket over the real wire: followers that apply what they are told get the market's book.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::server::{Launch, Server, connect};
use crate::common::wait::wait_until;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">10000</account><account id="2">10000</account></symbol></create>"#;

/// A follower's book: limits as they are written, by their value.
#[derive(Default)]
struct Book {
    update: u64,
    sides: [BTreeMap<u64, [Value; 3]>; 2],
}

impl Book {
    fn of(snapshot: &Value) -> Book {
        let mut book = Book { update: snapshot["update"].as_u64().unwrap(), ..Book::default() };
        book.take(snapshot);
        book.check(snapshot);
        book
    }

    fn follow(&mut self, update: &Value) {
        assert_eq!(update["update"], self.update + 1, "nothing is left out");
        self.update += 1;
        self.take(update);
        self.check(update);
    }

    fn take(&mut self, message: &Value) {
        for (side, name) in self.sides.iter_mut().zip(["bids", "asks"]) {
            for level in message[name].as_array().unwrap() {
                let level: [Value; 3] = level.as_array().unwrap().clone().try_into().unwrap();
                let limit = (level[0].as_str().unwrap().parse::<f64>().unwrap() * 1e4).round() as u64;
                match level[1] == "0" {
                    true => drop(side.remove(&limit)),
                    false => drop(side.insert(limit, level)),
                }
            }
        }
    }

    fn levels(&self) -> [Vec<[Value; 3]>; 2] {
        let [bids, asks] = &self.sides;
        [bids.values().rev().cloned().collect(), asks.values().cloned().collect()]
    }

    fn check(&self, message: &Value) {
        let [bids, asks] = self.levels();
        let mut parts = Vec::new();
        for at in 0..10 {
            for level in [bids.get(at), asks.get(at)].into_iter().flatten() {
                parts.push(format!("{}:{}", level[0].as_str().unwrap(), level[1].as_str().unwrap()));
            }
        }
        assert_eq!(message["checksum"], crc32fast::hash(parts.join(":").as_bytes()), "{message}");
    }
}

fn start(folder: &Folder) -> (Server, Http) {
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    (server, http)
}

/// Sends random orders around ten dollars, some of which are canceled, until told to stop.
fn trade(xml: SocketAddr, stop: &AtomicBool, least: usize) {
    let mut client = connect(xml);
    let (mut random, mut sent) = (0x5EED_u64, 0);
    while sent < least || !stop.load(Ordering::Relaxed) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (account, price, shares) = (1 + (random >> 60) % 2, 990 + (random >> 33) % 20, 1 + (random >> 45) % 9);
        let sign = if (random >> 50) & 1 == 0 { "" } else { "-" };
        let reply = client.ask(&format!(
            r#"<transactions id="{account}"><order sym="SPY" amount="{sign}{shares}" limit="{}.{:02}"/></transactions>"#,
            price / 100,
            price % 100
        ));
        if let Some(id) = reply.split("id=\"").nth(1).and_then(|rest| rest.split('"').next())
            && random % 3 == 0
        {
            client.ask(&format!(r#"<transactions id="{account}"><cancel id="{id}"/></transactions>"#));
        }
        sent += 1;
    }
}

#[test]
fn a_followed_book_is_the_books_own_at_every_update() {
    let folder = Folder::new("ws-book");
    let (server, http) = start(&folder);
    let (stop, xml) = (AtomicBool::new(false), server.xml);
    std::thread::scope(|scope| {
        let trading = scope.spawn(|| trade(xml, &stop, 500));
        let followers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut socket = http.listen();
                    let mut book = Book::of(
                        &socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"})),
                    );
                    for _ in 0..200 {
                        book.follow(&socket.next_of("update", "book"));
                    }
                    (socket, book)
                })
            })
            .collect();
        let followers: Vec<_> = followers.into_iter().map(|follower| follower.join().unwrap()).collect();
        stop.store(true, Ordering::Relaxed);
        trading.join().unwrap();
        let last = http.read("/api/v1/symbols/SPY/book?depth=1000");
        for (mut socket, mut book) in followers {
            while json!(book.levels()) != json!([last["bids"], last["asks"]]) {
                book.follow(&socket.next_of("update", "book"));
            }
        }
    });
    server.stop();
}

#[test]
fn trades_candles_and_orders_are_told_as_rest_shows_them() {
    let folder = Folder::new("ws-trades");
    let (server, http) = start(&folder);
    let mut socket = http.listen();
    let trades = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "trades", "symbol": "SPY"}));
    assert_eq!(trades["trades"], json!([]));
    socket.subscribe(json!({"op": "subscribe", "id": 2, "channel": "candles", "symbol": "SPY", "interval": "1h"}));
    let mine = socket.subscribe(json!({"op": "subscribe", "id": 3, "channel": "orders", "account": "1"}));
    assert_eq!((&mine["orders"], &mine["account"]["balance"]), (&json!([]), &json!("100000")));
    let stop = AtomicBool::new(true);
    trade(server.xml, &stop, 300);
    let page = http.read("/api/v1/symbols/SPY/trades?limit=1000");
    let mut expected = page["trades"].as_array().unwrap().clone();
    expected.reverse();
    let (mut told, mut orders, mut executions) = (Vec::new(), BTreeMap::new(), Vec::new());
    let mut candle = Value::Null;
    // The last message of this command: symbols are told before accounts.
    let last = http.make(
        "/api/v1/orders",
        &json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "0.01", "shares": "1"}),
    );
    while !orders.contains_key(&last["order_id"].as_u64().unwrap()) {
        let message = socket.next();
        match message["channel"].as_str().unwrap() {
            "trades" => told.extend(message["trades"].as_array().unwrap().clone()),
            "candles" => candle = message["candle"].clone(),
            _ => {
                for order in message["orders"].as_array().unwrap() {
                    orders.insert(order["order_id"].as_u64().unwrap(), order.clone());
                }
                executions.extend(message["executions"].as_array().unwrap().clone());
            }
        }
    }
    assert_eq!(told, expected);
    let candles = http.read("/api/v1/symbols/SPY/candles?interval=1h");
    assert_eq!(candles["candles"].as_array().unwrap().last(), Some(&candle));
    let all = http.read("/api/v1/accounts/1/orders?status=all&limit=1000");
    let mut mine: Vec<Value> = orders.into_values().collect();
    mine.reverse();
    assert_eq!(&mine, all["orders"].as_array().unwrap());
    let all = http.read("/api/v1/accounts/1/executions?limit=1000");
    let ids = |list: &[Value]| -> BTreeMap<String, u64> {
        let mut counted = BTreeMap::new();
        for execution in list {
            *counted.entry(execution.to_string()).or_default() += 1;
        }
        counted
    };
    assert_eq!(ids(&executions), ids(all["executions"].as_array().unwrap()));
    server.stop();
}

#[test]
fn status_and_symbols_are_told() {
    let folder = Folder::new("ws-status");
    let (server, http) = start(&folder);
    let mut socket = http.listen();
    let symbols = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "symbols"}));
    assert_eq!((&symbols["symbols"][0]["symbol"], &symbols["symbols"][0]["issued"]), (&json!("SPY"), &json!("20000")));
    socket.send(&json!({"op": "subscribe", "id": 2, "channel": "status"}));
    trade(server.xml, &AtomicBool::new(true), 50);
    let status = loop {
        let status = socket.next_of("update", "status");
        if status["commands_per_second"].as_f64().unwrap() > 0.0 {
            break status;
        }
    };
    assert!(status["memory_bytes"].as_u64().unwrap() > 1 << 20 && status["subscribers"] == 1, "{status}");
    server.ask(r#"<create><symbol sym="ZED"><account id="2">7</account></symbol></create>"#);
    server.ask(r#"<transactions id="1"><order sym="ZED" amount="5" limit="10"/></transactions>"#);
    loop {
        let update = socket.next_of("update", "symbols");
        let mut symbols = update["symbols"].as_array().unwrap().iter();
        if symbols.any(|symbol| symbol["symbol"] == "ZED" && symbol["best_bid"] == "10") {
            break;
        }
    }
    server.stop();
}

#[test]
fn bad_requests_are_refused_and_the_connection_goes_on() {
    let folder = Folder::new("ws-refusals");
    let (server, http) = start(&folder);
    let mut socket = http.listen();
    for (request, code) in [
        (json!({"op": "sing", "id": 1}), "malformed"),
        (json!({"op": "subscribe", "id": 2, "channel": "book", "symbol": "NONE"}), "unknown-symbol"),
        (json!({"op": "subscribe", "id": 3, "channel": "orders", "account": "99"}), "unknown-account"),
        (json!({"op": "subscribe", "id": 4, "channel": "weather"}), "malformed"),
        (json!({"op": "subscribe", "id": 5, "channel": "candles", "symbol": "SPY", "interval": "2m"}), "malformed"),
        (json!({"op": "ping", "id": 6, "more": true}), "malformed"),
        (json!([1]), "malformed"),
    ] {
        socket.send(&request);
        let refused = socket.next();
        assert_eq!((&refused["type"], &refused["code"]), (&json!("error"), &json!(code)), "{refused}");
        assert_eq!(refused.get("id"), request.get("id"));
    }
    socket.send(&json!({"op": "ping", "id": 7}));
    assert_eq!(socket.next(), json!({"type": "pong", "id": 7}));
    server.stop();
}

#[test]
fn a_connection_has_so_many_subscriptions_and_no_more() {
    let folder = Folder::new("ws-many");
    let (server, http) = start(&folder);
    let names: String = (0..65).map(|at| format!(r#"<symbol sym="S{at}"/>"#)).collect();
    server.ask(&format!("<create>{names}</create>"));
    let mut socket = http.listen();
    for at in 0..64 {
        socket.subscribe(json!({"op": "subscribe", "id": at, "channel": "book", "symbol": format!("S{at}")}));
    }
    let one_more = json!({"op": "subscribe", "id": 64, "channel": "book", "symbol": "S64"});
    socket.send(&one_more);
    let refused = socket.next();
    assert_eq!(
        (&refused["code"], &refused["id"], &refused["detail"]),
        (&json!("malformed"), &json!(64), &json!("a connection may have 64 subscriptions"))
    );
    socket.send(&json!({"op": "unsubscribe", "id": 65, "channel": "book", "symbol": "S0"}));
    socket.next_of("unsubscribed", "book");
    socket.subscribe(one_more);
    // A message longer than any request ends the connection.
    socket.send(&json!({"op": "ping", "id": "x".repeat(20_000)}));
    assert_eq!(socket.read_to_end().0, [] as [Value; 0]);
    server.stop();
}

#[test]
fn whoever_does_not_read_is_dropped_and_holds_nobody_up() {
    let folder = Folder::new("ws-slow");
    let (server, http) = start(&folder);
    let subscribe =
        |socket: &mut Socket| socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
    let mut slow: Vec<Socket> = (0..4).map(|_| http.listen()).collect();
    for socket in &mut slow {
        subscribe(socket);
        socket.send(&json!({"op": "subscribe", "id": 2, "channel": "trades", "symbol": "SPY"}));
        socket.send(&json!({"op": "subscribe", "id": 3, "channel": "orders", "account": "1"}));
        socket.send(&json!({"op": "subscribe", "id": 4, "channel": "orders", "account": "2"}));
    }
    let mut watch = http.listen();
    watch.send(&json!({"op": "subscribe", "id": 1, "channel": "status"}));
    let mut quick = http.listen();
    let mut book = Book::of(&subscribe(&mut quick));
    let (stop, xml) = (AtomicBool::new(false), server.xml);
    std::thread::scope(|scope| {
        let traders: Vec<_> = (0..2).map(|_| scope.spawn(|| trade(xml, &stop, 0))).collect();
        let following = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                book.follow(&quick.next_of("update", "book"));
            }
        });
        wait_until("the slow ones are dropped", Duration::from_secs(120), || {
            watch.next_of("update", "status")["subscribers"] == 2
        });
        stop.store(true, Ordering::Relaxed);
        // One more order follows, in case the follower waits for one.
        server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="1"/></transactions>"#);
        following.join().unwrap();
        traders.into_iter().for_each(|trader| trader.join().unwrap());
    });
    assert!(server.process.rss_kib() < 300 * 1024, "memory is bounded: {} KiB", server.process.rss_kib());
    server.stop();
}

/// A book that is larger than the megabyte that may wait for a client was once never told: its subscribers were dropped
/// at once, as if they did not read.
#[test]
fn a_book_larger_than_what_may_wait_is_told_to_whoever_reads() {
    const LEVELS: usize = 100_000;
    let folder = Folder::new("ws-large");
    let (server, http) = start(&folder);
    let mut client = server.client();
    for part in 0..LEVELS / 10_000 {
        let order = |at: usize| {
            format!(r#"<order sym="SPY" amount="0.00000001" limit="{:.4}"/>"#, 1.0 + (part * 10_000 + at) as f64 / 1e4)
        };
        let orders: String = (0..10_000).map(order).collect();
        client.ask(&format!(r#"<transactions id="1">{orders}</transactions>"#));
    }
    let mut socket = http.listen();
    let snapshot = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
    assert_eq!(snapshot["bids"].as_array().unwrap().len(), LEVELS);
    let mut book = Book::of(&snapshot);
    client.ask(r#"<transactions id="1"><order sym="SPY" amount="0.00000001" limit="1"/></transactions>"#);
    book.follow(&socket.next_of("update", "book"));
    server.stop();
}
