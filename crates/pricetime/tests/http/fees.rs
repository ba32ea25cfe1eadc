//! Fees over REST, the WebSocket and the compatible interface: how they are set and shown, what executions tell of
//! them, and what is known of them after a restart.

use std::process::Command;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};

/// Account 3 receives the fees.
const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/><account id="3" balance="0"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

fn put(http: &Http, path: &str, body: &Value) -> (u16, Value) {
    let json = [("content-type", "application/json")];
    let answer = http.send("PUT", &format!("/api/v1/{path}"), Some(&body.to_string()), &json);
    (answer.status, answer.body)
}

fn fees(tier: u64, maker: &str, taker: &str) -> Value {
    json!({"tier": tier, "maker": maker, "taker": taker, "account": "3"})
}

/// Account 2 sells 2 shares at 10 to account 1, whose order comes second.
fn trade(server: &Server) {
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-2" limit="10"/></transactions>"#);
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="2" limit="10"/></transactions>"#);
}

fn executions(http: &Http, account: &str) -> Vec<Value> {
    let page = http.read(&format!("/api/v1/accounts/{account}/executions"));
    page["executions"].as_array().unwrap().iter().map(|one| json!([one.get("fee"), one.get("fee_of")])).collect()
}

fn owned(http: &Http, account: &str) -> Value {
    let account = http.read(&format!("/api/v1/accounts/{account}"));
    json!([account["balance"], account["positions"][0]["shares"]])
}

#[test]
fn fees_are_given_taken_and_told_over_rest_and_after_a_restart() {
    let folder = Folder::new("fees-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    trade(&server);
    assert_eq!(http.read("/api/v1/symbols/SPY/fees"), json!({"symbol": "SPY", "fees": []}));
    assert_eq!(put(&http, "symbols/SPY/fees", &fees(0, "0.1", "0.25")), (200, fees(0, "0.1", "0.25")));
    assert_eq!(put(&http, "symbols/SPY/fees", &fees(1, "0", "0.0333")).0, 200);
    assert_eq!(put(&http, "accounts/1/tier", &json!({"tier": 1})), (200, json!({"tier": 1})));
    let told = json!({"symbol": "SPY", "fees": [fees(0, "0.1", "0.25"), fees(1, "0", "0.0333")]});
    assert_eq!(http.read("/api/v1/symbols/SPY/fees"), told);
    assert_eq!(http.read("/api/v1/accounts/1")["tier"], 1);
    assert_eq!(http.read("/api/v1/accounts/2").get("tier"), None);
    let mut socket = http.listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    trade(&server);
    // The buyer is in tier 1 and pays 0.0333 per cent of 2 shares; the seller pays 0.1 per cent of 20 dollars.
    let expected = [
        vec![json!(["0.000666", "shares"]), json!([null, null])],
        vec![json!(["0.02", "dollars"]), json!([null, null])],
    ];
    let all = |http: &Http| ["1", "2"].map(|account| executions(http, account));
    assert_eq!(all(&http), expected);
    assert_eq!(
        ["1", "2", "3"].map(|account| owned(&http, account)),
        [json!(["960", "103.999334"]), json!(["1039.98", "96"]), json!(["0.02", "0.000666"]),]
    );
    let executed = loop {
        let update = socket.next();
        let news = update["executions"].as_array().cloned().unwrap_or_default();
        if let Some(one) = news.into_iter().next() {
            break one;
        }
    };
    assert_eq!((&executed["fee"], &executed["fee_of"]), (&json!("0.000666"), &json!("shares")), "{executed}");
    let mut replay = http.listen();
    replay.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "2", "from": 0}));
    let reports = loop {
        let message = replay.next();
        if message["type"] == "reports" && message["reports"].as_array().unwrap().len() > 2 {
            break message["reports"].clone();
        }
    };
    let sold: Vec<Value> =
        reports.as_array().unwrap().iter().filter(|one| one["report"] == "executed").cloned().collect();
    assert_eq!((sold[0].get("fee"), &sold[1]["fee"], &sold[1]["fee_of"]), (None, &json!("0.02"), &json!("dollars")));
    server.kill();

    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(
        (http.read("/api/v1/symbols/SPY/fees"), all(&http)),
        (told.clone(), expected.clone()),
        "from the journal"
    );
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!((http.read("/api/v1/symbols/SPY/fees"), all(&http)), (told, expected), "from the snapshot");
    assert_eq!(put(&http, "symbols/SPY/fees", &json!({"tier": 1})).0, 200, "what is not said is nothing");
    assert_eq!(http.read("/api/v1/symbols/SPY/fees")["fees"], json!([fees(0, "0.1", "0.25")]));
    server.stop();
}

#[test]
fn what_cannot_be_is_refused_with_the_field() {
    let folder = Folder::new("fees-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    for (asked, field, detail) in [
        (json!({"maker": "-1", "account": "3"}), "maker", "maker is negative; at least 0"),
        (json!({"taker": "100.0001", "account": "3"}), "taker", "taker is out of range; at most 100"),
        (json!({"taker": "0.00001", "account": "3"}), "taker", "taker has more than 4 decimal places"),
        (json!({"taker": "1"}), "account", "account is missing: somebody gets the fees"),
        (json!({"tier": 16, "taker": "1", "account": "3"}), "tier", "tier is not a whole number from 0 to 15"),
        (json!({"rate": "1"}), "rate", "unknown field"),
    ] {
        let (status, told) = put(&http, "symbols/SPY/fees", &asked);
        assert_eq!((status, &told["code"], &told["field"]), (400, &json!("malformed"), &json!(field)), "{told}");
        assert!(told["detail"].as_str().unwrap().contains(detail), "{told}");
    }
    assert_eq!(put(&http, "symbols/NONE/fees", &fees(0, "1", "1")).1["code"], "unknown-symbol");
    assert_eq!(put(&http, "symbols/SPY/fees", &json!({"taker": "1", "account": "9"})).1["code"], "unknown-account");
    assert_eq!(put(&http, "accounts/9/tier", &json!({"tier": 1})).1["code"], "unknown-account");
    assert_eq!(put(&http, "accounts/1/tier", &json!({"tier": 99})).1["field"], "tier");
    server.stop();
}

