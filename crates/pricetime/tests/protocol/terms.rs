//! Orders that end at a time, do not trade with their own account, or are amended, over a real socket: what is
//! answered, and what remains of them after crashes.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::common::folder::Folder;
use crate::common::server::{Launch, PATIENCE, Server};
use crate::common::talk::{ANY, Talk, started};
use crate::common::wait::wait_until;

const MARKET: &str = "<account id=\"1\" balance=\"100\"/><account id=\"2\" balance=\"100\"/>\
    <symbol sym=\"S\"><account id=\"1\">10</account><account id=\"2\">10</account></symbol>";
const MADE: &str = "<created id=\"1\"/><created id=\"2\"/><created sym=\"S\" id=\"1\"/><created sym=\"S\" id=\"2\"/>";

/// A time this many seconds from now, as an attribute has it.
fn in_seconds(seconds: f64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    format!("{:.3}", now + seconds)
}

fn open_orders(server: &Server) -> usize {
    server.state()["orders"].as_array().unwrap().len()
}

#[test]
fn an_order_ends_at_its_time_while_nobody_sends_anything() {
    let (_folder, server) = started("deadlines", "");
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    let soon = in_seconds(1.5);
    talk.trades(
        "1",
        &format!(
            "<order sym=\"S\" amount=\"4\" limit=\"5\" until=\"{soon}\"/>\
             <order sym=\"S\" amount=\"4\" limit=\"5\" until=\"4102444800\"/>\
             <order sym=\"S\" amount=\"-4\" type=\"market\" stop=\"1\" until=\"{soon}\"/><query id=\"3\"/>"
        ),
        &format!(
            "<opened sym=\"S\" amount=\"4\" limit=\"5\" until=\"{soon}\" id=\"1\"/>\
             <opened sym=\"S\" amount=\"4\" limit=\"5\" until=\"4102444800\" id=\"2\"/>\
             <opened sym=\"S\" amount=\"-4\" type=\"market\" stop=\"1\" until=\"{soon}\" id=\"3\"/>\
             <status id=\"3\"><open shares=\"4\" waits-for=\"1\" until=\"{}\"/></status>",
            soon.trim_end_matches('0').trim_end_matches('.')
        ),
    );
    assert_eq!(open_orders(&server), 3);
    // Only the server's files are looked at, since a request would wake it.
    wait_until("the two orders whose time has come to end", PATIENCE, || open_orders(&server) == 1);
    talk.trades(
        "1",
        "<query id=\"1\"/><query id=\"2\"/><query id=\"3\"/><cancel id=\"3\"/>",
        "<status id=\"1\"><canceled shares=\"4\" time=\"T\"/></status>\
         <status id=\"2\"><open shares=\"4\" until=\"4102444800\"/></status>\
         <status id=\"3\"><canceled shares=\"4\" time=\"T\"/></status>\
         <error id=\"3\">Order has nothing open to cancel</error>",
    );
    // What the orders held is free again.
    talk.trades(
        "1",
        "<order sym=\"S\" amount=\"-10\" limit=\"9\"/><order sym=\"S\" amount=\"16\" limit=\"5\"/>",
        "<opened sym=\"S\" amount=\"-10\" limit=\"9\" id=\"4\"/><opened sym=\"S\" amount=\"16\" limit=\"5\" id=\"5\"/>",
    );
}

#[test]
fn an_order_whose_time_comes_while_the_server_is_down_ends_when_it_is_back() {
    let folder = Folder::new("deadlines-missed");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    let ends = SystemTime::now() + std::time::Duration::from_secs(6);
    let soon = format!("{:.3}", ends.duration_since(UNIX_EPOCH).unwrap().as_secs_f64());
    talk.trades(
        "1",
        &format!("<order sym=\"S\" amount=\"4\" limit=\"5\" until=\"{soon}\" client-id=\"dated\"/>"),
        &format!("<opened sym=\"S\" amount=\"4\" limit=\"5\" client-id=\"dated\" until=\"{soon}\" id=\"1\"/>"),
    );
    drop(talk);
    server.kill();
    // The server is killed once more before the deadline, so that the deadline itself survives a restart.
    launch.start().kill();
    wait_until("its time", PATIENCE, || SystemTime::now() > ends);
    let server = launch.start();
    wait_until("the order to end", PATIENCE, || open_orders(&server) == 0);
    let ended = "<status client-id=\"dated\"><canceled shares=\"4\" time=\"T\"/></status>";
    Talk::with(&server).trades("1", "<query client-id=\"dated\"/>", ended);
    server.kill();
    let server = launch.start();
    Talk::with(&server).trades("1", "<query client-id=\"dated\"/>", ended).trades(
        "1",
        "<order sym=\"S\" amount=\"20\" limit=\"5\"/>",
        "<opened sym=\"S\" amount=\"20\" limit=\"5\" id=\"2\"/>",
    );
}

