//! Orders with a deadline or with self-trade prevention, and amendments: their ops and answers. Source:
//! docs/PROTOCOL.md.

use crate::common::{REPLY_LIMITS, check_transactions, commands, parse};
use exchange::Answer;
use terms::{
    AccountId, Amendment, Bond, ClientOrderId, Command, Deadline, OpenTerms, OrderForm, OrderId, OrderName, Price,
    Reply, SelfTrade, Shares, Status, Time, TimeInForce, Trail, WaitsFor,
};
use xml::write_reply;

fn placed(order: &str) -> (SelfTrade, Option<u64>) {
    match commands(format!("<transactions id='1'>{order}</transactions>"))[..] {
        [Command::Place(place)] => {
            let until = place.deadline().map(|until| until.time().0);
            match place.form() {
                OrderForm::Plain(order) => (order.self_trade, until),
                OrderForm::Funds(order) => (order.self_trade, until),
                other => panic!("{order} becomes {other:?}"),
            }
        }
        ref other => panic!("{order} becomes {other:?}"),
    }
}

#[test]
fn an_order_says_what_becomes_of_it_where_it_meets_its_own_account() {
    for (said, mode) in [
        ("", SelfTrade::Allowed),
        ("self-trade='allow'", SelfTrade::Allowed),
        ("self-trade='cancel-newest'", SelfTrade::CancelNewest),
        ("self-trade=' Cancel-Oldest '", SelfTrade::CancelOldest),
        ("self-trade='cancel-both'", SelfTrade::CancelBoth),
        ("self-trade='decrement'", SelfTrade::Decrement),
    ] {
        assert_eq!(placed(&format!("<order sym='S' amount='1' limit='2' {said}/>")).0, mode, "{said}");
        assert_eq!(placed(&format!("<order sym='S' funds='1' type='market' {said}/>")).0, mode, "{said}");
    }
    check_transactions(
        "<order sym='S' amount='1' limit='2' self-trade='never'/>",
        "<error sym=\"S\" amount=\"1\" limit=\"2\" self-trade=\"never\">self-trade must be allow, cancel-newest, cancel-oldest, \
         cancel-both or decrement</error>",
    );
}

#[test]
fn an_order_that_rests_or_waits_ends_at_a_time_in_seconds_and_microseconds() {
    for (said, until) in [
        ("limit='2' until='1'", 1_000_000),
        ("limit='2' until='0.000001'", 1),
        ("limit='2' until=' 4102444800.25 ' tif='GTD'", 4_102_444_800_250_000),
        ("limit='2' until='9007199254.740991' post-only='true'", (1 << 53) - 1),
        ("limit='2' until='1.50000000' tif='gtd' post-only='true'", 1_500_000),
        ("type='market' stop='3' until='7'", 7_000_000),
        ("type='market' stop='3' tif='GTD' until='7'", 7_000_000),
        ("limit='2' tif='IOC' take-profit='1' until='7'", 7_000_000),
    ] {
        assert_eq!(placed(&format!("<order sym='S' amount='1' {said}/>")).1, Some(until), "{said}");
    }
    assert_eq!(placed("<order sym='S' amount='1' limit='2'/>").1, None);
    assert_eq!(placed("<order sym='S' amount='1' type='market' stop='3' tif='GTC'/>").1, None);
}

#[test]
fn an_order_that_ends_with_the_day_leaves_its_end_to_the_market() {
    for said in [
        "<order sym='S' amount='1' limit='2' tif='DAY'/>",
        "<order sym='S' amount='1' limit='2' tif=' day ' post-only='move'/>",
        "<order sym='S' amount='1' type='market' stop='3' tif='DAY'/>",
        "<order sym='S' amount='9' limit='2' display='3' tif='DAY'/>",
        "<order sym='S' amount='9' limit='2' trail='3' tif='DAY'/>",
        "<replace id='7' sym='S' amount='1' limit='2' tif='DAY'/>",
    ] {
        let parsed = parse(format!("<transactions id='1'>{said}</transactions>"));
        let placing = parsed.requests.ops().last().unwrap();
        assert!(parsed.requests.asks_for_days() && placing.deadline() == Some(Deadline::UNDECIDED), "{said}");
    }
    let parsed = parse("<transactions id='1'><order sym='S' amount='1' limit='2' until='3'/></transactions>");
    assert!(!parsed.requests.asks_for_days());
}

