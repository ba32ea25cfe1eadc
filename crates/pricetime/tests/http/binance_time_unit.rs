//! The address of a WebSocket says in which unit times are told: in streams, in account events, and in answers to
//! calls.

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::keys::KeyFile;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

/// The next event of this kind, without its envelope.
fn next(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let mut event = socket.next();
        for within in ["data", "event"] {
            if event[within].is_object() {
                event = event[within].take();
            }
        }
        if event["e"] == kind {
            return event;
        }
    }
}

/// Converts a time in microseconds to the milliseconds that another socket tells.
fn thousandth(event: &Value, field: &str) -> Value {
    json!(event[field].as_u64().unwrap_or_else(|| panic!("{field} of {event}")) / 1000)
}

fn listen_key(http: &Http, keys: &KeyFile) -> String {
    let made = http.send("POST", "/binance/api/v3/userDataStream", None, &[("x-mbx-apikey", &keys.key)]);
    made.body["listenKey"].as_str().unwrap().to_owned()
}

#[test]
fn times_of_events_are_told_in_the_unit_of_the_address() {
    let folder = Folder::new("binance-time-unit");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let streams = "spyusd@trade/spyusd@kline_1m/spyusd@aggTrade/spyusd@depth@100ms/!miniTicker@arr";
    let mut fine = http.listen_at(&format!("/binance/ws/{streams}?timeUnit=MICROSECOND"));
    let mut coarse = http.listen_at(&format!("/binance/stream?streams={streams}&timeUnit=millisecond"));
    let key = listen_key(&http, &keys);
    let paths = [
        format!("/binance/ws/{key}?timeUnit=microsecond"),
        format!("/binance/stream?streams={key}&timeUnit=MICROSECOND"),
        format!("/binance/ws/{key}"),
    ];
    let mut accounts = paths.map(|path| http.listen_at(&path));
    let order = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=3&price=10";
    let stop = "symbol=SPYUSD&side=SELL&type=STOP_LOSS&quantity=1&stopPrice=5";
    let placed = keys.send(&http, "POST", "order", order).body;
    keys.send(&http, "POST", "order", stop);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-2" limit="10"/></transactions>"#);
    let [one, other] = [next(&mut fine, "trade"), next(&mut coarse, "trade")];
    assert_eq!((thousandth(&one, "T"), &one["t"]), (other["T"].clone(), &other["t"]), "{one} {other}");
    assert!(one["E"].as_u64().unwrap() / 1000 >= other["T"].as_u64().unwrap(), "{one}");
    let [one, other] = [next(&mut fine, "aggTrade"), next(&mut coarse, "aggTrade")];
    assert_eq!(thousandth(&one, "T"), other["T"]);
    let server_now = http.read("/binance/api/v3/time")["serverTime"].as_u64().unwrap();
    let depth = next(&mut fine, "depthUpdate");
    assert!((depth["E"].as_u64().unwrap() / 1000).abs_diff(server_now) < 60_000, "{depth}");
    let [one, other] = [&mut fine, &mut coarse].map(|socket| {
        // The stream begins with what the order before did.
        keys.send(&http, "POST", "order", order);
        server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="10"/></transactions>"#);
        next(socket, "kline")["k"].take()
    });
    assert_eq!(thousandth(&one, "t"), other["t"]);
    assert_eq!(one["T"].as_u64().unwrap() + 1 - one["t"].as_u64().unwrap(), 60_000_000, "{one}");
    // Three events of the account: a new order, one that waits, and an execution.
    let told = accounts.each_mut().map(|socket| {
        let reports = [(); 3].map(|()| next(socket, "executionReport"));
        (reports, next(socket, "outboundAccountPosition"))
    });
    let (coarse, _) = &told[2];
    assert_eq!(coarse[0]["O"], placed["transactTime"]);
    for (fine, position) in &told[..2] {
        for (one, other) in fine.iter().zip(coarse) {
            assert_eq!([thousandth(one, "T"), thousandth(one, "O")], [other["T"].clone(), other["O"].clone()]);
            let working = if one["W"] == -1 { json!(-1) } else { thousandth(one, "W") };
            assert_eq!(working, other["W"], "{one}");
            assert_eq!([&one["i"], &one["t"], &one["x"]], [&other["i"], &other["t"], &other["x"]]);
        }
        assert!(
            position["u"].as_u64().unwrap() / 1000 <= server_now + 60_000
                && position["u"].as_u64() > Some(10u64.pow(15))
        );
    }
    assert!(told.iter().any(|(reports, _)| reports.iter().any(|report| report["W"] == -1)), "one waits: {told:?}");
    server.stop();
}

#[test]
fn calls_are_answered_in_the_unit_of_the_address() {
    let folder = Folder::new("binance-time-unit-calls");
    let (server, http, _) = KeyFile::serve(&folder, MARKET);
    for (path, least, most) in [
        ("/binance/ws-api/v3?timeUnit=MICROSECOND", 10u64.pow(15), u64::MAX),
        ("/binance/ws-api/v3?timeUnit=MILLISECOND", 0, 10u64.pow(14)),
        ("/binance/ws-api/v3", 0, 10u64.pow(14)),
    ] {
        let mut socket = http.listen_at(path);
        socket.send(&json!({"id": 1, "method": "time"}));
        let time = socket.next()["result"]["serverTime"].as_u64().unwrap();
        assert!((least..most).contains(&time), "{path}: {time}");
        socket.send(&json!({"id": 2, "method": "session.status"}));
        let status = socket.next()["result"].clone();
        for field in ["serverTime", "connectedSince"] {
            assert!((least..most).contains(&status[field].as_u64().unwrap()), "{path}: {status}");
        }
    }
    server.stop();
}
