//! The bounds of a gateway: connections, time, memory, requests in flight; one client's limit does not limit others.

use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{Client, eventually, opened, order, query, serve, settings, status};
use exchange::{Addresses, Batch, Exchange, Lookup, Newcomers, Places};
use socket2::{Domain, Socket, Type};
use xml::Settings;

/// Executions of an order whose status is about 400 KB.
const MANY: u64 = 10_000;

struct Nobody;

impl Exchange for Nobody {
    fn submit(&self, _: Box<Batch>) {}
    fn look_up(&self, _: Lookup) {}
}

#[test]
fn a_second_gateway_on_the_port_is_refused() {
    for workers in [1, 2] {
        let served = serve(Settings { workers, ..settings() });
        let address = served.address();
        let second = xml::start(Settings { address, workers, ..settings() }, Arc::new(Nobody));
        assert_eq!(second.err().unwrap().kind(), ErrorKind::AddrInUse);
        let mut client = served.client();
        client.send(&order(1));
        client.expect(&opened(1, 1));
    }
}

#[test]
fn connections_are_spread_over_the_workers() {
    let served = serve(Settings { workers: 2, ..settings() });
    let mut clients: Vec<Client> = (0..64).map(|_| served.client()).collect();
    for client in &mut clients {
        client.send(&query(1));
        client.expect(&status(1, 1));
    }
    let by_worker = served.gateway.counters().connections_accepted_by_worker;
    assert_eq!(by_worker.iter().sum::<u64>(), 64);
    assert!(by_worker.iter().all(|&count| count > 0), "{by_worker:?}");
}

#[test]
fn an_idle_connection_is_closed() {
    let served = serve(Settings { idle_timeout: Duration::from_secs(1), ..settings() });
    let mut client = served.client();
    let start = Instant::now();
    client.send(&order(1));
    client.expect(&opened(1, 1));
    // The start of a request does not count as one.
    client.send(b"100\n<tran");
    client.expect("<results><error>incomplete: 5 of 100 bytes came</error></results>\n");
    client.expect_end();
    assert!(start.elapsed() >= Duration::from_secs(1));
    drop(client);
    eventually("the connection is closed", || served.open_connections() == 0);
    served.client().expect_end();
}

#[test]
fn a_connection_is_not_idle_while_a_reply_is_outstanding() {
    let served = serve(Settings { idle_timeout: Duration::from_millis(800), ..settings() });
    served.shut();
    let mut waiting = served.client();
    waiting.send(&order(1));
    // Long enough for an idle connection to be closed twice.
    served.client().expect_end();
    served.client().expect_end();
    served.open();
    waiting.expect(&opened(1, 1));
    waiting.expect_end();
}

#[test]
fn a_client_that_does_not_read_is_not_read_and_delays_nobody() {
    let served = serve(settings());
    let mut silent = served.client_with_little_room();
    let mut other = served.client();
    let mut taken = 0;
    for number in 1..=200 {
        silent.send(&query(MANY));
        // Once the other client has its reply, the server has had its chance to read this one too.
        other.send(&order(number));
        other.expect(&opened(number, number));
        let requests = served.gateway.counters().requests as usize - number;
        if requests == taken {
            break;
        }
        taken = requests;
        served.gateway.wait_for_answered((taken + number) as u64);
    }
    assert!((1..100).contains(&taken), "the server went on reading: {taken} requests");
    let expected = status(MANY, MANY as usize);
    (0..=taken).for_each(|_| silent.expect(&expected));
}

#[test]
fn large_replies_that_nobody_reads_are_not_made() {
    let served = serve(Settings { unsent_bytes_max: 64 << 10, ..settings() });
    let mut silent = served.client_with_little_room();
    // All of them are in flight before the first reply is made.
    served.shut();
    silent.send(&query(MANY).repeat(200));
    eventually("all are read", || served.gateway.counters().requests == 200);
    served.open();
    let mut other = served.client();
    other.send(&order(1));
    other.expect(&opened(1, 1));
    assert!(served.gateway.requests_answered() < 100, "{}", served.gateway.requests_answered());
    let expected = status(MANY, MANY as usize);
    (0..200).for_each(|_| silent.expect(&expected));
    silent.send(&order(2));
    silent.expect(&opened(2, 2));
}

#[test]
fn a_client_that_reads_nothing_for_long_is_closed() {
    let served = serve(Settings { idle_timeout: Duration::from_millis(400), ..settings() });
    let mut silent = served.client_with_little_room();
    silent.send(&query(MANY).repeat(50));
    eventually("it is closed", || served.gateway.requests_answered() > 0 && served.open_connections() == 0);
    let mut rest = Vec::new();
    // Replies that were on the way still arrive; they are not all.
    let _ = silent.stream.read_to_end(&mut rest);
    assert!(rest.len() < status(MANY, MANY as usize).len() * 50);
}

