//! The past market over REST, compared with what was shown when it was the present.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::members::{AccessFile, Client, market};
use crate::common::server::Launch;
use crate::common::wait::{wait_for, wait_until};

const PATIENCE: Duration = Duration::from_secs(60);

/// Two accounts, and shares of two symbols.
const MARKET: &str = r#"<create><account id="1" balance="100000000"/><account id="2" balance="100000000"/>
    <symbol sym="SPY"><account id="1">1000000</account><account id="2">1000000</account></symbol>
    <symbol sym="ACME"><account id="1">1000000</account><account id="2">1000000</account></symbol></create>"#;

/// Pseudorandom numbers, the same in each run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Places an order of some kind, or cancels one.
fn trade(http: &Http, drawn: &mut Drawn, placed: &mut Vec<(u64, u64)>) {
    if !placed.is_empty() && drawn.below(4) == 0 {
        let at = drawn.below(placed.len() as u64);
        let (order, account) = placed.swap_remove(at as usize);
        http.delete(&format!("/api/v1/orders/{order}?account={account}"));
        return;
    }
    let account = 1 + drawn.below(2);
    let side = ["buy", "sell"][drawn.below(2) as usize];
    let limit = 95 + drawn.below(11);
    let (account_id, limit_text) = (account.to_string(), limit.to_string());
    let symbol = ["SPY", "SPY", "SPY", "ACME"][drawn.below(4) as usize];
    let shares = (1 + drawn.below(50)).to_string();
    let mut order =
        json!({"account": account_id, "symbol": symbol, "side": side, "shares": shares, "limit": limit_text});
    match drawn.below(8) {
        0 => order["kind"] = json!("immediate_or_cancel"),
        1 => (order["shares"], order["display"]) = (json!("60"), json!("7")),
        2 => order["stop"] = json!(if side == "buy" { "104" } else { "96" }),
        _ => {}
    }
    let answer = http.post("/api/v1/orders", &order);
    if let Some(id) = answer.body["order_id"].as_u64() {
        placed.push((id, account));
    }
}

/// An answer about the past. The question is repeated while the server still works it out.
fn patiently(http: &Http, path: &str) -> Answer {
    wait_for(path, PATIENCE, || Some(http.get(path)).filter(|answer| !is_busy(answer)))
}

fn is_busy(answer: &Answer) -> bool {
    answer.status == 503 && answer.body["code"] == "replay-busy"
}

fn read(http: &Http, path: &str) -> Value {
    let answer = patiently(http, path);
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.body
}

fn past_book(http: &Http, query: &str) -> Value {
    read(http, &format!("/api/v1/symbols/SPY/past/book?depth=1000&{query}"))
}

/// The fields that a past book and its events have in common with the live ones.
fn essence(book: &Value) -> Value {
    json!({"sequence": book["sequence"], "time": book["time"], "bids": book["bids"], "asks": book["asks"], "checksum": book["checksum"]})
}

/// All events from the beginning to the end, page by page.
fn all_events(http: &Http, limit: u64, account: &str) -> Vec<Value> {
    let (mut events, mut from) = (Vec::new(), 0);
    loop {
        let page = read(http, &format!("/api/v1/symbols/SPY/past/events?from={from}&limit={limit}&account={account}"));
        assert_eq!(page["from"], from);
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        let through = page["through"].as_u64().unwrap();
        if through == page["newest"].as_u64().unwrap() {
            return events;
        }
        assert!(through > from, "a page goes on: {page}");
        from = through;
    }
}

/// A simple follower: levels by side and limit.
#[derive(Default)]
struct Naive([BTreeMap<String, Value>; 2]);

impl Naive {
    fn take(&mut self, event: &Value) {
        for (side, levels) in ["bids", "asks"].into_iter().zip(&mut self.0) {
            for level in event[side].as_array().unwrap() {
                let limit = level[0].as_str().unwrap().to_owned();
                match level[2] == 0 {
                    true => levels.remove(&limit),
                    false => levels.insert(limit, level.clone()),
                };
            }
        }
    }

