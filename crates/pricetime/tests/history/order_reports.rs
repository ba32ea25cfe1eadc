//! The `orders` channel from a given sequence on: a client that was away is told everything that happened to an
//! account's orders, however often and long it was away, in order and once, after restarts and after the removal of
//! journal files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::folder::Folder;
use crate::common::http::{Http, Socket};
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;
use model::workload::Random;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="100000000"/><account id="2" balance="100000000"/>
    <symbol sym="SPY"><account id="1">1000000</account><account id="2">1000000</account></symbol></create>"#;

/// The events of an account's orders, taken from the answers to trading requests and not from the channel.
#[derive(Default)]
struct Ledger {
    reports: [Vec<Value>; 2],
    open: Vec<Open>,
}

struct Open {
    order: u64,
    account: usize,
    side: &'static str,
    /// The limit in tenths of a dollar.
    limit: u64,
    /// The order's open shares, and its shares including the executed ones.
    shares: u64,
    size: u64,
}

impl Ledger {
    /// Adds an order to a simple book, in which the best limit executes first, and of equal limits the oldest order.
    fn place(
        &mut self,
        order: u64,
        (account, side): (usize, &'static str),
        rests: bool,
        (limit, shares): (u64, u64),
        name: Option<&str>,
    ) {
        let told = json!({"report": "placed", "order_id": order, "client_order_id": name, "symbol": "SPY", "side": side,
            "kind": kind(rests), "limit": price(limit), "stop": null, "take_profit": null, "shares": shares.to_string()});
        self.reports[account].push(told);
        let mut left = shares;
        while left > 0 {
            let fits = |open: &Open| {
                open.side != side && if side == "buy" { open.limit <= limit } else { open.limit >= limit }
            };
            let best = self.open.iter().enumerate().filter(|(_, open)| fits(open));
            let best = match side {
                "buy" => best.min_by_key(|(_, open)| (open.limit, open.order)),
                _ => best.min_by_key(|(_, open)| (u64::MAX - open.limit, open.order)),
            };
            let Some((at, maker)) = best else { break };
            let executed = left.min(maker.shares);
            for (order, account, side, role) in
                [(maker.order, maker.account, maker.side, "maker"), (order, account, side, "aggressor")]
            {
                let told = json!({"report": "executed", "order_id": order, "symbol": "SPY", "side": side, "role": role,
                    "price": price(maker.limit), "shares": executed.to_string()});
                self.reports[account].push(told);
            }
            left -= executed;
            self.open[at].shares -= executed;
            if self.open[at].shares == 0 {
                self.open.remove(at);
            }
        }
        if left > 0 {
            self.open.push(Open { order, account, side, limit, shares: left, size: shares });
            if !rests {
                self.cancel(self.open.len() - 1, "not_resting");
            }
        }
    }

    fn cancel(&mut self, at: usize, why: &str) {
        let Open { order, account, side, shares, .. } = self.open.remove(at);
        let told = json!({"report": "canceled", "order_id": order, "symbol": "SPY", "side": side,
            "shares": shares.to_string(), "why": why});
        self.reports[account].push(told);
    }
}

fn kind(rests: bool) -> &'static str {
    if rests { "limit" } else { "immediate_or_cancel" }
}

/// The price of so many tenths of a dollar.
fn price(tenths: u64) -> String {
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        rest => format!("{}.{rest}", tenths / 10),
    }
}