#[test]
fn a_deadline_that_is_over_is_refused_and_one_is_part_of_what_a_client_order_id_stands_for() {
    let (_folder, server) = started("deadlines-refused", "");
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    let order = |until: &str| format!("sym=\"S\" amount=\"1\" limit=\"5\" client-id=\"c\" until=\"{until}\"");
    let late = order("1000000000.5");
    talk.trades("1", &format!("<order {late}/>"), &format!("<error {late}>{ANY}</error>"));
    let reply = talk.client.ask(&format!("<transactions id=\"1\"><order {late}/></transactions>"));
    assert!(reply.contains(">Order would end before it is placed: its deadline passed "), "{reply}");
    let far = order("4102444800");
    let placed = format!("<opened {far} id=\"1\"/>");
    talk.trades("1", &format!("<order {far}/><order {far}/>"), &[placed.clone(), placed].concat());
    let farther = order("4102444801");
    talk.trades(
        "1",
        &format!("<order {farther}/>"),
        &format!(
            "<error {farther}>Client order id stands for order 1, which has another deadline: give another order another id</error>"
        ),
    );
}

#[test]
fn an_amended_order_keeps_its_place_and_is_the_same_after_a_crash() {
    let folder = Folder::new("amended");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    talk.trades(
        "1",
        "<order sym=\"S\" amount=\"6\" limit=\"5\" until=\"4102444800.125\"/><order sym=\"S\" amount=\"6\" limit=\"5\"/>\
         <amend id=\"1\" shares=\"2\"/><query id=\"1\"/>",
        "<opened sym=\"S\" amount=\"6\" limit=\"5\" until=\"4102444800.125\" id=\"1\"/>\
         <opened sym=\"S\" amount=\"6\" limit=\"5\" id=\"2\"/><amended id=\"1\" shares=\"2\"><open shares=\"2\"/></amended>\
         <status id=\"1\"><open shares=\"2\" until=\"4102444800.125\"/></status>",
    );
    drop(talk);
    server.kill();
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.trades("1", "<query id=\"1\"/>", "<status id=\"1\"><open shares=\"2\" until=\"4102444800.125\"/></status>");
    talk.trades(
        "2",
        "<order sym=\"S\" amount=\"-1\" limit=\"5\"/>",
        "<opened sym=\"S\" amount=\"-1\" limit=\"5\" id=\"3\"/>",
    );
    talk.trades(
        "1",
        "<query id=\"1\"/><query id=\"2\"/><amend id=\"1\" shares=\"1\"/><amend id=\"1\" shares=\"1.5\"/>",
        "<status id=\"1\"><open shares=\"1\" until=\"4102444800.125\"/><executed shares=\"1\" price=\"5\" time=\"T\"/></status>\
         <status id=\"2\"><open shares=\"6\"/></status>\
         <error id=\"1\" shares=\"1\">Amending leaves an order something open: 1 were executed, so choose more, or cancel the order</error>\
         <amended id=\"1\" shares=\"1.5\"><open shares=\"0.5\"/></amended>",
    );
    // What the order no longer needs is free: 2.5 and 30 of 95 dollars are held.
    talk.trades(
        "1",
        "<order sym=\"S\" amount=\"13\" limit=\"5\"/>",
        "<error sym=\"S\" amount=\"13\" limit=\"5\">Insufficient funds: 65 needed, 62.5 available</error>",
    );
}

