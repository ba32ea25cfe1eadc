//! Orders that wait for others: their ops and answers. Source: docs/PROTOCOL.md.

use crate::common::{check_transactions, commands, parse, reply_with};
use exchange::{Answer, Unavailable};
use terms::{Bond, Command, OrderId, Reject, Reply};

const WORKING: &str = "<order sym='S' amount='1' limit='5' client-id='w'/>";
const PROFIT: &str = "<order sym='S' amount='-1' limit='6' post-only='true'/>";
const LOSS: &str = "<order sym='S' amount='-1' type='market' stop='4'/>";
const WORKING_ECHO: &str = r#"sym="S" amount="1" limit="5" client-id="w""#;
const PROFIT_ECHO: &str = r#"sym="S" amount="-1" limit="6" post-only="true""#;
const LOSS_ECHO: &str = r#"sym="S" amount="-1" type="market" stop="4""#;

fn body(inside: &str) -> String {
    format!("<transactions id='1'><oto>{inside}</oto></transactions>")
}

#[test]
fn an_order_and_those_that_wait_for_it_become_ops_behind_each_other() {
    let alone = commands(format!("<transactions id='1'>{WORKING}{PROFIT}{LOSS}</transactions>"));
    let placed = |at: usize| {
        let Command::Place(place) = alone[at] else { panic!("{alone:?}") };
        assert!(place.alone().is_some());
        place
    };
    for two_wait in [false, true] {
        let mut expected = vec![Command::Place(placed(0).bound(Bond::Working { two_wait }))];
        for at in 1..=1 + usize::from(two_wait) {
            expected.push(Command::Place(placed(at).bound(Bond::Pending)));
        }
        let last = if two_wait { LOSS } else { "" };
        assert_eq!(commands(body(&format!(" {WORKING}<!-- -->{PROFIT}\n{last}"))), expected);
    }
    check_transactions(
        &format!("<query id='3'/><oto>{WORKING}{PROFIT}{LOSS}</oto><query id='4'/>"),
        &format!(
            "<status id=\"3\"/><oto><opened {WORKING_ECHO} id=\"1\"/><opened {PROFIT_ECHO} id=\"2\"/>\
             <opened {LOSS_ECHO} id=\"3\"/></oto><status id=\"4\"/>"
        ),
    );
}

#[test]
fn what_refuses_one_of_them_is_told_with_that_one_alone() {
    let documents = parse(body(&format!("{WORKING}{PROFIT}{LOSS}")));
    let refused = |reject: Reject| Answer::Reply(Reply::Rejected(reject));
    let opened = |order| Answer::Reply(Reply::Opened(OrderId(order)));
    let again = |order| Answer::Reply(Reply::Repeated(OrderId(order)));
    let (full, low, not_working) = (Reject::Full, Unavailable::DiskLow, Reject::NotWorking);
    let another = |order: u64| {
        format!("Client order id stands for order {order}, which has another partner: give another order another id")
    };
    for (answers, echo, why) in [
        ([refused(full), refused(not_working), refused(not_working)], WORKING_ECHO, full.to_string()),
        ([opened(7), refused(full), refused(not_working)], PROFIT_ECHO, full.to_string()),
        ([opened(7), opened(8), refused(full)], LOSS_ECHO, full.to_string()),
        ([Answer::Unavailable(low), Answer::Unavailable(low), Answer::Unavailable(low)], WORKING_ECHO, low.to_string()),
        ([again(7), refused(not_working), refused(not_working)], WORKING_ECHO, another(7)),
        ([again(7), again(8), again(10)], LOSS_ECHO, another(10)),
    ] {
        assert_eq!(reply_with(&documents, &answers), format!("<error {echo}>{why}</error>"), "{answers:?}");
    }
    let all = format!(
        "<oto><opened {WORKING_ECHO} id=\"7\"/><opened {PROFIT_ECHO} id=\"8\"/><opened {LOSS_ECHO} id=\"9\"/></oto>"
    );
    assert_eq!(reply_with(&documents, &[again(7), again(8), again(9)]), all);
}

#[test]
fn orders_that_cannot_wait_are_one_error() {
    let check = |inside: &str, echo: &str, why: &str| {
        assert_eq!(parse(body(inside)).requests.ops(), [], "{inside}");
        check_transactions(
            &format!("<oto>{inside}</oto><query id='1'/>"),
            &format!("<error{echo}>{why}</error><status id=\"1\"/>"),
        );
    };
    let not_two = "oto has two or three orders in it, and nothing else";
    for inside in ["", WORKING, "<query id='1'/>"] {
        check(inside, "", not_two);
    }
    check(&format!("{WORKING}{PROFIT}{LOSS}{LOSS}"), "", not_two);
    check(&format!("{WORKING}{PROFIT}<cancel id='1'/>"), "", not_two);
    let cannot = "the order that others wait for is a limit or post-only order without stop, trail, funds and display";
    check(&format!("{LOSS}{PROFIT}"), &format!(" {LOSS_ECHO}"), cannot);
    check(
        &format!("<order sym='S' amount='1' limit='5' display='0.5'/>{PROFIT}"),
        " sym=\"S\" amount=\"1\" limit=\"5\" display=\"0.5\"",
        cannot,
    );
    let other = "<order sym='T' amount='-1' limit='6'/>";
    check(
        &format!("{WORKING}{other}"),
        " sym=\"T\" amount=\"-1\" limit=\"6\"",
        "orders that wait for another one have its symbol",
    );
    check(
        &format!("{WORKING}<order sym='S' type='market' funds='1'/>"),
        " sym=\"S\" type=\"market\" funds=\"1\"",
        "an order that waits for another one has no funds, display or trail, and does not move",
    );
    check(
        &format!("{WORKING}{PROFIT}{PROFIT}"),
        &format!(" {PROFIT_ECHO}"),
        "of two orders that are linked at least one waits for a price",
    );
    check(
        &format!("{WORKING}{PROFIT}<order sym='S' amount='-1' limit='x'/>"),
        " sym=\"S\" amount=\"-1\" limit=\"x\"",
        "limit is not a plain decimal number",
    );
}