/// Does something random, and notes what the channel must tell of it.
fn act(http: &Http, ledger: &mut Ledger, random: &mut Random, number: u64) {
    if random.percent(30) && !ledger.open.is_empty() {
        // Half of the time this is an order that was placed long ago.
        let at = random.below(ledger.open.len());
        let Open { order, account, .. } = ledger.open[at];
        let canceled = http.delete(&format!("/api/v1/orders/{order}?account={}", account + 1));
        assert_eq!(canceled.status, 200, "{}", canceled.text);
        return ledger.cancel(at, "asked");
    }
    if random.percent(15) {
        let larger = ledger.open.iter_mut().rev().find(|open| open.shares > 1);
        if let Some(Open { order, account, side, shares, size, .. }) = larger {
            let before = std::mem::replace(size, *size - 1);
            *shares -= 1;
            let body = json!({"account": (*account + 1).to_string(), "shares": size.to_string()}).to_string();
            let headers = [("content-type", "application/json")];
            let amended = http.send("PATCH", &format!("/api/v1/orders/{order}"), Some(&body), &headers);
            assert_eq!(amended.status, 200, "{}", amended.text);
            let told = json!({"report": "amended", "order_id": order, "symbol": "SPY", "side": side,
                "shares_before": before.to_string(), "shares": size.to_string(), "why": "asked"});
            return ledger.reports[*account].push(told);
        }
    }
    let (account, side) = (random.below(2), random.pick(&["buy", "sell"]));
    let (limit, shares) = (95 + random.below(11) as u64, 1 + random.below(9) as u64);
    let name = random.percent(30).then(|| format!("mine/{number}"));
    let rests = random.percent(80);
    let mut body = json!({"account": (account + 1).to_string(), "symbol": "SPY", "side": side, "kind": kind(rests), "limit": price(limit),
        "shares": shares.to_string()});
    if let Some(name) = &name {
        body["client_order_id"] = name.as_str().into();
    }
    let placed = http.make("/api/v1/orders", &body);
    ledger.place(placed["order_id"].as_u64().unwrap(), (account, side), rests, (limit, shares), name.as_deref());
}

/// A client that follows one account, and remembers the sequence up to which it was told everything.
struct Follower {
    account: usize,
    through: u64,
    reports: Vec<Value>,
    socket: Option<Socket>,
    resumed: usize,
}

impl Follower {
    fn new(account: usize) -> Follower {
        Follower { account, through: 0, reports: Vec::new(), socket: None, resumed: 0 }
    }

    fn connect(&mut self, http: &Http) -> &mut Socket {
        if self.socket.is_none() {
            // Reports after `through` are told again.
            let through = self.through;
            self.reports.retain(|report| report["sequence"].as_u64().unwrap() <= through);
            let mut socket = http.listen();
            let account = (self.account + 1).to_string();
            let request = json!({"op": "subscribe", "id": 1, "channel": "orders", "account": account, "from": through});
            socket.send(&request);
            let told = socket.next();
            assert_eq!((&told["type"], &told["from"]), (&json!("subscribed"), &json!(through)), "{told}");
            self.socket = Some(socket);
            self.resumed += 1;
        }
        self.socket.as_mut().unwrap()
    }

    /// Takes one message. Returns true when the message says that the replay is complete.
    fn listen(&mut self, http: &Http) -> bool {
        let message = self.connect(http).next();
        assert_eq!((&message["type"], &message["channel"]), (&json!("reports"), &json!("orders")), "{message}");
        let through = message["through"].as_u64().unwrap();
        assert!(through >= self.through, "{through} after {}", self.through);
        self.through = through;
        self.reports.extend(message["reports"].as_array().unwrap().iter().cloned());
        message["live"] == true
    }

    fn has_more_to_hear(&self, ledger: &Ledger) -> bool {
        self.socket.is_none() || self.reports.len() < ledger.reports[self.account].len()
    }

    fn hang_up(&mut self) {
        self.socket = None;
    }

