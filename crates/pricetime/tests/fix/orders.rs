//! Orders over several protocols: a session is told all that happens to its accounts, in order.

use std::io::Write;

use serde_json::json;

use crate::common::fix::{Fix, message, now};
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::sessions::{buy, serve};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

#[test]
fn a_session_is_told_what_its_accounts_do_over_other_protocols() {
    let folder = Folder::new("fix-others");
    let (server, address) = serve(&folder);
    let http = Http::new(server.http);
    let mut fix = Fix::log_on(address, "A");
    fix.send("AF", "584=begin|585=7|1=1|");
    fix.expect(&["35=8", "150=I", "39=8", "58=no orders are open"]);
    let placed = http.make(
        "/api/v1/orders",
        &json!({"account": "1", "symbol": "SPY", "side": "buy", "limit": "99.5", "shares": "3", "client_order_id": "rest-1"}),
    );
    let order = placed["order_id"].as_u64().unwrap();
    fix.expect(&["150=0", &format!("37={order}"), "11=rest-1", "38=3", "44=99.5", "40=2", "59=1"]);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="99"/></transactions>"#);
    fix.expect(&["150=F", "39=1", "31=99.5", "32=1", "14=1", "151=2", "6=99.5"]);
    let amended =
        http.send("PATCH", &format!("/api/v1/orders/{order}"), Some(r#"{"account":"1","shares":"2"}"#), &JSON);
    assert_eq!(amended.status, 200, "{:?}", amended.body);
    fix.expect(&["150=5", "39=1", "38=2", "14=1", "151=1", "11=rest-1"]);
    http.delete(&format!("/api/v1/orders/{order}?account=1"));
    fix.expect(&["150=4", "39=4", "14=1", "151=0", "58=asked"]);
    // Linked orders, and orders that wait for another one, are told singly.
    server.ask(
        r#"<transactions id="2"><oco><order sym="SPY" amount="-1" limit="120" post-only="true"/><order sym="SPY" amount="-1"
        type="market" stop="50"/></oco></transactions>"#,
    );
    let mut other = Fix::log_on(address, "B");
    other.send("AF", "584=all|585=7|1=2|");
    other.expect(&["150=I", "40=2", "18=6", "44=120", "911=2", "912=N"]);
    other.expect(&["150=I", "40=3", "99=50", "911=2", "912=Y"]);
    fix.send("D", &buy("x", "120"));
    fix.expect(&["150=0", "11=x"]);
    fix.expect(&["150=F", "39=2", "31=120"]);
    let told = [other.next(), other.next()];
    assert!(told.iter().any(|told| told.contains("|150=F|") && told.contains("|39=2|")), "{told:?}");
    assert!(told.iter().any(|told| told.contains("|150=4|") && told.contains("|58=linked|")), "{told:?}");
    server.stop();
}

#[test]
fn the_documents_order_is_told_as_it_says() {
    let document = include_str!("../../../../docs/FIX.md");
    let mut example = document.lines().skip_while(|line| !line.starts_with("35=D|"));
    let (asked, told) = (example.next().unwrap(), example.next().unwrap());
    let folder = Folder::new("fix-document");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "ALICE");
    fix.stream.write_all(&message(&format!("{asked}52={}|", now()))).unwrap();
    let next = fix.next();
    let untold = ["8=", "9=", "52=", "60=", "10="];
    let next: String =
        next.split_inclusive('|').filter(|field| !untold.iter().any(|tag| field.starts_with(tag))).collect();
    assert_eq!(next, told);
    server.stop();
}

#[test]
fn a_session_that_ends_leaves_others_their_accounts() {
    let folder = Folder::new("fix-leaves");
    let (server, address) = serve(&folder);
    let mut stays = Fix::log_on(address, "STAYS");
    stays.send("AF", "584=begin|585=7|1=1|");
    stays.expect(&["150=I"]);
    let mut goes = Fix::log_on(address, "GOES");
    goes.send("AF", "584=begin|585=7|1=1|");
    goes.expect(&["150=I"]);
    goes.send("5", "");
    goes.expect_end("goodbye");
    // That session has ended when another one is told about its account and logged on later.
    let mut last = Fix::log_on(address, "LAST");
    last.send("D", &buy("a", "10"));
    for fix in [&mut last, &mut stays] {
        fix.expect(&["150=0", "11=a"]);
    }
    server.stop();
}

/// A client order id that named two orders could cancel the wrong one.
#[test]
fn no_name_stands_for_two_orders() {
    let folder = Folder::new("fix-names");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let buy = |name: &str| format!("11={name}|1=1|55=SPY|54=1|38=5|40=2|59=1|44=10|");
    let amend = |name: &str, of: &str, shares: u8| format!("11={name}|41={of}|1=1|55=SPY|54=1|40=2|44=10|38={shares}|");
    for name in ["a", "b"] {
        fix.send("D", &buy(name));
        fix.expect(&["150=0", &format!("11={name}")]);
    }
    fix.send("G", &amend("b", "a", 4));
    fix.expect(&["35=9", "11=b", "41=a", "102=6", "39=0"]);
    fix.send("G", &amend("a2", "a", 4));
    fix.expect(&["150=5", "11=a2", "41=a", "38=4"]);
    fix.send("G", &amend("a2", "b", 4));
    fix.expect(&["35=9", "11=a2", "41=b", "102=6"]);
    fix.send("D", &buy("a2"));
    fix.expect(&["150=8", "103=6", "11=a2"]);
    fix.send("G", &amend("a3", "a2", 3));
    fix.expect(&["150=5", "11=a3", "41=a2", "38=3"]);
    // The first id still names the order, and the one in between names nothing.
    fix.send("H", "11=a|1=1|55=SPY|54=1|");
    fix.expect(&["150=I", "39=0", "38=3"]);
    fix.send("F", "11=c|41=a2|1=1|55=SPY|54=1|38=3|");
    fix.expect(&["35=9", "102=1"]);
    fix.send("G", &amend("a4", "a3", 3).replace("|54=1|", "|54=2|"));
    fix.expect(&["35=9", "11=a4", "102=99", "39=0"]);
    fix.send("F", "11=d|41=a3|1=1|55=SPY|54=1|38=3|");
    fix.expect(&["150=4", "11=d", "41=a3"]);
    fix.send("D", &buy("a3"));
    fix.expect(&["150=0", "11=a3"]);
    server.stop();
}

/// The client order id of an amendment that was not reported yet was free for another order, and a cancel by it
/// canceled that one or none.
#[test]
fn a_name_is_the_amended_orders_at_once() {
    let folder = Folder::new("fix-names-at-once");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let buy = |name: &str| format!("11={name}|1=1|55=SPY|54=1|38=5|40=2|59=1|44=10|");
    let amend = |name: &str, of: &str, shares: u8| format!("11={name}|41={of}|1=1|55=SPY|54=1|40=2|44=10|38={shares}|");
    for name in ["a", "b"] {
        fix.send("D", &buy(name));
        fix.expect(&["150=0", &format!("11={name}")]);
    }
    // No report comes between messages of one packet.
    let [first, second, cancel] = [("x", "a"), ("x", "b"), ("c", "x")].map(|(name, of)| amend(name, of, 4));
    fix.send_together(&[("G", &first), ("D", &buy("x")), ("G", &second), ("F", &cancel)]);
    fix.expect(&["150=8", "103=6", "11=x"]);
    fix.expect(&["35=9", "11=x", "41=b", "102=6"]);
    fix.expect(&["150=5", "11=x", "41=a", "38=4"]);
    fix.expect(&["150=4", "11=c", "41=x"]);
    // A name that was refused is free.
    fix.send_together(&[("G", &amend("y", "b", 4).replace("|54=1|", "|54=2|")), ("D", &buy("y"))]);
    fix.expect(&["35=9", "11=y", "102=99"]);
    fix.expect(&["150=0", "11=y"]);
    server.stop();
}

/// The client order ids of done orders are free again however they ended, and each report has an id of its own.
#[test]
fn names_are_free_again_and_reports_have_ids_of_their_own() {
    let folder = Folder::new("fix-free-names");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let buy = |name: &str| format!("11={name}|1=1|55=SPY|54=1|38=5|40=2|59=1|44=10|");
    let amend = |name: &str, of: &str, shares: u8| format!("11={name}|41={of}|1=1|55=SPY|54=1|40=2|44=10|38={shares}|");
    let sell = |shares: u8| {
        let order = format!("<order sym=\"SPY\" amount=\"-{shares}\" limit=\"10\"/>");
        server.ask(&format!("<transactions id=\"2\">{order}</transactions>"));
    };
    let mut ids = Vec::new();
    let mut expect = |fix: &mut Fix, fields: &[&str]| {
        let told = fix.expect(fields);
        ids.push(told.split('|').find_map(|field| field.strip_prefix("17=")).unwrap().to_owned());
    };
    fix.send("D", &buy("a"));
    expect(&mut fix, &["150=0", "11=a"]);
    for (name, of, shares) in [("a2", "a", 4), ("a3", "a2", 3)] {
        fix.send("G", &amend(name, of, shares));
        expect(&mut fix, &["150=5", &format!("11={name}")]);
    }
    // The order is executed wholly, in two parts.
    sell(1);
    expect(&mut fix, &["150=F", "39=1", "11=a3"]);
    sell(2);
    expect(&mut fix, &["150=F", "39=2", "11=a3"]);
    for name in ["a2", "a3"] {
        fix.send("D", &buy(name));
        expect(&mut fix, &["150=0", &format!("11={name}")]);
    }
    // The order is canceled over another protocol.
    fix.send("G", &amend("b2", "a2", 4));
    expect(&mut fix, &["150=5", "11=b2", "41=a2"]);
    server.ask("<transactions id=\"1\"><cancel client-id=\"a2\"/></transactions>");
    expect(&mut fix, &["150=4", "11=b2"]);
    // Refused amendments and cancels leave no client order id behind, and get no reports of what others do.
    fix.send("G", &amend("c2", "a3", 4).replace("|54=1|", "|54=2|"));
    fix.expect(&["35=9", "11=c2", "41=a3"]);
    server.ask("<transactions id=\"1\"><cancel client-id=\"a3\"/></transactions>");
    expect(&mut fix, &["150=4", "11=a3"]);
    for name in ["b2", "c2"] {
        fix.send("D", &buy(name));
        expect(&mut fix, &["150=0", &format!("11={name}")]);
    }
    let all = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), all, "{ids:?}");
    server.stop();
}

