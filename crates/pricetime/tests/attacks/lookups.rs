//! Attacks by queries of orders that only the archive has, and by pages of the past: few bytes that ask for very many.

use std::time::Duration;

use serde_json::json;

use crate::attack::{Attack, Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::frame;
use crate::common::http::Http;
use crate::floods::flood;

/// The number of executions of the heavy order, which is the first one.
const HEAVY: usize = 150_000;
const HEAVY_ORDER: &str = "1";
/// A bystander's order in the archive, which has one execution.
const LIGHT_ORDER: &str = "150002";

/// Starts a server that has forgotten both orders: only the archive has them.
fn with_heavy_order(title: &'static str, limits: Limits) -> Scene {
    const A_REQUEST: usize = 9_000;
    let scene = Scene::set(title, limits, |launch| launch);
    let mut client = scene.server.client();
    client.ask("<create><account id=\"1\" balance=\"1000000\"/><symbol sym=\"S\"><account id=\"1\">1000000</account></symbol></create>");
    client.ask(&format!("<transactions id=\"1\"><order sym=\"S\" amount=\"{HEAVY}\" limit=\"1\"/></transactions>"));
    let mut left = HEAVY;
    while left > 0 {
        let count = left.min(A_REQUEST);
        let sells = "<order sym=\"S\" amount=\"-1\" limit=\"1\"/>".repeat(count);
        client.ask(&format!("<transactions id=\"1\">{sells}</transactions>"));
        left -= count;
    }
    let both = "<order sym=\"S\" amount=\"1\" limit=\"1\"/><order sym=\"S\" amount=\"-1\" limit=\"1\"/>";
    client.ask(&format!("<transactions id=\"1\">{both}</transactions>"));
    drop(client);
    scene.again()
}

fn queries(orders: &[&str]) -> String {
    let queries: String = orders.iter().map(|order| format!("<query id=\"{order}\"/>")).collect();
    format!("<transactions id=\"1\">{queries}</transactions>")
}

/// Queries the light order meanwhile: its look-ups do not wait for those of the heavy one.
fn look_up_meanwhile(attack: &Attack) {
    let mut client = attack.server().client();
    for _ in 0..size(20, 200) {
        let reply = client.ask(&queries(&[LIGHT_ORDER]));
        assert_eq!(reply.matches("<executed shares=\"1\" price=\"1\"").count(), 1, "{reply:.300}");
    }
}

/// A regression: each query of the request read the order anew, with all of its executions: 24 GB.
#[test]
fn an_archived_order_that_is_asked_for_thousands_of_times_takes_no_more_than_a_reply() {
    const QUERIES: usize = 9_000;
    let attack = with_heavy_order("9,000 queries of a heavy order", ORDINARY).attack();
    let request = queries(&[HEAVY_ORDER; QUERIES]);
    let mut asking = attack.server().client();
    let mut outcome = String::new();
    for _ in 0..size(2, 20) {
        asking.send_request(&request).unwrap();
        look_up_meanwhile(&attack);
        let reply = asking.reply().unwrap();
        assert!(reply.len() <= 16 * MIB as usize + QUERIES * 64, "{} bytes", reply.len());
        let (shown, refused) = (reply.matches("<status ").count(), reply.matches("reply too large").count());
        assert!(shown > 0 && shown + refused == QUERIES, "{shown} shown, {refused} refused");
        assert_eq!(reply.matches("<executed ").count(), shown * HEAVY);
        outcome = format!("{shown} shown, {refused} refused: reply too large");
    }
    attack.end(&outcome);
}

/// A regression: each of the waiting look-ups held all executions of its order.
#[test]
fn look_ups_that_nobody_takes_are_bounded() {
    let limits = Limits { time: Duration::from_secs(180), ..ORDINARY };
    let attack = with_heavy_order("40 floods of queries of a heavy order", limits).attack();
    let request = frame(&queries(&[HEAVY_ORDER, HEAVY_ORDER, HEAVY_ORDER]));
    for _ in 0..size(1, 5) {
        flood(&attack, 40, &request, 256 << 10);
        look_up_meanwhile(&attack);
    }
    // A client that reads its answers gets them, in its turn.
    let reply = attack.server().ask(&queries(&[HEAVY_ORDER]));
    assert_eq!(reply.matches("<executed ").count(), HEAVY);
    attack.end("who does not read is disconnected, who reads is answered");
}

/// A regression: a page of past orders that its filter left empty looked at 10,000 records in one question. 900
/// connections of one member kept everybody waiting for 16 to 46 s.
#[test]
fn pages_of_the_past_that_match_nothing_hold_nobody_up() {
    const ORDERS: usize = 12_000;
    const AT_ONCE: usize = 4_000;
    // The last of the 10,000 orders that a page looks at.
    const NEXT: usize = ORDERS - 10_000 + 1;
    let scene = Scene::set("pages of the past that match nothing", ORDINARY, |launch| launch);
    let mut client = scene.server.client();
    client.ask(
        "<create><account id=\"1\" balance=\"1000000\"/><symbol sym=\"S\"><account id=\"1\">9</account></symbol>\
         <symbol sym=\"T\"><account id=\"1\">9</account></symbol></create>",
    );
    let both = "<order sym=\"S\" amount=\"1\" limit=\"1\"/><order sym=\"S\" amount=\"-1\" limit=\"1\"/>";
    for _ in 0..ORDERS / AT_ONCE {
        let told = client.ask(&format!("<transactions id=\"1\">{}</transactions>", both.repeat(AT_ONCE / 2)));
        assert!(!told.contains("<error"), "{told:.300}");
    }
    drop(client);
    let attack = scene.attack();
    let (askers, rounds) = (size(32, 400), size(1, 5));
    let http = attack.server().http;
    std::thread::scope(|scope| {
        for _ in 0..askers {
            scope.spawn(move || {
                let http = Http::new(http);
                for _ in 0..rounds {
                    let page = http.read("/api/v1/accounts/1/orders?status=all&symbol=T");
                    assert_eq!(page, json!({"orders": [], "next": NEXT}));
                    let page = http.read(&format!("/api/v1/accounts/1/orders?status=all&symbol=T&before={NEXT}"));
                    assert_eq!(page, json!({"orders": [], "next": null}));
                    let page = http.read("/api/v1/accounts/1/executions?symbol=T");
                    assert_eq!(page, json!({"executions": [], "next": null}));
                }
            });
        }
    });
    // A page of more entries than one step reads has all of them.
    let page = Http::new(http).read("/api/v1/accounts/1/orders?status=all&symbol=S&limit=1000");
    let orders: Vec<u64> =
        page["orders"].as_array().unwrap().iter().map(|order| order["order_id"].as_u64().unwrap()).collect();
    let newest = ORDERS as u64;
    assert!(orders.iter().copied().eq((newest - 999..=newest).rev()), "{orders:?}");
    assert_eq!(page["next"], newest - 999);
    attack.end(&format!("{} pages without an entry", askers * rounds * 3));
}
