//! Permissions over the compatible interface: every route, asked without a key, by members about the orders of others,
//! and by roles that do not trade.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::now;
use crate::common::members::{AccessFile, Client, hmac_hex, market, secret};
use crate::common::server::PATIENCE;
use crate::common::wait::wait_until;

/// The source of the table of routes, so that a new route is asked here, too.
const POLICY: &str = include_str!("../../../gateways/binance/src/route_needs.rs");

/// Method, path and need of each route.
fn routes() -> Vec<(&'static str, &'static str, &'static str)> {
    let (_, table) = POLICY.split_once("const ROUTES").unwrap();
    let (table, _) = table.split_once("];").unwrap();
    let routes: Vec<_> = table
        .lines()
        .filter_map(|line| {
            let (method, rest) = line.trim().strip_prefix("(\"")?.split_once("\", \"")?;
            let (path, need) = rest.split_once("\", Need::")?;
            Some((method, path, need.trim_end_matches("),")))
        })
        .collect();
    assert!(routes.len() >= 67, "{routes:?}");
    routes
}

/// The parameters of a signed request about an order and a list of orders. Panics for a route that is not written here.
fn parameters(method: &str, path: &str, order: u64, list: u64) -> String {
    const PLACED: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=9";
    let of_order = format!("symbol=SPYUSD&orderId={order}");
    match (method, path.trim_start_matches("/api/v3/").trim_start_matches("/sapi/v1/")) {
        ("POST", "order" | "order/test") => PLACED.to_owned(),
        ("POST", "order/cancelReplace") => format!("{PLACED}&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId={order}"),
        ("PUT", "order/amend/keepPriority") => format!("{of_order}&newQty=0.5"),
        ("GET" | "DELETE", "order") | ("GET", "order/amendments" | "myTrades" | "myPreventedMatches") => of_order,
        ("POST", "order/oco") => {
            "symbol=SPYUSD&side=SELL&quantity=1&price=20&stopPrice=5&stopLimitPrice=5&stopLimitTimeInForce=GTC".to_owned()
        }
        ("POST", "orderList/oco") => {
            "symbol=SPYUSD&side=SELL&quantity=1&aboveType=LIMIT_MAKER&abovePrice=20&belowType=STOP_LOSS&belowStopPrice=5"
                .to_owned()
        }
        ("POST", "orderList/oto") => "symbol=SPYUSD&workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingPrice=9&\
             workingQuantity=1&pendingType=LIMIT&pendingSide=SELL&pendingTimeInForce=GTC&pendingPrice=20&pendingQuantity=1"
            .to_owned(),
        ("POST", "orderList/otoco") => "symbol=SPYUSD&workingType=LIMIT&workingSide=BUY&workingTimeInForce=GTC&workingPrice=9&\
             workingQuantity=1&pendingSide=SELL&pendingQuantity=1&pendingAboveType=LIMIT_MAKER&pendingAbovePrice=20&\
             pendingBelowType=STOP_LOSS&pendingBelowStopPrice=5"
            .to_owned(),
        ("GET", "orderList") => format!("orderListId={list}"),
        ("DELETE", "orderList") => format!("symbol=SPYUSD&orderListId={list}"),
        ("GET" | "DELETE", "openOrders")
        | ("GET", "allOrders" | "account/commission" | "myAllocations" | "asset/tradeFee") => "symbol=SPYUSD".to_owned(),
        ("GET", "account") => "omitZeroBalances=true".to_owned(),
        ("GET", "rateLimit/order" | "openOrderList" | "allOrderList" | "system/status") => String::new(),
        ("GET", "asset/assetDetail" | "capital/config/getall" | "spot/delist-schedule") => String::new(),
        ("GET", "margin/allPairs" | "margin/isolated/allPairs") => String::new(),
        _ => panic!("what does {method} {path} take? A new route needs its place here"),
    }
}

