//! Attacks with orders, or requests of orders, that execute and trigger very many others.

use std::time::Duration;

use serde_json::{Value, json};

use crate::attack::{Attack, Limits, MIB, ORDINARY, Scene, size};
use crate::common::client::Client;
use crate::common::http::Http;
use crate::common::server::Server;
use crate::common::wait::wait_for;

/// The number of orders of one request.
const AT_ONCE: usize = 5_000;
/// The number of parts in which an order is shown: an order that takes all of it executes as often.
const PARTS: usize = 100;
const PATIENCE: Duration = Duration::from_secs(600);

/// The allowed costs with this much memory, in MiB, in the short form: the most that was measured and half of it. In
/// the long form executions wait for the history and the followers.
fn limits(short: u64) -> Limits {
    Limits { memory: size(short, 1_500) * MIB, time: Duration::from_secs(900), ..ORDINARY }
}

/// Lets an account place these orders.
fn place(client: &mut Client, account: u32, orders: impl Iterator<Item = String>) {
    let orders: Vec<String> = orders.collect();
    for some in orders.chunks(AT_ONCE) {
        let told = client.ask(&format!("<transactions id=\"{account}\">{}</transactions>", some.concat()));
        assert!(!told.contains("<error"), "{told:.300}");
    }
}

/// Account 1 has money and account 2 the shares of these symbols.
fn open(server: &Server, symbols: usize) -> Client {
    let mut client = server.client();
    client.ask("<create><account id=\"1\" balance=\"1000000000000\"/><account id=\"2\" balance=\"0\"/></create>");
    let numbers: Vec<usize> = (0..symbols).collect();
    for some in numbers.chunks(AT_ONCE) {
        let made: String = some
            .iter()
            .map(|n| format!("<symbol sym=\"S{n}\"><account id=\"2\">100000000</account></symbol>"))
            .collect();
        let told = client.ask(&format!("<create>{made}</create>"));
        assert!(!told.contains("<error"), "{told:.300}");
    }
    client
}

/// The ids of the opened orders.
fn ids(told: &str) -> impl Iterator<Item = u64> + use<'_> {
    told.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok())
}

/// Waits until the server has continued an order, by itself, so far that `is_done` returns true.
fn wait_until(attack: &Attack, order: u64, account: u32, is_done: impl Fn(&Value) -> bool) {
    let (http, path) = (Http::new(attack.server().http), format!("/api/v1/orders/{order}?account={account}"));
    wait_for("what was begun to be done", PATIENCE, || is_done(&http.read(&path)).then_some(()));
}

/// One command once executed 20 million times, and everybody waited for it.
#[test]
fn an_order_that_sweeps_a_large_book_lets_others_have_their_turn() {
    let icebergs = size(4_000, 10_000);
    let scene = Scene::set("an order over a million executions", limits(155), |launch| launch);
    let mut client = open(&scene.server, 1);
    let iceberg = |_| format!("<order sym=\"S0\" amount=\"-{PARTS}\" limit=\"10\" display=\"1\"/>");
    place(&mut client, 2, (0..icebergs).map(iceberg));
    let attack = scene.attack();
    let shares = icebergs * PARTS;
    // One share stays open. Its cancel once told all executions, and took 750 MiB for it.
    let sweep = format!("<order sym=\"S0\" amount=\"{}\" limit=\"10\"/>", shares + 1);
    let told = client.ask(&format!("<transactions id=\"1\">{sweep}</transactions>"));
    let order = ids(&told).next().unwrap_or_else(|| panic!("{told}"));
    wait_until(&attack, order, 1, |order| order["open"] == "1");
    let told = client.ask(&format!("<transactions id=\"1\"><cancel id=\"{order}\"/></transactions>"));
    assert!(told.contains(&format!("{shares} executions are left out")), "{told:.300}");
    attack.end(&format!("{shares} executions, canceled in {} bytes", told.len()));
}

