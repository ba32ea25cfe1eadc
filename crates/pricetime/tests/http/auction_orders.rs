//! Orders for an auction over REST, the WebSocket and the compatible interface: they gather, execute at its price and
//! end with it; the server refuses others by name; answers and streams show their kinds.

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::wait::wait_until;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000000"/><account id="2" balance="1000000"/>
    <symbol sym="SPY"><account id="1">100000</account><account id="2">100000</account></symbol></create>"#;
/// A last price of 100, and a price band from 90 to 110 around it.
const BAND: [&str; 3] = [
    r#"<transactions id="2"><order sym="SPY" amount="-1" limit="100"/></transactions>"#,
    r#"<transactions id="1"><order sym="SPY" amount="1" limit="100"/></transactions>"#,
    r#"<create><rules sym="SPY" band-up="10" band-down="10"/></create>"#,
];

fn give_band(server: &Server) {
    BAND.iter().for_each(|request| drop(server.ask(request)));
}

fn send(http: &Http, method: &str, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    http.send(method, &format!("/api/v1/{path}"), Some(&body.to_string()), &json)
}

fn put(http: &Http, phase: &str) -> Value {
    let answer = send(http, "PUT", "symbols/SPY/phase", &json!({"phase": phase}));
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body["phase"].clone()
}

/// An order of account 1 or 2 with its further parameters.
fn order(account: &str, side: &str, shares: &str, more: Value) -> Value {
    with(json!({"account": account, "symbol": "SPY", "side": side, "shares": shares}), &more)
}

/// An order with other parameters; null takes one away.
fn with(mut order: Value, more: &Value) -> Value {
    let its = order.as_object_mut().unwrap();
    its.extend(more.as_object().unwrap().clone());
    its.retain(|_, value| !value.is_null());
    order
}

fn market(account: &str, side: &str, shares: &str) -> Value {
    order(account, side, shares, json!({"kind": "auction_market"}))
}

fn limited(account: &str, side: &str, shares: &str, limit: &str) -> Value {
    order(account, side, shares, json!({"kind": "auction_limit", "limit": limit}))
}

fn fields<const N: usize>(of: &Value, names: [&str; N]) -> Value {
    names.map(|name| of[name].clone()).to_vec().into()
}

/// The phase of the symbol, while it is not open.
fn phase(http: &Http) -> Option<Value> {
    http.read("/api/v1/symbols/SPY").get("phase").cloned()
}