    fn assert_is(&self, book: &Value) {
        for (side, levels) in ["bids", "asks"].into_iter().zip(&self.0) {
            let there: BTreeMap<String, Value> = book[side]
                .as_array()
                .unwrap()
                .iter()
                .map(|level| (level[0].as_str().unwrap().to_owned(), level.clone()))
                .collect();
            assert_eq!(*levels, there, "{side} of {}", book["sequence"]);
        }
    }
}

#[test]
fn the_past_is_what_was_shown_when_it_was_the_present() {
    let folder = Folder::new("past-market");
    // Files are small and snapshots frequent, so that some moments are before all snapshots and others after one.
    let settings = "--keep-journal --segment-size 64KiB --snapshot-every 700 --max-connections-per-address 0";
    let server = Launch::new(&folder.data()).with(settings).start();
    let http = Http::new(server.http);
    server.ask(MARKET);
    let (mut drawn, mut placed, mut shown) = (Drawn(7), Vec::new(), Vec::new());
    // One order waits for another one all the time.
    let waits = json!({"kind": "oto", "orders": [
        {"account": "1", "symbol": "SPY", "side": "buy", "shares": "1", "limit": "1"},
        {"account": "1", "symbol": "SPY", "side": "sell", "shares": "1", "limit": "200"},
    ]});
    http.make("/api/v1/order-lists", &waits);
    for round in 0..2_400 {
        trade(&http, &mut drawn, &mut placed);
        if round % 40 == 0 {
            shown.push(http.read("/api/v1/symbols/SPY/book?depth=1000"));
        }
    }
    let snapshots = || {
        std::fs::read_dir(folder.data())
            .unwrap()
            .flatten()
            .any(|file| file.file_name().to_string_lossy().starts_with("snapshot-"))
    };
    wait_until("a snapshot", PATIENCE, snapshots);
    shown.push(http.read("/api/v1/symbols/SPY/book?depth=1000"));
    // The moments are asked for in an order that goes back and forth.
    for at in (0..shown.len()).map(|at| at * 23 % shown.len()) {
        let book = &shown[at];
        let sequence = &book["sequence"];
        assert_eq!(essence(&past_book(&http, &format!("at={sequence}"))), essence(book));
    }
    // The questions are by time, and never for the next moment after the last one, so that the server must work out
    // each answer.
    for at in (0..shown.len()).map(|at| at * 29 % shown.len()) {
        let (book, time) = (&shown[at], shown[at]["time"].as_u64().unwrap());
        assert_eq!(essence(&past_book(&http, &format!("time={time}"))), essence(book), "by its time");
        let before = past_book(&http, &format!("time={}", time - 1));
        assert!(before["sequence"].as_u64() < book["sequence"].as_u64() && before["time"].as_u64() < Some(time));
    }
    assert_eq!(past_book(&http, "")["sequence"], shown.last().unwrap()["sequence"], "without a moment it is now");

    let events = all_events(&http, 97, "1");
    let (mut naive, mut next) = (Naive::default(), 0);
    for event in &events {
        while next < shown.len() && shown[next]["sequence"].as_u64() < event["sequence"].as_u64() {
            naive.assert_is(&shown[next]);
            next += 1;
        }
        naive.take(event);
        if next < shown.len() && shown[next]["sequence"] == event["sequence"] {
            assert_eq!(shown[next]["checksum"], event["checksum"]);
        }
    }
    naive.assert_is(shown.last().unwrap());
    assert!(next > shown.len() / 2, "{next} of {}", shown.len());
    trades_and_fills_are_those_of_the_history(&http, &events, &shown);
    orders_are_those_of_the_book(&http, &events);
    server.stop();
}