#[test]
fn an_order_keeps_its_id_under_other_terms_and_loses_its_place_where_it_could_execute_sooner() {
    let folder = Folder::new("amended-terms");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    talk.trades(
        "1",
        "<order sym=\"S\" amount=\"3\" limit=\"5\" client-id=\"first\"/><order sym=\"S\" amount=\"3\" limit=\"5\"/>\
         <amend client-id=\"first\" shares=\"2\"/>",
        "<opened sym=\"S\" amount=\"3\" limit=\"5\" client-id=\"first\" id=\"1\"/>\
         <opened sym=\"S\" amount=\"3\" limit=\"5\" id=\"2\"/>\
         <amended client-id=\"first\" shares=\"2\"><open shares=\"2\"/></amended>",
    );
    // Fewer shares kept the place: the first order executes, and then gets more.
    let sells = |talk: &mut Talk, id: u64| {
        let opened = format!("<opened sym=\"S\" amount=\"-1\" limit=\"5\" id=\"{id}\"/>");
        talk.trades("2", "<order sym=\"S\" amount=\"-1\" limit=\"5\"/>", &opened);
    };
    sells(&mut talk, 3);
    talk.trades(
        "1",
        "<query id=\"1\"/><amend id=\"1\" shares=\"4\"/>",
        "<status id=\"1\"><open shares=\"1\"/><executed shares=\"1\" price=\"5\" time=\"T\"/></status>\
         <amended id=\"1\" shares=\"4\"><open shares=\"3\"/></amended>",
    );
    // The second order is first now, until the other one gets a better limit.
    sells(&mut talk, 4);
    talk.trades(
        "1",
        "<query id=\"2\"/><amend client-id=\"first\" limit=\"6\"/>",
        "<status id=\"2\"><open shares=\"2\"/><executed shares=\"1\" price=\"5\" time=\"T\"/></status>\
         <amended client-id=\"first\" limit=\"6\"><open shares=\"3\"/></amended>",
    );
    sells(&mut talk, 5);
    // A refused amendment changes nothing: neither the terms nor the place.
    let executed = "<executed shares=\"1\" price=\"5\" time=\"T\"/><executed shares=\"1\" price=\"6\" time=\"T\"/>";
    talk.trades(
        "1",
        "<amend id=\"1\" shares=\"9\" limit=\"1000\"/><amend id=\"1\" stop=\"7\"/><query client-id=\"first\"/>",
        &format!(
            "<error id=\"1\" shares=\"9\" limit=\"1000\">Insufficient funds: 7000 needed, 74 available</error>\
             <error id=\"1\" stop=\"7\">Order does not wait for a price, so it has no stop, take-profit or trail to amend</error>\
             <status client-id=\"first\"><open shares=\"2\"/>{executed}</status>"
        ),
    );
    drop(talk);
    server.kill();
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.trades(
        "2",
        "<order sym=\"S\" amount=\"-1\" limit=\"7\"/>",
        "<opened sym=\"S\" amount=\"-1\" limit=\"7\" id=\"6\"/>",
    );
    // It meets the other order at once, and the rest is canceled.
    talk.trades(
        "1",
        "<query id=\"1\"/><amend id=\"1\" limit=\"8\" tif=\"IOC\"/><query id=\"1\"/><amend id=\"1\" limit=\"5\"/>",
        &format!(
            "<status id=\"1\"><open shares=\"2\"/>{executed}</status>\
             <amended id=\"1\" limit=\"8\" tif=\"IOC\"><open shares=\"0\"/></amended>\
             <status id=\"1\"><canceled shares=\"1\" time=\"T\"/>{executed}<executed shares=\"1\" price=\"7\" time=\"T\"/></status>\
             <error id=\"1\" limit=\"5\">Order has nothing open to amend</error>"
        ),
    );
}

