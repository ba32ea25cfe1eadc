//! Amendments: an OrderCancelReplaceRequest gives an order the terms that it names, and one report tells them all.

use std::io::Write;

use serde_json::json;

use crate::common::fix::Fix;
use crate::common::folder::Folder;
use crate::common::http::Http;
use crate::common::server::{Launch, Server};
use crate::sessions::{MARKET, serve};

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

/// A buy of account 1 under a name.
fn buy(name: &str, shares: &str, limit: &str) -> String {
    format!("11={name}|1=1|55=SPY|54=1|38={shares}|40=2|59=1|44={limit}|")
}

/// The fields that an amendment of a buy of account 1 begins with.
fn of(name: &str, of: &str) -> String {
    format!("11={name}|41={of}|1=1|55=SPY|54=1|")
}

/// Places an order of account 2 over XML.
fn other(server: &Server, order: &str) {
    let told = server.ask(&format!(r#"<transactions id="2"><order sym="SPY" {order}/></transactions>"#));
    assert!(told.contains("<opened"), "{told}");
}

fn field(message: &str, tag: u32) -> String {
    let start = format!("{tag}=");
    let value = message.split('|').find_map(|field| field.strip_prefix(&start));
    value.unwrap_or_else(|| panic!("no {tag} in {message}")).to_owned()
}

fn has_no(message: &str, tag: u32) {
    assert!(!message.contains(&format!("|{tag}=")), "{tag} in {message}");
}

#[test]
fn an_order_with_another_price_keeps_its_number_and_loses_its_place() {
    let folder = Folder::new("fix-amend-price");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let mut orders = Vec::new();
    for name in ["a", "b"] {
        fix.send("D", &buy(name, "10", "100"));
        orders.push(field(&fix.expect(&["150=0", &format!("11={name}")]), 37));
    }
    let first = format!("37={}", orders[0]);
    fix.send("G", &format!("{}40=2|44=99|", of("a2", "a")));
    fix.expect(&["150=5", "39=0", "11=a2", "41=a", &first, "38=10", "151=10", "14=0", "44=99", "40=2", "59=1"]);
    fix.send("G", &format!("{}44=100|", of("a3", "a2")));
    fix.expect(&["150=5", "39=0", "11=a3", "41=a2", &first, "38=10", "151=10", "44=100"]);
    other(&server, r#"amount="-12" limit="100""#);
    fix.expect(&["150=F", "39=2", "11=b", "32=10"]);
    fix.expect(&["150=F", "39=1", "11=a3", &first, "32=2", "14=2", "151=8"]);
    // All lists have the new terms.
    fix.send("G", &format!("{}44=101.5|38=9|", of("a4", "a3")));
    fix.expect(&["150=5", "39=1", "11=a4", "41=a3", "38=9", "151=7", "14=2", "44=101.5"]);
    fix.send("AF", "584=all|585=7|1=1|");
    fix.expect(&["150=I", "39=1", "11=a4", &first, "38=9", "151=7", "14=2", "44=101.5", "911=1"]);
    fix.send("H", "11=a4|1=1|55=SPY|54=1|");
    fix.expect(&["150=I", "39=1", "11=a4", &first, "38=9", "151=7", "14=2"]);
    // Its first name stays known.
    fix.send("F", &of("c", "a"));
    fix.expect(&["150=4", "11=c", "41=a", &first, "38=9", "151=0", "14=2"]);
    server.stop();
}

#[test]
fn the_new_number_of_shares_counts_those_that_were_executed() {
    let folder = Folder::new("fix-amend-shares");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "5", "100"));
    fix.expect(&["150=0"]);
    other(&server, r#"amount="-2" limit="100""#);
    fix.expect(&["150=F", "39=1", "14=2", "151=3"]);
    fix.send("G", &format!("{}38=8|", of("a2", "a")));
    fix.expect(&["150=5", "39=1", "11=a2", "38=8", "151=6", "14=2", "6=100", "44=100"]);
    fix.send("G", &format!("{}38=2|", of("a3", "a2")));
    let refused = fix.expect(&["35=9", "11=a3", "41=a2", "39=1", "434=2", "102=99"]);
    assert!(refused.contains("2 were executed"), "{refused}");
    fix.send("G", &format!("{}38=6|44=100|", of("a3", "a2")));
    fix.expect(&["150=5", "39=1", "11=a3", "41=a2", "38=6", "151=4", "14=2"]);
    other(&server, r#"amount="-4" limit="100""#);
    fix.expect(&["150=F", "39=2", "11=a3", "14=6", "151=0"]);
    fix.send("G", &format!("{}38=9|", of("a4", "a")));
    fix.expect(&["35=9", "11=a4", "39=2", "102=0", "434=2"]);
    server.stop();
}

#[test]
fn a_stop_waits_for_another_price() {
    let folder = Folder::new("fix-amend-stop");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    let sell = |name: &str, fields: &str| format!("11={name}|1=2|55=SPY|54=2|38=1|{fields}");
    let amend = |name: &str, of: &str, fields: &str| format!("11={name}|41={of}|1=2|55=SPY|54=2|{fields}");
    for (name, fields) in [("m", "40=3|99=80|59=1|"), ("l", "40=4|99=80|44=79|59=1|"), ("j", "40=J|99=120|59=1|")] {
        fix.send("D", &sell(name, fields));
        fix.expect(&["150=0", &format!("11={name}")]);
    }
    fix.send("G", &amend("m2", "m", "40=3|99=95|"));
    fix.expect(&["150=5", "39=0", "11=m2", "41=m", "40=3", "99=95", "151=1"]);
    fix.send("G", &amend("l2", "l", "40=4|99=90|44=89|38=3|"));
    fix.expect(&["150=5", "11=l2", "41=l", "40=4", "99=90", "44=89", "38=3", "151=3"]);
    fix.send("G", &amend("j2", "j", "40=J|99=110|"));
    fix.expect(&["150=5", "11=j2", "41=j", "40=J", "99=110"]);
    // An execution at 95 triggers the first one alone.
    server.ask(r#"<transactions id="1"><order sym="SPY" amount="2" limit="95"/></transactions>"#);
    other(&server, r#"amount="-1" limit="95""#);
    fix.expect(&["150=0", "44=95"]);
    fix.expect(&["150=F", "31=95"]);
    fix.expect(&["150=D", "11=m2", "58=triggered"]);
    fix.expect(&["150=F", "39=2", "11=m2", "31=95"]);
    fix.send("G", &amend("l3", "l2", "40=4|99=96|44=89|"));
    fix.expect(&["35=9", "11=l3", "41=l2", "39=0", "102=99"]);
    fix.send("F", &amend("c", "l2", ""));
    fix.expect(&["150=4", "11=c", "41=l2", "99=90", "44=89"]);
    server.stop();
}

#[test]
fn an_order_that_is_to_be_done_at_once_is_replaced_and_then_executed() {
    let folder = Folder::new("fix-amend-at-once");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    other(&server, r#"amount="-3" limit="95""#);
    fix.send("D", &buy("a", "5", "90"));
    fix.expect(&["150=0", "11=a"]);
    fix.send("G", &format!("{}44=95|59=3|", of("a2", "a")));
    fix.expect(&["150=5", "39=0", "11=a2", "41=a", "38=5", "44=95", "59=3", "151=5", "14=0"]);
    fix.expect(&["150=F", "39=1", "11=a2", "32=3", "31=95", "14=3", "151=2"]);
    fix.expect(&["150=C", "39=C", "11=a2", "14=3", "151=0", "58=not_resting"]);
    // One that executes completely is replaced first, too, and its name is free again.
    other(&server, r#"amount="-2" limit="95""#);
    fix.send("D", &buy("b", "2", "90"));
    fix.expect(&["150=0", "11=b"]);
    fix.send_together(&[("G", &format!("{}44=96|", of("b2", "b"))), ("G", &format!("{}44=97|", of("b3", "b2")))]);
    let mut told: Vec<String> = (0..3).map(|_| fix.next()).collect();
    told.sort_by_key(|told| told.contains("|35=9|"));
    for (told, fields) in told.iter().zip([
        vec!["|150=5|", "|39=0|", "|11=b2|", "|44=96|", "|151=2|"],
        vec!["|150=F|", "|39=2|", "|11=b2|", "|31=95|", "|151=0|"],
        vec!["|35=9|", "|11=b3|", "|41=b2|", "|39=2|", "|102=0|"],
    ]) {
        assert!(fields.iter().all(|field| told.contains(field)), "{fields:?}: {told}");
    }
    fix.send("D", &buy("b2", "1", "90"));
    fix.expect(&["150=0", "11=b2"]);
    server.stop();
}

#[test]
fn one_report_tells_all_that_an_amendment_changes() {
    let folder = Folder::new("fix-amend-all");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "10", "100"));
    fix.expect(&["150=0"]);
    fix.send("G", &format!("{}38=8|111=2|59=6|126=20991231-23:59:59|", of("a2", "a")));
    let end = "126=20991231-23:59:59.000";
    fix.expect(&["150=5", "11=a2", "38=8", "151=8", "111=2", "59=6", end, "44=100"]);
    fix.send("G", &format!("{}44=101|", of("a3", "a2")));
    fix.expect(&["150=5", "11=a3", "44=101", "38=8", "111=2", "59=6", end]);
    fix.send("G", &format!("{}59=1|", of("a4", "a3")));
    let told = fix.expect(&["150=5", "11=a4", "41=a3", "59=1", "111=2"]);
    has_no(&told, 126);
    // It shows two of its shares.
    let level = Http::new(server.http).read("/api/v1/symbols/SPY/book")["bids"][0].to_string();
    assert!(level.contains("\"101\"") && level.contains("\"2\"") && !level.contains("\"8\""), "{level}");
    fix.send("F", &of("c", "a4"));
    fix.expect(&["150=4", "11=c", "41=a4"]);
    server.stop();
}

#[test]
fn what_is_refused_changes_nothing() {
    let folder = Folder::new("fix-amend-refused");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "5", "100"));
    let order = format!("37={}", field(&fix.expect(&["150=0"]), 37));
    let known = "11=x|41=a|1=1|";
    for (fields, why) in [
        ("55=SPY|54=2|44=99|", "Side(54)"),
        ("55=QQQ|54=1|44=99|", "Symbol(55)"),
        ("55=SPY|54=1|40=1|38=4|", "OrdType(40)"),
        ("55=SPY|54=1|40=4|99=120|44=99|", "OrdType(40)"),
        ("55=SPY|54=1|18=6|44=99|", "ExecInst(18)"),
        ("55=SPY|54=1|59=0|44=99|", "TimeInForce(59)=0"),
        ("55=SPY|54=1|99=120|44=99|", "does not wait for a price"),
        ("55=SPY|54=1|59=6|126=20200101-00:00:00|", "eadline"),
        ("55=SPY|54=1|38=1000000|", "Insufficient funds"),
    ] {
        fix.send("G", &format!("{known}{fields}"));
        let refused = fix.expect(&["35=9", "11=x", "41=a", &order, "39=0", "434=2", "102=99"]);
        assert!(refused.contains(why), "{why}: {refused}");
    }
    for (fields, tag) in [("111=0|", "371=111"), ("59=3|111=2|", "371=111"), ("126=20991231-23:59:59|", "371=126")] {
        fix.send("G", &format!("{known}55=SPY|54=1|{fields}"));
        fix.expect(&["35=3", "372=G", tag]);
    }
    fix.send("AF", "584=all|585=7|1=1|");
    fix.expect(&["150=I", "39=0", "11=a", "38=5", "151=5", "44=100", "40=2", "59=1", "911=1"]);
    server.stop();
}

/// An amendment that changed nothing has no event, and its client waited for the answer for ever.
#[test]
fn an_amendment_to_the_same_terms_is_told_and_gives_its_name() {
    let folder = Folder::new("fix-amend-same");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "5", "100"));
    fix.expect(&["150=0"]);
    let same = format!("{}38=5|40=2|44=100|59=1|", of("a2", "a"));
    fix.send_together(&[("G", &same), ("G", &of("a3", "a2")), ("G", &format!("{}44=99|", of("a4", "a3")))]);
    let mut ids = Vec::new();
    for (name, original, limit) in [("a2", "a", "100"), ("a3", "a2", "100"), ("a4", "a3", "99")] {
        let (name, limit) = (format!("11={name}"), format!("44={limit}"));
        let told = fix.expect(&["150=5", "39=0", &name, "38=5", "151=5", &limit]);
        assert!(["a", original].contains(&field(&told, 41).as_str()), "{told}");
        ids.push(field(&told, 17));
    }
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
    fix.send("D", &buy("a4", "1", "100"));
    fix.expect(&["150=8", "103=6", "11=a4"]);
    fix.send("G", &format!("{}111=2|59=6|126=20991231-23:59:59|", of("a5", "a4")));
    let changed = fix.expect(&["150=5", "11=a5", "111=2"]);
    let whole = format!("{}38=5|40=2|44=99|111=2|59=6|126=20991231-23:59:59.000|", of("a4", "a5"));
    fix.send("G", &whole);
    let same = fix.expect(&["150=5", "39=0", "11=a4", "41=a5", "38=5", "44=99", "111=2", "59=6"]);
    assert_eq!(field(&same, 126), field(&changed, 126));
    assert_ne!(field(&same, 17), field(&changed, 17));
    fix.send("F", &of("c", "a4"));
    fix.expect(&["150=4", "11=c", "41=a4"]);
    server.stop();
}

#[test]
fn reports_of_amendments_are_sent_again_as_they_were() {
    let folder = Folder::new("fix-amend-resend");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "5", "100"));
    let mut told = vec![fix.expect(&["34=2", "150=0"])];
    for (name, of, fields) in
        [("a2", "a", "44=99|"), ("a3", "a2", "38=9|"), ("a4", "a3", "44=99|"), ("a5", "a4", "38=3|")]
    {
        fix.send("G", &format!("{}{fields}", self::of(name, of)));
        told.push(fix.expect(&["150=5", &format!("11={name}")]));
    }
    let mut ids: Vec<String> = told.iter().map(|told| field(told, 17)).collect();
    fix.send("2", "7=2|16=0|");
    for told in &told {
        let [id, price, shares] = [17, 44, 38].map(|tag| format!("{tag}={}", field(told, tag)));
        fix.expect(&["43=Y", &format!("34={}", field(told, 34)), &id, &price, &shares]);
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), told.len(), "{ids:?}");
    server.stop();
}