fn trades_and_fills_are_those_of_the_history(http: &Http, events: &[Value], shown: &[Value]) {
    let told: Vec<Value> = events.iter().flat_map(|event| event["trades"].as_array().unwrap().clone()).collect();
    let mut kept = Vec::new();
    let mut before = String::new();
    loop {
        let page = http.read(&format!("/api/v1/symbols/SPY/trades?limit=1000{before}"));
        kept.extend(page["trades"].as_array().unwrap().iter().cloned());
        match page["next"].as_u64() {
            Some(next) => before = format!("&before={next}"),
            None => break,
        }
    }
    kept.reverse();
    assert!(kept.len() > 100, "{}", kept.len());
    let names = ["trade_id", "price", "shares", "time", "aggressor", "buy_order", "sell_order"];
    let facts = |trade: &Value| names.map(|name| trade[name].clone());
    assert_eq!(told.iter().map(facts).collect::<Vec<_>>(), kept.iter().map(facts).collect::<Vec<_>>());

    let executions = http.read("/api/v1/accounts/1/executions?limit=1000");
    let mut own: Vec<Value> = executions["executions"].as_array().unwrap().clone();
    own.retain(|execution| execution["symbol"] == "SPY");
    own.reverse();
    let newest = own.iter().map(|one| json!([one["trade_id"], one["side"], one["order_id"], one["role"]]));
    let newest: std::collections::BTreeSet<String> = newest.map(|one| one.to_string()).collect();
    let fills = told.iter().flat_map(|trade| {
        let fills = trade["fills"].as_array().cloned().unwrap_or_default();
        fills
            .into_iter()
            .map(|fill| json!([trade["trade_id"], fill["side"], fill["order_id"], fill["role"]]).to_string())
    });
    let fills: std::collections::BTreeSet<String> = fills.collect();
    assert!(newest.len() > 50 && newest.is_subset(&fills), "{} and {}", newest.len(), fills.len());

    // A book is shown with the trades before it.
    let book = past_book(http, &format!("at={}", shown[shown.len() / 2]["sequence"]));
    let then = book["time"].as_u64().unwrap();
    let mut until: Vec<_> = kept.iter().filter(|trade| trade["time"].as_u64().unwrap() <= then).map(facts).collect();
    until.reverse();
    until.truncate(100);
    assert_eq!(book["trades"].as_array().unwrap().iter().map(facts).collect::<Vec<_>>(), until);
}

/// Orders that are followed from the beginning end as the orders that the account has at the end.
fn orders_are_those_of_the_book(http: &Http, events: &[Value]) {
    let mut open = BTreeMap::new();
    for order in events.iter().flat_map(|event| event["orders"].as_array().cloned().unwrap_or_default()) {
        let id = order["order_id"].as_u64().unwrap();
        let is_gone = order["open"] == "0";
        if is_gone {
            open.remove(&id)
        } else {
            open.insert(id, order)
        };
    }
    let book = past_book(http, "account=1");
    let there =
        book["orders"].as_array().unwrap().iter().map(|order| (order["order_id"].as_u64().unwrap(), order.clone()));
    let there: BTreeMap<u64, Value> = there.collect();
    assert!(there.len() > 10);
    assert_eq!(open, there);
    // Orders that wait for a price, or for another order, are in no book, neither now nor then.
    let all = http.read("/api/v1/accounts/1/orders?limit=1000");
    let all = all["orders"].as_array().unwrap().iter().filter(|order| order["symbol"] == "SPY");
    let (waiting, standing): (Vec<&Value>, Vec<&Value>) =
        all.partition(|order| order["waits"] == true || !order["pends_on"].is_null());
    assert!(waiting.iter().any(|order| order["waits"] == true) && waiting.len() > 1, "{waiting:?}");
    let ids = |orders: Vec<&Value>| -> BTreeSet<u64> {
        orders.into_iter().map(|order| order["order_id"].as_u64().unwrap()).collect()
    };
    assert_eq!(there.into_keys().collect::<BTreeSet<u64>>(), ids(standing));
    let live = http.read("/api/v1/symbols/SPY/book/orders?depth=1000");
    let past = http.read("/api/v1/symbols/SPY/past/book/orders?depth=1000");
    for side in ["bids", "asks"] {
        let without_times = |orders: &Value| -> Vec<Value> {
            let orders = orders[side].as_array().unwrap().iter();
            orders.map(|one| json!([one["order_id"], one["account"], one["limit"], one["open"]])).collect()
        };
        assert_eq!(without_times(&live), without_times(&past));
    }
}

