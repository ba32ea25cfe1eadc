//! Data folders with flipped bits, under the real server: over every interface, a client that asks for damaged records
//! is told that they are damaged. Other clients are answered as before, the market goes on, `/metrics` counts the
//! damage, the log names it once and `pricetime verify` lists it.

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::common::exposition::Exposition;
use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};
use serde_json::{Value, json};

const SELLER: &str = "31415926535897932384";
const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="31415926535897932384" balance="0"/>
    <symbol sym="SPY"><account id="31415926535897932384">1000</account><account id="1">10</account></symbol></create>"#;
/// The number of canceled orders of the buyer.
const CANCELED: u64 = 70;

/// Makes a market with a trade at 5 of orders 1 and 2, canceled orders 3 to 72, and open orders 73 and 74, all of it on
/// the disk.
fn market(folder: &Folder) -> KeyFile {
    let keys = KeyFile::new(folder);
    let server = keys.launch(folder).start();
    server.ask(MARKET);
    server.ask(&format!(r#"<transactions id="{SELLER}"><order sym="SPY" amount="-2" limit="5"/></transactions>"#));
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="2" limit="6"/></transactions>"#);
    for order in 3..3 + CANCELED {
        server.ask(&format!(
            r#"<transactions id="1"><order sym="SPY" amount="1" limit="1"/><cancel id="{order}"/></transactions>"#
        ));
    }
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="2"/><order sym="SPY" amount="-1" limit="9"/></transactions>"#);
    server.stop();
    keys
}

fn flip(file: &Path, byte: u64, bit: u64) {
    let file = std::fs::OpenOptions::new().read(true).write(true).open(file).unwrap();
    let mut found = [0];
    file.read_exact_at(&mut found, byte).unwrap();
    file.write_all_at(&[found[0] ^ (1 << bit)], byte).unwrap();
}

fn verify(folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_pricetime")).env_clear().arg("verify").arg(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn damaged(http: &Http, kept: &str) -> f64 {
    Exposition::read(&http.get("/metrics").text).sum("pricetime_damaged_records_total", &[("kept", kept)])
}

fn query(server: &Server, account: &str, order: u64) -> String {
    server.ask(&format!(r#"<transactions id="{account}"><query id="{order}"/></transactions>"#))
}

/// Checks that orders are taken, executed and canceled as always.
fn goes_on(server: &Server) {
    let traded =
        server.ask(&format!(r#"<transactions id="{SELLER}"><order sym="SPY" amount="-1" limit="2"/></transactions>"#));
    assert!(traded.contains("<opened"), "{traded}");
    let http = Http::new(server.http);
    let order = json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "1", "shares": "1"});
    let placed = http.make("/api/v1/orders", &order)["order_id"].clone();
    assert_eq!(http.read(&format!("/api/v1/orders/{placed}?account=1"))["status"], "open");
    assert_eq!(http.delete(&format!("/api/v1/orders/{placed}?account=1")).status, 200);
    assert!(server.readiness().starts_with("HTTP/1.1 200"));
}

/// A flipped bit in an order's record once ended the server, which looked up an account that did not exist.
#[test]
fn a_damaged_record_of_the_history_is_named_over_every_interface() {
    let folder = Folder::new("damage-history");
    let keys = market(&folder);
    assert_eq!(verify(&folder.data()).status.code(), Some(0), "{:?}", verify(&folder.data()));
    // This byte belongs to the account of order 2.
    let orders = folder.data().join("history/orders-000000.tab");
    flip(&orders, 163 + 2, 3);
    let server = keys.launch(&folder).start();
    let http = Http::new(server.http);
    let mut socket = http.listen();
    for _ in 0..2 {
        assert_eq!(http.get("/api/v1/orders/2?account=1").code(), (500, "record-damaged"));
        assert_eq!(http.get("/api/v1/accounts/1/orders?status=all&limit=1000").code(), (500, "record-damaged"));
        let answer = keys.send(&http, "GET", "order", "symbol=SPYUSD&orderId=2");
        assert_eq!((answer.status, &answer.body["code"]), (500, &json!(-1900)), "{}", answer.text);
        socket.send(&json!({"op": "subscribe", "channel": "orders", "account": "1", "from": 0}));
        let told = loop {
            let message = socket.next();
            if message["type"] == "error" {
                break message;
            }
        };
        assert_eq!(told["code"], "record-damaged");
        assert!(!told["detail"].as_str().unwrap().contains("orders-0"), "where it lies is for the log: {told}");
    }
    // The same is told over XML.
    for words in [r#"<query id="2"/>"#, r#"<cancel id="2"/>"#] {
        let told = server.ask(&format!(r#"<transactions id="1">{words}</transactions>"#));
        assert!(told.contains("<error id=\"2\">") && told.contains("record of this order is damaged"), "{told}");
    }
    // All other orders are answered as before, also the other order of the same trade.
    assert_eq!(http.read(&format!("/api/v1/orders/1?account={SELLER}"))["status"], "executed");
    assert_eq!(http.read("/api/v1/accounts/1/orders?status=all&limit=70")["orders"].as_array().unwrap().len(), 70);
    assert_eq!(http.read("/api/v1/accounts/1/executions")["executions"].as_array().unwrap().len(), 1);
    assert!(query(&server, SELLER, 1).contains(r#"<executed shares="2" price="5""#));
    assert!(query(&server, "1", 72).contains("<canceled") && query(&server, "1", 73).contains("<open"));
    goes_on(&server);
    assert_eq!(damaged(&http, "history"), 1.0);
    let log = server.process.log();
    assert_eq!(log.matches("record 1 of history/orders-000000.tab, at byte 163, is damaged").count(), 1, "{log}");
    assert_eq!(verify(&folder.data()).status.code(), Some(1), "also while the server runs");
    server.stop();
    let checked = verify(&folder.data());
    assert_eq!(checked.status.code(), Some(1));
    let lines: Vec<String> =
        said(&checked).lines().filter(|line| line.starts_with("DAMAGED")).map(str::to_owned).collect();
    assert!(lines.len() == 1 && lines[0].contains("record 1 of history/orders-000000.tab, at byte 163"), "{lines:?}");
}

/// The leaps of market time serve retention alone, and a damaged file of them once kept the whole market from starting.
#[test]
fn a_damaged_file_of_leaps_is_named_and_the_market_starts() {
    let folder = Folder::new("damage-leaps");
    let keys = market(&folder);
    let leaps = folder.data().join("history/leaps");
    std::fs::write(&leaps, b"no leaps at all").unwrap();
    let checked = verify(&folder.data());
    let is_named = |text: &str| text.contains("history/leaps is damaged") && text.contains("or remove it");
    assert!(checked.status.code() == Some(1) && is_named(&said(&checked)), "{checked:?}");
    let server = keys.launch(&folder).start();
    assert!(is_named(&server.banner), "{}", server.banner);
    assert_eq!(damaged(&Http::new(server.http), "history"), 1.0);
    goes_on(&server);
    server.stop();
    assert_eq!(std::fs::read(&leaps).unwrap(), b"no leaps at all");
    std::fs::remove_file(&leaps).unwrap();
    let server = keys.launch(&folder).start();
    assert!(!server.banner.contains("history/leaps"), "{}", server.banner);
    server.stop();
    assert_eq!(verify(&folder.data()).status.code(), Some(0), "{:?}", verify(&folder.data()));
}

/// Sends all queries over REST and XML. Returns each with its answer.
fn ask_all(server: &Server) -> Vec<(String, Answer)> {
    let http = Http::new(server.http);
    let mut paths: Vec<String> = [1, 2, 40, 72, 73, 74]
        .iter()
        .flat_map(|order| {
            [format!("/api/v1/orders/{order}?account=1"), format!("/api/v1/orders/{order}?account={SELLER}")]
        })
        .collect();
    for account in ["1", SELLER] {
        for list in ["orders?status=all", "orders", "executions"] {
            paths.push(format!("/api/v1/accounts/{account}/{list}"));
        }
    }
    paths.extend(
        ["trades", "candles?interval=1m", "candles?interval=1s", "candles?interval=1d", "book"]
            .map(|what| format!("/api/v1/symbols/SPY/{what}")),
    );
    paths.into_iter().map(|path| (path.clone(), http.get(&path))).collect()
}

fn query_all(server: &Server) -> Vec<String> {
    let orders = (1..=74).flat_map(|order| [("1", order), (SELLER, order)]);
    orders.map(|(account, order)| query(server, account, order)).collect()
}

#[test]
fn wherever_a_bit_flips_nobody_is_told_what_is_not_so() {
    let folder = Folder::new("damage-anywhere");
    market(&folder);
    let server = Launch::new(&folder.data()).start();
    let (truth, states) = (ask_all(&server), query_all(&server));
    assert!(truth.iter().filter(|(_, answer)| answer.status == 200).count() > 12);
    server.stop();
    let mut told_all = [0, 0, 0];
    for (name, apart) in [
        ("history/orders-000000.tab", 1201),
        ("history/trades-000000.tab", 29),
        ("history/checkpoint", 83),
        ("history/orders-000000.tab", 307),
    ] {
        let contents = std::fs::read(folder.data().join(name)).unwrap();
        let bytes: Vec<usize> = (0..contents.len()).step_by(apart).collect();
        for at in bytes.into_iter().take(9) {
            let changed = folder.path().join(format!("changed-{}-{at}", name.replace('/', "-")));
            copy(&folder.data(), &changed);
            flip(&changed.join(name), at as u64, at as u64 % 8);
            match Launch::new(&changed).try_start() {
                Err(ended) => {
                    let file = name.rsplit('/').next().unwrap();
                    assert!(!ended.status.success() && ended.stderr.contains(file), "{name} {at}: {ended:?}");
                    told_all[0] += 1;
                }
                Ok(server) => {
                    let named = compare(&server, (&truth, &states), &format!("bit of byte {at} of {name}"));
                    told_all[if named { 1 } else { 2 }] += 1;
                    server.kill();
                }
            }
        }
    }
    let [refused, named, harmless] = told_all;
    println!("{refused} refused at the start, {named} named when asked, {harmless} harmless");
    assert!(refused > 0 && named > 0);
}

/// Checks that each answer is the true one or names the damage. Returns whether any names it.
fn compare(server: &Server, (truth, states): (&[(String, Answer)], &[String]), changed: &str) -> bool {
    let mut named = false;
    for ((path, told), (_, truth)) in ask_all(server).iter().zip(truth) {
        match told.status {
            500 => {
                assert_eq!(told.code(), (500, "record-damaged"), "{changed}: {path}");
                named = true;
            }
            status => {
                assert_eq!((status, unclocked(&told.body)), (truth.status, unclocked(&truth.body)), "{changed}: {path}")
            }
        }
    }
    for (told, truth) in query_all(server).iter().zip(states) {
        match told.contains("record of this order is damaged") {
            true => named = true,
            false => assert_eq!(told, truth, "{changed}"),
        }
    }
    named
}

/// Removes the time at which a book was told.
fn unclocked(body: &Value) -> Value {
    let mut body = body.clone();
    if let Some(fields) = body.as_object_mut() {
        fields.remove("update");
    }
    body
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
        }
    }
}

/// The journal is older than the history, as on a machine that lost what was written and not synced. The server does
/// not tell the history's events of the lost commands.
#[test]
fn a_history_that_is_ahead_of_the_journal_is_set_aside() {
    let folder = Folder::new("damage-ahead");
    let launch = Launch::new(&folder.data()).with("--segment-size 64KiB");
    let server = launch.start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="3"/></transactions>"#);
    server.stop();
    let journal = folder.data().join("journal-00000000000000000001.log");
    let before = std::fs::read(&journal).unwrap();
    let server = launch.start();
    server.ask(r#"<transactions id="1"><cancel id="1"/><order sym="SPY" amount="2" limit="4"/></transactions>"#);
    server.stop();
    std::fs::write(&journal, before).unwrap();
    for entry in std::fs::read_dir(folder.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "snap") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let verified = verify(&folder.data());
    assert!(!verified.status.success() && said(&verified).contains("they were lost"), "{}", said(&verified));
    let server = launch.start();
    assert!(server.banner.contains("they are lost"), "{}", server.banner);
    let http = Http::new(server.http);
    assert_eq!(http.read("/api/v1/accounts/1/orders")["orders"].as_array().unwrap().len(), 1, "it is open again");
    let order = json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "1.5", "shares": "7"});
    assert_eq!(http.make("/api/v1/orders", &order)["order_id"], 2);
    assert_eq!(http.read("/api/v1/accounts/1/orders?status=all")["orders"][0]["limit"], "1.5");
    assert_eq!(http.delete("/api/v1/orders/2?account=1").status, 200);
    let told = http.read("/api/v1/orders/2?account=1");
    assert_eq!([&told["limit"], &told["shares"], &told["status"]], [&json!("1.5"), &json!("7"), &json!("canceled")]);
    server.stop();
    let aside = |name: &str| name.starts_with("history-through-");
    let names: Vec<String> = std::fs::read_dir(folder.data())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| aside(name)), "{names:?}");
}

/// The history has what a unit did only when the unit was durable. Once such a unit was cut off as one that a power cut
/// left, and the history set aside.
#[test]
fn a_unit_that_the_history_knows_is_not_taken_for_an_unfinished_one() {
    let folder = Folder::new("damage-known");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="3"/></transactions>"#);
    server.stop();
    for entry in std::fs::read_dir(folder.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "snap") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let journal = folder.data().join("journal-00000000000000000001.log");
    let mut bytes = std::fs::read(&journal).unwrap();
    let units: Vec<usize> = (64..bytes.len()).step_by(8).filter(|at| bytes[at + 8..].starts_with(b"PTBA")).collect();
    let is_mark = |at: &usize| bytes[at + 12] != 1;
    let last = units.iter().copied().rfind(|at| !is_mark(at)).unwrap();
    let behind = units.iter().copied().find(|at| *at > last).unwrap();
    bytes[behind..].fill(0);
    bytes[last + 50] ^= 1;
    std::fs::write(&journal, &bytes).unwrap();
    let refused = launch.try_start().map(|_| ()).unwrap_err();
    assert!(refused.stderr.contains(&format!("is damaged at byte {last}")), "{refused:?}");
    assert_eq!(std::fs::read(&journal).unwrap(), bytes, "it is as it was");
    assert!(folder.data().join("history/checkpoint").exists());
}

/// A power cut may, with `--durability written`, remove commands whose endings of orders are already in the history.
/// The endings of orders that wait for others once stayed there: the orders were open, and told as canceled.
#[test]
fn endings_of_lost_commands_are_taken_back_also_of_an_order_that_waits_for_another() {
    let folder = Folder::new("damage-endings");
    let launch = Launch::new(&folder.data()).with("--durability written");
    let server = launch.start();
    server.ask(MARKET);
    let (working, waiting) = (
        json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "1", "shares": "1"}),
        json!({"account": "1", "symbol": "SPY", "side": "sell", "limit": "9", "shares": "1"}),
    );
    let http = Http::new(server.http);
    http.make("/api/v1/order-lists", &json!({"kind": "oto", "orders": [working, waiting]}));
    http.make("/api/v1/orders", &working);
    server.stop();
    let before = folder.path().join("before");
    copy(&folder.data(), &before);
    let server = launch.start();
    let http = Http::new(server.http);
    for order in [2, 3] {
        assert_eq!(http.delete(&format!("/api/v1/orders/{order}?account=1")).status, 200);
    }
    server.stop();
    // Of everything that the second server wrote, the disk kept only the records of orders.
    let after = folder.path().join("after");
    std::fs::rename(folder.data(), &after).unwrap();
    copy(&before, &folder.data());
    for entry in std::fs::read_dir(after.join("history")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if name.starts_with("orders") {
            std::fs::copy(after.join("history").join(&name), folder.data().join("history").join(&name)).unwrap();
        }
    }
    let server = launch.start();
    assert!(server.process.log().contains("orders=2"), "both are taken back: {}", server.process.log());
    let http = Http::new(server.http);
    let told = http.read("/api/v1/accounts/1/orders?status=all")["orders"].clone();
    let told: Vec<_> = told.as_array().unwrap().iter().map(|order| order["status"].as_str().unwrap()).collect();
    assert_eq!(told, ["open"; 3]);
    server.stop();
    let verified = Command::new(env!("CARGO_BIN_EXE_pricetime")).arg("verify").arg(folder.data()).output().unwrap();
    assert!(verified.status.success(), "{verified:?}");
}