#[test]
fn the_compatible_interface_tells_fees_as_commissions() {
    let folder = Folder::new("fees-binance");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let get = |path: &str, words: &str| keys.send(&http, "GET", path, words).body;
    assert_eq!(get("account/commission", "symbol=SPYUSD")["standardCommission"]["taker"], "0.00000000");
    put(&http, "symbols/SPY/fees", &fees(0, "0.1", "0.25"));
    let rates = json!({"maker": "0.00100000", "taker": "0.00250000", "buyer": "0.00000000", "seller": "0.00000000"});
    assert_eq!(get("account/commission", "symbol=SPYUSD")["standardCommission"], rates);
    let account = get("account", "");
    let told = json!([account["makerCommission"], account["takerCommission"], account["commissionRates"]]);
    assert_eq!(told, json!([10, 25, rates]));
    // The fees of other tiers are not told, however high they are.
    put(&http, "symbols/SPY/fees", &fees(1, "1", "2"));
    let account = get("account", "");
    assert_eq!(json!([account["makerCommission"], account["takerCommission"], account["commissionRates"]]), told);
    assert_eq!(get("account/commission", "symbol=SPYUSD")["standardCommission"], rates);
    put(&http, "accounts/2/tier", &json!({"tier": 1}));
    assert_eq!(get("account", "")["takerCommission"], 25, "another account is of that tier");
    put(&http, "accounts/1/tier", &json!({"tier": 1}));
    let account = get("account", "");
    assert_eq!(json!([account["makerCommission"], account["takerCommission"]]), json!([100, 200]));
    for account in ["1", "2"] {
        put(&http, &format!("accounts/{account}/tier"), &json!({"tier": 0}));
    }
    let mut socket = keys.follow(&http);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-2" limit="10"/></transactions>"#);
    let place = |path: &str, words: &str| keys.send(&http, "POST", path, &format!("symbol=SPYUSD&{words}")).body;
    let limit = "type=LIMIT&timeInForce=GTC&price=10&quantity=2&newOrderRespType=FULL";
    let tested = place("order/test", &format!("side=BUY&{limit}&computeCommissionRates=true"));
    assert_eq!(tested["standardCommissionForOrder"], json!({"maker": "0.00100000", "taker": "0.00250000"}));
    let bought = place("order", &format!("side=BUY&{limit}"));
    assert_eq!(
        (&bought["fills"][0]["commission"], &bought["fills"][0]["commissionAsset"]),
        (&json!("0.00500000"), &json!("SPY"))
    );
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="2" limit="10"/></transactions>"#);
    let sold = place("order", &format!("side=SELL&{limit}"));
    assert_eq!(
        (&sold["fills"][0]["commission"], &sold["fills"][0]["commissionAsset"]),
        (&json!("0.05000000"), &json!("USD"))
    );
    let mine = get("myTrades", "symbol=SPYUSD");
    let told: Vec<Value> =
        mine.as_array().unwrap().iter().map(|one| json!([one["commission"], one["commissionAsset"]])).collect();
    assert_eq!(told, [json!(["0.00500000", "SPY"]), json!(["0.05000000", "USD"])]);
    let mut paid = Vec::new();
    while paid.len() < 4 {
        let event = socket.next();
        if event["e"] == "executionReport" {
            paid.push(json!([event["x"], event["n"], event["N"]]));
        }
    }
    let new = json!(["NEW", "0", null]);
    assert_eq!(paid, [new.clone(), json!(["TRADE", "0.00500000", "SPY"]), new, json!(["TRADE", "0.05000000", "USD"])]);
    server.stop();
}

#[test]
fn the_tools_print_fees() {
    let folder = Folder::new("fees-tools");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    server.ask(r#"<create><fees sym="SPY" taker="0.25" account="3"/><fees sym="SPY" tier="2"/><tier id="1" tier="2"/></create>"#);
    server.kill();
    let run = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_pricetime")).args(words).arg(folder.data()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let dump = run(&["journal", "dump"]);
    let commands: Vec<&str> = dump.lines().map(|line| line.splitn(3, ' ').nth(2).unwrap()).collect();
    let told = [
        "fees of SPY, tier 0: maker 0 per cent, taker 0.25 per cent, to account 3",
        "fees of SPY, tier 2: none",
        "tier of account 1: 2",
    ];
    assert_eq!(commands[commands.len() - 3..], told);
    assert!(run(&["journal", "stats"]).contains("fees                3"));
    let state = run(&["state"]);
    assert!(state.contains("    fees of tier 0: maker 0 %, taker 0.25 %, to account 3\n"), "{state}");
    assert!(state.contains("account 1: balance 1000 (held 0), tier 2\n"), "{state}");
}