/// The end of an auction was one command, and its executions were all of the book: half a million orders a side kept
/// everybody waiting for a second, and of icebergs there are a hundred times as many executions.
#[test]
fn an_auction_of_icebergs_lets_others_have_their_turn() {
    let icebergs = size(2_000, 50_000);
    let scene = Scene::set("auction of icebergs", limits(64), |launch| launch);
    let mut client = open(&scene.server, 1);
    let phase = |client: &mut Client, phase: &str| {
        let told = client.ask(&format!("<create><phase sym=\"S0\" is=\"{phase}\"/></create>"));
        assert!(told.contains("<changed"), "{told}");
    };
    phase(&mut client, "auction");
    for (account, amount) in [(1, PARTS.to_string()), (2, format!("-{PARTS}"))] {
        let iceberg = format!("<order sym=\"S0\" amount=\"{amount}\" limit=\"10\" display=\"1\"/>");
        place(&mut client, account, std::iter::repeat_n(iceberg, icebergs));
    }
    let attack = scene.attack();
    phase(&mut client, "open");
    let http = Http::new(attack.server().http);
    for account in [1, 2] {
        wait_for("all to be executed", PATIENCE, || {
            let told = http.read(&format!("/api/v1/accounts/{account}"));
            (told["open_orders"] == 0).then_some(())
        });
    }
    let trades = http.read("/api/v1/symbols/S0")["trades_24h"].as_u64().unwrap();
    assert!(trades >= icebergs as u64, "{trades}");
    attack.end(&format!("{trades} executions"));
}

/// A member's market orders for an auction end together when the symbol opens. Before that, the member cancels and
/// places them as often as it likes.
#[test]
fn very_many_market_orders_for_an_auction_let_others_have_their_turn() {
    let orders = size(20_000, 200_000);
    let scene = Scene::set("market orders for an auction", limits(100), |launch| launch);
    let mut client = open(&scene.server, 1);
    let rules = "<rules sym=\"S0\" static-up=\"10\" static-down=\"10\" reference=\"10\"/>";
    for set in [rules, "<phase sym=\"S0\" is=\"auction\"/>"] {
        let told = client.ask(&format!("<create>{set}</create>"));
        assert!(told.contains("<changed"), "{told}");
    }
    let attack = scene.attack();
    let buy = || "<order sym=\"S0\" amount=\"1\" type=\"market\" tif=\"GFA\"/>".to_owned();
    let placed = client.ask(&format!("<transactions id=\"1\">{}</transactions>", buy().repeat(AT_ONCE)));
    let cancels: String = ids(&placed).map(|id| format!("<cancel id=\"{id}\"/>")).collect();
    let told = client.ask(&format!("<transactions id=\"1\">{cancels}</transactions>"));
    assert_eq!(told.matches("<canceled id=").count(), AT_ONCE, "{told:.300}");
    place(&mut client, 1, std::iter::repeat_with(buy).take(orders));
    client.ask("<create><phase sym=\"S0\" is=\"open\"/></create>");
    // An auction that is over takes no more of them, or it would never end.
    let (http, mut refused) = (Http::new(attack.server().http), 0);
    wait_for("all to be canceled", PATIENCE, || {
        let told = client.ask(&format!("<transactions id=\"1\">{}</transactions>", buy().repeat(AT_ONCE)));
        refused += told.matches("is not placed while an auction ends").count();
        // Once the symbol is open they wait for the next auction.
        let cancels: String = ids(&told).map(|id| format!("<cancel id=\"{id}\"/>")).collect();
        if !cancels.is_empty() {
            client.ask(&format!("<transactions id=\"1\">{cancels}</transactions>"));
        }
        (http.read("/api/v1/accounts/1")["open_orders"] == 0).then_some(())
    });
    assert!(refused >= AT_ONCE && refused.is_multiple_of(AT_ONCE), "{refused}");
    attack.end(&format!("{orders} orders, {refused} refused"));
}

