//! `transactions`: the ops of its children, and their answers. Source: docs/PROTOCOL.md, transactions.

use crate::common::{check_refused, check_transactions, ops, parse, reply, reply_with};
use exchange::{Answer, Unavailable};
use terms::{
    AccountId, Bond, ClientOrderId, Command, Money, NewOrder, Op, OrderId, OrderName, Place, Price, Query, Reject,
    Reply, Shares, Side, Symbol,
};

fn account(id: &str) -> AccountId {
    AccountId::parse(id.as_bytes()).unwrap()
}

fn order(side: Side, shares: i64, limit: i64) -> Op {
    Op::Command(Command::Place(Place::order(
        account("1"),
        NewOrder::limit(
            Symbol::parse(b"SPY").unwrap(),
            side,
            Price::from_units(limit).unwrap(),
            Shares::from_units(shares).unwrap(),
        ),
    )))
}

#[test]
fn children_become_ops_in_the_order_they_stand() {
    let body = r#"<?xml version="1.0"?>
        <transactions id="1">
          <order sym="SPY" amount="100" limit="145.67"/>
          <query id="7"/>
          <order limit=".5" sym="SPY" amount="-0.1"></order>
          <cancel id="8"/>
        </transactions>"#;
    let expected = [
        order(Side::Buy, 10_000_000_000, 14_567_000_000),
        Op::Query(Query { account: account("1"), order: OrderId(7).into() }),
        order(Side::Sell, 10_000_000, 50_000_000),
        Op::Command(Command::CancelOrder { account: account("1"), order: OrderId(8).into() }),
    ];
    assert_eq!(ops(body), expected);
    assert_eq!(ops(body.replace("transactions id", "transactions account")), expected);
    let opened = r#"<opened sym="SPY" amount="100" limit="145.67" id="1"/><status id="7"/>"#;
    let more = r#"<opened sym="SPY" amount="-0.1" limit=".5" id="2"/><canceled id="8"/>"#;
    assert_eq!(reply(body), format!("{opened}{more}"));
}

