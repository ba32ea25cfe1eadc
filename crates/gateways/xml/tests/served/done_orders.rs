//! Orders that only the history knows: their replies keep their place, only their connection waits, and what is read
//! for them is bounded.

use std::sync::Arc;
use std::time::{Duration, Instant};

use access::Access;
use exchange::{Lookup, Unavailable};
use terms::DoneOrder;
use xml::{Desk, Settings};

use crate::support::{
    Client, DONE, Served, done_of, eventually, opened, order, query, results, serve, settings, status,
};

/// Executions that no short look-up has room for.
const MANY: u64 = 10_000;

/// Returns an archived order with one execution.
fn done(order: u64) -> Option<DoneOrder> {
    Some(done_of(order, 1))
}

#[test]
fn replies_behind_a_look_up_wait_for_it_and_other_connections_do_not() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&[order(1), query(DONE), order(2), query(DONE + 1), order(3)].concat());
    client.expect(&opened(1, 1));
    let first = served.next_lookup();
    let mut other = served.client();
    for number in 4..=10 {
        other.send(&order(number));
        other.expect(&opened(number, number));
    }
    served.gateway.wait_for_answered(8);
    assert_eq!(served.gateway.requests_answered(), 8);
    // The second look-up is handed in when its reply is next.
    assert!(served.lookups.try_recv().is_err());
    answer(first, done);
    client.expect(&[status(DONE, 1), opened(2, 2)].concat());
    answer(served.next_lookup(), done);
    client.expect(&[status(DONE + 1, 1), opened(3, 3)].concat());
}

#[test]
fn a_request_waits_for_all_of_its_orders_and_each_is_looked_up_once() {
    let served = serve(settings());
    let mut client = served.client();
    let body = format!(
        r#"<transactions id="1"><query id="{0}"/><query id="2"/><cancel id="{1}"/><query id="{2}"/><query id="{0}"/></transactions>"#,
        DONE,
        DONE + 1,
        DONE + 2
    );
    client.send(&xml::frame(body.as_bytes()));
    let lookup = served.next_lookup();
    let asked: Vec<u64> = lookup.left().iter().map(|asked| asked.order.0).collect();
    assert_eq!(asked, [DONE, DONE + 1, DONE + 2]);
    let found = |order| (order != DONE + 2).then(|| done(order).unwrap());
    answer(lookup, found);
    let part = |order, executions| {
        let text = status(order, executions);
        text.trim_start_matches("<results>").trim_end_matches("</results>\n").to_string()
    };
    client.expect(&results(&format!(
        r#"{0}{1}<error id="{2}">Order has nothing open to cancel</error><error id="{3}">Unknown order</error>{0}"#,
        part(DONE, 1),
        part(2, 2),
        DONE + 1,
        DONE + 2
    )));
}

#[test]
fn many_executions_are_asked_for_again_and_one_connection_after_the_other() {
    let served = serve(Settings { unread_bytes_max: 64 << 20, ..settings() });
    let many = |order| Some(done_of(order, MANY));
    let mut clients: Vec<Client> = (0..3).map(|_| served.client()).collect();
    clients.iter_mut().for_each(|client| client.send(&query(DONE)));
    let mut asked: Vec<Lookup> = (0..3).map(|_| served.next_lookup()).collect();
    assert!(asked.iter().all(|lookup| !lookup.is_long()));
    asked.drain(..).for_each(|short| answer(short, many));
    let long = served.next_lookup();
    assert!(long.is_long());
    let mut other = served.client();
    other.send(&query(DONE + 1));
    // A short look-up is handed in meanwhile, a second long one is not.
    let short = served.next_lookup();
    assert!(!short.is_long() && served.lookups.try_recv().is_err());
    answer(short, done);
    other.expect(&status(DONE + 1, 1));
    answer(long, many);
    (1..3).for_each(|_| answer(served.next_lookup(), many));
    let expected = status(DONE, MANY as usize);
    clients.iter_mut().for_each(|client| client.expect(&expected));
}

