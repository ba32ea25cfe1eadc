//! The stop of a gateway: requests that were read are answered, and clients get the end of the stream.

use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{Client, PATIENCE, Served, eventually, opened, order, query, serve, settings, status};
use xml::Settings;

#[test]
fn what_is_in_flight_is_answered() {
    let served = serve(Settings { workers: 2, ..settings() });
    served.shut();
    let mut clients: Vec<Client> = (0..20).map(|_| served.client()).collect();
    for client in &mut clients {
        client.send(&[query(1), query(2)].concat());
    }
    eventually("all are read", || served.gateway.counters().requests == 40);
    let mut idle = served.client();
    eventually("all are accepted", || served.open_connections() == 21);
    clients[0].send(b"100\n<tran");
    let address = served.address();
    let Served { gateway, gate, .. } = served;
    let draining = thread::spawn(move || gateway.drain(PATIENCE));
    eventually("it no longer listens", || TcpStream::connect(address).is_err());
    gate.open();
    for client in &mut clients {
        client.expect(&[status(1, 1), status(2, 2)].concat());
        client.expect_end();
    }
    idle.expect_end();
    drop((clients, idle));
    assert!(draining.join().unwrap());
}

#[test]
fn a_stop_does_not_wait_longer_than_it_is_told() {
    let served = serve(settings());
    served.shut();
    let mut client = served.client();
    client.send(&order(1));
    eventually("it is read", || served.gateway.counters().requests == 1);
    let start = Instant::now();
    assert!(!served.gateway.drain(Duration::from_millis(100)));
    assert!(start.elapsed() < PATIENCE);
    client.expect_end();
}

#[test]
fn a_client_that_stays_does_not_hold_up_a_stop() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&order(1));
    client.expect(&opened(1, 1));
    assert!(served.gateway.drain(PATIENCE));
    client.expect_end();
}

#[test]
fn connections_go_on_when_accepting_has_stopped() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&order(1));
    client.expect(&opened(1, 1));
    served.gateway.stop_accepting();
    eventually("it no longer listens", || TcpStream::connect(served.address()).is_err());
    client.send(&order(2));
    client.expect(&opened(2, 2));
}

#[test]
fn nobody_is_accepted_behind_the_last_of_a_number_of_answers() {
    let served = serve(settings());
    let address = served.address();
    let (sender, receiver) = mpsc::channel();
    served.gateway.stop_accepting_after(3, move || sender.send(()).unwrap());
    let mut client = served.client();
    client.send(&[order(1), order(2)].concat());
    client.expect(&[opened(1, 1), opened(2, 2)].concat());
    assert!(receiver.try_recv().is_err(), "two of three requests were answered");
    drop(TcpStream::connect(address).expect("it listens"));
    client.send(&order(3));
    client.expect(&opened(3, 3));
    receiver.recv().unwrap();
    eventually("it no longer listens", || TcpStream::connect(address).is_err());
    client.send(&order(4));
    client.expect(&opened(4, 4));
}

#[test]
fn a_dropped_gateway_closes_everything() {
    let served = serve(settings());
    let mut client = served.client();
    client.send(&order(1));
    client.expect(&opened(1, 1));
    let address = served.address();
    drop(served);
    client.expect_end();
    assert!(TcpStream::connect(address).is_err());
}

#[test]
fn who_waits_for_a_number_of_answers_is_told_when_the_last_was_written() {
    let served = serve(settings());
    let mut client = served.client();
    assert_eq!((served.gateway.first_request_at(), served.gateway.last_reply_at()), (None, None));
    client.send(&[order(1), order(2), order(3)].concat());
    served.gateway.wait_for_answered(3);
    let (first, last) = (served.gateway.first_request_at().unwrap(), served.gateway.last_reply_at().unwrap());
    assert!(first <= last && last <= Instant::now());
    assert_eq!(served.gateway.requests_answered(), 3);
    let replies = [opened(1, 1), opened(2, 2), opened(3, 3)].concat();
    assert_eq!(served.gateway.counters().reply_bytes, replies.len() as u64);
    client.stream.set_nonblocking(true).unwrap();
    client.expect(&replies);
}
