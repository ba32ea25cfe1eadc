//! A node whose log is away.

use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::common::folder::Folder;
use crate::common::server::Launch;
use crate::common::wait::wait_until;

use super::log_servers::LogServers;
use super::nodes::{CREATE, sell};

#[test]
fn without_its_log_a_node_refuses_what_is_new_and_answers_what_was_on_its_way_when_it_is_back() {
    let folder = Folder::new("cluster-away");
    let mut servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let launch =
        Launch::new(&folder.path().join("node-1")).with(&format!("--store {url} --node 1 --store-patience 1s"));
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
    // The server stops so that it takes what is sent and says nothing: what is on its way then is answered when it is
    // back.
    servers.signal(0, Signal::STOP);
    first.send_request(&sell(2)).unwrap();
    wait_until("the node says that its log takes nothing", Duration::from_secs(20), || {
        node.readiness().contains("store-away")
    });
    // A client that sends on without waiting still gets the answers in order.
    first.send_request(&sell(4)).unwrap();
    let mut second = node.client();
    let refused = second.ask(&sell(3));
    assert!(refused.contains("the server's store is away: nothing was changed"), "{refused}");
    servers.signal(0, Signal::CONT);
    let answered = first.reply().unwrap();
    assert!(answered.contains("<opened") && answered.contains("id=\"2\""), "{answered}");
    let refused = first.reply().unwrap();
    assert!(refused.contains("store is away"), "{refused}");
    wait_until("the node is ready again", Duration::from_secs(20), || node.readiness().contains("\"ok\""));
    let again = second.ask(&sell(3));
    assert!(again.contains("<opened") && again.contains("id=\"3\""), "{again}");
    node.stop();
}

/// Its commands were refused at once, without the patience that the operator gave it.
#[test]
fn a_log_that_is_away_for_a_moment_keeps_nobody_out() {
    let folder = Folder::new("cluster-away-moment");
    let mut servers = LogServers::start(folder.path(), 1);
    let url = servers.create("market", 1);
    let launch =
        Launch::new(&folder.path().join("node-1")).with(&format!("--store {url} --node 1 --store-patience 20s"));
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
    let launch = Launch::new(&folder.path().join("node-1")).with(&format!("--store {url} --node 1"));
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
