//! The protocol over a real socket: the worked example and the edge cases that docs/PROTOCOL.md decides, request by
//! request with the exact reply, and the same answers after a restart and after a crash.

use std::time::{Duration, Instant};

use crate::common::folder::Folder;
use crate::common::server::{Launch, Server};
use crate::common::talk::{ANY, Talk, compare, opened, order, refused, started};
use model::workload::Random;

#[test]
fn the_worked_example_goes_as_published_and_is_told_the_same_after_restarts() {
    let folder = Folder::new("example");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut talk = Talk::with(&server);
    talk.creates(
        "<account id=\"1\" balance=\"1000000\"/><account id=\"2\" balance=\"0\"/>\
         <symbol sym=\"SPY\"><account id=\"2\">2000</account></symbol>",
        "<created id=\"1\"/><created id=\"2\"/><created sym=\"SPY\" id=\"2\"/>",
    );
    let placed = [
        ("1", "300", "125"),
        ("2", "-100", "130"),
        ("1", "200", "127"),
        ("2", "-500", "128"),
        ("2", "-200", "140"),
        ("1", "400", "125"),
        ("2", "-400", "124"),
    ];
    for (id, (account, amount, limit)) in (1..).zip(placed) {
        talk.trades(account, &order("SPY", amount, limit), &opened("SPY", amount, limit, id));
    }
    let executed = "<executed shares=\"200\" price=\"127\" time=\"T\"/>";
    talk.trades("1", "<query id=\"3\"/>", &format!("<status id=\"3\">{executed}</status>"));
    talk.trades(
        "2",
        "<query id=\"7\"/>",
        &format!("<status id=\"7\">{executed}<executed shares=\"200\" price=\"125\" time=\"T\"/></status>"),
    );
    talk.trades(
        "1",
        "<query id=\"1\"/><query id=\"6\"/>",
        "<status id=\"1\"><open shares=\"100\"/><executed shares=\"200\" price=\"125\" time=\"T\"/></status>\
         <status id=\"6\"><open shares=\"400\"/></status>",
    );
    // The canceled shares of an order that was executed in part, and of one that was not.
    talk.trades(
        "1",
        "<cancel id=\"1\"/><cancel id=\"1\"/><query id=\"1\"/><cancel id=\"3\"/>",
        "<canceled id=\"1\"><canceled shares=\"100\" time=\"T\"/><executed shares=\"200\" price=\"125\" time=\"T\"/></canceled>\
         <error id=\"1\">Order has nothing open to cancel</error>\
         <status id=\"1\"><canceled shares=\"100\" time=\"T\"/><executed shares=\"200\" price=\"125\" time=\"T\"/></status>\
         <error id=\"3\">Order has nothing open to cancel</error>",
    );
    talk.trades("2", "<cancel id=\"5\"/>", "<canceled id=\"5\"><canceled shares=\"200\" time=\"T\"/></canceled>");
    drop(talk);

    let ask_all = |server: &Server| -> Vec<String> {
        let mut client = server.client();
        let queries: String = (0..9).map(|id| format!("<query id=\"{id}\"/>")).collect();
        let requests = ["1", "2", "3"].map(|account| {
            format!("<transactions id=\"{account}\">{queries}<cancel id=\"3\"/><cancel id=\"7\"/></transactions>")
        });
        requests.iter().map(|request| client.ask(request)).collect()
    };
    let before = ask_all(&server);
    server.stop();
    let server = launch.start();
    assert_eq!(ask_all(&server), before, "after a restart");
    server.kill();
    let server = launch.start();
    assert_eq!(ask_all(&server), before, "after a crash");
    // The ids continue, and open orders still trade: the rest of order 6 is first in the book.
    Talk::with(&server).trades("2", &order("SPY", "-1", "125"), &opened("SPY", "-1", "125", 8)).trades(
        "1",
        "<query id=\"6\"/>",
        "<status id=\"6\"><open shares=\"399\"/><executed shares=\"1\" price=\"125\" time=\"T\"/></status>",
    );
}