#[test]
fn requests_in_flight_on_a_connection_are_bounded() {
    let served = serve(Settings { requests_in_flight_max: 4, ..settings() });
    served.shut();
    let mut client = served.client();
    (1..=4).for_each(|number| client.send(&order(number)));
    eventually("as many as allowed are read", || served.gateway.counters().requests == 4);
    client.send(&order(5));
    let mut other = served.client();
    other.send(&order(100));
    eventually("the other client is read", || served.gateway.counters().requests >= 5);
    served.open();
    (1..=4).for_each(|number| client.expect(&opened(number, number)));
    // The fifth request was sent before this one, and read after it.
    other.expect(&opened(100, 5));
    client.expect(&opened(5, 6));
}

#[test]
fn requests_in_flight_of_a_worker_are_bounded_and_reading_goes_on_when_they_come_back() {
    // A query takes the room of 16 commands, and its request that of one.
    let served = serve(Settings { ops_in_flight_max: 4 * 17, ..settings() });
    served.shut();
    let mut clients: Vec<Client> = (0..40).map(|_| served.client()).collect();
    clients.iter_mut().for_each(|client| client.send(&query(1)));
    eventually("the bound is reached", || served.gateway.counters().requests == 4);
    eventually("all are accepted", || served.open_connections() == 40);
    assert_eq!(served.gateway.counters().requests, 4);
    served.open();
    clients.iter_mut().for_each(|client| client.expect(&status(1, 1)));
}

/// Returns the start of a request that takes this many bytes.
fn start_of_a_request(bytes: usize) -> Vec<u8> {
    format!("{:<bytes$}", "1000000\n").into_bytes()
}

/// Checks that the client gets the reason, and that the connection is closed gently.
fn is_refused(mut client: Client, held: usize) {
    let why = format!("the server holds at most 10000 bytes of them, and of this one held {held}; send the whole");
    let reply = client.reply();
    assert!(reply.contains("<error>too many unfinished requests: ") && reply.contains(&why), "{reply}");
    client.expect_end();
}

#[test]
fn the_longest_unfinished_request_goes_when_they_take_too_much() {
    let served = serve(Settings { partial_bytes_max: 10_000, ..settings() });
    let mut prober = served.client();
    let mut answered = 0;
    // A worker reads its sockets in the order in which they became readable: the answer proves that the start was read.
    let mut starts = |bytes| {
        let mut client = served.client();
        client.send(&start_of_a_request(bytes));
        answered += 1;
        prober.send(&order(1));
        prober.expect(&opened(1, answered));
        client
    };
    let first = starts(4000);
    let longest = starts(4500);
    let mut small = starts(2000);
    is_refused(longest, 4500);
    // The new connection is refused if it holds the longest.
    is_refused(starts(4500), 4500);
    // A client that leaves makes room.
    let before = served.open_connections();
    drop(first);
    eventually("the connection is gone", || served.open_connections() < before);
    let longest = starts(6000);
    small.send(" ".repeat(999).as_bytes());
    let rest = starts(100);
    is_refused(longest, 6000);
    for (mut client, held) in [(small, 2000 + 999), (rest, 100)] {
        client.finish_sending();
        let came = held - "1000000\n".len();
        client.expect(&format!("<results><error>incomplete: {came} of 1000000 bytes came</error></results>\n"));
        client.expect_end();
    }
}

/// Connections that break with a part of a request take no room from others.
#[test]
fn the_halves_of_requests_of_broken_connections_are_forgotten() {
    let served = serve(Settings { partial_bytes_max: 10_000, ..settings() });
    let mut prober = served.client();
    for round in 1..=5 {
        let mut broken = served.client();
        broken.send(&start_of_a_request(4000));
        // The answer proves that the start was read.
        prober.send(&order(1));
        prober.expect(&opened(1, round));
        socket2::SockRef::from(&broken.stream).set_linger(Some(Duration::ZERO)).unwrap();
        drop(broken);
        eventually("the connection is gone", || served.open_connections() == 1);
    }
    let mut last = served.client();
    last.send(&start_of_a_request(9000));
    last.finish_sending();
    last.expect("<results><error>incomplete: 8992 of 1000000 bytes came</error></results>\n");
    last.expect_end();
}

