//! Attacks by clients that follow a busy account.

use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::attack::{Attack, Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::Client;
use crate::common::fix::Fix;
use crate::common::http::Http;
use crate::common::raw::connect_narrow;
use crate::common::server::PATIENCE;
use crate::peers::allow_many_files;

/// The number of commands in one request.
const TOGETHER: usize = 9_000;
/// The allowed costs where the feed follows a large piece of work while bystanders wait for answers about earlier
/// events.
const MUCH: Limits = Limits { p99: Duration::from_millis(500), longest: Duration::from_secs(2), ..ORDINARY };

fn market(scene: &Scene) -> Client {
    let mut client = scene.server.client();
    let told = client.ask(
        "<create><account id=\"1\" balance=\"100000000\"/><account id=\"2\" balance=\"100000000\"/><symbol sym=\"S\">\
         <account id=\"1\">10000000</account><account id=\"2\">10000000</account></symbol></create>",
    );
    assert!(!told.contains("<error"), "{told}");
    client
}

/// Places this many orders, a request at a time.
fn place(client: &mut Client, account: u32, order: &str, count: usize) {
    for done in (0..count).step_by(TOGETHER) {
        let orders = order.repeat(TOGETHER.min(count - done));
        let told = client.ask(&format!("<transactions id=\"{account}\">{orders}</transactions>"));
        assert!(!told.contains("<error"), "{told:.300}");
    }
}

/// Waits until the feed has followed everything.
fn followed(attack: &Attack) {
    Http::new(attack.server().http).read("/api/v1/status");
}

/// A regression: a thousand trailing stops were reported anew for each new price: five requests made 5.4 GiB of
/// messages.
#[test]
fn a_follower_of_orders_that_the_market_moves_costs_no_more_than_its_messages() {
    let requests = size(2, 12);
    let limits = Limits { memory: size(80, 200) * MIB, ..MUCH };
    let scene = Scene::set("a follower of 100 trailing stops", limits, |launch| launch);
    let mut client = market(&scene);
    let trade = |dollars: usize| {
        format!(
            "<order sym=\"S\" amount=\"-1\" limit=\"{dollars}\"/><order sym=\"S\" amount=\"1\" limit=\"{dollars}\"/>"
        )
    };
    place(&mut client, 2, &trade(1_000), 1);
    place(&mut client, 1, "<order sym=\"S\" amount=\"-1\" type=\"market\" trail=\"5\"/>", 100);
    let attack = scene.attack();
    let mut socket = Http::new(attack.server().http).listen();
    socket.subscribe(json!({"op": "subscribe", "id": 1, "channel": "orders", "account": "1"}));
    for request in 0..requests {
        let highs: String = (1..=TOGETHER / 2).map(|high| trade(1_000 + request * TOGETHER / 2 + high)).collect();
        let told = client.ask(&format!("<transactions id=\"2\">{highs}</transactions>"));
        assert!(!told.contains("<error"), "{told:.300}");
    }
    followed(&attack);
    attack.end(&format!("{} new highs", requests * TOGETHER / 2));
}

/// A regression: reports were made for each session, in the thread that answers everyone, and HTTP stood still for 46
/// s.
#[test]
fn sessions_that_read_nothing_cost_what_one_does() {
    let (sessions, orders) = (size(60, 200), size(36_000, 100_000));
    allow_many_files(sessions);
    let limits = Limits { memory: size(250, 400) * MIB, ..MUCH };
    let scene = Scene::set("FIX sessions that read nothing", limits, |launch| launch.with("--fix 127.0.0.1:0"));
    let mut client = market(&scene);
    let attack = scene.attack();
    let address = attack.server().fix.expect("it was asked for");
    let hears = |number: usize| {
        let stream = connect_narrow(address);
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut fix = Fix::over(stream, &format!("S{number}"));
        fix.log_on_with("");
        fix.send("AF", "584=begin|585=7|1=1|");
        fix.expect(&["150=I"]);
        fix
    };
    let held: Vec<Fix<TcpStream>> = (0..sessions).map(hears).collect();
    place(&mut client, 1, "<order sym=\"S\" amount=\"1\" limit=\"1\"/>", orders);
    for _ in 0..orders.div_ceil(100_000) {
        // Each of these cancels a thousand orders.
        client.ask(&format!("<transactions id=\"1\">{}</transactions>", "<cancel-all/>".repeat(100)));
    }
    followed(&attack);
    drop(held);
    attack.end(&format!("{sessions} sessions, {orders} orders"));
}

/// A regression: the feed followed all of a sweep before it answered anything else, and HTTP had no answer for 6 s.
#[test]
fn a_sweep_of_a_followed_account_is_told_in_bounded_memory() {
    let orders = size(50_000, 500_000);
    let limits = Limits { memory: size(175, 700) * MIB, ..MUCH };
    let scene = Scene::set("a sweep of a followed account", limits, |launch| launch);
    let mut client = market(&scene);
    place(&mut client, 1, "<order sym=\"S\" amount=\"-1\" limit=\"1\"/>", orders);
    let attack = scene.attack();
    let mut socket = Http::new(attack.server().http).listen();
    for account in ["1", "2"] {
        socket.send(&json!({"op": "subscribe", "id": account, "channel": "orders", "account": account}));
    }
    let told = client
        .ask(&format!("<transactions id=\"2\"><order sym=\"S\" amount=\"{orders}\" limit=\"1\"/></transactions>"));
    assert!(!told.contains("<error"), "{told:.300}");
    followed(&attack);
    attack.end(&format!("{orders} orders"));
}