#[test]
fn create_answers_each_child_in_its_place() {
    let (_folder, server) = started("create", "");
    let mut talk = Talk::with(&server);
    let long = "1".repeat(32);
    let longer = "1".repeat(33);
    let symbol = "S".repeat(32);
    let longer_symbol = "S".repeat(33);
    talk.says("<create/>", "").says("<create></create>", "").creates("<symbol sym=\"EMPTY\"/>", "");
    talk.creates("<account id=\"1\" balance=\"0\"/>", "<created id=\"1\"/>");
    talk.creates("<account id=\"1\" balance=\"7\"/>", "<error id=\"1\">Account already exists</error>");
    // Ids are texts.
    talk.creates("<account id=\"01\" balance=\"1\"/>", "<created id=\"01\"/>");
    talk.creates(&format!("<account id=\"{long}\" balance=\"1\"/>"), &format!("<created id=\"{long}\"/>"));
    talk.creates(
        &format!("<account id=\"{longer}\" balance=\"1\"/>"),
        &format!("<error id=\"{longer}\">account id has 33 characters; at most 32</error>"),
    );
    for (id, why) in [
        ("", "account id is empty"),
        ("12a", "account id has characters other than the digits 0-9"),
        ("-1", "account id has characters other than the digits 0-9"),
        ("1 2", "account id has characters other than the digits 0-9"),
    ] {
        talk.creates(&format!("<account id=\"{id}\" balance=\"1\"/>"), &format!("<error id=\"{id}\">{why}</error>"));
    }
    for (balance, why) in [
        ("-1", "balance is negative; at least 0"),
        ("1.123456789", "balance has 9 decimal places; at most 8"),
        ("NaN", "balance is not a plain decimal number"),
        ("1e5", "balance is not a plain decimal number"),
        ("0x1", "balance is not a plain decimal number"),
        ("+1", "balance is not a plain decimal number"),
        ("", "balance is not a plain decimal number"),
        ("100000000000000000000.00000001", "balance is out of range; at most 100000000000000000000"),
    ] {
        talk.creates(&format!("<account id=\"9\" balance=\"{balance}\"/>"), &format!("<error id=\"9\">{why}</error>"));
    }
    talk.creates("<account balance=\"1\"/>", "<error>account has no id attribute</error>");
    talk.creates("<account id=\"9\"/>", "<error id=\"9\">account has no balance attribute</error>");
    talk.creates(
        "<account id=\"9\" balance=\"1\" colour=\"red\"/>",
        "<error id=\"9\">account has an unknown attribute colour</error>",
    );
    // Blanks around ids and numbers, leading zeros and bare fractions; a refused child does not undo the others.
    talk.creates(
        "<account id=\" 5 \" balance=\"\t007.50\n\"/><bad/><account id=\"6\" balance=\".5\"/><account id=\"7\" balance=\"5.\"/>\
         <account id=\"8\" balance=\"-0\"/>",
        "<created id=\" 5 \"/><error>unknown element bad</error><created id=\"6\"/><created id=\"7\"/><created id=\"8\"/>",
    );
    // Symbols: case counts, accounts must exist, and an invalid symbol gets one error for each account, or a single one
    // without accounts.
    talk.creates(
        &format!("<symbol sym=\"{symbol}\"><account id=\"5\"> 1.5 </account><account id=\"404\">1</account></symbol>"),
        &format!("<created sym=\"{symbol}\" id=\"5\"/><error sym=\"{symbol}\" id=\"404\">Unknown account</error>"),
    );
    talk.creates(
        &format!("<symbol sym=\"{longer_symbol}\"/>"),
        &format!("<error sym=\"{longer_symbol}\">sym has 33 characters; at most 32</error>"),
    );
    talk.creates(
        "<symbol sym=\"S-P\"><account id=\"5\">1</account><account id=\"6\">1</account></symbol><symbol sym=\"\"/>",
        "<error sym=\"S-P\" id=\"5\">sym has characters other than ASCII letters and digits</error>\
         <error sym=\"S-P\" id=\"6\">sym has characters other than ASCII letters and digits</error>\
         <error sym=\"\">sym is empty</error>",
    );
    talk.creates(
        "<symbol sym=\"SPY\"><account id=\"5\">-1</account><account id=\"5\">0</account><account id=\"5\"></account>\
         <account id=\"5\">1.123456789</account><account id=\"5\">10<![CDATA[0]]><!-- more -->&#48;</account></symbol>",
        "<error sym=\"SPY\" id=\"5\">shares is negative; at least 0</error><created sym=\"SPY\" id=\"5\"/>\
         <error sym=\"SPY\" id=\"5\">shares are missing: they are the text of the account</error>\
         <error sym=\"SPY\" id=\"5\">shares has 9 decimal places; at most 8</error><created sym=\"SPY\" id=\"5\"/>",
    );
    // There are 1000 shares in all; `spy` is another symbol.
    talk.trades(
        "5",
        &[order("SPY", "-1000", "1"), order("SPY", "-0.00000001", "1"), order("spy", "-1", "1")].concat(),
        &[
            opened("SPY", "-1000", "1", 1),
            refused("SPY", "-0.00000001", "1", "Insufficient shares: 0.00000001 needed, 0 available"),
            refused("spy", "-1", "1", "Unknown symbol"),
        ]
        .concat(),
    );
}

