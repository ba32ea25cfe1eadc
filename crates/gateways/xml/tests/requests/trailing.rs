//! Stops that follow the market: their commands and answers. Source: docs/rules/TRAILING_STOPS.md.

use crate::common::{check_transactions, commands};
use terms::{Bond, Command, NewOrder, OrderForm, OrderKind, Place, Price, Trail};

fn placed(order: &str) -> Place {
    match commands(format!("<transactions id='1'>{order}</transactions>"))[..] {
        [Command::Place(place)] => place,
        ref other => panic!("{order} becomes {other:?}"),
    }
}

fn trailing(place: &Place) -> Option<(NewOrder, Trail)> {
    if let OrderForm::Trailing { order, trail } = place.form() { Some((order, trail)) } else { None }
}

#[test]
fn an_order_says_how_far_behind_the_market_it_waits() {
    let place = placed("<order sym='S' amount='-7' type='market' trail=' 0.5 ' client-id='c' until='9'/>");
    let (order, trail) = trailing(&place).unwrap();
    assert_eq!((order.kind, order.trigger), (OrderKind::Market, None));
    assert_eq!(trail, Trail::by(Price::from_units(50_000_000).unwrap()));
    assert_eq!(
        (place.client_id().unwrap().to_string(), place.deadline().unwrap().time().0),
        ("c".to_owned(), 9_000_000)
    );
    let (order, bips) = trailing(&placed("<order sym='S' amount='7' limit='2' tif='IOC' trail-bips='9999'/>")).unwrap();
    assert_eq!((order.kind, bips.bips()), (OrderKind::ImmediateOrCancel, Some(9_999)));
    assert_eq!(trailing(&placed("<order sym='S' amount='7' limit='2' stop='3'/>")), None);
}

#[test]
fn what_replaces_an_order_may_follow_the_market_and_the_first_of_a_pair() {
    for (on_failure, is_conditional) in [("", true), ("on-failure='place'", false)] {
        let said = format!("<replace id='3' sym='S' amount='7' limit='2' trail='1' {on_failure}/>");
        match commands(format!("<transactions id='1'>{said}</transactions>"))[..] {
            [Command::CancelOrder { .. }, placing] => {
                assert_eq!(placing.unconditional().is_some(), is_conditional);
                assert!(trailing(placing.place().unwrap()).is_some());
            }
            ref other => panic!("{said} becomes {other:?}"),
        }
    }
    let (follows, rests) =
        ("<order sym='S' amount='7' limit='9' trail='1'/>", "<order sym='S' amount='7' limit='2' post-only='true'/>");
    match commands(format!("<transactions id='1'><oco>{follows}{rests}</oco></transactions>"))[..] {
        [Command::Place(first), Command::Place(second)] => {
            assert!(trailing(&first).is_some());
            assert_eq!(second.bond(), Bond::Linked);
        }
        ref other => panic!("a pair becomes {other:?}"),
    }
    check_transactions(
        &format!("<oco>{rests}{follows}</oco>"),
        "<error>of two orders that are linked the first one may have a trail, not the second</error>",
    );
}

#[test]
fn what_cannot_follow_is_refused_in_words() {
    let bips = "trail-bips is a whole number of hundredths of a per cent, from 1 to 9999";
    let stands = "the market says where a trailing stop is: give trail without stop and take-profit";
    for (said, why) in [
        ("limit='2' trail='0'", "trail is not above zero"),
        ("limit='2' trail='-1'", "trail is not above zero"),
        ("limit='2' trail='x'", "trail is not a plain decimal number"),
        ("limit='2' trail='0.000000001'", "trail has 9 decimal places; at most 8"),
        ("limit='2' trail-bips='0'", bips),
        ("limit='2' trail-bips='10000'", bips),
        ("limit='2' trail-bips='1.5'", bips),
        ("limit='2' trail-bips='+7'", bips),
        ("limit='2' trail-bips=''", bips),
        ("limit='2' trail='1' trail-bips='1'", "trail and trail-bips say the same: give one"),
        ("limit='2' stop='1' trail='1'", stands),
        ("limit='2' take-profit='1' trail='1'", stands),
        ("limit='2' display='1' trail='1'", "an order with trail shows all its shares: leave display out"),
    ] {
        let echo = said.replace('\'', "\"");
        check_transactions(
            &format!("<order sym='S' amount='1' {said}/>"),
            &format!("<error sym=\"S\" amount=\"1\" {echo}>{why}</error>"),
        );
    }
}
