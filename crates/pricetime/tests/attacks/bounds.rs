//! Attacks by growth: a market made as large as allowed and then requested whole, and clients that make it larger
//! without end.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::{KeyFile, now};
use crate::common::members::{AccessFile, Client, hmac_hex, secret};
use crate::common::server::{PATIENCE, Server};
use crate::common::wait::wait_until;
use crate::peers::connect_many;

/// The allowed costs of one long answer for others.
const ONE_ANSWER: Limits = Limits { memory: 100 * MIB, time: Duration::from_secs(300), ..ORDINARY };
/// The number of children in one request.
const AT_ONCE: usize = 5_000;

/// Sends a request and reads its answer to the end, keeping none of it. Returns its length and its last bytes.
fn read_all(http: SocketAddr, path: &str, headers: &str) -> (usize, String) {
    let mut stream = TcpStream::connect(http).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n").unwrap();
    let mut reader = BufReader::new(stream);
    let mut status = String::new();
    reader.read_line(&mut status).unwrap();
    assert!(status.starts_with("HTTP/1.1 200 "), "{path}: {status}");
    let (mut length, mut tail, mut part) = (0, Vec::new(), vec![0; 1 << 16]);
    loop {
        let count = reader.read(&mut part).unwrap_or_else(|error| panic!("{path} after {length} bytes: {error}"));
        if count == 0 {
            break;
        }
        length += count;
        tail.extend_from_slice(&part[..count]);
        tail.drain(..tail.len().saturating_sub(16));
    }
    (length, String::from_utf8_lossy(&tail).into_owned())
}

/// Makes this many symbols, with a share of each for account 1, and as many accounts.
fn fill(server: &Server, symbols: usize) {
    let mut client = server.client();
    client.ask("<create><account id=\"1\" balance=\"1000000\"/></create>");
    let numbers: Vec<usize> = (0..symbols).collect();
    for some in numbers.chunks(AT_ONCE / 4) {
        let children: String = some
            .iter()
            .map(|n| {
                format!(
                    "<account id=\"7{n}\" balance=\"1\"/><symbol sym=\"S{n}\"><account id=\"1\">1</account></symbol>"
                )
            })
            .collect();
        let told = client.ask(&format!("<create>{children}</create>"));
        assert!(!told.contains("<error"), "{told:.500}");
    }
}

/// A regression: one request for a million symbols took 12.9 GB, and nobody was answered for 43 s.
#[test]
fn a_market_that_is_asked_for_whole_is_told_piece_by_piece() {
    let symbols = size(20_000, 1_000_000);
    let folder = Folder::new("attack-keys");
    let keys = KeyFile::new(&folder);
    let scene = Scene::set("lists of all symbols and balances", ONE_ANSWER, |launch| {
        launch.with(&format!("--keys {} --max-symbols 2000000 --max-accounts 2000000", keys.path.display()))
    });
    fill(&scene.server, symbols);
    let mut attack = scene.attack();
    let http = attack.server().http;
    let mut bytes = 0;
    for path in ["exchangeInfo", "ticker/24hr", "ticker/price", "ticker/bookTicker"] {
        let began = Instant::now();
        let (length, tail) = read_all(http, &format!("/binance/api/v3/{path}"), "");
        assert!(length > symbols * 30 && tail.ends_with("0\r\n\r\n"), "{path}: {length} bytes, ending in {tail:?}");
        println!("{path}: {} MiB in {:.1?}", length as u64 / MIB, began.elapsed());
        bytes += length as u64;
    }
    let account = format!("/binance/api/v3/account?{}", keys.sign(""));
    let (length, tail) = read_all(http, &account, &format!("x-mbx-apikey: {}\r\n", keys.key));
    assert!(length > symbols * 30 && tail.ends_with("0\r\n\r\n"), "account: {length} bytes, ending in {tail:?}");
    let native = Http::new(http);
    for (path, list) in [("symbols", "symbols"), ("accounts?limit=1000", "accounts"), ("accounts/1", "positions")] {
        let page = native.read(&format!("/api/v1/{path}"));
        assert_eq!((page[list].as_array().unwrap().len(), page["next"].is_string()), (1000, true), "{path}");
    }
    // These clients follow all symbols, an account with all of them, and a stream whose name is not in capitals.
    let mut socket = native.listen();
    for request in [
        json!({"op": "subscribe", "channel": "symbols"}),
        json!({"op": "subscribe", "channel": "orders", "account": "1"}),
    ] {
        let told = socket.subscribe(request);
        assert!(told.to_string().len() < 1 << 20, "a snapshot of {} bytes", told.to_string().len());
    }
    let (began, rounds) = (Instant::now(), size(20, 100));
    for _ in 0..rounds {
        attack.server().ask("<create><symbol sym=\"S7\"><account id=\"1\">1</account></symbol></create>");
        socket.next_of("update", "orders");
    }
    attack.took("telling an account of its change", began.elapsed() / rounds, Duration::from_millis(100));
    let names: Vec<String> = (0..100).map(|n| format!("none{n}usd@trade")).collect();
    let mut streams = native.listen_at("/binance/ws");
    streams.send(&json!({"method": "SUBSCRIBE", "params": names, "id": 1}));
    assert!(streams.next()["error"].is_object());
    attack.end(&format!("{symbols} symbols, {} MiB told", (bytes + length as u64) / MIB));
}