#[test]
fn money_and_shares_are_capped_so_that_no_sum_overflows() {
    let all = "100000000000000000000";
    let unbounded = format!("--max-balance {all} --max-position {all} --max-issue {all}");
    let (_folder, server) = started("caps", &unbounded);
    let mut talk = Talk::with(&server);
    let cap = "100000000000000000000";
    talk.creates(
        &format!("<account id=\"1\" balance=\"{cap}\"/><account id=\"2\" balance=\"0.00000001\"/><account id=\"2\" balance=\"0\"/>"),
        &format!(
            "<created id=\"1\"/><error id=\"2\">Too much money: all accounts together may be created with at most {cap}; \
             {cap} was created so far</error><created id=\"2\"/>"
        ),
    );
    talk.creates(
        &format!("<symbol sym=\"S\"><account id=\"2\">{cap}</account><account id=\"1\">0.00000001</account></symbol>"),
        &format!(
            "<created sym=\"S\" id=\"2\"/><error sym=\"S\" id=\"1\">Too many shares: at most {cap} of a symbol may be issued; \
             {cap} were issued so far</error>"
        ),
    );
    let most = "92233720368.54775807";
    let beyond = "92233720368.54775808";
    talk.trades(
        "1",
        &[order("S", most, "0.00000001"), order("S", beyond, "1"), order("S", "1", beyond)].concat(),
        &[
            opened("S", most, "0.00000001", 1),
            refused("S", beyond, "1", &format!("amount is out of range; at most {most}")),
            refused("S", "1", beyond, &format!("limit is out of range; at most {most}")),
        ]
        .concat(),
    );
    // 10^20 less 922.33… dollars are left, and an order of the highest price for the most shares costs more.
    talk.trades(
        "1",
        &order("S", most, most),
        &refused(
            "S",
            most,
            most,
            "Insufficient funds: 8507059173023461584739.6907784232501249 needed, 99999999999999999077.6627963145224193 available",
        ),
    );
}