#[test]
fn a_time_that_cannot_be_a_deadline_is_refused_in_words() {
    let range = "until must be above 0 and at most 9007199254.740991, in seconds since 1970";
    let at_once = "until belongs to an order that rests or waits, and this one is done at once";
    for (said, why) in [
        ("limit='2' until='0'", range),
        ("limit='2' until='-1'", range),
        ("limit='2' until='9007199254.740992'", range),
        ("limit='2' until='99999999999999999999999999999999999999999999'", range),
        ("limit='2' until='1.0000001'", "until has more than 6 decimal places"),
        ("limit='2' until='1.000000001'", "until has 9 decimal places; at most 8"),
        ("limit='2' until='tomorrow'", "until is not a plain decimal number"),
        ("limit='2' until=''", "until is not a plain decimal number"),
        ("limit='2' tif='GTD'", "an order whose tif is GTD needs until, the time at which it ends"),
        (
            "limit='2' tif='GTC' until='1'",
            "an order with until ends at that time, so its tif cannot be GTC: leave it out",
        ),
        ("limit='2' tif='IOC' until='1'", at_once),
        ("limit='2' tif='FOK' until='1'", at_once),
        ("type='market' until='1'", at_once),
        ("type='market' tif='GTD' until='1'", "the tif of a market order can only be IOC or GFA"),
        ("type='market' tif='GTC'", "the tif of a market order can only be IOC or GFA"),
        ("type='market' tif='FOK' stop='3'", "the tif of a market order can only be IOC or GFA"),
        ("type='market' tif='GTD' stop='3'", "an order whose tif is GTD needs until, the time at which it ends"),
        ("limit='2' tif='IOC' post-only='true'", "a post-only order rests, so its tif can only be GTC, GTD or DAY"),
        ("limit='2' tif='NOW'", "tif must be GTC, GTD, DAY, GFA, IOC or FOK"),
        ("limit='2' tif='DAY' until='1'", "an order whose tif is DAY ends with the day, so it has no until"),
        ("type='market' tif='DAY'", "tif can be DAY of an order that rests or waits, and this one is done at once"),
        (
            "type='market' tif='DAY' stop='3' until='7'",
            "an order whose tif is DAY ends with the day, so it has no until",
        ),
    ] {
        let body = format!("<transactions id='1'><order sym='S' amount='1' {said}/></transactions>");
        assert_eq!(parse(&body).requests.ops(), [], "{said}");
        let told = crate::common::reply(&body);
        assert!(told.ends_with(&format!(">{why}</error>")), "{said}: {told}");
    }
    let funds = "<order sym='S' funds='1' type='market' until='1'/>";
    check_transactions(funds, &format!("<error sym=\"S\" type=\"market\" funds=\"1\" until=\"1\">{at_once}</error>"));
}

#[test]
fn a_replacement_has_terms_as_an_order_has() {
    let body = "<transactions id='1'><replace id='7' sym='S' amount='1' limit='2' self-trade='cancel-both' until='3'/></transactions>";
    let [Command::CancelOrder { .. }, Command::Place(place)] = commands(body)[..] else {
        panic!("{:?}", commands(body))
    };
    assert_eq!(place.bond(), Bond::IfCanceled);
    assert_eq!(
        (place.plain().unwrap().self_trade, place.deadline()),
        (SelfTrade::CancelBoth, Deadline::new(Time(3_000_000)))
    );
}

fn amended(said: &str) -> Amendment {
    match commands(format!("<transactions id='1'><amend {said}/></transactions>"))[..] {
        [Command::Amend(amendment)] => amendment,
        ref other => panic!("{said} becomes {other:?}"),
    }
}

