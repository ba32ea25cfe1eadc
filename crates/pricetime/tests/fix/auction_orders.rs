//! Orders for an auction: TimeInForce 2 with a limit or without one, from the placing to the report of their end.

use std::net::SocketAddr;

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::server::{Launch, Server};
use crate::sessions::serve;

/// Starts a server whose symbol has traded at 100 and has a band of ten per cent around it.
fn serve_with_band(folder: &Folder) -> (Server, SocketAddr) {
    let (server, address) = serve(folder);
    trade(&server, "1", r#"amount="1" limit="100""#);
    trade(&server, "2", r#"amount="-1" limit="100""#);
    let told = server.ask(r#"<create><rules sym="SPY" band-up="10" band-down="10"/></create>"#);
    assert!(told.contains("<changed"), "{told}");
    (server, address)
}

fn phase(server: &Server, phase: &str) {
    let told = server.ask(&format!(r#"<create><phase sym="SPY" is="{phase}"/></create>"#));
    assert!(told.contains("<changed"), "{told}");
}

/// Places an order of an account over XML.
fn trade(server: &Server, account: &str, order: &str) {
    let told = server.ask(&format!(r#"<transactions id="{account}"><order sym="SPY" {order}/></transactions>"#));
    assert!(told.contains("<opened"), "{told}");
}

/// A buy of account 1 for an auction, with further fields.
fn buy(name: &str, shares: &str, fields: &str) -> String {
    format!("11={name}|1=1|55=SPY|54=1|38={shares}|59=2|{fields}")
}

/// The fields that an amendment of a buy of account 1 begins with.
fn of(name: &str, of: &str) -> String {
    format!("11={name}|41={of}|1=1|55=SPY|54=1|")
}

fn has_no(message: &str, tag: u32) {
    assert!(!message.contains(&format!("|{tag}=")), "{tag} in {message}");
}

#[test]
fn a_limit_order_for_an_auction_executes_as_far_as_it_can_and_expires() {
    let folder = Folder::new("fix-auction-limit");
    let (server, address) = serve_with_band(&folder);
    phase(&server, "auction");
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "10", "40=2|44=101|111=5|"));
    fix.expect(&["150=0", "39=0", "11=a", "40=2", "59=2", "44=101", "38=10", "151=10", "111=5"]);
    fix.send("D", &buy("b", "2", "40=2|44=99|"));
    fix.expect(&["150=0", "39=0", "11=b", "40=2", "59=2", "44=99"]);
    fix.send("H", "11=a|1=1|55=SPY|54=1|");
    fix.expect(&["150=I", "39=0", "11=a", "38=10", "151=10", "14=0"]);
    fix.send("AF", "584=all|585=7|1=1|");
    fix.expect(&["150=I", "11=a", "59=2", "911=2", "912=N"]);
    fix.expect(&["150=I", "11=b", "59=2", "911=2", "912=Y"]);
    trade(&server, "2", r#"amount="-4" limit="100""#);
    phase(&server, "open");
    fix.expect(&["150=F", "39=1", "11=a", "32=4", "31=100", "14=4", "151=6", "59=2"]);
    fix.expect(&["150=C", "39=C", "11=a", "14=4", "151=0", "6=100", "59=2", "58=not_resting"]);
    fix.expect(&["150=C", "39=C", "11=b", "14=0", "151=0", "59=2", "58=not_resting"]);
    fix.send("H", "11=a|1=1|55=SPY|54=1|");
    fix.expect(&["150=I", "39=4", "11=a", "38=10", "14=4", "151=0", "6=100"]);
    // Its name stands for it for a day.
    fix.send("D", &buy("a", "10", "40=2|44=101|"));
    fix.expect(&["150=8", "39=8", "103=6", "11=a"]);
    fix.send("G", &format!("{}38=12|", of("a2", "a")));
    fix.expect(&["35=9", "11=a2", "41=a", "102=0"]);
    server.stop();
}

#[test]
fn market_orders_for_an_auction_execute_at_the_last_price_and_name_none() {
    let folder = Folder::new("fix-auction-market");
    let (server, address) = serve_with_band(&folder);
    phase(&server, "auction");
    let mut buyer = Fix::log_on(address, "BUYER");
    let mut seller = Fix::log_on(address, "SELLER");
    buyer.send("D", &buy("b", "5", "40=1|"));
    has_no(&buyer.expect(&["150=0", "39=0", "11=b", "40=1", "59=2", "38=5", "151=5"]), 44);
    seller.send("D", "11=s|1=2|55=SPY|54=2|38=3|40=1|59=2|");
    has_no(&seller.expect(&["150=0", "39=0", "11=s", "40=1", "59=2", "38=3", "151=3"]), 44);
    buyer.send("H", "11=b|1=1|55=SPY|54=1|");
    has_no(&buyer.expect(&["150=I", "39=0", "11=b", "151=5"]), 44);
    phase(&server, "open");
    has_no(&buyer.expect(&["150=F", "39=1", "11=b", "32=3", "31=100", "14=3", "151=2", "40=1", "59=2"]), 44);
    has_no(&buyer.expect(&["150=C", "39=C", "11=b", "14=3", "151=0", "6=100", "40=1", "58=not_resting"]), 44);
    seller.expect(&["150=F", "39=2", "11=s", "32=3", "31=100", "14=3", "151=0"]);
    server.stop();
}

#[test]
fn an_order_for_an_auction_is_refused_without_a_band_and_waits_elsewhere() {
    let folder = Folder::new("fix-auction-refused");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let mut names = 0;
    let mut refused = |fields: &str, reason: &str, text: &str| {
        names += 1;
        let name = format!("r{names}");
        fix.send("D", &buy(&name, "1", fields));
        let told = fix.expect(&["35=8", "150=8", "39=8", "37=NONE", &format!("11={name}"), "59=2", reason]);
        assert!(told.contains(text), "{text}: {told}");
    };
    let (limit, market) = ("40=2|44=10|", "40=1|");
    for at in ["open", "halted", "auction"] {
        phase(&server, at);
        refused(market, "103=99", "|58=No price band bounds this auction");
        refused("40=2|44=2000000|", "103=3", "Insufficient funds");
    }
    phase(&server, "halted");
    fix.send("D", &buy("b", "1", limit));
    fix.expect(&["150=0", "39=0", "11=b", "59=2", "44=10"]);
    phase(&server, "auction");
    fix.send("D", &buy("a", "1", limit));
    fix.expect(&["150=0", "11=a", "59=2", "44=10"]);
    server.stop();
}

#[test]
fn what_no_order_for_an_auction_is_is_rejected_with_the_field_at_fault() {
    let folder = Folder::new("fix-auction-rejected");
    let (server, address) = serve_with_band(&folder);
    phase(&server, "auction");
    let mut fix = Fix::log_on(address, "A");
    let order = "11=a|1=1|55=SPY|54=1|";
    for (fields, tag, text) in [
        ("38=1|40=2|44=100|59=7|", "371=59", "TimeInForce(59)=7 (at the close) is not offered"),
        ("38=1|40=1|59=7|", "371=59", "TimeInForce(59)=7 (at the close) is not offered"),
        ("38=1|40=2|44=100|59=5|", "371=59", "TimeInForce(59) is 0, 1, 2, 3, 4 or 6"),
        ("38=1|40=3|99=105|59=2|", "371=59", "TimeInForce(59)=2 belongs to an order that waits for no price"),
        ("38=1|40=4|99=105|44=106|59=2|", "371=59", "TimeInForce(59)=2 belongs to an order that waits for no price"),
        ("38=1|40=J|99=95|59=2|", "371=59", "TimeInForce(59)=2 belongs to an order that waits for no price"),
        ("38=1|40=2|44=100|18=6|59=2|", "371=59", "TimeInForce(59) of a post-only order"),
        ("38=1|40=2|59=2|", "371=44", "Price(44) is missing"),
        ("38=1|40=1|44=100|59=2|", "371=44", "Price(44) belongs to"),
        ("38=2|40=1|111=1|59=2|", "371=111", "MaxFloor(111) belongs to an order with a limit"),
        ("152=100|40=1|59=2|", "371=152", "TimeInForce(59) is not 2"),
    ] {
        fix.send("D", &format!("{order}{fields}"));
        let told = fix.expect(&["35=3", "372=D", tag]);
        assert!(told.contains(text), "{text}: {told}");
    }
    // The session goes on, and nothing was placed.
    fix.send("AF", "584=all|585=7|1=1|");
    fix.expect(&["150=I", "39=8", "911=0"]);
    server.stop();
}

#[test]
fn an_order_for_an_auction_is_amended_and_stays_one() {
    let folder = Folder::new("fix-auction-amended");
    let (server, address) = serve_with_band(&folder);
    phase(&server, "auction");
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "10", "40=2|44=101|"));
    fix.expect(&["150=0", "11=a", "59=2"]);
    fix.send("D", &buy("m", "4", "40=1|"));
    fix.expect(&["150=0", "11=m", "59=2"]);
    // The message carries the whole order, with other shares, another price, or an end.
    fix.send("G", &format!("{}38=8|40=2|44=101|59=2|", of("a2", "a")));
    fix.expect(&["150=5", "39=0", "11=a2", "41=a", "38=8", "151=8", "40=2", "44=101", "59=2"]);
    fix.send("G", &format!("{}38=8|40=2|44=102|59=2|", of("a3", "a2")));
    fix.expect(&["150=5", "39=0", "11=a3", "41=a2", "38=8", "44=102", "59=2"]);
    let end = "126=20991231-23:59:59";
    fix.send("G", &format!("{}38=8|44=102|59=2|{end}|111=2|", of("a4", "a3")));
    fix.expect(&["150=5", "11=a4", "41=a3", "44=102", "59=2", &format!("{end}.000"), "111=2"]);
    fix.send("G", &format!("{}38=9|44=102|59=2|{end}.000|111=2|", of("a5", "a4")));
    fix.expect(&["150=5", "11=a5", "41=a4", "38=9", "59=2", &format!("{end}.000")]);
    fix.send("G", &format!("{}38=9|59=2|", of("a6", "a5")));
    fix.expect(&["150=5", "11=a6", "41=a5", "38=9", "44=102", "59=2", &format!("{end}.000")]);
    fix.send("G", &format!("{}38=6|40=1|59=2|", of("m2", "m")));
    has_no(&fix.expect(&["150=5", "11=m2", "41=m", "38=6", "40=1", "59=2"]), 44);
    // It becomes no other order, and a market order gets no price: 110 is where it gathers.
    for (original, fields, text) in [
        ("a6", "59=0|", "TimeInForce(59) of an order for an auction stays 2"),
        ("a6", "59=1|", "an order for an auction ends with it"),
        ("a6", "59=3|", "an order for an auction ends with it"),
        ("a6", "59=4|", "an order for an auction ends with it"),
        ("a6", "59=6|126=20991231-23:59:59|", "an order for an auction ends with it"),
        ("a6", "40=1|59=2|", "OrdType(40)"),
        ("a6", "18=6|", "ExecInst(18)"),
        ("a6", "99=105|", "does not wait for a price"),
        ("a6", "38=1000000|59=2|", "Display of 2 shares is out of bounds"),
        ("m2", "40=1|59=1|", "an order for an auction ends with it"),
        ("m2", "40=1|59=0|", "TimeInForce(59) of an order for an auction stays 2"),
        ("m2", "44=110|59=2|", "no limit to amend"),
        ("m2", "111=2|59=2|", "shows all its shares"),
    ] {
        fix.send("G", &format!("{}{fields}", of("x", original)));
        let refused = fix.expect(&["35=9", "11=x", &format!("41={original}"), "39=0", "434=2", "102=99"]);
        assert!(refused.contains(text), "{text}: {refused}");
    }
    fix.send("G", &format!("{}59=7|", of("x", "a6")));
    fix.expect(&["35=3", "372=G", "371=59", "373=5"]);
    // No other order becomes one for the auction.
    fix.send("D", "11=p|1=1|55=SPY|54=1|38=1|40=2|44=95|59=1|");
    fix.expect(&["150=0", "11=p"]);
    fix.send("G", &format!("{}59=2|", of("x", "p")));
    let refused = fix.expect(&["35=9", "11=x", "41=p", "39=0", "102=99"]);
    assert!(refused.contains("cannot have this time in force"), "{refused}");
    phase(&server, "open");
    fix.expect(&["150=C", "39=C", "11=a6", "38=9", "151=0", "58=not_resting"]);
    fix.expect(&["150=C", "39=C", "11=m2", "38=6", "151=0", "58=not_resting"]);
    fix.send("F", &of("c", "p"));
    fix.expect(&["150=4", "11=c", "41=p"]);
    server.stop();
}

/// An order for an auction is one in the snapshot, too, and ends with the auction behind a start from it.
#[test]
fn orders_for_an_auction_are_told_as_such_after_a_restart() {
    let folder = Folder::new("fix-auction-restart");
    let (server, address) = serve_with_band(&folder);
    phase(&server, "auction");
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "10", "40=2|44=101|126=20991231-23:59:59|"));
    fix.expect(&["150=0", "11=a", "59=2", "126=20991231-23:59:59.000"]);
    fix.send("D", &buy("m", "4", "40=1|"));
    fix.expect(&["150=0", "11=m", "59=2"]);
    server.stop();
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    let mut fix = Fix::log_on(server.fix.unwrap(), "A");
    fix.send("AF", "584=all|585=7|1=1|");
    fix.expect(&["150=I", "11=a", "40=2", "44=101", "59=2", "126=20991231-23:59:59.000", "911=2"]);
    has_no(&fix.expect(&["150=I", "11=m", "40=1", "59=2", "911=2"]), 44);
    // Sent again, each is the same order.
    fix.send("D", &buy("m", "4", "40=1|"));
    let told = fix.next();
    assert!(told.contains("|11=m|") && told.contains("|103=6|"), "{told}");
    fix.send("G", &format!("{}38=3|40=1|59=2|", of("m2", "m")));
    has_no(&fix.expect(&["150=5", "11=m2", "41=m", "38=3", "40=1", "59=2"]), 44);
    phase(&server, "open");
    fix.expect(&["150=C", "39=C", "11=a", "58=not_resting"]);
    fix.expect(&["150=C", "39=C", "11=m2", "58=not_resting"]);
    server.stop();
}