#[test]
fn orders_are_refused_for_each_of_their_faults_and_spend_no_id() {
    let (_folder, server) = started("orders", "");
    let mut talk = Talk::with(&server);
    talk.creates(
        "<account id=\"1\" balance=\"100\"/><symbol sym=\"SPY\"><account id=\"1\">10</account></symbol>",
        "<created id=\"1\"/><created sym=\"SPY\" id=\"1\"/>",
    );
    for (symbol, amount, limit, why) in [
        ("NONE", "1", "1", "Unknown symbol"),
        ("NONE", "-1", "1", "Unknown symbol"),
        ("S-P", "1", "1", "sym has characters other than ASCII letters and digits"),
        ("SPY", "0", "1", "amount is zero"),
        ("SPY", "-0", "1", "amount is zero"),
        ("SPY", "1", "0", "limit is not above zero"),
        ("SPY", "1", "-1", "limit is not above zero"),
        ("SPY", "1", "1.123456789", "limit has 9 decimal places; at most 8"),
        ("SPY", "1.123456789", "1", "amount has 9 decimal places; at most 8"),
        ("SPY", "NaN", "1", "amount is not a plain decimal number"),
        ("SPY", "1e5", "1", "amount is not a plain decimal number"),
        ("SPY", "0x1", "1", "amount is not a plain decimal number"),
        ("SPY", "+1", "1", "amount is not a plain decimal number"),
        ("SPY", "1", "", "limit is not a plain decimal number"),
        ("SPY", "1", "100.00000001", "Insufficient funds: 100.00000001 needed, 100 available"),
        ("SPY", "-10.00000001", "1", "Insufficient shares: 10.00000001 needed, 10 available"),
    ] {
        talk.trades("1", &order(symbol, amount, limit), &refused(symbol, amount, limit, why));
    }
    talk.trades(
        "1",
        "<order amount=\"1\" limit=\"1\"/><order sym=\"SPY\" limit=\"1\"/><order sym=\"SPY\" amount=\"1\"/>\
         <order sym=\"SPY\" amount=\"1\" limit=\"1\" color=\"red\"/>",
        "<error amount=\"1\" limit=\"1\">order has no sym attribute</error>\
         <error sym=\"SPY\" limit=\"1\">order has no amount attribute</error>\
         <error sym=\"SPY\" amount=\"1\">order has no limit attribute</error>\
         <error sym=\"SPY\" amount=\"1\" limit=\"1\">order has an unknown attribute color</error>",
    );
    // Attributes are echoed as they were sent, escaped again.
    talk.trades(
        "1",
        "<order sym='A\"&lt;&#9;&amp;&apos;' amount=\"&#13;x\" limit=\"1\"/>",
        "<error sym=\"A&quot;&lt;&#9;&amp;'\" amount=\"&#13;x\" limit=\"1\">sym has characters other than ASCII letters and digits</error>",
    );
    talk.trades("1", &order("SPY", "1", "1"), &opened("SPY", "1", "1", 1));
}

#[test]
fn what_was_sent_is_echoed_and_ids_begin_at_one() {
    let (_folder, server) = started("echo", "");
    let mut talk = Talk::with(&server);
    talk.creates(
        "<account id=\"1\" balance=\"100\"/><symbol sym=\"SPY\"><account id=\"1\">10</account></symbol>",
        "<created id=\"1\"/><created sym=\"SPY\" id=\"1\"/>",
    );
    talk.trades(
        "1",
        "<order limit=' 0001.50 ' amount=\"&#10;1.0\" sym=\" SPY \"/>",
        "<opened sym=\" SPY \" amount=\"&#10;1.0\" limit=\" 0001.50 \" id=\"1\"/>",
    );
    // XML turns a literal line end in an attribute into a blank.
    talk.trades(
        "1",
        "<order sym=\"SPY\" amount=\"1\n\" limit=\".5\"/>",
        "<opened sym=\"SPY\" amount=\"1 \" limit=\".5\" id=\"2\"/>",
    );
    talk.trades(
        "1",
        "<query id=\"1\"/><query id=\" 2 \"/>",
        "<status id=\"1\"><open shares=\"1\"/></status><status id=\" 2 \"><open shares=\"1\"/></status>",
    );
}