/// An amendment over another protocol is told, and is not taken for the answer to a session's own request.
#[test]
fn amendments_over_other_protocols_are_told() {
    let folder = Folder::new("fix-amend-others");
    let (server, address) = serve(&folder);
    let http = Http::new(server.http);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "5", "100"));
    let order = field(&fix.expect(&["150=0"]), 37);
    for number in 0..50 {
        let (name, limit) = (format!("g{number}"), format!("{}", 90 + number % 7));
        let body = json!({"account": "1", "limit": "80", "shares": "6"}).to_string();
        let amended = http.send("PATCH", &format!("/api/v1/orders/{order}"), Some(&body), &JSON);
        assert_eq!(amended.status, 200, "{:?}", amended.body);
        fix.send("G", &format!("{}38=7|44={limit}|", of(&name, "a")));
        let told = fix.expect(&["150=5", "38=6", "44=80"]);
        has_no(&told, 41);
        fix.expect(&["150=5", &format!("11={name}"), "41=a", "38=7", &format!("44={limit}")]);
    }
    server.stop();
}

#[test]
fn a_day_order_stays_one() {
    let folder = Folder::new("fix-amend-day");
    let calendar = folder.path().join("calendar");
    std::fs::write(&calendar, "23:59:59 * day-ends\n").unwrap();
    let server =
        Launch::new(&folder.data()).with(&format!("--fix 127.0.0.1:0 --calendar {}", calendar.display())).start();
    server.ask(MARKET);
    let mut fix = Fix::log_on(server.fix.unwrap(), "A");
    fix.send("D", "11=a|1=1|55=SPY|54=1|38=5|40=2|59=0|44=100|");
    let end = format!("126={}", field(&fix.expect(&["150=0", "59=6"]), 126));
    fix.send("G", &format!("{}40=2|59=0|44=99|", of("a2", "a")));
    fix.expect(&["150=5", "11=a2", "44=99", "59=6", &end]);
    // Reports call it an order that ends at a time, and a client may repeat that.
    fix.send("G", &format!("{}40=2|59=6|{end}|38=4|", of("a3", "a2")));
    fix.expect(&["150=5", "11=a3", "38=4", "59=6", &end]);
    fix.send("G", &format!("{}59=1|", of("a4", "a3")));
    has_no(&fix.expect(&["150=5", "11=a4", "59=1"]), 126);
    fix.send("G", &format!("{}59=0|", of("a5", "a4")));
    let refused = fix.expect(&["35=9", "11=a5", "102=99"]);
    assert!(refused.contains("TimeInForce(59)=0"), "{refused}");
    server.stop();
}