#[test]
fn an_amendment_names_an_order_and_the_terms_that_it_is_to_have() {
    let account = AccountId::parse(b"1").unwrap();
    let shares = |units| Shares::from_units(units).unwrap();
    let price = |units| Price::from_units(units).unwrap();
    let client: OrderName = ClientOrderId::parse(b"mine").unwrap().into();
    let of = |order: OrderName| Amendment::of(account, order);
    let seven = of(OrderId(7).into());
    let until = Deadline::new(Time(2_500_000));
    for (said, meant) in [
        ("id=' 7 ' shares='.5'", seven.with_shares(shares(50_000_000))),
        ("client-id='mine' shares='60'", of(client).with_shares(shares(6_000_000_000))),
        ("id='7' limit='.1' shares='1'", seven.with_shares(shares(100_000_000)).with_limit(price(10_000_000))),
        ("id='7' stop='.1'", seven.with_wait(WaitsFor::StopLoss(price(10_000_000)))),
        ("id='7' take-profit='.1'", seven.with_wait(WaitsFor::TakeProfit(price(10_000_000)))),
        ("id='7' trail='.1'", seven.with_wait(WaitsFor::Trail(Trail::by(price(10_000_000))))),
        ("id='7' trail-bips='9'", seven.with_wait(WaitsFor::Trail(Trail::by_bips(9).unwrap()))),
        ("id='7' display='.5'", seven.with_display(Some(shares(50_000_000)))),
        ("id='7' display=' None '", seven.with_display(None)),
        ("id='7' until='2.5'", seven.with_deadline(until)),
        ("id='7' until='none'", seven.with_deadline(None)),
        ("id='7' tif='IOC'", seven.with_tif(TimeInForce::ImmediateOrCancel)),
        ("id='7' tif='fok' until='2.5'", seven.with_tif(TimeInForce::FillOrKill).with_deadline(until)),
        ("id='7' tif='GTD' until='2.5'", seven.with_tif(TimeInForce::Rests).with_deadline(until)),
        // Nothing but a cancel ends it then.
        ("id='7' tif='GTC'", seven.with_tif(TimeInForce::Rests).with_deadline(None)),
    ] {
        assert_eq!(amended(said), meant, "{said}");
    }
    check_transactions(
        "<amend tif='IOC' limit='&#57;' shares='60' id='7'/>",
        "<amended id=\"7\" shares=\"60\" limit=\"9\" tif=\"IOC\"><open shares=\"60\"/></amended>",
    );
}

#[test]
fn an_amendment_that_no_order_can_have_is_refused_in_words() {
    let nothing = "an amendment names what is to change: shares, limit, stop, take-profit, trail, trail-bips, display, until or tif";
    for (said, why) in [
        ("id='7'", nothing),
        ("shares='7'", "amend has no id attribute"),
        ("id='7' shares='0'", "shares is zero"),
        ("id='7' shares='-1'", "shares is not above zero"),
        ("id='7' shares='none'", "shares is not a plain decimal number"),
        ("id='7' limit='0'", "limit is not above zero"),
        ("id='7' display='0'", "display is zero"),
        ("id='7' until='0'", "until must be above 0 and at most 9007199254.740991, in seconds since 1970"),
        ("id='07' shares='1'", "Unknown order"),
        ("id='07'", nothing),
        ("id='7' client-id='x' shares='1'", "id and client-id name the same: give one"),
        ("id='7' amount='1'", "amend has an unknown attribute amount"),
        ("id='7' stop='1' take-profit='1'", "an order waits for one price: give stop or take-profit"),
        (
            "id='7' stop='1' trail='1'",
            "the market says where a trailing stop is: give trail without stop and take-profit",
        ),
        ("id='7' trail='1' trail-bips='1'", "trail and trail-bips say the same: give one"),
        ("id='7' trail-bips='x'", "trail-bips is a whole number of hundredths of a per cent, from 1 to 9999"),
        ("id='7' trail='1' display='1'", "an order with trail shows all its shares: leave display out"),
        ("id='7' tif='FOK' display='1'", "display belongs to an order that rests, and this one is done at once"),
        ("id='7' tif='DAY'", "an amended order cannot end with the day: give until, the time at which it ends"),
        ("id='7' tif='GTD'", "an order whose tif is GTD needs until, the time at which it ends"),
        ("id='7' tif='GTD' until='none'", "an order whose tif is GTD needs until, the time at which it ends"),
        ("id='7' tif='GTC' until='1'", "an order with until ends at that time, so its tif cannot be GTC: leave it out"),
        ("id='7' tif='NOW'", "tif must be GTC, GTD, IOC or FOK"),
    ] {
        let body = format!("<transactions id='1'><amend {said}/></transactions>");
        assert_eq!(parse(&body).requests.ops(), [], "{said}");
        let told = crate::common::reply(&body);
        assert!(told.ends_with(&format!(">{why}</error>")), "{said}: {told}");
    }
}

#[test]
fn an_open_order_is_shown_with_the_time_at_which_it_ends() {
    let documents = parse("<transactions id='1'><query id='7'/></transactions>");
    let status = Status {
        order: OrderId(7),
        open: Shares::from_units(100_000_000).unwrap(),
        terms: OpenTerms { until: Deadline::new(Time(4_102_444_800_500_000)), ..OpenTerms::default() }.if_any(),
        canceled: None,
        executions: 0..0,
        elsewhere: None,
    };
    let mut out = Vec::new();
    write_reply(&mut out, &documents, 0, &[Answer::Reply(Reply::Status(status))], &[], &REPLY_LIMITS);
    let expected = "<results><status id=\"7\"><open shares=\"1\" until=\"4102444800.5\"/></status></results>\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