#[test]
fn queries_and_cancels_tell_nothing_of_what_is_not_ones_own() {
    let (_folder, server) = started("queries", "");
    let mut talk = Talk::with(&server);
    talk.creates(
        "<account id=\"1\" balance=\"100\"/><account id=\"2\" balance=\"100\"/><symbol sym=\"SPY\"/>",
        "<created id=\"1\"/><created id=\"2\"/>",
    );
    talk.trades("1", &order("SPY", "1", "1"), &opened("SPY", "1", "1", 1));
    for id in ["0", "2", "007", "01", "-1", "abc", "", "18446744073709551615", "18446744073709551616", "1.0"] {
        talk.trades(
            "1",
            &format!("<query id=\"{id}\"/><cancel id=\"{id}\"/>"),
            &format!("<error id=\"{id}\">Unknown order</error><error id=\"{id}\">Unknown order</error>"),
        );
    }
    let unknown = "<error id=\"1\">Unknown order</error>";
    talk.trades("2", "<query id=\"1\"/><cancel id=\"1\"/>", &[unknown, unknown].concat());
    // An unknown account: each child gets an error with its own attributes.
    talk.trades(
        "3",
        &format!("{}<query id=\"1\"/><cancel id=\"1\"/>", order("SPY", "1", "1")),
        &format!(
            "{}<error id=\"1\">Unknown account</error><error id=\"1\">Unknown account</error>",
            refused("SPY", "1", "1", "Unknown account")
        ),
    );
    talk.trades(
        "x",
        "<query id=\"1\"/>",
        "<error id=\"1\">account id has characters other than the digits 0-9</error>",
    );
    talk.trades(
        "1",
        "<query/><cancel/>",
        "<error>query has no id attribute</error><error>cancel has no id attribute</error>",
    );
    talk.trades(
        "1",
        "<cancel id=\"1\"/><query id=\"1\"/><cancel id=\"1\"/>",
        "<canceled id=\"1\"><canceled shares=\"1\" time=\"T\"/></canceled>\
         <status id=\"1\"><canceled shares=\"1\" time=\"T\"/></status>\
         <error id=\"1\">Order has nothing open to cancel</error>",
    );
    talk.says("<transactions id=\"1\"/>", "<error>transactions has no children, at byte 0</error>");
    talk.says(
        "<transactions><query id=\"1\"/></transactions>",
        "<error>transactions has no id attribute, at byte 0</error>",
    );
}

#[test]
fn done_orders_are_told_as_long_as_they_are_kept() {
    let folder = Folder::new("archived");
    let launch = Launch::new(&folder.data());
    let server = launch.start();
    let mut client = server.client();
    client.ask("<create><account id=\"1\" balance=\"1000000\"/><symbol sym=\"S\"><account id=\"1\">1000000</account></symbol></create>");
    // Two hundred pairs that execute with each other, so that both orders are done at once, and with each a canceled
    // order.
    let round = format!("{}{}{}", order("S", "-2", "10"), order("S", "2", "10.5"), order("S", "3", "1"));
    for number in 0..200u64 {
        client.ask(&format!("<transactions id=\"1\">{round}<cancel id=\"{}\"/></transactions>", number * 3 + 3));
    }
    let queries: String = (1..=600).map(|id| format!("<query id=\"{id}\"/><cancel id=\"{id}\"/>")).collect();
    let everything = format!("<transactions id=\"1\">{queries}</transactions>");
    let first = client.ask(&everything);
    assert_eq!(first.matches("<executed shares=\"2\" price=\"10\"").count(), 400);
    assert_eq!(first.matches("<canceled shares=\"3\"").count(), 200);
    assert_eq!(first.matches("Order has nothing open to cancel").count(), 600);
    // A client that does not own the orders learns nothing, also not from the history.
    client.ask("<create><account id=\"2\" balance=\"0\"/></create>");
    let until = Instant::now() + Duration::from_millis(400);
    // However often the orders are queried.
    while Instant::now() < until {
        assert_eq!(client.ask(&everything), first);
    }
    let foreign = client.ask(&everything.replacen("id=\"1\"", "id=\"2\"", 1));
    assert_eq!(foreign.matches("Unknown order").count(), 1200);
    server.kill();
    let server = launch.start();
    assert_eq!(server.ask(&everything), first);
    server.stop();
    let server = launch.start();
    assert_eq!(server.ask(&everything), first);
}

