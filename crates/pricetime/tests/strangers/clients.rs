//! Clients written for Binance, as they come from PyPI, npm, crates.io and as a Go module, trade here with users of
//! XML: the programs of clients/, and the examples of docs/BINANCE.md.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server, connect};

const MARKET: &str = r#"<create><account id="1" balance="100000"/><account id="2" balance="10000000"/>
    <account id="3" balance="10000000"/><symbol sym="SPY"><account id="1">500</account><account id="2">100000</account>
    <account id="3">100000</account></symbol><symbol sym="QQQ"><account id="2">100000</account>
    <account id="3">100000</account></symbol></create>"#;

/// One account bids and offers, and another one takes a little of both.
const QUOTES: &str = r#"<transactions id="2"><order sym="SPY" amount="-1000" limit="145.67"/>
    <order sym="SPY" amount="1000" limit="140"/></transactions>"#;
const TRADES: &str = r#"<transactions id="3"><order sym="SPY" amount="0.01" limit="145.67"/>
    <order sym="SPY" amount="-0.01" limit="140"/></transactions>"#;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a program of clients/ in its folder. Panics with its output unless it succeeds.
fn run(program: &mut Command, server: &Server, keys: &KeyFile) -> String {
    let ran = program
        .env("PRICETIME_HTTP", server.http.to_string())
        .env("PRICETIME_XML", server.xml.to_string())
        .env("API_KEY", &keys.key)
        .env("API_SECRET", &keys.secret)
        .output()
        .unwrap_or_else(|error| panic!("{program:?}: {error}; ./test installs what the tests need"));
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    said
}

/// Runs Python with the clients installed.
fn python(arguments: &[&str], server: &Server, keys: &KeyFile) -> String {
    let clients = root().join("clients");
    let mut python = Command::new(clients.join(".venv/bin/python"));
    run(python.args(arguments).current_dir(&clients).env("PYTHONDONTWRITEBYTECODE", "1"), server, keys)
}

/// Lets a client trade, and checks what it left: trades of the key's account with XML users, and an exact market.
fn trades_here(name: &str, client: impl FnOnce(&Server, &KeyFile) -> String) {
    let folder = Folder::new(name);
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).start();
    server.ask(MARKET);
    println!("{}", client(&server, &keys));
    let http = Http::new(server.http);
    let its = http.read("/api/v1/accounts/1/executions?symbol=SPY");
    let its = its["executions"].as_array().unwrap();
    // A client that takes from account 2 may meet a better order of the key's account.
    let others: HashSet<u64> = [2, 3].into_iter().flat_map(|account| trades(&http, account)).collect();
    assert!(!its.is_empty(), "{name} traded");
    assert!(
        its.iter().all(|one| others.contains(&one["trade_id"].as_u64().unwrap())),
        "with accounts 2 and 3, over XML"
    );
    let totals = &server.state()["totals"];
    assert_eq!(totals["money"], "20100000", "no money came or went");
    server.stop();
}

/// The ids of all trades in SPY in which an account took part: a slow client leaves more trades of other accounts than
/// fit into a page.
fn trades(http: &Http, account: u32) -> HashSet<u64> {
    let path = format!("/api/v1/accounts/{account}/executions?symbol=SPY&limit=1000");
    let (mut ids, mut page) = (HashSet::new(), http.read(&path));
    loop {
        ids.extend(page["executions"].as_array().unwrap().iter().map(|one| one["trade_id"].as_u64().unwrap()));
        let Some(next) = page["next"].as_str() else { return ids };
        page = http.read(&format!("{path}&before={next}"));
    }
}

