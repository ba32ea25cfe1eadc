//! Orders with more executions than the server keeps in memory, and than fit into a reply: the executions are told in
//! order, up to the moment of the question, and no reply becomes too long.

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::keys::KeyFile;
use crate::common::server::{Launch, Server};

const MARKET: &str = r#"<create><account id="1" balance="100000000"/><symbol sym="SPY"><account id="1">1000000</account></symbol></create>"#;

/// Sells of so many shares each.
fn sells(shares: impl Iterator<Item = usize>) -> String {
    shares.map(|shares| format!("<order sym=\"SPY\" amount=\"-{shares}\" limit=\"10\"/>")).collect()
}

/// Lets account 1 do these things in one request.
fn trade(server: &Server, children: &str) -> String {
    server.ask(&format!("<transactions id=\"1\">{children}</transactions>"))
}

/// The executed shares that a part of a reply tells, in order.
fn executed(part: &str) -> Vec<usize> {
    let shares = part.split("<executed shares=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    shares.map(|shares| shares.parse().unwrap()).collect()
}

/// All executions of an open order once stayed in memory, with 94 bytes each.
#[test]
fn executions_of_an_open_order_are_told_in_order_and_those_alone_that_were_before_the_question() {
    let folder = Folder::new("long-orders");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    server.ask(MARKET);
    trade(&server, &format!("<order sym=\"SPY\" amount=\"100000\" limit=\"10\"/>{}", sells(1..=40)));
    // More executions come in the same request, after the last question.
    let request = format!("<query id=\"1\"/>{}<query id=\"1\"/>{}", sells(41..=60), sells(61..=61));
    let reply = trade(&server, &request);
    let parts: Vec<&str> = reply.split("id=\"1\">").skip(1).collect();
    let [first, second] = parts[..] else { panic!("{reply}") };
    assert_eq!(executed(first), (1..=40).collect::<Vec<_>>());
    assert!(first.starts_with("<open shares=\"99180\"/>"), "{first}");
    assert_eq!(executed(second), (1..=60).collect::<Vec<_>>());
    assert!(second.starts_with("<open shares=\"98170\"/>"), "{second}");
    let reply = trade(&server, "<query id=\"1\"/><cancel id=\"1\"/><query id=\"1\"/>");
    let parts: Vec<&str> = reply.split("id=\"1\">").skip(1).collect();
    let [open, canceled, done] = parts[..] else { panic!("{reply}") };
    assert!(open.starts_with("<open shares=\"98109\"/>"), "{open}");
    assert_eq!(executed(open), (1..=61).collect::<Vec<_>>());
    for told in [canceled, done] {
        assert_eq!(executed(told), (1..=61).collect::<Vec<_>>());
        assert!(told.starts_with("<canceled shares=\"98109\""), "{told}");
    }
    // Another order stays open. What is told of it is the same after a crash, and from a snapshot.
    trade(&server, &format!("<order sym=\"SPY\" amount=\"1000\" limit=\"10\"/>{}", sells(1..=30)));
    let question = "<query id=\"63\"/><query id=\"1\"/>";
    let before = trade(&server, question);
    assert_eq!(executed(before.split("</status>").next().unwrap()), (1..=30).collect::<Vec<_>>(), "{before}");
    let state = server.state();
    assert_eq!(state["orders"][0]["executed"]["executions"], 30, "{state}");
    server.kill();
    let server = launch.start();
    assert_eq!(trade(&server, question), before);
    server.stop();
    let server = launch.start();
    assert_eq!(trade(&server, question), before);
    assert_eq!(server.state()["state_hash"], state["state_hash"]);
    let more = trade(&server, &format!("{}<query id=\"63\"/>", sells(31..=31)));
    assert_eq!(executed(&more), (1..=31).collect::<Vec<_>>());
    let stranger = server.ask("<create><account id=\"2\" balance=\"0\"/></create>");
    assert!(stranger.contains("created"), "{stranger}");
    let stranger = server.ask("<transactions id=\"2\"><query id=\"63\"/><cancel id=\"63\"/></transactions>");
    assert_eq!(stranger.matches("Unknown order").count(), 2, "{stranger}");
    let view = Http::new(server.http).read("/api/v1/orders/63?account=1");
    assert_eq!((&view["executed"], &view["open"]), (&"496".into(), &"504".into()), "{view}");
}

/// A server whose replies have at most 4 KiB, with four orders of 300 executions each. Returns their ids.
fn with_long_orders(launch: &Launch) -> (Server, [u64; 4]) {
    let server = launch.start();
    server.ask(MARKET);
    let orders = [1, 302, 603, 904];
    for order in orders {
        let reply = trade(&server, &format!("<order sym=\"SPY\" amount=\"1000\" limit=\"{order}\"/>"));
        assert!(reply.contains(&format!(" id=\"{order}\"/>")), "{reply}");
        trade(&server, &format!("<order sym=\"SPY\" amount=\"-1\" limit=\"{order}\"/>").repeat(300));
    }
    (server, orders)
}

/// A cancel once told all executions of its order, however many: with 1.8 million its connection was closed without an
/// answer, and other clients waited for two seconds.
#[test]
fn a_cancel_is_answered_within_the_bound_of_replies_and_says_what_it_leaves_out() {
    let folder = Folder::new("long-cancels");
    let keys = KeyFile::new(&folder);
    let launch = keys.launch(&folder).with("--max-reply 4KiB --fix 127.0.0.1:0");
    let (server, [by_xml, by_rest, by_binance, by_fix]) = with_long_orders(&launch);
    let http = Http::new(server.http);
    let mut client = server.client();
    let reply = client.ask(&format!(
        "<transactions id=\"1\"><query id=\"{by_xml}\"/><cancel id=\"{by_xml}\"/><cancel id=\"{by_xml}\"/><query id=\"{by_xml}\"/></transactions>"
    ));
    let canceled = format!("<canceled id=\"{by_xml}\"><canceled shares=\"700\" time=\"");
    let left_out =
        "\"/><error>300 executions are left out: a query of the order tells them, or why it cannot</error></canceled>";
    assert!(reply.contains(&canceled) && reply.contains(left_out), "{reply}");
    assert_eq!(reply.matches("reply too large").count(), 2, "{reply}");
    assert_eq!(reply.matches("Order has nothing open to cancel").count(), 1, "{reply}");
    // An order whose executions fit into the rest of the reply is told completely on the same connection, and of later
    // orders as much as fits.
    let few = format!(
        "<order sym=\"SPY\" amount=\"100\" limit=\"5000\"/>{}",
        "<order sym=\"SPY\" amount=\"-1\" limit=\"5000\"/>".repeat(20)
    );
    let reply = client.ask(&format!("<transactions id=\"1\">{few}</transactions>"));
    assert!(reply.contains(" id=\"1205\"/>"), "{reply}");
    let reply = client.ask("<transactions id=\"1\"><cancel id=\"1205\"/></transactions>");
    assert_eq!(executed(&reply), [1; 20], "{reply}");
    // Counted by executions these would fit, but by bytes they do not.
    let many = format!(
        "<order sym=\"SPY\" amount=\"100\" limit=\"5000\"/>{}",
        "<order sym=\"SPY\" amount=\"-1\" limit=\"5000\"/>".repeat(90)
    );
    client.ask(&format!("<transactions id=\"1\">{many}</transactions>"));
    let reply = client.ask("<transactions id=\"1\"><cancel id=\"1226\"/></transactions>");
    assert!(reply.contains("<error>90 executions are left out") && reply.len() < 4096, "{reply}");
    let held = http.read("/api/v1/accounts/1")["open_orders"].clone();
    assert_eq!(held, 3, "the orders are gone");

    let answer = http.delete(&format!("/api/v1/orders/{by_rest}?account=1"));
    assert_eq!((answer.status, &answer.body["status"]), (200, &"canceled".into()), "{answer:?}");
    assert_eq!(answer.body["executed"], "300", "{answer:?}");
    let answer = keys.send(&http, "DELETE", "order", &format!("symbol=SPYUSD&orderId={by_binance}"));
    assert_eq!((answer.status, &answer.body["status"]), (200, &"CANCELED".into()), "{answer:?}");
    let mut fix = Fix::log_on(server.fix.unwrap(), "A");
    fix.send("H", &format!("11=q|37={by_fix}|1=1|55=SPY|54=1|"));
    fix.expect(&["35=8", "150=I", "39=1", "14=300", "151=700"]);
    fix.send("F", &format!("11=c|41=none|37={by_fix}|1=1|55=SPY|54=1|38=1000|"));
    fix.expect(&["150=4", "14=300", "151=0"]);
    assert_eq!(http.read("/api/v1/accounts/1")["open_orders"], 0);
    server.stop();
}

/// Each query of such an order read all of its notes, on the thread that looks up for everybody.
#[test]
fn a_done_order_that_was_amended_without_end_is_found_without_its_executions() {
    let folder = Folder::new("amended-without-end");
    let server = Launch::new(&folder.data()).start();
    server.ask(MARKET);
    trade(&server, &format!("{}<order sym=\"SPY\" amount=\"2\" limit=\"10\"/>", sells(1..=1)));
    // An amendment is two notes, and a look-up reads 200,000 that lead to no execution.
    let amended = |count: std::ops::Range<usize>| {
        let amend = |taken: usize| format!("<amend id=\"2\" shares=\"1.{:08}\"/>", 100_000_000 - taken);
        count.map(amend).collect::<String>()
    };
    (1..110_001).step_by(10_000).for_each(|from| drop(trade(&server, &amended(from..from + 10_000))));
    let reply = trade(&server, "<cancel id=\"2\"/>");
    assert!(reply.contains("<canceled shares=\"0.9989\""), "{reply}");
    let reply = trade(&server, "<query id=\"2\"/><query id=\"1\"/>");
    assert!(reply.contains("<error id=\"2\">"), "{reply}");
    let reply = trade(&server, "<query id=\"1\"/>");
    assert_eq!(executed(&reply), [1], "{reply}");
}
