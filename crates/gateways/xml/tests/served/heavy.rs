//! Heavy requests wait for each other: light ones are read, parsed and answered meanwhile, and all replies keep their
//! order.

use std::io::Write;

use crate::support::{Client, eventually, opened, order, serve, settings};
use xml::Settings;

/// Orders in a heavy request.
const ORDERS: usize = 1_000;

/// Makes a request that is heavy by its number of bytes.
fn heavy() -> Vec<u8> {
    let orders = r#"<order sym="S" amount="7" limit="1"/>"#.repeat(ORDERS);
    xml::frame(format!(r#"<transactions id="1">{orders}</transactions>"#).as_bytes())
}

/// Reads the reply to it. Panics if it is another one.
fn expect_heavy(client: &mut Client) {
    let reply = client.reply();
    let opened = reply.matches(r#"<opened sym="S" amount="7" limit="1" id=""#).count();
    assert_eq!(opened, ORDERS, "not the reply to the heavy request: {reply:.200}");
}

/// A request of 9,000 commands took all the room that its worker had, and no other client was read until it was
/// answered.
#[test]
fn heavy_requests_take_no_room_from_others() {
    let served = serve(Settings { ops_in_flight_max: 100, ..settings() });
    served.shut();
    let mut clients: Vec<Client> = (0..3).map(|_| served.client()).collect();
    clients[0].send(&heavy());
    eventually("the first is read", || served.gateway.counters().requests == 1);
    clients[1].send(&heavy());
    clients[2].send(&order(1));
    eventually("who asks little is read", || served.gateway.counters().requests == 2);
    served.open();
    expect_heavy(&mut clients[0]);
    expect_heavy(&mut clients[1]);
    assert!(clients[2].reply().starts_with(r#"<results><opened sym="S" amount="1""#));
}

/// A batch that came back before an older one of another client gave its room back at once: while an order waited for a
/// slow disk, a flood of queries was read, answered and held without end.
#[test]
fn answers_that_wait_for_an_older_one_keep_their_room() {
    const FLOOD: usize = 40;
    const SMALL: usize = 20;
    let served = serve(Settings { workers: 1, ops_in_flight_max: 100, ..settings() });
    served.hold_light(true);
    let (mut much, mut little) = (served.client(), served.client());
    little.send(&order(1));
    eventually("the order waits", || served.batches() == 1);
    let mut writer = much.stream.try_clone().unwrap();
    let flood = std::thread::spawn(move || writer.write_all(&heavy().repeat(FLOOD)).unwrap());
    eventually("some are read", || served.gateway.counters().requests > 1);
    for number in 2..=SMALL {
        let before = served.batches();
        little.send(&order(number));
        eventually("it is handed in", || served.batches() > before);
    }
    let read = served.gateway.counters().requests as usize - SMALL;
    assert!(read <= 4, "{read} of the flood were read");
    served.hold_light(false);
    little.send(&order(SMALL + 1));
    (0..=SMALL).for_each(|_| drop(little.reply()));
    (0..FLOOD).for_each(|_| expect_heavy(&mut much));
    flood.join().unwrap();
    eventually("nothing is held", || served.gateway.counters().held_bytes == 0);
}

#[test]
fn who_asks_little_is_answered_while_heavy_requests_wait() {
    let served = serve(settings());
    served.hold_heavy(true);
    let (mut much, mut little) = (served.client(), served.client());
    much.send(&heavy());
    eventually("it is handed in", || served.batches() >= 1);
    for number in 1..=50 {
        little.send(&order(number));
        little.expect(&opened(number, number));
    }
    served.hold_heavy(false);
    little.send(&order(51));
    little.expect(&opened(51, 51));
    expect_heavy(&mut much);
}

/// The network decides in which pieces a request arrives; the pieces decided whether it was heavy.
#[test]
fn a_long_request_is_heavy_in_whichever_pieces_it_arrives() {
    let served = serve(settings());
    served.hold_heavy(true);
    let (mut much, mut little) = (served.client(), served.client());
    let heavy = heavy();
    let (first, rest) = heavy.split_at(heavy.len() / 2);
    much.send(&[&order(1), first].concat());
    much.expect(&opened(1, 1));
    much.send(rest);
    eventually("it is handed in", || served.batches() >= 2);
    little.send(&order(2));
    little.expect(&opened(2, 2));
    served.hold_heavy(false);
    little.send(&order(3));
    little.expect(&opened(3, 3));
    expect_heavy(&mut much);
}

#[test]
fn replies_keep_the_order_of_a_connections_requests_when_some_are_heavy() {
    for backwards in [false, true] {
        let served = serve(settings());
        if backwards {
            served.answer_backwards();
        }
        served.hold_heavy(true);
        let (mut client, mut other) = (served.client(), served.client());
        let small = |client: &mut Client, amount: usize| {
            let reply = client.reply();
            assert!(reply.contains(&format!(r#"amount="{amount}""#)), "{reply:.200}");
        };
        client.send(&order(1));
        small(&mut client, 1);
        // Small requests follow a heavy one, some of which are read later.
        client.send(&[heavy(), order(2), order(3)].concat());
        eventually("all are read", || served.gateway.counters().requests == 4);
        for amount in 4..8 {
            client.send(&order(amount));
            let read = amount as u64 + 1;
            eventually("it is read", || served.gateway.counters().requests == read);
        }
        client.send(&heavy());
        eventually("it is read", || served.gateway.counters().requests == 9);
        served.hold_heavy(false);
        other.send(&order(100));
        small(&mut other, 100);
        expect_heavy(&mut client);
        (2..8).for_each(|amount| small(&mut client, amount));
        expect_heavy(&mut client);
        // The next request goes by itself, too, for it follows heavy ones. The one behind it is light again.
        client.send(&order(8));
        small(&mut client, 8);
        served.hold_heavy(true);
        client.send(&order(9));
        small(&mut client, 9);
    }
}

#[test]
fn many_small_requests_at_once_are_heavy_from_the_next_on_and_no_longer_once_they_are_few() {
    let served = serve(settings());
    let mut client = served.client();
    served.hold_heavy(true);
    let orders = r#"<order sym="S" amount="7" limit="1"/>"#.repeat(500);
    let many = xml::frame(format!(r#"<transactions id="1">{orders}</transactions>"#).as_bytes());
    assert!(many.len() < 32 << 10, "its bytes alone do not make it heavy");
    client.send(&many);
    assert!(client.reply().starts_with("<results><opened "));
    client.send(&order(1));
    eventually("it is read", || served.gateway.counters().requests == 2);
    // Its batch was handed in before the one that is answered here, and is held.
    let mut other = served.client();
    other.send(&order(2));
    other.expect(&opened(2, 501));
    served.hold_heavy(false);
    other.send(&order(4));
    other.expect(&opened(4, 502));
    client.expect(&opened(1, 503));
    served.hold_heavy(true);
    client.send(&order(3));
    client.expect(&opened(3, 504));
}

#[test]
fn who_leaves_with_heavy_requests_on_their_way_holds_nobody_up() {
    let served = serve(Settings { ops_in_flight_max: 100, ..settings() });
    served.hold_heavy(true);
    let (mut gone, mut next, mut other) = (served.client(), served.client(), served.client());
    gone.send(&heavy());
    eventually("it is read", || served.gateway.counters().requests == 1);
    drop(gone);
    next.send(&heavy());
    served.hold_heavy(false);
    other.send(&order(1));
    other.expect(&opened(1, 1));
    other.send(&order(2));
    assert!(other.reply().contains(r#"amount="2""#));
    eventually("the next one is read", || served.gateway.counters().requests >= 4);
    other.send(&order(3));
    expect_heavy(&mut next);
}