/// Sends a request that is signed with the member's key. The method is not signed, so a read and a change with equal
/// parameters in the same millisecond would be the same request: each gets a `recvWindow` of its own.
fn signed(http: &Http, member: &str, (method, path): (&str, &str), text: &str) -> Answer {
    static SENT: AtomicU64 = AtomicU64::new(0);
    let window = 60_000 - SENT.fetch_add(1, Ordering::Relaxed) % 50_000;
    let timed = format!("{text}{}recvWindow={window}&timestamp={}", if text.is_empty() { "" } else { "&" }, now());
    let path = format!("/binance{path}?{timed}&signature={}", hmac_hex(&secret(member), &timed));
    http.send(method, &path, None, &[("x-mbx-apikey", &format!("{member}-key"))])
}

/// Whether the route is about listen keys, which needs no signature.
fn is_listen_key(path: &str) -> bool {
    path.ends_with("/userDataStream")
}

fn signed_routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let signed = routes().into_iter().filter(|(.., need)| *need == "Signature");
    signed.map(|(method, path, _)| (method, path)).filter(|(_, path)| !is_listen_key(path))
}

fn sequence(http: &Http) -> Value {
    Client { http, member: "olga" }.get("/api/v1/status").body["sequence"].clone()
}

#[test]
fn whoever_has_no_key_gets_nothing_of_the_compatible_interface() {
    let folder = Folder::new("access-binance-nobody");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let [order, _] = market(&http);
    let before = sequence(&http);
    for (method, path, need) in routes() {
        let asked = match path.split_once("/{*") {
            Some((path, _)) => format!("/binance{path}/spyusd@trade"),
            None if need == "Nothing" => format!("/binance{path}"),
            None => format!("/binance{path}?symbol=SPYUSD"),
        };
        let answer = http.send(method, &asked, None, &[]);
        match need {
            "Nothing" => assert_eq!(answer.status, 200, "{method} {path}: {}", answer.text),
            // The request does not open a WebSocket; what members are told on one is tested in `access_topics`.
            "Topics" => assert!([400, 401].contains(&answer.status), "{method} {path}: {}", answer.text),
            _ => assert!(
                [400, 401].contains(&answer.status) && answer.body.get("code").is_some(),
                "{method} {path}: {}",
                answer.text
            ),
        }
    }
    // The requests are complete but for a right signature. Each further wrong signature would have to wait.
    for (key, method, path) in [("alice-key", "POST", "/api/v3/order"), ("nobodys-key", "DELETE", "/api/v3/openOrders")]
    {
        let text = format!("{}&timestamp={}", parameters(method, path, order, 1), now());
        let asked = format!("/binance{path}?{text}&signature={}", "0".repeat(64));
        let answer = http.send(method, &asked, None, &[("x-mbx-apikey", key)]);
        assert_eq!(answer.body["code"], json!(-1022), "{}", answer.text);
    }
    assert_eq!(sequence(&http), before);
    server.stop();
}

#[test]
fn orders_of_others_are_as_orders_that_are_not_there() {
    let folder = Folder::new("access-binance-others");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let [order, _] = market(&http);
    let oco = parameters("POST", "/api/v3/orderList/oco", 0, 0);
    let placed = signed(&http, "alice", ("POST", "/api/v3/orderList/oco"), &oco);
    let list = placed.body["orderListId"].as_u64().unwrap_or_else(|| panic!("{}", placed.text));
    let alices = || Client { http: &http, member: "alice" }.get("/api/v1/accounts/1/orders?status=all").text;
    let before = alices();
    let mut compared = 0;
    for (method, path) in signed_routes() {
        let [others, nobodys] = [(order, list), (999_999, 999_999)].map(|(order, list)| {
            let text = parameters(method, path, order, list);
            (signed(&http, "bob", (method, path), &text), text)
        });
        if others.1 != nobodys.1 {
            assert_eq!((others.0.status, &others.0.text), (nobodys.0.status, &nobodys.0.text), "{method} {path}");
            compared += 1;
        }
        assert!(![401, 403].contains(&others.0.status), "{method} {path}: {}", others.0.text);
        let told = others.0.text.replace(' ', "");
        for secret in [format!("\"orderId\":{order},"), format!("\"orderListId\":{list},"), "\"uid\":1,".to_owned()] {
            assert!(!told.contains(&secret), "{method} {path}: {told}");
        }
    }
    assert!(compared >= 8, "{compared}");
    assert_eq!(alices(), before, "nothing happened to what is hers");
    server.stop();
}

