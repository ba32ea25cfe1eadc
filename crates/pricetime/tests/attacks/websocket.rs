//! Attacks on WebSockets.

use std::io::{ErrorKind, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::http::{Http, Socket};
use crate::common::raw::{self, PING, TEXT};
use crate::common::server::{PATIENCE, Server};
use crate::common::wait::wait_until;
use crate::peers::allow_many_files;

#[test]
fn coming_and_going_without_end_leaves_nothing_behind() {
    let limits = Limits { memory: 32 * MIB, ..ORDINARY };
    let attack = Scene::set("subscribing without end", limits, |launch| launch).attack();
    let mut socket = Http::new(attack.server().http).listen();
    let rounds = size(2_000, 50_000);
    for id in 0..rounds {
        socket.subscribe(json!({"op": "subscribe", "id": id, "channel": "symbols"}));
        socket.send(&json!({"op": "unsubscribe", "id": id, "channel": "symbols"}));
    }
    socket.close();
    attack.end(&format!("{rounds} times answered"));
}

const PATHS: [(&str, &str); 3] = [
    ("/ws/v1", r#"{"op":"ping","id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#),
    ("/binance/ws", r#"{"method":"LIST_SUBSCRIPTIONS","id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#),
    ("/binance/ws-api/v3", r#"{"method":"time","id":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"}"#),
];

/// Sends the same frame over and over and reads nothing, until the server ends the connection or this many bytes are
/// sent.
fn flood(stream: &TcpStream, frame: &[u8], bytes_max: usize) -> usize {
    let many = frame.repeat((64 << 10) / frame.len());
    let (mut sent, mut since) = (0, Instant::now());
    stream.set_nonblocking(true).unwrap();
    while sent < bytes_max && since.elapsed() < PATIENCE {
        match (&*stream).write(&many[sent % many.len()..]) {
            Ok(count) => (sent, since) = (sent + count, Instant::now()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(5)),
            Err(_) => break,
        }
    }
    stream.set_nonblocking(false).unwrap();
    sent
}

/// Sends a frame on each kind of WebSocket over and over and never reads. Panics unless each is disconnected.
fn flood_all(title: &'static str, frame: impl Fn(&str) -> Vec<u8> + Sync) {
    let limits = Limits { memory: 32 * MIB, ..ORDINARY };
    let attack = Scene::set(title, limits, |launch| launch.with("--idle-timeout 5s")).attack();
    let http = attack.server().http;
    let most = size(64 << 20, 1 << 30);
    let sent: usize = std::thread::scope(|scope| {
        let frame = &frame;
        let floods = PATHS.map(|(path, request)| {
            scope.spawn(move || {
                let stream = raw::listen(http, path);
                let sent = flood(&stream, &frame(request), most);
                let ended = || raw::has_ended_unread(&stream);
                wait_until("whoever reads nothing is disconnected", PATIENCE, ended);
                sent
            })
        });
        floods.into_iter().map(|flood| flood.join().unwrap()).sum()
    });
    attack.end(&format!("disconnected, {:.1} MiB were taken", sent as f64 / MIB as f64));
}

/// A regression: the library kept an answer for every ping while it could send none: 150 to 350 MiB a second for one
/// client.
#[test]
fn pings_whose_pongs_are_never_read_cost_no_more_than_other_output() {
    flood_all("pings, pongs never read", |_| raw::frame(PING, &[b'x'; 125]));
}

#[test]
fn requests_whose_answers_are_never_read_cost_no_more_than_other_output() {
    flood_all("requests, answers never read", |request| raw::frame(TEXT, request.as_bytes()));
}

/// An answer over the WebSocket API is one message, which takes all of its memory at once.
#[test]
fn long_answers_that_are_never_read_are_made_one_at_a_time() {
    let clients = size(10, 40);
    let limits = Limits { longest: Duration::from_secs(3), ..ORDINARY };
    let scene = Scene::set("long answers, never read", limits, |launch| launch);
    for thousand in 0..5 {
        let symbols: String = (0..1_000).map(|n| format!(r#"<symbol sym="S{thousand}x{n}"/>"#)).collect();
        assert!(!scene.server.ask(&format!("<create>{symbols}</create>")).contains("<error"));
    }
    let answer = Http::new(scene.server.http).read("/binance/api/v3/exchangeInfo").to_string().len() as u64;
    assert!(answer > 4 * MIB, "an answer of {answer} bytes is not long");
    // This is one answer for each of them, and as much again to make it.
    let attack = scene.within(2 * clients * answer).attack();
    let request = raw::frame(TEXT, br#"{"id":1,"method":"exchangeInfo"}"#).repeat(100);
    let streams: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let mut stream = raw::listen(attack.server().http, "/binance/ws-api/v3");
            stream.write_all(&request).unwrap();
            stream
        })
        .collect();
    for stream in &streams {
        wait_until("whoever reads nothing is disconnected", 10 * PATIENCE, || raw::has_ended_unread(stream));
    }
    attack.end(&format!("{clients} disconnected"));
}

/// A regression: a frame of 16 MiB was read before it was refused for its length.
#[test]
fn a_frame_that_is_too_long_is_not_waited_for() {
    let limits = Limits { memory: 32 * MIB, ..ORDINARY };
    let attack = Scene::set("frames of 16 MiB", limits, |launch| launch).attack();
    let mut streams: Vec<TcpStream> = (0..50).map(|_| raw::listen(attack.server().http, "/ws/v1")).collect();
    for stream in &mut streams {
        let mut head = vec![TEXT, 0x80 | 127];
        head.extend_from_slice(&(16u64 << 20).to_be_bytes());
        head.extend_from_slice(&[0; 4]);
        // The server may have ended it already.
        let _ = stream.write_all(&head).and_then(|()| stream.write_all(&vec![b'x'; 15 << 20]));
    }
    for stream in &streams {
        wait_until("it is ended", PATIENCE, || raw::has_ended(stream));
    }
    attack.end("disconnected");
}

/// Places open orders of account 1, at prices of their own.
fn open_orders(server: &Server, count: usize) {
    const AT_ONCE: usize = 5_000;
    let mut client = server.client();
    client.ask(r#"<create><account id="1" balance="1000000"/><symbol sym="SPY"/></create>"#);
    for from in (0..count).step_by(AT_ONCE) {
        let order = |at| format!(r#"<order sym="SPY" amount="0.00000001" limit="{:.4}"/>"#, 1.0 + at as f64 / 1e4);
        let orders: String = (from..count.min(from + AT_ONCE)).map(order).collect();
        let told = client.ask(&format!(r#"<transactions id="1">{orders}</transactions>"#));
        assert!(!told.contains("<error"), "{told:.300}");
    }
}

/// Clients that ask for a long snapshot of their orders and of the book, and never read it. Between any two of them the
/// bystanders trade, so that each asks in another state of the market.
#[test]
fn snapshots_that_nobody_reads_cost_little_and_end_their_connections() {
    let (orders, clients) = (size(50_000, 300_000), size(20, 110));
    let limits = Limits {
        memory: size(200, 768) * MIB,
        time: Duration::from_secs(600),
        longest: Duration::from_secs(3),
        ..ORDINARY
    };
    let scene = Scene::set("snapshots never read", limits, |launch| launch);
    open_orders(&scene.server, orders);
    let attack = scene.attack();
    let http = attack.server().http;
    let subscribe = [
        raw::frame(TEXT, br#"{"op":"subscribe","channel":"orders","account":"1"}"#),
        raw::frame(TEXT, br#"{"op":"subscribe","channel":"book","symbol":"SPY"}"#),
    ]
    .concat();
    let streams: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let mut stream = raw::listen(http, "/ws/v1");
            stream.write_all(&subscribe).unwrap();
            stream
        })
        .collect();
    for stream in &streams {
        wait_until("whoever reads nothing is disconnected", 10 * PATIENCE, || raw::has_ended_unread(stream));
    }
    // A client that reads gets all of it.
    let mut socket = Http::new(http).listen();
    let told = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    assert_eq!(told["orders"].as_array().unwrap().len(), orders);
    let page = Http::new(http).read("/api/v1/accounts/1/orders?limit=1000");
    assert_eq!(
        told["orders"].as_array().unwrap()[..1000],
        page["orders"].as_array().unwrap()[..],
        "as REST shows them"
    );
    attack.end(&format!("{clients} disconnected"));
}

/// A regression: for each subscription that ended, the hub looked through all: nobody got a message for 49 seconds.
#[test]
fn many_who_leave_at_once_hold_nobody_up() {
    const SYMBOLS: usize = 100;
    let clients = size(300, 900);
    allow_many_files(clients);
    let (p99, longest) = (Duration::from_millis(200), Duration::from_millis(200));
    let limits = Limits { p99, longest, ..ORDINARY };
    let scene = Scene::set("leaving 200 streams each", limits, |launch| launch);
    let names: String = (0..SYMBOLS).map(|at| format!(r#"<symbol sym="S{at}"/>"#)).collect();
    scene.server.ask(&format!("<create>{names}</create>"));
    let streams: Vec<String> =
        (0..SYMBOLS).flat_map(|at| [format!("s{at}usd@trade"), format!("s{at}usd@bookTicker")]).collect();
    let request = json!({"method": "SUBSCRIBE", "params": streams, "id": 1}).to_string();
    let followers: Vec<TcpStream> = (0..clients)
        .map(|_| {
            let mut stream = raw::listen(scene.server.http, "/binance/ws");
            stream.write_all(&raw::frame(TEXT, request.as_bytes())).unwrap();
            stream
        })
        .collect();
    let mut watch = Http::new(scene.server.http).listen();
    watch.send(&json!({"op": "subscribe", "id": 1, "channel": "status"}));
    let are_there = |watch: &mut Socket, count: usize| {
        while watch.next_of("update", "status")["subscribers"] != count {}
    };
    are_there(&mut watch, clients + 1);
    let mut attack = scene.attack();
    let began = Instant::now();
    drop(followers);
    are_there(&mut watch, 1);
    // The status comes once a second.
    attack.took("leaving", began.elapsed(), Duration::from_secs(2));
    attack.end(&format!("{clients} left"));
}

/// A regression: a thousand silent WebSockets kept their places for good.
#[test]
fn a_websocket_that_answers_no_ping_loses_its_place_and_one_that_does_keeps_it() {
    let scene = Scene::set("WebSockets that answer no ping", ORDINARY, |launch| launch.with("--idle-timeout 10s"));
    let attack = scene.attack();
    let http = attack.server().http;
    let count = size(30, 900);
    allow_many_files(count);
    let quiet: Vec<TcpStream> = PATHS.iter().cycle().take(count).map(|(path, _)| raw::listen(http, path)).collect();
    let mut there = Http::new(http).listen();
    there.subscribe(json!({"op": "subscribe", "id": 1, "channel": "symbols"}));
    let told = std::thread::spawn(move || {
        let is_new = |update: &serde_json::Value| {
            let symbols = update["symbols"].as_array().unwrap();
            symbols.iter().any(|symbol| symbol["symbol"] == "NEW")
        };
        while !is_new(&there.next_of("update", "symbols")) {}
    });
    for stream in &quiet {
        wait_until("whoever answers no ping is disconnected", PATIENCE, || raw::has_ended(stream));
    }
    attack.server().ask(r#"<create><symbol sym="NEW"/></create>"#);
    told.join().expect("it is told still");
    attack.end("disconnected");
}
