//! Orders that only the archive knows: their replies keep their place, and only their connection waits.

#![allow(clippy::unwrap_used)]

mod support;

use engine::OrderId;
use gateway::Settings;
use wire::Unavailable;

use support::{ARCHIVED, done, eventually, opened, order, query, results, serve, settings, status};

#[test]
fn replies_behind_a_look_up_wait_for_it_and_other_connections_do_not() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&[order(1), query(ARCHIVED), order(2), query(ARCHIVED + 1), order(3)].concat());
    client.expect(&opened(1, 1));
    let (first, second) = (served.next_lookup(), served.next_lookup());
    assert_eq!((first.order(), second.order()), (OrderId(ARCHIVED), OrderId(ARCHIVED + 1)));
    let mut other = served.client();
    for number in 4..=10 {
        other.send(&order(number));
        other.expect(&opened(number, number));
    }
    // The later one is answered first, and waits too.
    second.answer(Some(done(ARCHIVED + 1)));
    other.send(&order(11));
    other.expect(&opened(11, 11));
    served.gateway.wait_for_answered(9);
    assert_eq!(served.gateway.requests_answered(), 9);
    first.answer(Some(done(ARCHIVED)));
    client.expect(&[status(ARCHIVED, 1), opened(2, 2), status(ARCHIVED + 1, 1), opened(3, 3)].concat());
}

#[test]
fn a_request_waits_for_all_of_its_look_ups() {
    let served = serve(settings());
    let mut client = served.client();
    let body = format!(
        r#"<transactions id="1"><query id="{}"/><query id="2"/><cancel id="{}"/><query id="{}"/></transactions>"#,
        ARCHIVED,
        ARCHIVED + 1,
        ARCHIVED + 2
    );
    client.send(&wire::frame(body.as_bytes()));
    let lookups: Vec<_> = (0..3).map(|_| served.next_lookup()).collect();
    for lookup in lookups.into_iter().rev() {
        let order = lookup.order().0;
        lookup.answer((order != ARCHIVED + 2).then(|| done(order)));
    }
    let part = |order, executions| {
        let text = status(order, executions);
        text.trim_start_matches("<results>").trim_end_matches("</results>\n").to_string()
    };
    client.expect(&results(&format!(
        r#"{}{}<error id="{}">Order has nothing open to cancel</error><error id="{}">Unknown order</error>"#,
        part(ARCHIVED, 1),
        part(2, 2),
        ARCHIVED + 1,
        ARCHIVED + 2
    )));
}

#[test]
fn an_archive_that_cannot_be_asked_is_said_and_the_rest_goes_on() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&[query(ARCHIVED), order(1)].concat());
    served.next_lookup().refuse(Unavailable::StoreAway);
    let why = Unavailable::StoreAway.to_string();
    client.expect(&[results(&format!(r#"<error id="{ARCHIVED}">{why}</error>"#)), opened(1, 1)].concat());
}

#[test]
fn another_accounts_archived_order_is_unknown() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&wire::frame(format!(r#"<transactions id="2"><query id="{ARCHIVED}"/></transactions>"#).as_bytes()));
    served.next_lookup().answer(Some(done(ARCHIVED)));
    client.expect(&results(&format!(r#"<error id="{ARCHIVED}">Unknown order</error>"#)));
}

#[test]
fn a_connection_that_waits_for_the_archive_is_not_read() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&query(ARCHIVED));
    let lookup = served.next_lookup();
    client.send(&order(1));
    let mut other = served.client();
    other.send(&query(1));
    other.expect(&status(1, 1));
    assert_eq!(served.gateway.counters().requests, 2);
    lookup.answer(Some(done(ARCHIVED)));
    client.expect(&[status(ARCHIVED, 1), opened(1, 1)].concat());
}

#[test]
fn look_ups_of_a_client_that_left_are_forgotten_and_their_places_reused() {
    let served = serve(Settings { ops_in_flight_max: 4, ..settings() });
    for round in 0..50 {
        let mut client = served.client();
        client.send(&[query(ARCHIVED + round), query(ARCHIVED + round)].concat());
        let lookups = [served.next_lookup(), served.next_lookup()];
        socket2::SockRef::from(&client.stream).set_linger(Some(std::time::Duration::ZERO)).unwrap();
        drop(client);
        // The next client may get the same slot while these are on their way.
        eventually("the connection is closed", || served.open_connections() == 0);
        lookups.into_iter().for_each(|lookup| lookup.answer(Some(done(ARCHIVED))));
    }
    let mut client = served.client();
    client.send(&[query(ARCHIVED), order(1)].concat());
    served.next_lookup().answer(Some(done(ARCHIVED)));
    client.expect(&[status(ARCHIVED, 1), opened(1, 1)].concat());
    served.gateway.wait_for_answered(102);
}