#[test]
fn they_gather_execute_at_the_price_of_the_auction_and_end_with_it() {
    let folder = Folder::new("auction-orders");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    give_band(&server);
    let http = Http::new(server.http);
    assert_eq!(put(&http, "auction"), "auction");
    let mut named = market("1", "buy", "15");
    named["client_order_id"] = json!("mine");
    let asked = [
        named.clone(),
        limited("1", "buy", "5", "101"),
        limited("2", "sell", "10", "99"),
        order("2", "sell", "3", json!({"limit": "105"})),
    ];
    let placed = asked.each_ref().map(|asked| http.make("/api/v1/orders", asked));
    let shown = placed.each_ref().map(|placed| fields(placed, ["kind", "limit"]));
    assert_eq!(shown[..2], [json!(["auction_market", null]), json!(["auction_limit", "101"])]);
    let again = http.post("/api/v1/orders", &named);
    assert_eq!((again.status, &again.body), (200, &placed[0]), "it is the same order");

    // The market order stands at the end of the band, 110, and holds money for that.
    let held = |http: &Http| fields(&http.read("/api/v1/accounts/1"), ["held", "open_orders"]);
    let gathering = |http: &Http| {
        let one = |path: &str| {
            fields(&http.read(&format!("/api/v1/orders/{path}?account=1")), ["kind", "limit", "status", "waits"])
        };
        assert_eq!(one("by-client-id/mine"), json!(["auction_market", null, "open", false]));
        let list = http.read("/api/v1/accounts/1/orders?status=open")["orders"].clone();
        let snapshot =
            http.listen().subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
        for orders in [list, snapshot["orders"].clone()] {
            let told: Vec<Value> =
                orders.as_array().unwrap().iter().map(|order| fields(order, ["kind", "limit", "status"])).collect();
            assert_eq!(told, [json!(["auction_limit", "101", "open"]), json!(["auction_market", null, "open"])]);
        }
        assert_eq!(held(http), json!(["2155", 2]));
        // At 105 13 shares execute. At 110, the limit of the market order alone, 13 would as well.
        let auction = json!({"name": "auction", "until": null, "price": "105", "shares": "13", "surplus": "2"});
        assert_eq!(phase(http), Some(auction));
        let book = http.read("/api/v1/symbols/SPY/book");
        assert_eq!(book["bids"], json!([["110", "15", 1], ["101", "5", 1]]), "{book}");
    };
    gathering(&http);
    server.kill();
    let server = launch.start();
    gathering(&Http::new(server.http));
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    gathering(&http);
    // Under another band it is still the same order; under its name no other one is.
    server.ask(r#"<create><rules sym="SPY" band-up="5" band-down="5"/></create>"#);
    let again = http.post("/api/v1/orders", &named);
    assert_eq!((again.status, &again.body), (200, &placed[0]));
    let mut other = limited("1", "buy", "15", "110");
    other["client_order_id"] = json!("mine");
    assert_eq!(http.post("/api/v1/orders", &other).code(), (409, "client-order-id-taken"));
    gathering(&http);

    let mut socket = http.listen();
    socket.send(&json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1", "from": 0}));
    assert_eq!(put(&http, "open"), "open");
    let [mut said, mut executed, mut canceled] = [const { Vec::new() }; 3];
    while canceled.len() < 2 {
        let update = socket.next();
        for report in update["reports"].as_array().into_iter().flatten().filter(|report| report["kind"] != "limit") {
            match report["report"].as_str() {
                Some("placed") => said.push(fields(report, ["order_id", "kind", "limit", "shares"])),
                Some("executed") => executed.push(fields(report, ["order_id", "price", "shares"])),
                Some("canceled") => canceled.push(fields(report, ["order_id", "shares", "why"])),
                other => panic!("{other:?} {report}"),
            }
        }
    }
    let [first, second, third, fourth] = placed.each_ref().map(|placed| placed["order_id"].as_u64().unwrap());
    assert_eq!(said, [json!([first, "auction_market", null, "15"]), json!([second, "auction_limit", "101", "5"])]);
    assert_eq!(executed[1..], [json!([first, "105", "10"]), json!([first, "105", "3"])]);
    assert_eq!(canceled, [json!([first, "2", "not_resting"]), json!([second, "5", "not_resting"])]);
    let ended = |http: &Http| {
        let one = |id: u64, account: &str| {
            let order = http.read(&format!("/api/v1/orders/{id}?account={account}"));
            fields(&order, ["kind", "limit", "status", "executed", "canceled", "average_price"])
        };
        assert_eq!(one(first, "1"), json!(["auction_market", null, "canceled", "13", "2", "105"]));
        assert_eq!(one(second, "1"), json!(["auction_limit", "101", "canceled", "0", "5", null]));
        assert_eq!(one(third, "2"), json!(["auction_limit", "99", "executed", "10", "0", "105"]));
        assert_eq!(one(fourth, "2"), json!(["limit", "105", "executed", "3", "0", "105"]));
        assert_eq!(held(http), json!(["0", 0]));
        // One share was bought at 100, and 13 at 105.
        assert_eq!(http.read("/api/v1/accounts/1")["balance"], "998535");
        let again = http.post("/api/v1/orders", &named);
        assert_eq!((again.status, &again.body), (200, &placed[0]), "it is the same order when it is done");
    };
    ended(&http);
    assert_eq!(http.read("/api/v1/symbols/SPY")["last"], "105");
    server.kill();
    let server = launch.start();
    ended(&Http::new(server.http));
    server.stop();
}

#[test]
fn before_their_auction_they_wait_through_a_kill_and_a_snapshot_and_then_gather() {
    let folder = Folder::new("auction-orders-beforehand");
    let launch = Launch::new(&folder.data());
    let mut server = launch.start();
    server.ask(MARKET);
    give_band(&server);
    let http = Http::new(server.http);
    let orders = [market("1", "buy", "5"), limited("1", "buy", "5", "100")];
    let ids = orders.map(|order| http.make("/api/v1/orders", &order)["order_id"].clone());
    let shown = |http: &Http, at: usize| {
        let order = http.read(&format!("/api/v1/orders/{}?account=1", ids[at]));
        fields(&order, ["kind", "status", "delayed"])
    };
    let wait = |http: &Http| {
        assert_eq!(shown(http, 0), json!(["auction_market", "open", true]));
        assert_eq!(shown(http, 1), json!(["auction_limit", "open", true]));
        assert_eq!(http.read("/api/v1/symbols/SPY/book")["bids"], json!([]), "they stand in no book");
        assert_eq!(http.read("/api/v1/accounts/1")["balance"], "998850", "of 999900, 550 and 500 are held");
    };
    wait(&http);
    server.kill();
    server = launch.start();
    wait(&Http::new(server.http));
    server.stop();
    server = launch.start();
    let http = Http::new(server.http);
    wait(&http);
    put(&http, "auction");
    for at in 0..2 {
        wait_until("it gathers", PATIENCE, || shown(&http, at)[2] != true);
    }
    http.make("/api/v1/orders", &order("2", "sell", "6", json!({"kind": "limit", "limit": "100"})));
    put(&http, "open");
    let order = |at: usize| http.read(&format!("/api/v1/orders/{}?account=1", ids[at]));
    assert_eq!(fields(&order(0), ["executed", "canceled"]), json!(["5", "0"]));
    assert_eq!(fields(&order(1), ["executed", "canceled"]), json!(["1", "4"]));
    server.stop();
}

#[test]
fn they_are_refused_without_a_band_and_where_they_would_wait_for_something_else() {
    let folder = Folder::new("auction-orders-refused");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let both = [market("1", "buy", "1"), limited("1", "buy", "1", "100")];
    let refused = |asked: &Value| {
        let answer = http.post("/api/v1/orders", asked);
        let (status, code) = answer.code();
        json!([status, code, answer.body["rule"]])
    };
    for phase in ["open", "halted"] {
        put(&http, phase);
        assert_eq!(refused(&both[0]), json!([409, "auction-without-band", "12.18"]), "there is no band");
    }
    server.ask(r#"<create><rules sym="SPY" trading="off"/></create>"#);
    assert_eq!(refused(&both[1]), json!([409, "halted", "12.1"]));
    server.ask(r#"<create><rules sym="SPY"/></create>"#);
    put(&http, "auction");
    assert_eq!(refused(&both[0]), json!([409, "auction-without-band", "12.18"]), "there is no band");
    server.ask(BAND[2]);
    assert_eq!(refused(&both[0]), json!([409, "auction-without-band", "12.18"]), "nothing executed yet");
    put(&http, "open");
    give_band(&server);
    put(&http, "auction");
    let market = |more: &Value| with(market("1", "buy", "1"), more);
    let limited = |more: &Value| with(limited("1", "buy", "1", "100"), more);
    for waits in
        [json!({"stop": "120"}), json!({"take_profit": "80"}), json!({"trail": "1"}), json!({"trail_bips": 100})]
    {
        for asked in [market(&waits), limited(&waits)] {
            let answer = http.post("/api/v1/orders", &asked);
            assert_eq!(fields(&answer.body, ["code", "field"]), json!(["malformed", "kind"]), "{asked}");
            assert_eq!(answer.body["detail"], "an order for an auction waits for no price");
        }
    }
    for (asked, field) in [
        (market(&json!({"display": "0.5"})), "display"),
        (market(&json!({"limit": "100"})), "limit"),
        (market(&json!({"shares": null})), "shares"),
        // An order for so much money once executed at once, as a plain market order, when the symbol was open.
        (market(&json!({"shares": null, "funds": "10"})), "funds"),
        (limited(&json!({"shares": null, "funds": "10"})), "funds"),
        (limited(&json!({"limit": null})), "limit"),
    ] {
        let answer = http.post("/api/v1/orders", &asked);
        assert_eq!(fields(&answer.body, ["code", "field"]), json!(["malformed", field]), "{asked}");
    }
    for kind in ["auction", "auction_post_only", "AUCTION_LIMIT"] {
        let answer = http.post("/api/v1/orders", &order("1", "buy", "1", json!({"kind": kind, "limit": "100"})));
        assert_eq!(answer.code(), (400, "malformed"), "{kind}");
    }
    for mode in ["cancel_newest", "cancel_oldest", "cancel_both", "decrement"] {
        for asked in [market(&json!({"self_trade": mode})), limited(&json!({"self_trade": mode}))] {
            let id = http.make("/api/v1/orders", &asked)["order_id"].clone();
            assert_eq!(
                http.read(&format!("/api/v1/orders/{id}?account=1"))["self_trade"],
                mode,
                "it gathers all the same"
            );
            assert_eq!(http.delete(&format!("/api/v1/orders/{id}?account=1")).status, 200);
        }
    }
    for asked in [market(&json!({"until": 1})), limited(&json!({"until": 1}))] {
        assert_eq!(refused(&asked)[1], "deadline-passed");
    }
    for asked in [market(&json!({"tif": "DAY"})), limited(&json!({"tif": "DAY"}))] {
        assert_eq!(refused(&asked)[1], "no-day-end");
    }
    assert_eq!(refused(&market(&json!({"shares": "9091"})))[1], "insufficient-funds", "it holds money for 110 a share");
    assert_eq!(refused(&order("1", "buy", "1", json!({"kind": "market"})))[1], "in-auction", "a plain market order");

    // No other order waits for one, or is linked with it.
    let stop = order("1", "sell", "1", json!({"kind": "market", "stop": "80"}));
    for asked in [market(&json!({})), limited(&json!({}))] {
        let mut sold = asked.clone();
        sold["side"] = json!("sell");
        for (kind, orders) in [
            ("oco", [&sold, &stop]),
            ("oto", [&asked, &stop]),
            ("oto", [&order("1", "buy", "1", json!({"limit": "95"})), &sold]),
        ] {
            let answer = http.post("/api/v1/order-lists", &json!({"kind": kind, "orders": orders}));
            assert!((400..500).contains(&answer.status), "{kind} {asked}: {}", answer.text);
        }
    }
    assert_eq!(http.read("/api/v1/accounts/1")["open_orders"], 0);
    assert_eq!(phase(&http).unwrap()["shares"], Value::Null, "nothing of all this gathered");
    server.stop();
}

#[test]
fn they_are_amended_and_replaced_within_what_they_are() {
    let folder = Folder::new("auction-orders-amended");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    give_band(&server);
    let http = Http::new(server.http);
    put(&http, "auction");
    let place = |asked: &Value| http.make("/api/v1/orders", asked)["order_id"].as_u64().unwrap();
    let (market, limit) = (place(&market("1", "buy", "10")), place(&limited("1", "buy", "10", "101")));
    let plain = place(&order("2", "sell", "8", json!({"limit": "100"})));
    let amend = |order: u64, mut body: Value| {
        body["account"] = json!(if order == plain { "2" } else { "1" });
        send(&http, "PATCH", &format!("orders/{order}"), &body)
    };
    let shown = ["kind", "limit", "shares", "until", "display", "status"];
    let far = 4_102_444_800_000_001_u64;
    for (order, body, becomes) in [
        (market, json!({"shares": "9"}), json!(["auction_market", null, "9", null, null, "open"])),
        (market, json!({"shares": "12", "tif": "GFA"}), json!(["auction_market", null, "12", null, null, "open"])),
        (market, json!({"until": far}), json!(["auction_market", null, "12", far, null, "open"])),
        (market, json!({"until": null}), json!(["auction_market", null, "12", null, null, "open"])),
        (limit, json!({"limit": "102"}), json!(["auction_limit", "102", "10", null, null, "open"])),
        (limit, json!({"display": "4", "until": far}), json!(["auction_limit", "102", "10", far, "4", "open"])),
        (limit, json!({"display": null}), json!(["auction_limit", "102", "10", far, null, "open"])),
        (limit, json!({"shares": "7", "tif": "GFA"}), json!(["auction_limit", "102", "7", far, null, "open"])),
        (limit, json!({"tif": "GFA"}), json!(["auction_limit", "102", "7", far, null, "open"])),
    ] {
        let answer = amend(order, body.clone());
        assert_eq!((answer.status, fields(&answer.body, shown)), (200, becomes), "{body}: {}", answer.text);
    }
    for (order, body) in [
        (market, json!({"limit": "105"})),
        (market, json!({"display": "1"})),
        (market, json!({"tif": "GTC"})),
        (market, json!({"tif": "IOC"})),
        (market, json!({"stop": "120"})),
        (limit, json!({"tif": "GTC"})),
        (limit, json!({"tif": "GTD", "until": far})),
        (limit, json!({"tif": "FOK"})),
        (limit, json!({"trail": "1"})),
        (plain, json!({"tif": "GFA"})),
    ] {
        assert_eq!(amend(order, body.clone()).code(), (409, "cannot-amend"), "{body}");
    }
    assert_eq!(amend(limit, json!({"tif": "DAY"})).code(), (400, "malformed"));
    assert_eq!(amend(market, json!({"shares": "9999"})).code(), (422, "insufficient-funds"));
    let auction = || fields(&phase(&http).unwrap(), ["price", "shares", "surplus"]);
    // 12 shares at any price and 7 at 102 are wanted, and 8 offered at 100, the last price.
    assert_eq!(auction(), json!(["100", "8", "11"]));
    let replaced = send(&http, "PUT", &format!("orders/{limit}"), &limited("1", "buy", "3", "103"));
    assert_eq!(
        fields(&replaced.body["placed"], ["kind", "limit"]),
        json!(["auction_limit", "103"]),
        "{}",
        replaced.text
    );
    assert_eq!(fields(&replaced.body["canceled"], ["kind", "canceled"]), json!(["auction_limit", "7"]));
    assert_eq!(http.delete(&format!("/api/v1/orders/{market}?account=1")).status, 200);
    assert_eq!(auction(), json!(["100", "3", "-5"]));
    put(&http, "open");
    let told = |id: &Value| fields(&http.read(&format!("/api/v1/orders/{id}?account=1")), ["status", "executed"]);
    assert_eq!(told(&replaced.body["placed"]["order_id"]), json!(["executed", "3"]));
    assert_eq!(amend(limit, json!({"shares": "1"})).code(), (409, "nothing-to-amend"));
    assert_eq!(http.read(&format!("/api/v1/orders/{plain}?account=2"))["open"], "5");
    server.stop();
}

/// An order for an auction stays while the auction is a halt, and ends when the symbol opens.
#[test]
fn more_of_them_than_one_command_cancels_end_with_commands_of_the_server() {
    const ORDERS: usize = 2_500;
    let folder = Folder::new("auction-orders-many");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    give_band(&server);
    let http = Http::new(server.http);
    put(&http, "auction");
    let one = r#"<order sym="SPY" amount="1" limit="95" tif="GFA"/>"#;
    let told = server.ask(&format!("<transactions id=\"1\">{}</transactions>", one.repeat(ORDERS)));
    assert_eq!(told.matches("<opened").count(), ORDERS, "{told:.500}");
    let rests = http.make("/api/v1/orders", &order("1", "buy", "1", json!({"limit": "95"})))["order_id"].clone();
    http.make("/api/v1/orders", &order("2", "sell", "4", json!({"limit": "95"})));
    put(&http, "halted");
    let account = |http: &Http| fields(&http.read("/api/v1/accounts/1"), ["held", "open_orders"]);
    assert_eq!(account(&http), json!(["237595", ORDERS + 1]), "a halt keeps them");
    let sequence = |http: &Http| http.read("/api/v1/status")["sequence"].as_u64().unwrap();
    let before = sequence(&http);
    assert_eq!(put(&http, "open"), "auction", "its orders are more than one command cancels");
    wait_until("the symbol to open", PATIENCE, || phase(&http).is_none());
    // The first command executes 4 and cancels 1,000, and two more cancel 996 and 500 at most.
    assert_eq!(sequence(&http) - before, 3);
    let shown = |http: &Http| {
        assert_eq!(account(http), json!(["95", 1]));
        assert_eq!(http.read(&format!("/api/v1/orders/{rests}?account=1"))["status"], "open");
        let symbol = http.read("/api/v1/symbols/SPY");
        assert_eq!(fields(&symbol, ["last", "volume_24h"]), json!(["95", "5"]));
        let done = http.read("/api/v1/accounts/1/orders?status=all&limit=1000")["orders"].clone();
        let ended = done.as_array().unwrap().iter().filter(|order| order["status"] == "canceled").count();
        assert!(ended >= 900, "{ended}");
    };
    shown(&http);
    server.kill();
    let server = launch.start();
    shown(&Http::new(server.http));
    server.stop();
}

/// Numbers of a fixed sequence.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

#[test]
fn an_auction_executes_at_the_price_that_was_foretold_with_market_orders_in_it() {
    const ROUNDS: usize = 60;
    let folder = Folder::new("auction-orders-foretold");
    let launch = Launch::new(&folder.data());
    let mut server = launch.start();
    server.ask(MARKET);
    let mut http = Http::new(server.http);
    let (mut random, mut with_market) = (Random(7), 0);
    for round in 0..ROUNDS {
        // A round begins with a last price of 100, its rules, and an empty book.
        for account in ["1", "2"] {
            let told = http.delete(&format!("/api/v1/accounts/{account}/orders"));
            assert_eq!(told.status, 200, "{}", told.text);
        }
        server.ask(r#"<create><rules sym="SPY"/></create>"#);
        BAND[..2].iter().for_each(|request| drop(server.ask(request)));
        let ties = ["nearest", "pressure"][round % 2];
        let tick = ["0.01", "1", "3"][round % 3];
        server.ask(&format!(
            r#"<create><rules sym="SPY" band-up="10" band-down="10" tick="{tick}" auction-ties="{ties}"/></create>"#
        ));
        put(&http, "auction");
        let mut ids = Vec::new();
        for _ in 0..4 + random.below(12) {
            let (account, side) = (["1", "2"][random.below(2) as usize], ["buy", "sell"][random.below(2) as usize]);
            let (shares, limit) = ((1 + random.below(20)).to_string(), (90 + 3 * random.below(8)).to_string());
            let asked = match random.below(5) {
                0 | 1 => market(account, side, &shares),
                2 => limited(account, side, &shares, &limit),
                3 => order(account, side, &shares, json!({"limit": limit})),
                _ => order(account, side, &shares, json!({"kind": "auction_limit", "limit": limit, "display": "1"})),
            };
            ids.push((http.make("/api/v1/orders", &asked)["order_id"].as_u64().unwrap(), account));
        }
        for _ in 0..3 {
            let (id, account) = ids[random.below(ids.len() as u64) as usize];
            match random.below(3) {
                0 => drop(http.delete(&format!("/api/v1/orders/{id}?account={account}"))),
                _ => {
                    let body = json!({"account": account, "shares": (1 + random.below(30)).to_string()});
                    send(&http, "PATCH", &format!("orders/{id}"), &body);
                }
            }
        }
        let foretold = phase(&http).unwrap();
        if round % 6 == 0 {
            // The feed begins from the journal or from a snapshot, with the market orders that gathered.
            match round % 12 {
                0 => server.kill(),
                _ => drop(server.stop()),
            }
            server = launch.start();
            http = Http::new(server.http);
            assert_eq!(phase(&http).as_ref(), Some(&foretold), "round {round}");
        }
        if random.below(4) == 0 {
            put(&http, "halted");
        }
        let trades_before = volume(&http);
        put(&http, "open");
        let symbol = http.read("/api/v1/symbols/SPY");
        assert_eq!(symbol.get("phase"), None);
        let executed = (volume(&http) - trades_before).to_string();
        let expected = foretold["shares"].as_str().unwrap_or("0");
        assert_eq!(executed, expected, "round {round}: {foretold}");
        if let Some(price) = foretold["price"].as_str() {
            assert_eq!(symbol["last"], price, "round {round}: {foretold}");
            with_market += 1;
        }
        let open = ["1", "2"].map(|account| http.read(&format!("/api/v1/accounts/{account}/orders?status=open")));
        let kinds = open.iter().flat_map(|page| page["orders"].as_array().unwrap()).map(|order| &order["kind"]);
        assert!(kinds.clone().all(|kind| kind == "limit"), "round {round}: {:?}", kinds.collect::<Vec<_>>());
    }
    assert!(with_market > ROUNDS / 2, "{with_market}");
    server.stop();
}

fn volume(http: &Http) -> u64 {
    http.read("/api/v1/symbols/SPY")["volume_24h"].as_str().unwrap().parse().unwrap()
}

#[test]
fn the_compatible_interface_shows_them_and_places_none() {
    let folder = Folder::new("auction-orders-binance");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    give_band(&server);
    put(&http, "auction");
    let mut socket = keys.follow(&http);
    let place = |words: &str| {
        keys.send(&http, "POST", "order", &format!("symbol=SPYUSD&side=BUY&quantity=1&{words}")).body["code"].clone()
    };
    for (words, code) in [
        ("type=LIMIT&price=100&timeInForce=GFA", -1115),
        ("type=MARKET&timeInForce=GFA", -1106),
        ("type=AUCTION_LIMIT&price=100", -1116),
        ("type=AUCTION_MARKET", -1116),
        ("type=MARKET", -2010),
    ] {
        assert_eq!(place(words), code, "{words}");
    }
    let mut named = market("1", "buy", "15");
    named["client_order_id"] = json!("mine");
    let market = http.make("/api/v1/orders", &named)["order_id"].clone();
    let limit = http.make("/api/v1/orders", &limited("1", "buy", "6", "101"))["order_id"].clone();
    let told = |order: &Value| {
        fields(
            order,
            ["type", "timeInForce", "price", "status", "origQty", "executedQty", "isWorking", "clientOrderId"],
        )
    };
    let get =
        |http: &Http, id: &Value| told(&keys.send(http, "GET", "order", &format!("symbol=SPYUSD&orderId={id}")).body);
    let named_limit = get(&http, &limit)[7].clone();
    let [one, thirteen, fifteen, zero] = ["1.00000000", "13.00000000", "15.00000000", "0.00000000"];
    let (six, five) = ("6.00000000", "5.00000000");
    let gathering = |quantity: &str| {
        [
            json!(["MARKET", "GTC", zero, "NEW", fifteen, zero, true, "mine"]),
            json!(["LIMIT", "GTC", "101.00000000", "NEW", quantity, zero, true, named_limit]),
        ]
    };
    assert_eq!([&market, &limit].map(|id| get(&http, id)), gathering(six));
    let open = keys.send(&http, "GET", "openOrders", "symbol=SPYUSD").body;
    assert_eq!(json!(open.as_array().unwrap().iter().map(told).collect::<Vec<_>>()), json!(gathering(six)));
    let amended =
        keys.send(&http, "PUT", "order/amend/keepPriority", &format!("symbol=SPYUSD&orderId={limit}&newQty=5"));
    assert_eq!(fields(&amended.body["amendedOrder"], ["type", "status", "qty"]), json!(["LIMIT", "NEW", five]));
    let account = |http: &Http| {
        let balances = keys.send(http, "GET", "account", "").body["balances"].clone();
        balances.as_array().unwrap().iter().find(|balance| balance["asset"] == "USD").unwrap()["locked"].clone()
    };
    assert_eq!(account(&http), "2155.00000000", "the market order holds money for the end of the band");
    http.make("/api/v1/orders", &limited("2", "sell", "10", "99"));
    http.make("/api/v1/orders", &order("2", "sell", "3", json!({"limit": "105"})));
    put(&http, "open");
    let mut reports = Vec::new();
    while reports.iter().filter(|report: &&Value| report[1] == "EXPIRED").count() < 2 {
        let event = socket.next();
        if event["e"] == "executionReport" {
            reports.push(json!([event["i"], event["X"], event["x"], event["o"], event["p"], event["z"], event["L"]]));
        }
    }
    let (price, limit_price) = ("105.00000000", "101.00000000");
    assert_eq!(
        reports,
        [
            json!([market, "NEW", "NEW", "MARKET", zero, zero, zero]),
            json!([limit, "NEW", "NEW", "LIMIT", limit_price, zero, zero]),
            json!([limit, "NEW", "REPLACED", "LIMIT", limit_price, zero, zero]),
            json!([market, "PARTIALLY_FILLED", "TRADE", "MARKET", zero, "10.00000000", price]),
            json!([market, "PARTIALLY_FILLED", "TRADE", "MARKET", zero, thirteen, price]),
            json!([market, "EXPIRED", "EXPIRED", "MARKET", zero, thirteen, zero]),
            json!([limit, "EXPIRED", "EXPIRED", "LIMIT", limit_price, zero, zero]),
        ]
    );
    let ended = |http: &Http| {
        assert_eq!(get(http, &market), json!(["MARKET", "GTC", zero, "EXPIRED", fifteen, thirteen, true, "mine"]));
        assert_eq!(get(http, &limit), json!(["LIMIT", "GTC", limit_price, "EXPIRED", five, zero, true, named_limit]));
        let all = keys.send(http, "GET", "allOrders", "symbol=SPYUSD").body;
        let all: Vec<&Value> = all.as_array().unwrap().iter().map(|order| &order["status"]).collect();
        assert_eq!(all, ["FILLED", "EXPIRED", "EXPIRED"]);
        assert_eq!(account(http), zero);
        assert_eq!(keys.send(http, "GET", "openOrders", "").body, json!([]));
    };
    ended(&http);
    // A canceled one is told as any other.
    put(&http, "auction");
    let gone = http.make("/api/v1/orders", &limited("1", "buy", "1", "101"))["order_id"].clone();
    let canceled = keys.send(&http, "DELETE", "order", &format!("symbol=SPYUSD&orderId={gone}")).body;
    assert_eq!(fields(&canceled, ["status", "origQty", "type"]), json!(["CANCELED", one, "LIMIT"]));
    put(&http, "open");
    server.stop();
    let server = keys.launch(&folder).start();
    ended_after_a_restart(&Http::new(server.http), &keys, [&market, &limit, &gone]);
    server.stop();
}

fn ended_after_a_restart(http: &Http, keys: &KeyFile, orders: [&Value; 3]) {
    let told = orders.map(|id| {
        let order = keys.send(http, "GET", "order", &format!("symbol=SPYUSD&orderId={id}")).body;
        fields(&order, ["type", "status", "price"])
    });
    let (zero, price) = ("0.00000000", "101.00000000");
    assert_eq!(
        told,
        [json!(["MARKET", "EXPIRED", zero]), json!(["LIMIT", "EXPIRED", price]), json!(["LIMIT", "CANCELED", price])]
    );
}
