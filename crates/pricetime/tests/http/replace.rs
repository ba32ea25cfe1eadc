//! Replacing orders over REST and the compatible interface: what happens to the old and the new order, and that nothing
//! comes between the two.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::folder::Folder;
use crate::common::http::{Answer, Http};
use crate::common::keys::KeyFile;
use crate::common::server::Launch;
use serde_json::{Value, json};

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100</account><account id="2">100</account></symbol></create>"#;

/// A buy of account 1.
fn buy(shares: &str, limit: &str) -> Value {
    json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": limit, "shares": shares})
}

fn named(id: &str, mut order: Value) -> Value {
    order["client_order_id"] = id.into();
    order
}

fn put(http: &Http, path: &str, body: &Value) -> Answer {
    let json = [("content-type", "application/json")];
    http.send("PUT", &format!("/api/v1/orders/{path}"), Some(&body.to_string()), &json)
}

/// The status, the ids of the canceled and the placed order, and the codes of failures.
fn told(answer: &Answer) -> Value {
    let body = &answer.body;
    assert!(answer.status < 300, "{answer:?}");
    json!([
        answer.status,
        body["canceled"]["order_id"],
        body["not_canceled"]["code"],
        body["placed"]["order_id"],
        body["not_placed"]["code"]
    ])
}

