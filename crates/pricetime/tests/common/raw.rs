//! HTTP and WebSocket as bytes, for clients that no library would make: they send exactly these bytes, read nothing
//! unless a test does, and their kernel buffers next to nothing.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use socket2::{Domain, SockRef, Socket, Type};

use super::server::PATIENCE;

/// Opens a connection whose kernel buffers next to nothing.
pub fn connect_narrow(address: SocketAddr) -> TcpStream {
    try_connect_narrow(address).unwrap()
}

/// Does the same where the server may have ended.
pub fn try_connect_narrow(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    socket.set_recv_buffer_size(4096)?;
    socket.connect(&address.into())?;
    let stream: TcpStream = socket.into();
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

/// Opens a connection from an address of this machine.
pub fn connect_from(source: [u8; 4], address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
    socket.connect_timeout(&address.into(), PATIENCE).unwrap_or_else(|error| panic!("cannot connect: {error}"));
    let stream: TcpStream = socket.into();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Breaks a connection: the other side gets a reset instead of an end.
pub fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
}

/// Sends a request as it is, and returns everything that comes back until the server ends the connection.
pub fn ask(address: SocketAddr, request: &str) -> String {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    ask_on(stream, request)
}

/// Sends a request on an existing connection, like `ask`.
pub fn ask_on(mut stream: TcpStream, request: &str) -> String {
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    String::from_utf8(answer).unwrap()
}

/// The status of such an answer.
pub fn status(answer: &str) -> u16 {
    let status = answer.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)).and_then(|digits| digits.parse().ok());
    status.unwrap_or_else(|| panic!("no answer: {answer:?}"))
}

/// Opens a WebSocket at a path; nothing behind the server's agreement was read.
pub fn listen(address: SocketAddr, path: &str) -> TcpStream {
    let mut stream = connect_narrow(address);
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    .unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));
    stream
}

/// The first byte of a frame that is a whole message.
pub const TEXT: u8 = 0x81;
pub const PING: u8 = 0x89;

/// A frame as clients send it, with a mask that changes nothing.
pub fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![kind];
    match payload.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length => {
            frame.push(0x80 | 126);
            frame.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
    }
    frame.extend_from_slice(&[0; 4]);
    frame.extend_from_slice(payload);
    frame
}

/// Whether the server has ended a connection; reads all sent bytes.
pub fn has_ended(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let mut bytes = [0; 4096];
    let ended = loop {
        match stream.read(&mut bytes) {
            Ok(0) => break true,
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break error.kind() != ErrorKind::WouldBlock,
        }
    };
    stream.set_nonblocking(false).unwrap();
    ended
}

/// Whether the server has ended a connection, without reading.
pub fn has_ended_unread(mut stream: &TcpStream) -> bool {
    let pong = frame(0x8a, b"");
    stream.set_nonblocking(true).unwrap();
    let ended = stream.write(&pong).is_err_and(|error| error.kind() != ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    ended
}
