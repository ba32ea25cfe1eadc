//! Kills and cancels of more orders than one command cancels, over XML, REST and the compatible interface: what is told
//! of them, that other requests come between, that a kill goes on by itself and after a crash, and that no killed order
//! executes.

use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_until;

const MARKET: &str = r#"<create><account id="1" balance="1000"/><account id="2" balance="1000"/>
    <symbol sym="SPY"><account id="1">100000</account><account id="2">100</account></symbol></create>"#;
/// The number of orders that one command cancels.
const MOST: usize = 1_000;
const SOON: Duration = Duration::from_secs(60);

fn transactions(account: &str, children: &str) -> String {
    format!("<transactions id=\"{account}\">{children}</transactions>")
}

/// Lets account 1 sell this often.
fn sell(server: &Server, orders: usize) {
    for count in (0..orders).step_by(9_000).map(|begun| (orders - begun).min(9_000)) {
        let told = server.ask(&transactions("1", &r#"<order sym="SPY" amount="-1" limit="6"/>"#.repeat(count)));
        assert_eq!(told.matches("<opened").count(), count);
    }
}

fn ask(server: &Server, account: &str, child: &str) -> String {
    let told = server.ask(&transactions(account, child));
    told.trim_end().replace("<results>", "").replace("</results>", "")
}

fn sequence(http: &Http) -> u64 {
    http.read("/api/v1/status")["sequence"].as_u64().unwrap()
}

fn open_orders(http: &Http, account: &str) -> Value {
    http.read(&format!("/api/v1/accounts/{account}"))["open_orders"].clone()
}

fn put(http: &Http, path: &str, killed: bool) -> (u16, Value) {
    let body = json!({"killed": killed}).to_string();
    let answer = http.send("PUT", &format!("/api/v1/{path}"), Some(&body), &[("content-type", "application/json")]);
    (answer.status, answer.body)
}

/// A cancel of a million orders once was one command, for which everybody waited 1.2 s.
#[test]
fn a_cancel_of_all_orders_goes_on_with_those_that_were_there() {
    let folder = Folder::new("mass-cancels");
    let (server, http, keys) = KeyFile::serve(&folder, MARKET);
    sell(&server, 2_500);
    assert_eq!(ask(&server, "1", "<cancel-all/>"), r#"<canceled-all orders="1000" left-through="2500"/>"#);
    // Another client is answered before the cancel goes on, and orders that are placed meanwhile stay open.
    assert!(ask(&server, "2", r#"<order sym="SPY" amount="1" limit="5"/>"#).contains("<opened"));
    assert!(ask(&server, "1", r#"<order sym="SPY" amount="-1" limit="6"/>"#).contains("<opened"));
    let goes_on = r#"<cancel-all through="2500"/>"#;
    assert_eq!(ask(&server, "1", goes_on), r#"<canceled-all through="2500" orders="1000" left-through="2500"/>"#);
    assert_eq!(ask(&server, "1", goes_on), r#"<canceled-all through="2500" orders="500"/>"#);
    assert_eq!((open_orders(&http, "1"), open_orders(&http, "2")), (json!(1), json!(1)));
    // REST and the compatible interface give as many commands as it takes, and tell everything together.
    sell(&server, 2_499);
    let before = sequence(&http);
    let canceled = http.delete("/api/v1/accounts/1/orders").body;
    assert_eq!(canceled["canceled"].as_array().unwrap().len(), 2_500);
    assert_eq!(sequence(&http) - before, 3, "a thousand, a thousand and 500");
    sell(&server, 2_500);
    let before = sequence(&http);
    let canceled = keys.send(&http, "DELETE", "openOrders", "symbol=SPYUSD").body;
    assert_eq!(canceled.as_array().unwrap().len(), 2_500);
    assert_eq!(sequence(&http) - before, 3);
    assert_eq!((open_orders(&http, "1"), open_orders(&http, "2")), (json!(0), json!(1)));
    server.stop();
}

/// Each of several cancels of all orders at once listed all of them, and canceled in steps of its own.
#[test]
fn cancels_of_all_orders_of_an_account_go_on_one_after_the_other() {
    let folder = Folder::new("mass-cancels-at-once");
    let (server, http, _keys) = KeyFile::serve(&folder, MARKET);
    sell(&server, 19_500);
    let before = sequence(&http);
    let told: Vec<usize> = std::thread::scope(|scope| {
        let cancel = || http.delete("/api/v1/accounts/1/orders").body["canceled"].as_array().unwrap().len();
        let all: Vec<_> = (0..4).map(|_| scope.spawn(cancel)).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!((told.iter().sum::<usize>(), told.iter().max()), (19_500, Some(&19_500)));
    assert_eq!(sequence(&http) - before, 20, "a thousand by each command, and none by the others");
    server.stop();
}

/// The number of canceled orders left out those that ended with the last one of a step, and a request of many cancels
/// ended a thousand orders with each of them.
#[test]
fn all_that_a_step_ends_is_counted_and_the_steps_of_one_request_are_bounded_together() {
    let folder = Folder::new("mass-cancels-counted");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    sell(&server, MOST - 1);
    let pair = r#"<oco><order sym="SPY" amount="-1" limit="6" post-only="true"/><order sym="SPY" amount="-1" type="market" stop="3"/></oco>"#;
    assert!(ask(&server, "1", pair).contains("<opened"));
    assert_eq!(ask(&server, "1", "<cancel-all/>"), r#"<canceled-all orders="1001" left-through="1001"/>"#);
    assert_eq!(ask(&server, "1", r#"<cancel-all through="1001"/>"#), r#"<canceled-all through="1001" orders="0"/>"#);
    sell(&server, 11_000);
    let told = ask(&server, "1", &"<cancel-all/>".repeat(12));
    let orders = |number: usize| format!("<canceled-all orders=\"{number}\" left-through=\"12001\"/>");
    assert_eq!(told, orders(MOST).repeat(10) + &orders(100).repeat(2));
    server.stop();
}

/// A cancel of all orders stopped when its client went away, and most orders stayed open.
#[test]
fn a_cancel_of_all_orders_that_has_begun_ends_also_when_its_client_has_gone() {
    let orders = 60_000;
    let folder = Folder::new("mass-cancels-gone");
    let (server, http, _keys) = KeyFile::serve(&folder, MARKET);
    sell(&server, orders);
    let mut client = TcpStream::connect(server.http).unwrap();
    client.write_all(b"DELETE /api/v1/accounts/1/orders HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    wait_until("it has begun", SOON, || open_orders(&http, "1") != json!(orders));
    drop(client);
    wait_until("all are canceled", SOON, || open_orders(&http, "1") == json!(0));
    server.stop();
}

/// The server dies while a kill goes on. The kill goes on after the start, and no order of the account executes after
/// the answer to the kill.
#[test]
fn a_kill_goes_on_by_itself_also_over_a_crash_and_nothing_of_it_executes() {
    const ORDERS: usize = 60_000;
    let folder = Folder::new("mass-kill");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    sell(&server, ORDERS);
    ask(&server, "2", r#"<order sym="SPY" amount="-1" limit="7"/>"#);
    let told = server.ask(r#"<create><kill account="1"/></create>"#);
    assert!(told.contains(&format!("<killed account=\"1\" orders=\"{MOST}\" goes-on=\"true\"/>")), "{told}");
    // The order executes with none but its own account's: the killed account's better price is skipped.
    assert!(ask(&server, "2", r#"<order sym="SPY" amount="1" limit="7"/>"#).contains("<opened"));
    server.kill();
    let server = launch.start();
    let http = Http::new(server.http);
    wait_until("the orders are canceled", SOON, || open_orders(&http, "1") == json!(0));
    let account = http.read("/api/v1/accounts/1");
    assert_eq!((&account["balance"], &account["killed"]), (&json!("1000"), &json!(true)), "it sold nothing");
    let traded = http.read("/api/v1/symbols/SPY/trades")["trades"].clone();
    assert_eq!(traded.as_array().unwrap().len(), 1, "{traded}");
    assert_eq!(put(&http, "accounts/1/kill", false), (200, json!({"killed": false, "canceled": 0})));
    let before = sequence(&http);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(sequence(&http), before, "it is over");
    server.stop();
}

/// The orders that are left when a kill is answered are canceled in turns of the loop, and a release must wait for
/// that.
#[test]
fn what_a_kill_leaves_is_told_and_it_is_released_when_it_is_over() {
    let folder = Folder::new("mass-kill-rest");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    let http = Http::new(server.http);
    sell(&server, 40_000);
    assert_eq!(put(&http, "kill", true), (200, json!({"killed": true, "canceled": MOST, "goes_on": true})));
    let mut refused = 0;
    wait_until("it is released", SOON, || match put(&http, "kill", false) {
        (200, _) => true,
        (409, problem) => {
            assert_eq!(problem["code"], "kill-goes-on");
            assert_ne!(open_orders(&http, "1"), json!(40_000));
            refused += 1;
            false
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(open_orders(&http, "1"), json!(0), "after {refused} refusals");
    server.stop();
}
