//! Pairs of orders that cancel each other, over a real socket: what is answered, and what remains of them after
//! crashes.

use crate::common::folder::Folder;
use crate::common::server::Launch;
use crate::common::talk::Talk;

const MARKET: &str = "<account id=\"1\" balance=\"100\"/><account id=\"2\" balance=\"100\"/>\
    <symbol sym=\"S\"><account id=\"1\">10</account><account id=\"2\">10</account></symbol>";
const MADE: &str = "<created id=\"1\"/><created id=\"2\"/><created sym=\"S\" id=\"1\"/><created sym=\"S\" id=\"2\"/>";
const ABOVE: &str = "sym=\"S\" amount=\"-10\" limit=\"7\" post-only=\"true\"";
const BELOW: &str = "sym=\"S\" amount=\"-10\" type=\"market\" stop=\"3\"";

fn oco(first: &str, second: &str) -> String {
    format!("<oco><order {first}/><order {second}/></oco>")
}

fn opened(first: &str, second: &str, id: u64) -> String {
    format!("<oco><opened {first} id=\"{id}\"/><opened {second} id=\"{}\"/></oco>", id + 1)
}

#[test]
fn a_pair_outlives_crashes_and_one_of_it_cancels_the_other() {
    let folder = Folder::new("linked");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    talk.trades("1", &oco(ABOVE, BELOW), &opened(ABOVE, BELOW, 1));
    // What both orders hold is held once, and none of it is free.
    let one = "sym=\"S\" amount=\"-1\" limit=\"9\"";
    let short = format!("<error {one}>Insufficient shares: 1 needed, 0 available</error>");
    talk.trades("1", &format!("<order {one}/>"), &short);
    drop(talk);
    server.kill();
    // The server restarts from its journal first, and then from the snapshot of a stop.
    launch.start().stop();
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.trades("1", &format!("<order {one}/>"), &short);
    talk.trades(
        "2",
        "<order sym=\"S\" amount=\"3\" limit=\"7\"/>",
        "<opened sym=\"S\" amount=\"3\" limit=\"7\" id=\"3\"/>",
    );
    talk.trades(
        "1",
        "<query id=\"1\"/><query id=\"2\"/>",
        "<status id=\"1\"><open shares=\"7\"/><executed shares=\"3\" price=\"7\" time=\"T\"/></status>\
         <status id=\"2\"><canceled shares=\"10\" time=\"T\"/></status>",
    );
    drop(talk);
    server.kill();
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.trades(
        "1",
        "<cancel id=\"1\"/><order sym=\"S\" amount=\"-7\" limit=\"9\"/>",
        "<canceled id=\"1\"><canceled shares=\"7\" time=\"T\"/><executed shares=\"3\" price=\"7\" time=\"T\"/></canceled>\
         <opened sym=\"S\" amount=\"-7\" limit=\"9\" id=\"4\"/>",
    );
}

#[test]
fn of_two_that_cannot_both_be_placed_there_is_none() {
    let folder = Folder::new("linked-refused");
    let server = Launch::new(&folder.data()).start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    // The first order is refused, or the second one.
    let crossing = "sym=\"S\" amount=\"-10\" limit=\"5\" post-only=\"true\"";
    let why = "Post-only order would execute at once, at 5: choose a limit that does not cross";
    talk.trades(
        "2",
        "<order sym=\"S\" amount=\"1\" limit=\"5\"/>",
        "<opened sym=\"S\" amount=\"1\" limit=\"5\" id=\"1\"/>",
    );
    talk.trades("1", &oco(crossing, BELOW), &format!("<error {crossing}>{why}</error>"));
    talk.trades("1", &oco(BELOW, crossing), &format!("<error {crossing}>{why}</error>"));
    // The order that came first has an id and nothing open, and what it held is free.
    talk.trades("1", "<query id=\"2\"/>", "<status id=\"2\"><canceled shares=\"10\" time=\"T\"/></status>");
    talk.trades("1", &oco(ABOVE, BELOW), &opened(ABOVE, BELOW, 3));
    talk.trades(
        "1",
        "<cancel id=\"4\"/><query id=\"3\"/>",
        "<canceled id=\"4\"><canceled shares=\"10\" time=\"T\"/></canceled>\
        <status id=\"3\"><canceled shares=\"10\" time=\"T\"/></status>",
    );
}
