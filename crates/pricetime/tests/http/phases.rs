//! Phases of symbols over REST, the WebSocket and the compatible interface: how a symbol is halted, how orders gather
//! and execute in an auction, how a price band interrupts trading, and what is known of it after a restart.

use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="100000"/>
    <symbol sym="SPY"><account id="1">1000</account><account id="2">1000</account></symbol>
    <symbol sym="FREE"><account id="2">10</account></symbol></create>"#;

fn put(http: &Http, symbol: &str, phase: &str) -> (u16, Value) {
    let (json, body) = ([("content-type", "application/json")], json!({"phase": phase}).to_string());
    let answer = http.send("PUT", &format!("/api/v1/symbols/{symbol}/phase"), Some(&body), &json);
    (answer.status, answer.body)
}

fn order(account: &str, side: &str, limit: &str, shares: &str) -> Value {
    json!({"account": account, "symbol": "SPY", "side": side, "kind": "limit", "limit": limit, "shares": shares})
}

fn auction(price: &str, shares: &str, surplus: &str) -> Value {
    json!({"name": "auction", "until": null, "price": price, "shares": shares, "surplus": surplus})
}

#[test]
fn orders_gather_over_rest_and_execute_at_one_price_after_a_restart() {
    let folder = Folder::new("phases-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let symbol = |http: &Http| http.read("/api/v1/symbols/SPY");
    assert_eq!(symbol(&http).get("phase"), None, "a symbol that is open is shown as ever");
    assert_eq!(http.read("/api/v1/symbols/SPY/book").get("phase"), None);
    assert_eq!(put(&http, "SPY", "auction"), (200, json!({"phase": "auction"})));
    let empty = json!({"name": "auction", "until": null, "price": null, "shares": null, "surplus": null});
    assert_eq!(symbol(&http)["phase"], empty);
    let bought = http.make("/api/v1/orders", &order("1", "buy", "105", "10"))["order_id"].clone();
    http.make("/api/v1/orders", &order("2", "sell", "101", "4"));
    http.make("/api/v1/orders", &order("2", "sell", "99", "8"));
    // At 101 and above, 10 of 12 shares are bought; 102 is the middle of 99 and 105.
    assert_eq!(symbol(&http)["phase"], auction("102", "10", "-2"));
    let book = http.read("/api/v1/symbols/SPY/book");
    assert_eq!((&book["bids"][0][0], &book["asks"][0][0]), (&json!("105"), &json!("99")), "it is crossed");
    assert_eq!(book["phase"], auction("102", "10", "-2"));
    for kind in ["post_only", "immediate_or_cancel", "fill_or_kill", "market"] {
        let mut asked = order("1", "buy", "105", "10");
        asked["kind"] = kind.into();
        if kind == "market" {
            asked.as_object_mut().unwrap().remove("limit");
        }
        assert_eq!(http.post("/api/v1/orders", &asked).code(), (409, "in-auction"), "{kind}");
    }
    assert_eq!(server.state()["totals"]["symbols"][0]["phase"], json!({"phase": "auction"}));
    server.kill();

    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(symbol(&http)["phase"], auction("102", "10", "-2"), "read from the journal");
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(symbol(&http)["phase"], auction("102", "10", "-2"), "read from the snapshot");
    assert_eq!(put(&http, "SPY", "open"), (200, json!({"phase": "open"})));
    let shown = symbol(&http);
    assert_eq!((shown.get("phase"), &shown["last"], &shown["volume_24h"]), (None, &json!("102"), &json!("10")));
    let order_told = http.read(&format!("/api/v1/orders/{bought}?account=1"));
    assert_eq!((&order_told["executed"], &order_told["average_price"]), (&json!("10"), &json!("102")));
    let trades = http.read("/api/v1/symbols/SPY/trades")["trades"].clone();
    assert_eq!(trades.as_array().unwrap().len(), 2);
    assert_eq!(trades[0]["aggressor"], "sell", "the younger order");
    // Of 100,000 dollars, 10 shares at 102 were paid for.
    assert_eq!(http.read("/api/v1/accounts/1")["balance"], "98980");

    assert_eq!(put(&http, "SPY", "halted"), (200, json!({"phase": "halted"})));
    assert_eq!(http.post("/api/v1/orders", &order("1", "buy", "90", "1")).code(), (409, "halted"));
    assert_eq!(http.delete("/api/v1/orders/2?account=2").status, 200, "orders can be canceled");
    let (status, told) = put(&http, "SPY", "closed");
    assert_eq!((status, &told["field"]), (400, &json!("phase")), "{told}");
    assert_eq!(told["detail"], "phase must be open, halted or auction");
    assert_eq!(put(&http, "NONE", "open").1["code"], "unknown-symbol");
    server.ask(r#"<create><rules sym="SPY" trading="off"/></create>"#);
    assert_eq!(put(&http, "SPY", "open").1["code"], "halted-by-rules");
    server.stop();
}

#[test]
fn a_band_interrupts_trading_and_the_loop_ends_it_while_nobody_sends_anything() {
    let folder = Folder::new("phases-interruption");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    http.make("/api/v1/orders", &order("2", "sell", "100", "1"));
    http.make("/api/v1/orders", &order("2", "sell", "150", "5"));
    http.make("/api/v1/orders", &order("1", "buy", "100", "1"));
    server.ask(r#"<create><rules sym="SPY" band-up="10" band-down="10" interruption="1"/></create>"#);
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
    socket.patience(PATIENCE);
    let interrupting = http.make("/api/v1/orders", &order("1", "buy", "160", "3"))["order_id"].clone();
    // The book tells of the interruption, however late this test reads that.
    let shown = loop {
        match socket.next_of("update", "book").get("phase") {
            Some(phase) if phase["shares"] == "3" => break phase.clone(),
            Some(_) | None => {}
        }
    };
    assert!(shown["until"].as_u64().is_some(), "{shown}");
    assert_eq!((&shown["name"], &shown["price"]), (&json!("auction"), &json!("150")));
    drop(socket);
    let path = format!("/api/v1/orders/{interrupting}?account=1");
    // Only the server's files are looked at, since a request would wake it.
    let is_open = || server.state()["totals"]["symbols"][0].get("phase").is_none();
    wait_until("the auction to end by itself", PATIENCE, is_open);
    let shown = http.read("/api/v1/symbols/SPY");
    assert_eq!((shown.get("phase"), &shown["last"]), (None, &json!("150")));
    assert_eq!(http.read(&path)["executed"], "3");
    server.stop();
}

#[test]
fn whoever_follows_a_book_is_told_of_its_phase_and_of_what_gathers() {
    let folder = Folder::new("phases-websocket");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let mut socket = http.listen();
    let snapshot = socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "book", "symbol": "SPY"}));
    assert_eq!(snapshot.get("phase"), None);
    socket.patience(PATIENCE);
    let mut told = |phase: Option<Value>| loop {
        let update = socket.next_of("update", "book");
        if update.get("phase").cloned() == phase {
            return;
        }
    };
    put(&http, "SPY", "auction");
    told(Some(json!({"name": "auction", "until": null, "price": null, "shares": null, "surplus": null})));
    http.make("/api/v1/orders", &order("1", "buy", "105", "10"));
    http.make("/api/v1/orders", &order("2", "sell", "99", "12"));
    told(Some(auction("102", "10", "-2")));
    put(&http, "SPY", "halted");
    put(&http, "SPY", "open");
    told(None);
    server.stop();
}