    /// Listens until it knows as much as the ledger, and compares the two.
    fn check(&mut self, http: &Http, ledger: &Ledger) {
        let expected = &ledger.reports[self.account];
        while self.reports.len() < expected.len() {
            self.listen(http);
        }
        let told: Vec<Value> = self.reports.iter().map(bare).collect();
        if let Some(at) = (0..told.len()).find(|at| expected.get(*at) != Some(&told[*at])) {
            panic!("report {at} of account {} is {}, and should be {:?}", self.account + 1, told[at], expected.get(at));
        }
        let sequences: Vec<u64> = self.reports.iter().map(|report| report["sequence"].as_u64().unwrap()).collect();
        assert!(sequences.is_sorted() && sequences.last() <= Some(&self.through), "{sequences:?}");
        let times: Vec<u64> = self.reports.iter().map(|report| report["time"].as_u64().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
    }
}

/// Removes what the answers to trading requests do not contain.
fn bare(report: &Value) -> Value {
    let mut report = report.clone();
    let fields = report.as_object_mut().unwrap();
    ["sequence", "time", "trade_id"].into_iter().for_each(|field| drop(fields.remove(field)));
    report
}

fn end(server: Server, random: &mut Random) {
    match random.percent(50) {
        true => server.kill(),
        false => drop(server.stop()),
    }
}

/// A server that keeps its market in a database of its own.
fn in_database(folder: &Folder) -> Launch {
    let database = crate::postgres::database();
    Launch::new(&folder.data()).in_database(database.url().secret())
}

#[test]
fn who_was_away_hears_of_everything_once() {
    let folder = Folder::new("order-reports");
    // Journal files are removed all the time.
    let launch = Launch::new(&folder.data()).with("--segment-size 64KiB --snapshot-every 300");
    let first = folder.data().join("journal-00000000000000000001.log");
    hears_of_everything_once(&launch, Some(&first));
}

#[test]
fn who_was_away_hears_of_everything_once_from_a_database() {
    let folder = Folder::new("order-reports-database");
    hears_of_everything_once(&in_database(&folder), None);
}

/// `first` is a file that has been removed once only the history knows how the market began.
fn hears_of_everything_once(launch: &Launch, first: Option<&Path>) {
    let seed = std::env::var("PRICETIME_SEED").map_or(7, |seed| seed.parse().unwrap());
    let (mut random, mut ledger) = (Random::new(seed), Ledger::default());
    let mut followers = [Follower::new(0), Follower::new(1), Follower::new(0)];
    let mut server = launch.start();
    server.ask(MARKET);
    let mut number = 0;
    for round in 0..6 {
        let http = Http::new(server.http);
        for _ in 0..25 {
            for _ in 0..random.below(30) {
                number += 1;
                act(&http, &mut ledger, &mut random, number);
            }
            let follower = &mut followers[random.below(2)];
            match random.below(3) {
                0 => follower.hang_up(),
                1 => follower.check(&http, &ledger),
                // Half of the time the follower leaves in the middle of the replay. One that was told everything would
                // wait for ever.
                _ if follower.has_more_to_hear(&ledger) => drop(follower.listen(&http)),
                _ => {}
            }
        }
        followers.iter_mut().take(2).for_each(|follower| follower.check(&http, &ledger));
        // The followers lose their connections, with messages on their way.
        end(server, &mut random);
        followers.iter_mut().for_each(Follower::hang_up);
        server = launch.start();
        println!("round {round}: {} and {} reports", ledger.reports[0].len(), ledger.reports[1].len());
    }
    let http = Http::new(server.http);
    wait_until("the first journal file is retired", PATIENCE, || {
        number += 1;
        act(&http, &mut ledger, &mut random, number);
        first.is_none_or(|first| !first.exists())
    });
    for follower in &mut followers {
        follower.check(&http, &ledger);
    }
    let [one, two, late] = &followers;
    assert!(one.resumed > 5 && two.resumed > 5 && late.resumed == 1);
    assert_eq!(one.reports, late.reports, "sequences, times and trades too");
    assert!(ledger.reports[0].len() > 500);
    let amended = one.reports.iter().filter(|report| report["report"] == "amended").count();
    assert!(amended > 30, "{amended} amended");
    server.stop();
}

#[test]
fn what_is_triggered_is_told_once_and_in_its_place_live_and_again() {
    let folder = Folder::new("order-reports-stops");
    tells_what_is_triggered(&Launch::new(&folder.data()).with("--segment-size 64KiB --snapshot-every 100"));
}

#[test]
fn what_is_triggered_is_told_once_and_in_its_place_from_a_database() {
    let folder = Folder::new("order-reports-stops-database");
    tells_what_is_triggered(&in_database(&folder));
}

/// Clients that listen all the time, that come and go, and that come at the end are told the same, and it agrees with
/// what the orders show.
fn tells_what_is_triggered(launch: &Launch) {
    let mut random = Random::new(23);
    let [mut lasting, mut fleeting, mut late] = [0, 0, 0].map(Follower::new);
    let mut server = launch.start();
    server.ask(MARKET);
    for _ in 0..4 {
        let http = Http::new(server.http);
        lasting.connect(&http);
        for number in 0..60 {
            act_with_stops(&http, &mut random);
            if number % 20 == 7 {
                fleeting.hang_up();
                while !fleeting.listen(&http) {}
            }
        }
        let last = http.make(
            "/api/v1/orders",
            &json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "1", "shares": "1"}),
        );
        for follower in [&mut lasting, &mut fleeting] {
            while follower.reports.last().is_none_or(|report| report["order_id"] != last["order_id"]) {
                follower.listen(&http);
            }
        }
        end(server, &mut random);
        [&mut lasting, &mut fleeting].into_iter().for_each(Follower::hang_up);
        server = launch.start();
    }
    let http = Http::new(server.http);
    while late.reports.len() < lasting.reports.len() {
        late.listen(&http);
    }
    assert!(lasting.reports == late.reports && fleeting.reports == late.reports);
    let orders: Vec<&Value> = late.reports.iter().filter(|report| report["report"] == "placed").collect();
    let mut triggered = 0;
    for order in orders {
        let its: Vec<&Value> = late.reports.iter().filter(|told| told["order_id"] == order["order_id"]).collect();
        let kinds: Vec<&str> = its.iter().map(|told| told["report"].as_str().unwrap()).collect();
        let shown = http.read(&format!("/api/v1/orders/{}?account=1", order["order_id"]));
        let Some(told) = its.iter().find(|told| told["report"] == "triggered") else {
            assert_eq!(shown["triggered_time"], Value::Null, "{shown}");
            assert!((order["stop"].is_null() && order["take_profit"].is_null()) || !kinds.contains(&"executed"));
            continue;
        };
        assert_eq!(
            (kinds[1], kinds.iter().filter(|kind| **kind == "triggered").count()),
            ("triggered", 1),
            "{kinds:?}"
        );
        assert_eq!([&told["stop"], &told["take_profit"]], [&order["stop"], &order["take_profit"]]);
        assert_eq!(told["time"], shown["triggered_time"], "{shown}");
        triggered += 1;
    }
    assert!(triggered > 10, "{triggered} were triggered");
    // The trigger is told after the execution that caused it, of the same command, if the account took part in that
    // execution.
    let behind = late.reports.windows(2).filter(|pair| pair[1]["report"] == "triggered").filter(|pair| {
        let [before, told] = [&pair[0], &pair[1]];
        before["report"] == "executed" && before["sequence"] == told["sequence"]
    });
    assert!(behind.count() > 3);
    server.stop();
}

