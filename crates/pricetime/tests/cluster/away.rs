//! A node whose log is away.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use crate::common::client::NoReply;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::wait::wait_until;

use super::log_servers::LogServers;
use super::nodes::{CREATE, node, sell};

#[test]
fn without_its_log_a_node_refuses_what_is_new_and_does_not_know_of_what_was_on_its_way() {
    let folder = Folder::new("cluster-away");
    let mut servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let launch = node(&folder, 1, &url).with("--store-patience 1s");
    let node = launch.start();
    assert!(node.ask(CREATE).contains("created"));
    let mut first = node.client();
    assert!(first.ask(&sell(1)).contains("<opened"));
    servers.kill(0);
    let says_away = || {
        let said = node.readiness();
        said.contains("store-away") && said.contains("the log cannot be reached")
    };
    // The node says so also while nobody sends anything.
    wait_until("the node says that its log is away", Duration::from_secs(20), says_away);
    // No request is under way: the first client that asks is told so, and what is known is answered.
    let refused = first.ask(&sell(2));
    assert!(refused.contains("the server's store is away: nothing was changed"), "{refused}");
    let told = first.ask("<transactions id=\"1\"><query id=\"1\"/></transactions>");
    assert!(told.contains("<open shares=\"1\""), "{told}");
    servers.restart(0);
    wait_until("the node is ready", Duration::from_secs(20), || node.readiness().contains("\"ok\""));
    // The server stops so that it takes what is sent and says nothing: a client learns in time that the outcome of what
    // is on its way is unknown, as from a database, and finds it when the log is back.
    servers.signal(0, Signal::STOP);
    let http = Http::new(node.http);
    let order = json!({
        "account": "1", "client_order_id": "sell-2", "symbol": "SPY", "side": "sell", "shares": "1", "limit": "10",
    });
    let unknown = http.post("/api/v1/orders", &order);
    assert_eq!(unknown.code(), (504, "outcome-unknown"), "{unknown:?}");
    let mut second = node.client();
    let refused = second.ask(&sell(3));
    assert!(refused.contains("the server's store is away: nothing was changed"), "{refused}");
    servers.signal(0, Signal::CONT);
    wait_until("the node is ready again", Duration::from_secs(20), || node.readiness().contains("\"ok\""));
    let answered = second.ask(&sell(2));
    assert!(answered.contains("<opened") && answered.contains("id=\"2\""), "{answered}");
    let again = second.ask(&sell(3));
    assert!(again.contains("<opened") && again.contains("id=\"3\""), "{again}");
    node.stop();
}

/// The first request behind the end of the log got no answer until it was back: nobody had noticed yet.
#[test]
fn the_first_request_after_the_log_went_away_is_given_up_and_done_once_when_it_is_back() {
    let folder = Folder::new("cluster-away-first");
    let mut servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let launch = node(&folder, 1, &url).with("--store-patience 2s");
    let node = launch.start();
    assert!(node.ask(CREATE).contains("created"));
    let mut first = node.client();
    servers.kill(0);
    first.send_request(&sell(1)).unwrap();
    // XML has no word for what is unknown: the connection ends.
    assert!(matches!(first.reply(), Err(NoReply::Closed { .. })));
    let mut second = node.client();
    let refused = second.ask(&sell(2));
    assert!(refused.contains("the server's store is away: nothing was changed"), "{refused}");
    servers.restart(0);
    wait_until("the node is ready", Duration::from_secs(20), || node.readiness().contains("\"ok\""));
    let answered = second.ask(&sell(1));
    assert!(answered.contains("<opened") && answered.contains("id=\"1\""), "{answered}");
    let next = second.ask(&sell(2));
    assert!(next.contains("<opened") && next.contains("id=\"2\""), "{next}");
    node.stop();
}

/// Its commands were refused at once, without the patience that the operator gave it.
#[test]
fn a_log_that_is_away_for_a_moment_keeps_nobody_out() {
    let folder = Folder::new("cluster-away-moment");
    let mut servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let launch = node(&folder, 1, &url).with("--store-patience 20s");
    let node = launch.start();
    assert!(node.ask(CREATE).contains("created"));
    servers.kill(0);
    // The node has looked whether its log is there.
    thread::sleep(Duration::from_secs(1));
    let mut client = node.client();
    client.send_request(&sell(1)).unwrap();
    thread::sleep(Duration::from_secs(1));
    servers.restart(0);
    let answered = client.reply().unwrap();
    assert!(answered.contains("<opened"), "{answered}");
    node.stop();
}

#[test]
fn a_node_that_starts_while_the_log_has_no_leader_waits_for_one() {
    let folder = Folder::new("cluster-away-start");
    let mut servers = LogServers::start(folder.path(), 3);
    let url = servers.create("market", 3);
    let launch = node(&folder, 1, &url);
    let node = launch.start();
    assert!(node.ask(CREATE).contains("created"));
    node.stop();
    servers.kill(1);
    servers.kill(2);
    wait_until("the server that is left says that none leads", Duration::from_secs(60), || servers.is_without_leader());
    let node = thread::scope(|scope| {
        let starting = scope.spawn(|| launch.start());
        // A node that does not wait refuses at once.
        thread::sleep(Duration::from_secs(1));
        servers.restart(1);
        servers.restart(2);
        starting.join().unwrap()
    });
    assert!(node.ask(&sell(1)).contains("<opened"));
    node.stop();
}
