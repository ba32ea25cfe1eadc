//! Orders that show a part of their shares at a time: their commands and answers. Source: docs/PROTOCOL.md.

use crate::common::{REPLY_LIMITS, check_transactions, commands, parse};
use exchange::Answer;
use terms::{
    Command, Iceberg, NewOrder, OpenTerms, OrderForm, OrderId, OrderKind, Place, Reply, SelfTrade, Shares, Side,
    Status, Trigger,
};
use xml::write_reply;

fn shares(units: i64) -> Shares {
    Shares::from_units(units).unwrap()
}

fn placed(order: &str) -> Place {
    match commands(format!("<transactions id='1'>{order}</transactions>"))[..] {
        [Command::Place(place)] => place,
        ref other => panic!("{order} becomes {other:?}"),
    }
}

fn iceberg(place: &Place) -> Option<(NewOrder, Shares)> {
    if let OrderForm::Iceberg { order, display } = place.form() { Some((order, display)) } else { None }
}

#[test]
fn an_order_that_rests_says_how_many_shares_it_shows() {
    let said = "<order sym='S' amount='-7' limit='2' display=' 0.5 ' self-trade='cancel-both' stop='3' until='9' post-only='true'/>";
    let place = placed(said);
    let (order, display) = iceberg(&place).unwrap();
    assert_eq!((order.side, order.shares, display), (Side::Sell, shares(700_000_000), shares(50_000_000)));
    assert_eq!((order.kind, order.self_trade), (OrderKind::PostOnly, SelfTrade::CancelBoth));
    assert_eq!(order.trigger.map(Trigger::is_from_below), Some(false));
    assert_eq!((place.client_id(), place.deadline().unwrap().time().0), (None, 9_000_000));
    let named = placed("<order sym='S' amount='7' limit='2' client-id='c' display='7'/>");
    assert_eq!(named.client_id().unwrap().to_string(), "c");
    assert_eq!(iceberg(&named).unwrap().1, shares(700_000_000));
    assert_eq!(iceberg(&placed("<order sym='S' amount='7' limit='2'/>")), None);
}

#[test]
fn what_replaces_an_order_may_show_a_part_too() {
    for (on_failure, is_conditional) in [("", true), ("on-failure='place'", false)] {
        let said = format!("<replace id='3' sym='S' amount='7' limit='2' display='1' {on_failure}/>");
        match commands(format!("<transactions id='1'>{said}</transactions>"))[..] {
            [Command::CancelOrder { .. }, placing] => {
                assert_eq!(iceberg(placing.place().unwrap()).unwrap().1, shares(100_000_000));
                assert_eq!(placing.unconditional().is_some(), is_conditional);
            }
            ref other => panic!("{said} becomes {other:?}"),
        }
    }
}

#[test]
fn what_cannot_be_shown_is_refused_in_words() {
    let at_once = "display belongs to an order that rests, and this one is done at once";
    for (said, why) in [
        ("limit='2' display='-1'", "display is not above zero"),
        ("limit='2' display='0'", "display is zero"),
        ("limit='2' display='x'", "display is not a plain decimal number"),
        ("limit='2' display='0.000000001'", "display has 9 decimal places; at most 8"),
        ("limit='2' tif='IOC' display='1'", at_once),
        ("limit='2' tif='FOK' display='1'", at_once),
        ("type='market' display='1'", at_once),
        ("type='market' stop='3' display='1'", at_once),
    ] {
        let echo = said.replace('\'', "\"");
        check_transactions(
            &format!("<order sym='S' amount='1' {said}/>"),
            &format!("<error sym=\"S\" amount=\"1\" {echo}>{why}</error>"),
        );
    }
}

#[test]
fn an_open_order_is_told_to_its_account_with_what_it_shows() {
    let documents = parse("<transactions id='1'><query id='7'/></transactions>");
    let iceberg = Some(Iceberg { display: shares(1_000_000_000), shown: shares(250_000_000) });
    let status = Status {
        order: OrderId(7),
        open: shares(3_000_000_000),
        terms: OpenTerms { iceberg, ..OpenTerms::default() }.if_any(),
        canceled: None,
        executions: 0..0,
        elsewhere: None,
    };
    let mut out = Vec::new();
    write_reply(&mut out, &documents, 0, &[Answer::Reply(Reply::Status(status))], &[], &REPLY_LIMITS);
    let expected = "<results><status id=\"7\"><open shares=\"30\" display=\"10\" shown=\"2.5\"/></status></results>\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
