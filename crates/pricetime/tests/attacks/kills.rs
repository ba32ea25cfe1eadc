//! Attacks with requests that cancel very many orders: cancels of all orders of an account, and kills.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::attack::{Limits, MIB, ORDINARY, Scene, size};
use crate::common::http::Http;
use crate::common::server::Server;

/// The number of orders that one command cancels.
const CANCELS_MAX: usize = 1_000;
/// The number of orders of one request.
const AT_ONCE: usize = 9_000;

/// The allowed costs with this much memory, in MiB, in the short form: what was measured and half of it.
fn limits(short: u64) -> Limits {
    Limits { memory: size(short, 400) * MIB, ..ORDINARY }
}

fn transactions(account: u32, children: &str) -> String {
    format!("<transactions id=\"{account}\">{children}</transactions>")
}

/// Account 1 has shares of S to sell, and account 2 trades S and T.
fn open(server: &Server) {
    let accounts = "<account id=\"1\" balance=\"1000\"/><account id=\"2\" balance=\"1000000\"/>";
    let symbols = "<symbol sym=\"S\"><account id=\"1\">10000000</account></symbol><symbol sym=\"T\"/>";
    let told = server.ask(&format!("<create>{accounts}{symbols}</create>"));
    assert!(!told.contains("<error"), "{told}");
}

/// Lets account 1 sell S this often at 6.
fn sell(server: &Server, orders: usize) {
    let mut client = server.client();
    for count in (0..orders).step_by(AT_ONCE).map(|begun| (orders - begun).min(AT_ONCE)) {
        let told = client.ask(&transactions(1, &"<order sym=\"S\" amount=\"-1\" limit=\"6\"/>".repeat(count)));
        assert_eq!(told.matches("<opened").count(), count, "{told:.300}");
    }
}

/// The number in an attribute of a reply. None without the attribute.
fn number(told: &str, attribute: &str) -> Option<usize> {
    let rest = told.split(&format!(" {attribute}=\"")).nth(1)?;
    rest.split('"').next()?.parse().ok()
}

/// Runs the attack while account 2 places one order after the other. Returns the number of these orders.
fn orders_beside<T>(server: &Server, order: &str, attack: impl FnOnce() -> T) -> (usize, T) {
    let (mut trader, is_over) = (server.client(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let others = scope.spawn(|| {
            let mut placed = 0;
            while !is_over.load(Ordering::Relaxed) {
                let told = trader.ask(&transactions(2, order));
                assert!(told.contains("<opened"), "{told}");
                placed += 1;
            }
            placed
        });
        let outcome = attack();
        is_over.store(true, Ordering::Relaxed);
        (others.join().unwrap(), outcome)
    })
}

fn account(http: &Http) -> Value {
    http.read("/api/v1/accounts/1")
}

/// One command once canceled a million orders of an account, and no client was answered for 1.2 s.
#[test]
fn a_cancel_of_all_orders_of_a_large_account_lets_others_have_their_turn() {
    let orders = size(50_000, 1_000_000);
    let scene = Scene::set("cancel of all orders", limits(16), |launch| launch);
    open(&scene.server);
    sell(&scene.server, orders);
    let attack = scene.attack();
    let order = "<order sym=\"T\" amount=\"1\" limit=\"0.00000001\"/>";
    let (placed, canceled) = orders_beside(attack.server(), order, || {
        let (mut client, mut through, mut canceled) = (attack.server().client(), String::new(), 0);
        loop {
            let told = client.ask(&transactions(1, &format!("<cancel-all{through}/>")));
            canceled += number(&told, "orders").unwrap_or_else(|| panic!("{told}"));
            match number(&told, "left-through") {
                Some(left) => through = format!(" through=\"{left}\""),
                None => return canceled,
            }
        }
    });
    assert_eq!(canceled, orders);
    // The orders are counted, not timed: each step is a request, and other requests have their turn between two of
    // them.
    assert!(placed >= orders / CANCELS_MAX / 10, "{placed} orders of others");
    attack.end(&format!("{canceled} canceled, {placed} orders of another account meanwhile"));
}

/// A kill was one command as well. It goes on by itself, and orders that come meanwhile do not execute with killed
/// ones.
#[test]
fn a_kill_of_a_large_market_lets_others_have_their_turn() {
    let orders = size(50_000, 1_000_000);
    let scene = Scene::set("kill of a large market", limits(75), |launch| launch);
    open(&scene.server);
    sell(&scene.server, orders);
    let attack = scene.attack();
    let http = Http::new(attack.server().http);
    let mut placed = Vec::new();
    for (scope, order) in [
        ("sym=\"S\"", "<order sym=\"T\" amount=\"1\" limit=\"0.00000001\"/>"),
        ("account=\"1\"", "<order sym=\"S\" amount=\"1\" limit=\"6\"/>"),
    ] {
        let (others, ()) = orders_beside(attack.server(), order, || {
            let told = attack.server().ask(&format!("<create><kill {scope}/></create>"));
            assert!(told.contains("goes-on=\"true\""), "{told}");
            let balance = account(&http)["balance"].clone();
            while account(&http)["open_orders"] != 0 {}
            assert_eq!(account(&http)["balance"], balance, "nothing was sold behind the answer to the kill");
        });
        assert!(others > 1, "{others} orders of others");
        placed.push(others);
        let told = attack.server().ask(&format!("<create><release {scope}/></create>"));
        assert!(told.contains("<changed"), "{told}");
        if placed.len() == 1 {
            sell(attack.server(), orders);
        }
    }
    attack.end(&format!("twice {orders} canceled, {placed:?} orders of another account meanwhile"));
}

/// Each looked at every slot that an order ever had: 4,000 kills and releases, as many as a request once had, kept
/// everybody waiting for 20 s in a market that once had a million open orders.
#[test]
fn kills_and_releases_of_a_market_that_once_was_large_cost_next_to_nothing() {
    const OF_A_REQUEST: usize = 100;
    let (orders, requests) = (size(100_000, 1_000_000), size(40, 400));
    let scene = Scene::set("kills of what once was", limits(16), |launch| launch);
    open(&scene.server);
    sell(&scene.server, orders);
    let mut client = scene.server.client();
    let mut canceled = 0;
    while canceled < orders {
        canceled += number(&client.ask(&transactions(1, "<cancel-all/>")), "orders").unwrap();
    }
    let attack = scene.attack();
    let scopes = ["sym=\"S\"", "account=\"1\""];
    let both = scopes.map(|scope| format!("<kill {scope}/><release {scope}/>")).concat();
    let request = format!("<create>{}</create>", both.repeat(OF_A_REQUEST / 4));
    for _ in 0..requests {
        let told = client.ask(&request);
        assert_eq!(told.matches("<killed").count(), OF_A_REQUEST / 2, "{told:.300}");
    }
    attack.end(&format!("{} kills and releases", requests * OF_A_REQUEST));
}
