//! Attacks by queries of orders that only the archive has: few bytes that ask for very many.

use std::time::Duration;

use crate::attack::{Attack, Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::frame;
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