/// Does something random in a market with many waiting orders. Refusals are ignored.
fn act_with_stops(http: &Http, random: &mut Random) {
    let account = (1 + random.below(2)).to_string();
    if random.percent(15) {
        http.delete(&format!("/api/v1/orders/{}?account={account}", 1 + random.below(200)));
        return;
    }
    let price = |random: &mut Random| (95 + random.below(11)).to_string();
    let (side, shares) = (random.pick(&["buy", "sell"]), (1 + random.below(4)).to_string());
    let mut order = json!({"account": account, "symbol": "SPY", "side": side, "shares": shares});
    match random.below(10) {
        0 => order["kind"] = "market".into(),
        1 => (order["kind"], order["limit"]) = ("immediate_or_cancel".into(), price(random).into()),
        _ => order["limit"] = price(random).into(),
    }
    match random.below(10) {
        0..4 => order["stop"] = price(random).into(),
        4 => order["take_profit"] = price(random).into(),
        _ => {}
    }
    http.post("/api/v1/orders", &order);
}

/// Ends the trading, also when the test fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn who_comes_and_goes_while_the_market_runs_hears_of_everything_once() {
    let folder = Folder::new("order-reports-lively");
    comes_and_goes(&Launch::new(&folder.data()));
}

#[test]
fn who_comes_and_goes_hears_of_everything_once_from_a_database() {
    let folder = Folder::new("order-reports-lively-database");
    comes_and_goes(&in_database(&folder));
}

fn comes_and_goes(launch: &Launch) {
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let (stop, mut follower) = (AtomicBool::new(false), Follower::new(1));
    let ledger = std::thread::scope(|scope| {
        let trading = scope.spawn(|| {
            let (mut ledger, mut random) = (Ledger::default(), Random::new(11));
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                act(&http, &mut ledger, &mut random, number);
            }
            ledger
        });
        let at_the_end = Stop(&stop);
        let mut random = Random::new(12);
        for _ in 0..80 {
            // It listens to a part of the replay, or until the present and a little longer.
            for _ in 0..random.below(4) {
                follower.listen(&http);
            }
            if random.percent(50) {
                while !follower.listen(&http) {}
                for _ in 0..random.below(5) {
                    follower.listen(&http);
                }
            }
            follower.hang_up();
        }
        drop(at_the_end);
        trading.join().unwrap()
    });
    follower.check(&http, &ledger);
    assert!(follower.resumed > 40, "resumed {} times", follower.resumed);
    assert!(follower.reports.len() > 100, "{} reports", follower.reports.len());
    server.stop();
}

