//! Connections as attackers make them.
#![allow(dead_code, reason = "each module uses its part of this")]

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

/// Allows this process as many files as it may have. Panics if those are fewer than an attack needs.
pub fn allow_many_files(needed: usize) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    assert!(limit.maximum.is_none_or(|files| files as usize > needed + 500), "too few files allowed: {limit:?}");
}

pub fn connect_many(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
}

/// A connection whose kernel holds next to nothing of what is sent to it.
pub fn connect_narrow(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.into()
}

/// Whether there is something to read.
pub fn has_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let found = stream.peek(&mut [0]).is_ok_and(|count| count > 0);
    stream.set_nonblocking(false).unwrap();
    found
}

/// Whether the server has ended the stream; what it said before is dropped.
pub fn has_ended(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let ended = loop {
        match stream.read(&mut [0; 512]) {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) => break error.kind() != ErrorKind::WouldBlock,
        }
    };
    stream.set_nonblocking(false).unwrap();
    ended
}