#[test]
fn values_are_echoed_as_they_were_sent_and_escaped_again() {
    check_transactions(
        "<order sym='  SPY&#9;' amount='&#x31;00\n' limit='&#13;5.'/>",
        "<opened sym=\"  SPY&#9;\" amount=\"100 \" limit=\"&#13;5.\" id=\"1\"/>",
    );
    check_transactions(
        r#"<order sym='&lt;"&amp;>&#10;' amount='1' limit='1'/>"#,
        "<error sym=\"&lt;&quot;&amp;&gt;&#10;\" amount=\"1\" limit=\"1\">\
         sym has characters other than ASCII letters and digits</error>",
    );
    check_transactions("<query id='\t7\r\n'/>", r#"<status id=" 7 "/>"#);
}

#[test]
fn an_order_without_an_attribute_echoes_the_others() {
    check_transactions(
        "<order sym='SPY' limit='1'/>",
        r#"<error sym="SPY" limit="1">order has no amount attribute</error>"#,
    );
    check_transactions("<order/>", "<error>order has no sym attribute</error>");
    check_transactions(
        "<order sym='SPY' amount='1' limit='1' id='5'/>",
        r#"<error sym="SPY" amount="1" limit="1">order has an unknown attribute id</error>"#,
    );
}

#[test]
fn amounts_and_limits_that_no_order_has_are_refused() {
    let check = |amount: &str, limit: &str, why: &str| {
        check_transactions(
            &format!("<order sym='S' amount='{amount}' limit='{limit}'/>"),
            &format!(r#"<error sym="S" amount="{amount}" limit="{limit}">{why}</error>"#),
        );
    };
    for zero in ["0", "-0", "0.00", "-.0"] {
        check(zero, "1", "amount is zero");
        check("1", zero, "limit is not above zero");
    }
    check("1", "-1", "limit is not above zero");
    check("1", "1.123456789", "limit has 9 decimal places; at most 8");
    check("1.123456789", "1", "amount has 9 decimal places; at most 8");
    check("92233720368.54775808", "1", "amount is out of range; at most 92233720368.54775807");
    check("1", "92233720368.54775808", "limit is out of range; at most 92233720368.54775807");
    for text in ["", " ", "NaN", "1e5", "0x1", "+1", "1,000", "--1", "1 0", ".", "٣"] {
        check(text, "1", "amount is not a plain decimal number");
        check("1", text, "limit is not a plain decimal number");
    }
}

#[test]
fn the_first_fault_of_an_order_is_the_one_told() {
    check_transactions(
        "<order sym='-' amount='x' limit='y'/>",
        r#"<error sym="-" amount="x" limit="y">sym has characters other than ASCII letters and digits</error>"#,
    );
    check_transactions(
        "<order sym='S' amount='x' limit='y'/>",
        r#"<error sym="S" amount="x" limit="y">amount is not a plain decimal number</error>"#,
    );
}

#[test]
fn a_query_or_cancel_of_what_is_no_order_id_is_an_unknown_order() {
    for id in ["007", "abc", "0", "-1", "", "18446744073709551616", "1.0"] {
        for element in ["query", "cancel"] {
            check_transactions(
                &format!("<{element} id='{id}'/>"),
                &format!(r#"<error id="{id}">{}</error>"#, Reject::UnknownOrder),
            );
        }
    }
}

#[test]
fn a_query_or_cancel_has_an_id_and_nothing_else() {
    check_transactions("<query/>", "<error>query has no id attribute</error>");
    check_transactions("<cancel/>", "<error>cancel has no id attribute</error>");
    check_transactions("<query id='1' sym='S'/>", r#"<error id="1">query has an unknown attribute sym</error>"#);
}

#[test]
fn a_replacement_is_a_cancel_and_an_order_behind_it_each_with_its_own_answer() {
    let placed = |op: Op| if let Op::Command(command) = op { Op::Command(command.if_canceled().unwrap()) } else { op };
    let cancel = |order: OrderName| Op::Command(Command::CancelOrder { account: account("1"), order });
    let body = |attributes: &str| {
        format!("<transactions id='1'><replace {attributes} sym='SPY' amount='2' limit='3'/></transactions>")
    };
    let order = order(Side::Buy, 200_000_000, 300_000_000);
    let name: OrderName = ClientOrderId::parse(b"mine").unwrap().into();
    assert_eq!(ops(body("id='8'")), [cancel(OrderId(8).into()), placed(order)]);
    assert_eq!(ops(body("id='8' on-failure='stop'")), [cancel(OrderId(8).into()), placed(order)]);
    assert_eq!(ops(body("client-id='mine' on-failure='place'")), [cancel(name), order]);
    let Op::Command(Command::Place(place)) = order else { panic!("{order:?} places nothing") };
    let kept = Op::Command(Command::ReplaceOrder { account: account("1"), order: name });
    let replacing = Op::Command(Command::Place(place.bound(Bond::Replacing)));
    assert_eq!(ops(body("client-id='mine' on-failure='keep'")), [kept, replacing]);
    // An invalid order id names no order: the engine says so, and places the new order if it is to be placed in any
    // case.
    assert_eq!(ops(body("id='007' on-failure='place'")), [cancel(OrderId(0).into()), order]);
    check_transactions(
        "<replace id='8' on-failure='place' sym='SPY' amount='2' limit='3' new-client-id='new'/><query id='7'/>",
        r#"<replaced><canceled id="8"/><opened sym="SPY" amount="2" limit="3" new-client-id="new" id="1"/></replaced><status id="7"/>"#,
    );
    let documents = parse(body("id='8'"));
    let answers = [Reject::NothingOpen, Reject::NotCanceled].map(|reject| Answer::Reply(Reply::Rejected(reject)));
    let order = r#"sym="SPY" amount="2" limit="3""#;
    let expected = format!(
        r#"<replaced><error id="8">{}</error><error {order}>{}</error></replaced>"#,
        Reject::NothingOpen,
        Reject::NotCanceled
    );
    assert_eq!(reply_with(&documents, &answers), expected);
}

#[test]
fn a_replacement_that_cannot_be_is_one_error_with_all_its_attributes() {
    let check = |attributes: &str, echo: &str, why: &str| {
        check_transactions(&format!("<replace {attributes}/>"), &format!("<error{echo}>{why}</error>"));
    };
    check("", "", "replace has no id attribute");
    check("id='1'", r#" id="1""#, "replace has no sym attribute");
    check(
        "id='1' client-id='a' sym='S' amount='1' limit='1'",
        r#" id="1" client-id="a" sym="S" amount="1" limit="1""#,
        "id and client-id name the same: give one",
    );
    check(
        "on-failure='go' id='1' sym='S' amount='0' limit='1'",
        r#" on-failure="go" id="1" sym="S" amount="0" limit="1""#,
        "on-failure must be stop, place or keep",
    );
    check(
        "id='1' sym='S' amount='0' limit='1' on-failure='place'",
        r#" on-failure="place" id="1" sym="S" amount="0" limit="1""#,
        "amount is zero",
    );
    check(
        "id='1' sym='S' amount='1' limit='1' new-client-id=','",
        r#" id="1" sym="S" amount="1" limit="1" new-client-id=",""#,
        "new-client-id has characters other than ASCII letters, digits and the five . _ : / -",
    );
    check("id='1' price='2'", r#" id="1""#, "replace has an unknown attribute price");
}

#[test]
fn an_illegal_account_is_one_error_a_child_with_its_own_attributes() {
    let children = "<order sym='S' amount='1' limit='2'/><query id='3'/><cancel id='x'/>";
    let check = |id: &str, why: &str| {
        let expected = format!(
            r#"<error sym="S" amount="1" limit="2">{why}</error><error id="3">{why}</error><error id="x">{why}</error>"#
        );
        assert_eq!(reply(format!("<transactions id='{id}'>{children}</transactions>")), expected);
    };
    check("12a", "account id has characters other than the digits 0-9");
    check("", "account id is empty");
    check(&"1".repeat(33), "account id has 33 characters; at most 32");
}

#[test]
fn an_unknown_account_is_one_error_a_child() {
    let documents = parse("<transactions id='1'><order sym='S' amount='1' limit='2'/><query id='3'/></transactions>");
    let unknown = Answer::Reply(Reply::Rejected(Reject::UnknownAccount));
    assert_eq!(
        reply_with(&documents, &[unknown.clone(), unknown]),
        r#"<error sym="S" amount="1" limit="2">Unknown account</error><error id="3">Unknown account</error>"#
    );
}

#[test]
fn what_the_engine_refuses_is_told_with_its_facts() {
    let documents = parse("<transactions id='1'><order sym='S' amount='1' limit='2'/></transactions>");
    let short = Reject::InsufficientFunds { needed: Money::from_units(5), available: Money::ZERO };
    assert_eq!(
        reply_with(&documents, &[Answer::Reply(Reply::Rejected(short))]),
        format!(r#"<error sym="S" amount="1" limit="2">{short}</error>"#)
    );
    for unavailable in
        [Unavailable::DiskLow, Unavailable::Stopping, Unavailable::ReplyTooLarge, Unavailable::RecordDamaged]
    {
        assert_eq!(
            reply_with(&documents, &[Answer::Unavailable(unavailable)]),
            format!(r#"<error sym="S" amount="1" limit="2">{unavailable}</error>"#)
        );
    }
}

#[test]
fn transactions_without_an_id_or_children_are_one_top_level_error() {
    check_refused("<transactions><query id='1'/></transactions>", "transactions has no id attribute, at byte 0");
    check_refused(
        "<transactions account='1' id='1'><query id='1'/></transactions>",
        "transactions has an id and an account attribute, which mean the same: give one, at byte 0",
    );
    check_refused("<transactions id='1'/>", "transactions has no children, at byte 0");
    check_refused("<transactions id='1'> <!-- --> </transactions>", "transactions has no children, at byte 0");
    check_refused(
        "<transactions id='1' name='x'><query id='1'/></transactions>",
        "transactions has an unknown attribute name, at byte 0",
    );
}

#[test]
fn unknown_elements_get_an_error_in_their_place() {
    check_transactions(
        "<query id='1'/><modify id='1'>text</modify><query id='2'/>",
        r#"<status id="1"/><error>unknown element modify</error><status id="2"/>"#,
    );
    check_transactions("<Query id='1'/>", "<error>unknown element Query</error>");
    check_transactions("<élan/>", "<error>unknown element élan</error>");
}

#[test]
fn text_and_elements_where_none_belong_refuse_the_document() {
    check_refused("<transactions id='1'><query id='1'/>x</transactions>", "text where none belongs, at byte 36");
    check_refused("<transactions id='1'><query id='1'>x</query></transactions>", "text where none belongs, at byte 35");
    check_refused(
        "<transactions id='1'><order sym='S' amount='1' limit='1'/><query id='1'><a/></query></transactions>",
        "elements are nested deeper than the request allows; at most 2 levels, at byte 72",
    );
    check_refused(
        "<transactions id='1'><modify><a/></modify></transactions>",
        "elements are nested deeper than the request allows; at most 2 levels, at byte 29",
    );
}