#[test]
fn the_past_has_a_beginning_and_an_end() {
    let folder = Folder::new("past-bounds");
    let settings = "--segment-size 64KiB --snapshot-every 300";
    let launch = Launch::new(&folder.data()).with(settings);
    let server = launch.start();
    let http = Http::new(server.http);
    server.ask(MARKET);
    let early = http.read("/api/v1/symbols/SPY/past/book?at=0");
    assert_eq!((&early["bids"], &early["sequence"], &early["trades"]), (&json!([]), &json!(0), &json!([])));
    let book = |query: &str| patiently(&http, &format!("/api/v1/symbols/SPY/past/book?{query}"));
    for (query, field) in [("at=999999", "at"), ("at=1&time=1", "time"), ("depth=0", "depth")] {
        let answer = book(query);
        assert_eq!((answer.code(), &answer.body["field"]), ((400, "malformed"), &json!(field)), "{}", answer.text);
    }
    assert_eq!(book("at=18446744073709551616").status, 400);
    assert_eq!(book("at=1&account=99").code(), (404, "unknown-account"));
    assert_eq!(http.get("/api/v1/symbols/NONE/past/book").code(), (404, "unknown-symbol"));
    let events = |query: &str| patiently(&http, &format!("/api/v1/symbols/SPY/past/events?{query}"));
    assert_eq!(events("from=999999").body["field"], "from");
    assert_eq!(events("from=0&limit=1001").body["field"], "limit");
    assert_eq!(events("").body["events"], json!([]), "nothing has followed the last command");
    let far = book(&format!("time={}", i64::MAX));
    assert_eq!((far.status, &far.body["sequence"]), (200, &far.body["newest"]), "the future has not happened yet");

    // Journal files are removed after the second snapshot. The past begins with the oldest one that is kept, and the
    // answer says so.
    let (mut drawn, mut placed) = (Drawn(3), Vec::new());
    let retired = wait_for("the journal's beginning to go", PATIENCE, || {
        (0..50).for_each(|_| trade(&http, &mut drawn, &mut placed));
        Some(book("at=1")).filter(|answer| answer.status != 200)
    });
    assert_eq!(retired.code(), (410, "no-longer-kept"));
    let first: u64 = retired.body["detail"].as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(first > 1, "{}", retired.text);
    assert_eq!(events("from=1").code(), (410, "no-longer-kept"));
    assert_eq!(book("time=1").code(), (410, "no-longer-kept"));
    // The beginning may move while the server works, so an idle server is asked for it.
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    let book = |query: &str| patiently(&http, &format!("/api/v1/symbols/SPY/past/book?{query}"));
    let told = book("at=1");
    let first: u64 = told.body["detail"].as_str().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert_eq!(book(&format!("at={}", first - 1)).code(), (410, "no-longer-kept"));
    assert_eq!(book(&format!("at={first}")).body["sequence"], first);
    server.stop();
}

#[test]
fn what_the_past_may_cost_is_bounded() {
    let folder = Folder::new("past-costs");
    let launch = || Launch::new(&folder.data());
    let server = launch().start();
    let http = Http::new(server.http);
    server.ask(MARKET);
    let (mut drawn, mut placed) = (Drawn(5), Vec::new());
    (0..600).for_each(|_| trade(&http, &mut drawn, &mut placed));
    // A fourth question while three are worked out is told to come again, and is answered then.
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let ask = |at: usize| http.get(&format!("/api/v1/symbols/SPY/past/book?at={}", 600 - at % 100));
        let all: Vec<_> = (0..48).map(|at| scope.spawn(move || (0..8).map(|_| ask(at)).collect::<Vec<_>>())).collect();
        all.into_iter().flat_map(|asking| asking.join().unwrap()).collect()
    });
    let busy = answers.iter().filter(|answer| is_busy(answer)).count();
    let shown = answers.iter().filter(|answer| answer.status == 200).count();
    assert!(busy > 0 && shown > 0 && busy + shown == answers.len(), "{busy} busy, {shown} shown");
    server.stop();

    let server = launch().with("--replay-commands 100").start();
    let http = Http::new(server.http);
    let book = |query: &str| patiently(&http, &format!("/api/v1/symbols/SPY/past/book?{query}"));
    assert_eq!(book("").status, 200, "the snapshot of the stop is near");
    assert_eq!(book("time=9223372036854775807").status, 200, "and as near to the end of time");
    assert_eq!(book("at=500").code(), (422, "replay-too-large"));
    assert_eq!(book("at=100").body["sequence"], 100);
    let by_time = book("time=1");
    assert_eq!((by_time.status, &by_time.body["sequence"]), (200, &json!(0)), "nothing is to be replayed for it");
    server.stop();

    let server = launch().with("--replay-items 3").start();
    let http = Http::new(server.http);
    assert_eq!(http.get("/api/v1/symbols/SPY/past/book").code(), (422, "replay-too-large"), "of a snapshot");
    server.stop();

    let server = launch().with("--replay-commands 0").start();
    let http = Http::new(server.http);
    assert_eq!(http.get("/api/v1/symbols/SPY/past/book").code(), (409, "no-journal"));
    server.stop();
}