#[test]
fn the_compatible_interface_shows_the_phase_and_refuses_in_it() {
    let folder = Folder::new("phases-binance");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let status = || http.read("/binance/api/v3/exchangeInfo?symbol=SPYUSD")["symbols"][0]["status"].clone();
    let place = |words: &str| keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&side=BUY&{words}")).body;
    let limit = "type=LIMIT&timeInForce=GTC&price=10&quantity=1";
    put(&http, "SPY", "auction");
    assert_eq!(status(), "AUCTION_MATCH");
    let refused = json!({"code": -2010, "msg": "This order type is not possible in this trading phase."});
    assert_eq!(place("type=MARKET&quantity=1"), refused);
    assert_eq!(place(limit)["status"], "NEW");
    let named = |query: &str| -> Vec<Value> {
        let pairs = http.read(&format!("/binance/api/v3/exchangeInfo{query}"))["symbols"].clone();
        pairs.as_array().unwrap().iter().map(|pair| pair["symbol"].clone()).collect()
    };
    assert_eq!(named("?symbolStatus=AUCTION_MATCH"), ["SPYUSD"]);
    assert_eq!(named("?symbolStatus=TRADING"), ["FREEUSD"]);
    put(&http, "SPY", "halted");
    assert_eq!(status(), "HALT");
    assert_eq!(place(limit), json!({"code": -1013, "msg": "Market is closed."}));
    put(&http, "SPY", "open");
    assert_eq!(status(), "TRADING");
    assert_eq!(place(limit)["status"], "NEW");
    server.stop();
}