/// An amendment over another protocol, whose report came behind the answer to one of the session, was reported as the
/// session's.
#[test]
fn amendments_of_others_are_not_told_as_the_sessions_own() {
    let folder = Folder::new("fix-amended-elsewhere");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let mut xml = server.client();
    for number in 0..200 {
        fix.send("D", &format!("11=o{number}|1=1|55=SPY|54=1|38=9|40=2|59=1|44=1|"));
        fix.expect(&["150=0", &format!("11=o{number}")]);
        let (amend, cancel) =
            (format!(r#"<amend client-id="o{number}" shares="8"/>"#), format!("<cancel client-id=\"o{number}\"/>"));
        xml.ask(&format!(r#"<transactions id="1">{amend}</transactions>"#));
        fix.send("G", &format!("11=g{number}|41=o{number}|1=1|55=SPY|54=1|40=2|44=1|38=7|"));
        fix.expect(&["150=5", &format!("11=o{number}"), "38=8"]);
        fix.expect(&["150=5", &format!("11=g{number}"), "38=7"]);
        xml.ask(&format!(r#"<transactions id="1">{cancel}</transactions>"#));
        fix.expect(&["150=4", &format!("11=g{number}")]);
    }
    server.stop();
}

/// A cancel by the last name that was reported lost its report where another amendment was reported between, and a
/// refused retry took the name of the amendment that it repeated.
#[test]
fn changes_that_follow_each_other_at_once_keep_their_names() {
    let folder = Folder::new("fix-changes-at-once");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let of = |name: &str, of: &str| format!("11={name}|41={of}|1=1|55=SPY|54=1|");
    let amend = |name: &str, named: &str, shares: u8| format!("{}40=2|44=1|38={shares}|", of(name, named));
    fix.send("D", "11=o|1=1|55=SPY|54=1|38=9|40=2|59=1|44=1|");
    fix.expect(&["150=0", "11=o"]);
    fix.send("G", &amend("g1", "o", 8));
    fix.expect(&["150=5", "11=g1"]);
    // The second one takes a name that is given, and the third one has another side.
    let (again, other) = (amend("g2", "g1", 7), amend("g3", "g1", 7).replace("|54=1|", "|54=2|"));
    let cancel = format!("{}38=7|", of("c", "g1"));
    fix.send_together(&[("G", &again), ("G", &again), ("G", &other), ("F", &cancel)]);
    let mut told: Vec<String> = (0..4).map(|_| fix.next()).collect();
    told.sort_by_key(|told| told.contains("|35=9|"));
    let expected = [["|150=5|", "|11=g2|"], ["|150=4|", "|11=c|"], ["|102=6|", "|11=g2|"], ["|102=99|", "|11=g3|"]];
    for (told, fields) in told.iter().zip(expected) {
        assert!(fields.iter().all(|field| told.contains(field)), "{told}");
    }
    server.stop();
}

/// Many orders are sent without waiting for answers. All of their reports come, in order, and REST shows the orders
/// that remain.
#[test]
fn orders_that_follow_each_other_are_all_told_of() {
    let folder = Folder::new("fix-pipelined");
    let (server, address) = serve(&folder);
    let (mut buyer, mut seller) = (Fix::log_on(address, "BUYER"), Fix::log_on(address, "SELLER"));
    const ORDERS: usize = 600;
    for number in 0..ORDERS {
        buyer.send("D", &format!("11=b{number}|1=1|55=SPY|54=1|38=2|40=2|59=1|44={}|", 100 + number % 7));
    }
    for number in 0..ORDERS {
        assert!(buyer.next().contains(&format!("|11=b{number}|")), "{number}");
    }
    for number in 0..ORDERS {
        seller.send("D", &format!("11=s{number}|1=2|55=SPY|54=2|38=1|40=2|59=3|44={}|", 100 + number % 7));
    }
    let mut sold = 0;
    for number in 0..ORDERS {
        seller.expect(&["150=0", &format!("11=s{number}")]);
        let told = seller.expect(&[&format!("11=s{number}")]);
        assert!(told.contains("|150=F|") || told.contains("|150=C|"), "{told}");
        sold += usize::from(told.contains("|150=F|"));
    }
    for _ in 0..sold {
        buyer.expect(&["150=F", "32=1"]);
    }
    buyer.send("AF", "584=left|585=7|1=1|");
    let first = buyer.expect(&["150=I", "584=left"]);
    let count: usize = first.split('|').find_map(|field| field.strip_prefix("911=")).unwrap().parse().unwrap();
    let open = Http::new(server.http).read("/api/v1/status")["open_orders"].as_u64().unwrap();
    assert_eq!(count as u64, open);
    for _ in 1..count {
        buyer.expect(&["150=I", "584=left"]);
    }
    buyer.send("q", "11=all|1=1|530=7|");
    let mut canceled = 0;
    while canceled < count {
        let told = buyer.next();
        match told.contains("|35=r|") {
            true => assert!(told.contains(&format!("|533={count}|")), "{told}"),
            false => {
                assert!(told.contains("|150=4|"), "{told}");
                canceled += 1;
            }
        }
    }
    assert_eq!(Http::new(server.http).read("/api/v1/status")["open_orders"], 0);
    server.stop();
}

/// A client sent so many amendments without a pause that the session forgot the first of them before it reported them:
/// their reports had no client order ids, and a cancel by the last one found no order.
#[test]
fn amendments_that_follow_each_other_are_all_told_of() {
    let folder = Folder::new("fix-pipelined-amendments");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    const AMENDMENTS: usize = 5_000;
    fix.send("D", &format!("11=o|1=1|55=SPY|54=1|38={}|40=2|59=1|44=1|", AMENDMENTS + 1));
    fix.expect(&["150=0", "11=o"]);
    let mut all: Vec<u8> = (0..AMENDMENTS)
        .flat_map(|number| {
            fix.numbered("G", &format!("11=g{number}|41=o|1=1|55=SPY|54=1|40=2|44=1|38={}|", AMENDMENTS - number))
        })
        .collect();
    let last = AMENDMENTS - 1;
    let cancel = format!("11=c|41=g{last}|1=1|55=SPY|54=1|38=1|");
    all.extend(fix.numbered("F", &cancel));
    let mut sending = fix.stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || sending.write_all(&all).unwrap());
        for number in 0..AMENDMENTS {
            fix.expect(&["150=5", &format!("11=g{number}"), "41=o", &format!("38={}", AMENDMENTS - number)]);
        }
        fix.expect(&["150=4", "11=c", &format!("41=g{last}")]);
    });
    server.stop();
}

/// A mass cancel of more orders than one command cancels is reported once, when no order is left.
#[test]
fn a_mass_cancel_goes_on_until_none_is_left() {
    let folder = Folder::new("fix-mass");
    let (server, address) = serve(&folder);
    let order = r#"<order sym="SPY" amount="1" limit="0.01"/>"#.repeat(2_500);
    server.ask(&format!("<transactions id=\"1\">{order}</transactions>"));
    let http = Http::new(server.http);
    let sequence = || http.read("/api/v1/status")["sequence"].as_u64().unwrap();
    let before = sequence();
    let mut fix = Fix::log_on(address, "A");
    fix.send("q", "11=all|1=1|530=7|");
    let told = loop {
        let told = fix.next();
        if told.contains("|35=r|") {
            break told;
        }
    };
    assert!(told.contains("|531=7|") && told.contains("|533=2500|"), "{told}");
    assert_eq!((sequence() - before, &http.read("/api/v1/status")["open_orders"]), (3, &json!(0)));
    server.stop();
}

/// An order behind a mass cancel was refused for the money of orders that the mass cancel then canceled.
#[test]
fn an_order_behind_a_mass_cancel_comes_behind_all_of_it() {
    let folder = Folder::new("fix-mass-behind");
    let (server, address) = serve(&folder);
    let order = r#"<order sym="SPY" amount="1" limit="400"/>"#.repeat(2_500);
    server.ask(&format!("<transactions id=\"1\">{order}</transactions>"));
    let mut fix = Fix::log_on(address, "A");
    fix.send_together(&[("q", "11=all|1=1|530=7|"), ("D", &buy("new", "1000000"))]);
    // The reports of the canceled orders come at the same time.
    let mut told = std::iter::from_fn(|| Some(fix.next())).filter(|told| !told.contains("|150=4|"));
    let (canceled, new) = (told.next().unwrap(), told.next().unwrap());
    assert!(canceled.contains("|35=r|") && canceled.contains("|533=2500|"), "{canceled}");
    assert!(new.contains("|150=0|") && new.contains("|11=new|"), "{new}");
    server.stop();
}

/// Orders that were done before a restart are found after it by their client order ids.
#[test]
fn orders_of_before_a_restart_are_found() {
    let folder = Folder::new("fix-restart");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("open", "10"));
    fix.expect(&["150=0"]);
    fix.send("D", &buy("done", "100"));
    fix.expect(&["150=0"]);
    server.ask(r#"<transactions id="2"><order sym="SPY" amount="-1" limit="100"/></transactions>"#);
    let filled = fix.expect(&["150=F", "39=2", "11=done"]);
    let order = filled.split('|').find(|field| field.starts_with("37=")).unwrap().to_owned();
    server.stop();
    let server = crate::common::server::Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    let mut fix = Fix::log_on(server.fix.unwrap(), "A");
    fix.send("AF", "584=all|585=7|1=1|");
    fix.expect(&["150=I", "39=0", "11=open", "44=10", "911=1"]);
    fix.send("H", &format!("11=done|{order}|1=1|55=SPY|54=1|"));
    fix.expect(&["150=I", "39=2", &order, "14=1", "151=0", "6=100"]);
    fix.send("F", &format!("11=late|41=done|{order}|1=1|55=SPY|54=1|38=1|"));
    fix.expect(&["35=9", "11=late", "39=2", "102=0", "434=1"]);
    fix.send("F", "11=cancel|41=open|1=1|55=SPY|54=1|38=1|");
    fix.expect(&["150=4", "11=cancel", "41=open"]);
    fix.send("D", &buy("done", "101"));
    fix.expect(&["150=8", "103=6", "11=done"]);
    server.stop();
}