/// A client that reads none of a long answer keeps no other client from one.
#[test]
fn long_answers_that_nobody_reads_cost_a_piece_each() {
    const SILENT: usize = 300;
    let scene =
        Scene::set("300 long answers that nobody reads", Limits { memory: 150 * MIB, ..ORDINARY }, |launch| launch);
    let symbols = size(5_000, 20_000);
    fill(&scene.server, symbols);
    let attack = scene.attack();
    let http = attack.server().http;
    let mut silent = connect_many(http, SILENT);
    for stream in &mut silent {
        write!(stream, "GET /binance/api/v3/exchangeInfo HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    }
    let (length, _) = read_all(http, "/binance/api/v3/ticker/24hr", "");
    assert!(length > symbols * 300, "{length} bytes");
    attack.end(&format!("another one was told {} MiB", length as u64 / MIB));
}

/// An account's many open orders are listed and canceled.
#[test]
fn an_account_of_many_open_orders_holds_nobody_up() {
    let orders = size(20_000, 300_000);
    let folder = Folder::new("attack-keys");
    let keys = KeyFile::new(&folder);
    let scene = Scene::set("an account of many open orders", ONE_ANSWER, |launch| {
        launch.with(&format!("--keys {}", keys.path.display()))
    });
    let mut client = scene.server.client();
    client.ask("<create><account id=\"1\" balance=\"1000000000\"/><symbol sym=\"S\"/></create>");
    for _ in 0..orders / AT_ONCE {
        client.ask(&format!(
            "<transactions id=\"1\">{}</transactions>",
            "<order sym=\"S\" amount=\"1\" limit=\"1\"/>".repeat(AT_ONCE)
        ));
    }
    let attack = scene.attack();
    let http = attack.server().http;
    let key = format!("x-mbx-apikey: {}\r\n", keys.key);
    let (length, _) = read_all(http, &format!("/binance/api/v3/openOrders?{}", keys.sign("")), &key);
    assert!(length > orders * 300, "{length} bytes");
    let native = Http::new(http);
    // Another symbol has none, however many are looked through.
    native.make("/api/v1/symbols/T/shares", &json!({"account": "1", "shares": "1"}));
    assert_eq!(native.read("/api/v1/accounts/1/orders?symbol=T")["orders"], json!([]));
    let canceled = native.delete("/api/v1/accounts/1/orders").body;
    assert_eq!(canceled["canceled"].as_array().unwrap().len(), orders);
    attack.end(&format!("{orders} listed and canceled"));
}

/// The path of a list of all open orders of a member's account. No two numbers have the same signature.
fn open_orders_of(member: &str, number: usize) -> String {
    let asked = format!("recvWindow={}&timestamp={}", 60_000 - number, now());
    format!("/binance/api/v3/openOrders?{asked}&signature={}", hmac_hex(&secret(member), &asked))
}

/// Reads what comes on all connections and keeps none of it, until it is told to stop or each has ended. Counts the
/// bytes, and the connections on which something came.
fn read_on(mut streams: Vec<TcpStream>, (bytes, begun): (&AtomicUsize, &AtomicUsize), stop: &AtomicBool) {
    streams.iter().for_each(|stream| stream.set_nonblocking(true).unwrap());
    let (mut has_begun, mut part) = (vec![false; streams.len()], vec![0; 1 << 16]);
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for (stream, has_begun) in streams.iter_mut().zip(&mut has_begun) {
            match stream.read(&mut part) {
                Ok(count) => {
                    bytes.fetch_add(count, Ordering::Relaxed);
                    begun.fetch_add(usize::from(count > 0 && !std::mem::replace(has_begun, true)), Ordering::Relaxed);
                    is_idle &= count == 0;
                }
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
        }
        if is_idle {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Pieces of long answers were once made in the order in which connections asked for them. A member waited for a piece
/// of each connection of another one before each of its own, and before each step of a cancel of all orders.
#[test]
fn a_member_with_many_long_answers_delays_others_by_a_few_pieces_at_a_time() {
    const LISTS: usize = 200;
    /// The bytes of others that come beside one byte of a member's list: pieces are told and not timed.
    const OF_OTHERS: usize = 80;
    let orders = size(5_000, 20_000);
    let folder = Folder::new("attack-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let mut olga = server.client();
    olga.ask(&format!("<login key=\"olga-key\" secret=\"{}\"/>", secret("olga")));
    let accounts = ["1", "2"].map(|id| format!("<account id=\"{id}\" balance=\"1000000000\"/>")).concat();
    assert!(!olga.ask(&format!("<create>{accounts}<symbol sym=\"S\"/></create>")).contains("<error"));
    let order = "<order sym=\"S\" amount=\"1\" limit=\"1\"/>".repeat(AT_ONCE);
    for account in (0..orders / AT_ONCE).flat_map(|_| [1, 2]) {
        let told = olga.ask(&format!("<transactions id=\"{account}\">{order}</transactions>"));
        assert_eq!(told.matches("<opened").count(), AT_ONCE, "{told:.300}");
    }
    let mut streams = connect_many(server.http, LISTS);
    for (number, stream) in streams.iter_mut().enumerate() {
        let path = open_orders_of("alice", number);
        let headers = "host: localhost\r\nx-mbx-apikey: alice-key\r\nconnection: close\r\n";
        write!(stream, "GET {path} HTTP/1.1\r\n{headers}\r\n").unwrap();
    }
    let (bytes, begun, stop) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let (length, beside) = std::thread::scope(|scope| {
        scope.spawn(|| read_on(streams, (&bytes, &begun), &stop));
        wait_until("all lists have begun", PATIENCE, || begun.load(Ordering::Relaxed) == LISTS);
        let told = || bytes.load(Ordering::Relaxed);
        let before = told();
        let (length, _) = read_all(server.http, &open_orders_of("bob", LISTS), "x-mbx-apikey: bob-key\r\n");
        let of_list = told() - before;
        let http = Http::new(server.http);
        let canceled = Client { http: &http, member: "bob" }.send("DELETE", "/api/v1/accounts/2/orders", None);
        let of_cancel = told() - before - of_list;
        stop.store(true, Ordering::Relaxed);
        assert_eq!(canceled.body["canceled"].as_array().map(Vec::len), Some(orders), "{:.300}", canceled.text);
        (length, [of_list, of_cancel])
    });
    assert!(length > orders * 300, "{length} bytes");
    println!("{beside:?} bytes of others beside a list of {length}, and beside the cancel of its orders");
    assert!(beside.iter().all(|beside| *beside < OF_OTHERS * length), "{beside:?} beside {length}");
    server.stop();
}

#[test]
fn a_market_does_not_grow_beyond_its_bounds() {
    let limits = Limits { memory: 64 * MIB, ..ORDINARY };
    let scene = Scene::set("accounts, symbols and money without end", limits, |launch| {
        launch.with("--max-accounts 1000 --max-symbols 1000")
    });
    let attack = scene.attack();
    let mut client = attack.server().client();
    let (rounds, mut made) = (size(20, 200), 0);
    for round in 0..rounds {
        let children: String = (0..AT_ONCE / 4)
            .map(|n| {
                format!("<account id=\"7{round}{n:05}\" balance=\"10000000000000000\"/><symbol sym=\"S{round}x{n}\"/>")
            })
            .collect();
        made += client.ask(&format!("<create>{children}</create>")).matches("<created").count();
    }
    assert!(made < 1_000, "{made} accounts");
    // Existing clients go on, and requests without bounds are not refused.
    client.ask("<create><symbol sym=\"BYSTANDER\"><account id=\"990001\">5</account></symbol></create>");
    attack.end(&format!("{made} accounts of {} were made", rounds * AT_ONCE / 4));
}

/// A regression: 16,500 of them a second were kept for a day, 191 bytes each.
#[test]
fn client_order_ids_without_end_are_refused() {
    let limits = Limits { memory: 16 * MIB, ..ORDINARY };
    let scene = Scene::set("client order ids without end", limits, |launch| launch.with("--max-client-orders 500"));
    let attack = scene.attack();
    let http = Http::new(attack.server().http);
    http.make("/api/v1/accounts", &json!({"account": "1", "balance": "1000"}));
    let rounds = size(2_000, 50_000);
    let mut placed = 0;
    for number in 0..rounds {
        let id = format!("id-{number}");
        let order = json!({"account": "1", "symbol": "BYSTANDER", "side": "buy", "limit": "0.5", "shares": "1", "client_order_id": id});
        match http.post("/api/v1/orders", &order).status {
            201 => {
                placed += u32::from(http.delete(&format!("/api/v1/orders/by-client-id/{id}?account=1")).status == 200)
            }
            status => assert_eq!(status, 422),
        }
    }
    assert_eq!(placed, 500);
    attack.end(&format!("{placed} of {rounds} placed and canceled"));
}