#[test]
fn an_account_of_the_past_is_for_those_who_may_look_at_it() {
    let folder = Folder::new("past-members");
    let server = AccessFile::new(&folder).launch(&folder).start();
    let http = Http::new(server.http);
    let [_, own] = market(&http);
    let get =
        |member: &str, path: &str| Client { http: &http, member }.get(&format!("/api/v1/symbols/SPY/past/{path}"));
    let book = get("bob", "book?account=2");
    assert_eq!((book.status, &book.body["orders"][0]["order_id"]), (200, &json!(own)));
    let nobodys = get("bob", "book");
    assert_eq!((nobodys.status, nobodys.body.get("orders")), (200, None));
    for path in ["book?account=1", "events?from=0&account=1", "book?account=2&account=1", "book?account=99"] {
        let answer = get("bob", path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.text);
    }
    assert_eq!(get("", "book").status, 401);
    assert_eq!(get("igor", "events?from=0").status, 200, "the market is for members of any role");
    for (member, status) in [("bob", 403), ("vera", 403), ("otto", 200), ("olga", 200)] {
        assert_eq!(get(member, "book/orders").status, status, "{member}");
    }
    server.stop();
}

/// A page once had 1,000 events whatever they held: 500 buys of 10,000 executions each were a page of a gigabyte.
#[test]
fn a_page_of_events_ends_when_it_holds_very_many_trades() {
    const EACH: usize = 3_000;
    const BUYS: usize = 5;
    let folder = Folder::new("past-page");
    let server = Launch::new(&folder.data()).start();
    let http = Http::new(server.http);
    server.ask(MARKET);
    for _ in 0..BUYS {
        let sells = "<order sym=\"SPY\" amount=\"-1\" limit=\"1\"/>".repeat(EACH);
        server.ask(&format!("<transactions id=\"1\">{sells}</transactions>"));
    }
    let from = http.read("/api/v1/status")["sequence"].as_u64().unwrap();
    for _ in 0..BUYS {
        server
            .ask(&format!("<transactions id=\"2\"><order sym=\"SPY\" amount=\"{EACH}\" limit=\"1\"/></transactions>"));
    }
    let page = |from: u64, account: &str| {
        let page = read(&http, &format!("/api/v1/symbols/SPY/past/events?from={from}&limit=1000{account}"));
        let trades = page["events"].as_array().unwrap().iter().map(|event| event["trades"].as_array().unwrap().len());
        (trades.collect::<Vec<usize>>(), page["through"].as_u64().unwrap(), page)
    };
    // 3,000 trades and a level each.
    let (trades, through, first) = page(from, "");
    assert_eq!((trades, through), (vec![EACH; 4], from + 4), "the fourth one reaches 10,000");
    assert_eq!((&first["symbol"], &first["from"], &first["newest"]), (&json!("SPY"), &json!(from), &json!(from + 5)));
    let (trades, through, rest) = page(through, "");
    assert_eq!((trades, through), (vec![EACH], from + 5));
    assert_eq!((&rest["from"], &rest["time"]), (&json!(from + 4), &rest["events"][0]["time"]));
    // The orders of an account count, too, and each is told once, in the order of their last changes.
    let (trades, through, own) = page(from, "&account=1");
    assert_eq!((trades, through), (vec![EACH; 2], from + 2));
    let orders = own["events"][0]["orders"].as_array().unwrap();
    let ids: Vec<u64> = orders.iter().map(|order| order["order_id"].as_u64().unwrap()).collect();
    assert!(ids.iter().copied().eq(ids[0]..ids[0] + EACH as u64), "{} orders", ids.len());
    server.stop();
}
