//! Streams of the compatible interface over the real wire: the documented procedure always yields the market's book,
//! and an account's reports add up to its orders.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::common::exposition::Exposition;
use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::{KeyFile, now};
use crate::common::server::{PATIENCE, Server, connect};
use crate::common::wait::{wait_for, wait_until};
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">10000</account><account id="2">10000</account></symbol></create>"#;

fn start(folder: &Folder) -> (Server, Http, KeyFile) {
    KeyFile::serve(folder, MARKET)
}

/// Sends random orders of accounts 1 and 2 around ten dollars, some of which are canceled: at least `least` of them,
/// and until told to stop.
fn trade(xml: SocketAddr, seed: u64, stop: &AtomicBool, least: usize) {
    let mut client = connect(xml);
    let (mut random, mut sent) = (seed, 0);
    while sent < least || !stop.load(Ordering::Relaxed) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (account, cents, eighths) = (1 + (random >> 60) % 2, 990 + (random >> 33) % 20, 1 + (random >> 45) % 70);
        let sign = if (random >> 50) & 1 == 0 { "" } else { "-" };
        let (amount, limit) = (eighths as f64 / 8.0, cents as f64 / 100.0);
        let order = format!(r#"<order sym="SPY" amount="{sign}{amount}" limit="{limit}"/>"#);
        let reply = client.ask(&format!(r#"<transactions id="{account}">{order}</transactions>"#));
        if let Some(id) = reply.split("id=\"").nth(1).and_then(|rest| rest.split('"').next())
            && random % 3 == 0
        {
            client.ask(&format!(r#"<transactions id="{account}"><cancel id="{id}"/></transactions>"#));
        }
        sent += 1;
    }
}

type Levels = [BTreeMap<String, String>; 2];

/// A book that is followed as the documentation of these streams describes.
struct Followed {
    /// `lastUpdateId` of the snapshot, and later `u` of the last event.
    last: u64,
    events: usize,
    levels: Levels,
}

impl Followed {
    /// Opens the stream, asks for the snapshot, and drops the events that the snapshot contains.
    fn begin(http: &Http, socket: &mut Socket) -> Followed {
        // The first event is awaited, so that some events are older than the snapshot.
        let mut buffered = vec![next_depth(socket)];
        let snapshot = http.read("/binance/api/v3/depth?symbol=SPYUSD&limit=5000");
        let last = snapshot["lastUpdateId"].as_u64().unwrap();
        assert!(buffered[0]["U"].as_u64().unwrap() <= last + 1, "the snapshot is newer than the stream's beginning");
        let mut followed = Followed { last, events: 0, levels: Levels::default() };
        followed.take([&snapshot["bids"], &snapshot["asks"]]);
        while followed.events == 0 {
            let event = buffered.pop().unwrap_or_else(|| next_depth(socket));
            let (first, through) = numbers(&event);
            if through <= last {
                continue;
            }
            assert!(first <= last + 1 && last < through, "{first} {last} {through}");
            followed.apply(&event);
        }
        followed
    }

    fn follow(&mut self, event: &Value) {
        assert_eq!(numbers(event).0, self.last + 1, "each event begins where the one before ended");
        self.apply(event);
    }

    fn apply(&mut self, event: &Value) {
        assert_eq!((&event["e"], &event["s"]), (&json!("depthUpdate"), &json!("SPYUSD")));
        self.take([&event["b"], &event["a"]]);
        self.last = numbers(event).1;
        self.events += 1;
    }

    fn take(&mut self, sides: [&Value; 2]) {
        for (levels, changed) in self.levels.iter_mut().zip(sides) {
            for level in changed.as_array().unwrap() {
                let text = |at: usize| level[at].as_str().unwrap().to_owned();
                match text(1) == "0.00000000" {
                    true => drop(levels.remove(&text(0))),
                    false => drop(levels.insert(text(0), text(1))),
                }
            }
        }
    }
}

/// The next change of the book. Other events are skipped.
fn next_depth(socket: &mut Socket) -> Value {
    loop {
        let event = socket.next();
        if event["e"] == "depthUpdate" {
            return event;
        }
    }
}

/// The book as REST shows it.
fn asked(http: &Http) -> Levels {
    let depth = http.read("/binance/api/v3/depth?symbol=SPYUSD&limit=5000");
    let mut book = Followed { last: 0, events: 0, levels: Levels::default() };
    book.take([&depth["bids"], &depth["asks"]]);
    book.levels
}

fn numbers(event: &Value) -> (u64, u64) {
    (event["U"].as_u64().unwrap(), event["u"].as_u64().unwrap())
}

/// The levels of the engine's open orders, as `pricetime state` tells them.
fn of_the_engine(state: &Value) -> Levels {
    let mut levels: [BTreeMap<String, f64>; 2] = Default::default();
    for order in state["orders"].as_array().unwrap() {
        let side = usize::from(order["side"] == "sell");
        let number = |name: &str| order[name].as_str().unwrap().parse::<f64>().unwrap();
        *levels[side].entry(format!("{:.8}", number("limit"))).or_default() += number("open");
    }
    levels.map(|side| side.into_iter().map(|(limit, shares)| (limit, format!("{shares:.8}"))).collect())
}

#[test]
fn a_followed_book_is_the_engines() {
    let folder = Folder::new("binance-depth");
    let (server, http, _) = start(&folder);
    let (stop, xml) = (AtomicBool::new(false), server.xml);
    let followers = std::thread::scope(|scope| {
        let trading = scope.spawn(|| trade(xml, 0x5EED, &stop, 500));
        let paths = [
            ("/binance/ws/spyusd@depth@100ms", 20),
            ("/binance/ws/spyusd@depth@100ms", 7),
            ("/binance/ws/spyusd@depth", 2),
            ("/binance/ws/SPYUSD@depth@1000ms", 2),
        ];
        let followers = paths.map(|(path, events)| {
            let http = http.clone();
            scope.spawn(move || {
                let mut socket = http.listen_at(path);
                let mut followed = Followed::begin(&http, &mut socket);
                while followed.events < events {
                    followed.follow(&socket.next());
                }
                (socket, followed)
            })
        });
        let followers = followers.map(|follower| follower.join());
        // The trading stops even if a follower failed.
        stop.store(true, Ordering::Relaxed);
        trading.join().unwrap();
        followers.map(|follower| follower.unwrap())
    });
    let wanted = asked(&http);
    assert!(wanted.iter().all(|side| side.len() > 1), "{wanted:?}");
    for (mut socket, mut followed) in followers {
        while followed.levels != wanted {
            followed.follow(&socket.next());
        }
    }
    server.stop();
    assert_eq!(
        of_the_engine(&crate::common::server::state_of(&folder.data())),
        wanted,
        "and that is what the engine has"
    );
}

#[test]
fn reports_of_an_account_add_up_to_its_orders() {
    let folder = Folder::new("binance-reports");
    let (server, http, keys) = start(&folder);
    let key = [("x-mbx-apikey", keys.key.as_str())];
    let listen =
        |method: &str, query: &str| http.send(method, &format!("/binance/api/v3/userDataStream{query}"), None, &key);
    let listen_key = listen("POST", "").body["listenKey"].as_str().unwrap().to_owned();
    assert_eq!(listen("PUT", &format!("?listenKey={listen_key}")).body, json!({}));
    assert_eq!(listen("PUT", "?listenKey=other").body["code"], -1125);
    let followed = http.listen_at(&format!("/binance/ws/{listen_key}"));
    let mut sockets = [followed, http.listen_at("/binance/ws-api/v3")];
    let call = |text: &str, signature: &str| {
        let mut parameters: serde_json::Map<String, Value> = text
            .split('&')
            .map(|part| part.split_once('=').unwrap())
            .map(|(name, value)| (name.to_owned(), json!(value)))
            .collect();
        parameters.insert("signature".to_owned(), json!(signature));
        json!({"id": "mine", "method": "userDataStream.subscribe.signature", "params": parameters})
    };
    let text = format!("apiKey={}&timestamp={}", keys.key, now());
    sockets[1].send(&call(&text, &keys.signature("other")));
    let refused = sockets[1].next();
    assert_eq!(
        (&refused["status"], &refused["error"]["code"], &refused["id"]),
        (&json!(400), &json!(-1022), &json!("mine"))
    );
    sockets[1].send(&call(&text, &keys.signature(&text)));
    let subscribed = sockets[1].next();
    assert_eq!((&subscribed["status"], &subscribed["id"]), (&json!(200), &json!("mine")), "{subscribed}");
    let number = subscribed["result"]["subscriptionId"].clone();

    let stop = AtomicBool::new(true);
    trade(server.xml, 0xFEED, &stop, 400);
    // This last order shows when everything has been told.
    let marker =
        keys.send(&http, "POST", "order", "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=1").body;
    let orders = http.read("/api/v1/accounts/1/orders?status=all&limit=1000");
    let account = http.read("/api/v1/accounts/1");
    for (socket, wrapped) in sockets.iter_mut().zip([false, true]) {
        let mut told: HashMap<u64, Value> = HashMap::new();
        let mut dollars = Value::Null;
        let mut through = false;
        while !through || dollars["l"] != eight(&account["held"]) || dollars["f"] != eight(&account["balance"]) {
            let mut event = socket.next();
            if wrapped {
                assert_eq!(event["subscriptionId"], number);
                event = event["event"].take();
            }
            if event["e"] == "outboundAccountPosition" {
                dollars = event["B"][0].take();
                continue;
            }
            assert_eq!(event["e"], "executionReport");
            let id = event["i"].as_u64().unwrap();
            check_step(told.get(&id), &event);
            through |= event["i"] == marker["orderId"];
            told.insert(id, event);
        }
        assert_eq!(told.len(), orders["orders"].as_array().unwrap().len());
        for order in orders["orders"].as_array().unwrap() {
            let last = &told[&order["order_id"].as_u64().unwrap()];
            assert_eq!(last["z"], eight(&order["executed"]), "{order} {last}");
            let status = match (order["status"].as_str().unwrap(), order["executed"].as_str().unwrap()) {
                ("open", "0") => "NEW",
                ("open", _) => "PARTIALLY_FILLED",
                ("executed", _) => "FILLED",
                _ => "CANCELED",
            };
            assert_eq!(last["X"], status, "{order} {last}");
        }
        let kinds: std::collections::HashSet<&str> = told.values().map(|event| event["X"].as_str().unwrap()).collect();
        assert_eq!(kinds.len(), 4, "all of this happened: {kinds:?}");
    }
    assert_eq!(listen("DELETE", &format!("?listenKey={listen_key}")).body, json!({}));
    // A listen key that has ended is treated like a name that nobody knows.
    let mut late = http.listen_at(&format!("/binance/ws/{listen_key}"));
    late.send(&json!({"method": "LIST_SUBSCRIPTIONS", "id": 1}));
    assert_eq!(late.next(), json!({"result": [], "id": 1}));
    server.stop();
}

/// An amount of the native interface, written as the compatible one writes it.
fn eight(amount: &Value) -> String {
    let (whole, decimals) = amount.as_str().unwrap().split_once('.').unwrap_or((amount.as_str().unwrap(), ""));
    format!("{whole}.{decimals:0<8}")
}

/// Checks that an order is new first, executes by as much as the event says, and is canceled at most once.
fn check_step(before: Option<&Value>, event: &Value) {
    let number = |event: &Value, name: &str| event[name].as_str().unwrap().parse::<f64>().unwrap();
    let Some(before) = before else {
        assert_eq!((&event["x"], &event["X"], number(event, "z")), (&json!("NEW"), &json!("NEW"), 0.0), "{event}");
        return;
    };
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
    assert!(before["X"] == "NEW" || before["X"] == "PARTIALLY_FILLED", "{before} {event}");
    assert!(close(number(event, "z"), number(before, "z") + number(event, "l")), "{before} {event}");
    assert!(
        close(number(event, "Z"), number(before, "Z") + number(event, "l") * number(event, "L")),
        "{before} {event}"
    );
    let all = event["z"] == event["q"];
    match event["x"].as_str().unwrap() {
        "TRADE" => assert_eq!(event["X"], if all { "FILLED" } else { "PARTIALLY_FILLED" }),
        kind => assert_eq!((kind, event["X"].as_str().unwrap(), number(event, "l")), ("CANCELED", "CANCELED", 0.0)),
    }
}

/// A client that placed an order as soon as it was connected missed the reports of that order.
#[test]
fn streams_begin_before_their_connection_is_accepted_and_end_with_it() {
    let folder = Folder::new("binance-begun");
    let (server, http, _) = start(&folder);
    let mut other = server.client();
    other.ask(r#"<transactions id="2"><order sym="SPY" amount="-1000" limit="10"/></transactions>"#);
    for _ in 0..50 {
        let mut socket = http.listen_at("/binance/ws/spyusd@trade");
        other.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="10"/></transactions>"#);
        assert_eq!(socket.next()["e"], "trade");
    }
    let kept = http.listen_at("/binance/ws/spyusd@trade");
    // A client that hangs up before its connection is accepted leaves no subscription.
    for _ in 0..50 {
        let mut client = TcpStream::connect(server.http).unwrap();
        let upgrade = "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13";
        let asked = "GET /binance/ws/spyusd@trade/spyusd@bookTicker HTTP/1.1\r\nhost: localhost\r\n";
        write!(client, "{asked}{upgrade}\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").unwrap();
    }
    wait_until("all others to have left", PATIENCE, || {
        Exposition::read(&http.get("/metrics").text).sum("pricetime_subscribers", &[]) == 1.0
    });
    drop(kept);
    server.stop();
}

#[test]
fn streams_are_asked_for_and_left_as_clients_do() {
    let folder = Folder::new("binance-asked");
    let (server, http, _) = start(&folder);
    let mut other = server.client();
    // Some clients number their connections in this way.
    let mut socket = http.listen_at("/binance/ws/0");
    let mut ask = |request: Value| {
        socket.send(&request);
        socket.next()
    };
    let streams = json!(["spyusd@trade", "spyusd@bookTicker", "spyusd@kline_1m"]);
    assert_eq!(ask(json!({"method": "SUBSCRIBE", "params": streams, "id": 1})), json!({"result": null, "id": 1}));
    assert_eq!(ask(json!({"method": "LIST_SUBSCRIPTIONS", "id": 2})), json!({"result": streams, "id": 2}));
    for (wrong, code) in [
        (json!({"method": "SUBSCRIBE", "params": ["noneusd@trade"], "id": 3}), 2),
        (json!({"method": "SUBSCRIBE", "params": ["spyusd@nothing"], "id": 3}), 2),
        (json!({"method": "SUBSCRIBE", "params": "spyusd@trade", "id": 3}), 2),
        (json!({"method": "SHOUT", "id": 3}), 2),
    ] {
        let refused = ask(wrong);
        assert_eq!((&refused["error"]["code"], &refused["id"]), (&json!(code), &json!(3)), "{refused}");
    }
    other.ask(r#"<transactions id="2"><order sym="SPY" amount="-2" limit="10.5"/></transactions>"#);
    other.ask(r#"<transactions id="1"><order sym="SPY" amount="0.5" limit="11"/></transactions>"#);
    let mut seen: Vec<Value> = Vec::new();
    while !["trade", "kline"].iter().all(|kind| seen.iter().any(|event| event["e"] == *kind)) {
        seen.push(socket.next());
    }
    let of = |kind: &str| seen.iter().find(|event| event["e"] == kind).unwrap();
    let trade = of("trade");
    assert_eq!(
        (&trade["s"], &trade["p"], &trade["q"], &trade["m"]),
        (&json!("SPYUSD"), &json!("10.50000000"), &json!("0.50000000"), &json!(false))
    );
    let kline = &of("kline")["k"];
    assert_eq!(
        (&kline["i"], &kline["c"], &kline["v"], &kline["x"]),
        (&json!("1m"), &json!("10.50000000"), &json!("0.50000000"), &json!(false))
    );
    let best = seen.iter().find(|event| event.get("e").is_none()).unwrap();
    assert_eq!(
        (&best["a"], &best["b"], &best["B"]),
        (&json!("10.50000000"), &json!("0.00000000"), &json!("0.00000000"))
    );
    // A candle is closed by the next one, or by the clock when nobody trades any more.
    socket.send(
        &json!({"method": "UNSUBSCRIBE", "params": ["spyusd@trade", "spyusd@bookTicker", "spyusd@kline_1m"], "id": 4}),
    );
    while socket.next() != json!({"result": null, "id": 4}) {}
    let many: Vec<String> = (0..201).map(|_| "spyusd@trade".to_owned()).collect();
    socket.send(&json!({"method": "SUBSCRIBE", "params": many, "id": 6}));
    let refused = socket.next();
    assert!(refused["error"]["msg"].as_str().unwrap().contains("200"), "{refused}");
    socket.send(&json!({"method": "SUBSCRIBE", "params": ["spyusd@kline_1s"], "id": 5}));
    assert_eq!(socket.next(), json!({"result": null, "id": 5}));
    other.ask(r#"<transactions id="1"><order sym="SPY" amount="0.5" limit="11"/></transactions>"#);
    let open = socket.next();
    let closed = socket.next();
    assert_eq!((&open["k"]["x"], &closed["k"]["x"]), (&json!(false), &json!(true)), "{open} {closed}");
    assert_eq!(open["k"]["t"], closed["k"]["t"]);

    let mut both = http.listen_at("/binance/stream?streams=spyusd@ticker/spyusd@depth5@100ms");
    let mut kinds: Vec<String> = Vec::new();
    while kinds.len() < 2 {
        // The ticker is told when something changes.
        other.ask(r#"<transactions id="1"><order sym="SPY" amount="0.01" limit="11"/></transactions>"#);
        let message = both.next();
        let name = message["stream"].as_str().unwrap().to_owned();
        match name.as_str() {
            "spyusd@ticker" => assert_eq!(message["data"]["c"], "10.50000000"),
            _ => assert!(message["data"]["lastUpdateId"].is_u64() && message["data"]["asks"][0][0] == "10.50000000"),
        }
        if !kinds.contains(&name) {
            kinds.push(name);
        }
    }
    both.close();
    server.stop();
}

/// The streams that tell everything about the symbol and account 1.
fn all_streams(http: &Http, keys: &KeyFile) -> String {
    let key = [("x-mbx-apikey", keys.key.as_str())];
    let made = http.send("POST", "/binance/api/v3/userDataStream", None, &key).body;
    let listen_key = made["listenKey"].as_str().unwrap();
    format!("/binance/ws/spyusd@depth@100ms/spyusd@trade/spyusd@bookTicker/{listen_key}")
}

/// Panics unless changes of the book and trades follow each other without a gap.
fn check_whole(told: &[Value]) {
    let of = |kind: &'static str| told.iter().filter(move |event| event["e"] == kind);
    let depth: Vec<(u64, u64)> = of("depthUpdate").map(numbers).collect();
    assert!(depth.windows(2).all(|pair| pair[1].0 == pair[0].1 + 1), "{depth:?}");
    let trades: Vec<u64> = of("trade").map(|trade| trade["t"].as_u64().unwrap()).collect();
    // There is only one symbol, so the trades' numbers have no gaps.
    assert!(trades.windows(2).all(|pair| pair[1] == pair[0] + 1), "{trades:?}");
}

#[test]
fn whoever_does_not_read_is_dropped_holds_nobody_up_and_can_begin_again() {
    const SLOW: usize = 4;
    const MIB: u64 = 1024;
    let folder = Folder::new("binance-slow");
    let (server, http, keys) = start(&folder);
    let path = all_streams(&http, &keys);
    let slow: Vec<Socket> = (0..SLOW).map(|_| http.listen_at(&path)).collect();
    let (mut quick, mut quick_book, mut watch) =
        (http.listen_at(&path), http.listen_at("/binance/ws/spyusd@depth@100ms"), http.listen());
    watch.send(&json!({"op": "subscribe", "id": 1, "channel": "status"}));
    let mut subscribers = || watch.next_of("update", "status")["subscribers"].as_u64().unwrap() as usize;
    wait_until("all of them follow", PATIENCE, || subscribers() == SLOW + 3);
    let before = server.process.rss_kib();

    let (stop, xml) = (AtomicBool::new(false), server.xml);
    let rounds = AtomicUsize::new(0);
    let mut followed = std::thread::scope(|scope| {
        let traders = [1, 2].map(|seed| {
            scope.spawn({
                let stop = &stop;
                move || trade(xml, seed, stop, 10_000)
            })
        });
        let reading = scope.spawn(|| {
            let mut followed = Followed::begin(&http, &mut quick_book);
            while !stop.load(Ordering::Relaxed) {
                followed.follow(&next_depth(&mut quick_book));
            }
            followed
        });
        // Orders are answered, and clients that read are told of them, while other clients do not read.
        let asking = scope.spawn(|| {
            let mut client = connect(xml);
            while !stop.load(Ordering::Relaxed) {
                let reply =
                    client.ask(r#"<transactions id="1"><order sym="SPY" amount="0.125" limit="9.8"/></transactions>"#);
                let id: u64 = reply.split(" id=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
                while quick.next()["i"] != id {}
                client.ask(&format!(r#"<transactions id="1"><cancel id="{id}"/></transactions>"#));
                rounds.fetch_add(1, Ordering::Relaxed);
            }
        });
        let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| {
            wait_until("the slow ones are dropped", 4 * PATIENCE, || subscribers() == 3);
            rounds.load(Ordering::Relaxed)
        }));
        // The trading stops even if a reader failed. One more order follows, in case a follower waits for one.
        stop.store(true, Ordering::Relaxed);
        traders.into_iter().for_each(|trader| trader.join().unwrap());
        server.ask(r#"<transactions id="1"><order sym="SPY" amount="0.125" limit="9.7"/></transactions>"#);
        asking.join().unwrap();
        assert!(dropped.unwrap() > 0, "orders were answered and told while nobody read");
        reading.join().unwrap()
    });
    let grown = server.process.memory_kib("VmHWM") - before;
    println!("{} rounds; memory grew by {} MiB", rounds.load(Ordering::Relaxed), grown / MIB);
    assert!(grown < 128 * MIB, "memory is bounded: {grown} KiB more");
    let present = http.read("/binance/api/v3/depth?symbol=SPYUSD&limit=5000")["lastUpdateId"].as_u64().unwrap();
    assert!(present > 20_000, "so much happened: {present}");
    let wanted = asked(&http);
    while followed.levels != wanted {
        followed.follow(&next_depth(&mut quick_book));
    }

    for socket in slow {
        let (told, _) = socket.read_to_end();
        println!("a slow one was told {} events", told.len());
        check_whole(&told);
        assert!(["trade", "executionReport"].iter().all(|kind| told.iter().any(|event| event["e"] == *kind)));
        let last = told.iter().rfind(|event| event["e"] == "depthUpdate").map(numbers).unwrap();
        assert!(last.1 < present, "it was dropped before the end");
    }
    let mut again = http.listen_at(&path);
    let stop = AtomicBool::new(false);
    let mut followed = std::thread::scope(|scope| {
        let trader = scope.spawn(|| trade(xml, 3, &stop, 500));
        let followed = std::panic::catch_unwind(AssertUnwindSafe(|| Followed::begin(&http, &mut again)));
        stop.store(true, Ordering::Relaxed);
        trader.join().unwrap();
        followed.unwrap()
    });
    let wanted = asked(&http);
    while followed.levels != wanted {
        followed.follow(&next_depth(&mut again));
    }
    server.stop();
}

#[test]
fn whoever_reads_again_at_once_is_told_why_it_was_dropped() {
    let folder = Folder::new("binance-too-slow");
    let (server, http, keys) = start(&folder);
    let path = all_streams(&http, &keys);
    let mut client = server.client();
    let reason = wait_for("the reason", 4 * PATIENCE, || {
        let slow = http.listen_at(&path);
        // Far more than the system and the server buffer for a connection.
        for _ in 0..4 {
            client.ask(&orders(10_000));
        }
        // When another client is told the book, these orders have been told to all clients.
        http.listen().subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
        let (told, reason) = slow.read_to_end();
        println!("{} events, then {reason:?}", told.len());
        assert!(!told.is_empty());
        check_whole(&told);
        // None if this machine took longer than the server waits.
        reason
    });
    assert_eq!(reason, (1013, "too-slow".to_owned()));
    server.stop();
}

/// A request with `count` orders of account 1, each second of which executes with the one before it.
fn orders(count: usize) -> String {
    let two = r#"<order sym="SPY" amount="0.125" limit="9.8"/><order sym="SPY" amount="-0.125" limit="9.8"/>"#;
    format!(r#"<transactions id="1">{}</transactions>"#, two.repeat(count / 2))
}

/// A client was once told more about one large request than its queue could hold, and was dropped although it read.
#[test]
fn whoever_reads_is_told_all_of_a_request_at_once() {
    const ORDERS: usize = 4_000;
    let folder = Folder::new("binance-burst");
    let (server, http, keys) = start(&folder);
    let mut reader = http.listen_at(&all_streams(&http, &keys));
    let mut client = server.client();
    for _ in 0..5 {
        client.ask(&orders(ORDERS));
        // Each order is told as new and as executed, and each second one makes a trade.
        let (mut trades, mut reports) = (0, 0);
        while trades < ORDERS / 2 || reports < 2 * ORDERS {
            let event = reader.next();
            trades += usize::from(event["e"] == "trade");
            reports += usize::from(event["e"] == "executionReport");
        }
        assert_eq!((trades, reports), (ORDERS / 2, 2 * ORDERS));
    }
    server.stop();
}

/// Only balances that changed are told, and none twice.
#[test]
fn a_balance_is_told_when_it_changes() {
    let folder = Folder::new("binance-balances");
    let (server, http, keys) = start(&folder);
    let mut socket = keys.follow(&http);
    let mut told = || loop {
        let event = socket.next();
        if event["e"] == "outboundAccountPosition" {
            return event["B"].as_array().unwrap().clone();
        }
    };
    let assets =
        |told: Vec<Value>| told.iter().map(|one| one["a"].as_str().unwrap().to_owned()).collect::<Vec<String>>();
    let order = |account: u64, amount: &str| {
        let order = format!("<order sym=\"SPY\" amount=\"{amount}\" limit=\"10\"/>");
        let reply = server.ask(&format!("<transactions id=\"{account}\">{order}</transactions>"));
        assert!(reply.contains("<opened"), "{reply}");
    };
    // The balance in dollars is told with every event.
    order(1, "2");
    assert_eq!(assets(told()), ["USD"]);
    order(2, "-2");
    assert_eq!(assets(told()), ["USD", "SPY"]);
    for _ in 0..3 {
        order(1, "1");
        assert_eq!(assets(told()), ["USD"]);
    }
    // Shares that are gone are told once, as none.
    let all = http.read("/api/v1/accounts/1")["positions"][0]["shares"].as_str().unwrap().to_owned();
    let canceled = server.ask("<transactions id=\"1\"><cancel-all/></transactions>");
    assert!(canceled.contains("<canceled"), "{canceled}");
    order(2, &all);
    order(1, &format!("-{all}"));
    order(1, "1.5");
    let is_last = |told: &Vec<Value>| told[0]["l"] == "15.00000000";
    let mut events = Vec::new();
    while !events.last().is_some_and(is_last) {
        events.push(told());
    }
    let shares: Vec<&Value> = events.iter().filter_map(|told| told.get(1)).collect();
    assert_eq!(shares, [&json!({"a": "SPY", "f": "0.00000000", "l": "0.00000000"})]);
    server.stop();
}
