//! Orders that show a part of their shares at a time, over a real socket: who executes first, what is told of them, and
//! what remains of them after crashes.

use crate::common::folder::Folder;
use crate::common::server::Launch;
use crate::common::talk::{Talk, started};

const MARKET: &str = "<account id=\"1\" balance=\"100\"/><account id=\"2\" balance=\"100\"/><account id=\"3\" balance=\"1000\"/>\
    <symbol sym=\"S\"><account id=\"1\">50</account><account id=\"2\">50</account></symbol>";
const MADE: &str = "<created id=\"1\"/><created id=\"2\"/><created id=\"3\"/><created sym=\"S\" id=\"1\"/>\
    <created sym=\"S\" id=\"2\"/>";

fn opened(talk: &mut Talk, account: &str, order: &str, id: u64) {
    talk.trades(account, &format!("<order {order}/>"), &format!("<opened {order} id=\"{id}\"/>"));
}

/// Other exchanges let the next part of such an order keep the place of the part before.
#[test]
fn an_icebergs_tip_does_not_jump_the_line_whenever_the_server_dies() {
    let folder = Folder::new("icebergs");
    let launch = Launch::new(&folder.data());
    let mut server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    opened(&mut talk, "1", "sym=\"S\" amount=\"-30\" limit=\"5\" client-id=\"berg\" display=\"10\"", 1);
    opened(&mut talk, "2", "sym=\"S\" amount=\"-10\" limit=\"5\"", 2);
    // The buys take four, six and five shares, and then the rest and more.
    let bought = ["4", "6", "5", "25"];
    let berg = [("26", "6"), ("20", "10"), ("20", "10"), ("0", "0")];
    let plain = ["10", "10", "5", "0"];
    let mut executed = String::new();
    for (nth, (bought, ((open, shown), plain))) in bought.into_iter().zip(berg.into_iter().zip(plain)).enumerate() {
        server.kill();
        server = launch.start();
        // The same talk continues, so it expects replies about what happened before the kill.
        talk.client = server.client();
        opened(&mut talk, "3", &format!("sym=\"S\" amount=\"{bought}\" limit=\"5\""), nth as u64 + 3);
        executed += [
            "<executed shares=\"4\" price=\"5\" time=\"T\"/>",
            "<executed shares=\"6\" price=\"5\" time=\"T\"/>",
            "",
            "<executed shares=\"10\" price=\"5\" time=\"T\"/><executed shares=\"10\" price=\"5\" time=\"T\"/>",
        ][nth];
        let left = match open {
            "0" => String::new(),
            open => format!("<open shares=\"{open}\" display=\"10\" shown=\"{shown}\"/>"),
        };
        talk.trades(
            "1",
            "<query client-id=\"berg\"/>",
            &format!("<status client-id=\"berg\">{left}{executed}</status>"),
        );
        let orders = server.state()["orders"].as_array().unwrap().clone();
        let open = orders.iter().find(|order| order["id"] == 2).map_or("0", |order| order["open"].as_str().unwrap());
        assert_eq!(open, plain, "of the order that was shown second, after {nth}");
    }
    // The last buy executed five shares of the other order before it reached the tips.
    talk.trades(
        "3",
        "<query id=\"6\"/>",
        "<status id=\"6\"><executed shares=\"5\" price=\"5\" time=\"T\"/><executed shares=\"10\" price=\"5\" time=\"T\"/>\
         <executed shares=\"10\" price=\"5\" time=\"T\"/></status>",
    );
}

#[test]
fn what_an_iceberg_holds_is_held_for_all_of_it_and_comes_back() {
    let (_folder, server) = started("icebergs-hold", "");
    let mut talk = Talk::with(&server);
    talk.creates(MARKET, MADE);
    let berg = "sym=\"S\" amount=\"20\" limit=\"5\" client-id=\"c\" display=\"2\"";
    talk.trades(
        "1",
        &format!("<order {berg}/><order {berg}/><order sym=\"S\" amount=\"1\" limit=\"1\"/>"),
        &format!(
            "<opened {berg} id=\"1\"/><opened {berg} id=\"1\"/>\
             <error sym=\"S\" amount=\"1\" limit=\"1\">Insufficient funds: 1 needed, 0 available</error>"
        ),
    );
    let other = "sym=\"S\" amount=\"20\" limit=\"5\" client-id=\"c\" display=\"4\"";
    let plain = "sym=\"S\" amount=\"20\" limit=\"5\" client-id=\"c\"";
    let taken = "Client order id stands for order 1, which has another display: give another order another id";
    talk.trades(
        "1",
        &format!("<order {other}/><order {plain}/>"),
        &format!("<error {other}>{taken}</error><error {plain}>{taken}</error>"),
    );
    talk.trades(
        "1",
        "<replace client-id=\"c\" sym=\"S\" amount=\"10\" limit=\"9\" display=\"3\"/><query id=\"2\"/><cancel id=\"2\"/>\
         <order sym=\"S\" amount=\"20\" limit=\"5\"/>",
        "<replaced><canceled client-id=\"c\"><canceled shares=\"20\" time=\"T\"/></canceled>\
         <opened sym=\"S\" amount=\"10\" limit=\"9\" display=\"3\" id=\"2\"/></replaced>\
         <status id=\"2\"><open shares=\"10\" display=\"3\" shown=\"3\"/></status>\
         <canceled id=\"2\"><canceled shares=\"10\" time=\"T\"/></canceled>\
         <opened sym=\"S\" amount=\"20\" limit=\"5\" id=\"3\"/>",
    );
}
