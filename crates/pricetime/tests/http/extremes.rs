//! Pairs of extreme values in the numeric fields of every protocol, here of the WebSocket and FIX. Every request is
//! answered, no code of ours panics, and other clients go on trading.

use std::net::SocketAddr;

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server};
use crate::common::talk::order;
use serde_json::json;

/// Numbers around the bounds of all integer types that a program may use for them.
pub(super) const WHOLE: [&str; 8] = [
    "0",
    "1",
    "4294967295",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "340282366920938463463374607431768211456",
];
/// Amounts around the bounds of prices, shares and money.
pub(super) const DECIMAL: [&str; 8] = [
    "0",
    "0.00000001",
    "-0.00000001",
    "92233720368.54775807",
    "92233720368.54775808",
    "100000000000000000000",
    "100000000000000000000.00000001",
    "340282366920938463463374607431768211456.123456789",
];
const MARKET: &str = r#"<create><account id="1" balance="90000000000000000000"/><account id="9" balance="1000000"/>
    <symbol sym="SPY"><account id="1">10000000000000000</account></symbol><symbol sym="BY"><account id="9">1000000</account></symbol></create>"#;

pub(super) fn launch(folder: &Folder) -> Launch {
    Launch::new(&folder.data())
        .with("--fix 127.0.0.1:0 --max-balance 100000000000000000000 --max-issue 100000000000000000000")
}

pub(super) fn set_up(server: &Server) {
    let told = server.ask(MARKET);
    assert!(!told.contains("<error"), "{told}");
}

/// Checks that another client can trade, the server is well, and no code panicked.
pub(super) fn goes_on(server: &Server, after: &str) {
    let http = Http::new(server.http);
    assert_eq!(http.read("/health")["status"], "ok", "after {after}");
    let trade = format!("{}{}", order("BY", "-1", "5"), order("BY", "1", "5"));
    let told = server.ask(&format!("<transactions id=\"9\">{trade}</transactions>"));
    assert!(!told.contains("<error") && told.matches("<opened").count() == 2, "after {after}: {told}");
    no_panic_was_contained(&String::from_utf8(http.bytes("/metrics", &[]).1).unwrap(), after);
}

/// Checks that no code panicked.
pub(super) fn no_panic_was_contained(metrics: &str, after: &str) {
    let panics = metrics.lines().filter(|line| line.starts_with("pricetime_contained_panics_total{"));
    assert_eq!(
        panics.clone().filter(|line| line.ends_with(" 0")).count(),
        5,
        "after {after}: {:?}",
        panics.collect::<Vec<_>>()
    );
}

/// All pairs of different fields, and each field alone.
pub(super) fn pairs(fields: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..fields).flat_map(move |one| (one..fields).map(move |other| (one, other)))
}

#[test]
fn the_websocket_answers_every_pair_of_extreme_numbers() {
    let folder = Folder::new("extremes-websocket");
    let server = launch(&folder).start();
    set_up(&server);
    let http = Http::new(server.http);
    let whole: Vec<u64> = WHOLE.iter().filter_map(|text| text.parse().ok()).collect();
    let mut socket = http.listen();
    for (one, other) in whole.iter().flat_map(|one| whole.iter().map(move |other| (*one, *other))) {
        for asked in [
            json!({"op": "subscribe", "id": one, "channel": "orders", "account": "1", "from": other}),
            json!({"op": "subscribe", "id": one, "channel": "orders", "account": "1", "reports": true, "from": other}),
            json!({"op": "subscribe", "id": one, "channel": "book", "symbol": "SPY", "depth": other}),
            json!({"op": "subscribe", "id": one, "channel": "drop-copy", "from": other}),
            json!({"op": "unsubscribe", "id": one, "channel": "orders", "account": "1"}),
            json!({"op": "ping", "id": other}),
        ] {
            socket.send(&asked);
        }
        socket.send_text(&format!("{{\"op\":\"ping\",\"id\":{}}}", WHOLE[7]));
    }
    socket.send(&json!({"op": "ping", "id": 77}));
    let answered = (0..100_000).find(|_| {
        let told = socket.next();
        told["type"] == "pong" && told["id"] == 77
    });
    assert!(answered.is_some(), "what was asked last is answered");
    goes_on(&server, "the extremes of the WebSocket");
    server.stop();
}

/// Numeric fields of an order over FIX.
const OF_ORDER: [&str; 7] = ["38", "44", "99", "111", "152", "54", "40"];

fn log_on(address: SocketAddr, name: usize) -> Fix {
    Fix::log_on(address, &format!("X{name}"))
}

