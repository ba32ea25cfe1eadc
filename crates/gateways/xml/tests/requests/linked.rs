//! Two orders of which one cancels the other: their ops and answers. Source: docs/PROTOCOL.md.

use crate::common::{check_refused, check_transactions, commands, parse, reply_with};
use exchange::{Answer, Unavailable};
use terms::{Bond, Command, OrderId, Reject, Reply};

const STOP: &str = "<order sym='S' amount='-1' type='market' stop='4' client-id='a'/>";
const LIMIT: &str = "<order sym='S' amount='-1' limit='6' post-only='true' until='9'/>";
const STOP_ECHO: &str = r#"sym="S" amount="-1" type="market" client-id="a" stop="4""#;
const LIMIT_ECHO: &str = r#"sym="S" amount="-1" limit="6" post-only="true" until="9""#;

fn body(inside: &str) -> String {
    format!("<transactions id='1'><oco>{inside}</oco></transactions>")
}

#[test]
fn two_orders_become_one_and_the_other_one_behind_it() {
    for (first, second) in [(STOP, LIMIT), (LIMIT, STOP)] {
        let alone = commands(format!("<transactions id='1'>{first}{second}</transactions>"));
        let [Command::Place(one), Command::Place(other)] = alone[..] else { panic!("{alone:?}") };
        assert!(one.alone().is_some() && other.alone().is_some());
        let expected = [one, other.bound(Bond::Linked)].map(Command::Place);
        assert_eq!(commands(body(&format!(" {first}<!-- -->\n{second}"))), expected);
    }
    check_transactions(
        &format!("<query id='3'/><oco>{STOP}{LIMIT}</oco><query id='4'/>"),
        &format!(
            "<status id=\"3\"/><oco><opened {STOP_ECHO} id=\"1\"/><opened {LIMIT_ECHO} id=\"2\"/></oco><status id=\"4\"/>"
        ),
    );
}

#[test]
fn what_refuses_one_of_two_is_told_with_that_one_alone() {
    let documents = parse(body(&format!("{STOP}{LIMIT}")));
    let refused = |reject: Reject| Answer::Reply(Reply::Rejected(reject));
    let opened = |order| Answer::Reply(Reply::Opened(OrderId(order)));
    let again = |order| Answer::Reply(Reply::Repeated(OrderId(order)));
    let (full, low) = (Reject::Full, Unavailable::DiskLow);
    let another = |order: u64| {
        format!("Client order id stands for order {order}, which has another partner: give another order another id")
    };
    for (answers, echo, why) in [
        ([refused(full), refused(Reject::NotLinked)], STOP_ECHO, full.to_string()),
        ([opened(7), refused(full)], LIMIT_ECHO, full.to_string()),
        ([again(7), refused(full)], LIMIT_ECHO, full.to_string()),
        ([Answer::Unavailable(low), Answer::Unavailable(low)], STOP_ECHO, low.to_string()),
        ([again(7), refused(Reject::NotLinked)], STOP_ECHO, another(7)),
        ([opened(8), again(7)], LIMIT_ECHO, another(7)),
        ([again(7), again(9)], LIMIT_ECHO, another(9)),
    ] {
        assert_eq!(reply_with(&documents, &answers), format!("<error {echo}>{why}</error>"), "{answers:?}");
    }
    let both = format!("<oco><opened {STOP_ECHO} id=\"7\"/><opened {LIMIT_ECHO} id=\"8\"/></oco>");
    assert_eq!(reply_with(&documents, &[again(7), again(8)]), both);
}

#[test]
fn two_that_cannot_be_linked_are_one_error() {
    let check = |inside: &str, echo: &str, why: &str| {
        assert_eq!(parse(body(inside)).requests.ops(), [], "{inside}");
        check_transactions(
            &format!("<oco>{inside}</oco><query id='1'/>"),
            &format!("<error{echo}>{why}</error><status id=\"1\"/>"),
        );
    };
    let not_two = "oco has two orders in it, and nothing else";
    for inside in ["", STOP, "<query id='1'/>", "<what><x/></what>"] {
        check(&inside.replace("<x/>", ""), "", not_two);
    }
    check(&format!("{STOP}{LIMIT}{STOP}"), "", not_two);
    check(&format!("{STOP}{LIMIT}<cancel id='1'/>"), "", not_two);
    let limit = |rest: &str| format!("<order sym='S' amount='-1' limit='6' {rest}/>");
    let taking = "each of two orders that are linked waits for a price or is post-only";
    check(&format!("{STOP}{}", limit("")), " sym=\"S\" amount=\"-1\" limit=\"6\"", taking);
    check(&format!("{}{STOP}", limit("tif='IOC'")), " sym=\"S\" amount=\"-1\" limit=\"6\" tif=\"IOC\"", taking);
    check(&format!("{LIMIT}{LIMIT}"), "", "of two orders that are linked at least one waits for a price");
    check(
        &format!("{STOP}<order sym='T' amount='-1' limit='6' post-only='true'/>"),
        "",
        "two orders that are linked have one symbol",
    );
    check(
        &format!("{STOP}<order sym='S' amount='1' limit='6' post-only='true'/>"),
        "",
        "two orders that are linked both buy or both sell",
    );
    check(
        &format!("{STOP}<order sym='S' amount='-2' limit='6' post-only='true'/>"),
        "",
        "two orders that are linked have one number of shares",
    );
    check(
        &format!("{STOP}<order sym='S' type='market' funds='1'/>"),
        "",
        "an order for funds executes at once, so it cannot be linked",
    );
    check(
        &format!("{STOP}<order sym='S' amount='x' limit='&lt;'/>"),
        " sym=\"S\" amount=\"x\" limit=\"&lt;\"",
        "amount is not a plain decimal number",
    );
    check(&format!("<order limit='1' what='2'/>{LIMIT}"), " limit=\"1\"", "order has an unknown attribute what");
    check_transactions("<oco/>", &format!("<error>{not_two}</error>"));
    check_transactions(
        &format!("<oco kind='x'>{STOP}{LIMIT}</oco>"),
        "<error>oco has an unknown attribute kind</error>",
    );
}

#[test]
fn elements_are_nested_deeper_in_two_orders_alone() {
    let deeper =
        |at, most| format!("elements are nested deeper than the request allows; at most {most} levels, at byte {at}");
    check_refused(body("<order><x/></order>"), &deeper(33, 3));
    let document = format!("<transactions id='1'><oco>{STOP}{LIMIT}</oco><query id='1'><a/></query></transactions>");
    check_refused(&document, &deeper(document.find("<a/>").unwrap(), 2));
    check_refused(body("x"), "text where none belongs, at byte 26");
}
