//! Orders that wait until another one is executed, over a real socket: what is answered, and what remains of them after
//! crashes.

use crate::common::folder::Folder;
use crate::common::server::Launch;
use crate::common::talk::Talk;

const MARKET: &str = "<account id=\"1\" balance=\"100\"/><account id=\"2\" balance=\"100\"/>\
    <symbol sym=\"S\"><account id=\"2\">100</account></symbol>";
const MADE: &str = "<created id=\"1\"/><created id=\"2\"/><created sym=\"S\" id=\"2\"/>";
const BUY: &str = "sym=\"S\" amount=\"10\" limit=\"5\"";
const ABOVE: &str = "sym=\"S\" amount=\"-10\" limit=\"7\" post-only=\"true\"";
const BELOW: &str = "sym=\"S\" amount=\"-10\" type=\"market\" stop=\"3\"";

fn oto(orders: &[&str]) -> String {
    let orders: String = orders.iter().map(|order| format!("<order {order}/>")).collect();
    format!("<oto>{orders}</oto>")
}

fn opened(orders: &[&str], first: u64) -> String {
    let orders: String = (first..).zip(orders).map(|(id, order)| format!("<opened {order} id=\"{id}\"/>")).collect();
    format!("<oto>{orders}</oto>")
}

#[test]
fn what_was_bought_is_sold_by_orders_that_waited_through_crashes() {
    let folder = Folder::new("pending");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    talk.trades("1", &oto(&[BUY, ABOVE, BELOW]), &opened(&[BUY, ABOVE, BELOW], 1));
    let waits = "<status id=\"1\"><open shares=\"10\"/></status>\
        <status id=\"2\"><open shares=\"10\" pends-on=\"1\"/></status>\
        <status id=\"3\"><open shares=\"10\" pends-on=\"1\"/></status>";
    let queries = "<query id=\"1\"/><query id=\"2\"/><query id=\"3\"/>";
    talk.trades("1", queries, waits);
    // The waiting order's shares are not fixed yet, so it cannot be reduced.
    talk.trades(
        "1",
        "<amend id=\"2\" shares=\"5\"/>",
        "<error id=\"2\" shares=\"5\">Order waits for order 1 to be executed, and cannot be amended before: cancel it, and \
         place another one</error>",
    );
    drop(talk);
    server.kill();
    // The server restarts from its journal first, and then from the snapshot of a stop.
    launch.start().stop();
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.trades("1", queries, waits);
    let sell = "sym=\"S\" amount=\"-4\" limit=\"5\"";
    talk.trades("2", &format!("<order {sell}/>"), &format!("<opened {sell} id=\"4\"/>"));
    let waits_still = "<status id=\"2\"><open shares=\"10\" pends-on=\"1\"/></status>";
    talk.trades("1", "<query id=\"2\"/>", waits_still);
    let rest = "sym=\"S\" amount=\"-6\" limit=\"5\"";
    talk.trades("2", &format!("<order {rest}/>"), &format!("<opened {rest} id=\"5\"/>"));
    let placed = "<status id=\"2\"><open shares=\"10\"/></status>\
        <status id=\"3\"><open shares=\"10\" waits-for=\"3\"/></status>";
    talk.trades("1", "<query id=\"2\"/><query id=\"3\"/>", placed);
    drop(talk);
    server.kill();
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.trades("1", "<query id=\"2\"/><query id=\"3\"/>", placed);
    // From now on each of the two cancels the other.
    let buy = "sym=\"S\" amount=\"1\" limit=\"7\"";
    talk.trades("2", &format!("<order {buy}/>"), &format!("<opened {buy} id=\"6\"/>"));
    talk.trades("1", "<query id=\"3\"/>", "<status id=\"3\"><canceled shares=\"10\" time=\"T\"/></status>");
}

#[test]
fn orders_that_wait_end_with_what_they_wait_for_and_with_each_other() {
    let folder = Folder::new("pending-ends");
    let server = Launch::new(&folder.data()).start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    let canceled = |id: u64| format!("<canceled id=\"{id}\"><canceled shares=\"10\" time=\"T\"/></canceled>");
    let ended = |id: u64| format!("<status id=\"{id}\"><canceled shares=\"10\" time=\"T\"/></status>");
    talk.trades("1", &oto(&[BUY, ABOVE, BELOW]), &opened(&[BUY, ABOVE, BELOW], 1));
    talk.trades("1", "<cancel id=\"3\"/><query id=\"2\"/>", &format!("{}{}", canceled(3), ended(2)));
    talk.trades("1", "<cancel id=\"1\"/>", &canceled(1));
    talk.trades("1", &oto(&[BUY, ABOVE]), &opened(&[BUY, ABOVE], 4));
    talk.trades("1", "<cancel id=\"4\"/><query id=\"5\"/>", &format!("{}{}", canceled(4), ended(5)));
    // An order that cannot be placed at its turn ends, too: the working order sells, and there is too little money.
    let (sell, dear) = ("sym=\"S\" amount=\"-1\" limit=\"5\"", "sym=\"S\" amount=\"50\" limit=\"9\"");
    talk.trades("2", &oto(&[sell, dear]), &opened(&[sell, dear], 6));
    let buy = "sym=\"S\" amount=\"1\" limit=\"5\"";
    talk.trades("1", &format!("<order {buy}/>"), &format!("<opened {buy} id=\"8\"/>"));
    talk.trades("2", "<query id=\"7\"/>", "<status id=\"7\"><canceled shares=\"50\" time=\"T\"/></status>");
}

#[test]
fn a_working_order_that_is_executed_at_once_has_its_orders_placed_at_once() {
    let folder = Folder::new("pending-at-once");
    let server = Launch::new(&folder.data()).start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    let sell = "sym=\"S\" amount=\"-10\" limit=\"5\"";
    talk.trades("2", &format!("<order {sell}/>"), &format!("<opened {sell} id=\"1\"/>"));
    talk.trades("1", &oto(&[BUY, ABOVE, BELOW]), &opened(&[BUY, ABOVE, BELOW], 2));
    talk.trades(
        "1",
        "<query id=\"2\"/><query id=\"3\"/><query id=\"4\"/>",
        "<status id=\"2\"><executed shares=\"10\" price=\"5\" time=\"T\"/></status>\
         <status id=\"3\"><open shares=\"10\"/></status>\
         <status id=\"4\"><open shares=\"10\" waits-for=\"3\"/></status>",
    );
}