/// A query for an archived order once never ended: the index of the orders in memory was searched in a circle after
/// some hundreds of orders had come and gone.
#[test]
fn every_order_is_found_however_many_came_and_went_before() {
    const ROUNDS: usize = 400;
    const ROUND: usize = 25;
    const OPEN_MAX: usize = 400;
    const OLD: usize = 600;
    let (_folder, server) = started("churn", "");
    let mut client = server.client();
    let mut trade = |children: &str| client.ask(&format!("<transactions id=\"1\">{children}</transactions>"));
    server.ask("<create><account id=\"1\" balance=\"1000000\"/><symbol sym=\"S\"/></create>");
    let children =
        |name: &str, ids: &[usize]| -> String { ids.iter().map(|id| format!("<{name} id=\"{id}\"/>")).collect() };
    let old: Vec<usize> = (1..=OLD).collect();
    trade(&order("S", "1", "1").repeat(OLD));
    let canceled =
        trade(&children("cancel", &old)).replace("<canceled id=", "<status id=").replace("</canceled>", "</status>");
    let mut random = Random::new(5);
    let mut open: Vec<usize> = Vec::new();
    for round in 0..ROUNDS {
        trade(&order("S", "1", "1").repeat(ROUND));
        let placed = OLD + round * ROUND;
        open.extend(placed + 1..=placed + ROUND);
        let gone: Vec<usize> = (OPEN_MAX..open.len()).map(|_| open.swap_remove(random.below(open.len()))).collect();
        if !gone.is_empty() {
            trade(&children("cancel", &gone));
        }
        assert_eq!(trade(&children("query", &old)), canceled);
    }
    assert_eq!(trade(&children("query", &open)).matches("<open shares=").count(), open.len());
}

#[test]
fn bad_xml_changes_nothing_and_the_connection_goes_on() {
    let (_folder, server) = started("bad-xml", "");
    let mut talk = Talk::with(&server);
    // Each request would create account 1 with its first child.
    let first = "<account id=\"1\" balance=\"1\"/>";
    for rest in [
        "<account id=\"2\" balance=\"1\">",
        "</created>",
        "<account id=\"2\" balance=\"1\"/></create><create/>",
        "<account id=\"2\" balance=\"1\"/></create>text",
        "text</create>",
        "<account id=\"2\" id=\"2\" balance=\"1\"/></create>",
        "<account id=2 balance=\"1\"/></create>",
        "<account id=\"2\"balance=\"1\"/></create>",
        "<account id=\"&unknown;\" balance=\"1\"/></create>",
        "<account id=\"&#0;\" balance=\"1\"/></create>",
        "<account id=\"\u{1}\" balance=\"1\"/></create>",
        "<account id=\"<\" balance=\"1\"/></create>",
        "<account id=\"2\" balance=\"1\"><more/></account></create>",
        "<account id=\"2\" balance=\"1\">text</account></create>",
        "<!-- a -- b --></create>",
        "<!DOCTYPE create></create>",
        "<?xml version=\"1.0\"?></create>",
        "<symbol sym=\"S\"><account id=\"1\">1<b/></account></symbol></create>",
        "<![CDATA[text]]></create>",
        "]]></create>",
        "&lt;</create>",
        "",
    ] {
        talk.refuses(&format!("<create>{first}{rest}"));
    }
    talk.refuses("").refuses(" ").refuses("hello").refuses("<unknown/>").refuses("<results/>");
    talk.refuses("<!DOCTYPE create [<!ENTITY a \"1\">]><create/>");
    talk.refuses("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><create/>");
    talk.refuses(&format!("<create colour=\"red\">{first}</create>"));
    talk.client.send(b"10\n<create>\xff\xfe").unwrap();
    compare("invalid UTF-8", &talk.client.reply().unwrap(), &format!("<results><error>{ANY}</error></results>\n"));
    // None of these requests took effect; unusual but well-formed ones are read.
    talk.says(
        "<?xml version='1.0' encoding='utf-8' standalone='yes'?>\r\n<!-- one --><?pi two?><create >\r\n\
         <!-- three --><account\tid='1'\r\nbalance=\"1\" ></account >\r\n</create >\r\n<!-- four -->\r\n",
        "<created id=\"1\"/>",
    );
    talk.says("\u{feff}<create><account id=\"2\" balance=\"&#x31;&#50;\"/></create>", "<created id=\"2\"/>");
    talk.trades(
        "1",
        "<query id=\"1\"/><buy/><query id=\"1\"></query>",
        &format!("<error id=\"1\">Unknown order</error><error>{ANY}</error><error id=\"1\">Unknown order</error>"),
    );
}
