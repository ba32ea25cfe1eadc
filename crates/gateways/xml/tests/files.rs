//! A process that cannot open another file: connections wait rather than fail. The test is alone in its process, whose
//! limit it sets.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with the other tests of sockets")]
mod support;

use std::net::TcpStream;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};
use support::{Client, eventually, query, serve, settings, status};

#[test]
fn connections_wait_while_no_file_can_be_opened() {
    let served = serve(settings());
    let sockets: Vec<Socket> = (0..20).map(|_| Socket::new(Domain::IPV4, Type::STREAM, None).unwrap()).collect();
    let open_files = std::fs::read_dir("/proc/self/fd").unwrap().count() as u64 - 1;
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(open_files + 5), maximum: limit.maximum }).unwrap();

    let mut clients = Vec::new();
    for socket in sockets {
        socket.connect(&served.address().into()).unwrap();
        let mut client = Client::of(TcpStream::from(socket));
        client.send(&query(1));
        clients.push(client);
    }
    eventually("accepting was put off", || served.gateway.counters().accept_pauses > 0);
    let accepted = served.gateway.counters().connections_accepted as usize;
    assert!((1..=10).contains(&accepted), "{accepted}");
    let mut first: Vec<Client> = clients.drain(..accepted).collect();
    first.iter_mut().for_each(|client| client.expect(&status(1, 1)));
    assert!(served.gateway.counters().accept_pauses < 20, "it does not try again and again");

    // A connection that is closed makes room for another.
    drop(first);
    let mut second: Vec<Client> = clients.drain(..accepted).collect();
    second.iter_mut().for_each(|client| client.expect(&status(1, 1)));
    // Files are allowed again, and no connection is closed: waiting connections are accepted after a pause, too.
    setrlimit(Resource::Nofile, limit).unwrap();
    clients.iter_mut().for_each(|client| client.expect(&status(1, 1)));
    assert_eq!(served.gateway.counters().connections_accepted, 20);
}