#[test]
fn what_an_order_waits_for_its_display_and_its_deadline_are_amended() {
    let folder = Folder::new("amended-waits");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    talk.trades(
        "1",
        "<order sym=\"S\" amount=\"4\" limit=\"9\" stop=\"8\" until=\"4102444800\"/><order sym=\"S\" amount=\"8\" limit=\"2\"/>\
         <amend id=\"1\" stop=\"7\" until=\"none\"/><query id=\"1\"/>\
         <amend id=\"1\" trail=\"2\"/><amend id=\"1\" until=\"1\"/><amend id=\"1\" take-profit=\"3\"/>\
         <amend id=\"2\" display=\"3\" until=\"4102444800\"/><query id=\"2\"/>\
         <amend id=\"2\" display=\"none\" tif=\"GTC\"/><query id=\"2\"/><amend id=\"2\" display=\"2\"/>",
        "<opened sym=\"S\" amount=\"4\" limit=\"9\" stop=\"8\" until=\"4102444800\" id=\"1\"/>\
         <opened sym=\"S\" amount=\"8\" limit=\"2\" id=\"2\"/>\
         <amended id=\"1\" stop=\"7\" until=\"none\"><open shares=\"4\"/></amended>\
         <status id=\"1\"><open shares=\"4\" waits-for=\"7\"/></status>\
         <error id=\"1\" trail=\"2\">…</error><error id=\"1\" until=\"1\">…</error>\
         <amended id=\"1\" take-profit=\"3\"><open shares=\"4\"/></amended>\
         <amended id=\"2\" display=\"3\" until=\"4102444800\"><open shares=\"8\"/></amended>\
         <status id=\"2\"><open shares=\"8\" until=\"4102444800\" display=\"3\" shown=\"3\"/></status>\
         <amended id=\"2\" display=\"none\" tif=\"GTC\"><open shares=\"8\"/></amended>\
         <status id=\"2\"><open shares=\"8\"/></status>\
         <amended id=\"2\" display=\"2\"><open shares=\"8\"/></amended>",
    );
    drop(talk);
    server.kill();
    let server = launch.start();
    let mut talk = Talk::with(&server);
    let both = "<status id=\"1\"><open shares=\"4\" waits-for=\"3\"/></status>\
        <status id=\"2\"><open shares=\"8\" display=\"2\" shown=\"2\"/></status>";
    talk.trades("1", "<query id=\"1\"/><query id=\"2\"/>", both);
    // An execution reaches the price for which the order waits now.
    talk.trades("1", "<amend id=\"1\" limit=\"4\"/>", "<amended id=\"1\" limit=\"4\"><open shares=\"4\"/></amended>");
    talk.trades(
        "2",
        "<order sym=\"S\" amount=\"-1\" limit=\"2\"/><order sym=\"S\" amount=\"-1\" limit=\"2\"/>",
        "<opened sym=\"S\" amount=\"-1\" limit=\"2\" id=\"3\"/><opened sym=\"S\" amount=\"-1\" limit=\"2\" id=\"4\"/>",
    );
    talk.trades(
        "1",
        "<query id=\"1\"/>",
        "<status id=\"1\"><open shares=\"3\"/><executed shares=\"1\" price=\"4\" time=\"T\"/></status>",
    );
}

#[test]
fn an_order_does_not_trade_with_its_own_account_if_it_says_so() {
    let (_folder, server) = started("self-trade", "");
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    // The other account's order at the same price is older, and is executed.
    talk.trades(
        "2",
        "<order sym=\"S\" amount=\"-1\" limit=\"5\"/>",
        "<opened sym=\"S\" amount=\"-1\" limit=\"5\" id=\"1\"/>",
    );
    talk.trades(
        "1",
        "<order sym=\"S\" amount=\"-4\" limit=\"5\"/><order sym=\"S\" amount=\"3\" limit=\"5\" self-trade=\"decrement\"/>\
         <query id=\"2\"/><query id=\"3\"/><order sym=\"S\" amount=\"3\" limit=\"5\" tif=\"FOK\" self-trade=\"cancel-oldest\"/>\
         <query id=\"4\"/><order sym=\"S\" type=\"market\" funds=\"5\" self-trade=\"cancel-newest\"/>",
        "<opened sym=\"S\" amount=\"-4\" limit=\"5\" id=\"2\"/>\
         <opened sym=\"S\" amount=\"3\" limit=\"5\" self-trade=\"decrement\" id=\"3\"/>\
         <status id=\"2\"><open shares=\"2\"/></status>\
         <status id=\"3\"><canceled shares=\"2\" time=\"T\"/><executed shares=\"1\" price=\"5\" time=\"T\"/></status>\
         <opened sym=\"S\" amount=\"3\" limit=\"5\" tif=\"FOK\" self-trade=\"cancel-oldest\" id=\"4\"/>\
         <status id=\"4\"><canceled shares=\"3\" time=\"T\"/></status>\
         <error sym=\"S\" type=\"market\" funds=\"5\" self-trade=\"cancel-newest\">Nothing can be traded for 5: nobody is on the \
         other side, or a share costs too much</error>",
    );
}