#[test]
fn what_the_old_order_held_pays_for_the_new_one_and_each_is_told_of() {
    let folder = Folder::new("replace-rest");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    let open = |http: &Http| http.read("/api/v1/status")["open_orders"].clone();
    http.make("/api/v1/orders", &buy("10", "50"));
    assert_eq!(http.post("/api/v1/orders", &buy("19", "50")).code(), (422, "insufficient-funds"));
    let replaced = put(&http, "1", &buy("19", "50"));
    assert_eq!(told(&replaced), json!([201, 1, null, 2, null]));
    assert_eq!(
        (&replaced.body["canceled"]["status"], &replaced.body["canceled"]["canceled"]),
        (&json!("canceled"), &json!("10"))
    );
    assert_eq!((&replaced.body["placed"]["shares"], open(&http)), (&json!("19"), json!(1)));
    // The old order is done, so nothing is placed unless that is asked for.
    assert_eq!(put(&http, "1", &buy("1", "50")).code(), (409, "nothing-open"));
    assert_eq!(put(&http, "1?on_failure=stop", &buy("1", "50")).code(), (409, "nothing-open"));
    assert_eq!(put(&http, "7", &buy("1", "50")).code(), (404, "unknown-order"));
    assert_eq!(open(&http), 1);
    assert_eq!(told(&put(&http, "1?on_failure=place", &buy("1", "40"))), json!([201, null, "nothing-open", 3, null]));
    assert_eq!(told(&put(&http, "7?on_failure=place", &buy("1", "1"))), json!([201, null, "unknown-order", 4, null]));
    // The cancel stands when the new order is refused. When neither is done, nothing changes.
    assert_eq!(told(&put(&http, "2", &buy("100", "50"))), json!([200, 2, null, null, "insufficient-funds"]));
    assert_eq!(put(&http, "2?on_failure=place", &buy("100", "50")).code(), (422, "insufficient-funds"));
    assert_eq!(open(&http), 2);
    // Another account's order is answered as one that does not exist.
    let mut others = buy("1", "1");
    others["account"] = "2".into();
    assert_eq!(put(&http, "3", &others).code(), (404, "unknown-order"));
    others["account"] = "9".into();
    assert_eq!(put(&http, "3?on_failure=place", &others).code(), (404, "unknown-account"));
    for (path, body) in [("3?on_failure=maybe", buy("1", "1")), ("3", buy("0", "1")), ("3", json!({}))] {
        assert_eq!(put(&http, path, &body).code(), (400, "malformed"), "{path} {body}");
    }
    // The orders are named by client order ids, and the request is sent again because its answer was lost.
    http.make("/api/v1/orders", &named("a/b", buy("1", "30")));
    let renamed = named("c", buy("2", "30"));
    assert_eq!(told(&put(&http, "by-client-id/a/b", &renamed)), json!([201, 5, null, 6, null]));
    assert_eq!(told(&put(&http, "by-client-id/a/b", &renamed)), json!([200, null, "nothing-open", 6, null]));
    assert_eq!(put(&http, "by-client-id/a/b", &named("c", buy("3", "30"))).code(), (409, "nothing-open"));
    assert_eq!(put(&http, "by-client-id/never", &renamed).body["placed"]["order_id"], 6);
    // An order for money buys as many shares as the money pays for.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-5" limit="60"/></transactions>"#);
    let funds = json!({"account": "1", "symbol": "SPY", "side": "buy", "kind": "market", "funds": "90"});
    let replaced = put(&http, "3", &funds);
    assert_eq!((told(&replaced), &replaced.body["placed"]["shares"]), (json!([201, 3, null, 8, null]), &json!("1.5")));
    assert_eq!(put(&http, "3", &funds).code(), (409, "nothing-open"));
    server.stop();

    // Only the history knows the done orders now.
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(put(&http, "1", &buy("1", "1")).code(), (409, "nothing-open"));
    others["account"] = "2".into();
    assert_eq!(put(&http, "1", &others).code(), (404, "unknown-order"));
    assert_eq!(told(&put(&http, "1?on_failure=place", &buy("1", "1"))), json!([201, null, "nothing-open", 9, null]));
    let reply = server.ask(r#"<transactions id="1"><replace id="1" sym="SPY" amount="1" limit="1"/></transactions>"#);
    let [nothing, why] =
        ["Order has nothing open to cancel", "Nothing was placed: the order that it was to replace was not canceled"];
    let order = r#"sym="SPY" amount="1" limit="1""#;
    assert_eq!(
        reply,
        format!(
            "<results><replaced><error id=\"1\">{nothing}</error><error {order}>{why}</error></replaced></results>\n"
        )
    );
    let held = http.read("/api/v1/accounts/1");
    let orders = http.read("/api/v1/accounts/1/orders");
    let sum = |field: &str| {
        let orders = orders["orders"].as_array().unwrap().iter();
        orders.map(|order| order[field].as_str().unwrap().parse::<f64>().unwrap()).collect::<Vec<f64>>()
    };
    let expected: f64 = sum("limit").iter().zip(sum("open")).map(|(limit, open)| limit * open).sum();
    assert_eq!(held["held"].as_str().unwrap().parse::<f64>().unwrap(), expected);
    server.stop();
}

/// A client that moved its order lost it when the new one was refused, and with it the place and the hold.
#[test]
fn a_refused_order_leaves_the_old_one_at_its_place_if_that_is_asked_for() {
    let folder = Folder::new("replace-keep");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    http.make("/api/v1/orders", &named("first", buy("10", "50")));
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="1" limit="50"/></transactions>"#);
    let market = |http: &Http| {
        let (account, orders) = (http.read("/api/v1/accounts/1"), http.read("/api/v1/accounts/1/orders"));
        json!([account["balance"], account["held"], orders["orders"]])
    };
    let before = market(&http);
    // Refused over REST: for money, by its terms, and in a halt.
    let keep = |http: &Http, order: &Value| put(http, "1?on_failure=keep", order);
    assert_eq!(keep(&http, &buy("21", "50")).code(), (422, "insufficient-funds"));
    let mut sell = buy("1", "50");
    (sell["side"], sell["kind"]) = ("sell".into(), "post_only".into());
    assert_eq!(keep(&http, &sell).code(), (422, "would-take"), "the order of account 2 is in its way");
    server.ask(r#"<create><phase sym="SPY" is="halted"/></create>"#);
    assert_eq!(keep(&http, &buy("1", "50")).code(), (409, "halted"));
    assert_eq!(market(&http), before);
    // Refused over XML, where both answers are told.
    let replace = |attributes: &str| format!("<transactions id=\"1\"><replace {attributes}/></transactions>");
    let order = r#"sym="SPY" amount="1" limit="50""#;
    let kept = "Order stays as it is: the order that was to replace it was not placed";
    let halted = "Trading is halted: orders can be canceled, and only those for the next auction are placed";
    let reply = server.ask(&replace(&format!(r#"client-id="first" {order} on-failure="keep""#)));
    assert!(reply.contains(&format!(r#"<replaced><error client-id="first">{kept}</error>"#)), "{reply}");
    assert!(reply.contains(&format!(r#"<error {order}>{halted}"#)), "{reply}");
    assert_eq!(market(&http), before);
    server.ask(r#"<create><phase sym="SPY" is="open"/></create>"#);
    // An order that is done is not replaced, and one that was placed before leaves the old one.
    assert_eq!(put(&http, "7?on_failure=keep", &buy("1", "50")).code(), (404, "unknown-order"));
    http.make("/api/v1/orders", &named("third", buy("1", "1")));
    let again = keep(&http, &named("third", buy("1", "1")));
    assert_eq!(told(&again), json!([200, null, "kept", 3, null]));
    // All of that is so after a start, too: the old order is before that of account 2.
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="50"/></transactions>"#);
    let first = http.read("/api/v1/orders/1?account=1");
    assert_eq!(first["open"], "9", "{first}");
    // What the old order holds pays for the new one.
    let replaced = keep(&http, &buy("18", "51"));
    assert_eq!(told(&replaced), json!([201, 1, null, 5, null]));
    assert_eq!(replaced.body["canceled"]["canceled"], "9");
    let after = market(&http);
    server.stop();
    let server = launch.start();
    let http = Http::new(server.http);
    assert_eq!(market(&http), after);
    assert_eq!(put(&http, "1?on_failure=keep", &buy("1", "50")).code(), (409, "nothing-open"));
    server.stop();
}

/// Sets the flag when it is dropped.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// An order that holds all money of the account is replaced again and again. If any command came between the cancel and
/// the new order, the account's other order, which is sent as often, would find the money free.
#[test]
fn nobody_comes_between_the_cancel_and_the_new_order() {
    let folder = Folder::new("replace-atomic");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    http.make("/api/v1/orders", &buy("100", "10"));
    let (done, mut client) = (AtomicBool::new(false), server.client());
    let tried = std::thread::scope(|scope| {
        // The other thread ends with this one, also when this one panics.
        let ended = Ended(&done);
        let done = &done;
        let thief = scope.spawn(move || {
            let mut tried = 0u32;
            while !done.load(Ordering::SeqCst) {
                let reply =
                    client.ask(r#"<transactions id="1"><order sym="SPY" amount="1" limit="1"/></transactions>"#);
                assert!(reply.contains("Insufficient funds: 1 needed, 0 available"), "{reply}");
                tried += 1;
            }
            tried
        });
        for order in 1..=300u64 {
            let replaced = put(&http, &order.to_string(), &buy("100", "10"));
            assert_eq!(told(&replaced), json!([201, order, null, order + 1, null]));
        }
        drop(ended);
        thief.join().unwrap()
    });
    assert!(tried > 100, "{tried}");
    server.stop();
}

const REPLACE: &str = "symbol=SPYUSD&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=10";

/// Status, code, the results of both halves, and the codes of those that failed.
fn result(answer: &Answer) -> Value {
    let data = if answer.status == 200 { &answer.body } else { &answer.body["data"] };
    assert_eq!(answer.body["msg"].is_string(), answer.status != 200, "{answer:?}");
    json!([
        answer.status,
        answer.body["code"],
        data["cancelResult"],
        data["cancelResponse"]["code"],
        data["newOrderResult"],
        data["newOrderResponse"]["code"]
    ])
}

#[test]
fn clients_of_the_compatible_interface_are_told_both_results() {
    let folder = Folder::new("binance-replace");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let replace = |words: &str| keys.send(&http, "POST", "order/cancelReplace", &format!("{REPLACE}&{words}"));
    let place = |words: &str| {
        let placed = keys.send(&http, "POST", "order", &format!("{REPLACE}&{words}"));
        placed.body["orderId"].as_u64().unwrap_or_else(|| panic!("{placed:?}"))
    };
    let open = || http.read("/api/v1/status")["open_orders"].clone();
    let [stop, allow] = ["cancelReplaceMode=STOP_ON_FAILURE", "cancelReplaceMode=ALLOW_FAILURE"];
    let first = place("newClientOrderId=first");
    // What the cancel frees is available: 990 of 1,000 dollars are left.
    let new = "newClientOrderId=second&cancelNewClientOrderId=the-cancel";
    let all = format!("{}&{stop}&cancelOrderId={first}&{new}", REPLACE.replace("quantity=1", "quantity=100"));
    let both = keys.send(&http, "POST", "order/cancelReplace", &all);
    assert_eq!(result(&both), json!([200, null, "SUCCESS", null, "SUCCESS", null]), "{both:?}");
    let (canceled, placed) = (&both.body["cancelResponse"], &both.body["newOrderResponse"]);
    let fields =
        ["orderId", "origClientOrderId", "clientOrderId", "status", "origQty"].map(|field| canceled[field].clone());
    assert_eq!(json!(fields), json!([first, "first", "the-cancel", "CANCELED", "1.00000000"]));
    assert_eq!(
        (&placed["clientOrderId"], &placed["status"], &placed["fills"]),
        (&json!("second"), &json!("NEW"), &json!([]))
    );

    // The cancel fails.
    let failed = json!([400, -2022, "FAILURE", -2011, "NOT_ATTEMPTED", null]);
    for named in [format!("cancelOrderId={first}"), "cancelOrderId=77".into(), "cancelOrigClientOrderId=nobody".into()]
    {
        let refused = replace(&format!("{stop}&{named}"));
        assert_eq!(result(&refused), failed, "{named}");
        assert!(refused.body["data"]["newOrderResponse"].is_null());
    }
    let names = "cancelOrigClientOrderId=first";
    assert_eq!(result(&replace(&format!("{stop}&cancelOrderId=2&{names}"))), failed, "two names of two orders");
    let kept = "cancelRestrictions=ONLY_PARTIALLY_FILLED";
    assert_eq!(result(&replace(&format!("{stop}&{kept}&cancelOrderId=2"))), failed);
    assert_eq!(open(), 1);
    // The cancel fails, and the new order is placed all the same.
    let other = replace(&format!("{allow}&cancelOrderId={first}"));
    assert_eq!(result(&other), json!([400, -2022, "FAILURE", -2011, "FAILURE", -2010]), "all money is held");
    let poor = keys.send(
        &http,
        "POST",
        "order/cancelReplace",
        &format!("{}&{allow}&{kept}&cancelOrderId=2", REPLACE.replace("BUY", "SELL").replace("price=10", "price=20")),
    );
    assert_eq!(result(&poor), json!([409, -2021, "FAILURE", -2011, "SUCCESS", null]), "{poor:?}");
    assert_eq!(open(), 2);
    // The cancel succeeds, and the new order is refused.
    for (mode, words) in [(stop, "newClientOrderId=second"), (allow, "newClientOrderId=second")] {
        let id = http.read("/api/v1/accounts/1/orders")["orders"][0]["order_id"].clone();
        let partly = replace(&format!("{mode}&cancelOrderId={id}&{words}"));
        assert_eq!(result(&partly), json!([409, -2021, "SUCCESS", null, "FAILURE", -2010]), "{partly:?}");
        assert_eq!(partly.body["data"]["newOrderResponse"]["msg"], "Duplicate order sent.");
    }
    assert_eq!(open(), 0);
    // The id of a done order is free, and now names the new order.
    let other = place("");
    let again = replace(&format!("{stop}&cancelOrderId={other}&newClientOrderId=first"));
    assert_eq!(result(&again), json!([200, null, "SUCCESS", null, "SUCCESS", null]), "{again:?}");
    let by_name = keys.send(&http, "GET", "order", "symbol=SPYUSD&origClientOrderId=first").body;
    assert_eq!(by_name["orderId"], again.body["newOrderResponse"]["orderId"]);
    assert_ne!(by_name["orderId"], first);
    keys.send(&http, "DELETE", "order", "symbol=SPYUSD&origClientOrderId=first");
    // A market order, and one that executes when it arrives.
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-5" limit="10"/></transactions>"#);
    let resting = keys.send(&http, "POST", "order", &REPLACE.replace("price=10", "price=9")).body["orderId"].clone();
    let market = format!("symbol=SPYUSD&side=BUY&type=MARKET&quoteOrderQty=20&{stop}&cancelOrderId={resting}");
    let market = keys.send(&http, "POST", "order/cancelReplace", &market);
    assert_eq!(result(&market), json!([200, null, "SUCCESS", null, "SUCCESS", null]), "{market:?}");
    let new = &market.body["newOrderResponse"];
    assert_eq!(
        (&new["status"], &new["executedQty"], &new["fills"][0]["price"]),
        (&json!("FILLED"), &json!("2.00000000"), &json!("10.00000000"))
    );
    // An order that waits for a price is replaced by another such order.
    let waiting = |price: &str| {
        format!("symbol=SPYUSD&side=BUY&type=STOP_LOSS_LIMIT&timeInForce=GTC&quantity=1&price=30&stopPrice={price}")
    };
    let old = keys.send(&http, "POST", "order", &waiting("25")).body["orderId"].clone();
    let asked = format!("{}&{stop}&cancelOrderId={old}", waiting("26"));
    let both = keys.send(&http, "POST", "order/cancelReplace", &asked);
    assert_eq!(result(&both), json!([200, null, "SUCCESS", null, "SUCCESS", null]), "{both:?}");
    let new = &both.body["newOrderResponse"]["orderId"];
    let waits = keys.send(&http, "GET", "order", &format!("symbol=SPYUSD&orderId={new}")).body;
    assert_eq!((&waits["isWorking"], &waits["stopPrice"]), (&json!(false), &json!("26.00000000")), "{waits}");
    server.stop();
}

#[test]
fn no_parameter_of_a_replacement_is_passed_over() {
    let folder = Folder::new("binance-replace-parameters");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    let first = keys.send(&http, "POST", "order", REPLACE).body["orderId"].clone();
    let usual = format!("{REPLACE}&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId={first}");
    for (from, to, code) in [
        ("&cancelReplaceMode=STOP_ON_FAILURE", "", -1102),
        ("STOP_ON_FAILURE", "STOP", -1130),
        (&*format!("&cancelOrderId={first}"), "", -1102),
        (&format!("cancelOrderId={first}"), "cancelOrderId=-1", -1100),
        ("symbol=SPYUSD", "symbol=QQQUSD", -1121),
        ("price=10", "price=0", -1013),
        ("price=10", "price=10&stopPrice=11", -1106),
        ("price=10", "price=10&trailingDelta=11", -1106),
        ("price=10", "price=10&strategyId=1", -1106),
        ("price=10", "price=10&strategyId=1", -1106),
        ("price=10", "price=10&pegPriceType=PRIMARY_PEG", -1106),
        ("price=10", "price=10&orderId=1", -1106),
        ("price=10", "price=10&cancelRestrictions=NEVER", -1145),
        ("price=10", "price=10&orderRateLimitExceededMode=WAIT", -1130),
        ("price=10", "price=10&cancelNewClientOrderId=with%20blank", -1100),
        ("price=10", "price=10&newClientOrderId=with%20blank", -1100),
        ("price=10", "price=10&newOrderRespType=MUCH", -1136),
    ] {
        assert!(usual.contains(from), "{from}");
        let refused = keys.send(&http, "POST", "order/cancelReplace", &usual.replace(from, to));
        assert_eq!(refused.body["code"], code, "{from} → {to}: {refused:?}");
        assert!(refused.status == 400 && refused.body["data"].is_null(), "{refused:?}");
    }
    assert_eq!(http.read("/api/v1/accounts/1/orders")["orders"][0]["order_id"], first, "none of them canceled it");
    let asked =
        format!("{usual}&cancelRestrictions=ONLY_NEW&orderRateLimitExceededMode=CANCEL_ONLY&newOrderRespType=ACK");
    let done = keys.send(&http, "POST", "order/cancelReplace", &asked);
    assert_eq!(result(&done), json!([200, null, "SUCCESS", null, "SUCCESS", null]));
    assert!(done.body["newOrderResponse"]["status"].is_null(), "{done:?}");
    // The bound on client order ids is not a rate limit, so the cancel stands.
    server.stop();
    let server = keys.launch(&folder).with("--max-client-orders 0").start();
    let http = Http::new(server.http);
    let second = &done.body["newOrderResponse"]["orderId"];
    let asked =
        format!("{REPLACE}&cancelReplaceMode=STOP_ON_FAILURE&cancelOrderId={second}&newClientOrderId=one-too-many");
    let partly = keys.send(&http, "POST", "order/cancelReplace", &asked);
    assert_eq!(result(&partly), json!([409, -2021, "SUCCESS", null, "FAILURE", -1015]), "{partly:?}");
    server.stop();
}

/// The id of a done order could not be freed, and the whole request was refused, though it had canceled the old order.
#[test]
fn an_id_that_cannot_be_freed_is_a_failure_of_the_new_order_alone() {
    let folder = Folder::new("binance-replace-freeing");
    let (server, _, keys) = KeyFile::serve(&folder, MARKET);
    for method in ["POST", "DELETE"] {
        let words = if method == "POST" { "newClientOrderId=done" } else { "origClientOrderId=done" };
        let order = if method == "POST" { REPLACE } else { "symbol=SPYUSD" };
        let answer = keys.send(&Http::new(server.http), method, "order", &format!("{order}&{words}"));
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    server.stop();
    // The day has all the client order ids that it may have.
    let server = keys.launch(&folder).with("--max-client-orders 0").start();
    let http = Http::new(server.http);
    for mode in ["STOP_ON_FAILURE", "ALLOW_FAILURE"] {
        let old = keys.send(&http, "POST", "order", REPLACE).body["orderId"].clone();
        let asked = format!("{REPLACE}&cancelReplaceMode={mode}&cancelOrderId={old}&newClientOrderId=done");
        let partly = keys.send(&http, "POST", "order/cancelReplace", &asked);
        assert_eq!(result(&partly), json!([409, -2021, "SUCCESS", null, "FAILURE", -1015]), "{partly:?}");
        assert_eq!(http.read("/api/v1/status")["open_orders"], 0);
    }
    server.stop();
}