#[test]
fn fix_answers_every_pair_of_extreme_numbers() {
    let folder = Folder::new("extremes-fix");
    let server = launch(&folder).start();
    set_up(&server);
    let address = server.fix.unwrap();
    let mut sessions = 0;
    // Numeric fields of the session, where the second message depends on the first one.
    for (one, other) in WHOLE.iter().flat_map(|one| WHOLE.iter().map(move |other| (one, other))) {
        for (kind, fields) in
            [("4", format!("36={one}|")), ("4", format!("123=Y|36={one}|")), ("2", format!("7={one}|16={other}|"))]
        {
            sessions += 1;
            let mut fix = log_on(address, sessions);
            fix.send(kind, &fields);
            let next = other.parse().unwrap_or(u64::MAX);
            for kind in ["1", "0", "4"] {
                // The server may have ended the session by then.
                let sent = fix.made(kind, next, &format!("112=x|{fields}"));
                let _ = std::io::Write::write_all(&mut fix.stream, &sent);
            }
            let _ = fix.stream.shutdown(std::net::Shutdown::Write);
            while let Ok(Some(_)) = fix.try_next() {}
        }
    }
    let mut fix = log_on(address, 0);
    let mut name = 0;
    for (one, other) in pairs(OF_ORDER.len()).filter(|(one, other)| one != other) {
        for (first, second) in DECIMAL.iter().flat_map(|first| DECIMAL.iter().map(move |second| (first, second))) {
            name += 1;
            let given = [(OF_ORDER[one], *first), (OF_ORDER[other], *second)];
            let base = [("54", "2"), ("38", "5"), ("40", "2"), ("44", "7")];
            let rest = base.iter().filter(|(tag, _)| given.iter().all(|(its, _)| its != tag));
            let all: String = given.iter().chain(rest).map(|(tag, value)| format!("{tag}={value}|")).collect();
            fix.send("D", &format!("11=n{name}|1=1|55=SPY|59=1|{all}"));
            let answer = fix.next();
            assert!(answer.contains("|35=8|") || answer.contains("|35=3|"), "{all}: {answer}");
        }
    }
    // Amendments, cancels, queries and times, of an order that rests.
    fix.send("D", "11=rests|1=1|55=SPY|59=1|54=2|38=4294967296|40=2|44=92233720368|");
    let told = fix.next();
    let order = told.split("|37=").nth(1).and_then(|rest| rest.split('|').next()).unwrap_or_else(|| panic!("{told}"));
    let order = order.to_owned();
    for (kind, base, fields) in [
        ("G", "37={order}|1=1|55=SPY|54=2|40=2|38=5|44=92233720368|", &["38", "37", "44"][..]),
        ("H", "37={order}|1=1|55=SPY|54=2|", &["37", "38"]),
        ("AF", "584=all|585=7|1=9|", &["585", "584"]),
        ("q", "530=1|1=1|55=NONE|", &["530", "60"]),
        ("D", "1=1|55=SPY|59=6|54=2|38=5|40=2|44=9|126=20991231-00:00:00|", &["126", "110", "38"]),
        ("D", "1=1|55=SPY|59=1|54=2|38=5|40=2|44=9|", &["110", "126", "432", "111"]),
        ("F", "37={order}|1=1|55=SPY|54=2|38=5|", &["37", "38"]),
    ] {
        for (one, other) in pairs(fields.len()) {
            let values = DECIMAL.iter().chain(&WHOLE);
            for (first, second) in values.clone().flat_map(|first| values.clone().map(move |second| (first, second))) {
                name += 1;
                let both = [(fields[one], *first), (fields[other], *second)];
                let given = if one == other { &both[..1] } else { &both[..] };
                let base = base.replace("{order}", &order);
                let is_given = |field: &&str| given.iter().any(|(tag, _)| field.starts_with(&format!("{tag}=")));
                let rest = base.split('|').filter(|field| !field.is_empty() && !is_given(field));
                let rest: String = rest.map(|field| format!("{field}|")).collect();
                let given: String = given.iter().map(|(tag, value)| format!("{tag}={value}|")).collect();
                fix.send(kind, &format!("11=n{name}|{rest}{given}"));
            }
            fix.send("1", &format!("112=so far {name}|"));
            while !fix.next().contains(&format!("|112=so far {name}|")) {}
        }
    }
    drop(fix);
    // How often a silent client is asked for a sign of life.
    for value in DECIMAL.iter().chain(&WHOLE) {
        let mut fix = Fix::connect(address, "HEART");
        fix.send("A", &format!("98=0|108={value}|141=Y|"));
        let told = fix.try_next().unwrap().unwrap_or_default();
        assert!(["|35=A|", "|35=5|", "|35=3|"].iter().any(|kind| told.contains(kind)), "{value}: {told}");
    }
    goes_on(&server, "the extremes of FIX");
    server.stop();
}