/// Lets account 2 quote, and account 3 take a little of it again and again while a client works, since streams tell
/// something only when something happens.
fn while_others_trade(server: &Server, client: impl FnOnce() -> String) -> String {
    server.ask(QUOTES);
    let (ended, xml) = (AtomicBool::new(false), server.xml);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut other = connect(xml);
            while !ended.load(Ordering::Relaxed) {
                other.ask(TRADES);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        // The other thread ends, whatever fails.
        let ran = catch_unwind(AssertUnwindSafe(client));
        ended.store(true, Ordering::Relaxed);
        ran.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[test]
fn ccxt_trades_here() {
    trades_here("ccxt", |server, keys| python(&["try_ccxt.py"], server, keys));
}

#[test]
fn ccxt_pro_trades_here() {
    trades_here("ccxt-pro", |server, keys| python(&["try_ccxt_pro.py"], server, keys));
}

#[test]
fn python_binance_trades_here() {
    trades_here("python-binance", |server, keys| python(&["try_python_binance.py"], server, keys));
}

#[test]
fn binance_of_npm_trades_here() {
    trades_here("npm-binance", |server, keys| {
        let mut node = Command::new("node");
        node.arg("try_binance.js").current_dir(root().join("clients/node"));
        while_others_trade(server, || run(&mut node, server, keys))
    });
}

#[test]
fn go_binance_trades_here() {
    trades_here("go-binance", |server, keys| {
        let folder = Folder::new("go-binance-program");
        let program = folder.path().join("trades");
        let mut go = Command::new("go");
        run(go.args(["build", "-o"]).arg(&program).current_dir(root().join("clients/go")), server, keys);
        while_others_trade(server, || run(&mut Command::new(&program), server, keys))
    });
}

/// Each message is checked with QuickFIX's own dictionary of FIX 4.4.
#[test]
fn quickfix_go_trades_here() {
    let folder = Folder::new("quickfix-go");
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    server.ask(MARKET);
    let auction =
        r#"<create><symbol sym="AUC"><account id="2">100</account></symbol><phase sym="AUC" is="auction"/></create>"#;
    assert!(server.ask(auction).contains("<changed"));
    let mut go = Command::new("go");
    go.args(["run", "."]).current_dir(root().join("clients/fix"));
    let ran = go.env("PRICETIME_FIX", server.fix.unwrap().to_string()).output().unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{}", said.replace('\x01', "|"));
    server.stop();
}

/// A client with its engine's default settings logged on once and never again: its numbers went on, and the server's
/// began again with each connection.
#[test]
fn quickfix_go_goes_on_where_it_was_cut_and_where_the_server_was_killed() {
    const SELL: &str = r#"<transactions id="2"><order sym="SPY" amount="-1" limit="1"/></transactions>"#;
    let folder = Folder::new("quickfix-go-lasting");
    let kept = folder.path().join("client");
    std::fs::create_dir(&kept).unwrap();
    let program = folder.path().join("trades");
    let go = |program: &mut Command, address: &str| {
        let ran = program.current_dir(root().join("clients/fix")).env("PRICETIME_FIX", address).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
        assert!(ran.status.success(), "{}", said.replace('\x01', "|"));
    };
    go(Command::new("go").args(["build", "-o"]).arg(&program), "");
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    server.ask(MARKET);
    let part = |server: &Server, name: &str| {
        go(Command::new(&program).arg("lasting").arg(&kept).arg(name), &server.fix.unwrap().to_string());
    };
    part(&server, "begin");
    (0..30).for_each(|_| drop(server.ask(SELL)));
    part(&server, "middle");
    (0..15).for_each(|_| drop(server.ask(SELL)));
    server.kill();
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    (0..15).for_each(|_| drop(server.ask(SELL)));
    part(&server, "end");
    let fills = std::fs::read_to_string(kept.join("fills")).unwrap();
    let once: HashSet<&str> = fills.lines().collect();
    assert_eq!((fills.lines().count(), once.len()), (60, 60), "each fill once: {fills}");
    let http = Http::new(server.http);
    let executed: HashSet<String> = trades(&http, 1).into_iter().map(|trade| format!("T{trade}-1")).collect();
    assert_eq!(executed, once.into_iter().map(str::to_owned).collect());
    server.stop();
}

#[test]
fn binance_rs_async_trades_here() {
    trades_here("binance-rs-async", |server, keys| {
        let mut cargo = Command::new("cargo");
        cargo.args(["run", "--quiet", "--locked", "--target-dir", "../../target/clients"]);
        cargo.current_dir(root().join("clients/rust"));
        while_others_trade(server, || run(&mut cargo, server, keys))
    });
}

/// web/tests/order-snippets.js runs the code that the page shows for orders, and compares what the two placed.
#[test]
fn what_the_page_says_in_code_does_what_it_says() {
    let folder = Folder::new("clients-said");
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).with("--fix 127.0.0.1:0").start();
    let programs = Path::new(env!("CARGO_BIN_EXE_pricetime")).parent().unwrap().to_owned();
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths([programs].into_iter().chain(std::env::split_paths(&path))).unwrap();
    let ran = Command::new("node")
        .arg("tests/order-snippets.js")
        .current_dir(root().join("web"))
        .env("PATH", path)
        .env("PYTHON", root().join("clients/.venv/bin/python"))
        .env("PRICETIME_HTTP", format!("http://{}", server.http))
        .env("API_KEY", &keys.key)
        .env("API_SECRET", &keys.secret)
        .output()
        .unwrap_or_else(|error| panic!("node: {error}; ./test installs what the tests need"));
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    println!("{said}");
    server.stop();
}

/// Each example works by itself, on a market with offers and bids.
#[test]
fn snippets_of_the_document_run() {
    let document = std::fs::read_to_string(root().join("docs/BINANCE.md")).unwrap();
    let snippets: Vec<&str> =
        document.split("```python\n").skip(1).map(|rest| rest.split("\n```").next().unwrap()).collect();
    assert!(snippets.len() >= 3, "one for each client: {}", snippets.len());
    let folder = Folder::new("clients-document");
    let keys = KeyFile::new(&folder);
    let server = keys.launch(&folder).start();
    server.ask(MARKET);
    while_others_trade(&server, || {
        for snippet in snippets {
            let here = snippet
                .replace("127.0.0.1:8080", &server.http.to_string())
                .replace("YOUR API KEY", &keys.key)
                .replace("YOUR SECRET", &keys.secret);
            assert_ne!(here, snippet, "it says where and who: {snippet}");
            println!("{}", python(&["-c", &here], &server, &keys));
        }
        String::new()
    });
    server.stop();
}