#[test]
fn who_only_looks_changes_nothing_over_the_compatible_interface() {
    let folder = Folder::new("access-binance-roles");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let [_, own] = market(&http);
    let before = sequence(&http);
    for (method, path) in signed_routes() {
        let text = parameters(method, path, own, 1);
        let answer = signed(&http, "vera", (method, path), &text);
        let is_read = method == "GET";
        // There is no order list to look at, prevented matches are not kept, and a test order is not placed.
        let is_other = ["/orderList", "/myPreventedMatches", "/order/test"].iter().any(|end| path.ends_with(end));
        if !is_other {
            assert_eq!(answer.status < 400, is_read, "{method} {path}: {}", answer.text);
        }
        // Lists that are always empty are told to any client that names a key, and belong to nobody.
        if ["/delist-schedule", "/allPairs"].iter().any(|end| path.ends_with(end)) {
            continue;
        }
        for member in ["otto", "igor", "olga"] {
            let answer = signed(&http, member, (method, path), &text);
            assert_eq!(answer.body["code"], json!(-2015), "{member} {method} {path}: {}", answer.text);
        }
    }
    assert_eq!(sequence(&http), before);
    server.stop();
}

/// A long answer once went on for as long as its reader liked, with what the orders were by then, also when the account
/// had been taken from its member.
#[test]
fn a_list_breaks_off_when_its_account_is_taken_from_the_member() {
    const ORDERS: usize = 9_000;
    const REQUESTS: usize = 3;
    let folder = Folder::new("access-long-list");
    let file = AccessFile::new(&folder);
    let server = file.launch(&folder).start();
    let http = Http::new(server.http);
    market(&http);
    let mut olga = server.client();
    olga.ask(&format!("<login key=\"olga-key\" secret=\"{}\"/>", secret("olga")));
    let orders = "<order sym=\"SPY\" amount=\"1\" limit=\"0.01\"/>".repeat(ORDERS);
    for _ in 0..REQUESTS {
        let told = olga.ask(&format!("<transactions id=\"1\">{orders}</transactions>"));
        assert_eq!(told.matches("<opened").count(), ORDERS, "{told:.300}");
    }
    let asked = format!("timestamp={}", now());
    let path = format!("/binance/api/v3/openOrders?{asked}&signature={}", hmac_hex(&secret("alice"), &asked));
    let mut slow = TcpStream::connect(server.http).unwrap();
    slow.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(slow, "GET {path} HTTP/1.1\r\nhost: localhost\r\nx-mbx-apikey: alice-key\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut told = vec![0; 1 << 10];
    slow.read_exact(&mut told).unwrap();
    assert!(told.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&told));
    file.write(&AccessFile::text(&[]).replace("accounts = [\"1\"]", "accounts = [\"7\"]"));
    let may_look = || Client { http: &http, member: "alice" }.get("/api/v1/accounts/1").status == 200;
    wait_until("the file to be followed", PATIENCE, || !may_look());
    // The server may break the connection before the rest is read.
    let _ = slow.read_to_end(&mut told);
    let orders = String::from_utf8_lossy(&told).matches("\"orderId\":").count();
    assert!(orders < ORDERS * REQUESTS, "{orders} orders are told");
    assert!(!told.ends_with(b"0\r\n\r\n"), "the answer is whole");
    server.stop();
}