#[test]
fn who_sends_requests_in_two_pieces_is_answered_while_others_finish_none() {
    const HONEST: usize = 16;
    // The room that two hoarders leave is too small for all first pieces, each of which takes less than any hoarder.
    let (bound, hoard, piece) = (10_000, 4000, 150);
    let blanks = " ".repeat(200);
    let request = xml::frame(format!(r#"<transactions id="1">{blanks}<query id="1"/></transactions>"#).as_bytes());
    for workers in [1, 3] {
        let served = serve(Settings { partial_bytes_max: bound * workers, workers, ..settings() });
        // The answer to a whole request proves that the bytes behind it were read, too.
        let read = |client: &mut Client, start: &[u8]| {
            client.send(&[&query(1), start].concat());
            client.expect(&status(1, 1));
        };
        let mut honest: Vec<Client> = (0..HONEST).map(|_| served.client()).collect();
        let mut hoarders: Vec<Client> = Vec::new();
        for _ in 0..5 {
            for client in &mut honest {
                let mut hoarder = served.client();
                read(&mut hoarder, &start_of_a_request(hoard));
                hoarders.push(hoarder);
                read(client, &request[..piece]);
            }
            for client in &mut honest {
                client.send(&request[piece..]);
                client.expect(&status(1, 1));
            }
        }
        let refused = served.gateway.counters().requests as usize - 5 * HONEST * 3;
        assert!(refused >= hoarders.len() - 2 * workers, "{refused} of {} hoarders", hoarders.len());
    }
}

fn places(max: usize, of_an_address: usize) -> Places {
    Places::new(max, Addresses::new(of_an_address), Newcomers::Wait)
}

#[test]
fn places_held_with_halves_of_requests_become_free() {
    const PLACES: usize = 50;
    let idle_timeout = Duration::from_secs(2);
    let served = serve(Settings { places: places(PLACES, 0), workers: 2, idle_timeout, ..settings() });
    let beginning = |request: &[u8]| {
        let mut client = served.client();
        client.send(request);
        client
    };
    let mut holders: Vec<Client> = (0..PLACES).map(|_| beginning(&query(1)[..20])).collect();
    eventually("all places were taken", || served.gateway.counters().connections_accepted as usize >= PLACES);
    let mut others: Vec<Client> = (0..PLACES).map(|_| beginning(&query(1))).collect();
    others.iter_mut().for_each(|client| client.expect(&status(1, 1)));
    for holder in &mut holders {
        holder.expect("<results><error>incomplete: 17 of 51 bytes came</error></results>\n");
        holder.expect_end();
    }
}

#[test]
fn an_address_with_as_many_connections_as_it_may_have_is_told_and_others_are_served() {
    let served = serve(Settings { address: "0.0.0.0:0".parse().unwrap(), places: places(10_000, 2), ..settings() });
    let port = served.address().port();
    let from = |ip: &str| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::new(ip.parse().unwrap(), 0).into()).unwrap();
        socket.connect(&SocketAddr::new("127.0.0.1".parse().unwrap(), port).into()).unwrap();
        Client::of(socket.into())
    };
    let mut first: Vec<Client> = (0..2).map(|_| from("127.0.0.1")).collect();
    for client in &mut first {
        client.send(&query(1));
        client.expect(&status(1, 1));
    }
    let mut refused = from("127.0.0.1");
    refused.expect("<results><error>too many connections: at most 2 from one address</error></results>\n");
    refused.expect_end();
    let mut other = from("127.0.0.2");
    other.send(&query(1));
    other.expect(&status(1, 1));
    drop(first.pop());
    eventually("the connection is closed", || served.open_connections() == 2);
    let mut next = from("127.0.0.1");
    next.send(&query(1));
    next.expect(&status(1, 1));
}

#[test]
fn further_connections_wait_until_one_is_closed() {
    let served = serve(Settings { places: places(3, 0), workers: 2, ..settings() });
    let mut clients: Vec<Client> = (0..3).map(|_| served.client()).collect();
    for client in &mut clients {
        client.send(&query(1));
        client.expect(&status(1, 1));
    }
    let mut later: Vec<Client> = (0..3).map(|_| served.client()).collect();
    later.iter_mut().for_each(|client| client.send(&query(2)));
    eventually("accepting was put off", || served.gateway.counters().accept_pauses > 0);
    assert_eq!(served.gateway.counters().connections_accepted, 3);
    let first = clients.remove(0);
    first.finish_sending();
    eventually("one more is accepted", || served.gateway.counters().connections_accepted == 4);
    assert_eq!(served.open_connections(), 3);
    drop((first, clients));
    later.iter_mut().for_each(|client| client.expect(&status(2, 2)));
    assert_eq!(served.gateway.counters().connections_accepted, 6);
}

#[test]
fn the_backlog_that_the_machine_grants_is_reported() {
    let served = serve(Settings { backlog: u32::MAX, ..settings() });
    assert!(served.gateway.backlog() < u32::MAX);
}
