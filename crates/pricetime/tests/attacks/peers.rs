//! Connections of attackers.
#![allow(dead_code, reason = "each module uses its part of this")]

use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Socket, Type};

/// Allows this process as many files as possible. Panics if those are fewer than an attack needs.
pub fn allow_many_files(needed: usize) {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    assert!(limit.maximum.is_none_or(|files| files as usize > needed + 500), "too few files allowed: {limit:?}");
}

pub fn connect_many(address: SocketAddr, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(address).unwrap()).collect()
}

/// Opens a connection whose kernel buffers next to nothing.
pub fn connect_narrow(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&address.into()).unwrap();
    socket.into()
}

/// Whether there are bytes to read.
pub fn has_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let found = stream.peek(&mut [0]).is_ok_and(|count| count > 0);
    stream.set_nonblocking(false).unwrap();
    found
}

/// Whether the server has ended the stream; earlier bytes are dropped.
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