/// Many amendments without a pause are all told, in order, whether they change anything or not.
#[test]
fn amendments_without_a_pause_are_told_in_order() {
    let folder = Folder::new("fix-amend-many");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &buy("a", "5", "100"));
    fix.expect(&["150=0"]);
    const AMENDMENTS: usize = 1_000;
    // Every third one changes nothing.
    let limit = |number: usize| 50 + (number - usize::from(number % 3 == 2)) % 40;
    let amend = |number: usize| format!("{}44={}|", of(&format!("g{number}"), "a"), limit(number));
    let all: Vec<u8> = (0..AMENDMENTS).flat_map(|number| fix.numbered("G", &amend(number))).collect();
    let mut sending = fix.stream.try_clone().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || sending.write_all(&all).unwrap());
        for number in 0..AMENDMENTS {
            fix.expect(&["150=5", &format!("11=g{number}"), "41=a", &format!("44={}", limit(number))]);
        }
    });
    server.stop();
}

/// Shares that an amended order loses to self-trade prevention are told behind the amendment: they were not.
#[test]
fn shares_lost_to_self_trade_prevention_are_told_behind_the_amendment() {
    let folder = Folder::new("fix-amend-self-trade");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    server.ask(r#"<create><symbol sym="SPY"><account id="1">100</account></symbol></create>"#);
    fix.send("D", "11=s|1=1|55=SPY|54=2|38=3|40=2|59=1|44=101|");
    fix.expect(&["150=0", "54=2"]);
    let bid = r#"<order sym="SPY" amount="10" limit="100" self-trade="decrement"/>"#;
    server.ask(&format!(r#"<transactions id="1">{bid}</transactions>"#));
    let order = field(&fix.expect(&["150=0", "54=1", "44=100"]), 37);
    fix.send("G", &format!("11=a|37={order}|41=none|1=1|55=SPY|54=1|44=101|"));
    fix.expect(&["150=5", "11=a", "38=10", "151=10", "44=101"]);
    fix.expect(&["150=4", "54=2", "11=s", "58=self_trade"]);
    let lost = fix.expect(&["150=D", "54=1", "378=5", "151=7"]);
    assert!(lost.contains(&format!("|37={order}|")), "{lost}");
    server.stop();
}

/// After a start from a snapshot a resting order was known as a plain limit order, so the whole order, sent with
/// another price, was refused.
#[test]
fn a_post_only_order_is_amended_as_one_after_a_restart() {
    let folder = Folder::new("fix-amend-post-only");
    let (server, address) = serve(&folder);
    let mut fix = Fix::log_on(address, "A");
    fix.send("D", &format!("{}18=6|", buy("a", "10", "100")));
    fix.expect(&["150=0", "18=6"]);
    server.stop();
    let server = Launch::new(&folder.data()).with("--fix 127.0.0.1:0").start();
    let mut fix = Fix::log_on(server.fix.unwrap(), "A");
    fix.send("G", &format!("{}40=2|18=6|44=99|", of("a2", "a")));
    fix.expect(&["150=5", "11=a2", "41=a", "18=6", "44=99"]);
    server.stop();
}