#[test]
fn the_tools_print_phases() {
    let folder = Folder::new("phases-tools");
    let server = Launch::new(&folder.data()).start();
    server.ask(r#"<create><symbol sym="SPY"/><phase sym="SPY" is="auction"/><phase sym="NONE" is="halted"/></create>"#);
    server.kill();
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(words).arg(folder.data()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let dump = run(&["journal", "dump"]);
    assert!(dump.contains("phase of SPY: auction") && dump.contains("phase of NONE: halted"), "{dump}");
    assert!(run(&["journal", "stats"]).contains("phases              2"));
    assert!(run(&["state"]).contains("  SPY: 0 shares issued (0 held by sells), phase auction\n"));
}

/// A time of day in UTC, this many seconds from now.
fn in_seconds(seconds: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + seconds;
    let day = now % 86_400;
    format!("{:02}:{:02}:{:02}", day / 3_600, day / 60 % 60, day % 60)
}

#[test]
fn a_calendar_changes_phases_while_nobody_sends_anything() {
    let folder = Folder::new("phases-calendar");
    let calendar = folder.path().join("calendar");
    let launch = |lines: &str| {
        std::fs::write(&calendar, lines).unwrap();
        Launch::new(&folder.data()).with(&format!("--calendar {}", calendar.display()))
    };
    let server = launch("# nothing\n").start();
    server.ask(MARKET);
    server.kill();
    let server = launch(&format!("{} * auction # soon\n{} SPY halted\n", in_seconds(2), in_seconds(3))).start();
    let phases = |server: &Server| {
        let symbols = server.state()["totals"]["symbols"].clone();
        [0, 1].map(|at| symbols[at]["phase"]["phase"].as_str().map(str::to_owned))
    };
    let expected = [Some("halted".to_owned()), Some("auction".to_owned())];
    wait_until("the calendar to be followed", PATIENCE, || phases(&server) == expected);
    server.kill();
    // What was due while no server ran is done at the start. It comes after the last command, which may be of this
    // second.
    let missed = in_seconds(1);
    std::thread::sleep(Duration::from_millis(2_500));
    let server = launch(&format!("{missed} FREE open\n")).start();
    wait_until("what was missed to be done", PATIENCE, || phases(&server) == [Some("halted".to_owned()), None]);
    server.stop();
    let ended = launch("09:00 * open\n9:30 * halted\n").try_start().err().unwrap();
    assert!(
        ended.stderr.contains("line 2: time 9:30 is not HH:MM or HH:MM:SS, from 00:00 to 23:59:59"),
        "{}",
        ended.stderr
    );
}

/// docs/SETTINGS.md says that the symbols of a market are halted while the market is closed.
#[test]
fn a_market_that_its_calendar_closes_takes_cancels_and_no_orders_until_it_opens() {
    let folder = Folder::new("phases-closed");
    let calendar = folder.path().join("calendar");
    std::fs::write(&calendar, format!("{} * halted\n{} * open\n", in_seconds(6), in_seconds(14))).unwrap();
    let server = Launch::new(&folder.data()).with(&format!("--calendar {}", calendar.display())).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let stays = http.make("/api/v1/orders", &order("1", "buy", "90", "1"))["order_id"].clone();
    let goes = http.make("/api/v1/orders", &order("1", "buy", "91", "1"))["order_id"].clone();
    let phase = || http.read("/api/v1/symbols/SPY").get("phase").map(|phase| phase["name"].clone());
    wait_until("the market to close", PATIENCE, || phase() == Some(json!("halted")));
    assert_eq!(http.post("/api/v1/orders", &order("2", "sell", "90", "1")).code(), (409, "halted"));
    assert_eq!(http.delete(&format!("/api/v1/orders/{goes}?account=1")).status, 200);
    wait_until("the market to open", PATIENCE, || phase().is_none());
    http.make("/api/v1/orders", &order("2", "sell", "90", "1"));
    assert_eq!(http.read(&format!("/api/v1/orders/{stays}?account=1"))["status"], "executed");
    server.stop();
}

/// Steps of the calendar that were due while the disk was nearly full once were only in memory, and a stop lost them.
/// And a start once took orders in symbols whose lines were due, because it did one line a turn, with requests in
/// between.
#[test]
fn what_a_calendar_had_due_is_done_before_the_first_request_of_a_start() {
    const SYMBOLS: usize = 700;
    let folder = Folder::new("phases-due");
    let calendar = folder.path().join("calendar");
    let (at, names) = (in_seconds(6), || (0..SYMBOLS).map(|number| format!("S{number}")));
    std::fs::write(&calendar, names().map(|name| format!("{at} {name} halted\n")).collect::<String>()).unwrap();
    let launch = || Launch::new(&folder.data()).with(&format!("--calendar {}", calendar.display()));
    let server = launch().start();
    let symbols: String = names().map(|name| format!("<symbol sym=\"{name}\"/>")).collect();
    server.ask(&format!("<create><account id=\"1\" balance=\"1000\"/>{symbols}</create>"));
    let buy =
        |name: &str| format!("<transactions id=\"1\"><order sym=\"{name}\" amount=\"1\" limit=\"1\"/></transactions>");
    server.ask(&buy("S0"));
    let last = format!("S{}", SYMBOLS - 1);
    server.stop();
    // While its disk is nearly full the server's calendar waits, and cancels go on.
    let server = launch().with("--disk-low 1000000GiB").start();
    let http = Http::new(server.http);
    wait_until("the line to be due", PATIENCE, || in_seconds(0) > at);
    assert!(server.ask(r#"<transactions id="1"><cancel id="1"/></transactions>"#).contains("<canceled"));
    assert_eq!(http.read(&format!("/api/v1/symbols/{last}")).get("phase"), None);
    server.stop();
    let server = launch().start();
    let told = server.ask(&buy(&last));
    assert!(told.contains("Trading is halted"), "{told}");
    server.stop();
}

/// An auction ended with 3,000 orders that ended at its end: once 1,000 ended before it, and 2,000 executed in it.
#[test]
fn orders_that_end_with_an_auction_take_no_part_in_it() {
    const ORDERS: usize = 2_500;
    let folder = Folder::new("phases-ended");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    http.make("/api/v1/orders", &order("2", "sell", "100", "1"));
    http.make("/api/v1/orders", &order("1", "buy", "100", "1"));
    http.make("/api/v1/orders", &order("2", "sell", "150", "1"));
    server.ask(r#"<create><rules sym="SPY" band-up="10" band-down="10" interruption="5"/></create>"#);
    // This order begins the auction.
    http.make("/api/v1/orders", &order("1", "buy", "160", "1"));
    let shown = http.read("/api/v1/symbols/SPY")["phase"].clone();
    let until = shown["until"].as_u64().unwrap_or_else(|| panic!("{shown}"));
    let second = format!("{}.{:06}", until / 1_000_000, until % 1_000_000);
    let one = format!("<order sym=\"SPY\" amount=\"0.01\" limit=\"155\" until=\"{second}\"/>");
    let told = server.ask(&format!("<transactions id=\"1\">{}</transactions>", one.repeat(ORDERS)));
    assert_eq!(told.matches("<opened").count(), ORDERS, "{}", &told[..told.len().min(500)]);
    http.make("/api/v1/orders", &order("2", "sell", "150", "30"));
    let phase = || http.read("/api/v1/symbols/SPY").get("phase").cloned();
    wait_until("the auction to end", PATIENCE, || phase().is_none());
    let shown = http.read("/api/v1/symbols/SPY");
    // The first trade, and the execution of the order that began the auction.
    assert_eq!(shown["volume_24h"], "2", "{shown}");
    server.stop();
}

/// An opening executes more often than its turn may: symbols that were answered as open were in an auction, and each
/// needed a turn of its own to open.
#[test]
fn an_opening_of_many_symbols_is_answered_with_their_phases_and_ends_with_few_commands() {
    // Each of the first ones executes 5,000 times, and together they execute as often as the commands of a turn may.
    const WHOLE: usize = 5;
    const CUT: usize = 20;
    let folder = Folder::new("phases-many");
    let server = Launch::new(&folder.data()).start();
    let every = |make: &dyn Fn(usize) -> String| (0..WHOLE + CUT).map(make).collect::<String>();
    server.ask(r#"<create><account id="1" balance="100000000"/><account id="2" balance="0"/></create>"#);
    server.ask(&format!(
        "<create>{}</create>",
        every(&|at| format!(
            r#"<symbol sym="S{at}"><account id="2">20000</account></symbol><phase sym="S{at}" is="auction"/>"#
        ))
    ));
    let icebergs = |at: usize| if at < WHOLE { 50 } else { 2 };
    let sells =
        every(&|at| format!(r#"<order sym="S{at}" amount="-100" limit="10" display="1"/>"#).repeat(icebergs(at)));
    let buys = every(&|at| format!(r#"<order sym="S{at}" amount="{}" limit="10"/>"#, icebergs(at) * 100));
    for (account, orders) in [(2, sells), (1, buys)] {
        let told = server.ask(&format!("<transactions id=\"{account}\">{orders}</transactions>"));
        assert!(!told.contains("<error"), "{told:.300}");
    }
    let http = Http::new(server.http);
    let told = server.ask(&format!("<create>{}</create>", every(&|at| format!(r#"<phase sym="S{at}" is="open"/>"#))));
    for at in 0..WHOLE + CUT {
        let phase = if at < WHOLE { "open" } else { "auction" };
        assert!(told.contains(&format!(r#"<changed sym="S{at}" is="{phase}"/>"#)), "{told}");
    }
    let is_open = |at: usize| http.read(&format!("/api/v1/symbols/S{at}")).get("phase").is_none();
    wait_until("all symbols to be open", PATIENCE, || (0..WHOLE + CUT).all(is_open));
    // Two accounts, three commands that make each symbol, a buy and an opening of each, and the sells.
    let asked = 2 + 5 * (WHOLE + CUT) + (0..WHOLE + CUT).map(icebergs).sum::<usize>();
    let done = http.read("/api/v1/status")["sequence"].as_u64().unwrap();
    assert_eq!(done, asked as u64 + 1, "what is left of all auctions executes with one command");
    server.stop();
}