/// No other command comes between the orders of a request, and each executed ten thousand times: a thousand of them
/// once kept all other clients waiting for 2.8 s.
#[test]
fn a_request_of_sweeps_lets_others_have_their_turn() {
    let symbols = size(40, 1_000);
    let scene = Scene::set("a request of sweeps", limits(100), |launch| launch);
    let mut client = open(&scene.server, symbols);
    let icebergs = (0..symbols).flat_map(|n| {
        std::iter::repeat_n(format!("<order sym=\"S{n}\" amount=\"-{PARTS}\" limit=\"10\" display=\"1\"/>"), 100)
    });
    place(&mut client, 2, icebergs);
    let attack = scene.attack();
    let shares = 100 * PARTS;
    let sweeps: String =
        (0..symbols).map(|n| format!("<order sym=\"S{n}\" amount=\"{shares}\" limit=\"10\"/>")).collect();
    let told = client.ask(&format!("<transactions id=\"1\">{sweeps}</transactions>"));
    let orders: Vec<u64> = ids(&told).collect();
    assert_eq!(orders.len(), symbols, "{told:.300}");
    for order in orders {
        wait_until(&attack, order, 1, |order| order["status"] == "executed");
    }
    attack.end(&format!("{symbols} orders, {} executions", symbols * shares));
}

/// Each of these orders executes a hundred times, and no other command comes between them. A follower of their accounts
/// has more to do than the market, and all others once waited for it: 24 s for 9,900 orders, and later half a second.
/// Over HTTP answers come from the feed, and wait for what it has to tell.
#[test]
fn a_request_of_orders_whose_accounts_are_followed_lets_others_have_their_turn() {
    let orders = size(4_000, 9_900);
    // A step of the server has 10,000 executions, and the feed tells a follower of them in some 70 ms.
    let (p99, longest) = (Duration::from_millis(400), Duration::from_millis(1_500));
    let longest_xml = Some(Duration::from_millis(300));
    let limits = Limits { p99, longest, longest_xml, ..limits(155) };
    let scene = Scene::set("a request of followed orders", limits, |launch| launch);
    let mut client = open(&scene.server, 1);
    let iceberg = format!("<order sym=\"S0\" amount=\"-{PARTS}\" limit=\"10\" display=\"1\"/>");
    place(&mut client, 2, std::iter::repeat_n(iceberg, orders));
    let attack = scene.attack();
    let mut follower = Http::new(attack.server().http).listen();
    for account in ["1", "2"] {
        follower.send(&json!({"op": "subscribe", "channel": "orders", "account": account}));
    }
    let followed = std::thread::spawn(move || while follower.try_next().is_some() {});
    let each = format!("<order sym=\"S0\" amount=\"{PARTS}\" limit=\"10\"/>").repeat(orders);
    let told = client.ask(&format!("<transactions id=\"1\">{each}</transactions>"));
    let last = ids(&told).last().unwrap_or_else(|| panic!("{told:.300}"));
    wait_until(&attack, last, 1, |order| order["status"] == "executed");
    attack.end(&format!("{orders} orders, {} executions", orders * PARTS));
    followed.join().unwrap();
}

/// One execution reaches the triggers of all these orders, each of which has a price of its own. Once they were events
/// of one command.
#[test]
fn orders_that_one_execution_triggers_let_others_have_their_turn() {
    let stops = size(20_000, 1_000_000);
    let scene = Scene::set("stops of one execution", limits(32), |launch| launch);
    let mut client = open(&scene.server, 1);
    let stop =
        |n| format!("<order sym=\"S0\" amount=\"-1\" limit=\"1000\" stop=\"{}.{:04}\"/>", 10 + n / 10_000, n % 10_000);
    place(&mut client, 2, (0..stops).rev().map(stop));
    let lowest =
        client.ask("<transactions id=\"2\"><order sym=\"S0\" amount=\"-1\" limit=\"1000\" stop=\"9\"/></transactions>");
    let lowest = ids(&lowest).next().unwrap_or_else(|| panic!("{lowest}"));
    let attack = scene.attack();
    client.ask("<transactions id=\"2\"><order sym=\"S0\" amount=\"-1\" limit=\"1\"/></transactions>");
    client.ask("<transactions id=\"1\"><order sym=\"S0\" amount=\"1\" limit=\"1\"/></transactions>");
    wait_until(&attack, lowest, 2, |order| order["waits"] == false);
    attack.end(&format!("{stops} stops triggered"));
}
