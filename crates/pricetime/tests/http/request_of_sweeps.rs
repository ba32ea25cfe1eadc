//! A request of many orders, each of which executes as often as one command may. It once was atomic, and everybody
//! waited until all of it was executed. Now its first orders execute, and the others go on after waiting clients have
//! been answered.

use std::time::Duration;

use serde_json::json;

use crate::common::client::frame;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server};
use crate::common::wait::wait_for;

/// Symbols, in each of which there are 100 orders that show one share of a hundred.
const SYMBOLS: usize = 25;
/// The shares in each of them, which make as many executions as one command may.
const SHARES: u64 = 10_000;
/// The number of orders with which the commands of one turn execute as often as they may together, the last of them not
/// wholly, and of the executions of each later order.
const FIRST: usize = 3;
const SMALL: u64 = 5;
/// The executions of a short order of another client, and the most of one command.
const SHORT: u64 = 150;
const STEP: u64 = 10_000;
/// The number of kills that may come too late.
const KILLS: usize = 10;
const PATIENCE: Duration = Duration::from_secs(120);

/// Account 1 sweeps, account 2 sells, and account 3 is another client.
fn serve(folder: &Folder) -> Server {
    let server = Launch::new(&folder.data()).start();
    let mut client = server.client();
    let symbols: String =
        (0..SYMBOLS).map(|at| format!(r#"<symbol sym="S{at}"><account id="2">{SHARES}</account></symbol>"#)).collect();
    client.ask(&format!(
        r#"<create><account id="1" balance="100000000"/><account id="2" balance="0"/><account id="3" balance="1000"/>
        {symbols}<symbol sym="T"><account id="2">10</account></symbol>
        <symbol sym="V"><account id="2">{SHORT}</account></symbol></create>"#
    ));
    for at in 0..SYMBOLS {
        let icebergs = format!(r#"<order sym="S{at}" amount="-100" limit="10" display="1"/>"#).repeat(100);
        assert!(!client.ask(&format!("<transactions id=\"2\">{icebergs}</transactions>")).contains("<error"));
    }
    let short = format!(r#"<order sym="V" amount="-{}" limit="1" display="1"/>"#, SHORT / 2).repeat(2);
    let others = format!(r#"<transactions id="2"><order sym="T" amount="-4" limit="7"/>{short}</transactions>"#);
    assert!(!client.ask(&others).contains("<error"));
    server
}

/// Lets account 1 sweep all symbols with one request, and account 3 trade after it in two others. Returns the ids of
/// the sweeps.
fn sweep(server: &Server) -> Vec<u64> {
    let mut client = server.client();
    let sweeps: String = (0..SYMBOLS)
        .map(|at| format!(r#"<order sym="S{at}" amount="{SHARES}" limit="10" tif="IOC" client-id="sweep-{at}"/>"#))
        .collect();
    let queries = |from| (from..SYMBOLS).map(|at| format!(r#"<query client-id="sweep-{at}"/>"#)).collect::<String>();
    let requests = [
        format!("<transactions id=\"1\">{sweeps}{}</transactions>", queries(FIRST)),
        r#"<transactions id="3"><order sym="T" amount="4" limit="7" client-id="by"/><query client-id="by"/></transactions>"#
            .to_owned(),
        format!(r#"<transactions id="3"><order sym="V" amount="{SHORT}" limit="1" tif="IOC"/></transactions>"#),
        format!("<transactions id=\"1\">{}</transactions>", queries(SYMBOLS - 1)),
    ];
    client.send(&requests.iter().flat_map(|request| frame(request)).collect::<Vec<u8>>()).unwrap();
    let [swept, bystander, short, behind] = requests.map(|_| client.reply().unwrap());
    assert!(bystander.contains("<executed shares=\"4\" price=\"7\""), "{bystander}");
    assert!(short.contains("<opened "), "{short}");
    // The server goes on with these after the waiting clients.
    let open = format!("<open shares=\"{}\"/>", SHARES - SMALL);
    assert_eq!(swept.matches(&open).count(), SYMBOLS - FIRST, "{swept:.3000}");
    assert_eq!(swept.matches("<executed ").count() as u64, (SYMBOLS - FIRST) as u64 * SMALL, "{swept:.3000}");
    assert!(behind.contains("<open shares="), "the last one is under way yet: {behind:.300}");
    let ids: Vec<u64> =
        swept.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()?.parse().ok()).take(SYMBOLS).collect();
    assert_eq!(ids.len(), SYMBOLS);
    ids
}

/// Checks that all sweeps ended, and that each has executed everything in its symbol.
fn ended(server: &Server, sweeps: &[u64]) {
    let http = Http::new(server.http);
    for order in sweeps {
        let path = format!("/api/v1/orders/{order}?account=1");
        let done = wait_for("a sweep to be done", PATIENCE, || {
            Some(http.read(&path)).filter(|order| order["status"] != "open")
        });
        assert_eq!((&done["status"], &done["executed"]), (&json!("executed"), &json!(SHARES.to_string())), "{done}");
    }
    // One after the other, the sweeps kept the short order waiting for all that they executed.
    let trades = http.read("/api/v1/accounts/3/executions?symbol=V&limit=1000");
    let trades = trades["executions"].as_array().unwrap();
    let ids: Vec<u64> = trades.iter().map(|trade| trade["trade_id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len() as u64, SHORT);
    assert!(ids[0] - ids[ids.len() - 1] < STEP, "others executed {} times meanwhile", ids[0] - ids[ids.len() - 1]);
    let account = http.read("/api/v1/accounts/1");
    let left = 100_000_000 - SYMBOLS as u64 * SHARES * 10;
    assert_eq!((&account["balance"], &account["held"]), (&json!(left.to_string()), &json!("0")), "{account}");
}

#[test]
fn a_request_of_many_sweeps_executes_so_often_and_goes_on_behind_those_who_wait() {
    let folder = Folder::new("request-of-sweeps");
    let server = serve(&folder);
    let sweeps = sweep(&server);
    ended(&server, &sweeps);
    server.stop();
    let server = Launch::new(&folder.data()).start();
    ended(&server, &sweeps);
    server.stop();
}

/// The server is killed just after the request, until a kill comes in the middle of the orders that go on. A server
/// whose disk is nearly full executes nothing by itself, and shows how far they came.
#[test]
fn a_kill_in_the_middle_of_a_request_of_sweeps_changes_nothing_of_what_it_comes_to() {
    let is_cut = (0..KILLS).any(|kill| {
        let folder = Folder::new(&format!("request-of-sweeps-kill-{kill}"));
        let server = serve(&folder);
        let sweeps = sweep(&server);
        server.kill();
        let server = Launch::new(&folder.data()).with("--disk-low 4000000GiB").start();
        let last = format!("/api/v1/orders/{}?account=1", sweeps[SYMBOLS - 1]);
        let last = Http::new(server.http).read(&last);
        let is_cut = last["delayed"] == true;
        // Sweeps of several symbols go on in turns of as many executions, so this one is about as far as the others.
        // All their parts, and those of the short order, are multiples of the first one.
        let executed: u64 = last["executed"].as_str().unwrap().parse().unwrap();
        assert!(!is_cut || executed < SHARES && executed.is_multiple_of(SMALL), "{last}");
        server.stop();
        let server = Launch::new(&folder.data()).start();
        ended(&server, &sweeps);
        server.stop();
        is_cut
    });
    assert!(is_cut, "no kill came while orders were under way");
}