#[test]
fn a_long_replay_comes_in_pieces_while_the_market_goes_on() {
    let folder = Folder::new("order-reports-long");
    replays_at_length(&Launch::new(&folder.data()));
}

#[test]
fn a_long_replay_comes_in_pieces_from_a_database_too() {
    let folder = Folder::new("order-reports-long-database");
    replays_at_length(&in_database(&folder));
}

fn replays_at_length(launch: &Launch) {
    let server = launch.start();
    server.ask(MARKET);
    // 20,000 orders, half of them executed at once, make more than 40,000 reports: several megabytes.
    let mut client = server.client();
    for _ in 0..200 {
        let pair = r#"<order sym="SPY" amount="1" limit="10"/><order sym="SPY" amount="-1" limit="10"/>"#;
        client.ask(&format!(r#"<transactions id="1">{}</transactions>"#, pair.repeat(50)));
    }
    let http = Http::new(server.http);
    let mut follower = Follower::new(0);
    let mut book = http.listen();
    book.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
    let mut pieces = 0;
    follower.connect(&http);
    // Meanwhile the market answers and its followers are told.
    let mut placed = 0;
    loop {
        pieces += 1;
        if pieces % 20 == 0 {
            let limit = format!("1.{:02}", pieces % 100);
            http.make(
                "/api/v1/orders",
                &json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": limit, "shares": "1"}),
            );
            placed += 1;
            book.next_of("update", "book");
        }
        if follower.listen(&http) {
            break;
        }
    }
    while follower.reports.len() < 40_000 + placed {
        follower.listen(&http);
    }
    assert!(pieces > 100 && placed > 5, "{pieces} pieces, {placed} orders meanwhile");
    let kinds = |kind: &str| follower.reports.iter().filter(|report| report["report"] == kind).count();
    assert_eq!((kinds("placed"), kinds("executed"), kinds("canceled")), (20_000 + placed, 20_000, 0));
    server.stop();
}

#[test]
fn what_cannot_be_replayed_is_refused_and_says_why() {
    let folder = Folder::new("order-reports-refused");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let refused = |http: &Http, request: Value| {
        let mut socket = http.listen();
        socket.send(&request);
        let told = socket.next();
        assert_eq!((&told["type"], &told["id"]), (&json!("error"), &request["id"]), "{told}");
        told["code"].as_str().unwrap().to_owned()
    };
    let from = |from: Value| json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": from});
    assert_eq!(refused(&http, from(json!(1_000_000))), "from-ahead");
    assert_eq!(refused(&http, from(json!(-1))), "malformed");
    assert_eq!(refused(&http, from(json!("0"))), "malformed");
    assert_eq!(
        refused(&http, json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY", "from": 0})),
        "malformed"
    );
    assert_eq!(
        refused(&http, json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "9", "from": 0})),
        "unknown-account"
    );
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="10"/></transactions>"#);
    server.stop();
    // A history that was moved away is made again from a journal that goes back to the beginning.
    std::fs::remove_dir_all(folder.data().join("history")).unwrap();
    let server = launch.start();
    let mut socket = Http::new(server.http).listen();
    socket.send(&from(json!(0)));
    assert_eq!(socket.next()["type"], "subscribed");
    server.stop();
}

#[test]
fn unsubscribing_ends_a_replay() {
    let folder = Folder::new("order-reports-unsubscribe");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut socket = http.listen();
    let subscribe = json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0});
    let unsubscribe = json!({"op": "unsubscribe", "id": 2, "channel": "orders", "account": "1"});
    for _ in 0..100 {
        socket.send(&subscribe);
        socket.send(&unsubscribe);
    }
    socket.send(&json!({"op": "ping", "id": 3}));
    while socket.next()["type"] != "pong" {}
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="10"/></transactions>"#);
    socket.send(&json!({"op": "ping", "id": 4}));
    assert_eq!(socket.next(), json!({"type": "pong", "id": 4}), "nobody is told any more");
    socket.send(&subscribe);
    let mut reports = Vec::new();
    while reports.is_empty() {
        let message = socket.next();
        reports = message["reports"].as_array().cloned().unwrap_or_default();
    }
    assert_eq!(bare(&reports[0])["report"], "placed");
    server.stop();
}