#[test]
fn what_does_not_fit_a_reply_is_said_and_what_needs_no_room_is_answered() {
    let served = serve(Settings { reply_bytes_max: 400_000, ..settings() });
    let mut client = served.client();
    let of = |order: u64| format!(r#"<query id="{order}"/>"#);
    let body = format!(
        r#"<transactions id="1">{}{}{}{}<cancel id="{}"/></transactions>"#,
        of(DONE),
        of(DONE + 1),
        of(DONE + 2),
        of(DONE + 3),
        DONE
    );
    client.send(&xml::frame(body.as_bytes()));
    let found = |order| match order - DONE {
        0 => Some(done_of(order, 5_000)),
        1 => Some(done_of(order, MANY)),
        2 => None,
        _ => done(order),
    };
    answer(served.next_lookup(), found);
    answer(served.next_lookup(), found);
    let too_large = |order: u64| format!(r#"<error id="{order}">reply too large</error>"#);
    let shown = status(DONE, 5_000).replace("</results>\n", "");
    client.expect(&format!(
        r#"{shown}{}<error id="{}">Unknown order</error>{}<error id="{DONE}">Order has nothing open to cancel</error></results>
"#,
        too_large(DONE + 1),
        DONE + 2,
        too_large(DONE + 3),
    ));
}

#[test]
fn a_long_reply_that_is_not_taken_makes_room_for_others() {
    // The settings have room for one long reply.
    let served = serve(Settings { unread_bytes_max: 64 << 20, reply_bytes_max: 8 << 20, ..settings() });
    const EXECUTIONS: u64 = 100_000;
    let many = |order| Some(done_of(order, EXECUTIONS));
    let mut silent = served.client_with_little_room();
    silent.send(&query(DONE));
    answer(served.next_lookup(), many);
    answer(served.next_lookup(), many);
    let mut other = served.client();
    other.send(&query(DONE));
    answer(served.next_lookup(), many);
    answer(served.next_lookup(), many);
    other.expect(&status(DONE, EXECUTIONS as usize));
    assert_eq!(served.gateway.counters().connections_shed, 1);
}

/// Returns a desk at which these members log in, each with a key of its name.
fn desk(members: &[&str]) -> Option<Arc<Desk>> {
    let member = |name: &&str| {
        format!(
            "[[member]]\nname = \"{name}\"\nroles = [\"trader\"]\n\
             [[member.key]]\nid = \"{name}\"\nsecret = \"a-secret-of-some-length\"\n"
        )
    };
    let text: String = members.iter().map(member).collect();
    Some(Arc::new(Desk::new(Access::parse(&text).unwrap())))
}

fn log_in(client: &mut Client, member: &str) {
    let login = format!(r#"<login key="{member}" secret="a-secret-of-some-length"/>"#);
    client.send(&xml::frame(login.as_bytes()));
    client.expect(&results(&format!(r#"<logged-in member="{member}"/>"#)));
}

/// Executions whose reply no kernel takes for a client that does not read.
const VERY_MANY: u64 = 100_000;

fn very_many(order: u64) -> Option<DoneOrder> {
    Some(done_of(order, VERY_MANY))
}

/// Lets a member ask, over a connection of its own, for an order that needs a long look-up.
fn ask_long(served: &Served, member: &str, order: u64) -> Client {
    let mut client = served.client_with_little_room();
    log_in(&mut client, member);
    client.send(&query(order));
    let short = served.next_lookup();
    assert!(!short.is_long());
    answer(short, very_many);
    client
}

/// Returns the order of the next long look-up, and answers that.
fn answer_long(served: &Served) -> u64 {
    let long = served.next_lookup();
    assert!(long.is_long());
    let order = long.left()[0].order.0;
    answer(long, very_many);
    order
}

/// One member with a thousand connections, each of which read slowly, held both places for most of an hour.
#[test]
fn a_member_has_one_long_reply_at_a_time_however_many_connections_it_has() {
    loop {
        // The settings have room for two long replies.
        let served = serve(Settings { desk: desk(&["alice", "bob"]), ..settings() });
        let first = ask_long(&served, "alice", DONE);
        let begun = Instant::now();
        assert_eq!(answer_long(&served), DONE);
        let mut second = ask_long(&served, "alice", DONE + 1);
        let mut other = ask_long(&served, "bob", DONE + 2);
        let next = answer_long(&served);
        if begun.elapsed() > Duration::from_millis(400) {
            // The first client may be disconnected by now, because it takes nothing.
            continue;
        }
        assert_eq!(next, DONE + 2, "the second place is not for her");
        other.expect(&status(DONE + 2, VERY_MANY as usize));
        drop(first);
        assert_eq!(answer_long(&served), DONE + 1);
        second.expect(&status(DONE + 1, VERY_MANY as usize));
        return;
    }
}

/// Connections had their turns in the order in which they asked, and one that asked on and on kept its place.
#[test]
fn members_have_long_replies_in_turn() {
    // The settings have room for one long reply.
    let (unread_bytes_max, reply_bytes_max) = (64 << 20, 8 << 20);
    let served = serve(Settings { unread_bytes_max, reply_bytes_max, desk: desk(&["alice", "bob"]), ..settings() });
    let mut alice = served.client();
    log_in(&mut alice, "alice");
    alice.send(&[query(DONE), query(DONE + 1)].concat());
    answer(served.next_lookup(), very_many);
    let first = served.next_lookup();
    assert!(first.is_long());
    let mut also_alice = ask_long(&served, "alice", DONE + 2);
    let mut bob = ask_long(&served, "bob", DONE + 3);
    answer(first, very_many);
    alice.expect(&status(DONE, VERY_MANY as usize));
    // Bob is next, whether the short look-up of her second request comes before his long one or behind it.
    let mut order_of_long = Vec::new();
    let mut clients = [(&mut bob, DONE + 3), (&mut also_alice, DONE + 2), (&mut alice, DONE + 1)];
    while order_of_long.len() < 3 {
        let lookup = served.next_lookup();
        let (order, is_long) = (lookup.left()[0].order.0, lookup.is_long());
        answer(lookup, very_many);
        if is_long {
            order_of_long.push(order);
            let client = clients.iter_mut().find(|(_, its)| *its == order).unwrap();
            client.0.expect(&status(order, VERY_MANY as usize));
        }
    }
    assert_eq!(order_of_long, [DONE + 3, DONE + 2, DONE + 1]);
}

#[test]
fn an_archive_that_cannot_be_asked_is_said_and_the_rest_goes_on() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&[query(DONE), order(1)].concat());
    served.next_lookup().refuse(Unavailable::StoreAway);
    let why = Unavailable::StoreAway.to_string();
    client.expect(&[results(&format!(r#"<error id="{DONE}">{why}</error>"#)), opened(1, 1)].concat());
}

#[test]
fn another_accounts_archived_order_is_unknown() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&xml::frame(format!(r#"<transactions id="2"><query id="{DONE}"/></transactions>"#).as_bytes()));
    answer(served.next_lookup(), |order| Some(done_of(order, MANY)));
    client.expect(&results(&format!(r#"<error id="{DONE}">Unknown order</error>"#)));
}

#[test]
fn a_connection_that_waits_for_the_archive_is_not_read() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&query(DONE));
    let lookup = served.next_lookup();
    client.send(&order(1));
    let mut other = served.client();
    other.send(&query(1));
    other.expect(&status(1, 1));
    assert_eq!(served.gateway.counters().requests, 2);
    answer(lookup, done);
    client.expect(&[status(DONE, 1), opened(1, 1)].concat());
}

#[test]
fn look_ups_of_a_client_that_left_are_forgotten_and_their_places_reused() {
    let served = serve(Settings { ops_in_flight_max: 4, ..settings() });
    for round in 0..50 {
        let mut client = served.client();
        client.send(&[query(DONE + round), query(DONE + round)].concat());
        let lookup = served.next_lookup();
        socket2::SockRef::from(&client.stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(client);
        // The next client may get the same slot while this look-up is on its way.
        eventually("the connection is closed", || served.open_connections() == 0);
        answer(lookup, done);
    }
    let mut client = served.client();
    client.send(&[query(DONE), order(1)].concat());
    answer(served.next_lookup(), done);
    client.expect(&[status(DONE, 1), opened(1, 1)].concat());
    served.gateway.wait_for_answered(102);
}

/// Answers as a reader of an archive does.
fn answer(mut lookup: Lookup, archive: impl Fn(u64) -> Option<DoneOrder>) {
    while let Some(asked) = lookup.left().first() {
        let found = archive(asked.order.0).map(|mut done| {
            if !lookup.takes(done.account, done.executions.len()) {
                done.executions.clear();
            }
            done
        });
        lookup.found(Ok(found));
    }
    lookup.give_back();
}
